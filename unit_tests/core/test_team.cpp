// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../support.hpp"

#include <array>

// On GPUs a team has many threads and every sum here crosses lanes and warps; on hosts a team is
// one thread, and what is tested is that the leagues' partial sums come together.
namespace {

using namespace SolderTest;
using Solder::Rows;
using Solder::Sum;
using Solder::Sums;

/// The three numbers that thread `rank` of team `league_rank` brings to a sum: integers, so that
/// sums are exact.
KOKKOS_FUNCTION Sums<3> share_of(int league_rank, int rank, int round) {
  return {{double(rank + 1), double(league_rank * 1000 + round),
           double((rank * 7 + round * 3) % 11) - 5}};
}

/// Sums of a team, several times in a row, as every thread sees them; and as the first thread does.
/// They are of different sizes in turn: the slots of one sum must not overlap those of the next.
struct SumBody {
  static constexpr int rounds = 5;
  double* seen;        // [team][thread][round][4]
  double* seen_first;  // [team][round][3]
  int threads;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team) const {
    for (int round = 0; round < rounds; ++round) {
      Sums<3> const mine = share_of(team.league_rank(), team.rank(), round);
      Sums<3> const all = team.sum(mine);
      Sums<1> const one = team.sum(Sums<1>{{mine[0]}});
      Sums<3> const first = team.sum_for_first(mine);
      double* const here =
          seen + ((team.league_rank() * threads + team.rank()) * rounds + round) * 4;
      for (int v = 0; v < 3; ++v) {
        here[v] = all[v];
        if (team.rank() == 0) seen_first[(team.league_rank() * rounds + round) * 3 + v] = first[v];
      }
      here[3] = one[0];
    }
  }
};

template <class Exec, int Threads>
void expect_team_sums(Exec const& exec, int teams) {
  constexpr int rounds = SumBody::rounds;
  int const threads = Solder::Impl::is_host_space<Exec> ? 1 : Threads;
  auto const seen = to_device(exec, std::vector<double>(std::size_t(teams) * threads * rounds * 4));
  auto const seen_first = to_device(exec, std::vector<double>(std::size_t(teams) * rounds * 3));
  run_league<Threads>(exec, teams, 3, SumBody{seen.data(), seen_first.data(), threads});
  auto const all = to_host(exec, seen), first = to_host(exec, seen_first);
  for (int team = 0; team < teams; ++team) {
    for (int round = 0; round < rounds; ++round) {
      std::array<double, 4> expected{};
      for (int thread = 0; thread < threads; ++thread) {
        expected[0] += thread + 1;
        expected[1] += team * 1000 + round;
        expected[2] += (thread * 7 + round * 3) % 11 - 5;
      }
      expected[3] = expected[0];
      for (int v = 0; v < 3; ++v)
        ASSERT_EQ(first[(team * rounds + round) * 3 + v], expected[v])
            << "team " << team << " round " << round;
      for (int thread = 0; thread < threads; ++thread)
        for (int v = 0; v < 4; ++v)
          ASSERT_EQ(all[((team * threads + thread) * rounds + round) * 4 + v], expected[v])
              << "team " << team << " thread " << thread << " round " << round << " value " << v;
    }
  }
}

/// Every thread brings a part of two values; the teams leave their sums for later stages.
struct LeaveBody {
  Sum<2> partials;
  double scale;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team) const {
    double const who = team.league_rank() * team.size() + team.rank() + 1;
    partials.leave(team, Sums<2>{{scale * who, -scale}});
  }
};

/// Every thread of every team takes the totals of two sets of partial sums, of different numbers of
/// teams.
struct TotalBody {
  Sum<2> left;
  Sum<1> right;
  double* totals;  // [team][thread][3]
  int threads;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team) const {
    std::int32_t const most = left.parts > right.parts ? left.parts : right.parts;
    Sums<3> const share = team.gather(most, left, right);
    Sums<3> const total = team.total(share, most);
    for (int v = 0; v < 3; ++v)
      totals[(team.league_rank() * threads + team.rank()) * 3 + v] = total[v];
  }
};

template <class Exec, int Threads>
void expect_totals(Exec const& exec, int teams, int right_teams, int readers) {
  SCOPED_TRACE(std::to_string(teams) + " and " + std::to_string(right_teams) + " teams of " +
               std::to_string(Threads) + " threads, read by " + std::to_string(readers));
  int const threads = Solder::Impl::is_host_space<Exec> ? 1 : Threads;
  auto const partials = to_device(exec, std::vector<double>(2 * teams, 1e9));
  std::vector<double> right_host(right_teams);
  double right_sum = 0;
  for (int t = 0; t < right_teams; ++t) right_sum += right_host[t] = t * t - 40;
  auto const right = to_device(exec, right_host);
  auto const totals = to_device(exec, std::vector<double>(std::size_t(readers) * threads * 3));

  run_league<Threads>(exec, teams, 2, LeaveBody{{partials.data(), teams}, 3});
  run_league<Threads>(
      exec, readers, 3,
      TotalBody{{partials.data(), teams}, {right.data(), right_teams}, totals.data(), threads});

  double const all_threads = double(teams) * threads;
  double const expected[] = {3 * all_threads * (all_threads + 1) / 2, -3 * all_threads, right_sum};
  auto const got = to_host(exec, totals);
  for (std::size_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], expected[k % 3]) << "at " << k;
}

/// Partial sums of numbers that do not add up exactly, in a fixed order.
struct RoundedBody {
  Sum<2> from;
  double* totals;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team) const {
    Sums<2> const total = team.total(team.gather(from.parts, from), from.parts);
    if (team.rank() == 0)
      for (int v = 0; v < 2; ++v) totals[team.league_rank() * 2 + v] = total[v];
  }
};

/// Which rows a team meets, each by one thread, with a load ahead.
struct RowsBody {
  Rows rows;
  int* met;
  int* prepared;
  bool answer;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team) const {
    bool const went_on = team.for_each_row(
        rows, [&](std::int32_t i) { return 2 * i; }, [&] { return answer; },
        [&](std::int32_t i, std::int32_t loaded) {
          Kokkos::atomic_add(&met[i], loaded == 2 * i ? 1 : 1000000);
        });
    if (went_on == answer) Kokkos::atomic_add(prepared, 1);
    if (answer) team.for_each_row(rows, [&](std::int32_t i) { Kokkos::atomic_add(&met[i], 100); });
  }
};

template <class Exec>
struct Team : testing::Test {};
TYPED_TEST_SUITE(Team, Spaces::Types, TypeName);

TYPED_TEST(Team, SumsOfALeaguesTeams) {
  for (int const teams : {1, 2, 5, 64})
    expect_team_sums<TypeParam, Solder::Impl::league_threads>(TypeParam(), teams);
}

TYPED_TEST(Team, SumsOfTheTeamRunnersTeam) {
  expect_team_sums<TypeParam, Solder::Impl::team_threads>(TypeParam(), 1);
}

TYPED_TEST(Team, TotalsOfPartialSums) {
  constexpr int threads = Solder::Impl::league_threads;
  for (int const teams : {1, 2, 3, 31, 32, 33, 63, 64, 65, 132, 396, 1000}) {
    expect_totals<TypeParam, threads>(TypeParam(), teams, teams, 3);
    expect_totals<TypeParam, threads>(TypeParam(), teams, 1, 2);
    expect_totals<TypeParam, threads>(TypeParam(), 1, teams, 2);
    expect_totals<TypeParam, threads>(TypeParam(), teams, 40, teams);
  }
}

TYPED_TEST(Team, TotalsInTheTeamRunnersTeam) {
  expect_totals<TypeParam, Solder::Impl::team_threads>(TypeParam(), 1, 1, 1);
}

TYPED_TEST(Team, TotalsAreTheSameInEveryTeamAndEveryRun) {
  TypeParam const exec;
  for (int const teams : {1, 2, 32, 64, 65, 396}) {
    constexpr int readers = 7;
    auto const values = to_device(exec, random_vector<double>(2 * teams, 5));
    std::vector<double> first;
    for (int repeat = 0; repeat < 3; ++repeat) {
      auto const totals = to_device(exec, std::vector<double>(2 * readers));
      run_league(exec, readers, 2, RoundedBody{{values.data(), teams}, totals.data()});
      auto const got = to_host(exec, totals);
      for (int k = 0; k < 2 * readers; ++k) ASSERT_EQ(got[k], got[k % 2]) << teams << " teams";
      if (repeat == 0) first = got;
      ASSERT_EQ(got, first) << teams << " teams";
    }
    auto const host = to_host(exec, values);
    for (int v = 0; v < 2; ++v) {
      double sum = 0;
      for (int t = 0; t < teams; ++t) sum += host[v * teams + t];
      EXPECT_NEAR(first[v], sum, 1e-13 * teams);
    }
  }
}

TYPED_TEST(Team, EveryRowIsMetOnce) {
  TypeParam const exec;
  for (int const teams : {1, 2, 7}) {
    for (int const n : {0, 1, 5, 255, 256, 257, 4000}) {
      // Uneven slices; GPUs deal rows by themselves.
      std::vector<std::int32_t> slices{0};
      for (int t = 1; t <= teams; ++t)
        slices.push_back(t == teams ? n : std::min(n, n * t * t / (teams * teams)));
      auto const bounds = to_device(exec, slices);
      auto const met = to_device(exec, std::vector<int>(n)),
                 prepared = to_device(exec, std::vector<int>(1));
      for (bool const answer : {false, true}) {
        run_league(exec, teams, 1,
                   RowsBody{{n, static_cast<std::int32_t>(slices.size()) - 1, bounds.data()},
                            met.data(),
                            prepared.data(),
                            answer});
        for (int const count : to_host(exec, met))
          ASSERT_EQ(count, answer ? 101 : 0) << n << " rows, " << teams;
      }
      int const threads = Solder::Impl::is_host_space<TypeParam> ? 1 : Solder::Impl::league_threads;
      EXPECT_EQ(to_host(exec, prepared)[0], 2 * teams * threads);
    }
  }
}

TYPED_TEST(Team, TeamsOfALeague) {
  TypeParam const exec;
  EXPECT_EQ(Solder::Impl::vector_teams(exec, 0), 1);
  EXPECT_EQ(Solder::Impl::vector_teams(exec, 1), 1);
  int const many = Solder::Impl::vector_teams(exec, std::int64_t(1) << 40);
  EXPECT_GE(many, 1);
  if (Solder::Impl::is_host_space<TypeParam>) {
    EXPECT_EQ(many, exec.concurrency());
  }
}

}  // namespace
