// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The solver that chooses. Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <optional>
#include <solder/core/deadline.hpp>
#include <solder/core/plan.hpp>
#include <solder/matrix/analysis.hpp>
#include <solder/matrix/distributed_analysis.hpp>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "attempts.hpp"
#include "candidates.hpp"
#include "complete_factor.hpp"
#include "copies_of_x.hpp"
#include "made.hpp"
#include "rounding.hpp"
#include "systems.hpp"
#include "watch.hpp"

namespace Solder {
namespace Compiled {
namespace {

/// \brief Candidates, one after another, each a solver made by name.
///
/// The constructor sets up the first candidate that can be. A solve goes on to the next where one
/// ends without having converged, or is given up by the Watch. The next one begins with the x
/// reached so far if its residual is a tenth of the one begun with, or less than it near the
/// tolerance, else with the x begun with.
/// Where all have ended, those that were given up go on, and are not given up again. The one that
/// has solved is kept for the solves that follow. Where none has, x is the best that any had. It
/// costs a vector, and a copy of x before each candidate; another one of each where one has failed.
///
/// Over ranks all of them decide alike: they see the same residuals and count the same iterations,
/// and the Watch tells all what only one rank knows, from its clock and its monitor.
/// \tparam Matrix CsrMatrix, or DistributedMatrix
template <class T, class Exec, class Matrix>
class Auto final : public Impl::MadeSolver<T, Exec> {
  using Csr = CsrMatrix<T, Exec>;
  using Made = Impl::MadeSolver<T, Exec>;
  using Clock = std::chrono::steady_clock;

 public:
  Auto(Exec const& exec, Matrix const& A, Wanted const& wanted, SolverInputs const& inputs)
      : exec_(exec), A_(A), wanted_(wanted), inputs_(inputs), copies_(exec, Impl::ranks_of(A)) {
    watch_ = std::make_shared<Watch>(inputs.monitor, wanted.automatic, Impl::ranks_of(A));
    begin_search();
  }

  Exec const& exec() const override { return exec_; }
  std::string_view name() const override {
    return current_ == nullptr ? "Solder::auto" : current_->name();
  }
  std::string describe() const override {
    if (current_ == nullptr)
      return "auto, none of " + std::to_string(candidates_.size()) + " candidates is set up\n";
    return "auto, number " + std::to_string(place_of_chosen() + 1) + " of " +
           std::to_string(candidates_.size()) + " candidates, " + chosen_.name() + ", because " +
           std::string(chosen_.because) + "\n" + current_->describe();
  }
  std::string explain() const override {
    Analysis analysis = analysis_;
    know_columns(analysis);
    return introduced(analysis, candidates_, place_of_chosen());
  }
  std::int32_t rows() const override { return A_.rows(); }
  std::int64_t nonzeros() const override { return A_.nonzeros(); }
  std::string_view matrix_format() const override {
    return current_ == nullptr ? "csr" : current_->matrix_format();
  }
  std::string_view format_reason() const override {
    return current_ == nullptr ? "no candidate is set up" : current_->format_reason();
  }
  bool solves_columns_at_once() const override {
    return current_ != nullptr && current_->solves_columns_at_once();
  }
  std::string failure() const override { return current().failure(); }
  std::size_t workspace_bytes(std::int32_t columns) const override {
    return current().workspace_bytes(columns) + (columns == 0 ? sizeof(T) * rows() : 0);
  }
  void reserve() override {
    current().reserve();
    copies_.reserve(rows());
  }

  Report solve(T const* b, T* x) override {
    if (wanted_.is_block()) {
      using Column = Kokkos::View<T**, Kokkos::LayoutRight, typename Exec::memory_space,
                                  Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
      using ConstColumn = Kokkos::View<T const**, Kokkos::LayoutRight, typename Exec::memory_space,
                                       Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
      return solve(Impl::ColumnsView<T const>(ConstColumn(b, rows(), 1)),
                   Impl::ColumnsView<T>(Column(x, rows(), 1)))[0];
    }
    return search(b, x, [&](Made& made) { return std::vector{made.solve(b, x)}; })[0];
  }
  std::vector<Report> solve(Impl::ColumnsView<T const> const& b,
                            Impl::ColumnsView<T> const& x) override {
    return search(nullptr, nullptr, [&](Made& made) { return made.solve(b, x); });
  }
  std::vector<Report> solve([[maybe_unused]] T const* b, [[maybe_unused]] T* x,
                            [[maybe_unused]] Batch<Exec> const& batch) override {
    if constexpr (over_ranks<Matrix>)
      throw std::invalid_argument("Solder::auto: a batch is solved by one process, not over ranks");
    else
      return solve_batch([&](Made& made) { return made.solve(b, x, batch); });
  }

  void set_matrix(Csr const& A, Pattern pattern) override {
    if (over_ranks<Matrix> || pattern == Pattern::same)
      current().set_matrix(A, pattern);  // which checks it; over ranks it refuses
    if constexpr (!over_ranks<Matrix>) {
      Csr const before = std::exchange(A_, A);
      is_proven_ = false;
      for_batch_.reset();
      if (pattern == Pattern::same) return;
      try {
        look();
      } catch (...) {
        A_ = before;
        throw;
      }
      set_up_first();
    }
  }
  void refresh() override {
    if (current_ == nullptr)
      begin_search();
    else
      current_->refresh();
    is_proven_ = false;
    for_batch_.reset();
  }

 private:
  // ---- The candidates ----

  /// \brief Rows of all ranks.
  std::int32_t all_rows() const { return analysis_.rows.rows; }
  /// \brief The place in the list of what is set up; 0 if that is of an older list.
  std::size_t place_of_chosen() const {
    auto const same = [&](Candidate const& other) { return other.is_same_as(chosen_); };
    auto const place = std::find_if(candidates_.begin(), candidates_.end(), same);
    return place == candidates_.end() ? 0 : std::size_t(place - candidates_.begin());
  }
  /// \brief What is set up. Throws if nothing is: memory may have been missing.
  Made& current() const {
    if (current_ == nullptr)
      throw std::runtime_error(
          "Solder::auto: no candidate could be set up for this matrix; call refresh() to try "
          "again, or set_matrix() with another");
    return *current_;
  }

  void look() {
    if (A_.rows() != A_.columns())
      throw std::invalid_argument("Solder::make_solver: a square matrix is needed, not " +
                                  std::to_string(A_.rows()) + " x " + std::to_string(A_.columns()));
    Analysis const seen = looked_at();
    check_hermitian(wanted_, seen.symmetry);
    candidates_ = candidates_of(seen, restriction_of(wanted_, inputs_));
    analysis_ = seen;
    knows_rank_ = false;
    complete_ = {};
  }
  Analysis looked_at() const {
    if constexpr (over_ranks<Matrix>)
      return analyse(exec_, A_);
    else
      return Impl::first_look(exec_, A_);
  }
  /// \brief No candidate depends on the sizes of columns; words about A do.
  void know_columns(Analysis& analysis) const {
    if constexpr (!over_ranks<Matrix>) find_column_sizes(exec_, A_, analysis);
  }
  /// \brief The candidates, on the machines of all ranks together.
  std::vector<Candidate> candidates_of(Analysis const& seen, Restriction restriction) const {
    Machine machine = machine_of(exec_);
    if (Ranks const* const ranks = Impl::ranks_of(A_)) {
      restriction.is_over_ranks = true;
      machine.multiprocessors *= ranks->count();
    }
    return candidates_for(seen, machine, restriction);
  }
  /// \brief Looks at A, and sets up the first candidate that can be.
  void begin_search() {
    look();
    set_up_first();
  }
  void set_up_first() {
    at_ = 0;
    is_kept_ = has_failed_ = false;
    may_be_definite_ = true;
    attempts_.clear();
    skipped_ = {};
    setup_seconds_ = 0;
    watch_->begin_solve();  // set-ups longer than a solve may take are of no use
    std::exception_ptr why;
    for (; at_ < candidates_.size(); ++at_) {
      if (has_been_tried(candidates_[at_]) || is_too_dear(candidates_[at_])) continue;
      if (set_up(candidates_[at_], &why)) break;
      know_singular();
    }
    pending_ = attempts_.size();
    if (at_ < candidates_.size()) return;
    at_ = 0;
    if (why == nullptr)
      throw std::runtime_error("Solder::auto: there is no candidate" + skipped_.sentences);
    std::rethrow_exception(why);
  }
  /// \brief Sets up a candidate, or notes that it cannot be.
  /// \param why the first exception is left there
  bool set_up(Candidate const& candidate, std::exception_ptr* why = nullptr) {
    auto const begin = Clock::now();
    auto const seconds = [&] {
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    current_.reset();  // first, as there may not be memory for both
    std::string failure;
    double const left = watch_->seconds_left(), most = most_seconds_of(candidate);
    try {
      Impl::Deadline const deadline(most);
      current_ = made(candidate, wanted_.format);
      exec_.fence("Solder::auto: a candidate is set up");
      setup_seconds_ = seconds();
      chosen_ = candidate;
      limit_ = watch_->most_left();
      return true;
    } catch (std::exception const& error) {
      if (why != nullptr && *why == nullptr) *why = std::current_exception();
      bool const is_late = dynamic_cast<Impl::OutOfTime const*>(&error) != nullptr;
      skipped_.late += is_late;
      failure = is_late && most < left ? "it took longer than the " + Impl::rounded_text(most) +
                                             " s that auto allows it"
                                       : error.what();
    }
    attempts_.push_back(failed_set_up(candidate, failure));
    attempts_.back().setup_seconds = seconds();
    return false;
  }
  std::shared_ptr<Made> made(Candidate const& candidate, MatrixFormat format) const {
    Wanted wanted = wanted_of(wanted_, candidate);
    std::visit([&](auto& options) { options.max_iterations = watch_->most_left(); },
               wanted.options);
    wanted.format = format;
    SolverInputs inputs = inputs_;
    inputs.monitor = [watch = watch_](Progress const& progress) { watch->listen(progress); };
    // Multigrid alone takes coordinates.
    if (wanted_.preconditioner.name == "auto") {
      if (wanted.preconditioner.scaling.match == Match::none)
        wanted.preconditioner.incomplete.order = complete_.order();
      bool const has_points = candidate.preconditioner == "amg" && rows() > 0 &&
                              inputs_.coordinates.size() == std::size_t(rows());
      wanted.preconditioner.has_rigid_bodies = has_points;
      if (!has_points) inputs.coordinates = {};
    }
    return make_named<T, Exec>(exec_, A_, wanted, inputs, &analysis_.rows);
  }

  // ---- A search ----

  /// \brief Sets up the next candidate; false if there is none.
  bool next(std::optional<Candidate> const& failed) {
    if (is_kept_) {  // what solved before has failed for these values
      try {
        look();
      } catch (std::invalid_argument const&) {  // they are not Hermitian, where they have to be
        return false;
      }
      is_kept_ = false;
      may_be_definite_ = true;
      at_ = std::size_t(-1);
    }
    while (++at_ < candidates_.size() && !watch_->has_ended()) {
      Candidate const& candidate = candidates_[at_];
      if ((candidate.needs_definite && !may_be_definite_) ||
          (failed && candidate.is_same_as(*failed)) || has_been_tried(candidate) ||
          is_too_dear(candidate))
        continue;
      if (set_up(candidate)) return true;
      know_singular();
    }
    return false;
  }
  double most_seconds_of(Candidate const& candidate) const {
    return seconds_for_set_up(candidate, at_ == 0, wanted_, watch_->seconds_left());
  }
  /// \brief Whether complete factors, unless they come first, would be too large or take too long.
  /// Then notes it.
  bool is_too_dear(Candidate const& candidate) {
    std::string const why =
        candidate.is_complete && at_ != 0 ? why_too_dear(candidate) : std::string();
    if (why.empty()) return false;
    skipped_.preconditioners.insert(preconditioner_of(candidate));
    skipped_.sentences += "; " + candidate.name() + " was not begun: " + why;
    return true;
  }
  /// \brief Why they are; empty: they are not. Where A has a symmetric pattern, their entries are
  /// counted if need be. (Of any other A a matching makes another matrix: its set-up is ended when
  /// it has taken too long.)
  std::string why_too_dear(Candidate const& candidate) {
    if (skipped_.late > 1)  // with matching and without
      return "factors with less fill took too long to set up";
    if (analysis_.unpaired > 0) return {};
    auto const seconds_of = [&](CompleteFactor const& factor) {
      return seconds_of_complete(candidate, factor, analysis_, machine_of(exec_));
    };
    if (seconds_of(full_factor(rows())) <= most_seconds_of(candidate)) return {};
    if (!count_complete()) return "its factors could not be counted, for lack of time or memory";
    double const seconds = seconds_of(complete_.factor()), most = most_seconds_of(candidate);
    return seconds <= most ? std::string()
                           : why_factors_are_dear(complete_.factor().fill(analysis_), seconds, most,
                                                  wanted_.automatic.time_limit > 0);
  }
  bool count_complete() {
    if constexpr (over_ranks<Matrix>)
      return false;
    else
      return complete_.count(A_, watch_->seconds_left());
  }
  /// \brief Whether a candidate, with its options, has ended by itself in this search, or has a
  /// preconditioner that cannot be applied.
  bool has_been_tried(Candidate const& candidate) const {
    if (!skipped_.preconditioners.empty() &&
        skipped_.preconditioners.contains(preconditioner_of(candidate)))
      return true;
    return std::any_of(attempts_.begin(), attempts_.end(), [&](Attempt const& attempt) {
      return attempt.solver == candidate.solver &&
             attempt.preconditioner == candidate.preconditioner &&
             attempt.why == candidate.because && attempt.reason != Reason::stopped;
    });
  }
  /// \brief The preconditioner of a candidate with all its options, which tell it from others.
  std::string preconditioner_of(Candidate const& candidate) const {
    return described(wanted_of(wanted_, candidate).preconditioner, "");
  }
  /// \brief Notes a preconditioner that cannot be applied, which no other solver need set up again.
  /// Called where an attempt has ended before its first iteration.
  void know_unusable() {
    if (!watch_->any(!current().failure().empty())) return;
    skipped_.preconditioners.insert(preconditioner_of(chosen_));
  }
  /// \brief Goes on with those that were given up, the most promising first; if A is structurally
  /// singular, only with those whose residual fell.
  bool revive() {
    while (!given_up_.empty() && !watch_->has_ended()) {
      auto const best = most_promising(given_up_);
      if (analysis_.unmatched_rows > 0 && !std::isfinite(best->promise())) return false;
      Candidate const candidate = best->candidate;
      given_up_.erase(best);
      if (set_up(candidate)) return true;
    }
    return false;
  }
  /// \brief Seconds that what comes after the chosen one promises to take: `after`, or else what
  /// was given up, but not for CG. 0 if nothing comes.
  double promise_of_next(Candidate const* after) const {
    if (after != nullptr) return after->promise();
    double const promise = is_cg() || given_up_.empty() ? 0 : most_promising(given_up_)->promise();
    return std::isfinite(promise) ? promise : 0;
  }
  /// \brief Begins with a new list of candidates.
  void begin_list(Restriction const& restriction) {
    candidates_ = candidates_of(analysis_, restriction);
    at_ = std::size_t(-1);
  }
  /// \brief Begins again with the candidates for a matrix that is not definite. Called where cg has
  /// found it so.
  void know_indefinite() {
    if (is_kept_) look();  // the values are others; cg has had them, so they are Hermitian
    if (!std::exchange(may_be_definite_, false) && !is_kept_) return;
    rule_out_definite(analysis_);
    if (wanted_.automatic.candidates.empty()) {
      begin_list(restriction_of(wanted_, inputs_));
      given_up_.clear();
    } else if (is_kept_) {
      at_ = std::size_t(-1);
    }
    is_kept_ = false;
  }
  /// \brief Finds out, once for a matrix, whether A is structurally singular, and then begins again
  /// with the candidates for such a matrix. Called where a candidate has failed.
  /// \return whether it begins again
  bool know_singular() {
    if (std::exchange(knows_rank_, true)) return false;
    if constexpr (!over_ranks<Matrix>) {
      find_unmatched_rows(A_, analysis_);
      if (analysis_.unmatched_rows > 0) know_columns(analysis_);
      if (analysis_.unmatched_rows == 0 || !wanted_.automatic.candidates.empty()) return false;
      begin_list(restriction_of(wanted_, inputs_));
      given_up_.clear();
      return true;
    }
    return false;
  }
  /// \brief Begins again with the candidates for a matrix that a trial would have needed `before` +
  /// `left` iterations for.
  void know_rate(int before, double left) {
    Restriction restriction = restriction_of(wanted_, inputs_);
    restriction.plain_iterations =
        std::min(before + left, std::max(most_plain_iterations(all_rows()), double(before)));
    begin_list(restriction);
    if (over_ranks<Matrix>) return;
    Candidate const* const best = best_of(candidates_, restriction.plain_iterations);
    if (best == nullptr || !counts_complete(analysis_, machine_of(exec_),
                                            best->promise_at(restriction.plain_iterations)))
      return;
    if (!count_complete()) return;
    restriction.complete = complete_.factor();
    begin_list(restriction);
  }
  /// \brief The next candidate that may take less time than the chosen one, or null.
  Candidate const* following() const {
    for (std::size_t k = at_ + 1; k < candidates_.size(); ++k)
      if ((may_be_definite_ || !candidates_[k].needs_definite) && !has_been_tried(candidates_[k]) &&
          !is_best_with(candidates_[k]))
        return &candidates_[k];
    return nullptr;
  }
  bool is_cg() const { return chosen_.solver == "cg"; }
  /// \brief Whether CG is chosen, and the other candidate has its M. No solver takes less time than
  /// CG with the same M, unless A is not definite, which CG finds out itself.
  bool is_best_with(Candidate const& other) const {
    return is_cg() && preconditioner_of(other) == preconditioner_of(chosen_);
  }
  /// \brief Begins an attempt with what is set up.
  /// \param in_peace it is not given up for the next one
  void begin_attempt(bool in_peace, bool is_one) {
    Candidate const* const after = in_peace ? nullptr : following();
    double const spent = is_kept_ ? 0 : chosen_.setup;
    watch_->begin_attempt(spent, chosen_.iteration, in_peace ? 0 : promise_of_next(after), is_one,
                          chosen_.judged_from, is_cg(), after == nullptr);
    if (after != nullptr && chosen_.is_trial && !is_kept_)
      watch_->put_on_trial(
          chosen_.iteration,
          [this, next = after](double plain, double spent) {
            if (!chosen_.needs_definite)  // what is nearly done ends
              return std::max(chosen_.share_of_next * next->promise() - spent,
                              0.1 * next->promise());
            Candidate const* const best =
                best_of(candidates_, std::max(plain, double(chosen_.likely)));
            return (best == nullptr ? *next : *best).promise_at(plain);
          },
          most_plain_iterations(all_rows()), chosen_.judged_from, is_cg());
  }

  /// \brief Whether an attempt has brought x as near to the solution as its type allows, which is
  /// not near enough: then no candidate can be expected to solve the system. Notes it.
  bool is_as_near_as_can_be(T const* b, T const* x, Report const& report) {
    AutoOptions const& wanted = wanted_.automatic;
    if constexpr (!over_ranks<Matrix>) {
      using Real = typename ScalarTraits<T>::Real;
      double const epsilon = Kokkos::Experimental::epsilon_v<Real>,
                   near = std::max(1e3 * wanted.tolerance, 1e5 * epsilon);
      if (watch_->is_given_up() && !(report.true_relative_residual < near)) return false;
      if (wanted.absolute_tolerance > 0 || wanted.guess_tolerance > 0) return false;
      rounding_ =
          rounding_that_ends(exec_, A_, b, x, wanted.tolerance, report.true_relative_residual);
    }
    return rounding_ > 0;
  }
  /// \brief Goes through the candidates until one has solved.
  /// \param b, x of a single right-hand side; x holds the guess, which is kept; null: of several
  template <class Run>
  std::vector<Report> search(T const* b, T* x, Run const& run) {
    watch_->begin_solve();
    skipped_ = {};  // the values may be others
    if (has_failed_ || current_ == nullptr) begin_search();
    attempts_.resize(std::min(attempts_.size(), pending_));  // one may have been abandoned
    pending_ = 0;
    bool const is_one = x != nullptr, tries_more = !wanted_.automatic.never_converges();
    if (is_one) reserve();
    std::vector<Report> total;
    given_up_.clear();
    copies_.begin();
    rounding_ = 0;
    double setups = 0;  // in this solve
    std::optional<Candidate> const failed = is_kept_ ? std::optional(chosen_) : std::nullopt;
    bool in_peace = !tries_more || (is_kept_ && (won_in_peace_ || is_proven_));
    bool revives = false;    // all others have ended
    bool is_helped = false;  // it has begun with what another one has left
    // With several right-hand sides, which are solved together, none is on trial.
    if (Candidate const trial = chosen_; !is_one && !is_kept_ && trial.is_trial) {
      auto const before_setup = Clock::now();
      if (!next(failed)) set_up(trial);
      setups += std::chrono::duration<double>(Clock::now() - before_setup).count();
    }
    for (;;) {
      begin_attempt(in_peace, is_one);
      if (is_one) copies_.save(x);
      std::vector<Report> const reports = run(current());
      if (reports.empty()) return reports;
      Report const worst = worst_of(reports);
      watch_->end_attempt(worst.iterations, is_any_stopped(reports));
      note(worst, reports);
      if (worst.reason == Reason::breakdown && worst.iterations == 0) know_unusable();
      add(total, reports);
      if (worst.reason == Reason::converged) {
        // One that began with another's x needs more iterations alone, and may not have them.
        is_kept_ = !is_helped || total.front().iterations <= watch_->most() / 4;
        has_failed_ = !is_kept_;
        won_in_peace_ = in_peace || is_helped;
        is_proven_ = true;
        break;
      }
      bool const is_hopeless = std::all_of(reports.begin(), reports.end(), [](Report const& each) {
        return each.reason == Reason::converged ||
               (each.iterations == 0 && std::isnan(each.true_relative_residual));
      });
      if (!tries_more || is_hopeless || watch_->has_ended()) break;
      if (is_one && is_as_near_as_can_be(b, x, worst)) {
        has_failed_ = !is_kept_ && (is_helped || worst.reason != Reason::stagnated);
        is_kept_ = !has_failed_;  // it is as good as one that has solved, but is not proven
        won_in_peace_ = is_proven_ = false;
        break;
      }
      double const won = worst.true_relative_residual / worst.guess_relative_residual;
      bool const is_near = worst.true_relative_residual <= 10 * wanted_.automatic.tolerance;
      bool const helps = won <= (is_near ? 0.9 : 0.1) && wanted_.automatic.guess_tolerance == 0;
      if (watch_->is_given_up() && !chosen_.is_trial)  // a trial stands in the list once more
        given_up_.push_back({watch_->iterations_left() + (helps ? 0 : worst.iterations), chosen_});
      auto const before_setup = Clock::now();
      has_failed_ = true;  // until one has solved, also where something is thrown
      if (is_one) copies_.keep_best(x, worst);
      // One that solved with the iterations that others had left may now take all.
      if (is_kept_ && worst.reason == Reason::max_iterations && limit_ < watch_->most() &&
          set_up(Candidate(chosen_))) {
        setups += std::chrono::duration<double>(Clock::now() - before_setup).count();
        continue;
      }
      bool const was_kept = is_kept_, might_be_definite = may_be_definite_;
      if (worst.reason == Reason::indefinite_matrix) know_indefinite();
      if (chosen_.is_trial && chosen_.needs_definite && watch_->is_given_up())
        know_rate(won <= 0.1 ? 0 : worst.iterations, watch_->iterations_left());
      bool begins_anew = might_be_definite != may_be_definite_;
      if (!watch_->is_given_up() && !is_kept_) begins_anew |= know_singular();
      if (begins_anew) revives = false;
      bool goes_on = !revives && next(failed);
      // In a list that begins anew, candidates may be given up.
      if (was_kept || begins_anew) in_peace = !tries_more;
      if (!goes_on) in_peace = revives = goes_on = revive();
      setups += std::chrono::duration<double>(Clock::now() - before_setup).count();
      if (!goes_on) {
        watch_->has_ended();  // notes whether the time is up
        break;
      }
      if (is_one && !helps) copies_.restore(x);
      is_helped |= !is_one || helps;  // several x are not kept
    }
    copies_.take_best(x, total.front());
    for (std::size_t c = 0; c < total.size(); ++c) {
      total[c].setup_seconds += setups;
      explain_end(total[c], copies_.by(c));
      total[c].attempts = attempts_;
    }
    attempts_.clear();
    return total;  // where the last could not be set up, the next solve begins anew
  }
  static bool is_any_stopped(std::vector<Report> const& reports) {
    return std::any_of(reports.begin(), reports.end(),
                       [](Report const& each) { return each.reason == Reason::stopped; });
  }
  /// \brief Notes an attempt, and whose x stands there after it.
  void note(Report const& worst, std::vector<Report> const& reports) {
    attempts_.push_back(attempt_of(chosen_, worst, watch_->sentence(worst.detail)));
    attempts_.back().setup_seconds = std::exchange(setup_seconds_, 0);
    last_ = int(attempts_.size()) - 1;
    copies_.note(last_, reports);
  }
  /// \brief Says why a solve has not converged, and whose x it gives back.
  /// \param x_by the number of the attempt whose x it is; nobody: x is the guess
  void explain_end(Report& report, int x_by) const {
    if (report.reason == Reason::converged) return;
    report.is_singular = analysis_.unmatched_rows > 0;
    report.kept_guess = x_by == nobody;
    if (auto const guess = report.detail.find(Impl::x_is_the_guess);
        x_by != nobody && guess != std::string::npos)  // the last one's guess is another one's x
      report.detail.erase(guess > 1 ? guess - 2 : 0);
    if (watch_->verdict() == Watch::Verdict::limit) report.reason = Reason::max_iterations;
    if (watch_->verdict() == Watch::Verdict::time) report.reason = Reason::stopped;
    if (rounding_ > 0) report.reason = Reason::stagnated;
    report.detail =
        why_unsolved(report, {.analysis = analysis_,
                              .attempts = attempts_.size(),
                              .end_of_all = watch_->end_of_all(),
                              .passed_over = skipped_.sentences,
                              .rounding = rounding_,
                              .is_single = std::is_same_v<typename ScalarTraits<T>::Real, float>});
    if (x_by == nobody || x_by == last_) return;
    Attempt const& attempt = attempts_[std::size_t(x_by)];
    report.detail += "; x is that of " + attempt.solver + "+" + attempt.preconditioner +
                     ", which has the smallest residual";
  }

  // ---- Batches ----

  /// \brief Solves the systems of a batch with the first candidate that takes batches. Those that
  /// it has not solved go on with the next one, from the x reached.
  template <class Run>
  std::vector<Report> solve_batch(Run const& run) {
    std::vector<Report> total;
    std::vector<Attempt> attempts;
    watch_->begin_solve();
    for (Candidate const& candidate : candidates_) {
      bool const takes = (candidate.solver == "cg" || candidate.solver == "bicgstab") &&
                         (candidate.preconditioner == "jacobi" ||
                          candidate.preconditioner == "fsai" || candidate.preconditioner == "none");
      if (!takes || candidate.is_trial) continue;
      if (for_batch_ == nullptr || batch_by_ != candidate.name()) {
        for_batch_.reset();
        try {
          for_batch_ = made(candidate, MatrixFormat::csr);
        } catch (std::exception const& error) {
          attempts.push_back(failed_set_up(candidate, error.what()));
          continue;
        }
        batch_by_ = candidate.name();
      }
      watch_->begin_attempt(0, candidate.iteration, 0, false);
      std::vector<Report> const reports = run(*for_batch_);
      if (reports.empty()) return reports;
      Report const worst = worst_of(reports);
      attempts.push_back(attempt_of(candidate, worst, worst.detail));
      add(total, reports);
      watch_->end_attempt(worst.iterations, is_any_stopped(reports));
      if (worst.reason == Reason::converged || wanted_.automatic.never_converges() ||
          watch_->has_ended())
        break;
    }
    if (total.empty())
      throw std::invalid_argument(
          "Solder::make_solver: auto has no candidate for a batch of this matrix; only cg and "
          "bicgstab with none, jacobi or fsai solve batches");
    for (Report& report : total) report.attempts = attempts;
    return total;
  }

  Exec exec_;
  Matrix A_;
  Wanted wanted_;
  SolverInputs inputs_;
  std::shared_ptr<Watch> watch_;  ///< the candidates' monitor
  Analysis analysis_{};
  std::vector<Candidate> candidates_;
  std::size_t at_ = 0;             ///< how far the list has been gone through
  Candidate chosen_{};             ///< the candidate that is set up
  int limit_ = 0;                  ///< iterations that it may take
  std::shared_ptr<Made> current_;  ///< that one; null: none could be
  bool is_kept_ = false;           ///< it has solved
  bool won_in_peace_ = false;      ///< having been given up before, or with another one's help
  bool is_proven_ = false;         ///< it has solved with these values
  bool has_failed_ = false;        ///< the last solve, with more than one candidate
  bool may_be_definite_ = true;
  CountedFactor complete_;   ///< of A
  bool knows_rank_ = false;  ///< whether A is structurally singular has been found out
  std::vector<GivenUp> given_up_;
  std::vector<Attempt> attempts_;  ///< of the solve under way, and before it
  std::size_t pending_ = 0;        ///< of these, those before it
  double rounding_ = 0;            ///< the residual that rounding x makes, where it is too large
  double setup_seconds_ = 0;       ///< of the candidate that is set up, until it is noted
  Skipped skipped_;                ///< in the search under way
  static constexpr int nobody = CopiesOfX<T, Exec>::nobody;
  int last_ = nobody;  ///< the number of the last attempt that has run
  CopiesOfX<T, Exec> copies_;
  std::shared_ptr<Made> for_batch_;
  std::string batch_by_;
};

}  // namespace

template <class T, class Exec, class Matrix>
std::shared_ptr<Impl::MadeSolver<T, Exec>> make_auto(Exec const& exec, Matrix const& A,
                                                     Wanted const& wanted,
                                                     SolverInputs const& inputs) {
  return std::make_shared<Auto<T, Exec, Matrix>>(exec, A, wanted, inputs);
}

/// \brief Taking a function's address compiles it.
template <class T>
auto automatic_solvers() {
  return Impl::for_each_space([]<class Exec>(std::type_identity<Exec>) {
    if constexpr (Impl::is_host_space<Exec> && has_ranks)
      return std::tuple(&make_auto<T, Exec, CsrMatrix<T, Exec>>,
                        &make_auto<T, Exec, DistributedMatrix<T, Exec>>);
    else
      return &make_auto<T, Exec, CsrMatrix<T, Exec>>;
  });
}

template auto automatic_solvers<SOLDER_SCALAR>();

}  // namespace Compiled
}  // namespace Solder
