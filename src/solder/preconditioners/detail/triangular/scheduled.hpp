// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/arena.hpp>
#include <solder/core/compiled.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/preconditioners/detail/triangular/device.hpp>
#include <solder/preconditioners/detail/triangular/levels.hpp>
#include <solder/preconditioners/detail/triangular/rows.hpp>
#include <solder/preconditioners/detail/triangular/schedules.hpp>

namespace Solder::Impl::triangular {

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar taken(Scalar const& value, [[maybe_unused]] bool conjugated) {
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return conjugated ? Kokkos::conj(value) : value;
  else
    return value;
}

/// \brief A triangular matrix on the device, in the order of a schedule.
template <class Scalar, class Exec>
class Scheduled {
 public:
  using Space = typename Exec::memory_space;

  /// \brief A schedule on the host, in the layout that it will have on the device.
  struct Plan {
    TriangularReport report;
    std::int32_t lane_bits = 0;
    std::vector<std::int32_t> rows, begin, depth, offsets{0}, own, columns, sources,
        diagonal_sources;
    std::vector<std::int32_t> first, needs_begin;  ///< of strands, if any, as is `begin` then
    std::vector<StrandNeed> needs;
    Tiles tiles;  ///< of hosts: for as many threads as there are
  };

  /// \brief Analyses a pattern. It does not use the device, so several threads may call it.
  /// \param needs the pattern, with rows counted from the one that is solved first
  /// \param label the number that each row of `needs` has in vectors
  /// \param source the places of the values of the entries of `needs`
  /// \param diagonal the places of the diagonal's values, by rows of `needs`; empty: ones
  static Plan planned(Exec const& exec, Dependencies const& needs,
                      std::vector<std::int32_t> const& label,
                      std::vector<std::int32_t> const& source,
                      std::vector<std::int32_t> const& diagonal, TriangularSchedule wanted) {
    Kokkos::Timer timer;
    Plan plan;
    std::int32_t const rows = needs.rows();
    std::vector<std::int32_t> level;
    plan.report.levels = find_levels(needs, level);
    plan.report.entries = static_cast<std::int64_t>(needs.columns.size());
    auto [tiles, strands] = choose(exec, needs, level, wanted, plan);
    plan.report.tiles = tiles.count();
    plan.report.tile_levels = tiles.levels;
    auto const tile = tiles.tile_of_rows();
    for (std::int32_t i = 0; i < rows; ++i)
      needs.for_each_needed(i, [&](std::int32_t j) { plan.report.external += tile[j] != tile[i]; });
    auto const& order = is_host_space<Exec> ? strands.order : tiles.order;
    plan.rows.resize(rows);
    for (std::int32_t s = 0; s < rows; ++s) plan.rows[s] = label[order[s]];
    plan.offsets.reserve(std::size_t(rows) + 1);
    plan.columns.reserve(needs.columns.size());
    plan.sources.reserve(needs.columns.size());
    if constexpr (is_host_space<Exec>) {
      put_in_order_of_solving(needs, label, source, order, plan);
      plan.first = std::move(strands.first);
      plan.begin = std::move(strands.begin);
      plan.needs_begin = std::move(strands.needs_begin);
      plan.needs = std::move(strands.needs);
    } else {
      put_own_tile_last(needs, tile, source, tiles, plan);
      plan.begin = std::move(tiles.begin);
    }
    if (!diagonal.empty()) {
      plan.diagonal_sources.reserve(rows);
      for (std::int32_t const i : order) plan.diagonal_sources.push_back(diagonal[i]);
    }
    plan.report.analysis_seconds = timer.seconds();
    return plan;
  }

  Scheduled() = default;

  /// \brief Copies a plan to the device.
  Scheduled(Exec const& exec, Plan const& plan)
      : lane_bits_(plan.lane_bits),
        report_(plan.report),
        rows_(on_device(exec, plan.rows)),
        right_(rows_),
        begin_(on_device(exec, plan.begin)),
        offsets_(on_device(exec, plan.offsets)),
        columns_(on_device(exec, plan.columns)),
        sources_(on_device(exec, plan.sources)),
        diagonal_sources_(on_device(exec, plan.diagonal_sources)),
        values_(allocate<Scalar>(exec, "Solder::triangular::values",
                                 std::int64_t(plan.columns.size()))),
        inverse_(allocate<Scalar>(exec, "Solder::triangular::inverse",
                                  std::int64_t(plan.diagonal_sources.size()))) {
    Kokkos::Timer timer;
    if constexpr (is_host_space<Exec>) {
      first_ = on_device(exec, plan.first);
      needs_begin_ = on_device(exec, plan.needs_begin);
      needs_ = on_device(exec, plan.needs);
      find_followers();
    } else {
      own_ = on_device(exec, plan.own);
      depth_ = on_device(exec, plan.depth);
    }
    report_.analysis_seconds += timer.seconds();
  }

  /// \brief Whether such a triangle gets the schedule `levels`, provided that it has no more levels
  /// than levels_looked_for(). It is then made on the device, by `by_levels`. Rows of thousands of
  /// entries are left to the host, because on the device one lane would go through them.
  /// \param is_coloured the rows are ordered by colours, so there are few levels
  static bool is_by_levels(TriangularSchedule wanted, std::int32_t rows, std::int64_t entries,
                           std::int32_t longest_row, bool is_coloured = false) {
    return !is_host_space<Exec> && longest_row <= most_row_of_device &&
           (wanted == TriangularSchedule::levels ||
            (wanted == TriangularSchedule::automatic &&
             (is_coloured || !has_short_rows(choose_lane_bits<Scalar, Exec>(rows, entries)))));
  }
  static std::int32_t levels_looked_for(TriangularSchedule wanted, std::int32_t rows,
                                        bool is_coloured = false) {
    if (wanted == TriangularSchedule::levels) return rows;
    return std::max(most_wide_levels(rows), is_coloured ? few_levels : 0);
  }

  /// \brief Makes the schedule `levels` of a triangle of P on the device. It takes some twenty
  /// kernels, and two for each bit of the number of levels. The result is the same as with a plan.
  /// \param T a triangle of P
  SOLDER_MAKES_LAMBDAS static Scheduled by_levels(Exec const& exec, DevicePattern<Exec> const& P,
                                                  DeviceTriangle const& T, bool has_diagonal,
                                                  RowsByLevel<Exec> const& found) {
    Kokkos::Timer timer;
    std::int32_t const rows = T.rows;
    Scheduled made;
    made.offsets_ = indices(exec, std::int64_t(rows) + 1);
    auto* const offsets = made.offsets_.data();
    auto const* const order = found.order.data();
    std::int64_t const entries =
        offsets_of_lengths(
            exec, offsets, rows,
            KOKKOS_LAMBDA(std::int32_t s) { return T.end(order[s]) - T.begin(order[s]); })
            .nonzeros;
    made.lane_bits_ = choose_lane_bits<Scalar, Exec>(rows, entries);
    made.begin_ = tiles_of_levels(exec, found, most_rows<Exec>(made.lane_bits_));
    auto const tiles = static_cast<std::int32_t>(made.begin_.extent(0)) - 1;
    made.report_ = {
        TriangularSchedule::levels, found.levels, tiles, found.levels, entries, entries, 0, 0};
    made.depth_ = indices(exec, tiles);
    Kokkos::deep_copy(exec, made.depth_, 1);
    made.hold(exec, rows, entries, has_diagonal);
    made.own_ = indices(exec, rows);
    auto const place = indices(exec, rows);
    auto const* const labels = P.label.data();
    auto *const slot = place.data(), *const label = made.rows_.data(),
                *const own = made.own_.data(), *const columns = made.columns_.data(),
                *const sources = made.sources_.data(),
                *const diagonals = has_diagonal ? made.diagonal_sources_.data() : nullptr;
    Kokkos::parallel_for(
        "Solder::triangular::slots", Kokkos::RangePolicy<Exec>(exec, 0, rows),
        KOKKOS_LAMBDA(int s) {
          std::int32_t const i = order[s];
          slot[i] = s;
          label[s] = labels == nullptr ? i : labels[i];
          own[s] = offsets[s + 1];
          if (diagonals != nullptr) diagonals[s] = T.diagonal[i];
        });
    int const bits = made.lane_bits_;
    Kokkos::parallel_for(
        "Solder::triangular::columns",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0,
                                                                   std::int64_t(rows) << bits),
        KOKKOS_LAMBDA(std::int64_t t) {
          auto const s = static_cast<std::int32_t>(t >> bits);
          std::int32_t const begin = T.begin(order[s]), to = offsets[s];
          for (auto k = static_cast<std::int32_t>(t) & ((1 << bits) - 1); k < offsets[s + 1] - to;
               k += 1 << bits) {
            columns[to + k] = slot[T.columns[begin + k]];
            sources[to + k] = begin + k;
          }
        });
    exec.fence("Solder::triangular: scheduled");
    made.report_.analysis_seconds = found.seconds + timer.seconds();
    return made;
  }

  /// \brief Whether it is known without a look at the pattern that one thread of a host solves such
  /// a triangle alone, and takes the rows as they come.
  static bool is_by_one_thread(Exec const& exec, TriangularSchedule wanted, std::int32_t rows,
                               std::int64_t entries) {
    if (!is_host_space<Exec>) return false;
    bool const is_automatic = wanted == TriangularSchedule::automatic;
    if (exec.concurrency() == 1) return is_automatic || wanted == TriangularSchedule::natural;
    return is_automatic && seconds_alone(rows, entries) <= short_alone;
  }
  /// \brief Makes that schedule of a triangle of P. The result is the same as with a plan, except
  /// that all rows are one tile. Three loops.
  /// \param T a triangle of P
  static Scheduled by_one_thread(Exec const& exec, DevicePattern<Exec> const& P,
                                 DeviceTriangle const& T, bool has_diagonal) {
    Kokkos::Timer timer;
    std::int32_t const rows = T.rows;
    Scheduled made;
    made.offsets_ = indices(exec, std::int64_t(rows) + 1);
    auto* const offsets = made.offsets_.data();
    offsets[0] = 0;
    for (std::int32_t s = 0; s < rows; ++s)
      offsets[s + 1] = offsets[s] + T.end(T.in_turn(s)) - T.begin(T.in_turn(s));
    std::int64_t const entries = offsets[rows];
    made.hold(exec, rows, entries, has_diagonal);
    made.begin_ = on_device(exec, std::vector{0, rows});
    made.first_ = on_device(exec, std::vector{0, 1});
    made.needs_begin_ = on_device(exec, std::vector{0, 0});
    auto const* const labels = P.label.data();
    auto const label = [&](std::int32_t i) { return labels == nullptr ? i : labels[i]; };
    std::vector<std::int32_t> level(rows);
    std::int32_t levels = 0;
    for (std::int32_t s = 0; s < rows; ++s) {
      std::int32_t const i = T.in_turn(s);
      std::int32_t of_row = 0;
      made.rows_(s) = label(i);
      for (std::int32_t to = offsets[s]; to < offsets[s + 1]; ++to) {
        std::int32_t const k =
            T.lower ? T.begin(i) + (to - offsets[s]) : T.end(i) - 1 - (to - offsets[s]);
        made.columns_(to) = label(T.columns[k]);
        made.sources_(to) = k;
        of_row = std::max(of_row, level[T.columns[k]] + 1);
      }
      level[i] = of_row;
      levels = std::max(levels, of_row + 1);
      if (has_diagonal) made.diagonal_sources_(s) = T.diagonal[i];
    }
    made.find_followers();
    made.report_ = {TriangularSchedule::natural, levels, 1, 1, entries, 0, 0, timer.seconds()};
    return made;
  }

  /// \brief Takes the values from their sources, or the conjugates of these: one to three kernels.
  SOLDER_MAKES_LAMBDAS void update(Exec const& exec, Scalar const* from,
                                   bool conjugated = false) const {
    auto const* const sources = sources_.data();
    auto const* const diagonals = diagonal_sources_.data();
    auto* const values = values_.data();
    auto* const inverse = inverse_.data();
    Kokkos::parallel_for(
        "Solder::triangular::update",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, values_.extent(0)),
        KOKKOS_LAMBDA(std::int64_t k) { values[k] = taken(from[sources[k]], conjugated); });
    Kokkos::parallel_for(
        "Solder::triangular::invert",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, inverse_.extent(0)),
        KOKKOS_LAMBDA(std::int64_t s) {
          inverse[s] = Scalar(1) / taken(from[diagonals[s]], conjugated);
        });
    if constexpr (is_host_space<Exec>) {
      auto const* const offsets = offsets_.data();
      Kokkos::parallel_for(
          "Solder::triangular::scale", Kokkos::RangePolicy<Exec>(exec, 0, inverse_.extent(0)),
          KOKKOS_LAMBDA(int s) {
            for (std::int32_t k = offsets[s]; k < offsets[s + 1]; ++k) values[k] *= inverse[s];
          });
    }
  }

  /// \brief The first row, in the numbering of vectors, whose diagonal entry has no finite inverse,
  /// or -1.
  std::int32_t first_without_inverse(Exec const& exec) const {
    return first_infinite(exec, inverse_, rows_.data());
  }

  /// \brief Makes solves take their right-hand sides in the order in which solves of `other` leave
  /// their solutions.
  SOLDER_MAKES_LAMBDAS void take_from(Exec const& exec, Scheduled const& other) {
    if (is_host_space<Exec>) return;  // hosts leave them in the order of rows
    auto const slot = allocate<std::int32_t>(exec, "Solder::triangular::slots", rows_.extent(0));
    right_ = allocate<std::int32_t>(exec, "Solder::triangular::right", rows_.extent(0));
    auto const *const of_other = other.rows_.data(), *const own = rows_.data();
    auto *const slots = slot.data(), *const right = right_.data();
    Kokkos::RangePolicy<Exec> const all(exec, 0, rows_.extent(0));
    Kokkos::parallel_for(
        "Solder::triangular::slots", all, KOKKOS_LAMBDA(int s) { slots[of_other[s]] = s; });
    Kokkos::parallel_for(
        "Solder::triangular::right", all, KOKKOS_LAMBDA(int s) { right[s] = slots[own[s]]; });
  }

  TriangularOperator<Scalar> device_operator() const {
    return {rows_.data(),
            right_.data(),
            begin_.data(),
            depth_.data(),
            offsets_.data(),
            own_.data(),
            columns_.data(),
            values_.data(),
            inverse_.extent(0) > 0 ? inverse_.data() : nullptr,
            report_.tiles,
            lane_bits_,
            {strands(), first_.data(), begin_.data(), needs_begin_.data(), needs_.data(), follow_}};
  }
  /// \brief The number of integer counters that a solve needs.
  std::int32_t counters() const {
    return is_host_space<Exec> ? strands() * StrandsOfHost::counters : 1;
  }
  /// \brief Warps of a GPU that solve: enough for the tiles of `levels_ahead` levels.
  std::int32_t workers() const {
    std::int64_t const ahead = levels_ahead * report_.tiles / std::max(report_.tile_levels, 1) + 1;
    return static_cast<std::int32_t>(std::min<std::int64_t>(ahead, report_.tiles));
  }
  /// \brief Teams that its solves want. On GPUs at least one warp of each team works, so that the
  /// warps spread over the device.
  std::int32_t teams(Exec const& exec) const {
    if (is_host_space<Exec>) return threads_of(exec);
    return std::clamp(workers(), 1, resident_league(exec));
  }
  TriangularReport const& report() const { return report_; }

 private:
  using Indices = Kokkos::View<std::int32_t*, Space>;
  using Values = Kokkos::View<Scalar*, Space>;
  using Needs = Kokkos::View<StrandNeed*, Space>;

  std::int32_t strands() const {
    return std::max(0, static_cast<std::int32_t>(first_.extent(0)) - 1);
  }

  static Indices indices(Exec const& exec, std::int64_t size) {
    return allocate<std::int32_t>(exec, "Solder::triangular::pattern", size);
  }
  /// \brief Allocates what rows and entries have, except the offsets.
  void hold(Exec const& exec, std::int32_t rows, std::int64_t entries, bool has_diagonal) {
    std::int32_t const diagonals = has_diagonal ? rows : 0;
    rows_ = right_ = indices(exec, rows);
    columns_ = indices(exec, entries);
    sources_ = indices(exec, entries);
    diagonal_sources_ = indices(exec, diagonals);
    values_ = allocate<Scalar>(exec, "Solder::triangular::values", entries);
    inverse_ = allocate<Scalar>(exec, "Solder::triangular::inverse", diagonals);
  }

  /// \brief On hosts: finds out whether more than nine of ten rows need the one that is solved
  /// before them, so that it pays to ask each of them.
  void find_followers() {
    std::int64_t followers = 0;
    auto const rows = static_cast<std::int32_t>(rows_.extent(0));
    for (std::int32_t s = 1; s < rows; ++s)
      followers += offsets_(s + 1) > offsets_(s) && columns_(offsets_(s + 1) - 1) == rows_(s - 1);
    follow_ = 10 * followers > 9 * std::int64_t(rows);
  }

  /// \brief The entries of a host's rows, in the order in which their columns are solved.
  static void put_in_order_of_solving(Dependencies const& needs,
                                      std::vector<std::int32_t> const& label,
                                      std::vector<std::int32_t> const& source,
                                      std::vector<std::int32_t> const& order, Plan& plan) {
    std::vector<std::uint32_t> place(order.size());
    for (std::size_t s = 0; s < order.size(); ++s) place[order[s]] = static_cast<std::uint32_t>(s);
    std::vector<std::uint64_t> row;  // of each entry: the place of its column, and the entry
    for (std::int32_t const i : order) {
      row.clear();
      for (std::int32_t k = needs.offsets[i]; k < needs.offsets[i + 1]; ++k)
        row.push_back(std::uint64_t(place[needs.columns[k]]) << 32 | static_cast<std::uint32_t>(k));
      if (!std::is_sorted(row.begin(), row.end())) std::sort(row.begin(), row.end());
      for (std::uint64_t const entry : row) {
        auto const k = static_cast<std::int32_t>(entry & 0xffff'ffff);
        plan.columns.push_back(label[needs.columns[k]]);
        plan.sources.push_back(source[k]);
      }
      plan.offsets.push_back(static_cast<std::int32_t>(plan.columns.size()));
    }
  }

  /// \brief The entries of a GPU's rows: those of other tiles first, then those of the row's own
  /// tile in the order in which they are solved.
  static void put_own_tile_last(Dependencies const& needs, std::vector<std::int32_t> const& tile,
                                std::vector<std::int32_t> const& source, Tiles const& tiles,
                                Plan& plan) {
    std::int32_t const rows = needs.rows();
    std::vector<std::int32_t> place(rows), depth_of_row(rows, 1);
    for (std::int32_t s = 0; s < rows; ++s) place[tiles.order[s]] = s;
    plan.depth.assign(tiles.count(), 1);
    plan.own.reserve(rows);
    std::vector<std::pair<std::int32_t, std::int32_t>> own;
    for (std::int32_t const i : tiles.order) {
      own.clear();
      for (std::int32_t k = needs.offsets[i]; k < needs.offsets[i + 1]; ++k) {
        std::int32_t const j = needs.columns[k];
        if (tile[j] == tile[i]) {
          own.emplace_back(place[j], source[k]);
          depth_of_row[i] = std::max(depth_of_row[i], depth_of_row[j] + 1);
        } else {
          plan.columns.push_back(place[j]);
          plan.sources.push_back(source[k]);
        }
      }
      plan.depth[tile[i]] = std::max(plan.depth[tile[i]], depth_of_row[i]);
      plan.own.push_back(static_cast<std::int32_t>(plan.columns.size()));
      std::sort(own.begin(), own.end());
      for (auto const& [slot, from] : own) {
        plan.columns.push_back(slot - tiles.begin[tile[i]]);
        plan.sources.push_back(from);
      }
      plan.offsets.push_back(static_cast<std::int32_t>(plan.columns.size()));
    }
  }

  /// \brief The tiles of the wanted schedule, or of the fastest one according to the model, and the
  /// strands of a host, a single one if the others would not make it much faster. If levels are
  /// wide, GPUs do not benefit from chains, nor, if rows are long, from tiles of a few rows. On
  /// hosts `partition` is the fastest one mostly where rows are short, so it is looked at first
  /// there.
  static std::pair<Tiles, Strands> choose(Exec const& exec, Dependencies const& needs,
                                          std::vector<std::int32_t> const& level,
                                          TriangularSchedule wanted, Plan& plan) {
    using Schedule = TriangularSchedule;
    plan.lane_bits = choose_lane_bits<Scalar, Exec>(needs.rows(), plan.report.entries);
    std::int32_t const threads = is_host_space<Exec> ? threads_of(exec) : 1;
    bool const alone = is_host_space<Exec> && threads == 1,
               narrow = plan.report.levels > most_wide_levels(needs.rows());
    std::vector<Schedule> candidates;
    if (wanted != Schedule::automatic)
      candidates = {wanted};
    else if (alone)
      candidates = {Schedule::natural};
    else if (is_host_space<Exec> && plan.report.entries < 4 * std::int64_t(needs.rows()))
      candidates = {Schedule::partition, Schedule::natural, Schedule::levels};
    else if (is_host_space<Exec>)
      candidates = {Schedule::natural, Schedule::levels, Schedule::partition};
    else if (narrow)
      candidates = {Schedule::natural, Schedule::levels, Schedule::partition};
    else if (has_short_rows(plan.lane_bits))
      candidates = {Schedule::levels, Schedule::partition};
    else
      candidates = {Schedule::levels};
    std::pair<Tiles, Strands> best;
    plan.report.predicted_seconds = std::numeric_limits<double>::infinity();
    double const of_one =
        is_host_space<Exec> ? seconds_alone(needs.rows(), plan.report.entries) : 0;
    for (auto const schedule : candidates) {
      Tiles tiles = tiles_by<Exec>(schedule, needs, level, plan.report.levels,
                                   most_rows<Exec>(plan.lane_bits), alone);
      Strands strands;
      if (is_host_space<Exec>) strands = strands_of(needs, tiles, threads);
      double const seconds = candidates.size() == 1 ? 0 : predicted(exec, needs, tiles, strands);
      if (seconds >= plan.report.predicted_seconds) continue;
      plan.report.predicted_seconds = seconds;
      plan.report.schedule = schedule;
      best = {std::move(tiles), std::move(strands)};
      if (seconds < good_enough * of_one / threads) break;
    }
    if (is_host_space<Exec>) plan.tiles = best.first;
    if (is_host_space<Exec> && plan.report.predicted_seconds > worth_others * of_one) {
      plan.report.predicted_seconds = of_one;
      plan.report.schedule = Schedule::natural;
      std::vector<std::int32_t> order(needs.rows());
      std::iota(order.begin(), order.end(), 0);
      best.first = cut(std::move(order), std::max(needs.rows(), 1));
      best.first.levels = best.first.count();
      best.second = strands_of(needs, best.first, 1);
    }
    return best;
  }

  static Indices none() { return no_view<Indices>(); }

  std::int32_t lane_bits_ = 0;
  bool follow_ = false;  ///< see StrandsOfHost
  TriangularReport report_;
  Indices rows_ = none(), right_ = none(), begin_ = none(), depth_ = none(), offsets_ = none(),
          own_ = none(), columns_ = none(), sources_ = none(), diagonal_sources_ = none(),
          first_ = none(), needs_begin_ = none();
  Needs needs_ = no_view<Needs>();
  Values values_ = no_view<Values>(), inverse_ = no_view<Values>();
};

#ifdef SOLDER_COMPILED  // in src/compiled/setups.cpp
extern template class Scheduled<float, Host>;
extern template class Scheduled<double, Host>;
extern template class Scheduled<Kokkos::complex<float>, Host>;
extern template class Scheduled<Kokkos::complex<double>, Host>;
#endif

}  // namespace Solder::Impl::triangular
