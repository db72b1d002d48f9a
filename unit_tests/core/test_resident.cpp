// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <solder/core/arena.hpp>
#include <solder/core/runners/engine.hpp>

#include "../kokkos_events.hpp"
#include "../support.hpp"

// The runner that keeps all its teams on the device for a whole solve, of one or of several
// right-hand sides: their barrier, and what happens where they do not meet.

namespace {

using namespace SolderTest;
using Solder::Arena;
using Solder::At;
using Solder::Control;
using Solder::Phase;
using Solder::Plan;
using Solder::program;
using Solder::Reason;
using Solder::Report;
using Solder::Rows;
using Solder::Runner;
using Solder::Sum;
using Solder::Sums;
using Solder::Impl::any_programs;
using Solder::Impl::is_host_space;
using Solder::Impl::Programs;

constexpr double modulus = 1009;

KOKKOS_FUNCTION double reduced(double value) {
  return value - modulus * Kokkos::floor(value / modulus);
}

/// Leaves the sum of x.
struct Add {
  static constexpr std::size_t sums = 1;
  Sum<1> left;
  bool operator==(Add const&) const = default;

  KOKKOS_FUNCTION void row(std::int32_t, double value, Sums<1>& mine) const { mine[0] += value; }
};

/// to_i = from_i+7 + (the sum of from), from whatever team has row i + 7.
struct Shift {
  struct Scalars {
    double total;
  };
  Sum<1> sum;
  double const* from;
  double* to;
  std::int32_t n;
  bool operator==(Shift const&) const = default;

  template <class F>
  KOKKOS_FUNCTION auto with_earlier(F const& f) const {
    return f(sum);
  }
  template <class Team>
  KOKKOS_FUNCTION bool scalars(Team const&, Sums<1> const& total, auto const&, At const&,
                               Control const&, Control&, Scalars& s) const {
    s.total = reduced(total[0]);
    return true;
  }
  KOKKOS_FUNCTION void row(std::int32_t i, double, Scalars const& s) const {
    to[i] = reduced(from[(i + 7) % n] + s.total);
  }
};

/// Brings what two steps have made back to x, and counts.
struct Count {
  double* x;
  std::int32_t most;
  bool operator==(Count const&) const = default;

  KOKKOS_FUNCTION void row(std::int32_t i, double value) const { x[i] = value; }
  template <class Team>
  KOKKOS_FUNCTION void end(Team const&, Sums<0> const&, Control const&, Control& next) const {
    ++next.iteration;
    next.measure(1);
    if (next.iteration == most) next.phase = Phase::check;
  }
};

/// Ends the solve after `most` iterations; only its first team knows.
template <class Source>
struct CheckResidual {
  static constexpr bool first_decides = true;
  static constexpr int threads = Solder::Impl::league_threads, most_sums = 2;
  char const* label = "SolderTest::check";
  Phase phase = Phase::check;
  Source source;
  std::int32_t most;
  bool operator==(CheckResidual const&) const = default;

  static constexpr int workspace() { return 0; }
  KOKKOS_FUNCTION int teams() const { return source.teams(); }
  template <class Team>
  KOKKOS_FUNCTION void run(Team const& team, At const&, Control const& now, Control& next) const {
    if (now.phase != phase || team.league_rank() != 0) return;
    if (now.iteration == 0) next.measure(1);
    next.phase = Phase::iterate;
    if (now.iteration >= most) next.finish(Reason::max_iterations);
  }
};

std::vector<double> oracle(std::vector<double> x, int iterations) {
  int const n = static_cast<int>(x.size());
  for (int k = 0; k < 2 * iterations; ++k) {
    double sum = 0;
    for (double const value : x) sum += value;
    auto next = x;
    for (int i = 0; i < n; ++i) next[i] = reduced(x[(i + 7) % n] + reduced(sum));
    x = next;
  }
  return x;
}

/// A solve of this method, and its data.
template <class Exec>
class Method {
 public:
  /// \param slices of the rows, on hosts; 0: one for each thread
  Method(Exec const& exec, int n, Plan const& plan, int slices = 0)
      : exec_(exec),
        n_(n),
        arena_(exec, is_host_space<Exec> ? 0 : plan.teams),
        engine_(exec, "SolderTest::solve", plan, {}, true),
        teams_(is_host_space<Exec> ? std::min(n, slices > 0 ? slices : exec.concurrency())
                                   : Solder::Impl::vector_teams(exec, n)) {
    std::vector<std::int32_t> bounds;
    for (int t = 0; t <= teams_; ++t)
      bounds.push_back(static_cast<std::int32_t>(std::int64_t(n) * t / teams_));
    bounds_ = to_device(exec, bounds);
    for (int k = 0; k < n; ++k) x0_.push_back((k * 37) % 1000);
    x_ = to_device(exec, x0_);
    y_ = to_device(exec, x0_);
    z_ = to_device(exec, x0_);
  }

  Report solve(int iterations, std::function<void(Solder::Progress const&)> monitor = {}) {
    arena_.rewind();
    Rows const rows{n_, teams_, is_host_space<Exec> ? bounds_.data() : nullptr};
    auto const range_of = [&](double const* from) { return arena_.placed_range(rows, from); };
    double const *const x = x_.data(), *const y = y_.data(), *const z = z_.data();
    auto const sum = arena_.template sum<1>(range_of(x).teams());
    auto const step = [&](double const* from, double* to) {
      return program(
          stage("SolderTest::add", Phase::iterate, range_of(from), Add{sum}),
          stage("SolderTest::shift", Phase::iterate, range_of(from), Shift{sum, from, to, n_}));
    };
    auto const residual_check =
        program(CheckResidual<decltype(range_of(x))>{.source = range_of(x), .most = iterations});
    auto const iteration = program(
        step(x, y_.data()), step(y, z_.data()),
        stage("SolderTest::count", Phase::iterate, range_of(z), Count{x_.data(), iterations}));
    Programs const programs{residual_check, iteration};
    auto const any = any_programs<Exec>(programs);
    engine_.reserve(any);
    Kokkos::deep_copy(exec_, x_, to_device(exec_, x0_));
    exec_.fence("SolderTest: ready");
    typename Solder::Impl::Engine<Exec>::Listener listener;
    if (monitor)
      listener = [&](Solder::Impl::Engine<Exec> const& engine) {
        monitor(engine.progress());
        return Solder::Impl::Heard{false, 0, 0};
      };
    engine_.begin();
    engine_.run(any, listener);
    return engine_.reports()[0];
  }

  bool is_right(int iterations) const { return to_host(exec_, x_) == oracle(x0_, iterations); }

 private:
  Exec exec_;
  int n_;
  Arena<Exec> arena_;
  Solder::Impl::Engine<Exec> engine_;
  int teams_;
  std::vector<double> x0_;
  Kokkos::View<double*, typename Exec::memory_space> x_, y_, z_;
  Kokkos::View<std::int32_t*, typename Exec::memory_space> bounds_;
};

template <class Exec>
Plan plan_of(Exec const& exec, Runner runner, std::int64_t n) {
  return Solder::plan_solve(Solder::machine_of(exec), {.rows = n, .nonzeros = n, .items = n}, {},
                            runner);
}
template <class Exec>
Plan resident_plan(Exec const& exec, std::int64_t n) {
  return plan_of(exec, Runner::resident, n);
}

/// More teams than the device, or the host, can hold at once.
template <class Exec>
Plan plan_that_cannot_meet(Exec const& exec) {
  if (is_host_space<Exec>) return {.runner = Runner::resident, .teams = exec.concurrency() + 1};
  return {.runner = Runner::resident,
          .teams = 40 * Solder::Impl::multiprocessors(exec),
          .threads = Solder::Impl::team_threads};
}

template <class Exec>
constexpr Runner fallback = is_host_space<Exec> ? Runner::launch : Runner::graph;

template <class Exec>
class Resident : public testing::Test {
 protected:
  Exec exec;
};
TYPED_TEST_SUITE(Resident, Spaces::Types, TypeName);

TYPED_TEST(Resident, TeamsSeeWhatOthersWroteBeforeABarrier) {
  for (int const n : {1, 8, 1000, 20011, 300007}) {
    Method<TypeParam> method(this->exec, n, resident_plan(this->exec, n));
    for (int const iterations : {0, 1, 2, n > 30000 ? 10 : 200}) {
      auto report = method.solve(iterations);
      // A host that others keep busy may rightly abandon: then once more.
      for (int k = 0; k < 5 && is_host_space<TypeParam> && report.runner != Runner::resident; ++k)
        report = method.solve(iterations);
      EXPECT_EQ(report.reason, Reason::max_iterations);
      EXPECT_EQ(report.iterations, iterations);
      EXPECT_EQ(report.runner, Runner::resident) << report.detail;
      EXPECT_EQ(report.detail, "");
      EXPECT_EQ(report.history.size(), std::size_t(iterations) + 1);
      EXPECT_TRUE(method.is_right(iterations)) << n << " rows, " << iterations << " iterations";
    }
  }
}

TYPED_TEST(Resident, TakesAnyNumberOfSlices) {
  int const n = 1000, threads = this->exec.concurrency();
  if (!is_host_space<TypeParam>) GTEST_SKIP() << "only hosts have slices";
  for (int const slices : {1, threads + 1, 2 * threads, 3 * threads + 1}) {
    Method<TypeParam> method(this->exec, n, resident_plan(this->exec, n), slices);
    auto const report = method.solve(30);
    EXPECT_EQ(report.runner, Runner::resident);
    EXPECT_EQ(report.history.size(), 31u);
    EXPECT_TRUE(method.is_right(30)) << slices << " slices";
  }
}

TYPED_TEST(Resident, IsOneKernelAndNothingElse) {
  int const n = 20011;
  Method<TypeParam> method(this->exec, n, resident_plan(this->exec, n));
  method.solve(1);
  for (int const iterations : {1, 1000}) {
    KokkosEvents const before;
    method.solve(iterations);
    auto const whole = [](auto const& kernel) { return kernel.label == "SolderTest::solve"; };
    EXPECT_EQ(std::count_if(before.kernels.begin(), before.kernels.end(), whole), 1);
    for (auto const& kernel : before.kernels)
      EXPECT_EQ(kernel.label.find("SolderTest::shift"), std::string::npos);
  }
}

TYPED_TEST(Resident, AMonitorHearsOfTheIterations) {
  int const n = 2000, iterations = 3000;
  Method<TypeParam> method(this->exec, n, resident_plan(this->exec, n));
  std::vector<int> heard;
  auto const report = method.solve(
      iterations, [&](Solder::Progress const& progress) { heard.push_back(progress.iteration); });
  EXPECT_EQ(report.runner, Runner::resident);
  EXPECT_GE(heard.size(), 10u);
  EXPECT_TRUE(std::is_sorted(heard.begin(), heard.end()));
  EXPECT_TRUE(method.is_right(iterations));
}

TYPED_TEST(Resident, AMonitorMayStopTheSolve) {
  int const n = 2000;
  Method<TypeParam> method(this->exec, n, resident_plan(this->exec, n));
  struct Enough {};
  EXPECT_THROW(method.solve(1'000'000'000, [](auto const&) { throw Enough(); }), Enough);
  method.solve(20);
  EXPECT_TRUE(method.is_right(20));
}

TYPED_TEST(Resident, TeamsThatDoNotMeetAbandonAndTheSolveEndsAllTheSame) {
  int const n = 20011;
  Method<TypeParam> method(this->exec, n, plan_that_cannot_meet(this->exec));
  for (int const iterations : {0, 1, 50, 20}) {
    auto const report = method.solve(iterations);
    EXPECT_EQ(report.runner, fallback<TypeParam>);
    EXPECT_NE(report.detail.find("resident"), std::string::npos) << report.detail;
    EXPECT_EQ(report.iterations, iterations);
    EXPECT_EQ(report.history.size(), std::size_t(iterations) + 1);
    EXPECT_TRUE(method.is_right(iterations)) << iterations << " iterations";
  }
}

/// Two leagues that each fit alone, from two threads: each might hold a part of the device.
TYPED_TEST(Resident, TwoSolvesAtOnceBothEnd) {
  if (is_host_space<TypeParam>) GTEST_SKIP() << "a host space has one instance";
  int const n = 40009, rounds = 500;
  auto const instances = Kokkos::Experimental::partition_space(this->exec, 1, 1);
  std::atomic<int> right = 0, resident = 0;
  auto const work = [&](TypeParam const& exec) {
    Method<TypeParam> method(exec, n, resident_plan(exec, n));
    for (int k = 0; k < rounds; ++k) {
      resident += method.solve(5 + k % 50).runner == Runner::resident;
      if (k % 25 == 0) right += method.is_right(5 + k % 50);
    }
  };
  std::thread other([&] { work(instances[1]); });
  work(instances[0]);
  other.join();
  EXPECT_EQ(right, 2 * rounds / 25);
  this->RecordProperty("resident", resident);
}

/// q_i = p_i+7 + (the sum of p).
template <class Vector>
struct ShiftToOwned {
  struct Scalars {
    double total;
  };
  Sum<1> sum;
  double const* p;
  Vector q;
  std::int32_t n;
  bool operator==(ShiftToOwned const&) const = default;

  template <class Home>
  KOKKOS_FUNCTION auto at_home(Home const& home) const {
    return ShiftToOwned<decltype(home(q))>{sum, p, home(q), n};
  }
  template <class F>
  KOKKOS_FUNCTION auto with_earlier(F const& f) const {
    return f(sum);
  }
  template <class Team>
  KOKKOS_FUNCTION bool scalars(Team const&, Sums<1> const& total, auto const&, At const&,
                               Control const&, Control&, Scalars& s) const {
    s.total = reduced(total[0]);
    return true;
  }
  KOKKOS_FUNCTION void row(auto const& i, double, Scalars const& s) const {
    q[i] = reduced(p[(i + 7) % n] + s.total);
  }
};

/// x = x + q, p = q; every third time the residual check is asked.
struct AddOwned {
  double* p;
  bool operator==(AddOwned const&) const = default;

  KOKKOS_FUNCTION void row(auto const& i, double& x, double q) const {
    x = reduced(x + q);
    p[i] = q;
  }
  template <class Team>
  KOKKOS_FUNCTION void end(Team const&, Sums<0> const&, Control const&, Control& next) const {
    ++next.iteration;
    next.measure(1);
    if (next.iteration % 3 == 0) next.phase = Phase::check;
  }
};

/// p_i = x_i+3: the residual check has x in memory, whoever owns it.
struct JudgeOwned {
  double const* x;
  double* p;
  std::int32_t n, most;
  bool operator==(JudgeOwned const&) const = default;

  KOKKOS_FUNCTION void row(std::int32_t i, double) const { p[i] = x[(i + 3) % n]; }
  template <class Team>
  KOKKOS_FUNCTION void end(Team const&, Sums<0> const&, Control const& now, Control& next) const {
    if (now.iteration == 0) next.measure(1);
    next.phase = Phase::iterate;
    if (now.iteration >= most) next.finish(Reason::max_iterations);
  }
};

/// The leagues that keep vectors on chip: their scratch has room for some rows or for all of them,
/// and they bring back what the residual check reads.
TYPED_TEST(Resident, OwnedVectorsAreBackInMemoryForTheJudge) {
  int const sms = Solder::Impl::multiprocessors(this->exec), iterations = 30;
  bool const on_chip = !is_host_space<TypeParam>;
  struct Case {
    int n, teams;
    bool meet;
  };
  for (auto const& [n, teams, meet] :
       {Case{1, 2, true}, Case{255, 2, true}, Case{1000, 3, true}, Case{20011, 5, true},
        Case{300007, 3 * sms, true}, Case{20011, 40 * sms, false}}) {
    Plan const plan = on_chip ? Plan{.runner = Runner::resident, .teams = teams, .on_chip = true}
                              : resident_plan(this->exec, n);
    int const slices = is_host_space<TypeParam> ? std::min(n, this->exec.concurrency()) : teams;
    std::vector<std::int32_t> bounds;
    for (int t = 0; t <= slices; ++t)
      bounds.push_back(static_cast<std::int32_t>(std::int64_t(n) * t / slices));
    auto const bounds_there = to_device(this->exec, bounds);
    Rows const rows{n, slices, is_host_space<TypeParam> ? bounds_there.data() : nullptr};
    std::vector<double> x0(n);
    for (int k = 0; k < n; ++k) x0[k] = (k * 37) % 1000;
    auto const x_there = to_device(this->exec, x0), p_there = to_device(this->exec, x0),
               q_there = to_device(this->exec, x0);

    Arena<TypeParam> arena(this->exec, is_host_space<TypeParam> ? 0 : teams);
    Solder::Impl::Engine<TypeParam> engine(this->exec, "SolderTest::owned", plan, {}, true);
    double* const p = p_there.data();
    auto const x = arena.own(x_there.data()), q = arena.own(q_there.data());
    auto const of_p = arena.placed_range(rows, p);
    auto const sum = arena.template sum<1>(of_p.teams());
    auto const residual_check = program(stage("SolderTest::check", Phase::check, of_p,
                                              JudgeOwned{x_there.data(), p, n, iterations}));
    auto const iteration =
        program(stage("SolderTest::add", Phase::iterate, of_p, Add{sum}),
                stage("SolderTest::shift", Phase::iterate, of_p, ShiftToOwned{sum, p, q, n}),
                stage("SolderTest::add_owned", Phase::iterate,
                      arena.template entries<double>(rows, x, Solder::as_read(q)), AddOwned{p}));
    Programs const programs{residual_check, iteration};
    auto const any = any_programs<TypeParam, Solder::Impl::Compiled{.owns = true}>(programs);
    engine.reserve(any);
    Report report;
    for (int k = 0; k < 5 && report.runner != Runner::resident; ++k) {
      Kokkos::deep_copy(this->exec, x_there, to_device(this->exec, x0));
      engine.begin();
      engine.run(any, {}, false, arena.owned(), n);
      report = engine.reports()[0];
      if (!meet || !is_host_space<TypeParam>) break;  // a busy host may rightly abandon
    }
    EXPECT_EQ(report.runner, meet || is_host_space<TypeParam> ? Runner::resident : Runner::graph);
    EXPECT_EQ(report.iterations, iterations);

    std::vector<double> x_right = x0, p_right(n), q_right(n);
    for (int k = 0; k < iterations; ++k) {
      if (k % 3 == 0)
        for (int i = 0; i < n; ++i) p_right[i] = x_right[(i + 3) % n];
      double total = 0;
      for (double const value : p_right) total += value;
      for (int i = 0; i < n; ++i) q_right[i] = reduced(p_right[(i + 7) % n] + reduced(total));
      for (int i = 0; i < n; ++i) x_right[i] = reduced(x_right[i] + q_right[i]);
      p_right = q_right;
    }
    EXPECT_EQ(to_host(this->exec, x_there), x_right) << n << " rows, " << teams << " teams";
  }
}

struct Busy {
  std::int64_t turns;
  double* sink;
  KOKKOS_FUNCTION void operator()(int i) const {
    double value = i;
    for (std::int64_t k = 0; k < turns; ++k) value = Kokkos::sin(value) + 1;
    if (value > 5) *sink = value;
  }
};

/// x grows by the sum of ones: how many entries the column has.
struct Grow {
  struct Scalars {
    double total;
  };
  Sum<1> sum;
  double* x;
  bool operator==(Grow const&) const = default;

  template <class F>
  KOKKOS_FUNCTION auto with_earlier(F const& f) const {
    return f(sum);
  }
  template <class Team>
  KOKKOS_FUNCTION bool scalars(Team const&, Sums<1> const& total, auto const&, At const&,
                               Control const&, Control&, Scalars& s) const {
    s.total = total[0];
    return true;
  }
  KOKKOS_FUNCTION void row(std::int32_t i, double value, Scalars const& s) const {
    x[i] = value + s.total;
  }
  template <class Team>
  KOKKOS_FUNCTION void end(Team const&, Sums<0> const&, Control const&, Control& next) const {
    ++next.iteration;
    next.measure(1);
    next.phase = Phase::check;
  }
};

/// Ends the solve of column c after `most` - c iterations.
struct JudgeColumns {
  std::int32_t most;
  bool operator==(JudgeColumns const&) const = default;

  KOKKOS_FUNCTION void row(std::int32_t, double) const {}
  template <class Team>
  KOKKOS_FUNCTION void end(Team const& team, Sums<0> const&, Control const& now,
                           Control& next) const {
    if (now.iteration == 0) next.measure(1);
    next.phase = Phase::iterate;
    if (now.iteration >= most - team.column()) next.finish(Reason::max_iterations);
  }
};

template <class Exec>
void expect_columns(Exec const& exec, int league, int n, int most, bool meet) {
  int const columns = 4;
  Arena<Exec> arena(exec, 0, columns, league);
  Solder::Impl::Engine<Exec> engine(exec, "SolderTest::columns", {.runner = Runner::resident}, {},
                                    true, {columns, n, league});
  std::vector<double> const zero(std::size_t(n) * columns), one(zero.size(), 1);
  auto const x = to_device(exec, zero), ones = to_device(exec, one);
  auto const range_of = [&](double const* from) {
    return arena.placed_range(Rows{n, league, nullptr}, from);
  };
  auto const sum = arena.template sum<1>(league);
  auto const residual_check =
      program(stage("SolderTest::check", Phase::check, range_of(ones.data()), JudgeColumns{most}));
  auto const iteration =
      program(stage("SolderTest::add", Phase::iterate, range_of(ones.data()), Add{sum}),
              stage("SolderTest::grow", Phase::iterate, range_of(x.data()), Grow{sum, x.data()}));
  Programs const programs{residual_check, iteration};
  auto const any =
      any_programs<Exec, Solder::Impl::Compiled{Solder::Impl::Serving::columns}>(programs);
  engine.reserve(any);
  for (int turn = 0; turn < 2; ++turn) {
    Kokkos::deep_copy(exec, x, 0.0);
    KokkosEvents events;
    engine.begin();
    engine.run(any);
    auto const reports = engine.reports();
    events.stop();
    auto const whole = [](auto const& kernel) { return kernel.label == "SolderTest::columns"; };
    // A letter has a thousand iterations.
    EXPECT_EQ(std::count_if(events.kernels.begin(), events.kernels.end(), whole),
              meet ? 1 + (most - 1) / 1000 : 1);
    auto const result = to_host(exec, x);
    for (int c = 0; c < columns; ++c) {
      Report const& report = reports[c];
      EXPECT_EQ(report.runner, meet ? Runner::resident : Runner::graph);
      EXPECT_EQ(report.detail.find("resident") == std::string::npos, meet) << report.detail;
      EXPECT_EQ(report.reason, Reason::max_iterations);
      EXPECT_EQ(report.iterations, most - c);
      EXPECT_EQ(report.history, std::vector<double>(most - c + 1, 1)) << n;
      int wrong = 0;
      for (int i = 0; i < n; ++i) wrong += result[i * columns + c] != double(n) * (most - c);
      EXPECT_EQ(wrong, 0) << "column " << c << " of " << n << " rows";
    }
  }
}

TYPED_TEST(Resident, ColumnsEndAtTimesOfTheirOwnInOneKernel) {
  if constexpr (is_host_space<TypeParam>) {
    GTEST_SKIP() << "hosts launch several columns' stages";
  } else {
    int const most = Solder::Impl::multiprocessors(this->exec);
    for (int const n : {1, 1000, 100003}) expect_columns(this->exec, most, n, 20, true);
    expect_columns(this->exec, most, 500, 2500, true);
  }
}

TYPED_TEST(Resident, ColumnsWhoseTeamsDoNotMeetAreLeftToTheGraph) {
  if constexpr (is_host_space<TypeParam>) {
    GTEST_SKIP() << "hosts launch several columns' stages";
  } else {
    int const too_many = 40 * Solder::Impl::multiprocessors(this->exec);
    for (int const n : {1000, 1000003}) expect_columns(this->exec, too_many, n, 20, false);
  }
}

/// Somebody else's kernel fills the device for longer than the teams wait: for some 100 ms.
TYPED_TEST(Resident, AKernelOfSomebodyElseDoesNotHoldItUpForEver) {
  if (is_host_space<TypeParam>) GTEST_SKIP() << "a host space has one instance";
  int const n = 40009;
  auto const instances = Kokkos::Experimental::partition_space(this->exec, 1, 1);
  Method<TypeParam> method(instances[0], n, resident_plan(this->exec, n));
  method.solve(1);
  Kokkos::View<double, typename TypeParam::memory_space> const sink("SolderTest::sink");
  for (int k = 0; k < 5; ++k) {
    Kokkos::parallel_for("SolderTest::busy",
                         Kokkos::RangePolicy<TypeParam>(instances[1], 0, 2'000'000),
                         Busy{300, sink.data()});
    method.solve(30);
    EXPECT_TRUE(method.is_right(30));
  }
}

TEST(ResidentPlan, TheLeagueFitsTheDevice) {
  using Exec = Kokkos::DefaultExecutionSpace;
  Exec const exec;
  int const most = Solder::Impl::multiprocessors(exec);
  for (std::int64_t const n : {1, 300, 5000, 100000, 100000000}) {
    auto const plan = resident_plan(exec, n);
    EXPECT_LE(plan.teams, most);
    EXPECT_GE(plan.teams, is_host_space<Exec> ? 1 : 2);
    EXPECT_EQ(plan_of(exec, Runner::team, n).teams, 1);
    EXPECT_EQ(plan_of(exec, Runner::graph, n).teams, 0);
    EXPECT_EQ(plan_of(exec, Runner::launch, n).teams, 0);
  }
}

}  // namespace
