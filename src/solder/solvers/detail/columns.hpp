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

/// \brief A view of rank 2, wherever its entries lie.
template <class Scalar>
struct ColumnsView {
  Scalar* data;
  std::int64_t rows, columns, row_stride, column_stride;

  template <class View>
  explicit ColumnsView(View const& view)
      : data(view.data()),
        rows(static_cast<std::int64_t>(view.extent(0))),
        columns(static_cast<std::int64_t>(view.extent(1))),
        row_stride(static_cast<std::int64_t>(view.stride(0))),
        column_stride(static_cast<std::int64_t>(view.stride(1))) {}

  KOKKOS_FUNCTION Scalar& operator()(std::int64_t i, std::int64_t c) const {
    return data[i * row_stride + c * column_stride];
  }
  /// \brief Whether entry c of row i is number i * columns + c of the data, and pairs of columns
  /// are aligned.
  bool is_packed() const {
    constexpr std::size_t alignment = std::min<std::size_t>(2 * sizeof(Scalar), 16);
    return (columns == 1 || column_stride == 1) && (rows <= 1 || row_stride == columns) &&
           reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
  }
};

/// \brief Some columns of a view, and an array of rows of `stride`: its first `width` columns are
/// those of the view from `first` on, the others are zero.
template <class Scalar, class Packed>
struct CopyColumns {
  ColumnsView<Scalar> view;
  Packed* packed;
  std::int32_t first, width, stride;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    auto const i = k / stride, c = k % stride;
    if constexpr (std::is_const_v<Packed>) {
      if (c < width) view(i, first + c) = packed[k];
    } else {
      packed[k] = c < width ? view(i, first + c) : Scalar{};
    }
  }
};

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

/// \brief The columns of views, in groups that are solved one after another, each by a solver of
/// packed columns.
template <class Exec, class Scalar>
class ColumnGroups {
 public:
  explicit ColumnGroups(Exec const& exec) : exec_(exec) {}
  virtual ~ColumnGroups() = default;

  /// \brief A report for each column.
  std::vector<Report> solve(ColumnsView<Scalar const> const& b, ColumnsView<Scalar> const& x) {
    auto const count = static_cast<std::int32_t>(b.columns);
    std::int32_t const most = at_once(count);
    bool const in_packs = most > 1 && !is_block() && !is_host_space<Exec> &&
                          std::int64_t(count) * b.rows > column_crossover;
    auto const widths = in_packs ? quickest_groups(count, most) : equal_groups(count, most);
    std::vector<std::int32_t> strides;
    for (std::int32_t const width : widths)
      strides.push_back(
          in_packs ? static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(width)))
                   : stride_of(width, most));
    keep(strides);
    std::vector<Report> reports;
    std::int32_t first = 0;
    for (std::size_t k = 0; k < widths.size(); ++k) {
      std::int32_t const width = widths[k], stride = strides[k];
      std::vector<Report> of_group;
      if (widths.size() == 1 && stride == count && b.is_packed() && x.is_packed()) {
        of_group = solve_group(b.data, x.data, stride);
      } else {
        reserve(static_cast<std::size_t>(b.rows) * stride);
        copy<Scalar const, Scalar>(b, b_.data(), {first, width, stride});
        copy<Scalar, Scalar>(x, x_.data(), {first, width, stride});
        of_group = solve_group(b_.data(), x_.data(), stride);
        copy<Scalar, Scalar const>(x, x_.data(), {first, width, stride});
      }
      std::move(of_group.begin(), of_group.begin() + width, std::back_inserter(reports));
      first += width;
    }
    return reports;
  }

 protected:
  /// \brief Columns that are solved together, at most, where there are so many.
  virtual std::int32_t at_once(std::int32_t count) const = 0;
  /// \brief Whether the method is for blocks alone.
  virtual bool is_block() const = 0;
  /// \brief Gives up what groups of other strides need.
  virtual void keep(std::vector<std::int32_t> const& strides) = 0;
  /// \param width columns of b and x
  virtual std::vector<Report> solve_group(Scalar const* b, Scalar* x, std::int32_t width) = 0;

 private:
  struct Group {
    std::int32_t first, width, stride;
  };

  /// \brief The columns of a group of `width`: GPUs take an even number of them, and a block at
  /// least two. Those that are added are zero.
  std::int32_t stride_of(std::int32_t width, std::int32_t most) const {
    if (is_block()) return is_host_space<Exec> ? std::max(width, 2) : width + width % 2;
    return most == 1 || is_host_space<Exec> ? width : width + width % 2;
  }

  template <class Entry, class Packed>
  void copy(ColumnsView<Entry> const& view, Packed* packed, Group const& group) const {
    Kokkos::parallel_for(
        "Solder::columns::copy",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec_, 0,
                                                                   view.rows * group.stride),
        CopyColumns<Entry, Packed>{view, packed, group.first, group.width, group.stride});
  }

  void reserve(std::size_t size) {
    if (size <= x_.extent(0)) return;
    b_ = x_ = {};
    for (auto* const array : {&b_, &x_})
      *array = Kokkos::View<Scalar*, typename Exec::memory_space>(
          Kokkos::view_alloc("Solder::columns", exec_, Kokkos::WithoutInitializing), size);
  }

  Exec exec_;
  Kokkos::View<Scalar*, typename Exec::memory_space> b_, x_;  ///< columns of a group, packed
};

/// \brief A method for several right-hand sides: groups of columns together where the method, A and
/// M take them, else one column after another, if the method is not for blocks alone.
template <class Method, class Exec, class Options>
class ColumnsOf final : public ColumnGroups<Exec, typename Method::Scalar> {
 public:
  using System = typename Method::System;
  using Scalar = typename Method::Scalar;

  ColumnsOf(Exec const& exec, std::shared_ptr<System> system, Options const& options)
      : ColumnGroups<Exec, Scalar>(exec),
        exec_(exec),
        system_(std::move(system)),
        options_(options) {}

  /// \brief Whether columns are solved together, where there are enough of them.
  bool together() const {
    if constexpr (possible)
      return system_->takes_columns();
    else
      return false;
  }

 private:
  static constexpr bool possible =
      Method::takes_many && takes_columns<typename System::OpenedA, typename System::OpenedM>;

  std::int32_t at_once(std::int32_t count) const override {
    bool const one_by_one = !is_host_space<Exec> && count == 1 && !is_block();
    return !together() || one_by_one ? 1 : columns_at_once(system_->rows());
  }
  bool is_block() const override { return is_block_method<Method>; }
  void keep(std::vector<std::int32_t> const& strides) override {
    std::erase_if(methods_, [&](auto const& made) {
      return std::find(strides.begin(), strides.end(), made.first) == strides.end();
    });
  }
  std::vector<Report> solve_group(Scalar const* b, Scalar* x, std::int32_t width) override {
    auto& made = methods_[width];
    if (made == nullptr) {
      if constexpr (possible)
        made = std::make_unique<Method>(exec_, system_, options_, Many{width});
      else if constexpr (!is_block_method<Method>)
        made = std::make_unique<Method>(exec_, system_, options_);
    }
    if constexpr (possible)
      if (width > 1) return made->solve_many(b, x);
    if constexpr (is_block_method<Method>)
      return {};
    else
      return {made->solve(b, x)};
  }

  Exec exec_;
  std::shared_ptr<System> system_;
  Options options_;
  std::map<std::int32_t, std::unique_ptr<Method>> methods_;  ///< by width, of the last solve
};

}  // namespace Solder::Impl
