// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Ranks without MPI: threads of this process, each with its own rows of a matrix. They meet
/// where ranks would, so that what is not decided alike on all of them ends as a time-out here, not
/// as a hang.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include <solder/matrix/distributed.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/waves.hpp>

#include "solve.hpp"

namespace SolderTest {

/// \brief Where the ranks meet.
class Meeting {
 public:
  explicit Meeting(int ranks) : values_(ranks), vectors_(ranks), ranks_(ranks), posts_(ranks) {}

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

  /// What a rank sends to whom it may concern in its exchange of this number.
  void post(int rank, long number, std::shared_ptr<void const> const& values) {
    std::lock_guard const lock(mutex_);
    if (rank == 0) ++exchanges;
    posts_[rank][number] = values;
    posts_[rank].erase(posts_[rank].begin(), posts_[rank].lower_bound(number - 100));
    all_here_.notify_all();
  }
  std::shared_ptr<void const> posted(int rank, long number) {
    std::unique_lock lock(mutex_);
    if (!all_here_.wait_for(lock, std::chrono::seconds(10),
                            [&] { return posts_[rank].contains(number); }))
      throw std::runtime_error("a rank did not send");
    return posts_[rank][number];
  }

  std::vector<std::vector<double>> values_;  ///< of each rank, to be added
  std::vector<void const*> vectors_;         ///< of each rank, to be read
  std::vector<double> total_;
  int const ranks_;
  long sums = 0, exchanges = 0;

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<std::map<long, std::shared_ptr<void const>>> posts_;
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
  std::int32_t count() const override { return meeting_.ranks_; }
  std::int32_t number() const override { return me_; }
  /// Others may read what x is now, which may change before they do; this rank has no ghost yet.
  void begin(Scalar const* x, Scalar* ghosts) const override {
    meeting_.post(
        me_, ++exchanges_,
        std::make_shared<std::vector<Scalar> const>(x, x + (bounds_[me_ + 1] - bounds_[me_])));
    filled_ = ghosts;
    std::fill(ghosts, ghosts + ghosts_.size(), Scalar(std::nan("")));
  }
  void finish() const override {
    if (filled_ == nullptr) return;
    for (std::size_t g = 0; g < ghosts_.size(); ++g) {
      auto const owner = owner_of(ghosts_[g]);
      auto const of_owner = std::static_pointer_cast<std::vector<Scalar> const>(
          meeting_.posted(int(owner), exchanges_));
      filled_[g] = (*of_owner)[ghosts_[g] - bounds_[owner]];
    }
    filled_ = nullptr;
  }
  void add_back(Scalar const* ghosts, Scalar* x) const override {
    meeting_.vectors_[me_] = x;
    meeting_.meet();
    for (int rank = 0; rank < meeting_.ranks_; ++rank) {  // one after another: they share entries
      if (rank == me_)
        for (std::size_t g = 0; g < ghosts_.size(); ++g) {
          auto const owner = owner_of(ghosts_[g]);
          static_cast<Scalar*>(const_cast<void*>(
              meeting_.vectors_[owner]))[ghosts_[g] - bounds_[owner]] += ghosts[g];
        }
      meeting_.meet();
    }
  }

 private:
  std::ptrdiff_t owner_of(std::int32_t row) const {
    return std::upper_bound(bounds_.begin(), bounds_.end(), row) - 1 - bounds_.begin();
  }

  Meeting& meeting_;
  std::vector<std::int32_t> bounds_;
  int me_;
  std::vector<std::int32_t> ghosts_;  ///< their rows
  mutable long exchanges_ = 0;
  mutable Scalar* filled_ = nullptr;  ///< ghosts that are under way
};

/// \brief An instance of a rank's own, of one thread: a rank waits for others in its kernels, which
/// an instance lets run one after another.
template <class Exec>
Exec own_instance() {
  static std::mutex mutex;
  std::lock_guard const lock(mutex);
  if constexpr (std::is_constructible_v<Exec, int>)
    return Exec(1);
  else
    return Kokkos::Experimental::partition_space(Exec(), 1)[0];
}

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

using Exec = Kokkos::DefaultHostExecutionSpace;

/// \brief Positive definite, and Hermitian.
template <class Scalar>
HostCsr<Scalar> definite_matrix(std::int32_t side) {
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    return Solder::magnetic_laplacian_2d<Scalar>(side, 0.1);
  else
    return Solder::fem_poisson_2d<Scalar>(side);
}

/// What a solve of all ranks came to.
template <class Scalar>
struct Together {
  std::vector<Report> reports;  ///< of each rank
  std::vector<Scalar> x;
  long sums = 0, exchanges = 0;
};

/// \param make_M makes the preconditioner of a rank of its part of the matrix
template <class Scalar, class Options, class MakeM>
Together<Scalar> solve_together(HostCsr<Scalar> const& all, std::vector<Scalar> const& b,
                                std::vector<Scalar> const& x0, int ranks, Options const& options,
                                MakeM const& make_M) {
  Meeting meeting(ranks);
  auto const bounds = slices(all.rows, ranks);
  Together<Scalar> together;
  together.reports.resize(ranks);
  together.x.resize(all.rows);
  on_ranks(ranks, [&](int me) {
    Exec const exec = own_instance<Exec>();
    auto const A = part_of<Scalar>(exec, all, meeting, bounds, me);
    auto const mine = [&](std::vector<Scalar> const& of) {
      return to_device(exec,
                       std::vector<Scalar>(of.begin() + bounds[me], of.begin() + bounds[me + 1]));
    };
    auto const M = make_M(exec, A);
    SolverOn<Options, Exec, std::decay_t<decltype(A)>, std::decay_t<decltype(M)>> solver(exec, A, M,
                                                                                         options);
    auto const of_b = mine(b), x = mine(x0);
    if (me == 0) meeting.sums = meeting.exchanges = 0;
    meeting.meet();
    together.reports[me] = solver.solve(of_b, x);
    auto const of_x = to_host(exec, x);
    std::copy(of_x.begin(), of_x.end(), together.x.begin() + bounds[me]);
  });
  together.sums = meeting.sums;
  together.exchanges = meeting.exchanges;
  return together;
}

}  // namespace SolderTest
