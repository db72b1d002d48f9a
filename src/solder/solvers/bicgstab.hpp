// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>

#include <solder/core/identity.hpp>
#include <solder/solvers/bicgstab_options.hpp>
#include <solder/solvers/detail/bicgstab_bodies.hpp>
#include <solder/solvers/detail/bicgstab_merged.hpp>
#include <solder/solvers/detail/residual_check.hpp>
#include <solder/solvers/detail/solver.hpp>

namespace Solder {

namespace Impl {
template <class Exec, class OpenedA, class OpenedM>
class BiCgStabMethod;
}

/// \brief The right-preconditioned stabilised biconjugate gradient method, for any square system.
///
/// Pipelined (paper 1, Algorithm 4), with rs = r of the beginning, for i = 0, 1, ... to
/// convergence:
///
///     q     = A p                                                  kernel 1: first_product
///     alpha = (rs, r) / (rs, q),  M s = M r - alpha M q            kernel 2: half_step
///     t     = A M s                                                kernel 3: second_product
///     omega = (t, s) / (t, t),  beta = ((rs, s) / omega - (rs, t)) / (rs, q)
///     x     = x + alpha p + omega M s,  r = s - omega t,
///     p     = M r + beta (p - omega M q)                           kernel 4: update
///
/// where p is M times the textbook's. Classical (paper 1, Algorithm 3): the direction in a kernel
/// of its own, with beta = (rs, r') / (rs, r) alpha / omega.
///
/// A pointwise M (none, Jacobi) is applied, and undone, inside these kernels. Of any other the
/// kernels before M q and M t come in between, and the half step and the update take over the rows
/// of M q and of M t as M hands them out.
///
/// In a GPU's kernel of a whole solve with a row a thread at most, and a pointwise M, half step and
/// second product are one stage, update and next first product the other: a product takes along
/// those of what its operand is made of, and combines them when the scalars are known.
///
/// Cost of an iteration, no fence; classical takes a kernel and 3 n words more:
///
///     M                   kernels     words
///     none                4           A twice, 17 n
///     pointwise           4           A twice, 17 n, M 3 times (classical 4)
///     ..., a row a thread 2 stages    A twice, 15 n, M twice
///     another, k kernels  2 + 2 k     A twice, 23 n, M twice
///
/// Before the first iteration, and when the recursion believes it has converged, 2 kernels, and
/// those of M, recompute the true residual: a recursion that was wrong, or broke down, begins anew
/// from the truth if it has won something, or if the recurrence of an M r that is not pointwise has
/// faded under its rounding, and once with another rs if not; and says so if that
/// does not help.
///
/// \tparam Matrix, Preconditioner as of Cg
template <class Exec, class Matrix, class Preconditioner = Identity>
class BiCgStab
    : public Impl::Solver<Impl::BiCgStabMethod, Exec, Matrix, Preconditioner, BiCgStabOptions> {
  using Base = Impl::Solver<Impl::BiCgStabMethod, Exec, Matrix, Preconditioner, BiCgStabOptions>;

 public:
  /// \brief Allocates the workspace, 5 vectors, two more where M is not pointwise, 8 where an
  /// iteration is two stages, and M's. All work of all solves goes to exec. \throws
  /// std::invalid_argument where A is not square, M has another size or an option is out of range
  BiCgStab(Exec const& exec, Matrix const& A, Preconditioner const& M = {},
           BiCgStabOptions const& options = {})
      : Base(exec, A, M, options) {}
};

namespace Impl {

template <class Exec, class OpenedA, class OpenedM>
class BiCgStabMethod : public MethodBase<BiCgStabMethod<Exec, OpenedA, OpenedM>, Exec, OpenedA,
                                         OpenedM, BiCgStabOptions> {
  using Base = MethodBase<BiCgStabMethod, Exec, OpenedA, OpenedM, BiCgStabOptions>;
  static constexpr bool pointwise = OpenedM::is_pointwise;
  static constexpr bool can_merge = pointwise && OpenedA::can_hold_rows && !is_host_space<Exec>;

 public:
  using Scalar = typename OpenedA::scalar_type;
  static constexpr char name[] = "Solder::BiCgStab", label[] = "Solder::bicgstab::solve";
  static constexpr bool takes_many = true, owns = pointwise && OpenedA::may_be_aligned;
  static bool merges(BiCgStabOptions const& options) {
    return can_merge && options.form == BiCgStabForm::pipelined;
  }
  static WholeKernels whole_kernels_for(BiCgStabOptions const& options) {
    return whole(options.form);
  }
  using Base::Base;

  template <class Use>
  void with_form(Scalar const* b, Scalar* x, Use const& use) {
    if constexpr (can_merge)
      if (this->merges_stages()) return use(merged(b, x));
    bool const pipelined = this->options().form == BiCgStabForm::pipelined;
    if constexpr (pointwise)
      pipelined ? use(with_pointwise<true>(b, x)) : use(with_pointwise<false>(b, x));
    else
      pipelined ? use(with_another<true>(b, x)) : use(with_another<false>(b, x));
  }

 private:
  static constexpr WholeKernels whole(BiCgStabForm form) { return whole_kernels_of<OpenedM>(form); }
  using Sums = BiCgStabSums<Scalar>;
  static constexpr Recovery recovery{.continues = true, .restarts = true, .has_another = true};

  /// r and s are kept as u = M r and M s; q is free while a claim is checked.
  template <bool Pipelined>
  auto with_pointwise(Scalar const* b, Scalar* x) {
    auto& arena = this->arena();
    auto const vector = [&](char const* label) { return this->vector(label); };
    auto const A = this->open_matrix();
    auto const M = this->open_preconditioner();
    Rows const rows = A.rows;
    Scalar *const u = vector("Solder::bicgstab::u"), *const p = vector("Solder::bicgstab::p");
    auto const q = arena.own(vector("Solder::bicgstab::q")),
               t = arena.own(vector("Solder::bicgstab::t")),
               rs = arena.own(vector("Solder::bicgstab::rs")), own_x = arena.own(x);
    Sums const sums = Sums::in(arena, this->limits(), A.league, arena.teams(rows.teams));
    auto const Ap = A.apply(Phase::iterate, p), Au = A.apply(Phase::iterate, u);

    auto const begin = residual_check(
        arena, "Solder::bicgstab::check", A, rows, this->checked(b, x), recovery, q.memory,
        BiCgStabBegin<Scalar, OpenedM, true>{M, rs.memory, u, p, nullptr, sums.rr(), sums.of_shadow,
                                             sums.kept});
    auto const up_to_t = program(
        Ap.before,
        stage("Solder::bicgstab::first_product", Phase::iterate, Ap.rows,
              BiCgStabFirstProduct<Scalar>{rs, q, sums.of_first_product}),
        stage("Solder::bicgstab::half_step", Phase::iterate,
              arena.template range<Scalar>(rows, u, q),
              BiCgStabHalfStep<Scalar, OpenedM>(sums, M, u)),
        Au.before,
        stage("Solder::bicgstab::second_product", Phase::iterate, Au.rows,
              BiCgStabSecondProduct<Scalar, OpenedM, true>{M, u, rs, t, sums.of_second_product}));

    if constexpr (Pipelined)
      return form<whole(BiCgStabForm::pipelined), owns>(
          "pipelined", {.A = 2, .M = 3, .row = 17}, begin,
          program(up_to_t, stage("Solder::bicgstab::update", Phase::iterate,
                                 arena.template range<Scalar>(rows, own_x, u, p, t, q),
                                 BiCgStabUpdate<Scalar, OpenedM, true>(sums, M, own_x, u, p))));
    else
      return form<whole(BiCgStabForm::classical), owns>(
          "classical", {.A = 2, .M = 4, .row = 20}, begin,
          program(up_to_t,
                  stage("Solder::bicgstab::update", Phase::iterate,
                        arena.template range<Scalar>(rows, own_x, u, p, t, rs),
                        BiCgStabUpdate<Scalar, OpenedM, false>(sums, M, own_x, u, p)),
                  stage("Solder::bicgstab::direction", Phase::iterate,
                        arena.template range<Scalar>(rows, u, p, q),
                        BiCgStabDirection<Scalar, OpenedM>{sums.of_update, sums.kept, M, p})));
  }

  /// The pipelined form in two stages an iteration. M s is free while a claim is checked.
  auto merged(Scalar const* b, Scalar* x) {
    using Shared = BiCgStabMerged<Scalar>;
    auto& arena = this->arena();
    auto const A = this->open_matrix();
    auto const M = this->open_preconditioner();
    std::int64_t const n = this->rows();
    Sums sums = Sums::in(arena, this->limits(), A.league, arena.teams(A.rows.teams));
    Shared const shared{
        {static_cast<std::ptrdiff_t>(n)},
        arena.template vector<Scalar>("Solder::bicgstab::vectors", Shared::count * n)};
    auto const of_turn = arena.template sum<1 + parts<Scalar>>(A.league);
    BiCgStabBegin<Scalar, OpenedM, false> const begin{
        M, shared.rs(), nullptr, nullptr, shared.Ms(), sums.rr(), sums.of_shadow, sums.kept};
    sums.of_update = of_turn;
    sums.of_first_product = {of_turn.values + of_turn.parts, of_turn.parts};
    return merged_form(
        "pipelined", {.A = 2, .M = 2, .row = 15},
        program(residual_check(arena, "Solder::bicgstab::check", A, A.rows, this->checked(b, x),
                               recovery, shared.Ms(), begin),
                stage("Solder::bicgstab::begin", Phase::begin,
                      A.apply_made(
                          BiCgStabMadeBeginning<Scalar, OpenedM>{{{M}, shared.Ms()}, shared.rs()}),
                      BiCgStabFirstTurn<Scalar>{{shared}, of_turn})),
        program(stage("Solder::bicgstab::half_turn", Phase::iterate,
                      A.apply_made(BiCgStabMadeHalfStep<Scalar, OpenedM>{{M}, shared}),
                      BiCgStabHalfTurn<Scalar, OpenedM>(sums, shared)),
                stage("Solder::bicgstab::turn", Phase::iterate,
                      A.apply_made(BiCgStabMadeDirection<Scalar, OpenedM>{{M}, shared, x}),
                      BiCgStabTurn<Scalar, OpenedM>(sums, shared, of_turn, x))));
  }

  /// M cannot be undone, so r and s are kept beside u = M r and M s; w = M q.
  template <bool Pipelined>
  auto with_another(Scalar const* b, Scalar* x) {
    auto& arena = this->arena();
    auto const vector = [&](char const* label) { return this->vector(label); };
    auto const A = this->open_matrix();
    auto const M = this->open_preconditioner();
    Scalar
        *const u = vector("Solder::bicgstab::u"),
               *const p = vector("Solder::bicgstab::p"), *const q = vector("Solder::bicgstab::q"),
               *const t = vector("Solder::bicgstab::t"), *const rs = vector("Solder::bicgstab::rs"),
               *const r = vector("Solder::bicgstab::r"), *const w = vector("Solder::bicgstab::w");
    auto const Ap = A.apply(Phase::iterate, p), Au = A.apply(Phase::iterate, u);
    auto const start = M.apply(Phase::begin, r), Mq = M.apply(Phase::iterate, q),
               Mt = M.apply(Phase::iterate, t);
    // (r, r) is left by the residual check and by the rows of M t.
    Rows const rows = rows_as_dealt<Exec>(M.rows(A.rows), Mt.rows);
    Sums const sums = Sums::in(arena, this->limits(), A.league, arena.teams(rows.teams));

    auto const begin = program(
        residual_check(arena, "Solder::bicgstab::check", A, rows, this->checked(b, x), recovery, q,
                       BiCgStabBegin<Scalar, NoOperation, false>{
                           {}, rs, u, p, r, sums.rr(), sums.of_shadow, sums.kept}),
        start.before,
        stage("Solder::bicgstab::begin", Phase::begin, start.rows,
              BiCgStabBegun<Scalar>{u, p, sums.of_first_u, sums.of_u}));
    auto const up_to_Mt =
        program(Ap.before,
                stage("Solder::bicgstab::first_product", Phase::iterate, Ap.rows,
                      BiCgStabFirstProduct<Scalar>{{rs}, {q}, sums.of_first_product}),
                Mq.before,
                stage("Solder::bicgstab::half_step", Phase::iterate, Mq.rows,
                      BiCgStabHalfStepApart<Scalar>(sums, q, w, r, u)),
                Au.before,
                stage("Solder::bicgstab::second_product", Phase::iterate, Au.rows,
                      BiCgStabSecondProduct<Scalar, NoOperation, false>{
                          {}, r, {rs}, {t}, sums.of_second_product}),
                Mt.before);

    if constexpr (Pipelined)
      return form<whole(BiCgStabForm::pipelined)>(
          "pipelined", {.A = 2, .M = 2, .row = 23}, begin,
          program(up_to_Mt, stage("Solder::bicgstab::update", Phase::iterate, Mt.rows,
                                  BiCgStabUpdateApart<Scalar, true>(sums, t, w, rs, x, r, u, p))));
    else
      return form<whole(BiCgStabForm::classical)>(
          "classical", {.A = 2, .M = 2, .row = 26}, begin,
          program(up_to_Mt,
                  stage("Solder::bicgstab::update", Phase::iterate, Mt.rows,
                        BiCgStabUpdateApart<Scalar, false>(sums, t, w, rs, x, r, u, p)),
                  stage("Solder::bicgstab::direction", Phase::iterate,
                        arena.template range<Scalar>(rows, u, p, w),
                        BiCgStabDirection<Scalar, NoOperation>{sums.of_update, sums.kept, {}, p})));
  }
};

}  // namespace Impl

}  // namespace Solder
