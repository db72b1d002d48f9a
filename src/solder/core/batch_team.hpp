// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <solder/core/team.hpp>

namespace Solder::Impl {

/// \brief Where the systems of a batch are, on the device of its solve.
struct BatchRows {
  std::int32_t const* starts;  ///< [count + 1]: rows from starts[k] to starts[k + 1] - 1 are of
                               ///< system k
  std::int32_t count = 0;
  std::int32_t largest = 0;  ///< rows of the largest system
};

/// \brief What a stage sees of a GPU's team that solves one system of a batch alone: the system's
/// rows are all there is, and sums and kept scalars are at the team's place.
template <class Member>
class BatchTeam : public DeviceTeam<Member, TeamOf::solve_alone> {
  using Base = DeviceTeam<Member, TeamOf::solve_alone>;

 public:
  static constexpr bool has_window = true;

  /// \param first, last the rows of the system are those from first to last - 1
  KOKKOS_FUNCTION BatchTeam(Member const& team, int most_sums, std::int32_t first,
                            std::int32_t last)
      : Base(team, 0, 1, most_sums), place_(team.league_rank()), first_(first), last_(last) {}

  KOKKOS_FUNCTION std::int32_t place() const { return place_; }
  KOKKOS_FUNCTION std::int32_t first(Rows const&) const { return first_; }
  KOKKOS_FUNCTION std::int32_t last(Rows const&) const { return last_; }

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_row(Rows const&, F const& f) const {
    for (std::int32_t i = first_ + this->rank(); i < last_; i += this->size()) f(i);
  }
  template <class Load, class Prepare, class F>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Rows const&, Load const& load,
                                                Prepare const& prepare, F const& f) const {
    return Base::walk(first_ + this->rank(), last_, this->size(), first_, load, prepare, f);
  }

  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION void leave(double* values, std::int32_t parts,
                                         Sums<N> const& mine) const {
    Sums<N> const sums = this->sum_for_first(mine);
    if (this->rank() == 0)
      for (std::size_t v = 0; v < N; ++v) values[v * parts + place_] = sums[v];
  }
  template <std::size_t... N>
  KOKKOS_FORCEINLINE_FUNCTION auto gather(std::int32_t, Sum<N> const&... sums_of) const {
    return part_of(place_, sums_of...);
  }
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION Sums<N> total(Sums<N> const& share, std::int32_t) const {
    return share;
  }

 private:
  std::int32_t place_, first_, last_;
};

}  // namespace Solder::Impl
