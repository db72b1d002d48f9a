// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <limits>
#include <solder/core/options.hpp>
#include <solder/core/ranks.hpp>
#include <solder/core/report.hpp>
#include <solder/solvers/auto_options.hpp>
#include <string>
#include <utility>
#include <vector>

namespace Solder::Compiled {

/// \brief Whether a candidate is to be given up for the next one, by the model of cost and by what
/// it has done so far. No clock is asked, so the same input decides alike every time.
///
/// A candidate goes on as long as the rest costs no more than the next one promises to. Until it
/// has cost that much itself, its rate may still improve: with a cost of 1 / f of the promise, it
/// is given up if the rest costs more than f^2 times the promise. It is not judged before three
/// tenths of it. The rest of CG may cost twice as much, because where it is slow its likes seldom
/// do better.
///
/// How many iterations are left is told by the latter half of those that were done, but not by its
/// rate alone: most residuals fall more slowly the longer they do. After 20 iterations of CG with
/// jacobi the rate promises a quarter of the true number, in the mean of 86 real matrices, after 80
/// less than half; of BiCGStab and IDR with ilu0 0.6. A residual that falls as a power of the
/// iterations promises too many. So the promised total is the geometric mean of both, in which the
/// power counts a quarter, and as a thousand times the other at most: 0.85 of the true number, in
/// the mean of five pairs of solver and preconditioner and of 6 to 320 iterations, and within a
/// factor of 2.5 of it.
///
/// CG reduces the error's energy norm, and its residual may stay above the guess's until shortly
/// before the end. As long as it does, it tells nothing, and CG may cost all of the promise. Then
/// the last quarter of the iterations is compared with the quarter before.
///
/// A candidate that is on trial is judged sooner, and goes on as long as the rest costs no more
/// than what is allowed for so many iterations: see begin_trial().
class Haste {
 public:
  using Allowed = std::function<double(double, double)>;  ///< see begin_trial()
  static constexpr int least_iterations = 20;             ///< as a rule, before it can be judged

  /// \brief Begins a candidate.
  /// \param spent seconds of its set-up, by the model
  /// \param iteration those of an iteration
  /// \param next those that the next candidate promises to take; 0: never in haste
  /// \param tolerance the relative residual that is wanted; 0: never in haste
  /// \param least iterations before it can be judged
  /// \param is_cg see above
  void begin(double spent, double iteration, double next, double tolerance,
             int least = least_iterations, bool is_cg = false) {
    least_ = least;
    is_cg_ = is_cg;
    spent_ = spent;
    iteration_ = iteration;
    next_ = next;
    tolerance_ = tolerance;
    allowed_ = {};
    begin_again();
  }
  /// \brief Begins a candidate that is on trial.
  /// \param allowed (left, spent): seconds that it may still take if it needs `left` more
  /// iterations and has taken `spent` seconds
  /// \param most iterations that it is thought to take, however slow it is at first
  void begin_trial(double iteration, Allowed allowed, double most, double tolerance,
                   int least = least_iterations, bool is_cg = false) {
    begin(0, iteration, 1, tolerance, least, is_cg);
    allowed_ = std::move(allowed);
    most_ = most;
  }
  /// \brief Forgets what the candidate that was begun has done, except its set-up: it goes on with
  /// another right-hand side.
  void begin_again() {
    rest_ = 0;
    best_.clear();
    heard_.clear();
  }
  /// \brief Whether to give it up, with this residual after so many iterations.
  bool gives_up(int iteration, double residual) {
    if (next_ <= 0 || tolerance_ <= 0) return false;
    double const logarithm = std::log(std::max(residual, std::numeric_limits<double>::min()));
    double const before = best_.empty() ? infinity : best_.back();
    best_.resize(std::size_t(std::max(iteration, 0)) + 1, before);
    best_.back() = std::isnan(logarithm) ? before : std::min(before, logarithm);
    heard_.resize(best_.size(), infinity);
    if (!std::isnan(logarithm)) heard_.back() = logarithm;
    if (iteration < least_) return false;
    double const cost = spent_ + iteration * iteration_;
    if (allowed_) {
      rest_ = std::min(rest(iteration), std::max(most_, double(iteration)));
      return rest_ * iteration_ > allowed_(rest_, cost);
    }
    if (cost < (is_above_guess(iteration) ? 1 : judged_from) * next_) return false;
    rest_ = rest(iteration);
    double const missing = std::max(1.0, next_ / cost), patience = is_cg_ ? 2 : 1;
    return rest_ * iteration_ > patience * next_ * missing * missing;
  }
  /// \brief The iteration at which gives_up() is to be asked next: half-way to where the candidate
  /// is judged first, which the rate is measured from, and then after each further twentieth of its
  /// iterations.
  int next_look(int iteration) const {
    constexpr int never = std::numeric_limits<int>::max();
    if (next_ <= 0 || tolerance_ <= 0) return never;
    double const until =
        allowed_ ? 0 : std::ceil((judged_from * next_ - spent_) / std::max(iteration_, 1e-12));
    if (!(until < never / 2)) return never;
    int const first = std::max(int(until), least_), half = first - first / 2;
    int const next = iteration + 1 + iteration / 20;
    return iteration < half ? half : iteration < first ? std::min(first, next) : next;
  }
  /// \brief Iterations that were thought to be left when it was given up; may be infinite.
  double iterations_left() const { return rest_; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double judged_from = 0.3;  ///< share of what the next one promises

  /// \brief Whether CG has not come below the residual of the guess by then.
  bool is_above_guess(int iteration) const {
    return is_cg_ && best_[std::size_t(iteration)] >= best_.front();
  }
  /// \brief Iterations that are left; see above.
  double rest(int iteration) const {
    int window = iteration / 2;
    double before = best_[std::size_t(iteration - window)], now = best_.back();
    if (is_above_guess(iteration - window)) {
      window = std::max(window / 2, 1);
      auto const middle = heard_.end() - window;
      before = *std::min_element(middle - window, middle);
      now = *std::min_element(middle, heard_.end());
    }
    double const won = before - now, to_go = now - std::log(tolerance_);
    if (to_go <= 0) return 0;
    if (!(won > 0)) return infinity;
    // The logarithms of the totals, in iterations done.
    double const done = iteration, at_rate = std::log1p(to_go * window / won / done),
                 as_power = to_go * std::log(done / (done - window)) / won;
    return done * std::expm1(0.75 * at_rate + 0.25 * std::min(as_power, at_rate + std::log(1000)));
  }

  double spent_ = 0, iteration_ = 0, next_ = 0, tolerance_ = 0, rest_ = 0;
  int least_ = 0;  ///< iterations before it can be judged
  bool is_cg_ = false;
  Allowed allowed_;  ///< of a trial
  double most_ = 0;  ///< iterations of a trial
  /// Logarithms of the least residual up to each iteration, and of each one's; infinite: unknown.
  std::vector<double> best_, heard_;
};

/// \brief The monitor of auto's candidates. It tells the user's monitor what all of them have done
/// together, and stops a candidate that is given up, or at a limit.
class Watch {
 public:
  enum class Verdict { none, slow, half, limit, time, user };

  /// \param ranks that solve together; null: this process alone
  Watch(Monitor user, AutoOptions const& options, Ranks const* ranks = nullptr)
      : user_(std::move(user)),
        ranks_(ranks),
        tolerance_(options.tolerance),
        most_(options.max_iterations),
        seconds_(options.time_limit) {}

  void begin_solve() {
    began_ = std::chrono::steady_clock::now();
    iterations_ = 0;
    verdict_ = Verdict::none;
  }
  /// \brief Begins a candidate; see Haste. With several right-hand sides, which may be solved one
  /// after another, each candidate has all iterations for each, and is given up for all of them.
  /// \param is_last only what was given up before may follow
  void begin_attempt(double spent, double iteration, double next, bool is_one,
                     int least = Haste::least_iterations, bool is_cg = false,
                     bool is_last = false) {
    verdict_ = Verdict::none;
    is_one_ = is_one;
    heard_ = 0;
    // A candidate that is not the last leaves half of the iterations to the others.
    half_ = is_one && next > 0 && !is_last ? std::max((most_ - iterations_) / 2, 1000) : most_;
    haste_.begin(spent, iteration, next, tolerance_, least, is_cg);
  }
  /// \brief Puts the candidate that was begun on trial; see Haste.
  void put_on_trial(double iteration, Haste::Allowed allowed, double most, int least, bool is_cg) {
    haste_.begin_trial(iteration, std::move(allowed), most, tolerance_, least, is_cg);
  }
  /// \brief As the monitor of a candidate.
  void listen(Progress const& progress) {
    if (user_) {
      Progress const all{iterations_ + progress.iteration, progress.relative_residual, elapsed()};
      user_(all);
      if (all.stops) verdict_ = Verdict::user;
    }
    if (verdict_ == Verdict::none && is_late()) verdict_ = Verdict::time;
    if (progress.iteration < heard_) haste_.begin_again();
    heard_ = progress.iteration;
    if (verdict_ == Verdict::none &&
        haste_.gives_up(progress.iteration, progress.relative_residual))
      verdict_ = Verdict::slow;
    if (verdict_ == Verdict::none && is_one_ && half_ < most_left() && progress.iteration >= half_)
      verdict_ = Verdict::half;
    if (verdict_ != Verdict::none)
      progress.stop();
    else if (!user_ && seconds_ <= 0)  // a solve in one kernel need not return before
      progress.pause_until(std::min(haste_.next_look(progress.iteration), std::max(half_, 1)));
  }
  /// \brief Ends it, after so many iterations. All ranks call it together.
  /// \param is_stopped it was stopped; else it has ended by itself, and was not given up
  void end_attempt(int iterations, bool is_stopped) {
    iterations_ += iterations;
    if (is_given_up() && !is_stopped) verdict_ = Verdict::none;
    if (any(verdict_ == Verdict::time)) verdict_ = Verdict::time;
    if (any(verdict_ == Verdict::user)) verdict_ = Verdict::user;
    if (verdict_ == Verdict::none && is_one_ && most_left() <= 0) verdict_ = Verdict::limit;
  }
  /// \brief Iterations of all candidates together.
  int most() const { return most_; }
  /// \brief Iterations that are left for a candidate that is set up now.
  int most_left() const { return is_one_ ? most_ - iterations_ : most_; }

  /// \brief Whether no other candidate is to be tried. All ranks call it together.
  bool has_ended() {
    if ((verdict_ == Verdict::none || is_given_up()) && any(is_late())) verdict_ = Verdict::time;
    if (is_given_up() && most_left() <= 0) verdict_ = Verdict::limit;
    return verdict_ != Verdict::none && !is_given_up();
  }
  Verdict verdict() const { return verdict_; }
  /// \brief Seconds that are left of the time limit; infinite without one.
  double seconds_left() const {
    return seconds_ > 0 ? seconds_ - elapsed() : std::numeric_limits<double>::infinity();
  }
  /// \brief Whether the candidate was given up for the next.
  bool is_given_up() const { return verdict_ == Verdict::slow || verdict_ == Verdict::half; }
  /// \brief Iterations that it would have taken from then on.
  double iterations_left() const {
    return verdict_ == Verdict::slow ? haste_.iterations_left()
                                     : std::numeric_limits<double>::infinity();
  }

  /// \brief How an attempt ended, `detail` being its report's.
  std::string sentence(std::string const& detail) const {
    if (verdict_ == Verdict::half)
      return "given up: it has taken half of the iterations that max_iterations left";
    if (verdict_ == Verdict::time || verdict_ == Verdict::limit) return end_of_all();
    if (verdict_ != Verdict::slow) return detail;
    char text[128];
    double const left = haste_.iterations_left();
    if (std::isfinite(left) && left < 1e9)
      std::snprintf(text, sizeof text, "given up: it seems to need some %.0f iterations more; ",
                    left);
    else
      std::snprintf(text, sizeof text, "given up: its residual no longer falls; ");
    return std::string(text) + "another candidate is predicted to take less time";
  }
  /// \brief Why all ended before a solution was found; empty where the last candidate says it.
  std::string end_of_all() const {
    if (verdict_ == Verdict::time)
      return "time_limit, " + Impl::number_text(seconds_) +
             " s, was reached before a solution: allow more, or name a solver";
    if (verdict_ == Verdict::limit)
      return "all candidates together have taken max_iterations, " + std::to_string(most_) +
             (most_ == 1 ? " iteration" : " iterations");
    return {};
  }

  /// \brief Whether it holds on any rank. All ranks call it together.
  bool any(bool holds) const {
    double ranks = holds;
    if (ranks_ != nullptr) ranks_->sum(&ranks, 1);
    return ranks > 0;
  }

 private:
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }
  bool is_late() const { return seconds_ > 0 && elapsed() >= seconds_; }

  Monitor user_;
  Ranks const* ranks_;
  double tolerance_;
  int most_;
  double seconds_;
  std::chrono::steady_clock::time_point began_{};
  int iterations_ = 0;  ///< of the candidates before
  int half_ = 0;        ///< most iterations of this one
  int heard_ = 0;       ///< its iterations with the present right-hand side
  bool is_one_ = true;
  Verdict verdict_ = Verdict::none;
  Haste haste_;
};

}  // namespace Solder::Compiled
