// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <solder/solvers/detail/solve.hpp>

namespace Solder::Impl {

/// \brief Right-hand sides that a GPU solves concurrently: each by its own method on its own
/// instance, whose kernels of a whole solve have their share of the multiprocessors. The solves do
/// not know of each other; each of them reads A and M.
template <class Exec, class Scalar>
class Concurrent {
 public:
  /// \param width right-hand sides, at most
  Concurrent(Exec const& exec, std::int64_t rows, MakeSolve<Exec, Scalar> const& make,
             Monitor const& monitor, std::int32_t width)
      : exec_(exec), rows_(rows), monitor_(monitor) {
    auto const instances = Kokkos::Experimental::partition_space(exec, std::vector<int>(width, 1));
    for (std::int32_t c = 0; c < width; ++c) {
      Monitor own;
      if (monitor_)
        own = [this, c](Progress const& progress) {
          solves_[c].told = progress;
          stops_ = stops_ || tell();
          if (stops_) progress.stop();
        };
      solves_.push_back({instances[c], make_ready<Exec, Scalar>(make, nullptr, instances[c], own,
                                                                {.sharing = width})});
    }
  }
  Concurrent(Concurrent const&) = delete;  // its monitors know where it is
  Concurrent& operator=(Concurrent const&) = delete;

  std::int32_t width() const { return static_cast<std::int32_t>(solves_.size()); }

  /// \brief A report for each of `count` right-hand sides, at most width(); all have the time of
  /// the whole. Column c of b and x begins at entry c * rows.
  std::vector<Report> solve(Scalar const* b, Scalar* x, std::int32_t count) {
    auto const start = Clock::now();
    stops_ = false;
    exec_.fence("Solder::concurrent: b and x are ready");
    try {
      for (std::int32_t c = 0; c < count; ++c)
        solves_[c].underway = solves_[c].solve->start(b + c * rows_, x + c * rows_);
      lead(count);
    } catch (...) {  // the others must not go on using b and x, either
      end(count);
      throw;
    }
    std::vector<Report> reports;
    for (std::int32_t c = 0; c < count; ++c)
      reports.push_back(solves_[c].solve->report(solves_[c].underway.get(), x + c * rows_));
    end(count);
    double const seconds = seconds_since(start);
    for (Report& report : reports) report.solve_seconds = seconds;
    return reports;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct One {
    Exec exec;
    std::unique_ptr<Solve<Exec, Scalar>> solve;
    std::unique_ptr<Underway> underway = nullptr;
    std::optional<Progress> told = {};  ///< to the monitor
  };

  static bool is_underway(One const& one) {
    return one.underway != nullptr && !one.underway->has_ended();
  }

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  void lead(std::int32_t count) {
    auto last_news = Clock::now();
    while (true) {
      Underway* waiting = nullptr;
      bool any_news = false;
      for (std::int32_t c = 0; c < count; ++c) {
        if (!is_underway(solves_[c])) continue;
        any_news = solves_[c].underway->advance() || any_news;
        if (is_underway(solves_[c])) waiting = solves_[c].underway.get();
      }
      if (waiting == nullptr) return;
      if (!any_news && seconds_since(last_news) > 2) {  // an error on the device must surface
        waiting->wait();
        any_news = true;
      }
      if (any_news)
        last_news = Clock::now();
      else
        std::this_thread::yield();
    }
  }

  void end(std::int32_t count) {
    for (std::int32_t c = 0; c < count; ++c) {
      solves_[c].exec.fence("Solder::concurrent: x is complete");
      solves_[c].underway.reset();
      solves_[c].told.reset();
    }
  }

  /// \brief Tells the monitor the most iterations and the largest residual that the solves under
  /// way have told, or that all have where none of those has. Answers whether the monitor stops
  /// them.
  bool tell() const {
    Progress worst{};
    for (bool const of_all : {false, true}) {
      bool any = false;
      for (std::size_t c = 0; c < solves_.size(); ++c) {
        auto const& told = solves_[c].told;
        if (!told || (!of_all && !is_underway(solves_[c]))) continue;
        any = true;
        worst.iteration = std::max(worst.iteration, told->iteration);
        worst.relative_residual = worse(told->relative_residual, worst.relative_residual);
        worst.seconds = std::max(worst.seconds, told->seconds);
      }
      if (any) break;
    }
    monitor_(worst);
    return worst.stops;
  }

  Exec exec_;
  std::int64_t rows_;
  Monitor monitor_;
  std::vector<One> solves_;
  bool stops_ = false;  ///< the monitor has stopped the solve under way
};

}  // namespace Solder::Impl
