// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <solder/core/runners/gate.hpp>
#include <solder/preconditioners/detail/triangular/rows.hpp>

// How threads of a host wait for each other. A core that a waiting thread takes is one that others
// want, and perhaps the one that is waited for: so it must take little of it. All of this is
// threads and atomics, without OpenMP: it can be run under a thread sanitizer, too
// (docs/reliability.md).

namespace {

using namespace std::chrono_literals;
using Solder::At;
using Solder::Impl::Gate;
using Solder::Impl::HostTeam;
using Solder::Impl::load_acquire;
using Solder::Impl::Residence;
using Solder::Impl::store_release;
using Solder::Impl::Waiting;

/// Seconds of a core that the calling thread has had.
double core_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Word>
constexpr bool is_loaded = requires(Word* place) {
  Solder::Impl::load_relaxed(place);
};
template <class Word>
constexpr bool is_stored = requires(Word* place) {
  Solder::Impl::store_relaxed(place, *place);
};
template <class Word>
constexpr bool is_word = is_loaded<Word>&& is_stored<Word>;

/// What a device has no instruction for does not compile, where it once did nothing.
TEST(Waiting, OnlyWordsAreLoadedAndStoredAtOnce) {
  static_assert(is_word<float> && is_word<double> && is_word<std::int32_t>);
  static_assert(!is_loaded<std::int64_t> && !is_stored<std::int64_t>);
  static_assert(!is_loaded<std::uint32_t> && !is_stored<std::uint32_t>);
  static_assert(!is_loaded<char> && !is_stored<char>);
}

constexpr auto delay = 120ms;
/// Of the delay: an eighth of a core.
constexpr double little = 0.015;

/// The core seconds that f takes in another thread, while this one does g.
template <class F, class G>
double core_seconds_beside(F const& f, G const& g) {
  double taken = 0;
  std::thread other([&] {
    double const before = core_seconds();
    f();
    taken = core_seconds() - before;
  });
  g();
  other.join();
  return taken;
}

TEST(Waiting, TakesLittleOfACore) {
  std::int32_t word = 0;
  double const taken = core_seconds_beside(
      [&] {
        for (Waiting<true> waiting; load_acquire(&word) == 0; waiting.turn()) {
        }
      },
      [&] {
        std::this_thread::sleep_for(delay);
        store_release(&word, 1);
      });
  EXPECT_LT(taken, little);
}

TEST(Waiting, IsTooLongAfterAFifthOfASecond) {
  Waiting<true> waiting;
  EXPECT_FALSE(waiting.is_too_long());
  auto const begin = std::chrono::steady_clock::now();
  while (!waiting.is_too_long() && std::chrono::steady_clock::now() - begin < 10s) waiting.turn();
  auto const taken = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(taken, 200ms);
  EXPECT_LT(taken, 10s);
}

/// Every second barrier one of two teams comes late; in between they only meet.
TEST(Waiting, ABarrierTakesLittleOfACore) {
  Gate gate{};
  auto const meet = [&](int rank, auto const& before) {
    HostTeam const team{rank, 2};
    Residence<HostTeam> residence(team, &gate);
    EXPECT_TRUE(residence.join());
    for (int k = 0; k < 4; ++k) {
      if (k % 2 == 0) before();
      residence.wait();
    }
    residence.leave();
  };
  double const taken = core_seconds_beside(
      [&] { meet(1, [] {}); }, [&] { meet(0, [] { std::this_thread::sleep_for(delay); }); });
  EXPECT_LT(taken, 2 * little);
  EXPECT_EQ(gate.passed.sleepers, 0);
}

/// What is written before a barrier is read after it, whoever comes last and however long others
/// have slept.
TEST(Waiting, BarriersHoldForSleepersToo) {
  constexpr int teams = 4, rounds = 600;
  Gate gate{};
  std::vector<int> written(teams, 0);
  std::atomic<int> wrong = 0;
  auto const work = [&](int rank) {
    HostTeam const team{rank, teams};
    Residence<HostTeam> residence(team, &gate);
    if (!residence.join()) ++wrong;
    for (int k = 1; k <= rounds; ++k) {
      written[rank] = k;
      if (k % 200 == rank) std::this_thread::sleep_for(2ms);
      residence.wait();
      for (int const of_team : written) wrong += of_team != k;
      residence.wait();
    }
    residence.leave();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < teams; ++rank) threads.emplace_back(work, rank);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(gate.arrived, 0);
  EXPECT_EQ(gate.state, Gate::joining) << "ready for another kernel";
}

/// Rows of ones on and below the diagonal, in two strands of `tasks` tasks, a row each. Every task
/// waits for the other strand's before it.
struct Ladder {
  int tasks;
  std::vector<std::int32_t> rows, begin, first, needs_begin, offsets, columns;
  std::vector<Solder::Impl::triangular::StrandNeed> needs;
  std::vector<double> values, right, x;
  std::vector<std::int32_t> counters;

  explicit Ladder(int tasks_)
      : tasks(tasks_),
        begin{0},
        first{0, tasks, 2 * tasks},
        needs_begin{0},
        offsets{0},
        right(2 * tasks, 1.0),
        x(2 * tasks, 0.0),
        counters(2 * Solder::Impl::triangular::StrandsOfHost::counters, 0) {
    for (int strand = 0; strand < 2; ++strand)
      for (int k = 0; k < tasks; ++k) {
        int const row = 2 * k + strand;
        rows.push_back(row);
        begin.push_back(static_cast<std::int32_t>(rows.size()));
        int const needed = strand == 0 ? k : k + 1;
        if (needed > 0) needs.push_back({1 - strand, needed});
        needs_begin.push_back(static_cast<std::int32_t>(needs.size()));
        if (row > 0) {
          columns.push_back(row - 1);
          values.push_back(1);
        }
        offsets.push_back(static_cast<std::int32_t>(columns.size()));
      }
  }

  auto source() {
    using namespace Solder::Impl::triangular;
    TriangularOperator<double> T{};
    T.rows = rows.data();
    T.offsets = offsets.data();
    T.columns = columns.data();
    T.values = values.data();
    T.strands = {2, first.data(), begin.data(), needs_begin.data(), needs.data()};
    return TriangularRows<double, double const*>{T, 2, 0, right.data(), x.data(), counters.data()};
  }
};

TEST(Waiting, AStrandTakesLittleOfACore) {
  Ladder ladder(4);
  auto const source = ladder.source();
  std::atomic<bool> begun = false;
  auto const ready = [] { return true; };
  // The first row of all is held up: there is nothing that the other thread could do.
  double const taken = core_seconds_beside(
      [&] {
        while (!begun) std::this_thread::sleep_for(1ms);
        source.for_each_row(HostTeam{1, 2}, At{}, ready, [](std::int32_t, double) {});
      },
      [&] {
        source.for_each_row(HostTeam{0, 2}, At{}, ready, [&](std::int32_t i, double) {
          if (i == 0) {
            begun = true;
            std::this_thread::sleep_for(delay);
          }
        });
      });
  EXPECT_LT(taken, little);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(ladder.x[i], i % 2 == 0 ? 1 : 0) << i;
}

TEST(Waiting, StrandsSeeWhatOthersHaveSolved) {
  int const tasks = 2000;
  for (int const threads : {1, 2, 3}) {
    Ladder ladder(tasks);
    auto const source = ladder.source();
    auto const work = [&](int rank) {
      source.for_each_row(
          HostTeam{rank, threads}, At{}, [] { return true; }, [](std::int32_t, double) {});
    };
    std::vector<std::thread> others;
    for (int rank = 1; rank < threads; ++rank) others.emplace_back(work, rank);
    work(0);
    for (std::thread& other : others) other.join();
    int wrong = 0;
    for (int i = 0; i < 2 * tasks; ++i) wrong += ladder.x[i] != (i % 2 == 0 ? 1 : 0);
    EXPECT_EQ(wrong, 0) << threads << " threads";
  }
}

}  // namespace
