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

#include <solder/core/allocate.hpp>
#include <solder/matrix/partition.hpp>
#include <solder/solvers/detail/beside.hpp>
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

/// \brief How the columns of a group that is solved lie: rows of `stride` entries, the columns
/// beyond the first `width` being zero; or one after another, stride = width.
struct ColumnGroup {
  std::int32_t first, width, stride;
  bool one_after_another = false;
};

/// \brief Some columns of a view, from or to an array.
template <class Scalar, class Array>
struct CopyColumns {
  ColumnsView<Scalar> view;
  Array* array;
  ColumnGroup group;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    auto const i = k / group.stride, c = k % group.stride;
    Array& entry = array[group.one_after_another ? c * view.rows + i : k];
    if constexpr (std::is_const_v<Array>) {
      if (c < group.width) view(i, group.first + c) = entry;
    } else {
      entry = c < group.width ? view(i, group.first + c) : Scalar{};
    }
  }
};

/// \brief What an iteration of 1, 2, 4, ... columns of a large system takes on a GPU, in that of
/// one column: measured, see "Many right-hand sides" in docs/performance.md. Other widths leave
/// lanes of a warp idle, and take more than the sum of two of these.
inline constexpr double pack_costs[] = {1, 1.35, 2, 3.2, 5.6, 10.8};

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

/// \brief The columns of views, in groups that are solved one after another.
template <class Exec, class Scalar>
class ColumnGroups {
 public:
  explicit ColumnGroups(Exec const& exec) : exec_(exec) {}
  virtual ~ColumnGroups() = default;

  /// \brief A report for each column.
  std::vector<Report> solve(ColumnsView<Scalar const> const& b, ColumnsView<Scalar> const& x) {
    auto const groups = groups_of(static_cast<std::int32_t>(b.columns), b.rows);
    std::vector<std::int32_t> strides;
    for (ColumnGroup const& group : groups) strides.push_back(group.stride);
    keep(strides);
    std::vector<Report> reports;
    for (ColumnGroup const& group : groups) {
      std::vector<Report> of_group;
      if (groups.size() == 1 && !group.one_after_another && group.stride == b.columns &&
          b.is_packed() && x.is_packed()) {
        of_group = solve_group(b.data, x.data, group);
      } else {
        reserve(static_cast<std::size_t>(b.rows) * group.stride);
        copy<Scalar const, Scalar>(b, b_.data(), group);
        copy<Scalar, Scalar>(x, x_.data(), group);
        try {
          of_group = solve_group(b_.data(), x_.data(), group);
        } catch (...) {  // a monitor threw: x is as far as it has come
          copy<Scalar, Scalar const>(x, x_.data(), group);
          exec_.fence("Solder::columns: the solve was abandoned");
          throw;
        }
        copy<Scalar, Scalar const>(x, x_.data(), group);
      }
      std::move(of_group.begin(), of_group.begin() + group.width, std::back_inserter(reports));
    }
    return reports;
  }

 protected:
  /// \brief Of so many columns those that are solved beside one another, at most; 0: they are
  /// solved together.
  virtual std::int32_t beside(std::int32_t count) const = 0;
  /// \brief Those that are solved together, at most, where there are so many.
  virtual std::int32_t at_once(std::int32_t count) const = 0;
  /// \brief Whether the method is for blocks alone.
  virtual bool is_block() const = 0;
  /// \brief Gives up what groups of other strides need.
  virtual void keep(std::vector<std::int32_t> const& strides) = 0;
  virtual std::vector<Report> solve_group(Scalar const* b, Scalar* x, ColumnGroup const& group) = 0;

 private:
  std::vector<ColumnGroup> groups_of(std::int32_t count, std::int64_t rows) const {
    std::vector<ColumnGroup> groups;
    std::int32_t first = 0;
    if (count == 0) return groups;
    if (std::int32_t const most = beside(count); most > 0) {  // of one width, but for the last
      std::int32_t const some = (count + most - 1) / most, width = (count + some - 1) / some;
      for (; first < count; first += width) {
        std::int32_t const here = std::min(width, count - first);
        groups.push_back({first, here, here, true});
      }
      return groups;
    }
    std::int32_t const most = at_once(count);
    bool const in_packs = most > 1 && !is_block() && !is_host_space<Exec> &&
                          std::int64_t(count) * rows > column_crossover;
    for (std::int32_t const width :
         in_packs ? quickest_groups(count, most) : equal_groups(count, most)) {
      groups.push_back(
          {first, width,
           in_packs ? static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(width)))
                    : stride_of(width, most)});
      first += width;
    }
    return groups;
  }

  /// \brief The columns of a group of `width`: GPUs take an even number of them, and a block at
  /// least two. Those that are added are zero.
  std::int32_t stride_of(std::int32_t width, std::int32_t most) const {
    if (is_block()) return is_host_space<Exec> ? std::max(width, 2) : width + width % 2;
    return most == 1 || is_host_space<Exec> ? width : width + width % 2;
  }

  template <class Entry, class Array>
  void copy(ColumnsView<Entry> const& view, Array* array, ColumnGroup const& group) const {
    Kokkos::parallel_for("Solder::columns::copy",
                         Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
                             exec_, 0, view.rows * group.stride),
                         CopyColumns<Entry, Array>{view, array, group});
  }

  void reserve(std::size_t size) {
    if (size <= x_.extent(0)) return;
    b_ = x_ = {};
    for (auto* const array : {&b_, &x_})
      *array = allocate_view<DeviceArray<Scalar, Exec>>(exec_, "Solder::columns", size);
  }

  Exec exec_;
  Kokkos::View<Scalar*, typename Exec::memory_space> b_, x_;  ///< columns of a group
};

/// \brief A method for several right-hand sides: groups of columns together where the method, A and
/// M take them and that is not the slower way; else, if the method is not for blocks alone, beside
/// one another on GPUs, and one after another on hosts or with work of the host's in an iteration.
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

  /// \brief Whether columns are solved at once, where there are enough of them.
  bool are_solved_at_once() const { return are_together() || can_be_beside; }

 private:
  static constexpr bool can_be_together =
      Method::takes_many && takes_columns<typename System::OpenedA, typename System::OpenedM>;
  static constexpr bool can_be_beside =
      !is_host_space<Exec> && !is_block_method<Method> && is_on_device<typename System::OpenedM>;

  bool are_together() const {
    if constexpr (can_be_together)
      return system_->takes_columns();
    else
      return false;
  }
  std::int32_t beside(std::int32_t count) const override {
    if constexpr (can_be_beside && !can_be_together)
      return std::min(count, beside_at_once(system_->rows()));
    else if constexpr (can_be_beside)
      return count > 1 && options_.runner == Runner::automatic && can_meet(exec_)
                 ? quicker_beside(count)
                 : 0;
    else
      return 0;
  }
  /// \brief Of small systems, that could be solved together: where their solves are all but waits,
  /// which these solves share, and A and M are read so often from the nearest cache. Measured: see
  /// "Many right-hand sides" in docs/performance.md.
  std::int32_t quicker_beside(std::int32_t count) const {
    using M = typename System::OpenedM;
    std::int32_t const most = std::min(count, most_columns);
    if (Method::merges(options_)) {  // as often as it beats a stage more for all of them
      constexpr std::int32_t turns = M::is_pointwise ? 2 : 1;
      std::int32_t merged = most;
      while (merged > 0 &&
             !system_->keeps_all_rows(multiprocessors(exec_) / merged * std::int64_t(team_threads)))
        --merged;
      if (turns * merged >= most) return merged;
    }
    // An iteration of few stages waits less, and comes to the limits of that cache earlier.
    constexpr bool has_few_stages = [] {
      if constexpr (M::is_pointwise)
        return true;
      else
        return bool(M::is_split);
    }();
    constexpr double most_words = has_few_stages ? 2.25e6 : 1e7;
    double const words = system_->matrix_words() + system_->preconditioner_words();
    return most * words <= most_words ? most : 0;
  }
  std::int32_t at_once(std::int32_t count) const override {
    bool const one_by_one = !is_host_space<Exec> && count == 1 && !is_block();
    return !are_together() || one_by_one ? 1 : columns_at_once(system_->rows());
  }
  bool is_block() const override { return is_block_method<Method>; }
  void keep(std::vector<std::int32_t> const& strides) override {
    if constexpr (can_be_beside)
      if (!strides.empty() && beside_ != nullptr && beside_->width() != strides[0]) beside_.reset();
    std::erase_if(methods_, [&](auto const& made) {
      return std::find(strides.begin(), strides.end(), made.first) == strides.end();
    });
  }
  std::vector<Report> solve_group(Scalar const* b, Scalar* x, ColumnGroup const& group) override {
    if constexpr (can_be_beside)
      if (group.one_after_another) {
        if (beside_ == nullptr)
          beside_ = std::make_unique<Beside<Method, Exec, Options>>(exec_, system_, options_,
                                                                    group.width);
        return beside_->solve(b, x, group.width);
      }
    return solve_together(b, x, group.stride);
  }
  /// \brief Of one column: alone.
  std::vector<Report> solve_together(Scalar const* b, Scalar* x, std::int32_t width) {
    auto& made = methods_[width];
    if (made == nullptr) {
      if constexpr (can_be_together)
        made = std::make_unique<Method>(exec_, system_, options_, Many{width});
      else if constexpr (!is_block_method<Method>)
        made = std::make_unique<Method>(exec_, system_, options_);
    }
    if constexpr (can_be_together)
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
  std::unique_ptr<std::conditional_t<can_be_beside, Beside<Method, Exec, Options>, int>> beside_;
};

}  // namespace Solder::Impl
