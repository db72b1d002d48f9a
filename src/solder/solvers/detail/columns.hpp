// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/matrix/partition.hpp>
#include <solder/solvers/detail/solving.hpp>

namespace Solder::Impl {

/// \brief Copies columns first, ..., first + width - 1 of a view to the first columns of an array
/// of rows of `stride`, the others being zero; or back.
template <class View, class Scalar>
struct CopyColumns {
  View view;
  Scalar* packed;
  std::int32_t first, width, stride;
  bool back;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    auto const i = k / stride, c = k % stride;
    if constexpr (!std::is_const_v<typename View::value_type>) {
      if (back) {
        if (c < width) view(i, first + c) = packed[k];
        return;
      }
    }
    packed[k] = c < width ? view(i, first + c) : Scalar{};
  }
};

/// \brief Whether entry c of row i of a view is number i * columns + c of its data, and pairs of
/// columns are aligned.
template <class View>
bool is_packed(View const& view) {
  using Scalar = typename View::non_const_value_type;
  constexpr std::size_t alignment = std::min<std::size_t>(2 * sizeof(Scalar), 16);
  return view.span_is_contiguous() && (view.extent(1) == 1 || view.stride(1) == 1) &&
         (view.extent(0) <= 1 || view.stride(0) == view.extent(1)) &&
         reinterpret_cast<std::uintptr_t>(view.data()) % alignment == 0;
}

/// \brief What an iteration of 1, 2, 4, ... columns of a large system takes on a GPU, in that of
/// one column: measured, see "Many right-hand sides" in docs/performance.md. Other widths leave
/// lanes of a warp idle, and take more than the sum of two of these.
inline constexpr double pack_costs[] = {1, 1.37, 2.1, 3.25, 6, 11.9};

/// \brief Columns of each group of `count` of them that take the least time by these costs, at most
/// `most` in a group, the widest first. A group of a width between two is solved with columns of
/// zeros up to the next one.
inline std::vector<std::int32_t> quickest_groups(std::int32_t count, std::int32_t most) {
  std::vector<double> cost{0};
  std::vector<std::int32_t> taken{0};
  for (std::int32_t c = 1; c <= count; ++c) {
    cost.push_back(std::numeric_limits<double>::infinity());
    taken.push_back(0);
    std::int32_t width = 1;
    for (double const of_pack : pack_costs) {
      if (width > most) break;
      double const sum = of_pack + cost[std::max(0, c - width)];
      if (sum < cost[c]) {
        cost[c] = sum;
        taken[c] = std::min(width, c);
      }
      width *= 2;
    }
  }
  std::vector<std::int32_t> widths;
  for (std::int32_t left = count; left > 0; left -= taken[left]) widths.push_back(taken[left]);
  std::sort(widths.begin(), widths.end(), std::greater<>());
  return widths;
}

/// \brief Columns of each group of `count` of them, as few groups of nearly equal widths as there
/// can be of at most `most`.
inline std::vector<std::int32_t> equal_groups(std::int32_t count, std::int32_t most) {
  std::int32_t const groups = (count + most - 1) / most;
  auto const bound = [&](std::int32_t k) {
    return static_cast<std::int32_t>(std::int64_t(count) * k / groups);
  };
  std::vector<std::int32_t> widths;
  for (std::int32_t g = 0; g < groups; ++g) widths.push_back(bound(g + 1) - bound(g));
  return widths;
}

/// \brief A method for several right-hand sides: groups of columns together where the method, A and
/// M take them, else one column after another, if the method is not for blocks alone.
template <class Method>
class ColumnsOf {
 public:
  using System = typename Method::System;
  using Scalar = typename Method::Scalar;

  template <class Exec, class Options>
  ColumnsOf(Exec const& exec, std::shared_ptr<System> system, Options const& options)
      : make_([exec, system, options](std::int32_t columns) {
          if constexpr (possible)
            return std::make_unique<Method>(exec, system, options, Many{columns});
          else if constexpr (!is_block)
            return std::make_unique<Method>(exec, system, options);
          else
            return std::unique_ptr<Method>();
        }),
        system_(std::move(system)) {}

  /// \brief Whether columns are solved together, where there are enough of them.
  bool together() const {
    if constexpr (possible)
      return system_->takes_columns();
    else
      return false;
  }

  /// \brief A report for each column.
  template <class Exec, class B, class X>
  std::vector<Report> solve(Exec const& exec, B const& b, X const& x) {
    auto const count = static_cast<std::int32_t>(b.extent(1));
    std::int32_t const most = at_once(count, is_host_space<Exec>);
    bool const in_packs = most > 1 && !is_block && !is_host_space<Exec> &&
                          std::int64_t(count) * system_->rows() > column_crossover;
    auto const widths = in_packs ? quickest_groups(count, most) : equal_groups(count, most);
    auto const stride_of_group = [&](std::int32_t width) {
      return in_packs ? static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(width)))
                      : stride_of(width, most, is_host_space<Exec>);
    };
    std::erase_if(methods_, [&](auto const& made) {
      return std::none_of(widths.begin(), widths.end(),
                          [&](std::int32_t width) { return stride_of_group(width) == made.first; });
    });
    std::vector<Report> reports;
    Columns columns{0, 0};
    for (std::int32_t const width : widths) {
      columns = {columns.first + columns.width, width};
      std::int32_t const stride = stride_of_group(width);
      std::vector<Report> of_group;
      if (widths.size() == 1 && stride == count && is_packed(b) && is_packed(x)) {
        of_group = solve_group(b.data(), x.data(), stride);
      } else {
        reserve<Exec>(exec, b.extent(0) * stride);
        copy(exec, b, columns, b_.get(), stride, false);
        copy(exec, x, columns, x_.get(), stride, false);
        of_group = solve_group(b_.get(), x_.get(), stride);
        copy(exec, x, columns, x_.get(), stride, true);
      }
      std::move(of_group.begin(), of_group.begin() + width, std::back_inserter(reports));
    }
    return reports;
  }

 private:
  struct Columns {
    std::int32_t first, width;
  };

  static constexpr bool possible =
      Method::takes_many && takes_columns<typename System::OpenedA, typename System::OpenedM>;
  /// Whether the method is for blocks alone.
  static constexpr bool is_block = requires { Method::is_block; };
  /// \brief Columns that are solved together, at most.
  std::int32_t at_once(std::int32_t count, bool on_host) const {
    bool const one_by_one = !on_host && count == 1 && !is_block;
    return !together() || one_by_one ? 1 : columns_at_once(system_->rows());
  }
  /// \brief The columns of a group of `width`: GPUs take an even number of them, and a block at
  /// least two. Those that are added are zero.
  static std::int32_t stride_of(std::int32_t width, std::int32_t most, bool on_host) {
    if (is_block) return on_host ? std::max(width, 2) : width + width % 2;
    return most == 1 || on_host ? width : width + width % 2;
  }

  /// \param width columns of b and x
  std::vector<Report> solve_group(Scalar const* b, Scalar* x, std::int32_t width) {
    auto& made = methods_[width];
    if (made == nullptr) made = make_(width);
    Method& method = *made;
    if constexpr (possible)
      if (width > 1) return method.solve_many(b, x);
    if constexpr (is_block)
      return {};
    else
      return {method.solve(b, x)};
  }

  template <class Exec, class View>
  static void copy(Exec const& exec, View const& view, Columns const& columns, Scalar* packed,
                   std::int32_t stride, bool back) {
    Kokkos::parallel_for(
        "Solder::columns::copy",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
            exec, 0, std::int64_t(view.extent(0)) * stride),
        CopyColumns<View, Scalar>{view, packed, columns.first, columns.width, stride, back});
  }

  template <class Exec>
  void reserve(Exec const& exec, std::size_t size) {
    if (size <= size_) return;
    size_ = 0;
    for (auto* const array : {&b_, &x_}) {
      array->reset();
      Kokkos::View<Scalar*, typename Exec::memory_space> const view(
          Kokkos::view_alloc("Solder::columns", exec, Kokkos::WithoutInitializing), size);
      *array = std::shared_ptr<Scalar>(view.data(), [view](Scalar*) {});
    }
    size_ = size;
  }

  std::function<std::unique_ptr<Method>(std::int32_t)> make_;
  std::shared_ptr<System> system_;
  std::map<std::int32_t, std::unique_ptr<Method>> methods_;  ///< by width, of the last solve
  std::shared_ptr<Scalar> b_, x_;                            ///< columns of a group, packed
  std::size_t size_ = 0;
};

}  // namespace Solder::Impl
