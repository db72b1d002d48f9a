// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/preconditioners/detail/amg/cycle.hpp>
#include <solder/preconditioners/detail/amg/hierarchy.hpp>
#include <solder/preconditioners/near_nullspace.hpp>

namespace Solder {

/// \brief `jacobi`: damped, every sweep alike. `chebyshev`: the sweeps' weights are the inverse
/// roots of a Chebyshev polynomial.
enum class AmgSmoother { jacobi, chebyshev };

constexpr std::string_view to_string(AmgSmoother smoother) {
  return smoother == AmgSmoother::jacobi ? "jacobi" : "chebyshev";
}

struct AmgOptions {
  /// Couplings are strong from this share of the geometric mean of both rows' largest; 0 to 1.
  double strength = 0.25;
  AmgSmoother smoother = AmgSmoother::chebyshev;
  int sweeps = 1;               ///< before and after the coarse grid, 1 to 8
  int levels = 16;              ///< at most, 2 to 16
  std::int32_t coarsest = 128;  ///< rows up to which a level is inverted on the host, 1 to 1000
  /// Unknowns of a node, which follow one another, such as the displacements of a point: they
  /// aggregate as one; 1 to 32, a divisor of the rows.
  std::int32_t block_size = 1;
};

/// \brief Smoothed aggregation multigrid, a V-cycle as the preconditioner of Hermitian positive
/// definite systems (Vanek, Mandel and Brezina 1996), real and complex. What is slow to converge is
/// taken to be nearly constant, with `block_size` each unknown of a node by itself, or to look like
/// the vectors of a near-nullspace that is given, such as the rigid-body modes of elasticity (see
/// rigid_body_modes).
///
///     x = first sweeps for A x = b from 0
///     r = R (b - A x),  solve A_c e = r on the next level in the same way,  x = x + P e
///     x = as many sweeps more
///
/// with P = (I - omega D^-1 F) T of the tentative prolongator T, F being A without its weak
/// couplings, R = P^H and A_c = R A P. A sweep is x = x + w D^-1 (b - A x). The cycle is Hermitian
/// positive definite as A is: for CG. T is 1 in each aggregate, or, of several vectors, has in each
/// aggregate as many orthonormal columns as these are independent there: the unknowns of a node of
/// the coarse grid. The diagonal of F takes the weak couplings up, of several vectors those of the
/// same unknown of a node. Rows (nodes) without strong couplings are left to the sweeps: several
/// bodies that nothing holds together converge as slowly as by these alone.
///
/// Set up on the device: strength of coupling (of nodes: by the Frobenius norms of their blocks),
/// aggregation by an independent set of distance 2, the bases of aggregates, the sparse products,
/// the largest eigenvalue of D^-1 A by a few steps of Lanczos's method. The coarsest level is
/// inverted on the host. The same hierarchy in every run.
///
/// Cost of a cycle with one sweep: of each level but the coarsest a product with Q^H = P^H (I - w A
/// D^-1) down and one with [S Q] up, where S is what both sweeps make of b, which has A's pattern,
/// and Q a sweep after P: 2 levels - 1 kernels, the last of which hands out the rows of z. A sweep
/// more takes two products with A a level, and any more two kernels, at the beginning and the end.
///
/// The matrix has 32-bit row offsets. The inverse takes coarsest^3 operations.
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
  /// vectors that A makes nearly zero of, up to boundary conditions; entries up to 1e150
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
    setup.largest_eigenvalue = state_->levels.front().largest;
    return setup;
  }
  /// \brief Why it cannot be applied, in a sentence; empty where it can.
  std::string defect() const { return state_->defect; }

  /// \brief Words of sizeof(Of) that one application moves, its operand and result apart.
  template <class Of>
  double words(std::int32_t) const {
    double vectors = 0, matrices = 0;
    auto const& levels = state_->levels;
    for (std::size_t l = 0; l < levels.size(); ++l) {
      double const n = levels[l].A.rows();
      bool const coarsest = l + 1 == levels.size(), direct = coarsest && state_->is_direct;
      if (levels[l].SQ) {
        matrices += levels[l].SQ->words();
        vectors += 2 * n;
      }
      if (levels[l].QH) {
        matrices += levels[l].QH->words();
        vectors += n + 2.0 * levels[l + 1].A.rows();
      }
      if (direct) continue;
      matrices += (options_.sweeps - 1) * 2 * levels[l].A.words();
      vectors += (options_.sweeps - 1) * 13 * n;
    }
    return vectors + matrices * sizeof(Stored) / sizeof(Of);
  }

  /// \brief What solvers take along; see Application.
  Impl::amg::Opened<Scalar, Stored> open(Arena<Exec>& arena) const {
    auto const& levels = state_->levels;
    Impl::amg::Opened<Scalar, Stored> opened{};
    auto& cycle = opened.levels;
    std::vector<double> const of_sweeps = weights();
    cycle.levels = static_cast<std::int32_t>(levels.size());
    cycle.sweeps = options_.sweeps;
    cycle.columns = arena.columns();
    cycle.direct = state_->is_direct;
    for (std::size_t l = 0; l < levels.size(); ++l) {
      auto& to = cycle.level[l];
      auto const vector = [&](char const* label) {
        return arena.template vector<Scalar>(label, levels[l].A.rows());
      };
      to.A = levels[l].A.device_operator();
      to.SQ = levels[l].SQ ? levels[l].SQ->device_operator() : to.A;
      to.QH = levels[l].QH ? levels[l].QH->device_operator() : to.A;
      to.A_league = arena.teams(to.A.teams);
      to.SQ_league = arena.teams(to.SQ.teams);
      to.QH_league = arena.teams(to.QH.teams);
      to.inverse = {levels[l].D.open(arena)};
      bool const more_sweeps = options_.sweeps > 1;
      if (l > 0 || more_sweeps) {
        to.b = vector("Solder::amg::b");
        to.z = vector("Solder::amg::z");
      }
      if (more_sweeps) {
        to.x = vector("Solder::amg::x");
        for (auto& r : to.r) r = vector("Solder::amg::r");
      }
      for (int k = 0; k < options_.sweeps; ++k)
        to.weights[k] = Impl::to_real<Scalar>(of_sweeps[k] / levels[l].largest);
    }
    opened.dealt = cycle.level[0].SQ.rows;
    return opened;
  }

 private:
  static_assert(std::is_same_v<Wide<Scalar>, Wide<Stored>> && sizeof(Stored) <= sizeof(Scalar),
                "Solder::Amg: a hierarchy is stored in Scalar or in its single-precision kin");
  using State = Impl::amg::Hierarchy<Stored, Exec>;

  /// \param before whose aggregates stay where A has its pattern
  std::shared_ptr<State> made(Exec const& exec, Matrix const& A,
                              State const* before = nullptr) const {
    if (!(options_.strength >= 0 && options_.strength <= 1) || options_.sweeps < 1 ||
        options_.sweeps > Impl::amg::most_sweeps || options_.levels < 2 ||
        options_.levels > Impl::amg::most_levels || options_.coarsest < 1 ||
        options_.coarsest > 1000 || options_.block_size < 1 ||
        options_.block_size > Impl::amg::most_modes)
      throw std::invalid_argument(
          "Solder::Amg: strength must be from 0 to 1, sweeps from 1 to 8, levels from 2 to 16, "
          "coarsest from 1 to 1000 and block_size from 1 to 32");
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
    [[maybe_unused]] std::optional<Impl::PooledAllocations<Exec>> pool;
    if constexpr (!Impl::is_host_space<Exec>) pool.emplace();
    auto state = std::make_shared<State>(
        exec, A, options_.strength, options_.levels, options_.coarsest, weights().front(),
        given || size == 1 ? modes_ : Impl::amg::constant_modes<Stored>(exec, A.rows(), size), size,
        before);
    if (!std::is_same_v<Stored, Scalar> && !state->defect.empty())
      state->defect +=
          ", in single precision: where the matrix itself is sound, scale it or keep its precision";
    return state;
  }

  /// \brief Of the sweeps, times the largest eigenvalue; the first one's are those beside the
  /// coarse grid.
  std::vector<double> weights() const {
    if (options_.smoother == AmgSmoother::jacobi)
      return std::vector<double>(options_.sweeps, 4.0 / 3);
    return Impl::amg::chebyshev_weights(options_.sweeps, share);
  }

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
