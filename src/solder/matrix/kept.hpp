// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a kernel of a whole solve loads from a matrix once and keeps; see MadeProduct. A made vector
// is not stored: its entries are computed where they are needed.

#include <cstdint>
#include <type_traits>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/source.hpp>

namespace Solder::Impl {

/// \brief A lane's share of a row: the entries begin, begin + step, ... below end.
struct RowShare {
  std::int32_t row = -1;  ///< -1: none
  std::int64_t begin = 0, end = 0;
};

/// \brief The sum of a lane's terms with a made vector x; 4 are in flight at a time.
///
/// In place of padding and of entries beyond the end, the row's own column is used, with weight 0.
template <class Operator, class Made>
KOKKOS_FORCEINLINE_FUNCTION auto terms_of(Operator const& op, Made const& x, RowShare const& share,
                                          std::int64_t step) {
  constexpr int batch = 4;
  decltype(x.terms(x.weight(op.values[0], 0), 0)) sum;
  for (std::int64_t k = share.begin; k < share.end; k += batch * step) {
    std::int32_t column[batch];
    std::remove_cvref_t<decltype(op.values[0])> value[batch];
    for (int j = 0; j < batch; ++j)
      column[j] = k + j * step < share.end ? op.columns[k + j * step] : -1;
    for (int j = 0; j < batch; ++j) value[j] = column[j] >= 0 ? op.values[k + j * step] : 0;
    for (int j = 0; j < batch; ++j) {
      std::int32_t const at = column[j] >= 0 ? column[j] : share.row;
      sum += x.terms(x.weight(value[j], at), at);
    }
  }
  return sum;
}

/// \brief What a lane keeps of its share.
template <class Operator, class Weight>
struct KeptShare {
  using Of = Operator;
  static constexpr int most = 8;

  RowShare rest;  ///< the entries that are not kept
  std::int32_t column[most];
  Weight weight[most];  ///< beyond the end: 0, for the row's own column
};

template <class Operator, class Made>
KOKKOS_FORCEINLINE_FUNCTION auto keep_share(Operator const& op, Made const& x,
                                            RowShare const& share, std::int64_t step) {
  KeptShare<Operator, decltype(x.weight(op.values[0], 0))> kept;
  kept.rest = share;
  for (int j = 0; j < kept.most; ++j) {
    std::int32_t const column = kept.rest.begin < share.end ? op.columns[kept.rest.begin] : -1;
    kept.column[j] = column >= 0 ? column : share.row >= 0 ? share.row : 0;
    if (column >= 0) kept.weight[j] = x.weight(op.values[kept.rest.begin], column);
    kept.rest.begin += step;
  }
  return kept;
}

/// \brief for_each_row_product for a made vector; 2^lane_bits lanes share a row. Everything except
/// the combination of the terms is done before prepare().
template <class Team, class Operator, class Weight, class Made, class Prepare, class Consume>
KOKKOS_FORCEINLINE_FUNCTION bool kept_product(Team const& team, Operator const& op,
                                              KeptShare<Operator, Weight> const& kept,
                                              std::int32_t lane_bits, std::int64_t step,
                                              Made const& x, Prepare const& prepare,
                                              Consume const& consume) {
  std::int32_t const lanes = 1 << lane_bits, row = kept.rest.row;
  decltype(x.terms(kept.weight[0], 0)) sum;
  for (int j = 0; j < kept.most; ++j) sum += x.terms(kept.weight[j], kept.column[j]);
  if (kept.rest.begin < kept.rest.end) sum += terms_of(op, x, kept.rest, step);
  for (int m = lanes / 2; m > 0; m /= 2)
    for (auto& of : sum.of) of += lane_exchange(of, m);
  auto const own = x.own(row >= 0 ? row : 0);
  if (!prepare()) return false;
  if (row >= 0 && (team.lane() & (lanes - 1)) == 0)
    consume(row, ProductAndOwn{x.combined(sum), own});
  return true;
}

}  // namespace Solder::Impl
