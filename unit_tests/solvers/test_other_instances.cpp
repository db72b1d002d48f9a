// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solvers on a host instance that has another concurrency than the one the matrix, or the
// preconditioner, was made on: rows are sliced as whoever has the bounds says.
#include "bicgstab.hpp"
#include "cg.hpp"
#include "gmres.hpp"

#include <atomic>
#include <thread>
#include <type_traits>

#include <solder/preconditioners/apply.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/problems/poisson.hpp>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultHostExecutionSpace;

/// A matrix as an instance of `teams` threads would slice it; the first slice of several is empty.
struct Sliced {
  using scalar_type = double;
  CsrMatrix<double, Exec> A;
  std::vector<std::int32_t> bounds;

  Sliced(CsrMatrix<double, Exec> const& matrix, int teams) : A(matrix), bounds{0} {
    for (int t = 1; t <= teams; ++t)
      bounds.push_back(teams == 1 ? A.rows() : A.rows() * (t - 1) / (teams - 1));
  }
  std::int32_t rows() const { return A.rows(); }
  std::int32_t columns() const { return A.columns(); }
  std::int64_t nonzeros() const { return A.nonzeros(); }
  double words() const { return A.words(); }
  auto device_operator() const {
    auto op = A.device_operator();
    op.teams = static_cast<std::int32_t>(bounds.size()) - 1;
    op.rows = {A.rows(), op.teams, bounds.data()};
    return op;
  }
};

struct OtherInstances : testing::Test {
  HostCsr<double> host = Solder::fem_poisson_2d<double>(19);
  std::vector<double> b = random_vector<double>(host.rows, 91),
                      x0 = random_vector<double>(host.rows, 92);
  Exec exec;
  CsrMatrix<double, Exec> A{exec, host};

  /// Whatever the slices, in every form: the solution, and of b = 0 all of x = 0.
  template <class Options, class Preconditioner>
  void expect_solves(Preconditioner const& M) {
    auto const device_b = to_device(exec, b), x = to_device(exec, x0);
    auto const zeros = to_device(exec, std::vector<double>(b.size()));
    for (int const teams : {1, 2, 3, 5, 8})
      for (auto const& [form, options] : Method<Options>::forms()) {
        Solved<double> launched;
        for (Runner const runner : {Runner::launch, Runner::team, Runner::resident}) {
          SCOPED_TRACE(std::to_string(teams) + " slices, " + form + ", " +
                       std::string(to_string(runner)));
          auto o = options;
          o.runner = runner;
          if (!Solder::is_on_device<decltype(M.open(std::declval<Solder::Arena<Exec>&>()))> &&
              runner != Runner::launch)
            continue;  // the host has a part in every iteration
          o.tolerance = 1e-10;
          o.max_iterations = 2000;
          Sliced const sliced(A, teams);
          SolverOn<Options, Exec, Sliced, Preconditioner> solver(exec, sliced, M, o);
          Kokkos::deep_copy(x, to_device(exec, x0));
          Solved<double> s;
          s.report = solver.solve(device_b, x);
          s.x = to_host(exec, x);
          EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
          expect_true_report(host, b, s, o);
          if (runner == Runner::launch) launched = s;
          // A host's threads take the slices that a launch takes; one thread takes all rows as one.
          if (runner == Runner::resident && Solder::Impl::is_host_space<Exec> &&
              exec.concurrency() > 1) {
            EXPECT_TRUE(same_bits(s.x, launched.x));
            EXPECT_TRUE(same_bits(s.report.history, launched.report.history));
          }

          Kokkos::deep_copy(x, to_device(exec, x0));
          EXPECT_EQ(solver.solve(zeros, x).reason, Reason::converged);
          EXPECT_EQ(to_host(exec, x), std::vector<double>(b.size()));
        }
      }
  }
};

TEST_F(OtherInstances, CgSolves) { expect_solves<CgOptions>(Identity{}); }
TEST_F(OtherInstances, CgSolvesWithFsai) { expect_solves<CgOptions>(Solder::Fsai(exec, A)); }
TEST_F(OtherInstances, CgSolvesWithChebyshevOverFsai) {
  expect_solves<CgOptions>(Solder::Chebyshev(exec, A, Solder::Fsai(exec, A)));
}
TEST_F(OtherInstances, BiCgStabSolves) { expect_solves<BiCgStabOptions>(Identity{}); }
TEST_F(OtherInstances, BiCgStabSolvesWithFsai) {
  expect_solves<BiCgStabOptions>(Solder::Fsai(exec, A));
}
TEST_F(OtherInstances, GmresSolvesWithFsai) { expect_solves<GmresOptions>(Solder::Fsai(exec, A)); }

/// What deals its rows by the instance's threads, whatever the matrix does.
TEST_F(OtherInstances, SolveWithAFunction) {
  Solder::Apply<double, Exec> const half(host.rows, [](Exec const&, auto const& r, auto const& z) {
    for (std::size_t i = 0; i < r.extent(0); ++i) z(i) = 0.5 * r(i);
  });
  expect_solves<CgOptions>(half);
  expect_solves<BiCgStabOptions>(half);
  expect_solves<GmresOptions>(half);
}
TEST_F(OtherInstances, SolveWithIncompleteFactors) {
  Solder::Incomplete const factors(exec, A, Solder::Factorisation::ic0);
  expect_solves<CgOptions>(factors);
  expect_solves<BiCgStabOptions>(factors);
}

/// An instance of its own, of two threads where the space has such.
template <class Space>
Space own_instance() {
  if constexpr (std::is_constructible_v<Space, int>)
    return Space(2);
  else
    return Space();
}

/// Two threads of the host, each with an instance, set up and solve at once, more threads in all
/// than there may be cores: what each does alone, bit for bit.
TEST_F(OtherInstances, TwoThreadsSolveAtOnce) {
  auto const solved = [&](Exec const& mine, Runner runner) {
    CsrMatrix<double, Exec> const matrix(mine, host);
    Solder::Incomplete const ilu(mine, matrix, Solder::Factorisation::ilu0);
    Solder::Fsai const fsai(mine, matrix);
    auto const device_b = to_device(mine, b);
    std::vector<double> all;
    auto const add = [&](auto const& M, auto options) {
      options.runner = runner;
      SolverOn<decltype(options), Exec, CsrMatrix<double, Exec>, std::remove_cvref_t<decltype(M)>>
          solver(mine, matrix, M, options);
      auto const x = to_device(mine, x0);
      EXPECT_EQ(solver.solve(device_b, x).reason, Reason::converged);
      for (double const value : to_host(mine, x)) all.push_back(value);
    };
    add(fsai, CgOptions{});
    add(ilu, BiCgStabOptions{});
    add(ilu, GmresOptions{});
    return all;
  };
  for (Runner const runner : {Runner::launch, Runner::resident}) {
    auto const alone = solved(own_instance<Exec>(), runner);
    std::atomic<int> same = 0;
    auto const work = [&] {
      Exec const mine = own_instance<Exec>();
      for (int k = 0; k < 5; ++k) same += same_bits(solved(mine, runner), alone);
    };
    std::thread other(work);
    work();
    other.join();
    EXPECT_EQ(same, 10) << to_string(runner);
  }
}

#ifdef KOKKOS_ENABLE_SERIAL
/// One slice of Serial's, on all threads.
TEST_F(OtherInstances, AMatrixOfSerial) {
  CsrMatrix<double, Kokkos::Serial> const of_serial(Kokkos::Serial(), host);
  SolverOn<CgOptions, Exec, CsrMatrix<double, Kokkos::Serial>, Identity> solver(exec, of_serial);
  auto const x = to_device(exec, x0);
  Solved<double> s;
  s.report = solver.solve(to_device(exec, b), x);
  s.x = to_host(exec, x);
  EXPECT_EQ(s.report.reason, Reason::converged);
  expect_true_report(host, b, s, CgOptions{});
}
#endif

}  // namespace
