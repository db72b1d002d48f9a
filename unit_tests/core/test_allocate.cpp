// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <solder/core/allocate.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <solder/core/scalar.hpp>

#include "../kokkos_events.hpp"

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Pool = Solder::Impl::PooledAllocations<Exec>;
template <class T>
using Array = Solder::Impl::DeviceArray<T, Exec>;

int allocations = 0;

/// Allocations of Kokkos that f makes.
template <class F>
int allocations_of(F const& f) {
  namespace Tools = Kokkos::Tools::Experimental;
  allocations = 0;
  Tools::set_allocate_data_callback(
      [](Kokkos_Profiling_SpaceHandle, char const*, void const*, std::uint64_t) { ++allocations; });
  f();
  Tools::set_allocate_data_callback(nullptr);
  return allocations;
}

template <class T>
void fill(Exec const& exec, std::vector<Array<T>> const& arrays) {
  for (std::size_t k = 0; k < arrays.size(); ++k) Kokkos::deep_copy(exec, arrays[k], T(double(k)));
}
template <class T>
void expect_filled(std::vector<Array<T>> const& arrays) {
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), arrays[k]);
    for (std::size_t i = 0; i < host.extent(0); ++i)
      ASSERT_EQ(host(i), T(double(k))) << "entry " << i << " of array " << k;
  }
}

TEST(Allocate, SmallArraysAreApartInFewAllocations) {
  Exec const exec;
  std::vector<Array<double>> doubles;
  std::vector<Array<std::int32_t>> integers;
  std::vector<Array<Kokkos::complex<double>>> complexes;
  int const count = allocations_of([&] {
    Pool const pool;
    for (int k = 0; k < 300; ++k) {
      doubles.push_back(Solder::Impl::allocate<double>(exec, "a", 37 * k));
      integers.push_back(Solder::Impl::allocate<std::int32_t>(exec, "b", 1000 - k));
      complexes.push_back(Solder::Impl::allocate<Kokkos::complex<double>>(exec, "c", 1 + k % 5));
    }
  });
  // 13 MB of doubles, 1 MB of integers, and hardly any of the others
  int const of_doubles = 2;  // of 8 MB
  EXPECT_GE(count, of_doubles + 2);
  EXPECT_LE(count, of_doubles + 3);
  for (auto const& array : doubles)
    EXPECT_EQ((std::uintptr_t(array.data()) - std::uintptr_t(doubles[0].data())) % 64, 0u);
  fill(exec, doubles);
  fill(exec, integers);
  fill(exec, complexes);
  exec.fence();
  expect_filled(doubles);
  expect_filled(integers);
  expect_filled(complexes);
}

TEST(Allocate, PartsOutliveThePool) {
  Exec const exec;
  std::vector<Array<double>> kept;
  {
    Pool const pool;
    for (int k = 0; k < 3; ++k) kept.push_back(Solder::Impl::allocate<double>(exec, "a", 100));
    EXPECT_EQ(kept[0].use_count(), kept[2].use_count());
  }
  EXPECT_EQ(kept[0].use_count(), 3);
  fill(exec, kept);
  exec.fence();
  expect_filled(kept);
}

TEST(Allocate, LargeArraysAreTheirOwn) {
  Exec const exec;
  for (std::size_t const bytes : {0, 20'000'000, 2'000'000'000}) {
    Pool const pool(bytes);
    EXPECT_EQ(pool.most(), bytes == 0 ? 2u << 20 : bytes == 20'000'000 ? 5'000'000 : 8u << 20);
    auto const most = static_cast<std::int64_t>(pool.most() / sizeof(double));
    EXPECT_EQ(Solder::Impl::allocate<double>(exec, "a", most + 1).use_count(), 1);
    EXPECT_EQ(Solder::Impl::allocate<double>(exec, "a", most).use_count(), 2);
  }
}

TEST(Allocate, PoolsAreNestedAndOfOneThread) {
  Exec const exec;
  auto const made = [&] { return Solder::Impl::allocate<double>(exec, "a", 10).use_count(); };
  EXPECT_EQ(made(), 1);
  {
    Pool const outer;
    auto const of_outer = Solder::Impl::allocate<double>(exec, "a", 10);
    {
      Pool const inner;
      auto const of_inner = Solder::Impl::allocate<double>(exec, "a", 10);
      EXPECT_EQ(of_inner.use_count(), 2);
    }
    EXPECT_EQ(Solder::Impl::allocate<double>(exec, "a", 10).use_count(), 3);
    EXPECT_EQ(of_outer.use_count(), 2);
    int elsewhere = 0;
    std::thread([&] { elsewhere = made(); }).join();
    EXPECT_EQ(elsewhere, 1);
  }
  EXPECT_EQ(made(), 1);
}

TEST(Allocate, ZerosAreZeroWhereverTheyLie) {
  Exec const exec;
  for (int pooled = 0; pooled < 2; ++pooled) {
    std::optional<Pool> pool;
    if (pooled != 0) pool.emplace();
    Kokkos::deep_copy(Solder::Impl::allocate<double>(exec, "a", 5000), 1.0);
    auto const zeros = Solder::Impl::allocate_zeros<double>(exec, "zeros", 5000);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), zeros);
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(host(i), 0);
  }
}

// ---- Temporaries ----

using Temporaries = Solder::Impl::Temporaries<Exec>;
using Frame = Temporaries::Frame;

template <class T>
Array<T> temporary(Exec const& exec, std::int64_t size) {
  return Solder::Impl::allocate_temporary<T>(exec, "temporary", size);
}

TEST(Temporaries, AreApartInFewAllocations) {
  Exec const exec;
  Temporaries memory(100'000);
  for (int round = 0; round < 3; ++round) {
    int const count = allocations_of([&] {
      Frame const frame(memory);
      std::vector<Array<double>> doubles;
      std::vector<Array<char>> chars;
      for (int k = 0; k < 100; ++k) {
        doubles.push_back(temporary<double>(exec, 10 * k));
        chars.push_back(temporary<char>(exec, 1 + k));
        EXPECT_EQ(std::uintptr_t(doubles.back().data()) % 64, 0u);
      }
      fill(exec, doubles);
      fill(exec, chars);
      exec.fence();
      EXPECT_EQ(Temporaries::current(), &memory);
      Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
      expect_filled(doubles);
      expect_filled(chars);
    });
    // 396 kB of doubles and at most 50 kB of what lies between.
    if (round == 0) {
      EXPECT_GE(count, 5);
      EXPECT_LE(count, 6);
    } else {
      EXPECT_EQ(count, 0);
    }
  }
}

TEST(Temporaries, OfAnInnerFrameAreTakenAgain) {
  Exec const exec;
  Temporaries memory(1000);
  Frame const outer(memory);
  auto const first = temporary<double>(exec, 10);
  double* inner = nullptr;
  {
    Frame const frame(memory);
    inner = temporary<double>(exec, 20).data();
    temporary<double>(exec, 5000);  // a chunk of its own
  }
  auto const again = temporary<double>(exec, 20);
  EXPECT_EQ(again.data(), inner);
  EXPECT_NE(again.data(), first.data());
  EXPECT_EQ(allocations_of([&] { temporary<double>(exec, 4000); }), 0);
  EXPECT_EQ(allocations_of([&] { temporary<double>(exec, 4000); }), 1);
}

TEST(Temporaries, AreAllThatAFunctionMakesOrNoneWithoutAFrame) {
  Exec const exec;
  auto const ordinary = [&] { return Solder::Impl::allocate<double>(exec, "a", 10); };
  EXPECT_EQ(temporary<double>(exec, 10).use_count(), 1);
  EXPECT_EQ(Temporaries::temporarily(ordinary).use_count(), 1);
  Temporaries memory(1000);
  {
    Frame const frame(memory);
    EXPECT_EQ(ordinary().use_count(), 1);
    EXPECT_EQ(Temporaries::temporarily(ordinary).use_count(), 0);  // nobody owns it
    EXPECT_EQ(ordinary().use_count(), 1);
    EXPECT_THROW(Temporaries::temporarily([]() -> int { throw 1; }), int);
    EXPECT_EQ(ordinary().use_count(), 1);
    int elsewhere = 0;
    std::thread([&] { elsewhere = int(temporary<double>(exec, 10).use_count()); }).join();
    EXPECT_EQ(elsewhere, 1);
  }
  EXPECT_EQ(Temporaries::current(), nullptr);
}

int failures = 0;

TEST(Temporaries, GiveUpWhatIsFreeWhereMemoryRunsOut) {
  Exec const exec;
  auto const failing_once = [&](auto const& f) {
    failures = 1;
    Solder::Impl::before_allocation = [](char const*, std::size_t) {
      if (failures-- > 0) throw std::bad_alloc();
    };
    bool failed = false;
    try {
      f();
    } catch (Solder::OutOfMemory const&) {
      failed = true;
    }
    Solder::Impl::before_allocation = nullptr;
    return failed;
  };
  auto const ordinary = [&] { Solder::Impl::allocate<double>(exec, "a", 10); };
  auto const another = [&] { temporary<double>(exec, 3000); };
  Temporaries memory(1000);
  Frame const frame(memory);
  auto const used = temporary<double>(exec, 10);
  EXPECT_TRUE(failing_once(ordinary));  // nothing is free
  for (auto const& f : {std::function<void()>(ordinary), std::function<void()>(another)}) {
    {
      Frame const inner(memory);
      temporary<double>(exec, 2000);
    }
    EXPECT_FALSE(failing_once(f));
    EXPECT_TRUE(failing_once(ordinary));  // it is given up
  }
  Kokkos::deep_copy(exec, used, 1.0);
  exec.fence();
}

// ---- Kept arrays ----

using Solder::Impl::KeptArrays;

/// A set-up: an array that stays, one that is given up, and one that is zero.
struct Arrays {
  Array<double> stays, zero;

  Arrays(Exec const& exec, KeptArrays& kept, int size) {
    KeptArrays::Use const use(kept, exec);
    stays = Solder::Impl::allocate<double>(exec, "stays", size);
    auto const given_up = Solder::Impl::allocate<double>(exec, "given up", size);
    zero = Solder::Impl::allocate_zero_view<Array<double>>(exec, "zero", size);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), zero);
    for (int i = 0; i < size; ++i) EXPECT_EQ(host(i), 0);
    EXPECT_NE(given_up.data(), stays.data());
    Kokkos::deep_copy(stays, 1.0);
    Kokkos::deep_copy(given_up, 2.0);
    Kokkos::deep_copy(zero, 3.0);
  }
};

TEST(KeptArrays, AreTakenAgainOnceNobodyHasThem) {
  Exec const exec;
  KeptArrays kept;
  std::optional<Arrays> now, next;
  auto const again = [&](int size) {
    return allocations_of([&] {
      next.emplace(exec, kept, size);
      if (now) {
        EXPECT_NE(now->stays.data(), next->stays.data());  // that is still in use
      }
      now = next;
      next.reset();
    });
  };
  bool const mirrors = !Solder::Impl::is_host_space<Exec>;  // each costs one of the test's own
  EXPECT_EQ(again(5000), 3 + mirrors);
  EXPECT_EQ(again(5000), 3 + mirrors);
  for (int k = 0; k < 5; ++k) EXPECT_EQ(again(5000), 0 + mirrors);
  // Other sizes are other arrays; those of before are given up.
  EXPECT_EQ(again(6000), 3 + mirrors);
  EXPECT_EQ(again(6000), 2 + mirrors);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(again(6000), 0 + mirrors);
  EXPECT_EQ(again(5000), 3 + mirrors);
}

int releases = 0;

/// Also the free part of a stack of temporaries, in whatever round.
TEST(KeptArrays, AreGivenUpWhereMemoryRunsOut) {
  namespace Tools = Kokkos::Tools::Experimental;
  Exec const exec;
  KeptArrays kept;
  for (int round = 1; round <= 3; ++round)
    for (bool const stacked : {false, true}) {
      KeptArrays::Use const use(kept, exec);
      Temporaries memory(1000);
      Frame const frame(memory);
      if (stacked) {
        Frame const inner(memory);
        temporary<double>(exec, 2000);
      } else {
        Solder::Impl::allocate<double>(exec, "given up", 2000);
      }
      releases = 0;
      Tools::set_deallocate_data_callback([](Kokkos_Profiling_SpaceHandle, char const*, void const*,
                                             std::uint64_t) { ++releases; });
      Solder::Impl::before_allocation = [](char const*, std::size_t) {
        if (releases == 0) throw std::bad_alloc();
      };
      EXPECT_NO_THROW(Solder::Impl::allocate<double>(exec, "a", 3000 + 10 * round + stacked));
      Solder::Impl::before_allocation = nullptr;
      Tools::set_deallocate_data_callback(nullptr);
      EXPECT_GT(releases, 0) << "round " << round;
    }
}

/// What is given up must not be taken by another instance while kernels use it.
TEST(KeptArrays, WaitForTheirInstanceWhereASetUpFails) {
  Exec const exec;
  KeptArrays kept;
  auto const fences_of = [&](bool fails) {
    SolderTest::KokkosEvents events;
    try {
      KeptArrays::Use const use(kept, exec);
      if (fails) throw std::runtime_error("a set-up");
    } catch (std::runtime_error const&) {
    }
    events.stop();
    return events.fences;
  };
  EXPECT_TRUE(fences_of(false).empty());
  EXPECT_EQ(fences_of(true), std::vector<std::string>{"Solder: a set-up has failed"});
}

TEST(KeptArrays, OfTheOutermostCountAndOfItsThreadAlone) {
  Exec const exec;
  KeptArrays outer, inner;
  auto const made = [&] {
    return allocations_of([&] { Solder::Impl::allocate<double>(exec, "a", 10); });
  };
  for (int round = 0; round < 3; ++round) {
    KeptArrays::Use const use(outer, exec);
    EXPECT_EQ(made(), round == 2 ? 0 : 1);  // nothing that is free stays of the first
    KeptArrays::Use const of_inner(inner, exec);
    EXPECT_EQ(KeptArrays::current(), &outer);
    int elsewhere = 0;
    std::thread([&] { elsewhere = made(); }).join();
    EXPECT_EQ(elsewhere, 1);
  }
  EXPECT_EQ(KeptArrays::current(), nullptr);
  EXPECT_EQ(made(), 1);
}

}  // namespace
