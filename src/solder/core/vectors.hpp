// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What must hold of the vectors that solvers and preconditioners are given.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace Solder::Impl {

/// \brief What users call the vector that is read and the one that is written.
struct VectorNames {
  char const *read = "b", *written = "x";
};

/// \brief Refuses vectors of other lengths than n, or strided ones.
inline void check_lengths(std::string_view name, std::int32_t n, std::size_t b, std::size_t x,
                          bool contiguous, VectorNames const& names) {
  if (b != std::size_t(n) || x != std::size_t(n))
    throw std::invalid_argument(std::string(name) + ": " + names.read + " has " +
                                std::to_string(b) + " entries and " + names.written + " has " +
                                std::to_string(x) + "; both need " + std::to_string(n) +
                                ", one for each row");
  if (n > 0 && !contiguous)
    throw std::invalid_argument(std::string(name) + ": " + names.read + " or " + names.written +
                                " is a strided view; both must be contiguous");
}

/// \brief Refuses a solution that would overwrite the right-hand side, which the true residual
/// needs: b and x share an entry, or lie in the same memory with different strides. Columns side by
/// side in one table are accepted.
template <class B, class X>
void check_apart(std::string_view name, B const& b, X const& x, VectorNames const& names) {
  if (b.size() == 0 || x.size() == 0) return;
  auto const begin = [](auto const& view) { return reinterpret_cast<std::intptr_t>(view.data()); };
  auto const end = [&](auto const& view) {
    return begin(view) + static_cast<std::intptr_t>(view.span() * sizeof(*view.data()));
  };
  if (begin(b) >= end(x) || begin(x) >= end(b)) return;
  struct Strides {
    std::int64_t row, column;

    bool operator==(Strides const&) const = default;
  };
  std::int64_t const rows = b.extent(0), columns = b.extent(1);  // 1 where there are none
  auto const strides = [&](auto const& view) {
    return Strides{rows > 1 ? std::int64_t(view.stride(0)) : 0,
                   columns > 1 ? std::int64_t(view.stride(B::rank() - 1)) : 0};
  };
  Strides const by = strides(b);
  std::int64_t const bytes = begin(x) - begin(b), size = sizeof(*x.data());
  bool overlap = by != strides(x) || bytes % size != 0;
  for (std::int64_t c = 1 - columns; c < columns && !overlap; ++c) {
    std::int64_t const left = bytes / size - c * by.column;  // that rows are to make up for
    overlap = by.row == 0 ? left == 0 : left % by.row == 0 && std::abs(left / by.row) < rows;
  }
  if (overlap)
    throw std::invalid_argument(std::string(name) + ": " + names.read + " and " + names.written +
                                " overlap in memory; copy one of them to another view");
}

/// \brief Refuses vectors that the execution space cannot access.
template <class Exec, class B, class X>
constexpr void check_access() {
  using Access = Kokkos::SpaceAccessibility<Exec, typename B::memory_space>;
  using AccessX = Kokkos::SpaceAccessibility<Exec, typename X::memory_space>;
  static_assert(Access::accessible && AccessX::accessible,
                "Solder: the solver's execution space cannot access the memory of b or x");
}

/// \brief Refuses a right-hand side and a solution that do not have n entries each, are strided,
/// overlap, or lie where the execution space has no access.
template <class Exec, class B, class X>
void check_vectors(std::string_view name, std::int32_t n, B const& b, X const& x,
                   VectorNames const& names = {}) {
  check_access<Exec, B, X>();
  check_lengths(name, n, b.extent(0), x.extent(0), b.span_is_contiguous() && x.span_is_contiguous(),
                names);
  check_apart(name, b, x, names);
}

/// \brief Refuses several right-hand sides and solutions that do not have n rows each, differ in
/// their columns, overlap, or lie where the execution space has no access.
template <class Exec, class B, class X>
void check_columns(std::string_view name, std::int32_t n, B const& b, X const& x) {
  check_access<Exec, B, X>();
  if (b.extent(0) != std::size_t(n) || x.extent(0) != std::size_t(n) ||
      b.extent(1) != x.extent(1)) {
    auto const extents = [](auto const& view) {
      return std::to_string(view.extent(0)) + " x " + std::to_string(view.extent(1));
    };
    throw std::invalid_argument(std::string(name) + ": b is " + extents(b) + " and x is " +
                                extents(x) + "; both need " + std::to_string(n) +
                                " rows, and the same number of columns");
  }
  check_apart(name, b, x, {});
}

/// \brief f(column of r, column of z), for z = M r. \throws std::invalid_argument where r and z
/// have other numbers of columns
template <class R, class Z, class F>
void for_each_column(R const& r, Z const& z, F const& f) {
  if (r.extent(1) != z.extent(1))
    throw std::invalid_argument("Solder: z = M r: r has " + std::to_string(r.extent(1)) +
                                " columns, but z has " + std::to_string(z.extent(1)));
  for (std::size_t c = 0; c < r.extent(1); ++c)
    f(Kokkos::subview(r, Kokkos::ALL, c), Kokkos::subview(z, Kokkos::ALL, c));
}

}  // namespace Solder::Impl
