// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// GMRES with a basis in single precision: against plain loops that round the same vectors, and
// where float has no room for them.
#include "basics.hpp"
#include "gmres.hpp"
#include "problems.hpp"

#include <solder/preconditioners/incomplete.hpp>

namespace {

using namespace SolderTest;
using Solder::GmresBasis;
using Exec = Kokkos::DefaultExecutionSpace;
using ComplexDouble = Kokkos::complex<double>;

using Long = std::complex<long double>;
using Longs = std::vector<Long>;

long double squared(Longs const& v) {
  long double sum = 0;
  for (Long const& entry : v) sum += std::norm(entry);
  return sum;
}

struct PlainCycle {
  std::vector<double> history;  ///< relative to ||b||
  Longs x;
};

/// One cycle of so many steps from x = 0, by classical Gram-Schmidt in long double; the vectors,
/// each of the length that the orthogonalisation leaves, are rounded to float from number `full`
/// on. The residual is what is left of r without its part in the span of H's columns.
template <class Scalar>
PlainCycle plain_cycle(HostCsr<Scalar> const& A, std::vector<Scalar> const& b, int steps,
                       int full) {
  int const n = A.rows;
  auto const dot = [&](Longs const& u, Longs const& v) {
    Long sum = 0;
    for (int i = 0; i < n; ++i) sum += std::conj(u[i]) * v[i];
    return sum;
  };
  std::vector<Longs> V;
  std::vector<long double> lengths;
  auto const keep = [&](Longs v) {
    lengths.push_back(std::sqrt(squared(v)));
    if (int(V.size()) >= full)
      for (Long& entry : v) entry = Long(float(entry.real()), float(entry.imag()));
    V.push_back(v);
  };
  Longs r(n);
  for (int i = 0; i < n; ++i) r[i] = plain(b[i]);
  long double const norm = std::sqrt(squared(r)),
                    factor = std::ldexp(1.0L, -std::ilogb(norm));  // a power of two
  Longs v = r;
  for (Long& entry : v) entry *= factor;
  keep(v);
  PlainCycle cycle{{1}, Longs(n)};
  std::vector<Longs> H;  // columns, of steps + 1 entries
  for (int j = 0; j < steps; ++j) {
    Longs w(n), h(steps + 1);
    for (int i = 0; i < n; ++i)
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        w[i] += Long(plain(A.values[k])) * V[j][A.columns[k]] / lengths[j];
    for (int k = 0; k <= j; ++k) h[k] = dot(V[k], w) / lengths[k];
    for (int k = 0; k <= j; ++k)
      for (int i = 0; i < n; ++i) w[i] -= h[k] * V[k][i] / lengths[k];
    keep(w);
    h[j + 1] = lengths[j + 1];
    H.push_back(h);
    // The least squares problem by an orthonormal basis of H's columns, with their combinations.
    Longs left(steps + 1), y(steps);
    left[0] = norm;
    std::vector<Longs> Q, C;
    for (int k = 0; k <= j; ++k) {
      Longs q = H[k], c(steps);
      c[k] = 1;
      for (int round = 0; round < 2; ++round)
        for (std::size_t l = 0; l < Q.size(); ++l) {
          Long part = 0;
          for (int i = 0; i <= steps; ++i) part += std::conj(Q[l][i]) * q[i];
          for (int i = 0; i <= steps; ++i) q[i] -= part * Q[l][i];
          for (int i = 0; i < steps; ++i) c[i] -= part * C[l][i];
        }
      long double const length = std::sqrt(squared(q));
      Long part = 0;
      for (int i = 0; i <= steps; ++i) part += std::conj(q[i] / length) * left[i];
      for (int i = 0; i <= steps; ++i) left[i] -= part * q[i] / length;
      for (int i = 0; i < steps; ++i) y[i] += part * c[i] / length;
      for (Long& entry : q) entry /= length;
      for (Long& entry : c) entry /= length;
      Q.push_back(q);
      C.push_back(c);
    }
    cycle.history.push_back(double(std::sqrt(squared(left)) / norm));
    if (j + 1 < steps) continue;
    for (int k = 0; k < steps; ++k)
      for (int i = 0; i < n; ++i) cycle.x[i] += y[k] * V[k][i] / lengths[k];
  }
  return cycle;
}

/// \param full vectors of the cycle in Scalar: those that this tolerance asks for
template <class Scalar>
void expect_as_rounded(double tolerance, int full) {
  int const steps = 12;
  auto const A = Solder::convection_diffusion_2d<Scalar>(20);
  auto const b = random_vector<Scalar>(A.rows, 21);
  auto const rounded = plain_cycle(A, b, steps, full), exact = plain_cycle(A, b, steps, steps + 1);
  for (auto const form : {GmresForm::cgs, GmresForm::cgs2, GmresForm::flexible})
    for (Runner const runner : every_runner) {
      auto options = gmres(form, 30);
      options.basis = GmresBasis::single;
      options.tolerance = tolerance;
      options.max_iterations = steps;
      options.runner = runner;
      SCOPED_TRACE(name_of(options) + ", " + std::string(to_string(runner)));
      auto const s = solve(Exec(), A, false, b, std::vector<Scalar>(A.rows), options);
      ASSERT_EQ(s.report.iterations, steps);
      expect_true_report(A, b, s, options);
      for (int k = 0; k <= steps; ++k)
        EXPECT_NEAR(s.report.history[k], rounded.history[k], 1e-12) << k;
      double off = 0, off_exact = 0, size = 0;
      for (int i = 0; i < A.rows; ++i) {
        off += std::norm(plain(s.x[i]) - Complex(rounded.x[i]));
        off_exact += std::norm(plain(s.x[i]) - Complex(exact.x[i]));
        size += std::norm(Complex(exact.x[i]));
      }
      EXPECT_LE(std::sqrt(off / size), 1e-11);
      EXPECT_GE(std::sqrt(off_exact / size), 1e-10) << "the rounding is seen";
      EXPECT_LE(std::sqrt(off_exact / size), 1e-6);
    }
}

TEST(GmresBasis, IsWhatPlainLoopsRound) {
  expect_as_rounded<double>(1e-5, 0);
  expect_as_rounded<ComplexDouble>(1e-5, 0);
}

TEST(GmresBasis, HasItsFirstVectorsInDoubleWhereACycleMayEndFarBelowItsBeginning) {
  expect_as_rounded<double>(1e-9, 8);
  expect_as_rounded<ComplexDouble>(1e-9, 8);
}

template <class Scalar>
void expect_solved() {
  Exec const exec;
  for (auto const& [name, A] : problems<Scalar>()) {
    auto const b = random_vector<Scalar>(A.rows, 31), x0 = random_vector<Scalar>(A.rows, 32);
    for (auto const& [form, chosen] : Method<GmresOptions>::forms_in_single())
      for (Runner const runner : every_runner)
        for (bool const jacobi : {false, true}) {
          SCOPED_TRACE(name + ", " + form + ", " + std::string(to_string(runner)) +
                       (jacobi ? ", jacobi" : ", none"));
          GmresOptions options = chosen;
          options.runner = runner;
          options.tolerance = 1e-10;
          options.max_iterations = 2000;
          auto const s = solve(exec, A, jacobi, b, x0, options);
          EXPECT_EQ(to_string(s.report.reason), "converged") << s.report.detail;
          expect_true_report(A, b, s, options);
          auto const again = solve(exec, A, jacobi, b, x0, options);
          EXPECT_TRUE(same_bits(s.x, again.x) && same_bits(s.report.history, again.report.history));
          options.basis = GmresBasis::same;
          auto const same = solve(exec, A, jacobi, b, x0, options);
          EXPECT_LE(s.report.iterations, 1.1 * same.report.iterations + 3);
          if (s.report.runner == same.report.runner) {  // GPUs have no kernel of such a solve
            EXPECT_EQ(s.report.kernels_per_iteration, same.report.kernels_per_iteration);
          }
        }
  }
}

TEST(GmresBasis, InSinglePrecisionSolvesAndRepeatsBitForBit) {
  expect_solved<double>();
  expect_solved<ComplexDouble>();
}

TEST(GmresBasis, GoesWithAPreconditionerThatHasKernelsOfItsOwn) {
  Exec const exec;
  auto const host = Solder::convection_diffusion_2d<double>(30);
  CsrMatrix<double, Exec> const A(exec, host);
  Solder::Incomplete const M(exec, A, Solder::Factorisation::ilu0);
  auto const b = random_vector<double>(host.rows, 5);
  for (auto const& [name, options] : Method<GmresOptions>::forms_in_single()) {
    SCOPED_TRACE(name);
    Solved<double> s;
    auto const x = to_device(exec, std::vector<double>(host.rows));
    s.report = Gmres(exec, A, M, options).solve(to_device(exec, b), x);
    s.x = to_host(exec, x);
    EXPECT_EQ(to_string(s.report.reason), "converged") << s.report.detail;
    expect_true_report(host, b, s, options);
  }
}

/// A e_1 = e_2, A e_2 = factor e_3, A e_3 = e_1, all by `scale`: three steps are needed. The second
/// one's vector leaves the range of float, which only the next cycle's scale takes it back to.
TEST(GmresBasis, GoesOnWhereAVectorLeavesTheRangeOfFloat) {
  struct Shift {
    double scale, factor;
    char const* reason;
  };
  for (auto const& [scale, factor, reason] :
       {Shift{0x1p80, 0x1p30, "converged"}, Shift{0x1p-80, 0x1p-30, "converged"},
        Shift{1, 1e-35, "converged"}, Shift{1, 1e35, "stagnated"}}) {
    auto const A = sparse(
        std::vector<std::vector<double>>{{0, 0, scale}, {scale, 0, 0}, {0, scale * factor, 0}});
    std::vector<double> const b{1, 0, 0};
    for (auto [name, options] : Method<GmresOptions>::forms_in_single(3))
      for (GmresBasis const basis : {GmresBasis::same, GmresBasis::single}) {
        options.basis = basis;
        SCOPED_TRACE(name + ", " + std::string(to_string(basis)) + ", " + std::to_string(factor));
        auto const s = solve(Exec(), A, false, b, std::vector<double>(3), options);
        EXPECT_EQ(to_string(s.report.reason), reason) << s.report.detail;
        EXPECT_LE(s.report.iterations, 6);
        expect_true_report(A, b, s, options);
      }
  }
}

TEST(GmresBasis, HalvesItsWords) {
  auto const A = Solder::convection_diffusion_2d<double>(12);
  auto const b = random_vector<double>(A.rows, 1);
  double words[2];
  for (GmresBasis const basis : {GmresBasis::same, GmresBasis::single}) {
    auto options = gmres(GmresForm::cgs2, 8);
    options.basis = basis;
    words[basis == GmresBasis::single] =
        solve(Exec(), A, false, b, std::vector<double>(A.rows), options).report.words_per_iteration;
  }
  // Step j: 2 j + 7 words a row, of which 2 j + 3 are halved and one is more. A cycle's end: 8 of
  // the basis and v_0, halved, and one more.
  double saved = 0;
  for (int j = 0; j < 8; ++j) saved += (2 * j + 3) / 2.;
  EXPECT_NEAR((words[0] - words[1]) / A.rows, (saved - 8 + 9 / 2. - 1) / 8, 1e-12 * words[0]);
}

template <class Scalar>
std::string refused(GmresForm form) {
  Exec const exec;
  CsrMatrix<Scalar, Exec> const A(exec, diagonal<Scalar>({1, 2, 3}));
  auto options = gmres(form);
  options.basis = GmresBasis::single;
  try {
    SolverOf<GmresOptions, Exec, Scalar> const solver(exec, A, {}, options);
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "";
}

TEST(GmresBasis, IsRefusedWhereThereIsNone) {
  EXPECT_EQ(
      refused<float>(GmresForm::cgs2),
      "Solder::Gmres: basis single is for double and complex_double; with float basis same is "
      "in single precision");
  EXPECT_NE(refused<Kokkos::complex<float>>(GmresForm::flexible), "");
  EXPECT_EQ(refused<double>(GmresForm::pipelined),
            "Solder::Gmres: form pipelined needs basis same, for its residual comes of the basis "
            "itself; basis single has cgs2, cgs, mgs or flexible");
  EXPECT_EQ(refused<double>(GmresForm::mgs), "");
}

}  // namespace
