// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <solder/core/owned.hpp>
#include <solder/core/team.hpp>

namespace Solder::Impl {

/// \brief Deals rows to an OnChipTeam's league: cyclically, in blocks of a row for each thread.
struct Blocks {
  static constexpr int bits = 8, rows = 1 << bits;

  std::uint32_t inverse = 0;  ///< 2^32 / teams, rounded up

  /// \param teams two at least
  static Blocks of(std::int32_t teams) {
    return {static_cast<std::uint32_t>((std::uint64_t(1) << 32) / teams + 1)};
  }
  /// \brief Row i, of any team. Its number is exact where its entries are on chip: such rows come
  /// first.
  KOKKOS_FORCEINLINE_FUNCTION OwnRow own(std::int32_t i) const {
    std::uint64_t const turn = static_cast<std::uint64_t>(i >> bits) * inverse >> 32;
    return {i, static_cast<std::uint32_t>(turn << bits) | (i & (rows - 1))};
  }
};

/// \brief A team of a league that keeps vectors on chip: a row belongs to the same team in every
/// stage, and to the same thread in all vector stages.
template <class Member>
class OnChipTeam : public DeviceTeam<Member, TeamOf::solve> {
  using Base = DeviceTeam<Member, TeamOf::solve>;

 public:
  KOKKOS_FUNCTION OnChipTeam(Member const& team, int league_rank, int league_size, int most_sums,
                             Blocks const& blocks)
      : Base(team, league_rank, league_size, most_sums), blocks_(blocks) {}

  KOKKOS_FUNCTION OnChipTeam in_league(int teams) const {
    return {Base::in_league(teams), blocks_};
  }
  KOKKOS_FORCEINLINE_FUNCTION OwnRow own(std::int32_t i) const { return blocks_.own(i); }

  /// \brief A product goes through the team's blocks, the last one first.
  KOKKOS_FORCEINLINE_FUNCTION static std::int32_t places(std::int32_t count, std::int32_t block) {
    return (count + block - 1) & -block;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t first_place(std::int32_t places, std::int32_t,
                                                       std::int32_t block) const {
    std::int32_t const first = places / block - 1 - this->league_rank();
    return first < 0 ? places : first % this->league_size() * block;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t next_place(std::int32_t place, std::int32_t at_once,
                                                      std::int32_t block) const {
    place += at_once;
    return (place & (block - 1)) != 0 ? place : place + (this->league_size() - 1) * block;
  }

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_row(Rows const& rows, F const& f) const {
    for (OwnRow i = first_row(); i.row < rows.count; i = next_row(i)) f(i);
  }
  template <class Load, class Prepare, class F>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Rows const& rows, Load const& load,
                                                Prepare const& prepare, F const& f) const {
    OwnRow i = first_row();
    auto row = load(i.row < rows.count ? i : OwnRow{0, ~std::uint32_t(0)});
    if (!prepare()) return false;
    while (i.row < rows.count) {
      f(i, row);
      i = next_row(i);
      if (i.row < rows.count) row = load(i);
    }
    return true;
  }

 private:
  KOKKOS_FUNCTION OnChipTeam(Base const& team, Blocks const& blocks)
      : Base(team), blocks_(blocks) {}

  KOKKOS_FORCEINLINE_FUNCTION OwnRow first_row() const {
    return {this->league_rank() * Blocks::rows + this->rank(),
            static_cast<std::uint32_t>(this->rank())};
  }
  KOKKOS_FORCEINLINE_FUNCTION OwnRow next_row(OwnRow const& i) const {
    return {i.row + this->league_size() * Blocks::rows, i.number + Blocks::rows};
  }

  Blocks blocks_;
};

/// \brief What a kernel of a whole solve keeps on chip: the entries of all owned vectors of each
/// team's first rows.
struct OnChipPlan {
  OwnedVectors owned{};
  std::int32_t rows = 0;  ///< of all teams
  Blocks blocks{};
  std::uint32_t each = 0;   ///< rows of a team whose entries are on chip
  std::int32_t before = 0;  ///< doubles of a team's scratch that others have

  /// \brief Bytes of a team's scratch.
  int bytes() const { return static_cast<int>(each) * owned.count * owned.entry_bytes; }
  /// \param room bytes of a team's scratch that are free
  void set_room(int room) {
    int const of_block = Blocks::rows * owned.count * owned.entry_bytes;
    each = of_block == 0 ? 0 : std::max(room, 0) / of_block * Blocks::rows;
  }
};

/// \brief The scratch of an OnChipPlan, for a team.
class OnChipMemory {
 public:
  /// \param workspace see DeviceTeam
  KOKKOS_FUNCTION OnChipMemory(OnChipPlan const& plan, double* workspace)
      : plan_(plan), chip_(workspace + plan.before) {}

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION OnChip<Scalar> operator()(Owned<Scalar> const& vector) const {
    auto* const chip = reinterpret_cast<std::remove_const_t<Scalar>*>(chip_);
    if (vector.number < 0) return {vector.memory, chip, 0};
    return {vector.memory, chip + vector.number * plan_.each, plan_.each};
  }
  template <class Vector>
  KOKKOS_FORCEINLINE_FUNCTION Vector operator()(Vector const& vector) const {
    return vector;
  }

  /// \brief Fetches the entries to the chip, unless they are there.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void take(Team const& team) {
    if (here_) return;
    for_each_word(team, [](std::int32_t& chip, std::int32_t const& memory) { chip = memory; });
    here_ = true;
    team.barrier();
  }
  /// \brief Writes the entries back to memory. \return whether they were on chip
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool bring_back(Team const& team) {
    if (!here_) return false;
    team.barrier();
    for_each_word(team, [](std::int32_t const& chip, std::int32_t& memory) { memory = chip; });
    here_ = false;
    return true;
  }

 private:
  template <class Team, class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_word(Team const& team, F const& f) const {
    std::int32_t const words = plan_.owned.entry_bytes / static_cast<int>(sizeof(std::int32_t));
    auto* const chip = reinterpret_cast<std::int32_t*>(chip_);
    team.for_each_row({plan_.rows, team.league_size(), nullptr}, [&](OwnRow const& i) {
      if (i.number >= plan_.each) return;
      for (std::int32_t v = 0; v < plan_.owned.count; ++v)
        for (std::int32_t w = 0; w < words; ++w)
          f(chip[(v * plan_.each + i.number) * words + w],
            static_cast<std::int32_t*>(
                plan_.owned.vectors[v])[static_cast<std::int64_t>(i.row) * words + w]);
    });
  }

  OnChipPlan const& plan_;
  double* chip_;
  bool here_ = false;
};

/// \brief Where all vectors stay in memory.
struct NothingOnChip {
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void take(Team const&) const {}
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool bring_back(Team const&) const {
    return false;
  }
};

}  // namespace Solder::Impl
