// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Ranks without MPI: threads of this process, each with its own rows of a matrix. They meet
/// where ranks would, so that what is not decided alike on all of them ends as a time-out here, not
/// as a hang.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <solder/matrix/distributed.hpp>

namespace SolderTest {

/// \brief Where the ranks meet.
class Meeting {
 public:
  explicit Meeting(int ranks) : values_(ranks), vectors_(ranks), ranks_(ranks) {}

  /// \brief All ranks come here; f() runs in one of them, when all have come, before any goes on.
  template <class F>
  void meet(F const& f) {
    std::unique_lock lock(mutex_);
    auto const turn = turn_;
    if (++here_ == ranks_) {
      f();
      here_ = 0;
      ++turn_;
      all_here_.notify_all();
      return;
    }
    if (!all_here_.wait_for(lock, std::chrono::seconds(10), [&] { return turn_ != turn; }))
      throw std::runtime_error("a rank did not come");
  }
  void meet() {
    meet([] {});
  }

  std::vector<std::vector<double>> values_;  ///< of each rank, to be added
  std::vector<void const*> vectors_;         ///< of each rank, to be read
  std::vector<double> total_;
  int const ranks_;
  long sums = 0, exchanges = 0;

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int here_ = 0;
  std::uint64_t turn_ = 0;
};

/// \brief Rank `me`, which has the rows from bounds[me] to bounds[me + 1] - 1.
template <class Scalar>
class ThreadRank final : public Solder::Halo<Scalar> {
 public:
  ThreadRank(Meeting& meeting, std::vector<std::int32_t> bounds, int me,
             std::vector<std::int32_t> ghosts)
      : meeting_(meeting), bounds_(std::move(bounds)), me_(me), ghosts_(std::move(ghosts)) {}

  void sum(double* values, std::int32_t count) const override {
    meeting_.values_[me_].assign(values, values + count);
    meeting_.meet([&] {
      ++meeting_.sums;
      meeting_.total_.assign(count, 0);
      for (auto const& of_rank : meeting_.values_) {
        if (of_rank.size() != std::size_t(count)) throw std::runtime_error("other sums");
        for (std::int32_t v = 0; v < count; ++v) meeting_.total_[v] += of_rank[v];
      }
    });
    std::copy(meeting_.total_.begin(), meeting_.total_.end(), values);
    meeting_.meet();
  }
  std::int64_t rows() const override { return bounds_.back(); }
  std::int64_t first_row() const override { return bounds_[me_]; }
  void exchange(Scalar const* x, Scalar* ghosts) const override {
    meeting_.vectors_[me_] = x;
    meeting_.meet([&] { ++meeting_.exchanges; });
    for (std::size_t g = 0; g < ghosts_.size(); ++g) {
      auto const owner = std::upper_bound(bounds_.begin(), bounds_.end(), ghosts_[g]) - 1;
      ghosts[g] = static_cast<Scalar const*>(
          meeting_.vectors_[owner - bounds_.begin()])[ghosts_[g] - *owner];
    }
    meeting_.meet();
  }

 private:
  Meeting& meeting_;
  std::vector<std::int32_t> bounds_;
  int me_;
  std::vector<std::int32_t> ghosts_;  ///< their rows
};

/// \brief f(rank) on a thread each. An exception that one of them throws is thrown here.
inline void on_ranks(int ranks, std::function<void(int)> const& f) {
  std::vector<std::exception_ptr> errors(ranks);
  std::vector<std::thread> threads;
  for (int me = 0; me < ranks; ++me)
    threads.emplace_back([&, me] {
      try {
        f(me);
      } catch (...) {
        errors[me] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (auto const& error : errors)
    if (error != nullptr) std::rethrow_exception(error);
}

/// \brief `ranks` slices of rows; of several the second one is empty.
inline std::vector<std::int32_t> slices(std::int32_t rows, int ranks) {
  std::vector<std::int32_t> bounds{0};
  int const with_rows = ranks > 2 ? ranks - 1 : ranks;
  for (int k = 0, given = 0; k < ranks; ++k) {
    if (!(ranks > 2 && k == 1)) ++given;
    bounds.push_back(static_cast<std::int32_t>(std::int64_t(rows) * given / with_rows));
  }
  return bounds;
}

/// \brief A rank's part of a matrix.
template <class Scalar, class Exec>
Solder::DistributedMatrix<Scalar, Exec> part_of(Exec const& exec,
                                                Solder::HostCsr<Scalar> const& all,
                                                Meeting& meeting,
                                                std::vector<std::int32_t> const& bounds, int me) {
  std::int32_t const first = bounds[me], last = bounds[me + 1], n = last - first;
  std::map<std::int32_t, std::int32_t> ghost_of;
  std::vector<std::int32_t> ghosts;
  Solder::HostCsr<Scalar> mine{n, 0, {0}, {}, {}};
  for (std::int32_t i = first; i < last; ++i) {
    for (auto k = all.row_offsets[i]; k < all.row_offsets[i + 1]; ++k) {
      std::int32_t const j = all.columns[k];
      std::int32_t column = j - first;
      if (j < first || j >= last) {
        auto const [at, is_new] = ghost_of.insert({j, static_cast<std::int32_t>(ghosts.size())});
        if (is_new) ghosts.push_back(j);
        column = n + at->second;
      }
      mine.columns.push_back(column);
      mine.values.push_back(all.values[k]);
    }
    mine.row_offsets.push_back(static_cast<std::int64_t>(mine.columns.size()));
  }
  mine.columns_count = n + static_cast<std::int32_t>(ghosts.size());
  return {exec, Solder::CsrMatrix<Scalar, Exec>(exec, mine),
          std::make_shared<ThreadRank<Scalar>>(meeting, bounds, me, ghosts)};
}

}  // namespace SolderTest
