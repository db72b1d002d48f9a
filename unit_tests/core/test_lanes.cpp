// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../support.hpp"

#include <algorithm>
#include <numeric>

#include <solder/core/lanes.hpp>

namespace {

using namespace SolderTest;
using namespace Solder::Impl;

std::vector<std::uint64_t> random_keys(std::size_t count) {
  std::mt19937_64 generator(count);
  std::vector<std::uint64_t> keys(count);
  for (auto& key : keys) key = generator();
  return keys;
}

std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> keys) {
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// The first team sorts counts[0] keys, and so on; the keys lie one after another.
template <class Exec, bool whole_team>
struct SortBody {
  std::uint64_t* keys;
  std::int32_t const *begins, *counts;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    std::uint64_t* const mine = keys + begins[member.league_rank()];
    std::int32_t const count = counts[member.league_rank()];
    if constexpr (whole_team)
      sort_keys(TeamLanes<Exec, Member>(member, nullptr), mine, count);
    else if (member.team_rank() == 0)
      sort_keys(WarpLanes<Exec>(), mine, count);
  }
};

struct SortByWarpBody {
  std::uint64_t* keys;
  std::int32_t count;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    if (member.team_rank() == 0) sort_by_warp(keys, keys, count);
  }
};

/// Every thread takes a place if its number is in the set; places are noted by number.
template <class Exec, bool whole_team>
struct PlacesBody {
  std::int32_t *places, *taken;
  std::int32_t numbers;

  KOKKOS_FUNCTION static bool wanted(std::int32_t number) { return number % 3 != 1; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const counter = static_cast<std::int32_t*>(member.team_scratch(0).get_shmem(8));
    if constexpr (whole_team) {
      TeamLanes<Exec, Member> lanes(member, counter);
      work(lanes);
    } else if (member.team_rank() == 0) {
      WarpLanes<Exec> lanes;
      work(lanes);
    }
  }

  template <class Lanes>
  KOKKOS_FUNCTION void work(Lanes& lanes) const {
    lanes.start(5);
    for (std::int32_t base = 0; base < numbers; base += lanes.size()) {
      std::int32_t const number = base + lanes.rank();
      bool const mine = number < numbers && wanted(number);
      std::int32_t const place = lanes.take_place(mine, lane_votes(mine));
      if (mine) places[number] = place;
    }
    std::int32_t const count = lanes.taken();
    if (lanes.rank() == lanes.size() - 1) *taken = count;
  }
};

template <class Exec>
struct Lanes : testing::Test {
  template <bool whole_team>
  static void sorts() {
    Exec const exec;
    std::vector<std::int32_t> counts(200), begins{0};
    std::iota(counts.begin(), counts.end(), 0);
    for (int const more : {255, 256, 257, 1023, 1025, 5000}) counts.push_back(more);
    for (auto const count : counts) begins.push_back(begins.back() + count);
    auto expected = random_keys(begins.back());
    auto const keys = to_device(exec, expected);
    for (std::size_t t = 0; t < counts.size(); ++t)
      std::sort(expected.begin() + begins[t], expected.begin() + begins[t + 1]);
    auto const device_begins = to_device(exec, begins), device_counts = to_device(exec, counts);
    Kokkos::parallel_for(
        "SolderTest::sort",
        row_policy<Exec, warps_of_rows>(exec, static_cast<std::int32_t>(counts.size()), 0),
        SortBody<Exec, whole_team>{keys.data(), device_begins.data(), device_counts.data()});
    EXPECT_EQ(to_host(exec, keys), expected);
  }

  template <bool whole_team>
  static void gives_places() {
    Exec const exec;
    std::int32_t const numbers = 1000;
    auto const places = to_device(exec, std::vector<std::int32_t>(numbers, -1)),
               taken = to_device(exec, std::vector<std::int32_t>(1));
    Kokkos::parallel_for("SolderTest::places", row_policy<Exec, warps_of_rows>(exec, 1, 8),
                         PlacesBody<Exec, whole_team>{places.data(), taken.data(), numbers});
    std::vector<std::int32_t> given, expected;
    auto const found = to_host(exec, places);
    for (std::int32_t number = 0; number < numbers; ++number) {
      if (number % 3 == 1)
        EXPECT_EQ(found[number], -1) << number;
      else
        given.push_back(found[number]);
    }
    expected.resize(given.size());
    std::iota(expected.begin(), expected.end(), 5);
    if (whole_team) std::sort(given.begin(), given.end());
    EXPECT_EQ(given, expected);
    EXPECT_EQ(std::size_t(to_host(exec, taken)[0]), expected.size() + 5);
  }
};
TYPED_TEST_SUITE(Lanes, Spaces::Types, TypeName);

TYPED_TEST(Lanes, OfAWarpSort) { TestFixture::template sorts<false>(); }
TYPED_TEST(Lanes, OfATeamSort) { TestFixture::template sorts<true>(); }
TYPED_TEST(Lanes, OfAWarpTakePlacesInOrder) { TestFixture::template gives_places<false>(); }
TYPED_TEST(Lanes, OfATeamTakePlaces) { TestFixture::template gives_places<true>(); }

TYPED_TEST(Lanes, OfAWarpSortInRegisters) {
  if constexpr (!is_host_space<TypeParam>) {
    TypeParam const exec;
    for (std::int32_t count = 0; count <= most_warp_keys; ++count) {
      auto const host = random_keys(count + 1);  // the last one is to stay
      auto expected = host;
      std::sort(expected.begin(), expected.end() - 1);
      auto const keys = to_device(exec, host);
      Kokkos::parallel_for("SolderTest::sort_by_warp",
                           row_policy<TypeParam, warps_of_rows>(exec, 1, 0),
                           SortByWarpBody{keys.data(), count});
      EXPECT_EQ(to_host(exec, keys), expected) << count;
    }
  }
}

TYPED_TEST(Lanes, AllOfTheDeviceSort) {
  TypeParam const exec;
  for (int const count : {0, 1, 2, 3, 5, 31, 64, 100, 1000, 1024, 70001}) {
    auto const host = random_keys(count);
    auto const keys = to_device(exec, host);
    sort_many_keys(exec, "SolderTest::sort_many", keys.data(), count);
    EXPECT_EQ(to_host(exec, keys), sorted(host)) << count;
  }
}

}  // namespace
