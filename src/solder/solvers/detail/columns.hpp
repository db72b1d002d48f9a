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
#include <solder/solvers/detail/method_base.hpp>

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

/// \brief The columns of views, in groups that are solved one after another.
template <class Exec, class Scalar>
class ColumnGroups {
 public:
  explicit ColumnGroups(Exec const& exec) : exec_(exec) {}
  virtual ~ColumnGroups() = default;
  /// \brief Whether columns are solved at once, where there are enough of them.
  virtual bool are_solved_at_once() const = 0;

  /// \brief What the first solve of so many columns, each row's next to one another, allocates; but
  /// for the compaction of columns.
  std::size_t workspace_bytes(std::int32_t columns, std::int64_t rows) const {
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
  /// \brief A report for each column.
  std::vector<Report> solve(ColumnsView<Scalar const> const& b, ColumnsView<Scalar> const& x) {
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

 protected:
  virtual std::vector<ColumnGroup> plan(std::int32_t columns) const = 0;
  /// \brief Begins a solve in these groups: gives up what groups of other strides need.
  virtual void begin(std::vector<ColumnGroup> const& groups) = 0;
  virtual std::vector<Report> solve_group(Scalar const* b, Scalar* x, ColumnGroup const& group) = 0;
  virtual std::size_t bytes_of_group(ColumnGroup const& group) const = 0;

 private:
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

/// \brief A method for several right-hand sides, in groups as planned: together where the method, A
/// and M take them and that is not the slower way; else, unless the method is for blocks alone,
/// concurrently on GPUs, and one after another on hosts or where the host has a part in an
/// iteration.
template <class Method, class Exec, class Options>
class ColumnsOf final : public ColumnGroups<Exec, typename Method::Scalar> {
 public:
  using System = typename Method::System;
  using Scalar = typename Method::Scalar;

  ColumnsOf(Exec const& exec, std::shared_ptr<System> system, Options const& options)
      : ColumnGroups<Exec, Scalar>(exec),
        exec_(exec),
        system_(std::move(system)),
        options_(options),
        traits_(traits_of<Method>(*system_, options)) {
    if (options.monitor)  // what stops one group stops those that follow
      options_.monitor = [this, monitor = options.monitor](Progress const& progress) {
        if (!stops_) monitor(progress);
        stops_ = stops_ || progress.stops;
        if (stops_) progress.stop();
      };
  }
  ColumnsOf(ColumnsOf const&) = delete;  // its monitors know where it is
  ColumnsOf& operator=(ColumnsOf const&) = delete;

  bool are_solved_at_once() const override { return traits_.together || traits_.concurrent; }

 private:
  static constexpr bool can_be_concurrent = Method::can_be_concurrent;

  std::vector<ColumnGroup> plan(std::int32_t columns) const override {
    return plan_groups(machine_of(exec_), system_->shape(), traits_, options_.runner, columns);
  }
  void begin(std::vector<ColumnGroup> const& groups) override {
    stops_ = false;
    if constexpr (can_be_concurrent)
      if (!groups.empty() && concurrent_ != nullptr && concurrent_->width() != groups[0].stride)
        concurrent_.reset();
    std::erase_if(methods_, [&](auto const& made) {
      return std::none_of(groups.begin(), groups.end(),
                          [&](ColumnGroup const& group) { return group.stride == made.first; });
    });
  }
  std::vector<Report> solve_group(Scalar const* b, Scalar* x, ColumnGroup const& group) override {
    if constexpr (can_be_concurrent)
      if (group.concurrent) {
        if (concurrent_ == nullptr)
          concurrent_ = std::make_unique<Concurrent<Method, Exec, Options>>(exec_, system_,
                                                                            options_, group.width);
        return concurrent_->solve(b, x, group.width);
      }
    return solve_together(b, x, group.stride);
  }
  std::size_t bytes_of_group(ColumnGroup const& group) const override {
    if constexpr (can_be_concurrent)
      if (group.concurrent)
        return group.width * Method(exec_, system_, options_, Many{.sharing = group.width})
                                 .template workspace_bytes<Serving::one>();
    if constexpr (Method::can_be_together)
      if (group.stride > 1)
        return Method(exec_, system_, options_, Many{group.stride})
            .template workspace_bytes<Serving::columns>();
    if constexpr (Method::is_block)
      return 0;
    else
      return Method(exec_, system_, options_).template workspace_bytes<Serving::one>();
  }
  /// \brief Of one column: alone.
  std::vector<Report> solve_together(Scalar const* b, Scalar* x, std::int32_t width) {
    auto& made = methods_[width];
    if constexpr (Method::can_be_together)
      if (width > 1) {
        if (made == nullptr)
          made = make_ready<Method, Serving::columns>(exec_, system_, options_, Many{width});
        return made->solve_columns(b, x);
      }
    if constexpr (Method::is_block) {
      return {};
    } else {
      if (made == nullptr) made = make_ready<Method, Serving::one>(exec_, system_, options_);
      return {made->solve(b, x)};
    }
  }

  Exec exec_;
  std::shared_ptr<System> system_;
  Options options_;
  Traits traits_;
  bool stops_ = false;  ///< the monitor has stopped the solve under way
  std::map<std::int32_t, std::unique_ptr<Method>> methods_;  ///< by width, of the last solve
  std::unique_ptr<std::conditional_t<can_be_concurrent, Concurrent<Method, Exec, Options>, int>>
      concurrent_;
};

}  // namespace Solder::Impl
