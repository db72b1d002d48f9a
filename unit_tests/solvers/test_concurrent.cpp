// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Right-hand sides that are not solved together: beside one another on GPUs, one after another on
// hosts. Each against a solve of its own.
#include "columns.hpp"
#include "gmres.hpp"
#include "idr.hpp"

#include <stdexcept>
#include <string>

#include <solder/preconditioners/incomplete.hpp>
#include <solder/problems/convection_diffusion.hpp>

namespace {

using namespace SolderTest;

/// The first four columns end in other ways than the rest: see mix().
constexpr int widths[] = {1, 5, 33};

struct Beside : testing::Test {
  Default const exec;
  HostCsr<double> const host = Solder::convection_diffusion_2d<double>(20);
  CsrMatrix<double, Default> const A{exec, host};

  template <class Preconditioner, class Options>
  void expect_all_widths(Preconditioner const& M, Options options, double slack) {
    options.tolerance = 1e-9;
    for (int const width : widths) {
      auto b = random_columns<double>(host.rows, width, 10),
           x0 = random_columns<double>(host.rows, width, 100);
      mix(host, b, x0);
      expect_columns_as_alone(A, M, options, b, x0, slack);
    }
  }
};

TEST_F(Beside, ColumnsOfGmresAreAsAlone) {
  Solder::Incomplete<double, Default> const ilu(exec, A, Solder::Factorisation::ilu0);
  auto forms = Method<GmresOptions>::forms();
  forms.push_back(Method<GmresOptions>::forms_in_single().front());
  for (auto [name, options] : forms)
    for (Runner const runner : {Runner::automatic, Runner::graph, Runner::team}) {
      SCOPED_TRACE(name + ", " + std::string(to_string(runner)));
      options.runner = runner;
      expect_all_widths(Identity{}, options, 0.1);
    }
  for (Runner const runner : {Runner::automatic, Runner::launch, Runner::resident}) {
    GmresOptions options = gmres(GmresForm::cgs2, 12);
    options.runner = runner;
    expect_all_widths(ilu, options, 0.1);
  }
}

TEST_F(Beside, ColumnsOfIdrAreAsAlone) {
  Jacobi<double, Default> const M(exec, A);
  for (auto [name, options] : Method<IdrOptions>::forms())
    for (Runner const runner : {Runner::automatic, Runner::graph}) {
      SCOPED_TRACE(name + ", " + std::string(to_string(runner)));
      options.runner = runner;
      expect_all_widths(M, options, 0.3);
    }
}

/// Also after more columns, and after fewer.
TEST_F(Beside, ASolverSolvesAnewWithTheSameBits) {
  for (Runner const runner : {Runner::automatic, Runner::launch}) {
    GmresOptions options;
    options.runner = runner;
    Gmres solver(exec, A, Identity{}, options);
    Vectors<double> first[2];
    for (int turn = 0; turn < 2; ++turn)
      for (int const width : {7, 2, 40, 7}) {
        auto const x = columns_to_device<double, Kokkos::LayoutLeft>(
            Vectors<double>(width, std::vector<double>(host.rows)));
        auto const reports =
            solver.solve(columns_to_device(random_columns<double>(host.rows, width, 3)), x);
        for (Report const& report : reports) {
          EXPECT_EQ(report.reason, Reason::converged);
          EXPECT_GT(report.solve_seconds, 0);
        }
        if (width != 7) continue;
        if (first[0].empty()) first[0] = columns_to_host(x);
        EXPECT_EQ(columns_to_host(x), first[0]);
      }
  }
}

TEST_F(Beside, AMonitorHearsOfTheSlowestAndMayEndTheSolve) {
  GmresOptions options;
  int most = 0;
  bool ends = false;
  options.monitor = [&](Solder::Progress const& progress) {
    most = std::max(most, progress.iteration);
    if (ends) throw std::runtime_error("enough");
  };
  Gmres solver(exec, A, Identity{}, options);
  auto const b = columns_to_device(random_columns<double>(host.rows, 6, 1));
  auto const x_of_zeros = [&] {
    return columns_to_device(Vectors<double>(6, std::vector<double>(host.rows)));
  };
  for (bool const ended : {false, true, false}) {
    ends = ended;
    most = 0;
    if (ends) {
      EXPECT_THROW(solver.solve(b, x_of_zeros()), std::runtime_error);
      continue;
    }
    int slowest = 0;
    for (Report const& report : solver.solve(b, x_of_zeros())) {
      EXPECT_EQ(report.reason, Reason::converged);
      slowest = std::max(slowest, report.iterations);
    }
    EXPECT_LE(most, slowest);
    EXPECT_GT(most, 0);
  }
}

/// A matrix without rows, and no right-hand sides.
TEST_F(Beside, ThereMayBeNothingToSolve) {
  auto const view = [](int rows, int columns) { return DeviceColumns<double>("v", rows, columns); };
  Gmres<Default, CsrMatrix<double, Default>> solver(exec, A);
  EXPECT_TRUE(solver.solve(view(host.rows, 0), view(host.rows, 0)).empty());
  CsrMatrix<double, Default> const none(exec, HostCsr<double>{0, 0, {0}, {}, {}});
  Gmres<Default, CsrMatrix<double, Default>> of_none(exec, none);
  auto const reports = of_none.solve(view(0, 3), view(0, 3));
  ASSERT_EQ(reports.size(), 3u);
  for (Report const& report : reports) EXPECT_EQ(report.reason, Reason::converged);
}

TEST_F(Beside, APreconditionerThatCannotBeAppliedIsSaidForAll) {
  expect_defect_for_all(GmresOptions{});
}

}  // namespace
