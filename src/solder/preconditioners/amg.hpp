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
#include <solder/preconditioners/detail/amg/choose_interpolation.hpp>
#include <solder/preconditioners/detail/amg/cycle.hpp>
#include <solder/preconditioners/detail/amg/hierarchy.hpp>
#include <solder/preconditioners/detail/preconditioner_base.hpp>
#include <solder/preconditioners/near_nullspace.hpp>

namespace Solder {

/// \brief Algebraic multigrid: one cycle preconditions a system, real or complex. By default it is
/// smoothed aggregation (Vanek, Mandel and Brezina 1996) for a Hermitian positive definite matrix;
/// with `interpolation` extended it is classical multigrid for such matrices, and with air, the end
/// of this page, A may be nonsymmetric.
///
/// Errors that converge slowly are assumed
/// to be nearly constant (with `block_size`, each unknown of a node by itself), or to resemble the
/// vectors of a given near-nullspace, such as the rigid-body modes of elasticity (see
/// rigid_body_modes).
///
///     x = `pre` sweeps for A x = b from 0
///     r = R (b - A x),  solve A_c e = r on the next level in the same way,  x = x + P e
///     x = `post` more sweeps
///
/// P = (I - omega D^-1 F) T smooths the tentative prolongator T; F is A without its weak couplings,
/// R = P^H and A_c = R A P. A sweep is x = x + w D^-1 (b - A x). With equal numbers of sweeps
/// before and after, the cycle is Hermitian positive definite if A is, and can be used with CG.
///
/// With block_size 1 and no near-nullspace, T is 1 in each aggregate, and the diagonal of F absorbs
/// all weak couplings. Otherwise T has as many orthonormal columns in each aggregate as the vectors
/// are linearly independent there; these columns are the unknowns of a coarse node. The diagonal of
/// F then absorbs only the weak couplings between the same unknown of two nodes.
///
/// Rows (nodes) without strong couplings are left to the sweeps. Several disconnected bodies
/// therefore converge as slowly as with the sweeps alone.
///
/// Hubs, rows of more than 20 times the mean number of entries and 50 more, on any level, would
/// fill up the levels. They couple strongly to no row, and P is 1 there: each is an aggregate with
/// the rows that would couple strongly to hubs alone. With block_size or a near-nullspace there are
/// no hubs. In most of the set-up's kernels a hub's row is the work of one thread, on GPUs of a
/// few.
///
/// The set-up runs on the device: the strength of couplings (between nodes: the Frobenius norms of
/// their blocks), aggregation by an independent set of distance 2, the bases of the aggregates, the
/// sparse products, the largest eigenvalue of D^-1 A by a few steps of the Lanczos method, and the
/// inverse of the coarsest level's matrix. Every run gives the same hierarchy.
///
/// Cost of a V-cycle with one sweep before and one after: 2 levels - 1 kernels, the last of which
/// hands out the rows of z. Each level but the coarsest takes one product with
/// Q^H = P^H (I - w A D^-1) on the way down and one with [S Q] on the way up. S is the effect of
/// both sweeps on b and has A's pattern (with only one of the sweeps, the diagonal's); Q is P
/// followed by a sweep. On hosts, large levels of nodes have both matrices in blocks, too, which
/// takes two kernels more if level 0 has, and about 1.6 times the memory; several columns are taken
/// with compressed rows. Each additional sweep takes a product with A on every level, and the first
/// of them also two kernels per cycle, one at its beginning and one at its end. With `fsai`, each
/// sweep takes three kernels, products with G, G^H and A, and the coarse grid takes three, with
/// P^H, P and A. In a W-cycle the number of kernels doubles from level to level.
///
/// Row offsets of 64 bits are copied to 32. The inverse takes max_coarse_size^3 operations.
///
/// **Classical multigrid**, for diffusion whose coefficients jump or that is much stronger along
/// directions askew to the grid: with `interpolation` extended a coarse unknown is a coarse row. An
/// independent set of the rows on which others depend strongly is coarse (De Sterck, Yang and Heys
/// 2006). Only negative entries of a real matrix couple strongly, at least `strength` times the
/// largest of the row; of a complex one all that are large enough. P takes a fine row from up to
/// four coarse rows within distance two ("extended+i", De Sterck, Falgout, Nolting and Yang 2008,
/// by sparse products, Li, Sjoegreen and Yang 2021); where a row of A sums to 0, it interpolates
/// the constant exactly. R = P^H, A_c, sweeps and the cycle are as above; small entries of a real
/// cycle's Q are dropped, Q^H remaining its adjoint. Levels have 2 to 3.5 times the entries of A,
/// and their values are the same for any number of threads. A near-nullspace and block_size are
/// refused.
///
/// **Nonsymmetric matrices**, such as those of convection with or without diffusion: with
/// `interpolation` air, rows are split into fine and coarse ones (f, c) so that each fine row is
/// dominated by its diagonal entry among fine rows. Then, in any order of the rows,
///
///     R = [-A_cf D_ff^-1 (2 I - A_ff D_ff^-1), I],   A_c = R A P
///
/// approximates the ideal restriction, which leaves no error in coarse rows whatever P is
/// (Manteuffel, Muenzenmaier, Ruge and Southworth 2019). P takes up to three coarse rows' values to
/// a fine row. Sweeps are for fine rows alone: of weight 1 (jacobi), or with the weights of a
/// Chebyshev polynomial for 1/2 to 3/2. Small entries of R, A_c (into its diagonal) and of the
/// cycle's matrices are dropped. Where the levels end before max_coarse_size, the last one is
/// inverted if it has at most 1000 rows. A set-up whose levels fill in to more than 20 times the
/// entries of A fails. A level again takes two products with one sweep before and
/// one after. The diagonal of A must have no zeros, and the cycle is not Hermitian: for Gmres,
/// BiCgStab and Idr. A near-nullspace, block_size and `fsai` belong to aggregation and are refused.
///
/// \tparam Exec where it is set up and applied
/// \tparam Stored the scalar of the hierarchy's matrices: Scalar, or its single-precision
/// counterpart. The latter moves a third less in a cycle. The cycle is then only accurate to single
/// precision, which is enough for a preconditioner. Vectors stay in Scalar. The entries of A must
/// be in the range of Stored.
template <class Scalar, class Exec, class Stored = Scalar>
class Amg : public Impl::PreconditionerBase<Amg<Scalar, Exec, Stored>, Exec, Scalar> {
 public:
  /// \brief Type of the vectors.
  using scalar_type = Scalar;
  /// \brief Type of A.
  using Matrix = CsrMatrix<Scalar, Exec>;

  /// \brief A level of the hierarchy, for reports.
  struct LevelReport {
    std::int32_t rows;      ///< of the level
    std::int64_t nonzeros;  ///< of the level
  };

  /// \brief Sets up the hierarchy of A, Hermitian positive definite unless interpolation is air;
  /// the near-nullspace is constant. \throws std::invalid_argument if A is not square, an option is
  /// out of range or options do not go together
  Amg(Exec const& exec, Matrix const& A, AmgOptions const& options = {})
      : options_(options), state_(made(exec, A)) {
    this->set_made_of(A);
  }

  /// \brief Sets up the hierarchy with a near-nullspace of its own, such as rigid_body_modes().
  /// \param near_nullspace [rows][1 to 32 vectors], a rank-2 view on Exec's device, which is
  /// copied: vectors v, of any scale, for which A v is nearly zero apart from boundary conditions
  /// \throws std::invalid_argument likewise, and if a vector is not finite or does not have as many
  /// entries as A has rows
  template <class NearNullspace>
  requires(Kokkos::is_view_v<NearNullspace>)
      Amg(Exec const& exec, Matrix const& A, NearNullspace const& near_nullspace,
          AmgOptions const& options = {})
      : options_(options),
        modes_(Impl::amg::given_modes<Stored>(exec, near_nullspace)),
        state_(made(exec, A)) {
    this->set_made_of(A);
  }

  /// \brief Of a matrix with row offsets of another type, which are copied. \throws likewise, and
  /// std::length_error if it has more nonzeros than 32-bit row offsets allow (nearly 2^31)
  template <class Offset>
  requires(!std::is_same_v<Offset, std::int32_t>)
      Amg(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A,
          AmgOptions const& options = {})
      : Amg(exec, Matrix(exec, A), options) {}
  /// \brief The same with a near-nullspace.
  template <class Offset, class NearNullspace>
  requires(!std::is_same_v<Offset, std::int32_t> && Kokkos::is_view_v<NearNullspace>)
      Amg(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A,
          NearNullspace const& near_nullspace, AmgOptions const& options = {})
      : Amg(exec, Matrix(exec, A), near_nullspace, options) {}

  /// \brief Sets up again, for an A with new values or a new pattern. A given near-nullspace stays.
  /// If the pattern is unchanged, the aggregates and the patterns of all levels also stay, and only
  /// values are computed, and after the second refresh nothing is allocated: the memory of two
  /// hierarchies, and what their set-up needs, is kept. On GPUs the patterns of P^H and Q^H are
  /// kept, too, and where their entries come from: 8 bytes an entry. (If other couplings are strong
  /// with the new values, make a new Amg.) With extended and air all is chosen anew, as for a new
  /// Amg. If it throws, nothing changes.
  void refresh(Exec const& exec, Matrix const& A) {
    *state_ = std::move(*made(exec, A, state_.get()));
    this->set_made_of(A);
  }

  /// \brief The same for row offsets of another type.
  template <class Offset>
  requires(!std::is_same_v<Offset, std::int32_t>) void refresh(
      Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A) {
    refresh(exec, Matrix(exec, A));
  }

  /// \brief Rows of A.
  std::int32_t rows() const { return state_->levels.front().A.rows(); }
  /// \brief The options it was made with.
  AmgOptions const& options() const { return options_; }
  /// \brief How its levels are coarsened: never automatic.
  AmgInterpolation interpolation() const { return state_->interpolation(); }
  /// \brief All levels, the finest first.
  std::vector<LevelReport> levels() const {
    std::vector<LevelReport> reports;
    for (auto const& level : state_->levels)
      reports.push_back({level.A.rows(), level.A.nonzeros()});
    return reports;
  }
  /// \brief The nonzeros of all levels divided by those of the finest.
  double operator_complexity() const {
    double sum = 0;
    for (auto const& level : state_->levels) sum += static_cast<double>(level.A.nonzeros());
    return sum / std::max(1.0, static_cast<double>(state_->levels.front().A.nonzeros()));
  }
  /// \brief What the set-up cost and gave.
  SetupReport setup() const {
    SetupReport setup;
    setup.interpolation = to_string(interpolation());
    setup.phases = state_->phases;
    for (auto const& level : state_->levels) {
      setup.nonzeros += level.A.nonzeros();
      setup.level_rows.push_back(level.A.rows());
      setup.level_nonzeros.push_back(level.A.nonzeros());
    }
    setup.density = operator_complexity();
    if (!failure().empty())
      setup.largest_eigenvalue = std::nan("");
    else if (!is_air())
      setup.largest_eigenvalue = state_->levels.front().largest;
    return setup;
  }
  /// \brief A sentence that says why it cannot be applied; empty if it can.
  std::string failure() const { return state_->failure; }

  /// \brief Words of sizeof(Of) that one application moves, not counting its operand and result; 0
  /// if it cannot be applied or there are no rows.
  template <class Of>
  double words(std::int32_t) const {
    if (!failure().empty() || rows() == 0) return 0;
    double vectors = 0, matrices = 0, times = 1;
    auto const& levels = state_->levels;
    Impl::amg::Way const way = this->way(1);
    for (std::size_t l = 0; l < levels.size(); ++l) {
      auto const& level = levels[l];
      double const n = level.A.rows(), A = level.A.words();
      bool const coarsest = l + 1 == levels.size(), again = way.twice && l > 0 && !coarsest,
                 in_blocks = is_in_blocks(l, 1);
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
        of_matrices = (in_blocks ? level.SQ_blocks->words() : level.SQ->words()) + more * A;
        of_vectors = 2 * n + more * 6.5 * n + (in_blocks && l == 0 ? 3 * n : 0);
        if (!coarsest) {
          of_matrices += in_blocks ? level.QH_blocks->words() : level.QH->words();
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

  /// \brief What solvers embed in their programs; see Application.
  Impl::amg::Opened<Scalar, Stored> open(Arena<Exec>& arena) const {
    auto const& levels = state_->levels;
    Impl::amg::Opened<Scalar, Stored> opened{};
    auto& cycle = opened.levels;
    static_cast<Impl::amg::Way&>(cycle) = way(arena.columns());
    auto const before = weights(options_.pre, is_air()), after = weights(options_.post, is_air());
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
      if (l > 0 || !cycle.hands_out()) {
        bool const has_z = !cycle.split || coarsest;
        if (is_in_blocks(l, arena.columns())) {  // [b; e] in one vector
          to.b = arena.template vector<Scalar>(
              "Solder::amg::b_and_e", std::int64_t(from.A.rows()) + levels[l + 1].A.rows());
          to.QH_blocks = from.QH_blocks->device_operator();
          to.SQ_blocks = from.SQ_blocks->device_operator();
          to.QH_blocks_league = arena.teams(to.QH_blocks.teams);
          to.SQ_blocks_league = arena.teams(to.SQ_blocks.teams);
        } else {
          to.b = vector("Solder::amg::b");
        }
        if (has_z && l > 0 && is_in_blocks(l - 1, arena.columns()))
          to.z = cycle.level[l - 1].b + levels[l - 1].A.rows();
        else if (has_z)
          to.z = vector("Solder::amg::z");
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
                "Solder::Amg: Stored must be Scalar or its single-precision counterpart");
  using State = Impl::amg::Hierarchy<Stored, Exec>;

  /// \param before a hierarchy whose aggregates are kept if A has its pattern
  std::shared_ptr<State> made(Exec const& exec, Matrix const& A,
                              State const* before = nullptr) const {
    check(options_, "Solder::Amg");
    if (auto const why = Impl::amg::cycle_failures(options_, "", "", modes_.count > 0);
        !why.empty())
      throw std::invalid_argument("Solder::Amg: " + why.front().text);
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
      throw std::invalid_argument("Solder::Amg: the near-nullspace has " +
                                  std::to_string(modes_.rows()) + " rows, but the matrix has " +
                                  std::to_string(A.rows()) + " rows");
    return Impl::with_memory_for("Solder::Amg", A.rows(), A.nonzeros(),
                                 [&] { return made_of(exec, A, before); });
  }

  std::shared_ptr<State> made_of(Exec const& exec, Matrix const& A, State const* before) const {
    std::int32_t const size = options_.block_size;
    bool const given = modes_.count > 0;
    Impl::KeptArrays::Use const use(this->kept_arrays(), exec);
    [[maybe_unused]] std::optional<Impl::PooledAllocations<Exec>> pool;
    if constexpr (!Impl::is_host_space<Exec>)
      pool.emplace(Impl::amg::bytes_at_once<Stored>(A.nonzeros()));
    AmgInterpolation const interpolation = chosen_interpolation(exec, A);
    bool const air = interpolation == AmgInterpolation::air;
    auto state = Impl::amg::make_hierarchy<Stored>(
        exec, A, options_.strength, options_.max_levels, options_.max_coarse_size,
        Impl::amg::Sweeps{
            .before = beside_coarse(options_.pre, air),
            .after = beside_coarse(options_.post, air),
            .split = is_split(),
            .interpolation = interpolation,
            .plain = Impl::amg::Way{.pre = options_.pre, .post = options_.post, .split = is_split()}
                         .is_plain()},
        given || size == 1 ? modes_ : Impl::amg::constant_modes<Stored>(exec, A.rows(), size), size,
        before != nullptr && before->interpolation() == interpolation ? before : nullptr);
    if (!std::is_same_v<Stored, Scalar> && !state->failure.empty())
      state->failure +=
          ", in single precision: if the matrix itself is sound, scale it or keep its precision";
    return state;
  }

  AmgInterpolation chosen_interpolation(Exec const& exec, Matrix const& A) const {
    if (Impl::amg::looks_at_matrix(options_, modes_.count > 0))
      return Impl::amg::choose_interpolation(exec, A);
    return options_.interpolation == AmgInterpolation::automatic ? AmgInterpolation::aggregation
                                                                 : options_.interpolation;
  }
  bool is_air() const { return interpolation() == AmgInterpolation::air; }
  bool is_split() const { return options_.smoother == AmgSmoother::fsai; }
  /// \brief Whether the products of a level are taken in blocks.
  bool is_in_blocks(std::size_t level, std::int32_t columns) const {
    return columns == 1 && state_->levels[level].SQ_blocks.has_value();
  }
  Impl::amg::Way way(std::int32_t columns) const {
    return {.levels = static_cast<std::int32_t>(state_->levels.size()),
            .pre = options_.pre,
            .post = options_.post,
            .columns = columns,
            .in_blocks = is_in_blocks(0, columns),
            .direct = state_->is_direct,
            .split = is_split(),
            .twice = options_.cycle == AmgCycle::w};
  }
  /// \brief The weights of `sweeps` sweeps, times the largest eigenvalue. The first is that of the
  /// sweep next to the coarse grid.
  std::vector<double> weights(int sweeps, bool air) const {
    using Impl::amg::air_bound, Impl::amg::least_of_air;
    if (options_.smoother == AmgSmoother::jacobi)
      return std::vector<double>(sweeps, air ? air_bound : 4.0 / 3);
    return Impl::amg::chebyshev_weights(sweeps, air ? least_of_air / air_bound : share);
  }
  double beside_coarse(int sweeps, bool air) const {
    return sweeps == 0 ? 0 : weights(sweeps, air).front();
  }

  /// The smallest eigenvalue that the coarse grid leaves to the sweeps, as a share of the largest.
  static constexpr double share = 0.2;

  AmgOptions options_;
  Impl::amg::Modes<Stored, Exec> modes_;  ///< as given
  std::shared_ptr<State> state_;
};

template <class Scalar, class Exec, class Offset>
Amg(Exec const&, CsrMatrix<Scalar, Exec, Offset> const&, AmgOptions const& = {})
    -> Amg<Scalar, Exec>;
template <class Scalar, class Exec, class Offset, class NearNullspace>
requires(Kokkos::is_view_v<NearNullspace>) Amg(Exec const&, CsrMatrix<Scalar, Exec, Offset> const&,
                                               NearNullspace const&, AmgOptions const& = {})
->Amg<Scalar, Exec>;

}  // namespace Solder
