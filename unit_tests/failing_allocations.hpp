// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Makes each allocation of a call fail in turn, one run of it for each.
///
/// failing_allocations.cpp, which the program links, replaces `operator new`, which Kokkos's views
/// of host memory come from too, and fills what it hands out with NaNs.

#include "long.hpp"

#include <gtest/gtest.h>

#include <solder/core/kokkos_ext.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

namespace SolderTest {

/// \brief Whose allocations fail.
enum class Of {
  host,    ///< operator new's
  files,   ///< and malloc's, which zlib calls
  device,  ///< those of views and arrays of the library: see Solder::Impl::before_allocation
};

/// \brief From now on allocation number n fails (counted from 1), or this and all later ones.
void fail_allocation(Of of, std::int64_t n, bool and_later);

/// \brief What became of allocation number n.
enum class Stopped {
  not_reached,  ///< there were fewer
  failed,
  spared  ///< Kokkos wanted it for the records of a view, which it cannot do without
};
/// \brief None fails any more.
Stopped stop_failing();

/// \brief Blocks of operator new that are not deleted yet.
std::int64_t live_blocks();
/// \brief Views that live, counted from the first call on: their memory may be a device's. Those
/// that Kokkos makes for itself do not count.
std::int64_t live_views();
/// \brief The labels of the newest of them.
std::string newest_views(std::int64_t count);

/// \brief A call, of which allocations are to fail.
struct Call {
  std::function<void()> before = [] {};  ///< each run; nothing fails
  std::function<void()> run;
  std::function<void(bool threw)> after = [](bool) {};  ///< likewise; checks what is left
  bool says_how_much = true;                            ///< what it throws does
};

/// \brief What came of it.
struct Failed {
  std::int64_t points = 0;     ///< allocations that failed, one a run
  std::int64_t survivals = 0;  ///< runs that did without
  std::int64_t spared = 0;     ///< allocations that Kokkos cannot do without

  Failed& operator+=(Failed const& other) {
    points += other.points;
    survivals += other.survivals;
    spared += other.spared;
    return *this;
  }
};

/// \brief In bytes, or by the matrix that was worked on.
inline bool says_how_much(std::string const& message) {
  for (char const* const unit : {" bytes", " MB", " GB", " rows", " entries"})
    if (message.find(unit) != std::string::npos) return true;
  return false;
}

/// \brief Runs the call until it allocates no more than has failed before. Each run in which an
/// allocation failed throws a sentence that says what and how much, or does without.
/// \param step only each of so many allocations fails
inline Failed fail_in_turn(Of of, Call const& call, bool and_later, std::int64_t step) {
  Failed failed;
  for (std::int64_t n = 1;; n += step) {
    call.before();
    std::string message;
    bool threw = false;
    Stopped stopped{};
    fail_allocation(of, n, and_later);
    try {
      call.run();
      stopped = stop_failing();
    } catch (std::exception const& error) {
      stopped = stop_failing();
      threw = true;
      message = error.what();
    }
    if (threw && !and_later) {
      EXPECT_NE(message.find("memory"), std::string::npos);
      if (call.says_how_much) {
        EXPECT_TRUE(says_how_much(message));
      }
    }
    EXPECT_TRUE(stopped == Stopped::failed || !threw) << "threw without cause";
    call.after(threw);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "where allocation " << n << " failed: " << message;
      return failed;
    }
    if (stopped == Stopped::not_reached) return failed;
    ++(stopped == Stopped::spared ? failed.spared : failed.points);
    if (stopped == Stopped::failed && !threw) ++failed.survivals;
  }
}

}  // namespace SolderTest
