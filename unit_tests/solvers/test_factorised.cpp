// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CG and BiCGStab with a factorised preconditioner, M = G^H G: see factorised.hpp.
#include "bicgstab.hpp"
#include "cg.hpp"
#include "factorised.hpp"

#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/waves.hpp>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;
using ComplexDouble = Kokkos::complex<double>;

int kernels_of_cg(CgOptions const&) { return 4; }
int kernels_of_bicgstab(BiCgStabOptions const& options) {
  return options.form == Solder::BiCgStabForm::pipelined ? 6 : 7;
}

TEST(FactorisedKernels, FourAnIterationOfCg) {
  expect_kernels<CgOptions, Exec, Factorised>(kernels_of_cg);
  expect_padded_formats_take_the_same_kernels<CgOptions, Exec, Factorised>(kernels_of_cg);
}

TEST(FactorisedKernels, SixAnIterationOfBiCgStabAndSevenOfItsClassicalForm) {
  expect_kernels<BiCgStabOptions, Exec, Factorised>(kernels_of_bicgstab);
  expect_padded_formats_take_the_same_kernels<BiCgStabOptions, Exec, Factorised>(
      kernels_of_bicgstab);
}

TEST(FactorisedKernels, NothingElseInASolveAndOneUnderTheTeamRunner) {
  expect_nothing_but_kernels<CgOptions, Exec, Factorised>();
  expect_nothing_but_kernels<BiCgStabOptions, Exec, Factorised>();
}

TEST(FactorisedKernels, AGraphIsRecordedOnceAndSubmittedWithoutAFence) {
  expect_graph_recorded_once<CgOptions, Exec, Factorised>();
  expect_graph_recorded_once<BiCgStabOptions, Exec, Factorised>();
}

TEST(FactorisedKernels, ConstructionWorksOnTheInstanceGiven) {
  expect_construction_on_the_instance<CgOptions, Exec, Factorised>();
  expect_construction_on_the_instance<BiCgStabOptions, Exec, Factorised>();
}

TEST(Factorised, CgSolvesInEveryScalar) {
  expect_solves<CgOptions, Exec, float>(Solder::fem_poisson_2d<float>(15));
  expect_solves<CgOptions, Exec, double>(Solder::fem_poisson_2d<double>(25));
  expect_solves<CgOptions, Exec, Kokkos::complex<float>>(
      Solder::magnetic_laplacian_2d<Kokkos::complex<float>>(15, 0.1));
  expect_solves<CgOptions, Exec, ComplexDouble>(
      Solder::magnetic_laplacian_2d<ComplexDouble>(20, 0.1));
}

TEST(Factorised, ASingleFactorServesADoubleSolve) {
  expect_solves<CgOptions, Exec, double, float>(Solder::fem_poisson_2d<double>(25));
  expect_solves<CgOptions, Exec, ComplexDouble, Kokkos::complex<float>>(
      Solder::magnetic_laplacian_2d<ComplexDouble>(20, 0.1));
  expect_solves<BiCgStabOptions, Exec, double, float>(Solder::fem_poisson_2d<double>(25));
}

TEST(Factorised, BiCgStabSolvesInEveryScalar) {
  expect_solves<BiCgStabOptions, Exec, float>(Solder::fem_poisson_2d<float>(12));
  expect_solves<BiCgStabOptions, Exec, double>(
      Solder::convection_diffusion_2d<double>(25, {5, 3}, Solder::Convection::upwind));
  expect_solves<BiCgStabOptions, Exec, Kokkos::complex<float>>(
      Solder::magnetic_laplacian_2d<Kokkos::complex<float>>(12, 0.1));
  expect_solves<BiCgStabOptions, Exec, ComplexDouble>(
      Solder::magnetic_laplacian_2d<ComplexDouble>(20, 0.1));
}

TEST(Factorised, TruthAtTheLimitOfRounding) {
  expect_truth_at_the_limit_of_rounding<CgOptions, Exec>(Solder::fem_poisson_2d<double>(20));
  expect_truth_at_the_limit_of_rounding<BiCgStabOptions, Exec>(Solder::fem_poisson_2d<double>(20));
}

/// Textbook PCG in plain loops, z = G^H (G r).
TEST(Factorised, CgIsTheTextbooks) {
  Exec const exec;
  auto const host = Solder::fem_poisson_2d<double>(25);
  auto const factor = FsaiOracle<double>(host).static_fsai(0.01, 2, 0.02);
  auto const G = to_csr<double>(factor, false), GH = to_csr<double>(factor, true);
  auto const b = random_vector<double>(host.rows, 73);
  auto const s =
      solve_with(exec, CsrMatrix<double, Exec>(exec, host), GivenFactor<double, Exec>(exec, factor),
                 b, with(CgOptions{}, Runner::launch, 1000, 1e-10));
  auto r = b, x = std::vector<double>(b.size());
  auto z = multiply(GH, multiply(G, r)), p = z;
  double rz = dot(r, z);
  std::vector<double> history{1};
  while (history.back() > 1e-10) {
    auto const q = multiply(host, p);
    double const alpha = rz / dot(p, q);
    for (std::size_t i = 0; i < b.size(); ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    z = multiply(GH, multiply(G, r));
    double const next = dot(r, z);
    for (std::size_t i = 0; i < b.size(); ++i) p[i] = z[i] + next / rz * p[i];
    rz = next;
    history.push_back(norm(r) / norm(b));
  }
  ASSERT_EQ(s.report.history.size(), history.size());
  for (std::size_t k = 0; k < history.size(); ++k)
    EXPECT_NEAR(s.report.history[k], history[k], 1e-6 * history[k]) << "iteration " << k;
}

/// The residual does not see what stands in a column of zeros.
TEST(Factorised, AnInfiniteSolutionIsNeverTakenForAnAnswer) {
  Exec const exec;
  auto const host = diagonal<double>({1, 2, 0, 4});
  CsrMatrix<double, Exec> const A(exec, host);
  GivenFactor<double, Exec> const M(exec, FsaiOracle<double>(host).static_fsai(0.05, 2, 0.05));
  for (Runner const runner : every_runner)
    for (int const iterations : {10, 3000}) {
      auto const s = solve_with(exec, A, M, std::vector<double>(4, 1.0),
                                with(BiCgStabOptions{}, runner, iterations, 1e-8));
      EXPECT_NE(s.report.reason, Reason::converged);
      bool const finite =
          std::all_of(s.x.begin(), s.x.end(), [](double x) { return std::isfinite(x); });
      EXPECT_EQ(s.report.reason == Reason::not_finite, !finite) << to_string(s.report.reason);
    }
}

TEST(Factorised, ANaNInTheFactorIsNamed) {
  Exec const exec;
  auto const host = Solder::fem_poisson_2d<double>(8);
  auto factor = FsaiOracle<double>(host).static_fsai(0.01, 1, 0);
  factor.rows[17].back().second = std::numeric_limits<double>::quiet_NaN();
  GivenFactor<double, Exec> const M(exec, factor);
  auto const b = random_vector<double>(host.rows, 74);
  CsrMatrix<double, Exec> const A(exec, host);
  for (Runner const runner : every_runner) {
    EXPECT_EQ(solve_with(exec, A, M, b, with(CgOptions{}, runner, 100, 1e-8)).report.reason,
              Reason::not_finite);
    EXPECT_EQ(solve_with(exec, A, M, b, with(BiCgStabOptions{}, runner, 100, 1e-8)).report.reason,
              Reason::not_finite);
  }
}

}  // namespace
