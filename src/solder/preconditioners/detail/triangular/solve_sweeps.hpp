// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>

#include <solder/core/kokkos_ext.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/matrix/open_matrix.hpp>
#include <solder/preconditioners/detail/triangular/pattern.hpp>

namespace Solder::Impl::triangular {

/// \brief The vector that a sweep multiplies: at first a given one, then the result of the sweep
/// before, which is double buffered.
template <class First, class Scalar>
struct SweptBefore {
  First first;  ///< a pointer, or a Place
  Place<Scalar> double_buffered;

  bool operator==(SweptBefore const&) const = default;
};
template <class First, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar const* vector_at(SweptBefore<First, Scalar> const& vector,
                                                    At const& at) {
  return at.turn == 0 ? vector_at(vector.first, at)
                      : vector.double_buffered.at({at.step, at.turn + 1});
}
template <class First, class Scalar>
SweptBefore<First, Scalar> as_read(SweptBefore<First, Scalar> const& vector) {
  return vector;
}

/// \brief A sweep for (I + T) y = r: y = r - T y_old, where the source hands out T y_old. Words: 2
/// a row.
template <class Scalar, class R, class Y>
struct SolveSweep {
  struct Scalars {
    Scalar const* r;
    Scalar* y;
  };

  R r;
  Y y;  ///< double buffered
  bool operator==(SolveSweep const&) const = default;
  SolveSweep<Scalar, Scalar const*, Scalar*> bound(At const& at) const {
    return {vector_at(r, at), vector_at(y, at)};
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, auto const&, auto const&, At const& at,
                                           Control const&, Control&, Scalars& s) const {
    s = {vector_at(r, at), vector_at(y, at)};
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& Ty, Scalars const& s) const {
    s.y[i] = s.r[i] - Ty;
  }
};

/// \brief The last sweep of both triangles: z = D^-1 (r - T y_old). Words: 3 a row.
template <class Scalar>
struct LastSweep {
  Scalar const *r, *inverse;
  Scalar* z;
  bool operator==(LastSweep const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& Ty) const {
    z[i] = inverse[i] * (r[i] - Ty);
  }
};

/// \brief The sweeps for both triangles, in a program.
template <class OpenedT, class Scalar>
struct SolveSweeps {
  OpenedT lower, upper;  ///< L - I, and (U - D) D^-1
  std::int32_t sweeps;   ///< per triangle; 0: none of these stages are run
  std::int64_t length;   ///< of a vector
  Scalar *y, *w;         ///< two vectors each
  Scalar const* inverse;

  /// \param r a pointer, or a Place
  template <class R>
  auto stages(Phase phase, R const& r, Scalar* z) const {
    constexpr char const *of_lower = "Solder::incomplete::lower_sweep",
                         *of_upper = "Solder::incomplete::upper_sweep";
    auto const sweep = [&]<class From>(char const* label, OpenedT const& T, From const& from,
                                       Scalar* to) {
      Place<Scalar> const double_buffered(to, 0, length);
      auto const Ty = T.apply(phase, SweptBefore<From, Scalar>{from, double_buffered});
      return program(Ty.before,
                     stage(label, phase, Ty.rows,
                           SolveSweep<Scalar, From, Place<Scalar>>{from, double_buffered}));
    };
    auto const newest = [&](Scalar* double_buffered, std::int32_t count) {
      return double_buffered + (count - 1) % 2 * length;
    };
    Scalar const* const solved = newest(y, sweeps);
    Scalar const* const before = sweeps > 1 ? newest(w, sweeps - 1) : solved;
    auto const last = upper.apply(phase, before);
    return program(repeat(sweep(of_lower, lower, r, y), sweeps),
                   repeat(sweep(of_upper, upper, solved, w), sweeps > 1 ? sweeps - 1 : 0),
                   repeat(program(last.before, stage(of_upper, phase, last.rows,
                                                     LastSweep<Scalar>{solved, inverse, z})),
                          sweeps > 0));
  }
};

/// \brief The triangles of incomplete factors A ~ L U as matrices for sweeps, in A's numbering:
/// L - I and (U - D) D^-1; and D^-1.
///
/// k sweeps per triangle, started from zero, replace (I + T)^-1 by the first k + 1 terms of its
/// Neumann series. In a Hermitian factorisation, U = D L^H, the two triangles are each other's
/// adjoints. M then stays Hermitian positive definite and can be used with CG.
template <class Scalar, class Exec>
class SweptTriangles {
 public:
  using Opened = SolveSweeps<OpenedMatrixOf<CsrMatrix<Scalar, Exec>, Exec>, Scalar>;

  /// \brief Four kernels and two scans.
  SOLDER_MAKES_LAMBDAS static SweptTriangles of(Exec const& exec,
                                                DevicePattern<Exec> const& pattern) {
    auto const indices = [&](std::int64_t size) {
      return allocate<std::int32_t>(exec, "Solder::incomplete::triangle", size);
    };
    auto const values = [&](std::int64_t size) {
      return allocate<Scalar>(exec, "Solder::incomplete::triangle", size);
    };
    SweptTriangles T;
    T.pattern_ = pattern;
    std::int32_t const rows = pattern.rows;
    auto const* const labels = pattern.label.data();
    if (labels != nullptr) {
      T.rank_ = indices(rows);
      auto* const rank = T.rank_.data();
      Kokkos::parallel_for(
          "Solder::incomplete::rank", Kokkos::RangePolicy<Exec>(exec, 0, rows),
          KOKKOS_LAMBDA(int i) { rank[labels[i]] = i; });
    }
    T.inverse_ = values(rows);
    auto const* const ranks = T.rank_.data();
    for (Part* const part : {&T.lower_, &T.upper_}) {
      DeviceTriangle const triangle = device_triangle(pattern, part == &T.lower_);
      auto const begins = indices(std::int64_t(rows) + 1);
      auto* const begin = begins.data();
      auto const totals = offsets_of_lengths(
          exec, begin, rows, KOKKOS_LAMBDA(std::int32_t a) {
            std::int32_t const i = ranks == nullptr ? a : ranks[a];
            return triangle.end(i) - triangle.begin(i);
          });
      auto const columns = indices(totals.nonzeros);
      part->source = indices(totals.nonzeros);
      part->values = values(totals.nonzeros);
      auto const* const all = pattern.columns.data();
      auto *const to = columns.data(), *const source = part->source.data();
      Kokkos::parallel_for(
          "Solder::incomplete::triangle", Kokkos::RangePolicy<Exec>(exec, 0, rows),
          KOKKOS_LAMBDA(int a) {
            std::int32_t const i = ranks == nullptr ? a : ranks[a];
            std::int32_t at = begin[a];
            for (std::int32_t k = triangle.begin(i); k < triangle.end(i); ++k, ++at) {
              to[at] = labels == nullptr ? all[k] : labels[all[k]];
              source[at] = k;
            }
          });
      part->matrix = CsrMatrix<Scalar, Exec>(exec, rows, rows, begins, columns, part->values,
                                             RowLengths{totals.longest});
    }
    return T;
  }

  /// \brief Takes the factors. Three kernels.
  SOLDER_MAKES_LAMBDAS void update(Exec const& exec, Scalar const* factors) const {
    auto const* const pivots = pattern_.diagonal.data();
    for (Part const* const part : {&lower_, &upper_}) {
      auto const* const source = part->source.data();
      auto const* const columns = part == &upper_ ? pattern_.columns.data() : nullptr;
      Scalar* const to = part->values.data();
      Kokkos::parallel_for(
          "Solder::incomplete::take", Kokkos::RangePolicy<Exec>(exec, 0, part->values.extent(0)),
          KOKKOS_LAMBDA(int k) {
            Scalar const value = factors[source[k]];
            to[k] = columns == nullptr ? value : value / factors[pivots[columns[source[k]]]];
          });
    }
    auto const* const rank = rank_.data();
    Scalar* const inverse = inverse_.data();
    Kokkos::parallel_for(
        "Solder::incomplete::invert", Kokkos::RangePolicy<Exec>(exec, 0, pattern_.rows),
        KOKKOS_LAMBDA(int a) {
          inverse[a] = Scalar(1) / factors[pivots[rank == nullptr ? a : rank[a]]];
        });
  }

  /// \brief The first row of A whose pivot has no finite inverse, or -1.
  std::int32_t first_without_inverse(Exec const& exec) const {
    return first_infinite(exec, inverse_, nullptr);
  }

  /// \param sweeps per triangle, at least 1
  Opened open(Arena<Exec>& arena, std::int32_t sweeps) const {
    auto const n = static_cast<std::int64_t>(inverse_.extent(0));
    auto const vectors = [&](char const* label) {
      return arena.template array<Scalar>(label, 2 * n);
    };
    return {open_matrix(arena, *lower_.matrix),
            open_matrix(arena, *upper_.matrix),
            sweeps,
            n,
            vectors("Solder::incomplete::y_sweeps"),
            vectors("Solder::incomplete::w_sweeps"),
            inverse_.data()};
  }

 private:
  using Indices = typename DevicePattern<Exec>::Indices;
  using Values = Kokkos::View<Scalar*, typename Exec::memory_space>;
  struct Part {
    std::optional<CsrMatrix<Scalar, Exec>> matrix;
    Indices source = no_view<Indices>();  ///< of each value, among the factors
    Values values = no_view<Values>();
  };

  DevicePattern<Exec> pattern_;
  Part lower_, upper_;
  Indices rank_ = no_view<Indices>();  ///< of A's rows in the order of elimination; empty: natural
  Values inverse_ = no_view<Values>();
};

}  // namespace Solder::Impl::triangular
