// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/application.hpp>
#include <solder/core/compiled.hpp>
#include <solder/core/errors.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/on_hosts.hpp>
#include <solder/core/options.hpp>
#include <solder/core/report.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/duplicates.hpp>
#include <solder/preconditioners/detail/preconditioner_base.hpp>
#include <solder/preconditioners/detail/triangular/factor_sweeps.hpp>
#include <solder/preconditioners/detail/triangular/factorise.hpp>
#include <solder/preconditioners/detail/triangular/incomplete_analysis.hpp>
#include <solder/preconditioners/detail/triangular/solve_sweeps.hpp>
#include <solder/preconditioners/incomplete_options.hpp>

namespace Solder {

/// \brief An incomplete factorisation A ~ L U: L has a unit diagonal, and both factors together
/// have A's pattern (ic0, ilu0), fill up to a level (ick, iluk) or fill that is not small (ict,
/// ilut); see Saad, Iterative Methods for Sparse Linear Systems, 10.3 and 10.4. For a Hermitian A
/// the three whose names begin with ic give U = D L^H, and M = (L D L^H)^-1 is Hermitian. They
/// check only the pattern and the pivots, not whether the values of A are Hermitian.
///
/// Fill is chosen by the host, row after row (detail/triangular/fill.hpp, threshold_fill.hpp). It
/// is bounded: more than fill_factor entries per entry of A are a failure of ick and iluk, while
/// ict and ilut keep the largest. The diagonal then need not be in A's pattern. From there on the
/// pattern is fixed, and factors in it are computed like those without fill. The first factors of
/// ilut, and of ict if A is Hermitian, come with the pattern: ict chooses both anew for each shift.
/// (Where a pivot is zero up to rounding, ict chooses the pattern alone.) ilut replaces pivots that
/// are far smaller than what it leaves out, and setup() counts them. A refresh computes the factors
/// in the old pattern, and begins with the shift that this was chosen for.
///
/// The pattern is analysed once, on the device: it is ordered there if its rows are sorted and not
/// very long, and planned there if the schedule is `levels`. The host finds other orders than
/// natural and, for symmetric patterns, multicolour, and plans other schedules, both triangles at
/// the same time if it has threads. One thread of a host takes the rows as they come; it solves
/// alone where others would not make that quicker. The factors are computed on the device, each
/// row as soon as the rows that it needs are done; refresh computes them again. An application
/// takes two triangular solves of one kernel each (TriangularRows), and one kernel before them.
///
/// Triangular solves and eliminations with many levels keep a device waiting. Sweeps have no levels
/// and can replace both: for the factors (`sweeps`: Chow and Patel, Fine-grained parallel
/// incomplete LU factorization, 2015), and for the solves (`trisolve`: 2 `trisolve_sweeps` kernels,
/// each a product with a triangle: Anzt, Chow and Dongarra, Iterative sparse triangular solves for
/// preconditioning, 2015). M is then a different operator, but Hermitian in the same cases. Solves
/// take somewhat more iterations, and M is the same to the bit in every run. If both use sweeps,
/// the ordering is natural and the columns of each row of A ascend, the whole set-up is on the
/// device.
///
/// Construction succeeds even if the factors cannot be computed: because a diagonal entry is
/// missing or a pivot is zero or, for ic0, because a pivot is not positive in spite of shifts or
/// the pattern is not symmetric. failure() then says why it cannot be applied, and solvers refuse
/// to start and report that sentence.
template <class Scalar, class Exec>
class Incomplete : public Impl::PreconditionerBase<Incomplete<Scalar, Exec>, Exec, Scalar> {
 public:
  /// \brief Type of the entries and of the vectors.
  using scalar_type = Scalar;

  /// \brief Analyses the pattern of A and factorises.
  /// \throws std::invalid_argument if A is not square, if an option is out of range or, unless both
  /// the factors and the solves use sweeps, if Exec does not guarantee that teams which wait make
  /// progress; std::length_error if A has more nonzeros than 32-bit row offsets allow (nearly 2^31)
  template <class Offset>
  Incomplete(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A, Factorisation kind,
             IncompleteOptions const& options = {})
      : kind_(kind), options_(options) {
    if (!solves_by_sweeps() || options.sweeps == 0)
      Impl::triangular::require_progress<Exec>(label());
    check(options, label());
    refresh(exec, A);
  }

  /// \brief Factorises again. If A has the same pattern as before, this happens on the device alone
  /// and overwrites the old factors. Waits for the device. If it throws, the old factors stay in
  /// use. If they were already overwritten, failure() says so until a refresh succeeds.
  template <class Offset>
  void refresh(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& given) {
    if (given.rows() != given.columns())
      throw std::invalid_argument(name() + ": a square matrix is needed, not " +
                                  std::to_string(given.rows()) + " x " +
                                  std::to_string(given.columns()));
    if (constexpr auto most = CsrMatrix<Scalar, Exec>::most_nonzeros; given.nonzeros() > most)
      throw std::length_error(name() + ": at most " + std::to_string(most) + " nonzeros, not " +
                              std::to_string(given.nonzeros()));
    Impl::with_memory_for(label(), given.rows(), given.nonzeros(), [&] { make_anew(exec, given); });
    this->set_made_of(given);
  }

  /// \brief Rows of A.
  std::int32_t rows() const { return state_->rows; }
  /// \brief Which factorisation it is.
  Factorisation kind() const { return kind_; }
  /// \brief The options it was made with.
  IncompleteOptions const& options() const { return options_; }
  /// \brief The schedule of exact solves with L.
  TriangularReport const& lower() const { return state_->lower.report(); }
  /// \brief The schedule of exact solves with U.
  TriangularReport const& upper() const { return state_->upper.report(); }
  /// \brief What was added to the diagonal, relative to it.
  double shift() const { return state_->shift; }
  /// \brief Where each row of the factors begins: L below the diagonal, U on and above it, row by
  /// row in the order of elimination.
  auto const& factor_offsets() const { return state_->pattern.offsets; }
  /// \brief The column of each entry of the factors.
  auto const& factor_columns() const { return state_->pattern.columns; }
  /// \brief The value of each entry of the factors.
  auto const& factor_values() const { return state_->values; }
  /// \brief A's rows in the order of elimination.
  std::vector<std::int32_t> elimination() const {
    if (!state_->label.empty()) return state_->label;
    std::vector<std::int32_t> rows(state_->rows);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }

  /// \brief What the set-up cost and gave.
  SetupReport setup() const {
    SetupReport setup;
    setup.phases = {{"analysis", state_->analysis_seconds},
                    {"factorisation", state_->factorise_seconds}};
    setup.nonzeros = state_->nonzeros;
    setup.density =
        state_->given_nonzeros > 0 ? double(state_->nonzeros) / state_->given_nonzeros : 1;
    setup.dropped = state_->dropped;
    setup.repaired_rows = state_->repaired;
    setup.first_repaired_row = state_->first_repaired;
    setup.shift = state_->shift;
    setup.ordering = to_string(state_->ordering);
    if (state_->failure.empty())
      setup.schedule = solves_by_sweeps() ? std::string(to_string(Trisolve::jacobi))
                                          : std::string(to_string(lower().schedule)) + ", " +
                                                std::string(to_string(upper().schedule));
    return setup;
  }
  /// \brief A sentence that says why it cannot be applied; empty if it can.
  std::string failure() const { return state_->failure; }

  /// \brief Words of sizeof(Of) that one application moves, not counting its operand and result.
  /// Exact solves: the factors once, and y and z written and read; on GPUs they are also marked
  /// beforehand, and z is stored twice. Sweeps: each reads its factor, the right-hand side and the
  /// old vector, and writes the new vector.
  template <class Of>
  double words(std::int32_t rows) const {
    double const entry = double(sizeof(Scalar) + sizeof(std::int32_t)) / sizeof(Of);
    double const offset = double(sizeof(std::int32_t)) / sizeof(Of);
    if (solves_by_sweeps()) {
      double const k = options_.trisolve_sweeps;
      return k * (state_->nonzeros - rows) * entry + rows * (2 * k * (3 + offset) + 2);
    }
    double const of_row = Impl::is_host_space<Exec> ? 5 : 8,
                 indices = Impl::is_host_space<Exec> ? 4 : 5;
    return state_->nonzeros * entry + rows * (of_row + indices * offset);
  }

  /// \cond kernels

  /// \brief What solvers embed in their programs; see Application.
  struct Opened {
    static constexpr bool is_identity = false, is_pointwise = false, is_split = false, waits = true;

    Impl::triangular::TriangularOperator<Scalar> lower, upper;
    std::int32_t lower_league, upper_league, lower_workers, upper_workers, league;
    Rows dealt;
    Scalar *y, *x;  ///< solutions of L and of U; on GPUs in the order of their slots
    Scalar* z;      ///< the same as x on hosts
    std::int32_t *lower_counters, *upper_counters;  ///< adjacent in memory
    std::int32_t counters;                          ///< of both together
    typename Impl::triangular::SweptTriangles<Scalar, Exec>::Opened swept;

    Rows rows(Rows const& of_matrix) const { return of_matrix; }

    /// \param r_given a pointer, or a Place
    template <class Vector>
    auto apply(Phase phase, Vector const& r_given) const {
      namespace tri = Impl::triangular;
      auto const r = as_read(r_given);
      using R = std::remove_const_t<decltype(r)>;
      auto const exact =
          program(tri::NothingSolved<Scalar>{phase, dealt, league, y, x, lower_counters, counters},
                  stage("Solder::incomplete::lower", phase,
                        tri::TriangularRows<Scalar, R>{lower, lower_league, lower_workers, r, y,
                                                       lower_counters},
                        tri::Keep{}),
                  stage("Solder::incomplete::upper", phase,
                        tri::TriangularRows<Scalar, Scalar const*>{
                            upper, upper_league, upper_workers, y, x, upper_counters},
                        keeper()));
      return application(program(repeat(exact, swept.sweeps == 0), swept.stages(phase, r, z)),
                         PlacedRange<Scalar const*>{dealt, league, z});
    }

   private:
    auto keeper() const {
      if constexpr (Impl::is_host_space<Exec>)
        return Impl::triangular::Keep{};
      else
        return Impl::triangular::StoreRows<Scalar>{z};
    }
  };

  /// \endcond

  /// \brief For solvers; see Application.
  Opened open(Arena<Exec>& arena) const {
    auto const vector = [&](char const* label) {
      return arena.template array<Scalar>(label, rows());
    };
    Rows const dealt = arena.equal_rows(rows());
    auto* const z = vector("Solder::incomplete::z");
    if (solves_by_sweeps()) {
      Opened opened{};
      opened.league = arena.teams(dealt.teams);
      opened.dealt = dealt;
      opened.z = z;
      opened.swept = state_->triangles.open(arena, options_.trisolve_sweeps);
      return opened;
    }
    auto* const y = vector("Solder::incomplete::y");
    auto* const x = Impl::is_host_space<Exec> ? z : vector("Solder::incomplete::x");
    std::int32_t const of_lower = state_->lower.counters(),
                       counters = of_lower + state_->upper.counters();
    auto* const first =
        arena.template array<std::int32_t>("Solder::incomplete::counters", counters);
    return {state_->lower.device_operator(),
            state_->upper.device_operator(),
            arena.teams(state_->lower.teams(arena.exec())),
            arena.teams(state_->upper.teams(arena.exec())),
            state_->lower.workers(),
            state_->upper.workers(),
            arena.teams(dealt.teams),
            dealt,
            y,
            x,
            z,
            first,
            first + of_lower,
            counters,
            {}};
  }

 private:
  using State = Impl::triangular::IncompleteState<Scalar, Exec>;

  bool solves_by_sweeps() const { return options_.trisolve == Trisolve::jacobi; }

  char const* label() const {
    switch (kind_) {
      case Factorisation::ic0:
        return "Solder::Incomplete (ic0)";
      case Factorisation::ilu0:
        return "Solder::Incomplete (ilu0)";
      case Factorisation::ick:
        return "Solder::Incomplete (ick)";
      case Factorisation::iluk:
        return "Solder::Incomplete (iluk)";
      case Factorisation::ict:
        return "Solder::Incomplete (ict)";
      default:
        return "Solder::Incomplete (ilut)";
    }
  }
  std::string name() const { return label(); }
  /// \brief Whether pivots that are too small are replaced.
  bool repairs() const { return state_->least.extent(0) > 0; }

 public:  // nvcc rejects device lambdas in private functions
  /// \cond kernels
  template <class Offset>
  SOLDER_MAKES_LAMBDAS bool has_pattern_of(Exec const& exec,
                                           CsrMatrix<Scalar, Exec, Offset> const& A) const {
    if (A.rows() != state_->rows || A.nonzeros() != state_->given_nonzeros ||
        state_->given_offsets.extent(0) == 0)
      return false;
    auto const* const old_offsets = state_->given_offsets.data();
    auto const* const old_columns = state_->given_columns.data();
    auto const* const offsets = A.row_offsets().data();
    auto const* const columns = A.column_indices().data();
    std::int32_t different = 0;
    Kokkos::parallel_reduce(
        "Solder::incomplete::compare", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
        KOKKOS_LAMBDA(int i, std::int32_t& here) {
          bool same = old_offsets[i + 1] == std::int64_t(offsets[i + 1]);
          if (same)
            for (Offset k = offsets[i]; same && k < offsets[i + 1]; ++k)
              same = old_columns[k] == columns[k];
          if (!same) here = 1;
        },
        Kokkos::Max<std::int32_t>(different));
    return different <= 0;
  }

  /// \brief The least size of each pivot, from the values of A. One kernel. Words: A's values.
  SOLDER_MAKES_LAMBDAS void find_least_pivots(Exec const& exec, Scalar const* from) const {
    auto const* const offsets = state_->given_offsets.data();
    auto const* const labels = state_->pattern.label.data();
    auto* const least = state_->least.data();
    double const tolerance = options_.drop_tolerance;
    Kokkos::parallel_for(
        "Solder::incomplete::least", Kokkos::RangePolicy<Exec>(exec, 0, state_->rows),
        KOKKOS_LAMBDA(int i) {
          std::int32_t const row = labels == nullptr ? i : labels[i];
          Impl::triangular::RowSize of_row;
          for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k) of_row.add(from[k]);
          least[i] = Impl::to_real<Scalar>(of_row.template least_pivot<Scalar>(tolerance));
        });
  }
  /// \endcond

 private:
  template <class Offset>
  void make_anew(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& given) {
    if (state_ == nullptr) state_ = std::make_shared<State>();
    bool const is_known = has_pattern_of(exec, given);  // so it has no duplicates
    auto const A = is_known ? given : sum_duplicates(exec, given);
    Kokkos::Timer timer;
    if (!is_known && !has_pattern_of(exec, A)) {
      auto const fresh =
          Impl::triangular::IncompleteAnalysis<Scalar, Exec>(exec, kind_, options_).of(A);
      fresh->analysis_seconds = timer.seconds();
      *state_ = std::move(*fresh);
    }
    timer.reset();
    state_->failure = State::unfinished;
    state_->failure = factorise(exec, A.values().data());
    state_->factorise_seconds = timer.seconds();
  }

  /// \brief Computes the factors. \return why they cannot be applied; empty if they can
  std::string factorise(Exec const& exec, Scalar const* from) {
    State& state = *state_;
    if (!state.structural.empty() || state.rows == 0) return state.structural;
    // The first factors of ilut, and mostly of ict, came with their pattern.
    bool const is_there = std::exchange(state.has_values, false);
    state.shift = state.first_shift;
    std::int32_t wrong = is_there ? -1 : eliminate(exec, from, state.shift);
    while (wrong >= 0 && is_hermitian(kind_)) {
      double const shift = Impl::triangular::shift_after(state.shift, options_.shift);
      if (shift == 0) break;
      state.shift = shift;
      wrong = eliminate(exec, from, shift);
    }
    std::string const of(to_string(kind_));
    if (wrong >= 0) {
      std::int32_t const row = state.label.empty() ? wrong : state.label[wrong];
      std::string failure =
          is_hermitian(kind_)
              ? Impl::triangular::not_positive(row, kind_, state.shift, options_)
              : "the pivot of row " + Impl::counted(row) + " of " + of + " is zero or not finite";
      if (options_.sweeps > 0)
        failure +=
            ", or the sweeps have not converged (sweeps: " + std::to_string(options_.sweeps) +
            "): take more, or 0, which eliminates";
      return failure;
    }
    if (solves_by_sweeps()) {
      state.triangles.update(exec, state.values.data());
    } else {
      state.lower.update(exec, state.values.data());
      state.upper.update(exec, state.values.data());
    }
    std::int32_t const i = solves_by_sweeps() ? state.triangles.first_without_inverse(exec)
                                              : state.upper.first_without_inverse(exec);
    exec.fence("Solder::incomplete: the factors are ready");
    if (i < 0) return {};
    return "the pivot of row " + Impl::counted(i) + " of " + of + " is too small to divide by";
  }

  /// \brief The first row, in the order of elimination, whose pivot is unusable, or -1.
  std::int32_t eliminate(Exec const& exec, Scalar const* from, double shift) {
    State& state = *state_;
    using Real = typename ScalarTraits<Scalar>::Real;
    auto const tickets = std::max(1, static_cast<std::int32_t>(state.tickets.extent(0)) - 1);
    Impl::triangular::IncompleteRows<Scalar> const rows{state.rows,
                                                        state.pattern.offsets.data(),
                                                        state.pattern.columns.data(),
                                                        state.pattern.diagonal.data(),
                                                        state.by_level.data(),
                                                        state.tickets.data(),
                                                        tickets,
                                                        state.pattern.source.data(),
                                                        from,
                                                        static_cast<Real>(1 + shift),
                                                        state.values.data(),
                                                        state.work.data(),
                                                        state.counters.data(),
                                                        state.counters.data() + 1,
                                                        is_hermitian(kind_)
                                                            ? Impl::triangular::Pivots::positive
                                                            : Impl::triangular::Pivots::nonzero,
                                                        state.least.data(),
                                                        state.counters.data() + 2};
    if (options_.sweeps > 0)
      return Impl::triangular::factorise_by_sweeps(exec, rows, state.nonzeros, options_.sweeps,
                                                   state.symmetric);
    Kokkos::deep_copy(exec, state.values, Impl::triangular::not_yet<Scalar>());
    auto const& counters = state.counters_on_host;
    counters(0) = 0;
    counters(1) = counters(3) = std::numeric_limits<std::int32_t>::max();
    counters(2) = 0;
    Impl::copy(exec, state.counters, counters);
    if (repairs()) find_least_pivots(exec, from);
    if constexpr (Impl::is_host_space<Exec>) {
      Kokkos::parallel_for(
          "Solder::incomplete::factorise",
          Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Static>, Kokkos::IndexType<int>>(
              exec, 0, state.eliminators),
          rows);
    } else {
      // More teams per multiprocessor than other kernels have: rows mostly wait for memory.
      constexpr int warps = Impl::league_threads / Impl::warp, teams_at_once = 4;
      std::int64_t const at_once = Impl::triangular::levels_ahead * state.rows / state.levels + 1,
                         wanted = (at_once + warps - 1) / warps;
      std::int64_t const most = std::int64_t(Impl::multiprocessors(exec)) * teams_at_once;
      Kokkos::parallel_for(
          "Solder::incomplete::factorise",
          Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Impl::league_threads, teams_at_once>>(
              exec, static_cast<int>(std::min(wanted, most)), warps, Impl::warp),
          rows);
    }
    Impl::copy(exec, counters, state.counters);
    exec.fence("Solder::incomplete: factorised");
    state.repaired = counters(2);
    state.first_repaired = counters(2) == 0      ? -1
                           : state.label.empty() ? counters(3)
                                                 : state.label[counters(3)];
    if (counters(1) == rows.none) return -1;
    if constexpr (Impl::is_host_space<Exec>)
      return state.by_level.extent(0) == 0 ? counters(1) : state.by_level(counters(1));
    else
      return counters(1);
  }

  Factorisation kind_;
  IncompleteOptions options_;
  std::shared_ptr<State> state_;  // shared by copies: refresh affects all
};

template <class Exec, class Scalar, class Offset>
Incomplete(Exec const&, CsrMatrix<Scalar, Exec, Offset> const&, Factorisation)
    -> Incomplete<Scalar, Exec>;
template <class Exec, class Scalar, class Offset>
Incomplete(Exec const&, CsrMatrix<Scalar, Exec, Offset> const&, Factorisation,
           IncompleteOptions const&) -> Incomplete<Scalar, Exec>;

#ifdef SOLDER_COMPILED  // in src/compiled/setups.cpp
extern template class Incomplete<float, Impl::Host>;
extern template class Incomplete<double, Impl::Host>;
extern template class Incomplete<Kokkos::complex<float>, Impl::Host>;
extern template class Incomplete<Kokkos::complex<double>, Impl::Host>;
extern template auto Impl::host_preconditioner<float>(Impl::Keeper&,
                                                      Incomplete<float, Impl::Host>::Opened const&);
extern template auto Impl::host_preconditioner<double>(
    Impl::Keeper&, Incomplete<double, Impl::Host>::Opened const&);
extern template auto Impl::host_preconditioner<Kokkos::complex<float>>(
    Impl::Keeper&, Incomplete<Kokkos::complex<float>, Impl::Host>::Opened const&);
extern template auto Impl::host_preconditioner<Kokkos::complex<double>>(
    Impl::Keeper&, Incomplete<Kokkos::complex<double>, Impl::Host>::Opened const&);
#endif

}  // namespace Solder
