// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/preconditioners/amg_options.hpp>
#include <solder/preconditioners/detail/amg/cycle.hpp>
#include <solder/preconditioners/detail/amg/hierarchy.hpp>
#include <solder/preconditioners/near_nullspace.hpp>

namespace Solder {

/// \brief Smoothed aggregation multigrid, a cycle as the preconditioner of Hermitian positive
/// definite systems (Vanek, Mandel and Brezina 1996), real and complex. What is slow to converge is
/// taken to be nearly constant, with `block_size` each unknown of a node by itself, or to look like
/// the vectors of a near-nullspace that is given, such as the rigid-body modes of elasticity (see
/// rigid_body_modes).
///
///     x = `pre` sweeps for A x = b from 0
///     r = R (b - A x),  solve A_c e = r on the next level in the same way,  x = x + P e
///     x = `post` sweeps more
///
/// with P = (I - omega D^-1 F) T of the tentative prolongator T, F being A without its weak
/// couplings, R = P^H and A_c = R A P. A sweep is x = x + w D^-1 (b - A x). With as many sweeps
/// after as before the cycle is Hermitian positive definite as A is: for CG. T is 1 in each
/// aggregate, or, of several vectors, has in each aggregate as many orthonormal columns as these
/// are independent there: the unknowns of a node of the coarse grid. The diagonal of F takes the
/// weak couplings up, of several vectors those of the same unknown of a node. Rows (nodes) without
/// strong couplings are left to the sweeps: several bodies that nothing holds together converge as
/// slowly as by these alone.
///
/// Set up on the device: strength of coupling (of nodes: by the Frobenius norms of their blocks),
/// aggregation by an independent set of distance 2, the bases of aggregates, the sparse products,
/// the largest eigenvalue of D^-1 A by a few steps of Lanczos's method, the inverse of the coarsest
/// level's matrix. The same hierarchy in every run.
///
/// Cost of a V-cycle with a sweep before and one after: of each level but the coarsest a product
/// with Q^H = P^H (I - w A D^-1) down and one with [S Q] up, where S is what both sweeps make of b,
/// which has A's pattern (without one of them: the diagonal's), and Q a sweep after P: 2 levels - 1
/// kernels, the last of which hands out the rows of z. A sweep more takes a product with A a level,
/// and any more two kernels, at the beginning and the end. Sweeps with G^H G of `fsai` take three
/// kernels each, products with G, G^H and A, the coarse grid P^H, P and A. Those of a W-cycle
/// double from level to level.
///
/// The matrix has 32-bit row offsets. The inverse takes max_coarse_size^3 operations.
///
/// \tparam Exec where it is set up and applied
/// \tparam Stored the scalar of the hierarchy's matrices: Scalar, or its single-precision kin,
/// which takes a third from what a cycle moves; the cycle is then as true as that, and so still fit
/// for a preconditioner. Its vectors are Scalar's. Entries of A must be in this scalar's range.
template <class Scalar, class Exec, class Stored = Scalar>
class Amg {
 public:
  using scalar_type = Scalar;
  using Matrix = CsrMatrix<Scalar, Exec>;

  /// \brief A level of the hierarchy, for people.
  struct LevelReport {
    std::int32_t rows;
    std::int64_t nonzeros;
  };

  /// \throws std::invalid_argument where A is not square or an option is out of range
  Amg(Exec const& exec, Matrix const& A, AmgOptions const& options = {})
      : options_(options), state_(made(exec, A)) {}

  /// \param near_nullspace [rows][1 to 32 vectors], a rank-2 view on Exec's device, copied:
  /// vectors that A makes nearly zero of, up to boundary conditions, of any scale
  /// \throws std::invalid_argument likewise, and where these are not finite or have not A's rows
  template <class NearNullspace>
  requires(Kokkos::is_view_v<NearNullspace>)
      Amg(Exec const& exec, Matrix const& A, NearNullspace const& near_nullspace,
          AmgOptions const& options = {})
      : options_(options),
        modes_(Impl::amg::given_modes<Stored>(exec, near_nullspace)),
        state_(made(exec, A)) {}

  /// \brief Sets up anew, for A with other values or of another pattern; a near-nullspace that was
  /// given stays. Where the pattern is the same, the aggregates are kept too, and the patterns of
  /// all levels: only values are computed. (For values whose couplings are strong elsewhere make
  /// another Amg.) Where it throws, everything stays as it was.
  void refresh(Exec const& exec, Matrix const& A) {
    *state_ = std::move(*made(exec, A, state_.get()));
  }

  std::int32_t rows() const { return state_->levels.front().A.rows(); }
  AmgOptions const& options() const { return options_; }
  std::vector<LevelReport> levels() const {
    std::vector<LevelReport> reports;
    for (auto const& level : state_->levels)
      reports.push_back({level.A.rows(), level.A.nonzeros()});
    return reports;
  }
  /// \brief Nonzeros of all levels, by those of the finest.
  double operator_complexity() const {
    double sum = 0;
    for (auto const& level : state_->levels) sum += static_cast<double>(level.A.nonzeros());
    return sum / std::max(1.0, static_cast<double>(state_->levels.front().A.nonzeros()));
  }
  SetupReport setup() const {
    SetupReport setup;
    setup.phases = state_->phases;
    for (auto const& level : state_->levels) {
      setup.nonzeros += level.A.nonzeros();
      setup.level_rows.push_back(level.A.rows());
      setup.level_nonzeros.push_back(level.A.nonzeros());
    }
    setup.density = operator_complexity();
    setup.largest_eigenvalue = defect().empty() ? state_->levels.front().largest : std::nan("");
    return setup;
  }
  /// \brief Why it cannot be applied, in a sentence; empty where it can.
  std::string defect() const { return state_->defect; }

  /// \brief Words of sizeof(Of) that one application moves, its operand and result apart; 0 where
  /// it cannot be applied, or there are no rows.
  template <class Of>
  double words(std::int32_t) const {
    if (!defect().empty() || rows() == 0) return 0;
    double vectors = 0, matrices = 0, times = 1;
    auto const& levels = state_->levels;
    Impl::amg::Way const way = this->way();
    for (std::size_t l = 0; l < levels.size(); ++l) {
      auto const& level = levels[l];
      double const n = level.A.rows(), A = level.A.words();
      bool const coarsest = l + 1 == levels.size(), again = way.twice && l > 0 && !coarsest;
      double const next = coarsest ? 0 : levels[l + 1].A.rows();
      double of_matrices = 0, of_vectors = 0;
      if (coarsest && way.direct) {
        of_matrices = level.SQ->words();
        of_vectors = 2 * n;
      } else if (way.split) {
        double const sweeps = way.pre + way.post;
        of_matrices = sweeps * (level.fsai->G().words() + level.fsai->GH().words() + A) - A;
        of_vectors = sweeps * 11 * n;
        if (!coarsest) {
          of_matrices += level.QH->words() + level.P->words() + A;
          of_vectors += 8 * n + 2 * next;
        }
      } else {
        double const more = way.more_before() + way.more_after();
        of_matrices = level.SQ->words() + more * A;
        of_vectors = 2 * n + more * 6.5 * n;
        if (!coarsest) {
          of_matrices += level.QH->words();
          of_vectors += n + 2 * next;
        }
      }
      if (again) {
        times *= 2;
        matrices += times / 2 * A;
        vectors += times / 2 * 8 * n;
      }
      matrices += times * of_matrices;
      vectors += times * of_vectors;
    }
    return vectors + matrices * sizeof(Stored) / sizeof(Of);
  }

  /// \brief What solvers take along; see Application.
  Impl::amg::Opened<Scalar, Stored> open(Arena<Exec>& arena) const {
    auto const& levels = state_->levels;
    Impl::amg::Opened<Scalar, Stored> opened{};
    auto& cycle = opened.levels;
    static_cast<Impl::amg::Way&>(cycle) = way();
    cycle.columns = arena.columns();
    auto const before = weights(options_.pre), after = weights(options_.post);
    for (std::size_t l = 0; l < levels.size(); ++l) {
      auto const& from = levels[l];
      auto& to = cycle.level[l];
      auto const vector = [&](char const* label) {
        return arena.template vector<Scalar>(label, from.A.rows());
      };
      bool const coarsest = l + 1 == levels.size(), again = cycle.twice && l > 0 && !coarsest;
      to.A = from.A.device_operator();
      to.QH = from.QH ? from.QH->device_operator() : to.A;
      to.SQ = from.SQ ? from.SQ->device_operator() : from.P ? from.P->device_operator() : to.A;
      to.G = from.fsai ? from.fsai->G().device_operator() : to.A;
      to.GH = from.fsai ? from.fsai->GH().device_operator() : to.A;
      to.A_league = arena.teams(to.A.teams);
      to.SQ_league = arena.teams(to.SQ.teams);
      to.QH_league = arena.teams(to.QH.teams);
      to.G_league = arena.teams(to.G.teams);
      to.GH_league = arena.teams(to.GH.teams);
      to.inverse = {from.D.open(arena)};
      if (l > 0 || !cycle.is_plain()) {
        to.b = vector("Solder::amg::b");
        if (!cycle.split || coarsest) to.z = vector("Solder::amg::z");
      }
      if (again) to.kept = vector("Solder::amg::kept");
      if (!cycle.is_plain()) {
        to.x = vector("Solder::amg::x");
        for (auto& r : to.r) r = vector("Solder::amg::r");
      }
      if (from.fsai) {
        to.t = vector("Solder::amg::t");
        to.y = vector("Solder::amg::y");
      }
      double const largest = from.fsai ? from.largest_of_fsai : from.largest;
      for (int k = 0; k < options_.pre; ++k)
        to.before[k] = Impl::to_real<Scalar>(before[k] / largest);
      for (int k = 0; k < options_.post; ++k)
        to.after[k] = Impl::to_real<Scalar>(after[k] / largest);
    }
    opened.dealt = cycle.split ? cycle.level[0].A.rows : cycle.level[0].SQ.rows;
    return opened;
  }

 private:
  static_assert(std::is_same_v<Wide<Scalar>, Wide<Stored>> && sizeof(Stored) <= sizeof(Scalar),
                "Solder::Amg: a hierarchy is stored in Scalar or in its single-precision kin");
  using State = Impl::amg::Hierarchy<Stored, Exec>;

  /// \param before whose aggregates stay where A has its pattern
  std::shared_ptr<State> made(Exec const& exec, Matrix const& A,
                              State const* before = nullptr) const {
    check(options_, "Solder::Amg");
    if (options_.pre + options_.post == 0)
      throw std::invalid_argument("Solder::Amg: pre and post are both 0: a cycle needs sweeps");
    if (A.rows() != A.columns())
      throw std::invalid_argument("Solder::Amg: a square matrix is needed, not " +
                                  std::to_string(A.rows()) + " x " + std::to_string(A.columns()));
    std::int32_t const size = options_.block_size;
    if (A.rows() % size != 0)
      throw std::invalid_argument("Solder::Amg: block_size " + std::to_string(size) +
                                  " does not divide the " + std::to_string(A.rows()) +
                                  " rows of the matrix");
    bool const given = modes_.count > 0;
    if (given && modes_.rows() != A.rows())
      throw std::invalid_argument(
          "Solder::Amg: a near-nullspace of " + std::to_string(modes_.rows()) +
          " rows is not one of a matrix of " + std::to_string(A.rows()) + " rows");
    return Impl::with_memory_for("Solder::Amg", A.rows(), A.nonzeros(),
                                 [&] { return made_of(exec, A, before); });
  }

  std::shared_ptr<State> made_of(Exec const& exec, Matrix const& A, State const* before) const {
    std::int32_t const size = options_.block_size;
    bool const given = modes_.count > 0;
    [[maybe_unused]] std::optional<Impl::PooledAllocations<Exec>> pool;
    if constexpr (!Impl::is_host_space<Exec>) pool.emplace();
    auto state = Impl::amg::make_hierarchy<Stored>(
        exec, A, options_.strength, options_.max_levels, options_.max_coarse_size,
        Impl::amg::Sweeps{beside_coarse(options_.pre), beside_coarse(options_.post), is_split()},
        given || size == 1 ? modes_ : Impl::amg::constant_modes<Stored>(exec, A.rows(), size), size,
        before);
    if (!std::is_same_v<Stored, Scalar> && !state->defect.empty())
      state->defect +=
          ", in single precision: where the matrix itself is sound, scale it or keep its precision";
    return state;
  }

  bool is_split() const { return options_.smoother == AmgSmoother::fsai; }
  Impl::amg::Way way() const {
    return {.levels = static_cast<std::int32_t>(state_->levels.size()),
            .pre = options_.pre,
            .post = options_.post,
            .columns = 1,
            .direct = state_->is_direct,
            .split = is_split(),
            .twice = options_.cycle == AmgCycle::w};
  }
  /// \brief Of so many sweeps, times the largest eigenvalue; the first is that beside the coarse
  /// grid.
  std::vector<double> weights(int sweeps) const {
    if (options_.smoother == AmgSmoother::jacobi) return std::vector<double>(sweeps, 4.0 / 3);
    return Impl::amg::chebyshev_weights(sweeps, share);
  }
  double beside_coarse(int sweeps) const { return sweeps == 0 ? 0 : weights(sweeps).front(); }

  /// Of the largest eigenvalue: where what a coarse grid leaves to the sweeps begins.
  static constexpr double share = 0.2;

  AmgOptions options_;
  Impl::amg::Modes<Stored, Exec> modes_;  ///< that were given
  std::shared_ptr<State> state_;
};

template <class Scalar, class Exec>
Amg(Exec const&, CsrMatrix<Scalar, Exec> const&, AmgOptions const& = {}) -> Amg<Scalar, Exec>;
template <class Scalar, class Exec, class NearNullspace>
requires(Kokkos::is_view_v<NearNullspace>)
    Amg(Exec const&, CsrMatrix<Scalar, Exec> const&, NearNullspace const&, AmgOptions const& = {})
->Amg<Scalar, Exec>;

}  // namespace Solder
