// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <solder/core/runners/waiting.hpp>
#include <solder/core/team.hpp>

namespace Solder::Impl {

/// \brief Where the teams of a kernel of a whole solve meet, in the memory of its space. Zero at
/// first, and again when all teams have left.
struct Gate {
  enum State : std::int32_t { joining, running, abandoned };

  alignas(128) std::int32_t joined;
  std::int32_t left;
  alignas(128) std::int32_t state;
  alignas(128) std::int32_t arrived;
  alignas(128) SleepersWord passed;  ///< on hosts: what `arrived` was when all had come
};

/// \brief A league whose teams wait for each other within a kernel.
///
/// A barrier needs all its teams to be resident at once, which no launch of Kokkos promises: the
/// device may be busy with another kernel, and two such leagues could each hold a half of it for
/// ever. So teams join or abandon: when the last one has joined, all run; a team that has waited
/// for too long abandons for all, before anything has been written. One compare-exchange decides
/// between the two.
template <class Team>
class Residence {
 public:
  KOKKOS_FUNCTION Residence(Team const& team, Gate* gate) : team_(team), gate_(gate) {}

  /// \brief Whether all teams are there; where they are not, nobody is to do anything but leave.
  SOLDER_FOR_HOST_OR_DEVICE
  KOKKOS_FUNCTION bool join() const {
    int const league = team_.league_size();
    if (league == 1) return true;
    if (team_.rank() == 0) {
      if (add_one_release(&gate_->joined) + 1 == league && load_acquire(&gate_->joined) == league)
        decide(Gate::running);
      Waiting<on_host> waiting;
      for (; load_acquire(&gate_->state) == Gate::joining; waiting.turn())
        if (waiting.is_too_long()) decide(Gate::abandoned);
    }
    team_.barrier();
    return load_acquire(&gate_->state) == Gate::running;
  }

  /// \brief Waits for all threads of all teams: what they wrote before, this thread reads
  /// afterwards. A release and an acquire of each team, between two barriers of its own.
  SOLDER_FOR_HOST_OR_DEVICE
  KOKKOS_FORCEINLINE_FUNCTION void wait() {
    team_.barrier();
    if (team_.league_size() == 1) return;
    expected_ += team_.league_size();
    if (team_.rank() == 0) {
      std::int32_t const before = add_one_release(&gate_->arrived);
      Waiting<on_host> waiting;
      if constexpr (on_host) {  // cores that ask for a line hold up those that change it
        if (before + 1 == expected_ && load_acquire(&gate_->arrived) == expected_)
          gate_->passed.set(expected_);
        std::int32_t seen;
        while ((seen = load_acquire(&gate_->passed.value)) - expected_ < 0)
          waiting.turn(gate_->passed, seen);
      } else {
        for (; load_acquire(&gate_->arrived) - expected_ < 0; waiting.turn()) {
        }
      }
    }
    team_.barrier();
  }

  /// \brief To be called by every team once, last; the last one readies the gate for another
  /// kernel.
  KOKKOS_FUNCTION void leave() const {
    int const league = team_.league_size();
    if (league == 1) return;
    team_.barrier();
    if (team_.rank() == 0 && add_one_release(&gate_->left) + 1 == league &&
        load_acquire(&gate_->left) == league) {
      gate_->joined = gate_->left = gate_->arrived = gate_->passed.value = 0;
      gate_->state = Gate::joining;
    }
  }

 private:
  static constexpr bool on_host = std::is_same_v<Team, HostTeam>;

  KOKKOS_FUNCTION void decide(Gate::State state) const {
    desul::atomic_compare_exchange(&gate_->state, std::int32_t(Gate::joining), std::int32_t(state),
                                   desul::MemoryOrderAcqRel(), desul::MemoryScopeDevice());
  }

  Team const& team_;
  Gate* gate_;
  std::int32_t expected_ = 0;
};

}  // namespace Solder::Impl
