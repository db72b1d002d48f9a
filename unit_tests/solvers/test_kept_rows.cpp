// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include <solder/matrix/csr.hpp>
#include <solder/matrix/sell.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/solvers/bicgstab.hpp>
#include <solder/solvers/cg.hpp>

#include "../support.hpp"
#include "as_launched.hpp"

// Systems so small that each thread of a GPU's kernel of a whole solve keeps its row: CG then has
// one stage an iteration, BiCGStab two. What each solve says is held against the launch runner's.

namespace {

using namespace SolderTest;
using Solder::Identity;
using Solder::Runner;

/// Keeps a multiprocessor busy for some tenths of a second.
struct Busy {
  double* sink;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    double value = member.team_rank();
    for (int k = 0; k < 100'000; ++k) value = Kokkos::sin(value) + 1;
    if (value > 5) *sink = value;
  }
};

template <class Exec>
class KeptRows : public testing::Test {
 protected:
  template <class Matrix>
  using Cg = Solder::Cg<Exec, Matrix>;
  template <class Matrix>
  using JacobiCg = Solder::Cg<Exec, Matrix, Solder::Jacobi<typename Matrix::scalar_type, Exec>>;
  template <class Matrix>
  using BiCgStab = Solder::BiCgStab<Exec, Matrix>;
  template <class Matrix>
  using JacobiBiCgStab =
      Solder::BiCgStab<Exec, Matrix, Solder::Jacobi<typename Matrix::scalar_type, Exec>>;

  template <class Solver, class Options, class Matrix, class M>
  void expect_same(Matrix const& A, M const& m, int iterations) const {
    for (Runner const runner : {Runner::resident, Runner::team})
      expect_same_as_launched<Solver>(exec, A, m, some_iterations<Options>(iterations), runner);
  }

  Exec exec;
};
TYPED_TEST_SUITE(KeptRows, Spaces::Types, TypeName);

/// One team and many, a last team with few rows, and more rows than threads.
TYPED_TEST(KeptRows, CgIsAsLaunched) {
  using Matrix = Solder::CsrMatrix<double, TypeParam>;
  using Cg = typename TestFixture::template Cg<Matrix>;
  using JacobiCg = typename TestFixture::template JacobiCg<Matrix>;
  for (int const side : {6, 16, 23, 90, 255}) {
    SCOPED_TRACE(side);
    Matrix const A(this->exec, Solder::fem_poisson_2d<double>(side));
    this->template expect_same<Cg, Solder::CgOptions>(A, Identity{}, side < 10 ? 3 : 12);
    this->template expect_same<JacobiCg, Solder::CgOptions>(A, Solder::Jacobi(this->exec, A),
                                                            side < 10 ? 3 : 12);
  }
}

/// Lanes share rows, and have more entries than a thread keeps.
TYPED_TEST(KeptRows, CgIsAsLaunchedWhereLanesShareRows) {
  using Matrix = Solder::CsrMatrix<double, TypeParam>;
  using JacobiCg = typename TestFixture::template JacobiCg<Matrix>;
  for (int const nonzeros : {9, 15, 40, 90}) {
    SCOPED_TRACE(nonzeros);
    Matrix const A(this->exec, Solder::random_spd<double>(700, nonzeros));
    this->template expect_same<JacobiCg, Solder::CgOptions>(A, Solder::Jacobi(this->exec, A), 6);
  }
}

TYPED_TEST(KeptRows, CgIsAsLaunchedInSlices) {
  using Csr = Solder::CsrMatrix<double, TypeParam>;
  using Matrix = Solder::SellMatrix<double, TypeParam>;
  using JacobiCg = typename TestFixture::template JacobiCg<Matrix>;
  for (int const nonzeros : {3, 15, 40}) {
    SCOPED_TRACE(nonzeros);
    Csr const A(this->exec, Solder::random_spd<double>(1100, nonzeros));
    Solder::Jacobi const M(this->exec, A);
    this->template expect_same<JacobiCg, Solder::CgOptions>(Matrix::ell(this->exec, A), M, 6);
    this->template expect_same<JacobiCg, Solder::CgOptions>(Matrix::sell(this->exec, A), M, 6);
    this->template expect_same<JacobiCg, Solder::CgOptions>(
        Matrix::sell(this->exec, A, {256, Solder::SellShape::automatic}), M, 6);
  }
}

TYPED_TEST(KeptRows, ComplexCgIsAsLaunched) {
  using Scalar = Kokkos::complex<double>;
  using Matrix = Solder::CsrMatrix<Scalar, TypeParam>;
  using JacobiCg = typename TestFixture::template JacobiCg<Matrix>;
  Matrix const A(this->exec, Solder::random_spd<Scalar>(900, 12));
  this->template expect_same<JacobiCg, Solder::CgOptions>(A, Solder::Jacobi(this->exec, A), 6);
}

TYPED_TEST(KeptRows, BiCgStabIsAsLaunched) {
  using Matrix = Solder::CsrMatrix<double, TypeParam>;
  using BiCgStab = typename TestFixture::template BiCgStab<Matrix>;
  using JacobiBiCgStab = typename TestFixture::template JacobiBiCgStab<Matrix>;
  for (int const side : {6, 16, 23, 90, 255}) {
    SCOPED_TRACE(side);
    Matrix const A(this->exec, Solder::convection_diffusion_2d<double>(side));
    this->template expect_same<BiCgStab, Solder::BiCgStabOptions>(A, Identity{}, 4);
    this->template expect_same<JacobiBiCgStab, Solder::BiCgStabOptions>(
        A, Solder::Jacobi(this->exec, A), 4);
  }
}

TYPED_TEST(KeptRows, ComplexBiCgStabIsAsLaunched) {
  using Scalar = Kokkos::complex<double>;
  using Matrix = Solder::CsrMatrix<Scalar, TypeParam>;
  using JacobiBiCgStab = typename TestFixture::template JacobiBiCgStab<Matrix>;
  Matrix const A(this->exec, Solder::random_spd<Scalar>(900, 12));
  this->template expect_same<JacobiBiCgStab, Solder::BiCgStabOptions>(
      A, Solder::Jacobi(this->exec, A), 4);
}

/// The rows of the first factor are kept, and the product by it takes the step along; also where
/// the factor is of float.
TYPED_TEST(KeptRows, CgWithFsaiIsAsLaunched) {
  using Matrix = Solder::CsrMatrix<double, TypeParam>;
  auto const expect_same = [&](Matrix const& A, auto const& M) {
    using Cg = Solder::Cg<TypeParam, Matrix, std::remove_cvref_t<decltype(M)>>;
    this->template expect_same<Cg, Solder::CgOptions>(A, M, 5);
  };
  for (int const side : {16, 23, 90}) {
    SCOPED_TRACE(side);
    Matrix const A(this->exec, Solder::fem_poisson_2d<double>(side));
    expect_same(A, Solder::Fsai(this->exec, A));
  }
  Matrix const A(this->exec, Solder::random_spd<double>(700, 15));
  expect_same(A, Solder::Fsai<double, TypeParam, float>(this->exec, A, {.tau = 0, .k = 1}));
}

/// Somebody else's kernel leaves one multiprocessor, and some of the teams wait there for others:
/// the graph solves by the same stages.
TYPED_TEST(KeptRows, TheGraphTakesTheSameStages) {
  using Exec = TypeParam;
  using Matrix = Solder::CsrMatrix<double, Exec>;
  if constexpr (Solder::Impl::is_host_space<Exec>) {
    GTEST_SKIP() << "a host space has one instance";
  } else {
    auto const instances = Kokkos::Experimental::partition_space(this->exec, 1, 1);
    Exec const& exec = instances[0];
    Matrix const A(exec, Solder::fem_poisson_2d<double>(90));
    Kokkos::View<double, typename Exec::memory_space> const sink("SolderTest::sink");
    int const others = Solder::Impl::multiprocessors(exec) - 1, threads = 1024,
              teams_of_one = exec.concurrency() / (others + 1) / threads;
    auto const expect_same = [&](auto const& M, auto const& options, auto solver_of) {
      auto some = options;
      auto const b = to_device(exec, std::vector<double>(A.rows(), 1.0));
      auto const solve = [&](auto& solver, bool busy) {
        auto const x = to_device(exec, std::vector<double>(A.rows()));
        exec.fence();
        if (busy)
          Kokkos::parallel_for(
              "SolderTest::busy",
              Kokkos::TeamPolicy<Exec>(instances[1], others * teams_of_one, threads),
              Busy{sink.data()});
        Solder::Report const report = solver.solve(b, x);
        instances[1].fence();
        return report;
      };
      some.runner = Runner::launch;
      auto launching = solver_of(M, some);
      some.runner = Runner::resident;
      auto resident = solver_of(M, some);
      Solder::Report const right = solve(launching, false), alone = solve(resident, false),
                           beside = solve(resident, true), again = solve(resident, false);
      EXPECT_EQ(alone.runner, Runner::resident) << alone.detail;
      EXPECT_EQ(again.history, alone.history);
      for (auto const* report : {&alone, &beside}) {
        ASSERT_EQ(report->history.size(), right.history.size());
        for (std::size_t k = 0; k < right.history.size(); ++k)
          EXPECT_NEAR(report->history[k] / right.history[k], 1, 1e-9) << "iteration " << k;
      }
      if (beside.runner == Runner::resident) return;  // all teams found room
      EXPECT_EQ(beside.runner, Runner::graph);
      EXPECT_LT(beside.kernels_per_iteration, right.kernels_per_iteration);
    };
    expect_same(Solder::Jacobi(exec, A), some_iterations<Solder::CgOptions>(12),
                [&](auto const& M, auto const& o) { return Solder::Cg(exec, A, M, o); });
    expect_same(Solder::Fsai(exec, A), some_iterations<Solder::CgOptions>(12),
                [&](auto const& M, auto const& o) { return Solder::Cg(exec, A, M, o); });
    expect_same(Solder::Jacobi(exec, A), some_iterations<Solder::BiCgStabOptions>(4),
                [&](auto const& M, auto const& o) { return Solder::BiCgStab(exec, A, M, o); });
  }
}

/// On GPUs, and only where each thread has a row at most: what they move tells.
TYPED_TEST(KeptRows, AnIterationMovesLess) {
  using Matrix = Solder::CsrMatrix<double, TypeParam>;
  bool const host = Solder::Impl::is_host_space<TypeParam>;
  auto const words = [&](auto const& options, auto solver_of, int side) {
    Matrix const A(this->exec, Solder::fem_poisson_2d<double>(side));
    auto const b = to_device(this->exec, std::vector<double>(A.rows(), 1.0)),
               x = to_device(this->exec, std::vector<double>(A.rows()));
    return (solver_of(A, options).solve(b, x).words_per_iteration - A.words()) / A.rows();
  };
  auto options = some_iterations<Solder::CgOptions>(3);
  auto const cg = [&](Matrix const& A, auto const& o) {
    return typename TestFixture::template Cg<Matrix>(this->exec, A, {}, o);
  };
  options.runner = Runner::team;
  EXPECT_EQ(words(options, cg, 16), host ? 9 : 8);
  EXPECT_EQ(words(options, cg, 30), 9) << "one team has more rows than threads";
  options.runner = Runner::resident;
  EXPECT_EQ(words(options, cg, 90), host ? 9 : 8);
  options.form = Solder::CgForm::classical;
  EXPECT_EQ(words(options, cg, 90), 11);
}

}  // namespace
