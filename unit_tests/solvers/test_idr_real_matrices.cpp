// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IDR(s) on real matrices: as many iterations as the textbook's, where that is a question of the
// method and not of rounding; and on all of them an end that is true, see outcomes.hpp.
#include "idr_oracle.hpp"
#include "outcomes.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <utility>

namespace {

using namespace SolderTest;

/// On others a last bit of b moves the textbook's own count by more than the twentieth allowed
/// here. That the recursion claims the end is what is counted: where it is not true, as on
/// utrecht1331_K and 685_bus, the solver goes on and the textbook does not.
std::set<std::string> const steady{
    "2dcyl1",        "685_bus",  "Journals",      "Si2",      "Trefethen_2000",
    "bcsstk02",      "bcsstm23", "bfwb782",       "cage7",    "cage8",
    "cage9",         "cdde1",    "dwb512",        "fs_541_1", "jpwh_991",
    "nos6",          "pde2961",  "pyamg_airfoil", "sherman4", "smallLQCD_A1",
    "utrecht1331_K", "vem1",     "vem2",          "wang2",    "watt_1"};

/// Two cases of steady matrices in which a last bit of b does move the textbook's count that much:
/// from 401 to 388 to 426, and from 289 to 287 to 314.
std::set<std::pair<std::string, int>> const unsteady{{"685_bus", 1}, {"2dcyl1", 2}};

/// The fewest and the most iterations of the textbook's, with last bits of b changed at random.
template <class Scalar>
std::pair<int, int> textbooks_range(Solder::HostCsr<Scalar> const& A, std::vector<Scalar> const& x0,
                                    IdrOptions const& options) {
  std::pair<int, int> range(options.max_iterations, 0);
  for (unsigned draw = 1; draw <= 20; ++draw) {
    std::mt19937 random(draw);
    std::vector<Scalar> b(A.rows, Scalar(1));
    for (auto& entry : b)
      if (random() % 2 == 0) entry = Scalar(std::nextafter(1.0, 2.0));
    int const iterations = plain_idr(A, inverse_diagonal(A), b, x0, options).iterations();
    range = {std::min(range.first, iterations), std::max(range.second, iterations)};
  }
  return range;
}

template <class Scalar>
void expect_textbooks_iterations(RealMatrix const& matrix) {
  auto const A = Solder::read_matrix_market<Scalar>(matrix_file(matrix));
  std::vector<Scalar> const b(A.rows, Scalar(1)), x0(A.rows);
  for (int const s : {1, 2, 4, 8}) {
    auto const options = with_limits(idr(s), 1e-8, 2000, Runner::launch);
    auto const oracle = plain_idr(A, inverse_diagonal(A), b, x0, options);
    auto const got = solve(Kokkos::DefaultExecutionSpace(), A, true, b, x0, options);
    ASSERT_LT(oracle.iterations(), 2000);
    int const iterations = first_claim(got.report.history, options.tolerance);
    int expected = oracle.iterations();
    if (unsteady.count({matrix.name, s})) {
      auto const [fewest, most] = textbooks_range(A, x0, options);
      expected = std::clamp(iterations, fewest, most);
    }
    EXPECT_NEAR(iterations, expected, std::max(3.0, 0.05 * expected))
        << matrix.name << ", s = " << s;
    EXPECT_EQ(got.report.reason, Reason::converged) << got.report.detail;
    EXPECT_LE(true_residual(A, b, got.x).relative, 1.01e-8) << matrix.name << ", s = " << s;
  }
}

TEST(IdrRealMatrices, TakeTheTextbooksIterations) {
  auto const list = real_matrices(6000);
  if (list.empty())
    GTEST_SKIP() << "no INDEX.tsv in " << matrices_folder()
                 << "; set SOLDER_MATRICES to the folder";
  std::size_t met = 0;
  for (auto const& matrix : list) {
    if (!steady.count(matrix.name)) continue;
    ++met;
    if (matrix.is_complex)
      expect_textbooks_iterations<Kokkos::complex<double>>(matrix);
    else
      expect_textbooks_iterations<double>(matrix);
  }
  EXPECT_EQ(met, steady.size());
}

TEST(IdrRealMatrices, ConvergeOrSayWhyNot) {
  std::vector<std::pair<std::string, IdrOptions>> const forms{{"idr(4)", idr(4)},
                                                              {"idr(8), smoothed", idr(8, true)}};
  expect_true_outcomes({500, 21}, {1000, 70}, forms);
}

}  // namespace
