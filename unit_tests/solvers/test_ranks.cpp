// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several ranks solve a system together: the iterations of one, the same decisions everywhere.
// Ranks are threads here; see ranks.hpp.
#include "bicgstab.hpp"
#include "cg.hpp"
#include "gmres.hpp"
#include "idr.hpp"
#include "ranks.hpp"

#include <solder/preconditioners/apply.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>

namespace SolderTest {
namespace {

constexpr auto no_M = [](Exec const&, auto const&) { return Identity{}; };
constexpr auto jacobi_M = [](Exec const& exec, auto const& A) {
  return Jacobi<typename std::decay_t<decltype(A)>::scalar_type, Exec>(exec, A.own_block(exec));
};

template <class Options>
class Ranks : public ::testing::Test {};
using Methods = ::testing::Types<CgOptions, BiCgStabOptions, GmresOptions, IdrOptions>;
TYPED_TEST_SUITE(Ranks, Methods);

/// The iterations of one process, and its residual, recomputed; reports alike on all ranks. Three
/// ranks and more have one without rows, and forty are more than there are rows.
template <class Scalar, class Options>
void expect_as_one(std::int32_t side, std::vector<int> const& counts) {
  auto const all = definite_matrix<Scalar>(side);
  auto const b = random_vector<Scalar>(all.rows, 1), x0 = random_vector<Scalar>(all.rows, 2);
  Exec const exec;
  auto forms = every_form<Options>();
  if constexpr (std::is_same_v<Options, GmresOptions>)
    for (auto const& form : Method<GmresOptions>::forms_in_single()) forms.push_back(form);
  for (auto const& [name, form] : forms)
    for (bool const jacobi : {false, true}) {
      SCOPED_TRACE(name + (jacobi ? ", jacobi" : ""));
      Options options = form;
      options.runner = Runner::launch;
      auto const one = solve(exec, all, jacobi, b, x0, options);
      options.runner = Runner::automatic;
      for (int const ranks : counts) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks");
        auto const some = jacobi ? solve_together(all, b, x0, ranks, options, jacobi_M)
                                 : solve_together(all, b, x0, ranks, options, no_M);
        for (Report const& report : some.reports) {
          EXPECT_EQ(report.reason, Reason::converged) << report.detail;
          EXPECT_EQ(report.iterations, some.reports[0].iterations);
          EXPECT_TRUE(same_bits(report.history, some.reports[0].history));
          EXPECT_EQ(report.true_relative_residual, some.reports[0].true_relative_residual);
          EXPECT_EQ(report.runner, Runner::launch);
        }
        int const slack = std::max(1, one.report.iterations / 25);  // other orders of summation
        EXPECT_NEAR(some.reports[0].iterations, one.report.iterations, slack);
        auto const [relative, rounding] = true_residual(all, b, some.x);
        EXPECT_NEAR(some.reports[0].true_relative_residual, relative, rounding + 1e-12 * relative);
        EXPECT_LE(relative, options.tolerance + rounding);
      }
    }
}

TYPED_TEST(Ranks, AreAsOneProcess) {
  expect_as_one<double, TypeParam>(std::is_same_v<TypeParam, GmresOptions> ? 8 : 14, {1, 2, 3, 4});
  expect_as_one<double, TypeParam>(4, {40});
}
TYPED_TEST(Ranks, AreAsOneProcessForComplexNumbers) {
  expect_as_one<Kokkos::complex<double>, TypeParam>(9, {2, 3});
}

/// All-reduces and exchanges of an iteration, apart from those of its beginning and its end.
TYPED_TEST(Ranks, SumOnceWhereTheMethodHasOnePoint) {
  auto const all = definite_matrix<double>(20);
  auto const b = random_vector<double>(all.rows, 1);
  std::vector<double> const x0(b.size());
  for (auto const& [name, form] : every_form<TypeParam>()) {
    SCOPED_TRACE(name);
    double sums[2], exchanges[2];
    int const most[2] = {30, 60};
    for (int k : {0, 1}) {
      TypeParam options = form;
      options.tolerance = 0;
      options.max_iterations = most[k];
      if constexpr (std::is_same_v<TypeParam, GmresOptions>) options.restart = 100;
      auto const some = solve_together(all, b, x0, 2, options, no_M);
      EXPECT_EQ(some.reports[0].iterations, most[k]) << some.reports[0].detail;
      sums[k] = double(some.sums);
      exchanges[k] = double(some.exchanges);
    }
    double const of_sums = (sums[1] - sums[0]) / 30,
                 of_exchanges = (exchanges[1] - exchanges[0]) / 30;
    std::printf("[  counted ] %s: %.2f sums, %.2f exchanges an iteration\n", name.c_str(), of_sums,
                of_exchanges);
    bool const is_bicgstab = std::is_same_v<TypeParam, BiCgStabOptions>;
    if (name == "pipelined" && std::is_same_v<TypeParam, CgOptions>) {
      EXPECT_EQ(of_sums, 1);
    }
    if (std::is_same_v<TypeParam, IdrOptions>) {
      EXPECT_EQ(of_sums, 1);
    }
    if (is_bicgstab && name == "pipelined") {
      EXPECT_EQ(of_sums, 2);
    }
    if (name == "cgs") {
      EXPECT_LE(of_sums, 2.05);
    }
    EXPECT_EQ(of_exchanges, is_bicgstab ? 2 : 1);
  }
}

/// Of a rank's own block, and a polynomial over all ranks with the largest eigenvalue of all.
TEST(RanksWithPreconditioners, Converge) {
  auto const all = definite_matrix<double>(20);
  auto const b = random_vector<double>(all.rows, 1);
  std::vector<double> const x0(b.size());
  Exec const exec;
  auto const expect_converged = [&](auto const& options, auto const& make_M, int most) {
    for (int const ranks : {1, 2, 3}) {
      auto const some = solve_together(all, b, x0, ranks, options, make_M);
      EXPECT_EQ(some.reports[0].reason, Reason::converged) << some.reports[0].detail;
      EXPECT_LE(some.reports[0].iterations, most);
      auto const [relative, rounding] = true_residual(all, b, some.x);
      EXPECT_LE(relative, 1e-8 + rounding);
    }
  };
  auto const without = solve(exec, all, false, b, x0, CgOptions{}).report.iterations;
  expect_converged(
      CgOptions{},
      [](Exec const& e, auto const& A) { return Solder::Fsai<double, Exec>(e, A.own_block(e)); },
      without);
  expect_converged(
      CgOptions{},
      [](Exec const& e, auto const& A) {
        return Solder::Incomplete<double, Exec>(e, A.own_block(e), Solder::Factorisation::ic0);
      },
      without);
  expect_converged(
      GmresOptions{},
      [](Exec const& e, auto const& A) {
        return Solder::Incomplete<double, Exec>(e, A.own_block(e), Solder::Factorisation::ilu0);
      },
      without);
  auto const polynomial = [](Exec const& e, auto const& A) {
    Jacobi<double, Exec> const inner(e, A.own_block(e));
    return Solder::Chebyshev<Exec, std::decay_t<decltype(A)>, Jacobi<double, Exec>>(e, A, inner,
                                                                                    {});
  };
  Solder::CsrMatrix<double, Exec> const A(exec, all);
  Solder::Cg one(exec, A, Solder::Chebyshev(exec, A, Jacobi<double, Exec>(exec, A)));
  auto const x = to_device(exec, x0);
  int const of_one = one.solve(to_device(exec, b), x).iterations;
  for (int const ranks : {2, 3})
    EXPECT_NEAR(solve_together(all, b, x0, ranks, CgOptions{}, polynomial).reports[0].iterations,
                of_one, 1);
}

/// One rank's fault ends all of them, by the same reason or by an exception; nobody waits.
TYPED_TEST(Ranks, AllEndTogether) {
  auto const all = definite_matrix<double>(12);
  auto b = random_vector<double>(all.rows, 1);
  std::vector<double> const x0(b.size());
  auto const expect_all = [](Together<double> const& some, Reason reason) {
    for (Report const& report : some.reports) EXPECT_EQ(report.reason, reason) << report.detail;
  };
  TypeParam options;
  // A NaN in b on the last rank.
  auto const with_nan = [&] {
    auto other = b;
    other.back() = std::nan("");
    return other;
  }();
  expect_all(solve_together(all, with_nan, x0, 3, options, no_M), Reason::not_finite);
  // A zero on the diagonal of the last rank's M.
  auto const broken = solve_together(all, b, x0, 3, options, [](Exec const& exec, auto const& A) {
    std::vector<double> diagonal(std::size_t(A.rows()), 1.0);
    if (A.ranks()->first_row() + A.rows() == A.ranks()->rows() && !diagonal.empty())
      diagonal.back() = 0;
    return Jacobi<double, Exec>(exec, to_device(exec, diagonal));
  });
  expect_all(broken, Reason::breakdown);
  EXPECT_NE(broken.reports[0].detail.find("another rank"), std::string::npos);
  EXPECT_NE(broken.reports[2].detail.find("is zero"), std::string::npos);
  // The limit, and b = 0.
  TypeParam few = options;
  few.max_iterations = 3;
  few.tolerance = 1e-14;
  expect_all(solve_together(all, b, x0, 3, few, no_M), Reason::max_iterations);
  auto const zero = solve_together(all, x0, b, 3, options, no_M);
  expect_all(zero, Reason::converged);
  EXPECT_EQ(zero.x, x0);
}

/// A monitor that stops, or throws, on one rank alone; an M of users that throws; an x that is too
/// short.
TYPED_TEST(Ranks, WhatUsersDoOnOneRankEndsAll) {
  auto const all = definite_matrix<double>(12);
  auto const b = random_vector<double>(all.rows, 1);
  int const ranks = 3;
  auto const bounds = slices(all.rows, ranks);
  for (int const what : {0, 1, 2, 3}) {
    SCOPED_TRACE(what);
    Meeting meeting(ranks);
    std::vector<std::string> ends(ranks);
    on_ranks(ranks, [&](int me) {
      Exec const exec = own_instance<Exec>();
      auto const A = part_of<double>(exec, all, meeting, bounds, me);
      TypeParam options;
      options.tolerance = 1e-12;
      if (me == 2 && what < 2)
        options.monitor = [&](Solder::Progress const& progress) {
          if (progress.iteration < 5) return;
          if (what == 1) throw std::runtime_error("the monitor of rank 2");
          progress.stop();
        };
      int applications = 0;
      Solder::Apply<double, Exec> const M(A.rows(),
                                          [&](Exec const& e, auto const& r, auto const& z) {
                                            if (what == 2 && me == 2 && ++applications == 4)
                                              throw std::runtime_error("the M of rank 2");
                                            Kokkos::deep_copy(e, z, r);
                                          });
      SolverOn<TypeParam, Exec, std::decay_t<decltype(A)>, std::decay_t<decltype(M)>> solver(
          exec, A, M, options);
      bool const is_short = what == 3 && me == 2;
      auto const x = to_device(exec, std::vector<double>(std::size_t(A.rows() - is_short)));
      auto const of_b =
          to_device(exec, std::vector<double>(b.begin() + bounds[me], b.begin() + bounds[me + 1]));
      try {
        ends[me] = to_string(solver.solve(of_b, x).reason);
      } catch (std::exception const& error) {
        ends[me] = error.what();
      }
    });
    std::string const own = what == 0   ? "stopped"
                            : what == 1 ? "the monitor of rank 2"
                            : what == 2 ? "the M of rank 2"
                                        : "; both need ";
    EXPECT_NE(ends[2].find(own), std::string::npos) << ends[2];
    for (int const me : {0, 1})
      EXPECT_NE(ends[me].find(what == 0 ? "stopped" : "another rank"), std::string::npos)
          << ends[me];
  }
}

TEST(RanksRefuse, OtherRunnersSeveralColumnsAtOnceAndNarrowMatrices) {
  auto const all = definite_matrix<double>(6);
  CgOptions options;
  options.runner = Runner::resident;
  EXPECT_THROW(solve_together(all, random_vector<double>(all.rows, 1),
                              std::vector<double>(std::size_t(all.rows)), 2, options, no_M),
               std::invalid_argument);
}

/// What is made of a rank's own block is as old as the rank's rows.
TEST(RanksWithPreconditioners, AreStaleWhereTheRowsHaveChanged) {
  Meeting meeting(1);
  Exec const exec;
  auto const A = part_of<double>(exec, definite_matrix<double>(6), meeting, {0, 36}, 0);
  Jacobi<double, Exec> M(exec, A.own_block(exec));
  EXPECT_FALSE(M.is_stale());
  A.values_changed();
  EXPECT_TRUE(M.is_stale());
  M.refresh(exec, A.own_block(exec));
  EXPECT_FALSE(M.is_stale());
}

TEST(ShadowSpaceOfRanks, IsThatOfAllRows) {
  using Space = Solder::ShadowSpace<double>;
  for (std::uint64_t const seed : {0u, 1u, 12345u})
    for (std::int64_t const first : {1, 7, 1000000}) {
      Space const all{seed}, mine{Space::seed_from(seed, first)};
      for (std::int32_t i : {0, 1, 99})
        for (std::int32_t j : {0, 3, 4, 31})
          EXPECT_EQ(mine.entry(i, j), all.entry(static_cast<std::int32_t>(first) + i, j));
    }
}

}  // namespace
}  // namespace SolderTest
