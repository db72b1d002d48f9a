// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/control.hpp>
#include <solder/core/kokkos_ext.hpp>

namespace Solder::Impl {

/// \brief A letter from the device: the control block and the history since the letter before.
struct Letter {
  Control control;
  std::int32_t entries;   ///< history entries
  std::int32_t sequence;  ///< written last: posts counted from 1
  bool abandoned;         ///< the teams of a whole solve did not meet: nothing was done
};

/// \brief The device's side of the mailbox: two letters in turn, so that one is read while the next
/// is written.
struct Outbox {
  Letter* letters;        ///< [2], host-visible; the letters' history is behind them
  double* history;        ///< [2 * capacity], device: ring of the recursion's ||r||^2
  std::int32_t capacity;  ///< most history entries in a letter; a power of two

  /// \brief [2 * capacity]: not one more pointer, of which every kernel would take a copy along.
  KOKKOS_FUNCTION double* copies() const { return reinterpret_cast<double*>(letters + 2); }

  /// \brief Keeps the residual that a stage measured; one thread of team 0 calls this.
  KOKKOS_FUNCTION void record(Control const& now, Control const& next) const {
    if (next.recorded != now.recorded)
      history[now.recorded & (2 * capacity - 1)] = next.residual_squared;
  }

  /// \brief Sends a letter; all threads of team 0 call this together.
  template <class Team>
  KOKKOS_FUNCTION void post(Team const& team, Control& control, bool abandoned = false) const {
    team.barrier();  // the newest history entry was written by one thread of this team
    ++control.posts;
    int const side = control.posts & 1;
    int const entries = control.recorded - control.posted;
    for (int k = team.rank(); k < entries; k += team.size())
      copies()[side * capacity + k] = history[(control.posted + k) & (2 * capacity - 1)];
    control.posted = control.recorded;
    system_fence();
    team.barrier();
    if (team.rank() == 0) {
      letters[side].control = control;
      letters[side].entries = entries;
      letters[side].abandoned = abandoned;
      system_fence();
      *static_cast<std::int32_t volatile*>(&letters[side].sequence) = control.posts;
    }
  }
};

/// \brief Whether a letter has this sequence number, and with it all that it says.
inline bool has_come(std::int32_t& sequence, std::int32_t post) {
  return std::atomic_ref<std::int32_t>(sequence).load(std::memory_order_acquire) == post;
}

/// \brief Waits, without a fence, until a letter has this sequence number. Should nothing come for
/// two seconds the instance is fenced, so that an error on the device surfaces instead of a hang.
template <class Exec>
void wait_for_letter(Exec const& exec, std::int32_t& sequence, std::int32_t post) {
  auto const start = std::chrono::steady_clock::now();
  for (std::uint64_t spin = 0; !has_come(sequence, post); ++spin) {
    if (spin % 1024 == 1023) {
      std::this_thread::yield();
      if (std::chrono::steady_clock::now() - start > std::chrono::seconds(2)) {
        exec.fence("Solder::mailbox: waiting for the device");
        if (!has_come(sequence, post))
          throw std::runtime_error("Solder: the device sent no word of the solve");
      }
    }
  }
}

/// \brief The host's side.
template <class Exec>
class Mailbox {
 public:
  Mailbox(Exec const& exec, std::int32_t capacity)
      : letters_("Solder::mailbox::letters", exec, 2 + letters_for_history(capacity)),
        history_(allocate_zero_view<DeviceArray<double, Exec>>(exec, "Solder::mailbox::history",
                                                               2 * std::size_t(capacity))),
        capacity_(capacity) {}

  Outbox outbox() const { return {letters_.data(), history_.data(), capacity_}; }

  /// \brief Forgets the letters of an earlier solve. No kernel of it may be in flight.
  void clear() const { letters_[0].sequence = letters_[1].sequence = 0; }

  /// \brief Whether letter number `post` (counted from 1) has come.
  bool has(std::int32_t post) const { return has_come(letters_[post & 1].sequence, post); }

  /// \brief Waits for letter number `post` and appends its history, as relative
  /// residuals.
  Control receive(Exec const& exec, std::int32_t post, std::vector<double>& history) const {
    Letter& letter = letters_[post & 1];
    wait_for_letter(exec, letter.sequence, post);
    double const* const entries = outbox().copies() + std::size_t(post & 1) * capacity_;
    for (int k = 0; k < letter.entries; ++k) history.push_back(letter.control.relative(entries[k]));
    return letter.control;
  }

  /// \brief Whether the letter received last says that its kernel did nothing.
  bool abandoned(std::int32_t post) const { return letters_[post & 1].abandoned; }

 private:
  /// \brief As many letters as take the bytes of 2 * capacity doubles.
  static constexpr std::size_t letters_for_history(std::int32_t capacity) {
    static_assert(alignof(Letter) % alignof(double) == 0 && sizeof(Letter) % sizeof(double) == 0);
    return (2 * std::size_t(capacity) * sizeof(double) + sizeof(Letter) - 1) / sizeof(Letter);
  }

  MailboxArray<Letter, Exec> letters_;  ///< [2], then the history
  Kokkos::View<double*, typename Exec::memory_space> history_;
  std::int32_t capacity_;
};

}  // namespace Solder::Impl
