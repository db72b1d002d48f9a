// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What auto keeps of x: the guess of the attempt under way, and the best that any has had.

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <exception>
#include <optional>
#include <solder/core/allocate.hpp>
#include <solder/core/copy.hpp>
#include <solder/core/ranks.hpp>
#include <solder/core/report.hpp>
#include <utility>
#include <vector>

namespace Solder::Compiled {

/// \brief The copies of x, and which attempts have made x and them. Of several right-hand sides
/// there is no copy.
template <class T, class Exec>
class CopiesOfX {
 public:
  static constexpr int nobody = -1;  ///< has made the guess of the solve

  /// \param ranks that solve together; null: this process alone
  CopiesOfX(Exec const& exec, Ranks const* ranks) : exec_(exec), ranks_(ranks) {}

  /// \brief Takes the memory of the guess. All ranks call it together.
  void reserve(std::int32_t rows) { reserve(guess_, "Solder::auto::guess", rows); }
  /// \brief Begins a solve.
  void begin() {
    best_residual_.reset();
    by_.clear();
  }
  /// \brief Notes whose x stands there after an attempt with this number.
  void note(int attempt, std::vector<Report> const& reports) {
    by_.resize(reports.size(), nobody);
    for (std::size_t c = 0; c < reports.size(); ++c)
      if (!reports[c].kept_guess) by_[c] = attempt;
  }
  /// \brief The number of the attempt whose x stands there, or nobody.
  int by(std::size_t column) const { return by_[column]; }

  void save(T const* x) {
    Impl::copy(exec_, *guess_, Vector<T const>(x, guess_->extent(0)));
    guess_by_ = by_;
  }
  void restore(T* x) {
    Impl::copy(exec_, Vector<T>(x, guess_->extent(0)), *guess_);
    by_ = guess_by_;
  }
  /// \brief Keeps the x of an attempt if its true residual is the smallest so far, and if there is
  /// memory for it. Called where another one follows, by all ranks together.
  void keep_best(T const* x, Report const& report) {
    if (report.reason == Reason::converged || std::isnan(report.true_relative_residual)) return;
    if (best_residual_ && *best_residual_ <= report.true_relative_residual) return;
    try {
      reserve(best_, "Solder::auto::best", static_cast<std::int32_t>(guess_->extent(0)));
    } catch (std::exception const&) {  // of this rank or another one
      return;
    }
    best_residual_ = report.true_relative_residual;
    best_by_ = by_;
    Impl::copy(exec_, *best_, Vector<T const>(x, best_->extent(0)));
  }
  /// \brief Gives the best x back if the last one, which has not converged, is worse.
  void take_best(T* x, Report& last) {
    if (last.reason == Reason::converged || !best_residual_) return;
    if (last.true_relative_residual <= *best_residual_) return;
    Impl::copy(exec_, Vector<T>(x, best_->extent(0)), *best_);
    exec_.fence("Solder::auto: x is the best one");
    last.true_relative_residual = *best_residual_;
    by_ = best_by_;
  }

 private:
  using Copy = std::optional<Impl::DeviceArray<T, Exec>>;
  template <class Entry>
  using Vector =
      Kokkos::View<Entry*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  void reserve(Copy& copy, char const* label, std::int32_t rows) {
    if (copy && copy->extent(0) == std::size_t(rows)) return;
    Copy made;
    Impl::together(ranks_, [&] {
      made.emplace(Impl::allocate_view<Impl::DeviceArray<T, Exec>>(exec_, label, rows));
    });
    copy = std::move(made);
  }

  Exec exec_;
  Ranks const* ranks_;
  Copy guess_, best_;                         ///< of the attempt; of all, where one has failed
  std::optional<double> best_residual_;       ///< of the best x
  std::vector<int> by_, guess_by_, best_by_;  ///< for each column; of x and of the copies
};

}  // namespace Solder::Compiled
