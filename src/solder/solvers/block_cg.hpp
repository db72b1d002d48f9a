// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/core/identity.hpp>
#include <solder/solvers/block_cg_options.hpp>
#include <solder/solvers/detail/block_cg_stages.hpp>
#include <solder/solvers/detail/method.hpp>
#include <solder/solvers/detail/residual_check.hpp>

namespace Solder {

namespace Impl {
template <class Exec, class OpenedA, class OpenedM>
class BlockCgMethod;
}

/// \brief The block method of conjugate gradients (O'Leary 1980) for several right-hand sides of
/// one real symmetric or complex Hermitian positive definite matrix: all columns search in one
/// space, which grows by b directions an iteration, and need fewer iterations than each alone.
///
/// The residuals are R = Q C D, where the columns of Q are orthonormal in the inner product of M
/// (BCGrQ: Dubrulle 2001, preconditioned), so linear dependence among residuals does no harm:
///
///     alpha = (P^H A P)^-1                      kernels: product, inner products, step
///     Y = Y + P alpha C,  Q = Q - A P alpha     update; with Z = M Q where M is pointwise
///     Z = M Q                                   kernels of M, where it is not
///     Q^H Z = S^H S                             inner products (two where M is not 1), factor
///     Q = Q S^-1, C = S C, P = Z S^-1 + P S^H   direction; Q S^-1 is made in the next update
///
/// and X = X + Y D when the columns are checked. S comes from a Cholesky factorisation with pivots;
/// directions whose pivots are rounding leave the block. A column has converged when its own true
/// residual says so. Such columns are left as they are, and the others begin anew from their true
/// residuals where the recursion has parted from them.
///
/// Cost of an iteration of b columns: 7 kernels without M, else 8 and those of M; the matrix once;
/// 15 words for each row and column, 19 with an M; 8 b operations a word, on top of the product's.
///
/// All columns end together as indefinite where A or M is, and as not_finite where a NaN comes up
/// in the iteration. A NaN in b or x of one column concerns that column alone. check_symmetry tells
/// whether A is Hermitian.
///
/// \tparam Matrix CsrMatrix
/// \tparam Preconditioner Hermitian positive definite: none, Jacobi, Fsai, Amg, or Chebyshev with
///         one of them
template <class Exec, class Matrix, class Preconditioner = Identity>
class BlockCg {
 public:
  /// \brief Type of the entries of A, b and x.
  using scalar_type = typename Matrix::scalar_type;

  /// \brief Takes no memory yet: the first solve allocates for its number of columns. All work of
  /// all solves goes to exec, by launch on hosts and by graph on GPUs.
  /// \throws std::invalid_argument where A is not square, M has another size, either takes no
  /// vectors of several right-hand sides, or an option is out of range
  BlockCg(Exec const& exec, Matrix const& A, Preconditioner const& M = {},
          BlockCgOptions const& options = {}) {
    Impl::with_memory_for("Solder: a solver is set up", A.rows(), A.nonzeros(), [&] {
      system_ = std::make_shared<Impl::SystemOf<Exec, Matrix, Preconditioner>>(A, M);
      method_ = {exec, system_, options};
    });
    Impl::check_system("Solder::BlockCg", *system_, options);
    Impl::check_block(system_->rows(), method_.columns().are_solved_at_once());
  }

  /// \brief Solves A X = B from the initial guesses in X, up to 32 columns in a block, more in
  /// equal groups. A report for each column; see the solve of several right-hand sides of other
  /// solvers. \throws std::invalid_argument where b or x has other extents, they overlap, or M,
  /// set up anew, has another size
  template <class B, class X>
  requires(B::rank() == 2 && X::rank() == 2) std::vector<Report> solve(B const& b, X const& x) {
    Impl::check_columns<Exec>("Solder::BlockCg", system_->rows(), b, x);
    return Impl::with_memory_for("Solder::BlockCg", system_->rows(), system_->nonzeros(), [&] {
      return method_.columns().solve(Impl::ColumnsView<scalar_type const>(b),
                                     Impl::ColumnsView<scalar_type>(x));
    });
  }

 private:
  using SystemSeen = typename Impl::SystemOf<Exec, Matrix, Preconditioner>::AsSeen;

  std::shared_ptr<SystemSeen> system_;
  Impl::MethodOfSystem<Impl::BlockCgMethod, Exec, typename SystemSeen::OpenedA,
                       typename SystemSeen::OpenedM, BlockCgOptions>
      method_;
};

namespace Impl {

template <class Exec, class OpenedA, class OpenedM>
class BlockCgMethod : public MethodBase<BlockCgMethod<Exec, OpenedA, OpenedM>, Exec, OpenedA,
                                        OpenedM, BlockCgOptions> {
  using Base = MethodBase<BlockCgMethod, Exec, OpenedA, OpenedM, BlockCgOptions>;

 public:
  using Scalar = typename OpenedA::scalar_type;
  static constexpr char name[] = "Solder::BlockCg", label[] = "Solder::block_cg::solve";
  static constexpr bool takes_many = true, is_block = true;
  using Base::Base;

  template <class Use>
  void with_form(Scalar const* b, Scalar* x, Use const& use) {
    use(block(b, x));
  }

 private:
  using Number = Wide<Scalar>;
  using Small = BlockSmall<Scalar>;
  static constexpr bool pointwise = OpenedM::is_pointwise, is_identity = OpenedM::is_identity;
  using Pointwise = std::conditional_t<pointwise, OpenedM, NoOperation>;

  auto block(Scalar const* b, Scalar* x) {
    auto& arena = this->arena();
    OpenedA const A = this->open_matrix();
    OpenedM const M = this->open_preconditioner();
    Limits const limits = this->checked(b, x).limits;
    std::int32_t const b_ = this->columns();
    Rows const rows = A.rows;
    int const league = block_league(arena.exec(), rows.count, b_, rows.teams),
              gram_teams = gram_league(arena.exec(), rows.count, b_, rows.teams);
    Scalar *const q = this->vector("Solder::block_cg::q"),
                  *const p = this->vector("Solder::block_cg::p"),
                  *const v = this->vector("Solder::block_cg::v"),
                  *const y = this->vector("Solder::block_cg::y"),
                  *const z = is_identity ? q : this->vector("Solder::block_cg::z");
    Small const small{arena.template array<double>("Solder::block_cg::small", Small::size(b_)), b_};
    auto const inner_products = [&](char const* label) {
      return arena.template array<Number>(label, std::int64_t(gram_teams) * b_ * b_);
    };
    Number *const of_H = inner_products("Solder::block_cg::H"),
                  *const of_W = is_identity ? nullptr : inner_products("Solder::block_cg::W");
    Pointwise const m = [&] {
      if constexpr (pointwise)
        return M;
      else
        return NoOperation{};
    }();
    Scalar* const z_of_pointwise = pointwise && !is_identity ? z : nullptr;

    auto const gram = [&](Phase phase, Scalar const* left, Scalar const* right, Number* partials) {
      return BlockGram<Scalar>{phase, rows, gram_teams, b_, left, right, partials};
    };
    auto const factor = [&](Phase phase) {
      return BlockFactor<Scalar>{{small, limits}, phase, of_H, of_W, gram_teams};
    };
    auto const times = [&](Scalar* out, Scalar const* from, typename Small::Matrix matrix,
                           Scalar const* from_too = nullptr,
                           typename Small::Matrix matrix_too = Small::T, bool sums_up = false) {
      return BlockProduct<Scalar>{
          out, {from, from_too}, {small.matrix(matrix), small.matrix(matrix_too)}, sums_up};
    };
    auto const update = [&](char const* label, Phase phase, Phase then, auto const& first,
                            BlockProduct<Scalar> const& second = {}, Scalar* z_too = nullptr,
                            bool is_last = false) {
      return BlockUpdate<Scalar, Pointwise>{label,  phase, then,   is_last, small, rows,
                                            league, first, second, m,       z_too};
    };
    auto const z_of = [&](Phase phase) {
      if constexpr (pointwise) {
        return program();
      } else {
        auto const Mq = M.apply(phase, q);
        return program(Mq.before, stage("Solder::block_cg::keep", phase, Mq.rows, store(z)));
      }
    };
    auto const norms = [&] {
      if constexpr (is_identity)
        return program();
      else
        return program(gram(Phase::iterate, q, q, of_W));
    };

    // Twice: what is orthonormalised once is not orthonormal where the residuals are nearly
    // dependent. y is free.
    Scalar const* const z_once = is_identity ? v : y;
    auto const orthonormalise = program(
        gram(Phase::begin, q, z, of_H), factor(Phase::begin),
        update("Solder::block_cg::begin", Phase::begin, Phase::begin, times(v, q, Small::rotation),
               is_identity ? BlockProduct<Scalar>{} : times(y, z, Small::rotation)),
        gram(Phase::begin, v, z_once, of_H), factor(Phase::begin),
        update("Solder::block_cg::begin", Phase::begin, Phase::iterate,
               times(q, v, Small::rotation), times(p, z_once, Small::rotation)));

    auto const of_residual = arena.template sum<4>(A.league);
    WideProduct<decltype(A.A), Scalar> const Ax{A.A, A.league, x};
    auto const residual_check = program(
        stage("Solder::block_cg::add_up", Phase::check,
              arena.template entries<Scalar>(rows, x, as_read(y)), BlockAddUp<Scalar>{small}),
        stage("Solder::residual", Phase::check, Ax, Residual<Scalar>{b, x, v, of_residual}),
        BlockCheck<Scalar>{{small, limits}, this->enough(), of_residual},
        stage("Solder::block_cg::begin", Phase::begin, arena.template range<Scalar>(rows, v),
              BlockBegin<Scalar, Pointwise>{small, m, q, z_of_pointwise}),
        z_of(Phase::begin), orthonormalise);

    auto const Ap = A.apply(Phase::iterate, p);
    return form<no_whole_kernels>(
        "block", {.A = 1, .M = 1, .row = is_identity ? 15.0 : 19.0}, residual_check,
        program(
            Ap.before, stage("Solder::block_cg::product", Phase::iterate, Ap.rows, store(v)),
            gram(Phase::iterate, p, v, of_H), BlockStep<Scalar>{{small, limits}, of_H, gram_teams},
            update("Solder::block_cg::update", Phase::iterate, Phase::iterate,
                   times(q, q, Small::T, v, Small::step),
                   times(y, p, Small::G, nullptr, Small::T, true), z_of_pointwise),
            z_of(Phase::iterate), gram(Phase::iterate, q, z, of_H), norms(), factor(Phase::iterate),
            update("Solder::block_cg::direction", Phase::iterate, Phase::iterate,
                   times(p, z, Small::T, p, Small::K), {}, nullptr, true)));
  }
};

}  // namespace Impl

}  // namespace Solder
