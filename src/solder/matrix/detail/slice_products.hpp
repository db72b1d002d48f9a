// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The products of matrices in slices on GPUs: SellMatrix, BlockMatrix. A warp takes a slice. An
// operator of slices has
//
//   slices, rows, lane_bits       2^lane_bits lanes share a row
//   asks_ahead                    whether stages load columns of a slice ahead: see DeviceTeam
//   slice(s, lane)                a lane's part of slice s; `row`, -1 for none
//   columns_at_once<X>            columns that a lane loads together, for entries of x of type X
//   load_columns(part, lane, c)   the first of them
//   lane_product<ahead>(x, part, next, lane, c)
//                                 the lane's terms of its row, whose first columns are loaded; if
//                                 `ahead`, those of `next` are loaded in the end. All lanes call it

#include <cstdint>
#include <type_traits>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/team.hpp>

namespace Solder::Impl {

/// \brief for_each_row_product of an operator of slices. Slices are dealt cyclically to the warps
/// of all teams, the last one first.
template <class Team, class Operator, class Operand, class Prepare, class Consumer>
KOKKOS_FORCEINLINE_FUNCTION bool slice_products(Team const& team, Operator const& op,
                                                Operand const& x, Prepare const& prepare,
                                                Consumer const& consume) {
  using X = std::remove_cvref_t<decltype(x[0])>;
  constexpr bool ahead = Team::asks_ahead && Operator::asks_ahead;
  std::int32_t const lane = team.lane(), lanes = 1 << op.lane_bits;
  std::int32_t const at_once = team.warps_of_team(), block = at_once << op.lane_bits,
                     places = team.places(op.slices, block);
  std::int32_t base = team.first_place(places, at_once, block);
  auto const slice_at = [&](std::int32_t place) {
    std::int32_t const s = places - 1 - place;
    return s >= 0 && s < op.slices ? op.slice(s, lane) : typename Operator::Slice{};
  };
  auto now = slice_at(base + team.warp_rank());
  std::int32_t column[Operator::template columns_at_once<X>];
  if (ahead) op.load_columns(now, lane, column);
  if (!prepare()) return false;
  while (base < places) {
    base = team.next_place(base, at_once, block);
    auto const next = slice_at(base + team.warp_rank());
    if (Team::asks_ahead && now.row >= 0 && (lane & (lanes - 1)) == 0)
      ask_for_row(consume, now.row);
    if (!ahead) op.load_columns(now, lane, column);
    X sum = op.template lane_product<ahead>(x, now, next, lane, column);
    for (int m = lanes / 2; m > 0; m /= 2) sum += lane_exchange(sum, m);
    if (now.row >= 0 && (lane & (lanes - 1)) == 0) consume(team.own(now.row), sum);
    now = next;
  }
  return true;
}

}  // namespace Solder::Impl
