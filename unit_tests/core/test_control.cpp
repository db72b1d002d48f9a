// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include <solder/core/control.hpp>

// The residual check runs on the device as it runs here: it is plain arithmetic on the control
// block.
namespace {

using Solder::Cause;
using Solder::Control;
using Solder::Limits;
using Solder::Phase;
using Solder::Reason;
using Solder::Recovery;
using Solder::Verdict;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double ulp = std::numeric_limits<double>::epsilon();

/// A control block in the middle of a solve with ||b|| = 1, whose iteration claims `why`.
Control claiming(Reason why, double recursive_residual, double best_residual = 1e3) {
  Control control;
  control.b_squared = 1;
  control.iteration = 7;
  control.recorded = 8;
  control.tolerance = 1e-6;
  control.set_threshold(1e-6);
  control.residual_squared = recursive_residual * recursive_residual;
  control.best_squared = best_residual * best_residual;
  control.phase = Phase::iterate;
  control.claim(why);
  return control;
}

/// A control block after the residual check has had x set to 0 because b = 0.
Control zeroed() {
  Control control;
  control.zeroed = true;
  return control;
}

struct Decision {
  char const* name;
  Control control;
  Limits limits;
  double residual, norm_b, nonzeros;  // what the residual check is told
  Verdict verdict;
  Phase phase;
  Reason reason;
};

TEST(Control, JudgeDecides) {
  Limits const limits{1e-6, 100}, no_iterations{1e-6, 0}, benchmark{0, 100};
  auto const claim = [](double recursive, double best = 1e3) {
    return claiming(Reason::converged, recursive, best);
  };
  Decision const table[] = {
      {"the start", {}, limits, 1, 1, 3, Verdict::restart, Phase::iterate, Reason::running},
      {"the start, a perfect guess",
       {},
       limits,
       0,
       1,
       3,
       Verdict::finish,
       Phase::finished,
       Reason::converged},
      {"the start, a guess that just does",
       {},
       limits,
       0.99e-6,
       1,
       3,
       Verdict::finish,
       Phase::finished,
       Reason::converged},
      {"the start, a guess that just does not",
       {},
       limits,
       1.01e-6,
       1,
       3,
       Verdict::restart,
       Phase::iterate,
       Reason::running},
      {"the start, relative to b",
       {},
       limits,
       0.99e-3,
       1e3,
       3,
       Verdict::finish,
       Phase::finished,
       Reason::converged},
      {"b = 0", {}, limits, 5, 0, 0, Verdict::zero, Phase::check, Reason::running},
      {"b = 0, no iterations allowed",
       {},
       no_iterations,
       5,
       0,
       0,
       Verdict::zero,
       Phase::check,
       Reason::running},
      {"b = 0, a guess that overflows",
       {},
       limits,
       infinity,
       0,
       0,
       Verdict::zero,
       Phase::check,
       Reason::running},
      {"b = 0, x = 0 now", zeroed(), limits, 0, 0, 0, Verdict::finish, Phase::finished,
       Reason::converged},
      {"b = 0, x = 0 now, benchmark", zeroed(), benchmark, 0, 0, 0, Verdict::restart,
       Phase::iterate, Reason::running},
      {"b = 0, x = 0 now, a NaN in A", zeroed(), limits, nan, 0, 0, Verdict::finish,
       Phase::finished, Reason::not_finite},
      {"||b||^2 underflows to 0",
       {},
       limits,
       5,
       0,
       3,
       Verdict::finish,
       Phase::finished,
       Reason::breakdown},
      {"||b||^2 underflows to 0, and so does the residual",
       {},
       limits,
       0,
       0,
       3,
       Verdict::finish,
       Phase::finished,
       Reason::breakdown},
      {"||b||^2 is too small for its digits",
       {},
       limits,
       0,
       1e-131,
       3,
       Verdict::finish,
       Phase::finished,
       Reason::breakdown},
      {"||b|| is small",
       {},
       limits,
       1e-120,
       1e-120,
       3,
       Verdict::restart,
       Phase::iterate,
       Reason::running},
      {"a NaN", {}, limits, nan, 1, 3, Verdict::finish, Phase::finished, Reason::not_finite},
      {"an infinity",
       {},
       limits,
       infinity,
       1,
       3,
       Verdict::finish,
       Phase::finished,
       Reason::not_finite},
      {"a NaN in b",
       {},
       limits,
       nan,
       nan,
       nan,
       Verdict::finish,
       Phase::finished,
       Reason::not_finite},
      {"||b||^2 overflows",
       {},
       limits,
       1,
       1e200,
       3,
       Verdict::finish,
       Phase::finished,
       Reason::breakdown},
      {"no iterations allowed",
       {},
       no_iterations,
       1,
       1,
       3,
       Verdict::finish,
       Phase::finished,
       Reason::max_iterations},
      {"no iterations needed",
       {},
       no_iterations,
       0,
       1,
       3,
       Verdict::finish,
       Phase::finished,
       Reason::converged},
      {"benchmark mode, a perfect guess",
       {},
       benchmark,
       0,
       1,
       3,
       Verdict::restart,
       Phase::iterate,
       Reason::running},

      {"a true claim", claim(0.8e-6), limits, 0.9e-6, 1, 3, Verdict::finish, Phase::finished,
       Reason::converged},
      {"a claim a little ahead of the truth", claim(0.95e-6), limits, 1.05e-6, 1, 3, Verdict::go_on,
       Phase::iterate, Reason::converged},
      {"a claim far from the truth", claim(0.9e-6), limits, 1e-3, 1, 3, Verdict::restart,
       Phase::iterate, Reason::converged},
      {"a restart that did not help", claim(0.9e-6, 1.05e-3), limits, 1e-3, 1, 3, Verdict::finish,
       Phase::finished, Reason::stagnated},
      {"a restart that won a fifth", claim(0.9e-6, 1.25e-3), limits, 1e-3, 1, 3, Verdict::restart,
       Phase::iterate, Reason::converged},
      {"a claim in the face of a NaN", claim(0.9e-6), limits, nan, 1, 3, Verdict::finish,
       Phase::finished, Reason::not_finite},

      {"the limit came first", claiming(Reason::max_iterations, 1e-3), limits, 1e-3, 1, 3,
       Verdict::finish, Phase::finished, Reason::max_iterations},
      {"the limit came with convergence", claiming(Reason::max_iterations, 1e-3), limits, 1e-7, 1,
       3, Verdict::finish, Phase::finished, Reason::converged},
      {"the limit in the benchmark mode", claiming(Reason::max_iterations, 0), benchmark, 0, 1, 3,
       Verdict::finish, Phase::finished, Reason::max_iterations},
      {"a breakdown", claiming(Reason::breakdown, 1e-3), limits, 1e-3, 1, 3, Verdict::finish,
       Phase::finished, Reason::breakdown},
      {"a breakdown at the solution", claiming(Reason::breakdown, 1e-3), limits, 1e-9, 1, 3,
       Verdict::finish, Phase::finished, Reason::converged},
      {"indefinite", claiming(Reason::indefinite_matrix, 1e-3), limits, 1e-3, 1, 3, Verdict::finish,
       Phase::finished, Reason::indefinite_matrix},
      {"diverged", claiming(Reason::diverged, 1e13), limits, 1e13, 1, 3, Verdict::finish,
       Phase::finished, Reason::diverged},
      {"a scalar overflowed, x did not", claiming(Reason::not_finite, 1e-3), limits, 1e-3, 1, 3,
       Verdict::finish, Phase::finished, Reason::not_finite},
  };
  for (Decision const& d : table) {
    Control control = d.control;
    control.tolerance = d.limits.tolerance;  // as the first check has set it
    Verdict const verdict =
        check_residual(control, d.limits, d.residual * d.residual, d.norm_b * d.norm_b, d.nonzeros);
    EXPECT_EQ(verdict, d.verdict) << d.name;
    EXPECT_EQ(control.phase, d.phase) << d.name;
    if (control.phase == Phase::finished) {
      EXPECT_EQ(control.reason, d.reason) << d.name;
    }
  }
}

TEST(Control, JudgeRecordsTheFirstResidualAndNoOther) {
  Control control;
  check_residual(control, Limits{1e-6, 100}, 4, 1, 3);
  EXPECT_EQ(control.recorded, 1);
  EXPECT_EQ(control.residual_squared, 4);
  EXPECT_EQ(control.best_squared, 4);

  control = claiming(Reason::converged, 0.9e-6);
  check_residual(control, Limits{1e-6, 100}, 1e-6, 1, 3);
  EXPECT_EQ(control.recorded, 8);
}

TEST(Control, GoingOnLowersTheThresholdAndARestartResetsIt) {
  Limits const limits{1e-6, 100};
  Control control = claiming(Reason::converged, 0.95e-6);
  ASSERT_EQ(check_residual(control, limits, 1.05e-6 * 1.05e-6, 1, 3), Verdict::go_on);
  EXPECT_LT(control.threshold, 0.9e-6);  // the gap of 0.1e-6, and a little more
  EXPECT_GT(control.threshold, 0.4e-6);
  EXPECT_DOUBLE_EQ(control.stop_squared, control.threshold * control.threshold);

  // Ever smaller steps end in a restart: the threshold cannot fall for ever.
  int lowered = 1;
  for (; lowered < 100; ++lowered) {
    control.residual_squared = 0.98 * control.stop_squared;
    control.claim(Reason::converged);
    if (check_residual(control, limits, 1.05e-6 * 1.05e-6, 1, 3) != Verdict::go_on) break;
  }
  EXPECT_LT(lowered, 10);
  EXPECT_DOUBLE_EQ(control.threshold, 1e-6);
}

/// A solve whose recursion and truth stand an ulp apart, on both sides of the tolerance: the same
/// claim must not come back for ever.
TEST(Control, GoingOnAlwaysAsksForLessThanWasClaimed) {
  int went_on = 0;
  for (double const tolerance : {0.5802298395176403, 1.0 / 3, 0.1, 1e-6, 1e-10, 3e-15})
    for (double const b_squared : {1.0, 3.0, 1e-200, 7.7e77})
      for (int claimed = 0; claimed <= 40; ++claimed)
        for (int truth = -3; truth <= 40; ++truth) {
          Control control;
          control.b_squared = b_squared;
          control.iteration = 7;
          control.recorded = 8;
          control.tolerance = tolerance;
          control.set_threshold(tolerance);
          control.best_squared = 1e3 * b_squared;
          control.residual_squared = control.stop_squared * (1 - claimed * ulp);
          control.phase = Phase::iterate;
          control.claim(Reason::converged);
          double const true_squared = control.stop_squared * (1 + truth * ulp);
          if (check_residual(control, Limits{tolerance, 100}, true_squared, b_squared, 3) !=
              Verdict::go_on)
            continue;
          ++went_on;
          ASSERT_EQ(control.phase, Phase::iterate);
          ASSERT_LT(control.stop_squared, control.residual_squared)
              << tolerance << ", " << b_squared << ": " << claimed << " below, " << truth
              << " above";
        }
  EXPECT_GT(went_on, 1000);
}

TEST(Control, AtTheIterationLimitEverythingEnds) {
  for (Reason const claim :
       {Reason::running, Reason::converged, Reason::max_iterations, Reason::breakdown,
        Reason::indefinite_matrix, Reason::not_finite, Reason::diverged})
    for (double const truth : {0.9e-6, 1e-6, (1 + 1e-15) * 1e-6, 1.05e-6, 1e-3, 1e9})
      for (Recovery const& recovery :
           {Recovery{}, Recovery{false, true, false}, Recovery{true, true, true}}) {
        Control control = claiming(claim, 0.95e-6);
        Limits const limits{1e-6, control.iteration};
        EXPECT_EQ(check_residual(control, limits, truth * truth, 1, 3, recovery), Verdict::finish)
            << to_string(claim) << ", " << truth;
        EXPECT_EQ(control.phase, Phase::finished);
        EXPECT_EQ(control.reason == Reason::converged, truth <= 1e-6);
      }
}

TEST(Control, WhatIsOfNoUseIsMeasuredByWhereTheSolveBegan) {
  Limits const limits{1e-6, 100};
  auto const end_at = [&](double residual, double begun) {
    Control control;
    EXPECT_EQ(check_residual(control, limits, begun * begun, 1, 3), Verdict::restart);
    control.iteration = 3;
    control.claim(Reason::max_iterations);
    EXPECT_EQ(check_residual(control, limits, residual * residual, 1, 3), Verdict::finish);
    return control.reason;
  };
  EXPECT_EQ(end_at(1e11, 1), Reason::max_iterations);
  EXPECT_EQ(end_at(1e13, 1), Reason::diverged);
  EXPECT_EQ(end_at(1e13, 1e-3), Reason::diverged);
  EXPECT_EQ(end_at(1e13, 1e16), Reason::max_iterations);
  EXPECT_EQ(end_at(1e29, 1e16), Reason::diverged);
}

TEST(Control, AnXThatIsNotFiniteHasDiverged) {
  for (Reason const claim : {Reason::converged, Reason::running, Reason::max_iterations}) {
    Control control = claiming(claim, 1e-3);
    EXPECT_EQ(check_residual(control, Limits{1e-6, 100}, nan, 1, 3, {}, 1), Verdict::finish);
    EXPECT_EQ(control.reason, Reason::diverged);
    EXPECT_NE(describe(control).find("x has left the range"), std::string::npos);
  }
  Control control = claiming(Reason::not_finite, nan);
  check_residual(control, Limits{1e-6, 100}, nan, 1, 3, {}, 1);
  EXPECT_EQ(control.reason, Reason::not_finite) << "the recursion knows of a NaN";
  Control first;
  check_residual(first, Limits{1e-6, 100}, nan, 1, 3, {}, 1);
  EXPECT_EQ(first.reason, Reason::not_finite) << "a guess that is not finite";
}

TEST(Control, ACycleThatEndsFurtherAwayIsUndone) {
  Limits const limits{1e-6, 100};
  Recovery const recovery{.continues = false, .restarts = true, .reverts = true};
  auto const end_at = [&](double residual, Reason claim, Limits const& of) {
    Control control = claiming(claim, 0, 1e-2);
    EXPECT_EQ(check_residual(control, of, residual * residual, 1, 3, recovery), Verdict::revert);
    EXPECT_EQ(control.phase, Phase::finished);
    EXPECT_EQ(control.true_squared, 1e-4) << "of the x that is given back";
    return control.reason;
  };
  EXPECT_EQ(end_at(1.1e-2, Reason::converged, limits), Reason::stagnated);
  EXPECT_EQ(end_at(1e6, Reason::running, limits), Reason::stagnated);
  EXPECT_EQ(end_at(1e6, Reason::running, {1e-6, 7}), Reason::max_iterations);
  EXPECT_EQ(end_at(nan, Reason::not_finite, limits), Reason::not_finite);
  Control far = claiming(Reason::converged, 0, 1e-2);
  EXPECT_EQ(check_residual(far, limits, 1e26, 1, 3, recovery), Verdict::revert);
  EXPECT_EQ(far.reason, Reason::stagnated) << "x is as near as it was";
  // Not where it won something, nor where nothing has been done, nor in the benchmark mode.
  Control won = claiming(Reason::running, 0, 1e-2);
  EXPECT_EQ(check_residual(won, limits, 0.9e-4, 1, 3, recovery), Verdict::restart);
  Control fresh = claiming(Reason::breakdown, 0, 1e-2);
  fresh.fresh = true;
  EXPECT_EQ(check_residual(fresh, limits, 1, 1, 3, recovery), Verdict::finish);
  Control benchmark = claiming(Reason::running, 0, 1e-2);
  EXPECT_EQ(check_residual(benchmark, {0, 100}, 1, 1, 3, recovery), Verdict::restart);
}

TEST(Control, AnotherScaleNeedsNothingWon) {
  Recovery const recovery{.continues = false, .restarts = true, .reverts = true};
  Control control = claiming(Reason::running, 0, 1e-2);
  control.cause = Cause::scale;
  EXPECT_EQ(check_residual(control, {1e-6, 100}, 1e-4, 1, 3, recovery), Verdict::restart);
}

TEST(Control, OneShadowResidualMoreAfterABreakdownThatWonNothing) {
  Limits const limits{1e-6, 100};
  Recovery const recovery{.continues = true, .restarts = true, .has_another = true};
  Control control = claiming(Reason::breakdown, 1e-3, 1.05e-3);
  control.claim(Reason::breakdown, Cause::rs_Ap, 7);
  EXPECT_EQ(check_residual(control, limits, 1e-6, 1, 3, recovery), Verdict::restart);
  EXPECT_EQ(control.another, Cause::rs_Ap);
  // It did not help either: the first breakdown is the one that is named.
  control.claim(Reason::breakdown, Cause::As_s, 8);
  EXPECT_EQ(check_residual(control, limits, 1e-6, 1, 3, recovery), Verdict::finish);
  EXPECT_EQ(control.reason, Reason::breakdown);
  EXPECT_EQ(control.cause, Cause::rs_Ap);
  EXPECT_EQ(control.value, 7);
  // What has won something begins anew as it is, and may then try another again.
  control = claiming(Reason::breakdown, 1e-3, 1);
  control.another = Cause::rs_r;
  EXPECT_EQ(check_residual(control, limits, 1e-6, 1, 3, recovery), Verdict::restart);
  EXPECT_EQ(control.another, Cause::none);
  // A method that has no other ends.
  control = claiming(Reason::breakdown, 1e-3, 1.05e-3);
  EXPECT_EQ(check_residual(control, limits, 1e-6, 1, 3, Recovery{true, true, false}),
            Verdict::finish);
}

TEST(Control, MeasureRecordsOncePerIteration) {
  Control control;
  control.measure(9);
  control.measure(4);
  EXPECT_EQ(control.recorded, 1);
  EXPECT_EQ(control.residual_squared, 4);
  ++control.iteration;
  control.measure(1);
  EXPECT_EQ(control.recorded, 2);
}

TEST(Control, RelativeToBUnlessItIsZero) {
  Control control;
  EXPECT_EQ(control.relative(16), 4);
  control.b_squared = 4;
  EXPECT_EQ(control.relative(16), 2);
}

TEST(Control, DescriptionsNameTheScalarAndTheIteration) {
  auto const text = [](Reason reason, Cause cause, double value) {
    Control control;
    control.iteration = 3;
    control.claim(reason, cause, value);
    return describe(control);
  };
  EXPECT_EQ(text(Reason::converged, Cause::none, 0), "");
  EXPECT_EQ(text(Reason::max_iterations, Cause::none, 0), "");
  EXPECT_EQ(text(Reason::breakdown, Cause::p_Ap, 0), "(p, A p) = 0 at iteration 3");
  EXPECT_EQ(text(Reason::breakdown, Cause::r_z, 0), "(r, z) = 0 at iteration 3");
  EXPECT_EQ(text(Reason::breakdown, Cause::p_Ap, 1e-280), "(p, A p) = 1e-280 at iteration 3");
  std::string const leaves = " at iteration 3 leaves the range of double: scale A or b";
  EXPECT_EQ(text(Reason::breakdown, Cause::p_Ap, 2e-307), "(p, A p) = 2e-307" + leaves);
  EXPECT_EQ(text(Reason::breakdown, Cause::p_Ap, -1e299), "(p, A p) = -1e+299" + leaves);
  EXPECT_EQ(text(Reason::not_finite, Cause::p_Ap, nan), "(p, A p) = NaN at iteration 3");
  EXPECT_EQ(text(Reason::not_finite, Cause::p_Ap, 1), text(Reason::not_finite, Cause::none, 0));
  EXPECT_EQ(text(Reason::breakdown, Cause::norm_of_b, 1e-300), "||b||^2 underflows: scale b");
  EXPECT_EQ(text(Reason::breakdown, Cause::norm_of_b, std::numeric_limits<double>::infinity()),
            "||b||^2 overflows: scale b");
  EXPECT_NE(text(Reason::breakdown, Cause::q_Mq, 0).find("(A p, M A p) = 0 at iteration 3"),
            std::string::npos);
  EXPECT_NE(text(Reason::indefinite_matrix, Cause::p_Ap, -2).find("(p, A p) = -2 at iteration 3"),
            std::string::npos);
  EXPECT_NE(
      text(Reason::indefinite_preconditioner, Cause::r_z, -2).find("(r, z) = -2 at iteration 3"),
      std::string::npos);
  EXPECT_NE(text(Reason::not_finite, Cause::none, 0).find("iteration 3"), std::string::npos);
  EXPECT_NE(text(Reason::diverged, Cause::none, 0)
                .find("the residual at iteration 3 is more than 1e12 times ||b||"),
            std::string::npos);
  EXPECT_NE(text(Reason::stagnated, Cause::none, 0), "");
}

TEST(Control, AtTheLimitAResidualThatHasGrownIsSaid) {
  auto const text = [](double true_squared, double best_squared) {
    Control control;
    control.b_squared = 4;
    control.best_squared = best_squared;
    control.true_squared = true_squared;
    control.finish(Reason::max_iterations);
    return describe(control);
  };
  EXPECT_NE(text(4.1e4, 4).find("the residual has grown"), std::string::npos) << text(4.1e4, 4);
  EXPECT_EQ(text(3.9e4, 4), "") << "as a residual may in between";
  EXPECT_EQ(text(4.1e4, 1e12), "") << "from a poor guess it has fallen";
  EXPECT_EQ(text(1e-24, 1e-32), "") << "it is rounding";
}

TEST(Control, OnlyASmallResidualIsTheAttainableAccuracy) {
  auto const text = [](double true_squared) {
    Control control;
    control.b_squared = 4;
    control.true_squared = true_squared;
    control.claim(Reason::stagnated);
    return describe(control);
  };
  EXPECT_NE(text(4e-20).find("attainable accuracy"), std::string::npos);
  EXPECT_EQ(text(9).find("attainable accuracy"), std::string::npos) << text(9);
  EXPECT_NE(text(9).find("far from a solution"), std::string::npos) << text(9);
}

}  // namespace
