// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid's choice between aggregation and air.
#include "flows.hpp"

#include <cstdint>

#include <solder/problems/convection_diffusion.hpp>

namespace {

using namespace SolderTest;
using Solder::AmgInterpolation;
using Solder::AmgSmoother;

/// The interpolation of default options.
template <class Scalar>
AmgInterpolation taken(HostCsr<Scalar> const& host, AmgOptions const& options = {}) {
  Default const exec;
  return Solder::Amg<Scalar, Default>(exec, CsrMatrix<Scalar, Default>(exec, host), options)
      .interpolation();
}

/// A Laplacian whose rows at the faces of the cube are those of the identity, as finite-element
/// programs fix values: the columns of these unknowns stay.
HostCsr<double> with_fixed_faces(std::int32_t side) {
  auto A = Solder::poisson_3d_7pt<double>(side);
  for (std::int32_t i = 0; i < A.rows; ++i) {
    auto const inside = [side](std::int32_t x) { return x > 0 && x + 1 < side; };
    if (inside(i % side) && inside(i / side % side) && inside(i / side / side)) continue;
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      A.values[k] = A.columns[k] == i ? 1 : 0;
  }
  return A;
}

/// Entries in the opposite order, and each off the diagonal in two parts.
HostCsr<double> in_parts(HostCsr<double> const& A) {
  HostCsr<double> parts{A.rows, A.columns_count, {0}, {}, {}};
  for (std::int32_t i = 0; i < A.rows; ++i) {
    for (auto k = A.row_offsets[i + 1] - 1; k >= A.row_offsets[i]; --k)
      for (double const share :
           {0.25 + 0.5 * (A.columns[k] < i), 0.75 - 0.5 * (A.columns[k] < i)}) {
        parts.columns.push_back(A.columns[k]);
        parts.values.push_back(share * A.values[k]);
      }
    parts.row_offsets.push_back(static_cast<std::int64_t>(parts.columns.size()));
  }
  return parts;
}

TEST(AmgAuto, TakesAggregationOfHermitianMatrices) {
  auto const aggregation = AmgInterpolation::aggregation;
  EXPECT_EQ(taken(Solder::fem_poisson_2d<double>(40)), aggregation);
  EXPECT_EQ(taken(Solder::poisson_3d_27pt<double>(20)), aggregation);
  EXPECT_EQ(taken(Solder::random_spd<double>(9000, 9, 1)), aggregation);
  EXPECT_EQ(taken(Solder::magnetic_laplacian_2d<ComplexDouble>(30, 0.1)), aggregation);
  EXPECT_EQ(taken(with_fixed_faces(12)), aggregation);
  EXPECT_EQ(taken(in_parts(Solder::fem_poisson_2d<double>(40))), aggregation);
  EXPECT_EQ(taken(diagonal<double>({1, 2, 3})), aggregation);
  EXPECT_EQ(taken(HostCsr<double>{0, 0, {0}, {}, {}}), aggregation);
}

TEST(AmgAuto, TakesAirWhereConvectionPrevails) {
  for (std::int32_t const side : {20, 100}) {
    EXPECT_EQ(taken(recirculating_flow(side, 1e4)), AmgInterpolation::air);
    EXPECT_EQ(taken(in_parts(recirculating_flow(side, 1e4))), AmgInterpolation::air);
    EXPECT_EQ(taken(recirculating_flow(side, 10)), AmgInterpolation::aggregation);
  }
  EXPECT_EQ(taken(turned(recirculating_flow(40, 1e3))), AmgInterpolation::air);
  EXPECT_EQ(taken(Solder::convection_diffusion_3d<double>(16, {2000, 100, 0})),
            AmgInterpolation::air);
  EXPECT_EQ(taken(Solder::convection_diffusion_3d<double>(16, {20, 10, 0})),
            AmgInterpolation::aggregation);
}

/// Rows from the first one on have a wind, the others have none.
TEST(AmgAuto, CountsTheRowsThatAreSkew) {
  auto const with_wind_in = [](double share) {
    auto A = path_laplacian(20000);
    for (std::int32_t i = 1; i < share * A.rows; ++i) *entry_of(A, i, i - 1) *= 8;
    return A;
  };
  EXPECT_EQ(taken(with_wind_in(0.2)), AmgInterpolation::aggregation);
  EXPECT_EQ(taken(with_wind_in(0.4)), AmgInterpolation::air);
}

TEST(AmgAuto, TakesAggregationWhereOptionsBelongToIt) {
  auto const host = recirculating_flow(20, 1e3);
  EXPECT_EQ(taken(host, {.smoother = AmgSmoother::fsai}), AmgInterpolation::aggregation);
  EXPECT_EQ(taken(host, {.block_size = 2}), AmgInterpolation::aggregation);
}

TEST(AmgAuto, IsTheOneThatItTakes) {
  auto const flow = recirculating_flow(63, 1e4);
  EXPECT_EQ(iterations_of(flow, {}), iterations_of(flow, air));
  auto const grid = Solder::fem_poisson_2d<double>(60);
  EXPECT_EQ(iterations_of(grid, {}),
            iterations_of(grid, {.interpolation = AmgInterpolation::aggregation}));
}

TEST(AmgAuto, ChoosesAgainInARefresh) {
  auto const still = recirculating_flow(40, 0), windy = recirculating_flow(40, 1e5);
  expect_refreshed_as_anew(still, windy, {});
  expect_refreshed_as_anew(windy, still, {});
}

}  // namespace
