// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When name: auto gives a candidate up: the haste, and the watch.
#include "../support.hpp"
#include "reals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <compiled/watch.hpp>

namespace {

using Solder::Compiled::Haste;
using SolderTest::contains;

// ---- Haste ----

/// The iteration at which it gives up a candidate whose residual falls by `factor` each; -1: never.
int gives_up(double factor, double next, double tolerance = 1e-8, bool is_cg = false) {
  Haste haste;  // a set-up of ten iterations
  haste.begin(10, 1, next, tolerance, Haste::least_iterations, is_cg);
  double residual = 1;
  for (int k = 0; k < 10000 && residual > tolerance; ++k, residual *= factor)
    if (haste.gives_up(k, residual)) return k;
  return -1;
}

/// Iterations to 1e-8 that are left after k of a residual that falls by `factor` each, in digits:
/// the total is the geometric mean of that at this rate, three times, and of that of a power of k
/// with the digits of the last half, at most a thousand times the first.
double promised(double factor, int k) {
  double const digit = -std::log10(factor), at_rate = 8 / digit;
  int const half = k / 2;
  double const as_power = k * std::pow(double(k) / (k - half), (8 - k * digit) / (half * digit));
  return std::pow(at_rate, 0.75) * std::pow(std::min(as_power, 1000 * at_rate), 0.25) - k;
}
/// What Haste says is left after k iterations of such a residual(iteration).
template <class Residual>
double asked_for(Residual const& residual, int k, bool is_cg = false) {
  Haste haste;
  double left = -1;
  haste.begin_trial(
      1, [&](double asked, double) { return left = asked, 1e300; },
      std::numeric_limits<double>::infinity(), 1e-8, k, is_cg);
  for (int i = 0; i <= k; ++i) haste.gives_up(i, residual(i));
  return left;
}

TEST(Haste, PromisesTheMeanOfARateAndOfAPower) {
  for (double const factor : {0.999, 0.9, 0.7, 0.5})
    for (int const k : {6, 20, 21})
      EXPECT_NEAR(asked_for([&](int i) { return std::pow(factor, i); }, k), promised(factor, k),
                  1e-9 * promised(factor, k))
          << factor << ", " << k;
  EXPECT_NEAR(promised(std::pow(0.1, 0.1), 40), 80 * std::pow(2, 0.25) - 40, 1e-9);
}
/// A steady residual takes as many iterations as its rate says, one that falls as a power takes
/// those of the power; it promises more than the first and fewer than the second.
TEST(Haste, PromisesNeitherTooFewNorTooMany) {
  double const steady = asked_for([](int i) { return std::pow(0.8, i); }, 40);
  EXPECT_GT(steady, 82.5 - 40);
  EXPECT_LT(steady, 1.5 * 82.5 - 40);
  double const slowing = asked_for([](int i) { return std::pow(1. + i, -4); }, 40, true);
  EXPECT_GT(slowing, 27) << "at the rate of 1.16 digits in 20 iterations";
  EXPECT_LT(slowing, 100 - 41);
  EXPECT_TRUE(std::isinf(asked_for([](int) { return 1.0; }, 40))) << "it does not fall";
  EXPECT_TRUE(std::isfinite(asked_for([](int i) { return std::pow(0.99999, i); }, 20)));
}

TEST(Haste, LeavesWhatIsSlowTheLaterTheLessSlowItIs) {
  EXPECT_EQ(gives_up(0.9999, 100), 20);  // it has cost three tenths of what the next one promises
  EXPECT_EQ(gives_up(1.0, 100), 20);
  EXPECT_EQ(gives_up(1.0, 1000), 290);
  EXPECT_EQ(gives_up(0.98, 100), 20);
  // The rest of what has cost 1 / f of the promise may cost f^2 times the promise.
  ASSERT_LT(promised(0.95, 145), 200 * std::pow(200 / 155., 2));
  ASSERT_GT(promised(0.95, 146), 200 * std::pow(200 / 156., 2));
  EXPECT_EQ(gives_up(0.95, 200), 146);
  EXPECT_EQ(gives_up(0.94, 200), -1);
  EXPECT_EQ(gives_up(0.89, 100), -1);
  EXPECT_EQ(gives_up(0.9999, 0), -1);  // there is no other
  EXPECT_EQ(gives_up(0.9999, 100, 0), -1);
  EXPECT_EQ(gives_up(0.9999, 1), 20);  // not before it can be judged
}

TEST(Haste, GoesByTheLatterHalfOfTheIterations) {
  // Nothing for some iterations, then a digit every two.
  auto const leaves = [](int from) {
    Haste haste;
    haste.begin(0, 1, 100, 1e-8);
    for (int k = 0; k <= from + 16; ++k)
      if (haste.gives_up(k, k < from ? 1.0 : std::pow(10.0, -(k - from) / 2.0))) return true;
    return false;
  };
  EXPECT_FALSE(leaves(28));
  EXPECT_TRUE(leaves(31));  // it has cost three tenths of what the next one promises, for nothing
}

TEST(Haste, WaitsForTheResidualOfCgToFallBelowTheGuesses) {
  // Above that of the guess for some iterations, then a digit an iteration.
  auto const gives_up_at = [](bool is_cg, int from, double next) {
    Haste haste;
    haste.begin(10, 1, next, 1e-8, Haste::least_iterations, is_cg);
    for (int k = 0; k <= from + 8; ++k) {
      double const residual = k == 0 ? 1 : k < from ? 20 : std::pow(10.0, from - k);
      if (haste.gives_up(k, residual)) return k;
    }
    return -1;
  };
  EXPECT_EQ(gives_up_at(false, 60, 100), 20);
  EXPECT_EQ(gives_up_at(true, 60, 100), -1);
  EXPECT_EQ(gives_up_at(true, 200, 100), 90);  // it has cost what the next one promises
  EXPECT_EQ(gives_up_at(true, 200, std::numeric_limits<double>::infinity()), -1);
}

/// CG may cost twice as much as others.
TEST(Haste, IsMorePatientWithCg) {
  ASSERT_GT(promised(0.9, 23), 100 * std::pow(100 / 33., 2));
  ASSERT_LT(promised(0.9, 23), 2 * 100 * std::pow(100 / 33., 2));
  EXPECT_EQ(gives_up(0.9, 100), 23);
  EXPECT_EQ(gives_up(0.9, 100, 1e-8, true), -1);
}

/// A trial may be done before a set-up would, or in a quarter of it.
void begin_trial(Haste& haste, double setup) {
  haste.begin_trial(
      1, [setup](double, double spent) { return std::max(setup - spent, setup / 4); }, 1e12, 1e-8);
}
/// The iteration at which it gives up a trial; -1: never.
int gives_up_trial(double factor, double setup) {
  Haste haste;
  begin_trial(haste, setup);
  int asked = 0;
  for (int k = 0; k < 10000 && std::pow(factor, k) > 1e-8; k = haste.next_look(k), ++asked)
    if (haste.gives_up(k, std::pow(factor, k))) return k;
  EXPECT_LE(asked, 100);
  return -1;
}

TEST(Haste, EndsATrialThatWillCostMoreThanASetUp) {
  ASSERT_LT(promised(0.7, 20), 80 - 20);
  EXPECT_EQ(gives_up_trial(0.7, 80), -1);
  ASSERT_GT(promised(0.7, 20), 60 - 20);
  EXPECT_EQ(gives_up_trial(0.7, 60), 20);
  ASSERT_LT(promised(0.8, 20), 180 - 20);
  EXPECT_EQ(gives_up_trial(0.8, 180), -1);
  EXPECT_EQ(gives_up_trial(0.8, 150), 20);
  EXPECT_EQ(gives_up_trial(1.0, 1e9), 20) << "it does not come nearer at all";
  Haste haste;  // quick at first
  begin_trial(haste, 100);
  int left = -1;
  for (int k = 0; k < 1000 && left < 0; ++k)
    if (haste.gives_up(k, std::pow(0.7, std::min(k, 25)))) left = k;
  EXPECT_GT(left, 20);
  EXPECT_LT(left, 60);
}

TEST(Haste, AsksWhatIsAllowedForTheIterationsThatAreLeft) {
  Haste haste;
  std::vector<double> asked;
  haste.begin_trial(
      0.5,
      [&](double left, double spent) {
        asked = {left, spent};
        return 1e9;
      },
      300, 1e-8, 6);
  for (int k = 0; k < 6; ++k) EXPECT_FALSE(haste.gives_up(k, std::pow(10.0, -k)));
  EXPECT_TRUE(asked.empty());
  EXPECT_FALSE(haste.gives_up(6, 1e-6));  // a digit each
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_NEAR(asked[0], promised(0.1, 6), 1e-9);
  EXPECT_NEAR(asked[1], 3, 1e-9);
  // However slow it is, it is thought to take no more than so many.
  for (int k = 7; k < 20; ++k) haste.gives_up(k, 1e-6);
  EXPECT_EQ(asked[0], 300);
}

/// Looking less often leaves what is slow a twentieth later at most.
TEST(Haste, IsAskedAFewTimes) {
  for (double const factor : {0.9999, 1.0, 0.9, 0.98})
    for (double const next : {1.0, 100.0, 1000.0, 0.0}) {
      Haste haste;
      haste.begin(10, 1, next, 1e-8);
      int asked = 0, left = -1;
      for (int k = 0; k < 10000 && left < 0 && std::pow(factor, k) > 1e-8;) {
        ++asked;
        if (haste.gives_up(k, std::pow(factor, k))) left = k;
        EXPECT_GT(haste.next_look(k), k);
        k = haste.next_look(k);
      }
      int const wanted = gives_up(factor, next);
      SCOPED_TRACE(std::to_string(factor) + " " + std::to_string(next));
      EXPECT_EQ(left < 0, wanted < 0);
      EXPECT_GE(left, wanted);
      EXPECT_LE(left, 1.05 * wanted + 1);
      EXPECT_LE(asked, next == 0 ? 1 : 100);
    }
}

TEST(Watch, PausesUnlessAUserOrAClockIsToBeAsked) {
  using Solder::Compiled::Watch;
  Solder::AutoOptions options;
  auto const resumed = [&](Solder::Monitor const& user) {
    Watch watch(user, options);
    watch.begin_solve();
    watch.begin_attempt(0, 1, 500, true);
    Solder::Progress const progress{1, 1.0, 0.0};
    watch.listen(progress);
    return progress.resume;
  };
  EXPECT_EQ(resumed({}), 75);  // half of three tenths
  EXPECT_EQ(resumed([](Solder::Progress const&) {}), 0);
  options.time_limit = 10;
  EXPECT_EQ(resumed({}), 0);
}

/// What breaks down at the moment when it is to be given up is not tried again as something slow.
TEST(Watch, DoesNotCallSlowWhatHasEndedByItself) {
  Solder::Compiled::Watch watch({}, Solder::AutoOptions{});
  for (bool const is_stopped : {true, false}) {
    watch.begin_solve();
    watch.begin_attempt(0, 1, 10, true);
    for (int const iteration : {0, 100}) watch.listen({iteration, 1.0, 0.0});  // it does not fall
    ASSERT_TRUE(watch.is_given_up());
    watch.end_attempt(100, is_stopped);
    EXPECT_EQ(watch.is_given_up(), is_stopped);
    EXPECT_EQ(contains(watch.sentence("broke down"), "given up"), is_stopped);
    EXPECT_FALSE(watch.has_ended());
  }
}

/// Half of the iterations are for candidates that have not been tried.
TEST(Watch, LeavesHalfOfTheIterationsToOthersUnlessItIsTheLast) {
  for (bool const is_last : {true, false}) {
    Solder::Compiled::Watch watch({}, Solder::AutoOptions{});
    watch.begin_solve();
    watch.begin_attempt(0, 1, 1e9, true, 1, false, is_last);
    for (int const iteration : {0, 4999, 5001})
      watch.listen({iteration, std::pow(0.999, iteration), 0.0});
    EXPECT_EQ(watch.is_given_up(), !is_last);
  }
}

}  // namespace
