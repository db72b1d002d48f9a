// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/mailbox.hpp>

namespace Solder::Impl {

/// \brief Outbox of a solve for several right-hand sides: a letter has the control blocks of all
/// columns, and of each the history since the letter before.
struct ColumnOutbox {
  std::int32_t* sequences;  ///< [2], host-visible; written last: posts counted from 1
  std::int32_t* abandoned;  ///< [2], host-visible: the teams of a whole solve did not meet
  Control* controls;        ///< [2 * columns], host-visible
  double* copies;           ///< [2 * columns * capacity], host-visible: the letters' history
  double* history;          ///< [columns * 2 * capacity], device: a ring of each column's ||r||^2
  std::int32_t columns;
  std::int32_t capacity;  ///< most history entries of a column in a letter; a power of two

  /// \brief Keeps the residual that a stage measured; one thread of team 0 calls this for a column.
  KOKKOS_FUNCTION void record(std::int32_t column, Control const& now, Control const& next) const {
    if (next.recorded != now.recorded) entry(column, now.recorded) = next.residual_squared;
  }

  /// \brief Puts a column's part into the next letter; control is then as it has been sent.
  KOKKOS_FUNCTION void put(std::int32_t column, Control& control) const {
    put_history(column, control, 0, 1);
    put_control(column, control);
  }
  /// \brief Its history entries from number `first` on, each `step` later; for some threads.
  KOKKOS_FUNCTION void put_history(std::int32_t column, Control const& control, std::int32_t first,
                                   std::int32_t step) const {
    std::int64_t const to = of_letter(column, control.posts + 1) * std::int64_t(capacity);
    for (std::int32_t k = control.posted + first; k < control.recorded; k += step)
      copies[to + k - control.posted] = entry(column, k);
    system_fence();
  }
  KOKKOS_FUNCTION void put_control(std::int32_t column, Control& control) const {
    ++control.posts;
    control.posted = control.recorded;
    controls[of_letter(column, control.posts)] = control;
    system_fence();
  }
  /// \brief Sends it, when all columns have put in their parts.
  KOKKOS_FUNCTION void send(std::int32_t posts, bool is_abandoned = false) const {
    abandoned[posts & 1] = is_abandoned;
    system_fence();
    *static_cast<std::int32_t volatile*>(sequences + (posts & 1)) = posts;
  }

 private:
  KOKKOS_FUNCTION std::int32_t of_letter(std::int32_t column, std::int32_t posts) const {
    return (posts & 1) * columns + column;
  }
  KOKKOS_FUNCTION double& entry(std::int32_t column, std::int32_t number) const {
    return history[std::int64_t(column) * 2 * capacity + (number & (2 * capacity - 1))];
  }
};

/// \brief The host's side of it.
template <class Exec>
class ColumnMailbox {
 public:
  ColumnMailbox(Exec const& exec, std::int32_t columns, std::int32_t capacity)
      : sequences_("Solder::mailbox::sequences", exec, 2),
        abandoned_("Solder::mailbox::abandoned", exec, 2),
        controls_("Solder::mailbox::controls", exec, 2 * std::size_t(columns)),
        copies_("Solder::mailbox::copies", exec, 2 * std::size_t(columns) * capacity),
        history_(allocate_zero_view<DeviceArray<double, Exec>>(
            exec, "Solder::mailbox::history", 2 * std::size_t(columns) * capacity)),
        columns_(columns),
        capacity_(capacity) {}

  ColumnOutbox outbox() const {
    return {sequences_.data(), abandoned_.data(), controls_.data(), copies_.data(),
            history_.data(),   columns_,          capacity_};
  }

  /// \brief Forgets the letters of an earlier solve. No kernel of it may be in flight.
  void clear() const { sequences_[0] = sequences_[1] = 0; }

  /// \brief Waits for letter number `post`, replaces the control blocks of all columns, and appends
  /// their history, as relative residuals.
  void receive(Exec const& exec, std::int32_t post, std::vector<Control>& controls,
               std::vector<std::vector<double>>& histories) const {
    wait_for_letter(exec, sequences_[post & 1], post);
    for (std::int32_t c = 0; c < columns_; ++c) {
      std::size_t const of_letter = std::size_t(post & 1) * columns_ + c;
      Control const control = controls_[of_letter];
      double const* const entries = copies_.data() + of_letter * capacity_;
      auto const known = static_cast<std::int32_t>(histories[c].size());
      for (std::int32_t k = known; k < control.recorded; ++k)
        histories[c].push_back(control.relative(entries[k - known]));
      controls[c] = control;
    }
  }

  /// \brief Whether the letter received last says that its kernel did nothing.
  bool abandoned(std::int32_t post) const { return abandoned_[post & 1] != 0; }

 private:
  MailboxArray<std::int32_t, Exec> sequences_, abandoned_;
  MailboxArray<Control, Exec> controls_;
  MailboxArray<double, Exec> copies_;
  Kokkos::View<double*, typename Exec::memory_space> history_;
  std::int32_t columns_, capacity_;
};

}  // namespace Solder::Impl
