// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scale of A and b says nothing: where both are multiplied by powers of two, which is exact, a
// method takes the same steps bit by bit.
#include "bicgstab.hpp"
#include "cg.hpp"
#include "gmres.hpp"
#include "idr.hpp"

#include <solder/preconditioners/incomplete.hpp>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;
using ComplexFloat = Kokkos::complex<float>;
using ComplexDouble = Kokkos::complex<double>;

/// scale tridiag(-1, 2.1, -1).
template <class Scalar>
HostCsr<Scalar> tridiagonal(int n, double scale) {
  std::vector<std::vector<Scalar>> rows(n, std::vector<Scalar>(n));
  for (int i = 0; i < n; ++i) {
    rows[i][i] = Scalar(2.1 * scale);
    if (i > 0) rows[i][i - 1] = rows[i - 1][i] = Scalar(-scale);
  }
  return sparse(rows);
}

struct Scales {
  int of_A, of_b;  ///< powers of two
};

/// As far as vectors, x = b / A among them, have normal numbers; the square of ||b|| is asked to
/// have digits (Cause::norm_of_b). Only the vectors of GMRES are scaled, so that of the others A p
/// is among those that are to be normal, and (r, A r) among the numbers of double.
template <class Scalar>
std::vector<Scales> all_scales(bool scaled_vectors) {
  std::vector<Scales> all{{67, 0}, {-80, 0}, {60, 40}, {-40, -60}};
  if (sizeof(typename Solder::ScalarTraits<Scalar>::Real) == 4) {
    if (scaled_vectors) all.insert(all.end(), {{99, 0}, {-99, 0}, {-40, -100}, {-100, -60}});
    return all;
  }
  all.insert(all.end(), {{531, 0},
                         {-531, 0},
                         {850, 0},
                         {-850, 0},
                         {300, -300},
                         {-300, 300},
                         {-300, -200},
                         {300, 250}});
  if (scaled_vectors) all.insert(all.end(), {{996, 0}, {-996, 0}, {-340, -340}, {400, 400}});
  return all;
}

/// Every form without a preconditioner, or with what make(exec, A) answers.
template <class Options, class Scalar, class Make>
void expect_the_same_steps(double tolerance, std::vector<std::pair<std::string, Options>> forms,
                           std::vector<Scales> const& all, Make const& make) {
  Exec const exec;
  int const n = 30;
  auto const run = [&](Options const& options, Scales const& scales) {
    CsrMatrix<Scalar, Exec> const A(exec, tridiagonal<Scalar>(n, std::ldexp(1., scales.of_A)));
    auto const M = make(exec, A);
    std::vector<Scalar> b(n);
    for (int i = 0; i < n; ++i) b[i] = Scalar(std::ldexp(1. + i % 3, scales.of_b));
    auto const x = to_device(exec, std::vector<Scalar>(n));
    SolverOf<Options, Exec, Scalar, std::decay_t<decltype(M)>> solver(exec, A, M, options);
    Report const report = solver.solve(to_device(exec, b), x);
    return Solved<Scalar>{report, to_host(exec, x)};
  };
  for (auto const& [name, form] : forms)
    for (Runner const runner : {Runner::launch, Runner::resident}) {
      Options options = form;
      options.tolerance = tolerance;
      options.max_iterations = 300;
      options.runner = runner;
      auto const as_it_is = run(options, {0, 0});
      EXPECT_EQ(to_string(as_it_is.report.reason), "converged");
      for (Scales const& scales : all) {
        SCOPED_TRACE(name + ", " + std::string(to_string(runner)) + ", A by 2^" +
                     std::to_string(scales.of_A) + ", b by 2^" + std::to_string(scales.of_b));
        auto const s = run(options, scales);
        EXPECT_EQ(to_string(s.report.reason), "converged") << s.report.detail;
        EXPECT_EQ(s.report.iterations, as_it_is.report.iterations);
        EXPECT_TRUE(same_bits(s.report.history, as_it_is.report.history));
        double const back = std::ldexp(1., scales.of_A - scales.of_b);
        for (int i = 0; i < n; ++i)
          ASSERT_LE(Kokkos::abs(Scalar(s.x[i] * Scalar(back)) - as_it_is.x[i]),
                    1e-12 * Kokkos::abs(as_it_is.x[i]));
      }
    }
}

auto const nothing = [](auto const&, auto const&) { return Identity{}; };

template <class Options, class Scalar>
void expect_the_same_steps(double tolerance, std::vector<std::pair<std::string, Options>> forms) {
  constexpr bool scaled_vectors = std::is_same_v<Options, GmresOptions>;
  expect_the_same_steps<Options, Scalar>(tolerance, std::move(forms),
                                         all_scales<Scalar>(scaled_vectors), nothing);
}

template <class Scalar>
void of_gmres(double tolerance) {
  auto forms = Method<GmresOptions>::forms(10);
  forms.push_back({"flexible", gmres(GmresForm::flexible, 10)});
  if (sizeof(typename Solder::ScalarTraits<Scalar>::Real) == 8)
    for (auto const& form : Method<GmresOptions>::forms_in_single(10)) forms.push_back(form);
  expect_the_same_steps<GmresOptions, Scalar>(tolerance, forms);
}

TEST(Scales, DoNotChangeGmres) {
  of_gmres<double>(1e-10);
  of_gmres<ComplexDouble>(1e-10);
  of_gmres<float>(1e-4);
  of_gmres<ComplexFloat>(1e-4);
}

/// Whatever the first product's length is, that of the basis is in range after it is known.
TEST(Scales, DoNotChangeGmresAnywhere) {
  auto forms = Method<GmresOptions>::forms(10);
  forms.push_back({"flexible", gmres(GmresForm::flexible, 10)});
  std::vector<Scales> all{{-300, 420}, {300, -420}};
  for (int k = -995; k <= 995; k += 35) all.push_back({k, 0});
  for (int const k : {-99, -60, 60, 99}) all.push_back({k, 0});
  expect_the_same_steps<GmresOptions, double>(1e-10, forms, all, nothing);
  std::vector<Scales> of_float{{-40, 47}, {-37, 60}, {-20, 86}, {-14, 100}, {30, -60}};
  for (int k = -98; k <= 98; k += 7) of_float.push_back({k, 0});
  expect_the_same_steps<GmresOptions, float>(1e-4, forms, of_float, nothing);
}

/// Its (t, t) is of A^2 and r^2.
TEST(Scales, DoNotChangeBiCgStab) {
  auto const forms = Method<BiCgStabOptions>::forms();
  std::vector<Scales> const within{{67, 0},  {-80, 0},  {60, 40},    {-40, -60},
                                   {366, 0}, {-366, 0}, {300, -300}, {-300, 300}};
  expect_the_same_steps<BiCgStabOptions, double>(1e-10, forms, within, nothing);
  expect_the_same_steps<BiCgStabOptions, ComplexDouble>(1e-10, forms, within, nothing);
  expect_the_same_steps<BiCgStabOptions, float>(1e-4, forms);
}

TEST(Scales, BeyondTheRangeOfBiCgStabAreSaid) {
  Exec const exec;
  for (double const scale : {0x1p531, 0x1p-531})
    for (auto [name, options] : Method<BiCgStabOptions>::forms()) {
      SCOPED_TRACE(name + ", A by " + std::to_string(scale));
      options.runner = Runner::launch;  // in a GPU's merged stages (t, s) overflows, too
      auto const s = solve(exec, tridiagonal<double>(30, scale), false,
                           std::vector<double>(30, 1.0), std::vector<double>(30), options);
      EXPECT_EQ(to_string(s.report.reason), "breakdown");
      EXPECT_NE(s.report.detail.find("leaves the range of double: scale A or b"), std::string::npos)
          << s.report.detail;
    }
}

/// A product that has become 0 is no sign of what A is like.
TEST(Scales, OfBAreSaidWhereAProductIsZero) {
  Exec const exec;
  auto const check = [&](auto const& forms) {
    for (auto const& [name, options] : forms) {
      SCOPED_TRACE(name);
      auto const s = solve(exec, tridiagonal<double>(30, 0x1p-478), false,
                           std::vector<double>(30, 0x1p-360), std::vector<double>(30), options);
      EXPECT_EQ(to_string(s.report.reason), "breakdown");
      EXPECT_NE(s.report.detail.find("scale A or b"), std::string::npos) << s.report.detail;
    }
  };
  check(Method<CgOptions>::forms());
  check(Method<BiCgStabOptions>::forms());
}

TEST(Scales, DoNotChangeIdr) {
  auto const forms = Method<IdrOptions>::forms();
  expect_the_same_steps<IdrOptions, double>(1e-10, forms);
  expect_the_same_steps<IdrOptions, ComplexDouble>(1e-10, forms);
  expect_the_same_steps<IdrOptions, float>(1e-4, forms);
}

TEST(Scales, DoNotChangeClassicalCg) {
  std::vector<std::pair<std::string, CgOptions>> const forms{Method<CgOptions>::forms()[0]};
  expect_the_same_steps<CgOptions, double>(1e-10, forms);
  expect_the_same_steps<CgOptions, float>(1e-4, forms);
}

/// ||M r||^2 may leave the range of double where nothing else does: then nothing has faded.
TEST(Scales, DoNotFadeAPreconditionedResidual) {
  std::vector<Scales> const all{{531, 0}, {-531, 0}, {600, 0}, {-600, 0}};
  auto const ilu0 = [](Exec const& exec, CsrMatrix<double, Exec> const& A) {
    return Solder::Incomplete(exec, A, Solder::Factorisation::ilu0);
  };
  expect_the_same_steps<BiCgStabOptions, double>(1e-10, Method<BiCgStabOptions>::forms(), all,
                                                 ilu0);
  expect_the_same_steps<CgOptions, double>(1e-10, Method<CgOptions>::forms(), all, ilu0);
}

TEST(Scales, OfRowsFarApartLeaveBiCgStabWithAnExactPreconditionerConverging) {
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, diagonal<double>({1e308, 1e-308}));
  Solder::Incomplete const M(exec, A, Solder::Factorisation::ilu0);
  for (auto const& [name, options] : Method<BiCgStabOptions>::forms()) {
    SCOPED_TRACE(name);
    auto const x = to_device(exec, std::vector<double>(2));
    Report const report =
        BiCgStab(exec, A, M, options).solve(to_device(exec, std::vector<double>{1, 1}), x);
    EXPECT_EQ(to_string(report.reason), "converged") << report.detail;
  }
}

}  // namespace
