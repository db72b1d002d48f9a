// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/plan.hpp>
#include <solder/solvers/detail/columns_view.hpp>
#include <solder/solvers/detail/concurrent.hpp>
#include <solder/solvers/detail/solve.hpp>

namespace Solder::Impl {

/// \brief Some columns of a view, from or to an array.
template <class Scalar, class Array>
struct CopyColumns {
  ColumnsView<Scalar> view;
  Array* array;
  ColumnGroup group;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    auto const i = k / group.stride, c = k % group.stride;
    Array& entry = array[group.concurrent ? c * view.rows + i : k];
    if constexpr (std::is_const_v<Array>) {
      if (c < group.width) view(i, group.first + c) = entry;
    } else {
      entry = c < group.width ? view(i, group.first + c) : Scalar{};
    }
  }
};

/// \brief A method for the columns of views, in groups as planned, one group after another. A group
/// is solved together where the method, A and M take several right-hand sides and that is not
/// slower. Otherwise, unless the method is for blocks alone, it is solved concurrently on GPUs, and
/// column by column on hosts or where the host has a part in an iteration.
template <class Exec, class Scalar>
class ColumnGroups {
 public:
  /// \param options,traits of the method; \param one,together make its solves
  ColumnGroups(Exec const& exec, std::shared_ptr<SystemBase<Exec>> system,
               SolverOptions const& options, Traits const& traits,
               MakeSolve<Exec, Scalar> const& one, MakeSolve<Exec, Scalar> const& together);
  ColumnGroups(ColumnGroups const&) = delete;  // its monitor knows where it is
  ColumnGroups& operator=(ColumnGroups const&) = delete;

  /// \brief Whether columns are solved at once, where there are enough of them.
  bool are_solved_at_once() const { return traits_.together || traits_.concurrent; }

  /// \brief What the first solve of this many columns, those of a row being adjacent in memory,
  /// allocates, without their compaction.
  std::size_t workspace_bytes(std::int32_t columns, std::int64_t rows) const;
  /// \brief A report for each column.
  std::vector<Report> solve(ColumnsView<Scalar const> const& b, ColumnsView<Scalar> const& x);

 private:
  std::vector<ColumnGroup> plan(std::int32_t columns) const {
    return plan_groups(machine_of(exec_), system_->shape(), traits_, runner_, columns);
  }
  /// \brief Begins a solve in these groups: gives up what groups of other strides need.
  void begin(std::vector<ColumnGroup> const& groups);
  std::vector<Report> solve_group(Scalar const* b, Scalar* x, ColumnGroup const& group);
  std::size_t bytes_of_group(ColumnGroup const& group) const;
  static Many many(ColumnGroup const& group) {
    if (group.stride == 1) return {};
    return {.columns = group.stride, .serving = Serving::columns};
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
  std::shared_ptr<SystemBase<Exec>> system_;
  Runner runner_;
  Traits traits_;
  MakeSolve<Exec, Scalar> one_, together_;
  Monitor monitor_;
  bool stops_ = false;  ///< the monitor has stopped the solve under way
  /// By width, of the last solve.
  std::map<std::int32_t, std::unique_ptr<Solve<Exec, Scalar>>> solves_;
  std::unique_ptr<std::conditional_t<is_host_space<Exec>, int, Concurrent<Exec, Scalar>>>
      concurrent_;
  Kokkos::View<Scalar*, typename Exec::memory_space> b_, x_;  ///< columns of a group
};

template <class Exec, class Scalar>
ColumnGroups<Exec, Scalar>::ColumnGroups(Exec const& exec, std::shared_ptr<SystemBase<Exec>> system,
                                         SolverOptions const& options, Traits const& traits,
                                         MakeSolve<Exec, Scalar> const& one,
                                         MakeSolve<Exec, Scalar> const& together)
    : exec_(exec),
      system_(std::move(system)),
      runner_(options.runner),
      traits_(traits),
      one_(one),
      together_(together) {
  if (options.monitor)  // what stops one group stops those that follow
    monitor_ = [this, monitor = options.monitor](Progress const& progress) {
      if (!stops_) monitor(progress);
      stops_ = stops_ || progress.stops;
      if (stops_) progress.stop();
    };
}

template <class Exec, class Scalar>
std::size_t ColumnGroups<Exec, Scalar>::workspace_bytes(std::int32_t columns,
                                                        std::int64_t rows) const {
  auto const groups = plan(columns);
  std::size_t size = 0, most = 0;
  std::vector<ColumnGroup> counted;
  for (ColumnGroup const& group : groups) {
    if (groups.size() > 1 || group.concurrent || group.stride != columns)
      most = std::max(most, 2 * sizeof(Scalar) * std::size_t(rows) * group.stride);
    if (std::any_of(counted.begin(), counted.end(), [&](ColumnGroup const& other) {
          return other.stride == group.stride && other.concurrent == group.concurrent;
        }))
      continue;
    counted.push_back(group);
    size += bytes_of_group(group);
  }
  return size + most;
}

template <class Exec, class Scalar>
std::vector<Report> ColumnGroups<Exec, Scalar>::solve(ColumnsView<Scalar const> const& b,
                                                      ColumnsView<Scalar> const& x) {
  auto const groups = plan(static_cast<std::int32_t>(b.columns));
  begin(groups);
  std::vector<Report> reports;
  for (ColumnGroup const& group : groups) {
    std::vector<Report> of_group;
    if (groups.size() == 1 && !group.concurrent && group.stride == b.columns && b.is_packed() &&
        x.is_packed()) {
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

template <class Exec, class Scalar>
void ColumnGroups<Exec, Scalar>::begin(std::vector<ColumnGroup> const& groups) {
  stops_ = false;
  if constexpr (!is_host_space<Exec>)
    if (!groups.empty() && concurrent_ != nullptr && concurrent_->width() != groups[0].stride)
      concurrent_.reset();
  std::erase_if(solves_, [&](auto const& made) {
    return std::none_of(groups.begin(), groups.end(),
                        [&](ColumnGroup const& group) { return group.stride == made.first; });
  });
}

template <class Exec, class Scalar>
std::vector<Report> ColumnGroups<Exec, Scalar>::solve_group(Scalar const* b, Scalar* x,
                                                            ColumnGroup const& group) {
  if constexpr (!is_host_space<Exec>)
    if (group.concurrent) {
      if (concurrent_ == nullptr)
        concurrent_ = std::make_unique<Concurrent<Exec, Scalar>>(exec_, system_->rows(), one_,
                                                                 monitor_, group.width);
      return concurrent_->solve(b, x, group.width);
    }
  std::int32_t const width = group.stride;
  auto& made = solves_[width];
  bool const is_one = width == 1;
  if (is_one && traits_.is_block) return {};
  if (made == nullptr)
    made = make_ready<Exec, Scalar>(is_one ? one_ : together_, system_->ranks(), exec_, monitor_,
                                    many(group));
  if (!is_one) return made->solve_columns(b, x);
  return {made->solve(b, x)};
}

template <class Exec, class Scalar>
std::size_t ColumnGroups<Exec, Scalar>::bytes_of_group(ColumnGroup const& group) const {
  auto const bytes = [&](auto const& make, Many const& many) {
    return make(exec_, monitor_, many)->workspace_bytes();
  };
  if (group.concurrent) return group.width * bytes(one_, {.sharing = group.width});
  if (group.stride > 1) return bytes(together_, many(group));
  return traits_.is_block ? 0 : bytes(one_, {});
}

}  // namespace Solder::Impl
