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
