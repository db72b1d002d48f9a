// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who runs a solve, on machines that need not be there. The limits are those of the tables in
// docs/performance/, as numbers.
#include "../support.hpp"

#include <solder/core/plan.hpp>

namespace {

using namespace SolderTest;
using Solder::ColumnGroup;
using Solder::Machine;
using Solder::Plan;
using Solder::plan_columns;
using Solder::plan_groups;
using Solder::plan_solve;
using Solder::Runner;
using Solder::Shape;
using Solder::Traits;

constexpr Machine hopper{
    .is_host = false, .multiprocessors = 132, .resident_teams = 396, .is_measured = true},
    another_gpu{.is_host = false, .multiprocessors = 108, .resident_teams = 324},
    two_cores{.multiprocessors = 2, .cores = 2}, one_thread{.multiprocessors = 1, .cores = 2},
    four_threads_on_two_cores{.multiprocessors = 4, .cores = 2},
    sixteen_cores{.multiprocessors = 16, .cores = 16};

/// Finite elements of side^2 unknowns, seven entries a row, two lanes a row.
Shape fem(std::int64_t side, bool holds = true) {
  std::int64_t const n = side * side;
  return {.rows = n,
          .nonzeros = 7 * n,
          .items = 2 * n,
          .threads_to_hold = holds ? 2 * n : 0,
          .words = 11.0 * double(n)};
}
constexpr Traits cg{.owns = true, .merges = true, .together = true, .concurrent = true},
    gmres{.has_cycles = true}, on_the_host{.on_device = false};

Runner chosen(Machine const& machine, Shape const& shape, Traits const& traits) {
  Plan const plan = plan_solve(machine, shape, traits, Runner::automatic);
  EXPECT_FALSE(plan.because.empty());
  return plan.runner;
}

TEST(Plan, OnHopperSmallSystemsAreOneTeamsAndLargeOnesAGraphs) {
  EXPECT_EQ(chosen(hopper, fem(15), cg), Runner::team);
  EXPECT_EQ(chosen(hopper, fem(63), cg), Runner::resident);
  EXPECT_EQ(chosen(hopper, fem(511), cg), Runner::resident);
  EXPECT_EQ(chosen(hopper, fem(1023), cg), Runner::resident);  // 11.5 million, on chip
  EXPECT_EQ(chosen(hopper, fem(2047), cg), Runner::graph);     // 46 million
  EXPECT_EQ(chosen(hopper, fem(1023), gmres), Runner::resident);
  EXPECT_EQ(chosen(hopper, fem(2047), gmres), Runner::graph);
  Traits apart = gmres;
  apart.pointwise = false;
  EXPECT_EQ(chosen(hopper, fem(1023), apart), Runner::graph);  // 11.5 million: more than 6
  EXPECT_EQ(chosen(hopper, fem(60, false), {}), Runner::resident);
  EXPECT_EQ(chosen(hopper, fem(38, false), {}), Runner::team);  // 15,884
  EXPECT_EQ(chosen(hopper, fem(39, false), {}), Runner::resident);
}

TEST(Plan, AGpuThatWasNotMeasuredGetsNoBarrierOfAllTeams) {
  for (std::int64_t const side : {63, 511, 1023})
    EXPECT_EQ(chosen(another_gpu, fem(side), cg), Runner::graph);
  EXPECT_EQ(chosen(another_gpu, fem(15), cg), Runner::team);
  Plan const asked = plan_solve(another_gpu, fem(63), cg, Runner::resident);
  EXPECT_EQ(asked.runner, Runner::resident);
  EXPECT_GE(asked.teams, 2);
  EXPECT_FALSE(asked.on_chip);
}

TEST(Plan, HostsMeetWhereEachThreadHasACore) {
  EXPECT_EQ(chosen(two_cores, fem(20), {}), Runner::team);       // 4,400
  EXPECT_EQ(chosen(two_cores, fem(63), {}), Runner::resident);   // 43,659
  EXPECT_EQ(chosen(two_cores, fem(301), {}), Runner::resident);  // 996,611
  EXPECT_EQ(chosen(two_cores, fem(302), {}), Runner::launch);    // 1,003,244
  EXPECT_EQ(chosen(two_cores, fem(511), {}), Runner::launch);    // 2.9 million
  for (Traits const& traits : {cg, gmres}) {
    EXPECT_EQ(chosen(sixteen_cores, fem(723), traits), Runner::resident);  // 5.7 million
    EXPECT_EQ(chosen(sixteen_cores, fem(1023), traits), Runner::launch);   // 11.5 million
  }
  EXPECT_EQ(chosen(one_thread, fem(63), {}), Runner::launch);
  EXPECT_EQ(chosen(four_threads_on_two_cores, fem(63), {}), Runner::launch);
  EXPECT_EQ(plan_solve(two_cores, fem(63), {}, Runner::resident).teams, 2);
}

TEST(Plan, WhatTheHostHasAPartInIsLaunched) {
  EXPECT_EQ(chosen(hopper, fem(15), on_the_host), Runner::launch);
  EXPECT_EQ(chosen(two_cores, fem(15), on_the_host), Runner::launch);
}

TEST(Plan, AFormWithoutAKernelOfTheWholeSolveIsAGraph) {
  Traits const classical{.kernels = Solder::no_whole_kernels, .together = true, .concurrent = true};
  for (Runner const wanted : {Runner::automatic, Runner::team, Runner::resident}) {
    Plan const plan = plan_solve(hopper, fem(15), classical, wanted);
    EXPECT_EQ(plan.runner, Runner::graph);
    EXPECT_EQ(plan.teams, 0);
    EXPECT_NE(plan.because.find(wanted == Runner::automatic ? "" : "no such kernel"),
              std::string::npos);
  }
  for (Runner const wanted : {Runner::launch, Runner::graph})
    EXPECT_EQ(plan_solve(hopper, fem(15), classical, wanted).runner, wanted);

  Traits const waiting{.kernels = {.of_league = false}, .pointwise = false};
  EXPECT_EQ(chosen(hopper, fem(15), waiting), Runner::team);
  EXPECT_EQ(chosen(hopper, fem(63), waiting), Runner::graph);
  EXPECT_EQ(plan_solve(hopper, fem(15), waiting, Runner::resident).runner, Runner::graph);
}

TEST(Plan, WhatWasAskedForIsDone) {
  for (Runner const runner : every_runner) {
    Plan const plan = plan_solve(hopper, fem(511), cg, runner);
    EXPECT_EQ(plan.runner, runner);
    EXPECT_EQ(plan.because, "it was asked for");
    EXPECT_EQ(plan.teams > 0, is_whole(runner));
  }
}

TEST(Plan, StagesAreMergedWhereEachThreadHoldsARow) {
  EXPECT_TRUE(plan_solve(hopper, fem(15), cg, Runner::automatic).merges_stages);
  EXPECT_TRUE(plan_solve(hopper, fem(180), cg, Runner::automatic).merges_stages);   // 64,800
  EXPECT_FALSE(plan_solve(hopper, fem(190), cg, Runner::automatic).merges_stages);  // 72,200
  EXPECT_FALSE(plan_solve(hopper, fem(180, false), cg, Runner::automatic).merges_stages);
  EXPECT_FALSE(plan_solve(hopper, fem(180), cg, Runner::graph).merges_stages);
  // A quarter of the multiprocessors holds a quarter of the rows.
  EXPECT_FALSE(plan_solve(hopper, fem(180), cg, Runner::resident, 4).merges_stages);
  EXPECT_TRUE(plan_solve(hopper, fem(90), cg, Runner::resident, 4).merges_stages);
}

TEST(Plan, VectorsStayOnChipWhereL2IsTooSmall) {
  EXPECT_FALSE(plan_solve(hopper, fem(400), cg, Runner::automatic).on_chip);  // 320,000 items
  Plan const plan = plan_solve(hopper, fem(1000), cg, Runner::automatic);
  EXPECT_TRUE(plan.on_chip);
  EXPECT_EQ(plan.teams, 396);
  EXPECT_FALSE(plan_solve(hopper, fem(1000), cg, Runner::resident, 2).on_chip);
}

TEST(Plan, TheLeagueFitsTheDevice) {
  for (std::int64_t const side : {1, 20, 60, 200, 3000}) {
    Plan const plan = plan_solve(hopper, fem(side), gmres, Runner::resident);
    EXPECT_GE(plan.teams, 2);
    EXPECT_LE(plan.teams, 132);
    EXPECT_LE(plan.threads, 512);
    EXPECT_EQ(plan_solve(hopper, fem(side), gmres, Runner::team).teams, 1);
  }
}

std::vector<std::int32_t> widths(std::vector<ColumnGroup> const& groups) {
  std::vector<std::int32_t> widths;
  std::int32_t first = 0;
  for (ColumnGroup const& group : groups) {
    EXPECT_EQ(group.first, first);
    EXPECT_GE(group.stride, group.width);
    first += group.width;
    widths.push_back(group.width);
  }
  return widths;
}
using Widths = std::vector<std::int32_t>;

TEST(PlanOfColumns, SmallSystemsOfAGpuAreSolvedSideBySide) {
  auto const groups = plan_groups(hopper, fem(63), cg, Runner::automatic, 8);
  EXPECT_EQ(widths(groups), (Widths{8}));
  EXPECT_TRUE(groups[0].concurrent);
  EXPECT_FALSE(plan_groups(hopper, fem(63), cg, Runner::graph, 8)[0].concurrent);
  EXPECT_FALSE(plan_groups(another_gpu, fem(63), cg, Runner::automatic, 8)[0].concurrent);
  EXPECT_FALSE(
      plan_groups(two_cores, fem(63), {.together = true}, Runner::automatic, 8)[0].concurrent);
}

TEST(PlanOfColumns, WhatTakesNoColumnsIsSolvedSideBySideAsFarAsThatKeepsAGpuBusy) {
  Traits const alone{.concurrent = true};
  EXPECT_EQ(widths(plan_groups(hopper, fem(1000), alone, Runner::automatic, 5)),
            (Widths{2, 2, 1}));  // two million entries at a time
  EXPECT_EQ(widths(plan_groups(hopper, fem(100), alone, Runner::automatic, 40)), (Widths{20, 20}));
  EXPECT_EQ(widths(plan_groups(two_cores, fem(10), {}, Runner::automatic, 3)), (Widths{1, 1, 1}));
}

TEST(PlanOfColumns, LargeSystemsOfAGpuGoInPacks) {
  EXPECT_EQ(widths(plan_groups(hopper, fem(1000), cg, Runner::automatic, 9)), (Widths{8, 1}));
  auto const three = plan_groups(hopper, fem(1000), cg, Runner::automatic, 3);
  EXPECT_EQ(widths(three), (Widths{3}));
  EXPECT_EQ(three[0].stride, 4);
  EXPECT_EQ(widths(plan_groups(hopper, fem(1000), cg, Runner::automatic, 1)), (Widths{1}));
}

TEST(PlanOfColumns, HostsTakeEqualGroups) {
  Traits const together{.together = true};
  EXPECT_EQ(widths(plan_groups(two_cores, fem(100), together, Runner::automatic, 33)),
            (Widths{16, 17}));
  EXPECT_EQ(widths(plan_groups(two_cores, fem(100), together, Runner::automatic, 0)), Widths{});
  Traits block = together;
  block.is_block = true;
  EXPECT_EQ(plan_groups(two_cores, fem(100), block, Runner::automatic, 1)[0].stride, 2);
  EXPECT_EQ(plan_groups(hopper, fem(100), block, Runner::automatic, 3)[0].stride, 4);
}

TEST(PlanOfColumns, OneKernelBeatsAGraphUpToTheLimit) {
  auto const runner = [](std::int64_t entries, bool carried) {
    return plan_columns(hopper, entries, Runner::automatic, true, carried).runner;
  };
  EXPECT_EQ(runner(1'200'000, true), Runner::resident);
  EXPECT_EQ(runner(1'200'001, true), Runner::graph);
  EXPECT_EQ(runner(400'000, false), Runner::resident);
  EXPECT_EQ(runner(400'001, false), Runner::graph);
  EXPECT_EQ(plan_columns(hopper, 10, Runner::automatic, false, true).runner, Runner::graph);
  EXPECT_EQ(plan_columns(another_gpu, 10, Runner::automatic, true, true).runner, Runner::graph);
  EXPECT_EQ(plan_columns(another_gpu, 10, Runner::resident, true, true).runner, Runner::resident);
  EXPECT_EQ(plan_columns(two_cores, 10, Runner::automatic, true, true).runner, Runner::launch);
}

}  // namespace
