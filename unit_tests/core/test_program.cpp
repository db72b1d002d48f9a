// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs of stages: how they are joined, repeated and run, and the arena that their memory is
// of.
#include "../support.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <solder/core/application.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/apply.hpp>
#include <solder/solvers/cg.hpp>

namespace {

using namespace SolderTest;
using Solder::AfterFirst;
using Solder::Arena;
using Solder::At;
using Solder::Control;
using Solder::HostStage;
using Solder::Phase;
using Solder::Place;
using Solder::program;
using Solder::Reason;
using Solder::Repeat;
using Solder::Rows;
using Solder::Runner;
using Solder::stage;
using Solder::store;
using Solder::Sums;
using Exec = Kokkos::DefaultExecutionSpace;
using Engine = Solder::Impl::Engine<Exec>;
using Names = std::vector<std::string>;

// ---- The order of stages ----

/// What a program takes for a stage, as long as nobody runs it.
struct Named {
  char const* name;
  bool operator==(Named const&) const = default;
};

/// The stages in their order, each with the turn of it, in step `step`.
template <class Program>
Names order(Program const& all, int step = 0) {
  Names names;
  all.for_each_stage(At{step, 0}, [&](Named const& one, At const& at) {
    EXPECT_EQ(at.step, step);
    names.push_back(one.name + std::to_string(at.turn));
  });
  return names;
}

Named const a{"a"}, b{"b"}, c{"c"}, d{"d"};

TEST(Program, JoinsStagesAndProgramsInTheirOrder) {
  EXPECT_EQ(order(program()), Names{});
  EXPECT_EQ(order(program(a)), Names{"a0"});
  EXPECT_EQ(order(program(a, b, a)), (Names{"a0", "b0", "a0"}));
  EXPECT_EQ(order(program(program(a, program(b)), program(), c, program(d, a))),
            (Names{"a0", "b0", "c0", "d0", "a0"}));
}

TEST(Program, IsFlatHoweverItWasJoined) {
  auto const flat = program(a, b, c, d);
  EXPECT_TRUE(
      (std::is_same_v<decltype(flat), decltype(program(program(a, b), c, program(d))) const>));
  EXPECT_TRUE((std::is_same_v<decltype(flat), Solder::Program<Named, Named, Named, Named> const>));
}

TEST(Program, ComparesItsStages) {
  EXPECT_EQ(program(a, b), program(program(a), b));
  EXPECT_FALSE(program(a, b) == program(a, c));
  EXPECT_FALSE((Repeat{program(a), 2} == Repeat{program(a), 3}));
  EXPECT_FALSE((AfterFirst{program(a)} == AfterFirst{program(b)}));
}

TEST(Program, RepeatCountsItsTurns) {
  auto const three = program(a, Repeat{program(b, c), 3}, d);
  EXPECT_EQ(order(three), (Names{"a0", "b0", "c0", "b1", "c1", "b2", "c2", "d0"}));
  EXPECT_EQ(order(three, 5), order(three));
  EXPECT_EQ(order(program(Repeat{program(a), 0}, b)), Names{"b0"});
}

TEST(Program, RepeatTakesATurnMoreForEachStep) {
  auto const growing = program(Repeat{program(a), 1, 2}, b);
  EXPECT_EQ(order(growing, 0), (Names{"a0", "b0"}));
  EXPECT_EQ(order(growing, 1), (Names{"a0", "a1", "a2", "b0"}));
  EXPECT_EQ(order(growing, 2).size(), 6u);
}

TEST(Program, TurnsAreThoseOfTheInnermostRepeat) {
  auto const inner = program(Repeat{program(b), 2});
  EXPECT_EQ(order(program(Repeat{program(a, inner, c), 2})),
            (Names{"a0", "b0", "b1", "c0", "a1", "b0", "b1", "c1"}));
}

TEST(Program, AfterFirstIsLeftOutInStepZero) {
  auto const all = program(a, AfterFirst{program(b, Repeat{program(c), 2})}, d);
  EXPECT_EQ(order(all, 0), (Names{"a0", "d0"}));
  EXPECT_EQ(order(all, 1), (Names{"a0", "b0", "c0", "c1", "d0"}));
}

TEST(Program, KnowsWhetherTheHostHasAPartInIt) {
  HostStage const host{Phase::iterate, [](At const&) {}};
  EXPECT_TRUE(decltype(program())::on_device);
  EXPECT_TRUE(decltype(program(a, Repeat{program(b), 2}))::on_device);
  EXPECT_FALSE(decltype(program(a, host, b))::on_device);
  EXPECT_FALSE(decltype(program(a, Repeat{program(b, host), 2}))::on_device);
  EXPECT_FALSE(decltype(program(AfterFirst{program(host)}, a))::on_device);
}

TEST(Place, IsAColumnOfABasisOrOneOfTwoArraysByTurns) {
  std::vector<double> memory(64);
  Place<double> const column(memory.data(), 8, 0), double_buffered(memory.data(), 0, 5);
  for (int step : {0, 1, 3})
    for (int turn : {0, 1, 2, 7}) {
      EXPECT_EQ(column.at({step, turn}) - memory.data(), 8 * step);
      EXPECT_EQ(double_buffered.at({step, turn}) - memory.data(), turn % 2 == 0 ? 0 : 5);
    }
  EXPECT_EQ(as_read(column).at({2, 0}), memory.data() + 16);
}

// ---- The arena ----

TEST(Arena, AnswersTheSameRequestsWithTheSameMemory) {
  Arena<Exec> arena(Exec(), false);
  auto const requests = [&] {
    return std::vector<void*>{arena.array<double>("SolderTest::a", 100),
                              arena.sum<3>(7).values,
                              arena.double_buffered_sum<2>(5).values,
                              arena.array<float>("SolderTest::b", 3),
                              arena.kept<Kokkos::complex<double>>().value,
                              arena.doubles(20000),
                              arena.sum<1>(1).values,
                              arena.array<double>("SolderTest::c", 0)};
  };
  auto const first = requests();
  for (int k = 0; k < 3; ++k) {
    arena.rewind();
    EXPECT_EQ(requests(), first);
  }
}

TEST(Arena, WhatItHandsOutIsApart) {
  Arena<Exec> arena(Exec(), false);
  struct Part {
    double *begin, *end;
  };
  std::vector<Part> parts;
  auto const take = [&](double* values, std::size_t count) {
    parts.push_back({values, values + count});
  };
  for (int k = 1; k < 400; ++k) {
    take(arena.sum<3>(k).values, 3 * k);
    take(arena.double_buffered_sum<2>(k).values, 4 * k);
    take(arena.kept<Kokkos::complex<float>>().value, 2);
    take(arena.array<double>("SolderTest::array", k), k);
  }
  take(arena.doubles(100'000), 100'000);  // larger than what such requests share
  take(arena.doubles(1), 1);
  std::sort(parts.begin(), parts.end(),
            [](Part const& p, Part const& q) { return p.begin < q.begin; });
  for (std::size_t k = 1; k < parts.size(); ++k) ASSERT_LE(parts[k - 1].end, parts[k].begin);
}

TEST(Arena, OnlyARequestThatHasGrownMoves) {
  Arena<Exec> arena(Exec(), false);
  auto const request = [&](int size) {
    return std::vector<double*>{arena.array<double>("SolderTest::a", 10),
                                arena.array<double>("SolderTest::b", size),
                                arena.array<double>("SolderTest::c", 10)};
  };
  auto const small = request(10);
  arena.rewind();
  auto const large = request(1000);
  EXPECT_EQ(large[0], small[0]);
  EXPECT_NE(large[1], small[1]);
  EXPECT_EQ(large[2], small[2]);
  arena.rewind();
  EXPECT_EQ(request(10), large) << "what has grown stays as it is";
  Exec const exec;
  exec.fence("SolderTest: the array is zero");
  EXPECT_EQ(to_host(exec, Kokkos::View<double*, Exec>(large[1], 1000)), std::vector<double>(1000));
}

TEST(Arena, AWholeSolveHasOneLeague) {
  EXPECT_EQ(Arena<Exec>(Exec(), 1).teams(17), 1);
  EXPECT_EQ(Arena<Exec>(Exec(), 20).teams(17), 20);
  EXPECT_EQ(Arena<Exec>(Exec(), 0).teams(17), 17);
}

// ---- Runs ----

/// Rows of one team; enough for what is not about leagues.
Rows rows_of_one_team(int count) { return {count, 1, nullptr}; }

Engine engine_of(Solder::Plan const& plan, int restart = 0, bool on_device = true) {
  return Engine(Exec(), "SolderTest::solve", plan, {restart}, on_device);
}

/// One column.
template <class ResidualCheck, class Iteration>
Solder::Report solve(Engine& engine, ResidualCheck const& residual_check,
                     Iteration const& iteration) {
  Solder::Impl::Programs<ResidualCheck, Iteration> const programs{residual_check, iteration};
  auto const any = Solder::Impl::any_programs<Exec>(programs);
  engine.reserve(any);
  engine.begin();
  engine.run(any);
  return engine.reports()[0];
}

/// x = 2 x + turn, from where the turn before left it to the other array.
struct DoubleAndAddTurn {
  struct Scalars {
    double* to;
    double turn;
  };
  Place<double> x;
  bool operator==(DoubleAndAddTurn const&) const = default;

  template <class Team>
  KOKKOS_FUNCTION bool scalars(Team const&, auto const&, auto const&, At const& at, Control const&,
                               Control&, Scalars& s) const {
    s = {x.at({at.step, at.turn + 1}), double(at.turn)};
    return true;
  }
  KOKKOS_FUNCTION void row(std::int32_t i, double value, Scalars const& s) const {
    s.to[i] = 2 * value + s.turn;
  }
};

TEST(Engine, RunsAProgramOnce) {
  Exec const exec;
  int const n = 1000;
  for (int const turns : {0, 1, 4, 7}) {
    auto const x0 = random_vector<double>(n, 81);
    auto twice = x0;
    twice.resize(2 * n);
    auto const x = to_device(exec, twice);
    Place<double> const double_buffered(x.data(), 0, n);
    Arena<Exec> arena(exec, 1);
    auto const turn =
        program(stage("SolderTest::turn", Phase::check,
                      arena.placed_range(rows_of_one_team(n), as_read(double_buffered)),
                      DoubleAndAddTurn{double_buffered}));
    auto const kept = to_device(exec, std::vector<double>(n, 7.0));
    double const* const newest = x.data() + turns % 2 * n;
    auto engine = engine_of({});
    engine.run_once(
        program(Repeat{turn, turns},
                stage("SolderTest::keep", Phase::check,
                      arena.placed_range(rows_of_one_team(n), newest), store(kept.data())),
                stage("SolderTest::not_now", Phase::iterate,
                      arena.placed_range(rows_of_one_team(n), newest), store(x.data()))));
    auto expected = x0;
    for (int k = 0; k < turns; ++k)
      for (double& value : expected) value = 2 * value + k;
    EXPECT_EQ(to_host(exec, kept), expected) << turns << " turns";
  }
}

/// Ends the solve after `most` iterations; begins a cycle before.
struct JudgeByCount {
  struct Scalars {};
  int most;
  bool operator==(JudgeByCount const&) const = default;

  template <class Team>
  KOKKOS_FUNCTION bool scalars(Team const&, auto const&, auto const&, At const&, Control const& now,
                               Control& next, Scalars&) const {
    if (now.iteration == 0) next.measure(1);
    next.phase = Phase::iterate;
    next.step = 0;
    if (now.iteration >= most) next.finish(Reason::max_iterations);
    return false;
  }
  KOKKOS_FUNCTION void row(std::int32_t, double, Scalars const&) const {}
};

/// x = 3 x + a number that tells the step, the turn and the stage.
struct Mix {
  struct Scalars {
    double number;
  };
  int name;
  double* x;
  bool operator==(Mix const&) const = default;

  KOKKOS_FUNCTION static double after(double x, int name, int step, int turn) {
    double const mixed = 3 * x + name + 10 * step + 100 * turn;
    return mixed - 1e6 * Kokkos::floor(mixed / 1e6);
  }
  template <class Team>
  KOKKOS_FUNCTION bool scalars(Team const&, auto const&, auto const&, At const& at, Control const&,
                               Control&, Scalars& s) const {
    s.number = after(0, name, at.step, at.turn);
    return true;
  }
  KOKKOS_FUNCTION void row(std::int32_t i, double value, Scalars const& s) const {
    x[i] = after(value, 0, 0, 0) + s.number;
    x[i] -= 1e6 * Kokkos::floor(x[i] / 1e6);
  }
};

/// Mix, and counts the step; the residual check comes at the end of a cycle and of the solve.
struct MixAndCount : Mix {
  int restart, most;
  bool operator==(MixAndCount const&) const = default;

  template <class Team>
  KOKKOS_FUNCTION void end(Team const&, Sums<0> const&, Control const&, Control& next) const {
    ++next.step;
    ++next.iteration;
    next.measure(1);
    if (next.step == restart || next.iteration == most) next.phase = Phase::check;
  }
};

/// What a solve of this method leaves in x, in plain loops.
double mixed(double x, int restart, int most) {
  for (int iteration = 0; iteration < most; ++iteration) {
    int const step = restart == 0 ? 0 : iteration % restart;
    for (int turn = 0; turn < 1 + step; ++turn) x = Mix::after(x, 1, step, turn);
    if (step > 0) x = Mix::after(x, 2, step, 0);
    x = Mix::after(x, 3, step, 0);
  }
  return x;
}

TEST(Engine, AllRunnersRunTheStagesOfACycleInTheirOrder) {
  Exec const exec;
  int const n = 300;
  for (Runner const runner : every_runner)
    for (int const restart : {1, 3, 8})
      for (int const most : {0, 1, 3, 7, 24, 50}) {
        SCOPED_TRACE(std::string(to_string(runner)) + ", " + std::to_string(restart) + ", " +
                     std::to_string(most));
        auto const x = to_device(exec, std::vector<double>(n, 5.0));
        auto const plan = Solder::plan_solve(Solder::machine_of(exec),
                                             {.rows = n, .nonzeros = n, .items = n}, {}, runner);
        Arena<Exec> arena(exec, Solder::Impl::is_host_space<Exec> ? 1 : plan.teams);
        auto const range =
            arena.placed_range(rows_of_one_team(n), static_cast<double const*>(x.data()));
        auto const mix = [&](auto const& body) {
          return stage("SolderTest::mix", Phase::iterate, range, body);
        };
        auto const residual_check =
            program(stage("SolderTest::check", Phase::check, range, JudgeByCount{most}));
        auto const iteration = program(Repeat{program(mix(Mix{1, x.data()})), 1, 1},
                                       AfterFirst{program(mix(Mix{2, x.data()}))},
                                       mix(MixAndCount{{3, x.data()}, restart, most}));
        auto engine = engine_of(plan, restart);
        auto const report = solve(engine, residual_check, iteration);
        EXPECT_EQ(report.reason, Reason::max_iterations);
        EXPECT_EQ(report.iterations, most);
        EXPECT_EQ(report.history.size(), std::size_t(most) + 1);
        EXPECT_EQ(report.runner, runner);
        EXPECT_EQ(to_host(exec, x), std::vector<double>(n, mixed(5, restart, most)));
      }
}

TEST(Engine, TheHostsPartComesInItsTurnAndOnlyInItsPhase) {
  Exec const exec;
  int const n = 10, most = 5;
  bool const host = Solder::Impl::is_host_space<Exec>;
  auto const x = to_device(exec, std::vector<double>(n, 5.0));
  Arena<Exec> arena(exec, 1);
  auto const range = arena.placed_range(rows_of_one_team(n), static_cast<double const*>(x.data()));
  std::vector<double> seen;
  int judged = 0, corrected = 0;
  HostStage const work{Phase::iterate,
                       [&](At const&at) {
                         EXPECT_EQ(at.step, 0);
                         seen.push_back(to_host(exec, x)[n - 1]);
                       }},
      while_judging{Phase::check, [&](At const&) { ++judged; }},
      never{Phase::correct, [&](At const&) { ++corrected; }};
  auto const residual_check =
      program(while_judging, stage("SolderTest::check", Phase::check, range, JudgeByCount{most}));
  auto const iteration =
      program(stage("SolderTest::mix", Phase::iterate, range, Mix{1, x.data()}), work, never,
              stage("SolderTest::mix", Phase::iterate, range, MixAndCount{{3, x.data()}, 0, most}));
  auto engine = engine_of({}, 0, false);
  auto const report = solve(engine, residual_check, iteration);
  EXPECT_EQ(report.iterations, most);
  EXPECT_EQ(report.kernels_per_iteration, 2);
  EXPECT_EQ(to_host(exec, x)[0], mixed(5, 0, most));
  std::vector<double> expected;
  for (int k = 0; k < most; ++k) expected.push_back(Mix::after(mixed(5, 0, k), 1, 0, 0));
  if (host) {
    EXPECT_EQ(judged, 2);
    EXPECT_EQ(corrected, 0);
  } else {
    ASSERT_GE(seen.size(), expected.size());
    seen.resize(expected.size());  // a batch was sent ahead
  }
  EXPECT_EQ(seen, expected);
}

TEST(Engine, OnlyTheLaunchRunnerTakesTheHostsPart) {
  EXPECT_NO_THROW(engine_of({.runner = Runner::launch}, 0, false));
  for (Runner const runner : {Runner::graph, Runner::team, Runner::resident}) {
    EXPECT_NO_THROW(engine_of({.runner = runner}, 0, true));
    EXPECT_THROW(engine_of({.runner = runner}, 0, false), std::invalid_argument);
  }
}

TEST(Engine, SolversWithAPreconditionerOfTheHostsChooseTheLaunchRunner) {
  Exec const exec;
  auto const host = diagonal<double>({1, 2, 3});
  Solder::CsrMatrix<double, Exec> const A(exec, host);
  using Apply = Solder::Apply<double, Exec>;
  auto const M =
      Apply::on_host(3, [](auto r, auto z) { std::copy(r.begin(), r.end(), z.begin()); });
  using Cg = Solder::Cg<Exec, Solder::CsrMatrix<double, Exec>, Apply>;
  Solder::CgOptions options;
  for (Runner const runner : {Runner::graph, Runner::team, Runner::resident}) {
    options.runner = runner;
    try {
      Cg(exec, A, M, options);
      ADD_FAILURE() << to_string(runner) << " was accepted";
    } catch (std::invalid_argument const& error) {
      EXPECT_NE(
          std::string(error.what()).find("must be launch, not " + std::string(to_string(runner))),
          std::string::npos)
          << error.what();
    }
  }
  for (Runner const runner : {Runner::automatic, Runner::launch}) {
    options.runner = runner;
    auto const b = to_device(exec, std::vector<double>{1, 1, 1}),
               x = to_device(exec, std::vector<double>(3));
    auto const report = Cg(exec, A, M, options).solve(b, x);
    EXPECT_EQ(report.reason, Reason::converged);
    EXPECT_EQ(report.runner, Runner::launch);
  }
}

}  // namespace
