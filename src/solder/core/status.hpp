// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief How the host learns of a solve without a fence: the device writes a status to pinned
/// memory from time to time, with an entry for each right-hand side.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/control.hpp>
#include <solder/core/kokkos_ext.hpp>

namespace Solder::Impl {

/// \brief What a status says of one right-hand side.
struct StatusEntry {
  Control control;
  std::int32_t entries;   ///< history entries since the status before
  std::int32_t sequence;  ///< of the first column only, written last: statuses counted from 1
  bool abandoned;         ///< likewise: the teams of a whole solve did not meet, nothing was done
};

/// \brief The device's side: two statuses, double buffered, so that one is read while the next is
/// written.
struct StatusWriter {
  StatusEntry* statuses;  ///< [2][columns], host-visible; their history is behind them
  double* history;        ///< [columns][2 * capacity], device: rings of the recursion's ||r||^2
  std::int32_t capacity;  ///< most history entries of a column in a status; a power of two
  std::int32_t columns;

  /// \brief The history of a status. It is computed, because a pointer to it would be one more
  /// argument of every kernel.
  KOKKOS_FUNCTION double* copies(std::int32_t number, std::int32_t column) const {
    return reinterpret_cast<double*>(statuses + 2 * columns) +
           std::int64_t(place(number, column)) * capacity;
  }
  KOKKOS_FUNCTION std::int32_t place(std::int32_t number, std::int32_t column) const {
    return (number & 1) * columns + column;
  }

  /// \brief Keeps the residual that a stage measured; one thread of team 0 calls this.
  KOKKOS_FUNCTION void record(std::int32_t column, Control const& now, Control const& next) const {
    if (next.recorded != now.recorded) entry(column, now.recorded) = next.residual_squared;
  }

  /// \brief Sends a status; all threads of team 0 call this together.
  ///
  /// \param control the column's, as its first thread knows it; then as it has been sent
  template <class Team>
  KOKKOS_FUNCTION void post(Team const& team, Control& control, bool abandoned = false) const {
    // A barrier: the newest history entry was written by one thread of this team.
    Control const sent = team.shared_by_column(control);
    std::int32_t const number = sent.posts + 1, column = team.column();
    double* const copy = copies(number, column);
    if (team.slot() < team.slots())
      for (std::int32_t k = sent.posted + team.slot(); k < sent.recorded; k += team.slots())
        copy[k - sent.posted] = entry(column, k);
    control.posts = number;
    control.posted = sent.recorded;
    system_fence();
    team.barrier();
    StatusEntry& mine = statuses[place(number, column)];
    if (team.slot() == 0) {
      mine.control = control;
      mine.entries = sent.recorded - sent.posted;
      if (column == 0) mine.abandoned = abandoned;
      system_fence();
    }
    if constexpr (Team::has_columns) {
      team.barrier();
      if (team.rank() == 0) system_fence();  // after the entries of all columns
    }
    if (team.rank() == 0) *static_cast<std::int32_t volatile*>(&mine.sequence) = number;
  }

 private:
  KOKKOS_FUNCTION double& entry(std::int32_t column, std::int32_t number) const {
    return history[std::int64_t(column) * 2 * capacity + (number & (2 * capacity - 1))];
  }
};

/// \brief Whether the status of this number has come. All that it says is then there.
inline bool has_come(std::int32_t& sequence, std::int32_t number) {
  return std::atomic_ref<std::int32_t>(sequence).load(std::memory_order_acquire) == number;
}

/// \brief Waits, without a fence, until a status has this number. If nothing comes for two seconds
/// the instance is fenced, so that an error on the device surfaces instead of a hang.
template <class Exec>
void wait_for_status(Exec const& exec, std::int32_t& sequence, std::int32_t number) {
  auto const start = std::chrono::steady_clock::now();
  for (std::uint64_t spin = 0; !has_come(sequence, number); ++spin) {
    if (spin % 1024 == 1023) {
      std::this_thread::yield();
      if (std::chrono::steady_clock::now() - start > std::chrono::seconds(2)) {
        exec.fence("Solder::status: waiting for the device");
        if (!has_come(sequence, number))
          throw std::runtime_error("Solder: the device has stopped reporting on the solve");
      }
    }
  }
}

/// \brief The host's side.
template <class Exec>
class StatusReader {
 public:
  StatusReader(Exec const& exec, std::int32_t columns, std::int32_t capacity)
      : statuses_("Solder::status", 2 * std::size_t(columns) * (1 + entries_for_history(capacity))),
        history_(allocate_view<DeviceArray<double, Exec>>(exec, "Solder::status::history",
                                                          2 * std::size_t(columns) * capacity)),
        columns_(columns),
        capacity_(capacity) {}

  /// \brief What it allocates.
  static std::size_t bytes(std::int32_t columns, std::int32_t capacity) {
    return 2 * std::size_t(columns) *
           ((1 + entries_for_history(capacity)) * sizeof(StatusEntry) + capacity * sizeof(double));
  }

  StatusWriter writer() const { return {statuses_.data(), history_.data(), capacity_, columns_}; }

  /// \brief Forgets the statuses of an earlier solve. No kernel of it may be in flight.
  void clear() const { statuses_[0].sequence = statuses_[columns_].sequence = 0; }

  /// \brief Whether status `number` (counted from 1) has come.
  bool has(std::int32_t number) const { return has_come(first_of(number).sequence, number); }

  /// \brief Waits for status `number`, replaces the control blocks of all columns, and appends
  /// their history, as relative residuals.
  void receive(Exec const& exec, std::int32_t number, std::vector<Control>& controls,
               std::vector<std::vector<double>>& histories) const {
    wait_for_status(exec, first_of(number).sequence, number);
    StatusWriter const from = writer();
    for (std::int32_t c = 0; c < columns_; ++c) {
      StatusEntry const& entry = from.statuses[from.place(number, c)];
      double const* const copies = from.copies(number, c);
      for (std::int32_t k = 0; k < entry.entries; ++k)
        histories[c].push_back(entry.control.relative(copies[k]));
      controls[c] = entry.control;
    }
  }

  /// \brief Whether status `number`, received last, says that its kernel did nothing.
  bool abandoned(std::int32_t number) const { return first_of(number).abandoned; }

 private:
  StatusEntry& first_of(std::int32_t number) const { return statuses_[(number & 1) * columns_]; }

  /// \brief As many entries as take the bytes of `capacity` doubles.
  static constexpr std::size_t entries_for_history(std::int32_t capacity) {
    static_assert(alignof(StatusEntry) % alignof(double) == 0);
    return (std::size_t(capacity) * sizeof(double) + sizeof(StatusEntry) - 1) / sizeof(StatusEntry);
  }

  StatusArray<StatusEntry, Exec> statuses_;  ///< [2][columns], then the history
  Kokkos::View<double*, typename Exec::memory_space> history_;
  std::int32_t columns_, capacity_;
};

}  // namespace Solder::Impl
