// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/errors.hpp>
#include <solder/core/first_failure.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/options.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/preconditioners/detail/triangular/fill.hpp>
#include <solder/preconditioners/detail/triangular/pattern.hpp>
#include <solder/preconditioners/detail/triangular/scheduled.hpp>
#include <solder/preconditioners/detail/triangular/solve_sweeps.hpp>
#include <solder/preconditioners/detail/triangular/threshold_fill.hpp>
#include <solder/preconditioners/incomplete_options.hpp>

namespace Solder::Impl::triangular {

/// \brief Row offsets of 64 bits. One kernel.
template <class Exec, class Offset>
SOLDER_MAKES_LAMBDAS Kokkos::View<std::int64_t*, typename Exec::memory_space> copied_offsets(
    Exec const& exec, std::int32_t rows, Offset const* from) {
  auto const copy =
      allocate<std::int64_t>(exec, "Solder::incomplete::given", std::int64_t(rows) + 1);
  auto* const to = copy.data();
  Kokkos::parallel_for(
      "Solder::incomplete::keep", Kokkos::RangePolicy<Exec>(exec, 0, rows + 1),
      KOKKOS_LAMBDA(int i) { to[i] = static_cast<std::int64_t>(from[i]); });
  return copy;
}

/// \brief Why a row of A has no pivot that a Hermitian factorisation can use.
inline std::string not_positive(std::int32_t row, Factorisation kind, double shift,
                                IncompleteOptions const& options) {
  std::string const pivot = "the pivot of row " + counted(row) + " of " +
                            std::string(to_string(kind)) + " is not positive, or not finite";
  if (shift > 0)
    return pivot + ", even with a diagonal that is " + rounded_text(100 * shift) + "% larger";
  return pivot + (options.shift > 0 ? "" : "; shift: 0 rules out a larger diagonal");
}
/// \brief The shift to try next: the first one, then nine times the double. 0: there is none.
inline double shift_after(double shift, double first) {
  double const next = shift > 0 ? 2 * shift : first;
  return next <= 512 * first ? next : 0;
}

/// \brief What Incomplete keeps: the pattern of A and of the factors, how they are computed and
/// solved with, and the factors.
template <class Scalar, class Exec>
struct IncompleteState {
  using Space = typename Exec::memory_space;
  using Indices = Kokkos::View<std::int32_t*, Space>;
  using Values = Kokkos::View<Scalar*, Space>;
  using Reals = Kokkos::View<typename ScalarTraits<Scalar>::Real*, Space>;
  using Offsets = Kokkos::View<std::int64_t*, Space>;
  using HostIndices = Kokkos::View<std::int32_t*, Kokkos::HostSpace>;
  static constexpr char unfinished[] =
      "its factors are unfinished because an exception interrupted the set-up: call refresh again";

  std::int32_t rows = 0, levels = 0;              ///< levels of L, for elimination on GPUs
  std::int64_t nonzeros = 0, given_nonzeros = 0;  ///< of the factors and of A
  std::int64_t dropped = 0, repaired = 0;
  std::int32_t first_repaired = -1;       ///< a row of A
  bool has_values = false;                ///< those of the factors came with their pattern
  Ordering ordering = Ordering::natural;  ///< the one that was taken
  std::vector<std::int32_t> label;        ///< A's rows in the order of elimination; empty: natural
  // A's pattern as it was given, to recognise it at a refresh, and in the order of elimination
  Offsets given_offsets = no_view<Offsets>();
  Indices given_columns = no_view<Indices>(), by_level = given_columns, tickets = given_columns,
          counters = given_columns;
  HostIndices counters_on_host = no_view<HostIndices>();
  DevicePattern<Exec> pattern;
  Values values = no_view<Values>(), work = values;
  Reals least = no_view<Reals>();        ///< where pivots are repaired: the size of each, at least
  Scheduled<Scalar, Exec> lower, upper;  ///< for exact solves
  SweptTriangles<Scalar, Exec> triangles;  ///< for solves by sweeps
  double analysis_seconds = 0, factorise_seconds = 0, shift = 0;
  double first_shift = 0;  ///< with which the pattern was chosen
  int eliminators = 1;     ///< threads of a host that factorise
  bool symmetric = false;  ///< the pattern; only meaningful for ic0 or with factor sweeps
  std::string structural, failure = unfinished;
};

/// \brief All of Incomplete's set-up that depends on A's pattern, not on its values: the order of
/// elimination, the pattern of the factors, and the schedules. (Thresholds of fill look at the
/// values, once.)
template <class Scalar, class Exec>
class IncompleteAnalysis {
  using State = IncompleteState<Scalar, Exec>;
  using Schedules = Scheduled<Scalar, Exec>;
  using Indices = typename State::Indices;
  static constexpr bool on_host_space = is_host_space<Exec>;

 public:
  IncompleteAnalysis(Exec const& exec, Factorisation kind, IncompleteOptions const& options)
      : exec_(exec),
        kind_(kind),
        options_(options),
        ordering_(ordering_of(kind, options, on_host_space)),
        eliminates_(options.sweeps == 0),
        solves_(options.trisolve == Trisolve::exact) {}

  /// \brief The state before the first factorisation. If it has a `structural` failure, it lacks
  /// the rest.
  /// \param A square, without duplicates
  template <class Offset>
  std::shared_ptr<State> of(CsrMatrix<Scalar, Exec, Offset> const& A) {
    state_ = std::make_shared<State>();
    state_->rows = A.rows();
    state_->nonzeros = state_->given_nonzeros = A.nonzeros();
    longest_row_ = A.longest_row();
    state_->given_offsets = copied_offsets(exec_, A.rows(), A.row_offsets().data());
    state_->given_columns =
        allocate<std::int32_t>(exec_, "Solder::incomplete::given", A.nonzeros());
    copy(exec_, state_->given_columns, A.column_indices());
    if (options_.ordering == Ordering::automatic && has_fill(kind_)) order_by_fill(A);
    state_->ordering = ordering_;
    Filled<Scalar> filled;
    if (has_fill(kind_)) {
      filled = fill(A);
      take_pattern_of(filled);
    } else {
      state_->pattern = ordered(A);
      if (!is_natural()) state_->label = on_host(exec_, state_->pattern.label);
    }
    if (state_->structural.empty()) check_structure();
    if (!state_->structural.empty()) {
      if (!solves_)  // solvers still assemble their programs
        state_->triangles = SweptTriangles<Scalar, Exec>::of(exec_, {});
      return state_;
    }
    schedule();
    allocate_factors();
    if (!filled.values.empty() && eliminates_) take_values_of(filled);
    return state_;
  }

 private:
  bool is_natural() const { return ordering_ == Ordering::natural; }
  bool is_coloured() const { return ordering_ == Ordering::multicolour; }

  // ---- The pattern of the factors ----

  /// \brief The order that `automatic` stands for, with fill. A dense row that is eliminated early
  /// fills all rows after it. (With iluk, amd loses as many of such matrices as it gains.) A
  /// triangle in natural order has no fill.
  template <class Offset>
  void order_by_fill(CsrMatrix<Scalar, Exec, Offset> const& A) {
    double const mean = double(A.nonzeros()) / std::max(A.rows(), 1);
    if (is_hermitian(kind_) && longest_row_ > longest_even_row(mean)) ordering_ = Ordering::amd;
    if (ordering_ == Ordering::amd &&
        with_rows_on_host(A, [&](auto const&... rows) { return is_triangular(A.rows(), rows...); }))
      ordering_ = Ordering::natural;
  }

  /// \brief A's pattern in the order of elimination. Unless rows are unsorted or very long, it is
  /// ordered where it is. The order is found on the host, except colours of a symmetric pattern on
  /// a GPU.
  template <class Offset>
  DevicePattern<Exec> ordered(CsrMatrix<Scalar, Exec, Offset> const& A) {
    bool const gets_order = !on_host_space && longest_row_ <= most_row_of_device;
    if (!(is_natural() || gets_order) ||
        !rows_ascend(exec_, A.rows(), A.row_offsets().data(), A.column_indices().data()))
      return {exec_, ordered_on_host(A), is_natural()};
    auto const natural = DevicePattern<Exec>::of_sorted(
        exec_, A.rows(), state_->given_offsets.data(), state_->given_columns);
    if (is_natural()) return natural;
    if (is_coloured() && has_progress<Exec>) {
      unsymmetric_ = natural.unsymmetric(exec_);
      if (*unsymmetric_ < 0) return coloured(exec_, natural);
    }
    return natural.in_order(exec_, on_device(exec_, with_rows_on_host(A, [&](auto const&... rows) {
                                               return order_of(A.rows(), rows...);
                                             })));
  }
  template <class Offset>
  OrderedPattern ordered_on_host(CsrMatrix<Scalar, Exec, Offset> const& A) const {
    return with_rows_on_host(A, [&](auto const&... rows) {
      return ordered_pattern(order_of(A.rows(), rows...), rows...);
    });
  }
  template <class Offset>
  std::vector<std::int32_t> order_of(std::int32_t rows, Offset const* offsets,
                                     std::int32_t const* columns) const {
    if (ordering_ != Ordering::amd || options_.order == nullptr)
      return triangular::ordered(ordering_, rows, offsets, columns);
    std::vector<std::int32_t> const& order = *options_.order;
    std::vector<char> has(rows, 0);
    for (std::int32_t const row : order)
      if (row >= 0 && row < rows) has[row] = 1;
    if (std::int64_t(order.size()) != rows || std::count(has.begin(), has.end(), 1) != rows)
      throw std::invalid_argument("Solder::Incomplete: `order` must have each of the " +
                                  std::to_string(rows) + " rows of A once; it has " +
                                  std::to_string(order.size()) + " entries");
    return order;
  }
  /// \brief f(A's row offsets, its columns) on the host.
  template <class Offset, class F>
  static auto with_rows_on_host(CsrMatrix<Scalar, Exec, Offset> const& A, F const& f) {
    auto const offsets = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.row_offsets());
    auto const columns =
        Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.column_indices());
    return f(offsets.data(), columns.data());
  }

  /// \brief The pattern of the factors, with the values if they come with it. On the host.
  template <class Offset>
  Filled<Scalar> fill(CsrMatrix<Scalar, Exec, Offset> const& A) const {
    OrderedPattern const P = ordered_on_host(A);
    if (kind_ == Factorisation::ick || kind_ == Factorisation::iluk)
      return filled_by_level<Scalar>(P, options_.level, options_.fill_factor);
    auto const values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.values());
    if (kind_ == Factorisation::ilut)
      return filled_by_threshold<Scalar>(P, values.data(), options_.drop_tolerance,
                                         options_.fill_factor);
    for (double shift = 0;;) {
      Filled<Scalar> filled = filled_by_symmetric_threshold<Scalar>(
          P, values.data(), options_.drop_tolerance, options_.fill_factor, shift, eliminates_);
      shift = shift_after(shift, options_.shift);
      if (filled.wrong < 0 || !filled.may_shift || shift == 0) return filled;
    }
  }
  void take_pattern_of(Filled<Scalar> const& filled) {
    auto const& P = filled.pattern;
    state_->nonzeros = static_cast<std::int64_t>(P.columns.size());
    state_->dropped = filled.dropped;
    state_->repaired = filled.repaired;
    if (filled.repaired > 0) state_->first_repaired = P.label[filled.first_repaired];
    if (!is_natural()) state_->label = P.label;
    state_->shift = state_->first_shift = filled.shift;
    if (filled.wrong >= 0) {
      state_->structural = not_positive(filled.wrong, kind_, filled.shift, options_);
      state_->given_offsets = no_view<typename State::Offsets>();  // other values may have factors
      return;
    }
    if (filled.is_too_large) {
      state_->structural = "fill up to level " + std::to_string(options_.level) +
                           " takes more than " + number_text(options_.fill_factor) +
                           " entries per entry of A: take a lower level, or a larger fill_factor";
      return;
    }
    for (std::int32_t i = 0; i < state_->rows; ++i)
      longest_row_ = std::max(longest_row_, P.offsets[i + 1] - P.offsets[i]);
    state_->pattern = {exec_, P, is_natural()};
  }
  void take_values_of(Filled<Scalar> const& filled) {
    using OnHost =
        Kokkos::View<Scalar const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    copy(exec_, state_->values, OnHost(filled.values.data(), filled.values.size()));
    exec_.fence("Solder::incomplete: the factors are copied");
    state_->has_values = true;
  }

  /// \brief Says what the pattern lacks, if anything.
  void check_structure() {
    std::string const name(to_string(kind_));
    std::int32_t const incomplete = state_->pattern.without_diagonal(exec_);
    bool const must_mirror = is_hermitian(kind_);
    if (incomplete < 0 && (must_mirror || !eliminates_) &&
        kind_ != Factorisation::ict &&  // which mirrors its pattern
        !unsymmetric_)
      unsymmetric_ = state_->pattern.unsymmetric(exec_);
    std::int32_t const unsymmetric = unsymmetric_.value_or(-1);
    state_->symmetric = unsymmetric < 0;
    if (incomplete >= 0)
      state_->structural = "row " + counted(incomplete) + " has no diagonal entry, which " + name +
                           " needs as its pivot: take " + (must_mirror ? "gmres with " : "") +
                           "ilut with match: product";
    else if (must_mirror && unsymmetric >= 0)
      state_->structural = "row " + counted(unsymmetric) +
                           " has an entry whose mirror image is missing: " + name +
                           " needs a Hermitian matrix, " +
                           std::string(to_string(for_any_matrix(kind_))) + " does not";
  }

  // ---- Schedules ----

  /// \brief Schedules both triangles, if they are solved exactly, and the elimination.
  void schedule() {
    bool const by_one_thread = Schedules::is_by_one_thread(
        exec_, solves_ ? options_.schedule : TriangularSchedule::automatic, state_->rows,
        (state_->nonzeros - state_->rows) / 2);
    is_made_[0] = is_made_[1] = !solves_;
    has_order_ = !eliminates_ || by_one_thread;
    if constexpr (on_host_space) {
      for (int upper = 0; upper < 2 && by_one_thread && solves_; ++upper) {
        made_[upper] = Schedules::by_one_thread(
            exec_, state_->pattern, device_triangle(state_->pattern, upper == 0), upper != 0);
        is_made_[upper] = true;
      }
    } else {
      for (bool const upper : {false, true}) schedule_on_device(upper);
    }
    if (!(is_made_[0] && is_made_[1] && has_order_)) schedule_on_host();
    if (solves_) {
      state_->lower = std::move(made_[0]);
      state_->upper = std::move(made_[1]);
      state_->upper.take_from(exec_, state_->lower);
    } else {
      state_->triangles = SweptTriangles<Scalar, Exec>::of(exec_, state_->pattern);
    }
  }
  /// \brief Finds the levels of a triangle where it is, if the schedule is, or may be, by levels.
  /// Those of L are also the order of elimination.
  void schedule_on_device(bool upper) {
    DeviceTriangle const T = device_triangle(state_->pattern, !upper);
    bool const has_colours = is_coloured() && !has_fill(kind_), orders = !upper && eliminates_,
               looks = solves_ ? Schedules::is_by_levels(options_.schedule, T.rows,
                                                         entries_of(exec_, T), longest_row_,
                                                         has_colours)
                               : orders && longest_row_ <= most_row_of_device;
    if (!looks) return;
    auto const found = rows_by_level(
        exec_, T,
        Schedules::levels_looked_for(solves_ ? options_.schedule : TriangularSchedule::automatic,
                                     T.rows, has_colours));
    if (found.levels == 0) return;
    if (solves_) made_[upper] = Schedules::by_levels(exec_, state_->pattern, T, upper, found);
    is_made_[upper] = true;
    if (!orders) return;
    state_->by_level = found.order;
    state_->levels = found.levels;
    has_order_ = true;
  }
  /// \brief Plans on the host what is not made yet. Both triangles at once, if it has threads.
  void schedule_on_host() {
    auto const mirrored = [](auto const& view) {
      return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
    };
    auto const offsets = mirrored(state_->pattern.offsets),
               diagonal = mirrored(state_->pattern.diagonal);
    auto const columns = mirrored(state_->pattern.columns);
    auto const* const label = state_->label.empty() ? nullptr : state_->label.data();
    typename Schedules::Plan plans[2];
    Tiles by_level;
    FirstFailure failure;
    Kokkos::parallel_for(
        "Solder::incomplete::analyse", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, 2),
        [&](int upper) {
          failure.guard([&] {
            bool const orders = upper == 0 && !has_order_;
            if (is_made_[upper] && !orders) return;
            auto const T = triangle_of(
                {state_->rows, upper == 0, offsets.data(), columns.data(), diagonal.data()}, label);
            if (!is_made_[upper])
              plans[upper] = Schedules::planned(exec_, T.needs, T.label, T.source, T.diagonal,
                                                options_.schedule);
            if (orders) by_level = order_of_elimination(T.needs, plans[0].tiles);
          });
        });
    Kokkos::DefaultHostExecutionSpace().fence("Solder::incomplete: the triangles are analysed");
    failure.rethrow();
    for (int upper : {0, 1})
      if (!is_made_[upper]) made_[upper] = Schedules(exec_, plans[upper]);
    if (has_order_) return;
    state_->by_level = on_device(exec_, by_level.order);
    state_->levels = by_level.levels;
    if (on_host_space) state_->tickets = on_device(exec_, by_level.begin);
    state_->eliminators = by_level.count() / std::max(by_level.levels, 1);
  }
  /// \brief Rows in the order of elimination, level by level. On hosts in tiles, which are those of
  /// exact solves with L if there are any.
  Tiles order_of_elimination(Dependencies const& needs, Tiles const& of_lower) const {
    if (on_host_space && solves_) return by_level_of_tiles(needs, of_lower);
    std::vector<std::int32_t> level;
    std::int32_t const levels = find_levels(needs, level);
    Tiles tiles = cut(sorted_by(level, levels), 32);
    tiles.levels = levels;
    return tiles;
  }

  // ---- Memory of the factors ----

  void allocate_factors() {
    using Reals = typename State::Reals;
    state_->values = allocate<Scalar>(exec_, "Solder::incomplete::factors", state_->nonzeros);
    allocate_work();
    state_->counters = allocate_zero_view<Indices>(exec_, "Solder::incomplete::counters", 4);
    if (kind_ == Factorisation::ilut && eliminates_)
      state_->least = allocate_view<Reals>(exec_, "Solder::incomplete::least", state_->rows);
    state_->counters_on_host = allocate_view<typename State::HostIndices>(
        Kokkos::DefaultHostExecutionSpace(), "Solder::incomplete::counters", 4);
  }
  /// \brief Workspace of the elimination, or of sweeps, as large as the factors; see
  /// IncompleteRows::work. On hosts it is 0 at first, and at most as many threads eliminate as have
  /// `rows` entries of it each, and as a level has tiles on average: others would wait, and slow
  /// them down. A single one takes the rows as they come.
  void allocate_work() {
    constexpr char const* name = "Solder::incomplete::work";
    State& state = *state_;
    if (on_host_space && eliminates_) {
      std::int64_t const room = state.nonzeros / std::max(state.rows, 1),
                         most = std::min<std::int64_t>(room, state.eliminators);
      state.eliminators =
          static_cast<int>(std::clamp<std::int64_t>(most, 1, vector_teams(exec_, state.rows)));
      if (state.eliminators == 1) state.by_level = state.tickets = no_view<Indices>();
      state.work = allocate_zero_view<typename State::Values>(exec_, name, state.nonzeros);
    } else {
      bool const in_lanes = eliminates_ && longest_row_ <= warp;
      state.work = allocate<Scalar>(exec_, name, in_lanes ? 0 : state.nonzeros);
    }
  }

  Exec exec_;
  Factorisation kind_;
  IncompleteOptions options_;
  Ordering ordering_;
  bool eliminates_, solves_;  ///< not by sweeps
  std::shared_ptr<State> state_;
  std::int32_t longest_row_ = 0;             ///< of the factors
  std::optional<std::int32_t> unsymmetric_;  ///< a row without a mirror image, or -1; if looked for
  Schedules made_[2];                        ///< of L and of U
  bool is_made_[2] = {false, false}, has_order_ = false;
};

}  // namespace Solder::Impl::triangular
