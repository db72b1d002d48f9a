// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>

#include <solder/core/identity.hpp>
#include <solder/solvers/bicgstab_options.hpp>
#include <solder/solvers/detail/bicgstab_decisions.hpp>
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
/// Pipelined (paper 1, Algorithm 4), with rs = r at the beginning, for i = 0, 1, ... to
/// convergence:
///
///     q     = A p                                                  kernel 1: first_product
///     alpha = (rs, r) / (rs, q),  M s = M r - alpha M q            kernel 2: half_step
///     t     = A M s                                                kernel 3: second_product
///     omega = (t, s) / (t, t),  beta = ((rs, s) / omega - (rs, t)) / (rs, q)
///     x     = x + alpha p + omega M s,  r = s - omega t,
///     p     = M r + beta (p - omega M q)                           kernel 4: update
///
/// where p is M times the textbook's p. The classical form (paper 1, Algorithm 3) computes the
/// direction in a kernel of its own, with beta = (rs, r') / (rs, r) alpha / omega.
///
/// A pointwise M (none, Jacobi) is applied, and undone, inside these kernels. The kernels of any
/// other M come in between; the half step and the update work in the last of them, on the rows of
/// M q and M t that it hands out.
///
/// Where a GPU solves in one kernel, with at most a row a thread and a pointwise M, an iteration is
/// two stages: the half step with the second product, and the update with the next first product. A
/// product multiplies the vectors that its operand is a combination of, and combines the results
/// when the scalars are known.
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
/// those of M, recompute the true residual. A recursion that was wrong, broke down, or whose
/// recurrence of an M r that is not pointwise has faded into rounding, begins anew from it if the
/// residual has fallen. After a breakdown without such progress it begins anew once, with another
/// rs; if that does not help, the report says so.
///
/// \tparam Matrix, Preconditioner as for Cg
template <class Exec, class Matrix, class Preconditioner = Identity>
class BiCgStab
    : public Impl::Solver<Impl::BiCgStabMethod, Exec, Matrix, Preconditioner, BiCgStabOptions> {
  using Base = Impl::Solver<Impl::BiCgStabMethod, Exec, Matrix, Preconditioner, BiCgStabOptions>;

 public:
  /// \brief Allocates the workspace: 5 vectors (7 where M is not pointwise, 8 where an iteration is
  /// two stages), and M's. All work of all solves goes to exec. \throws std::invalid_argument where
  /// A is not square, M has another size or an option is out of range
  BiCgStab(Exec const& exec, Matrix const& A, Preconditioner const& M = {},
           BiCgStabOptions const& options = {})
      : Base(exec, A, M, options) {}
};

namespace Impl {

// ---- The formulas: what a stage does with row i; what it changes is auto& ----

/// \brief Begins anew from the true residual r, which is handed out: rs = r.
///
/// After a breakdown without progress, rs has the entries of r times 0.5 or 1.5, at random: r
/// itself may be all but orthogonal to the Krylov space of (A M)^H.
struct BiCgStabBegin {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto& rs, auto r, auto const& s,
                                              auto& mine) {
    rs = s.another ? to_real<decltype(r)>(weight(M.i / s.columns)) * r : r;
    mine[0] += abs_squared(r);
    add_to(mine, 1, dot_term(rs, r));
  }
  /// M is not pointwise: r is kept.
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto& rs, auto& r_kept, auto r,
                                              auto const& s, auto& mine) {
    row(M, rs, r, s, mine);
    r_kept = r;
  }
  /// M is pointwise: u = p = M r.
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto& rs, auto& u, auto& p, auto r,
                                              auto const& s, auto& mine) {
    row(M, rs, r, s, mine);
    u = p = M(r);
  }
  KOKKOS_FUNCTION static double weight(std::int32_t i) {
    auto bits = static_cast<std::uint32_t>(i) * 0x9e3779b9u;
    bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
    return (bits ^ (bits >> 13)) & 1 ? 1.5 : 0.5;
  }
};

/// \brief q = A p, with (rs, q).
struct BiCgStabFirstProduct {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const&, auto rs, auto& q, auto Ap, auto& mine) {
    q = Ap;
    add_to(mine, 0, dot_term(rs, q));
  }
};

/// \brief s = r - alpha q: u becomes M s.
struct BiCgStabHalfStep {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto& u, auto q, auto const& s) {
    u -= s.alpha * M(q);
  }
};

/// \brief t = A M s, with the sums for omega and beta; u is M s.
struct BiCgStabSecondProduct {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto u, auto rs, auto& t, auto Au,
                                              auto& mine) {
    constexpr std::size_t width = parts<decltype(u)>;
    auto const s = M.undo(u);
    t = Au;
    mine[0] += abs_squared(s);
    mine[1] += abs_squared(t);
    add_to(mine, 2, dot_term(t, s));
    add_to(mine, 2 + width, dot_term(rs, t));
    add_to(mine, 2 + 2 * width, dot_term(rs, s));
  }
};

/// \brief p = M r + beta (p - omega M q); u is M r.
struct BiCgStabDirection {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto u, auto& p, auto q,
                                              auto const& s) {
    p = u + s.beta * (p - s.omega * M(q));
  }
};

/// \brief x = x + alpha p + omega M s, r = s - omega t: u becomes M r. With (r, r) and, pipelined,
/// the direction or, classical, (rs, r).
template <bool Pipelined>
struct BiCgStabUpdate {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto& x, auto& u, auto& p, auto t,
                                              auto q_or_rs, auto const& s, auto& mine) {
    x = x + s.alpha * p + s.omega * u;
    u -= s.omega * M(t);
    auto const r = M.undo(u);
    mine[0] += abs_squared(r);
    if constexpr (Pipelined)
      BiCgStabDirection::row(M, u, p, q_or_rs, s);
    else
      add_to(mine, 1, dot_term(q_or_rs, r));
  }
};

// The same with an M that is not pointwise: its rows are handed out. It cannot be undone, so r and
// s are kept beside u = M r and M s, and w = M q.

/// \brief u = p = M r, with (u, u) twice.
struct BiCgStabBegunApart {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const&, auto& u, auto& p, auto Mr, auto const&,
                                              auto& mine) {
    u = p = Mr;
    mine[0] += abs_squared(u);
    mine[1] = mine[0];
  }
};
struct BiCgStabHalfStepApart {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const&, auto q, auto& w, auto& r, auto& u,
                                              auto Mq, auto const& s) {
    w = Mq;
    r -= s.alpha * q;
    u -= s.alpha * w;
  }
};
/// \brief With (u, u) too.
template <bool Pipelined>
struct BiCgStabUpdateApart {
  // Nine times `auto`: nvcc 13 does not compile ten.
  KOKKOS_FORCEINLINE_FUNCTION static void row(InRow<NoOperation> const& M, auto t, auto w_or_rs,
                                              auto& x, auto& r, auto& u, auto& p, auto Mt,
                                              auto const& s, auto& mine) {
    x += s.alpha * p + s.omega * u;
    r -= s.omega * t;
    u -= s.omega * Mt;
    mine[0] += abs_squared(r);
    if constexpr (Pipelined)
      BiCgStabDirection::row(M, u, p, w_or_rs, s);
    else
      add_to(mine, 1, dot_term(w_or_rs, r));
    mine[mine.size() - 1] += abs_squared(u);
  }
};

// ---- The forms: their stages ----

template <class Exec, class OpenedA, class OpenedM>
class BiCgStabMethod : public MethodBase<BiCgStabMethod<Exec, OpenedA, OpenedM>, Exec, OpenedA,
                                         OpenedM, BiCgStabOptions> {
  using Base = MethodBase<BiCgStabMethod, Exec, OpenedA, OpenedM, BiCgStabOptions>;
  static constexpr bool pointwise = OpenedM::is_pointwise;
  static constexpr bool can_merge = pointwise && OpenedA::can_hold_rows && !is_host_space<Exec>;

 public:
  using Scalar = typename OpenedA::scalar_type;
  static constexpr char name[] = "Solder::BiCgStab", label[] = "Solder::bicgstab::solve",
                        check_label[] = "Solder::bicgstab::check";
  static constexpr bool takes_many = true, owns = pointwise && OpenedA::may_be_aligned;
  static constexpr Recovery recovery{.continues = true, .restarts = true, .has_another = true};
  static bool merges(BiCgStabOptions const& options) {
    return can_merge && options.form == BiCgStabForm::pipelined;
  }
  static WholeKernels whole_kernels_for(BiCgStabOptions const& options) {
    return whole_kernels_of<OpenedA, OpenedM>(options.form);
  }
  using Base::Base;

  template <class Use>
  void with_form(Scalar const* b, Scalar* x, Use const& use) {
    if constexpr (can_merge)
      if (this->merges_stages()) return use(merged(b, x));
    bool const is_pipelined = this->options().form == BiCgStabForm::pipelined;
    if constexpr (pointwise)
      is_pipelined ? use(with_pointwise<true>(b, x)) : use(with_pointwise<false>(b, x));
    else
      is_pipelined ? use(with_another<true>(b, x)) : use(with_another<false>(b, x));
  }

 private:
  static constexpr NoOperation none{};

  template <bool Pipelined, bool Owns = false>
  static auto form(Cost const& cost, auto const& check, auto const& iteration) {
    constexpr auto which = Pipelined ? BiCgStabForm::pipelined : BiCgStabForm::classical;
    return Impl::form<whole_kernels_of<OpenedA, OpenedM>(which), Owns>(to_string(which), cost,
                                                                       check, iteration);
  }

  /// q is free while a claim is checked.
  template <bool Pipelined>
  auto with_pointwise(Scalar const* b, Scalar* x_) {
    auto& arena = this->arena();
    auto const A = this->open_matrix();
    auto const M = this->open_preconditioner();
    auto const [u, p, q_, t_, rs_] =
        this->vectors("Solder::bicgstab::u", "Solder::bicgstab::p", "Solder::bicgstab::q",
                      "Solder::bicgstab::t", "Solder::bicgstab::rs");
    auto const q = arena.own(q_), t = arena.own(t_), rs = arena.own(rs_), x = arena.own(x_);
    auto const of = BiCgStabDecisions<Scalar, false, Pipelined>::in(arena, this->limits(), A.league,
                                                                    arena.teams(A.rows.teams));
    auto const check = this->residual_check(
        A, A.rows, b, x_, q_,
        body<BiCgStabBegin>(of.template beginning<Phase::iterate>(), M, rs_, u, p));
    auto const iteration = program(
        step<BiCgStabFirstProduct>("Solder::bicgstab::first_product", A.apply(Phase::iterate, p),
                                   leaves(of.alpha.of_first_product), none, as_read(rs), q),
        step<BiCgStabHalfStep>("Solder::bicgstab::half_step", this->entries(A.rows, u, as_read(q)),
                               of.alpha, M),
        step<BiCgStabSecondProduct>("Solder::bicgstab::second_product", A.apply(Phase::iterate, u),
                                    leaves(of.omega.of_second_product), M, as_read(u), as_read(rs),
                                    t),
        step<BiCgStabUpdate<Pipelined>>(
            "Solder::bicgstab::update",
            this->entries(A.rows, x, u, p, as_read(t), as_read(Pipelined ? q : rs)), of.omega, M));
    if constexpr (Pipelined)
      return form<true, owns>({.A = 2, .M = 3, .row = 17}, check, iteration);
    else
      return form<false, owns>(
          {.A = 2, .M = 4, .row = 20}, check,
          program(iteration, step<BiCgStabDirection>(
                                 "Solder::bicgstab::direction",
                                 this->entries(A.rows, as_read(u), p, as_read(q)), of.beta(), M)));
  }

  /// The pipelined form in two stages an iteration. M s is free while a claim is checked; (r, r)
  /// and (rs, q) are left together.
  auto merged(Scalar const* b, Scalar* x) {
    auto& arena = this->arena();
    auto const A = this->open_matrix();
    auto const M = this->open_preconditioner();
    BiCgStabVectors<Scalar> const vectors{
        {static_cast<std::ptrdiff_t>(this->rows())},
        arena.template vector<Scalar>("Solder::bicgstab::vectors",
                                      std::int64_t(this->rows()) * BiCgStabVectors<Scalar>::count)};
    auto of = BiCgStabDecisions<Scalar, false, true, 1 + parts<Scalar>>::in(arena, this->limits(),
                                                                            A.league, A.league);
    of.alpha.of_first_product = of.omega.left.template part<1, parts<Scalar>>();
    return merged_form(
        "pipelined", {.A = 2, .M = 2, .row = 15},
        program(this->residual_check(
                    A, A.rows, b, x, vectors.Ms(),
                    body<BiCgStabBegin>(of.template beginning<Phase::begin>(), none, vectors.rs())),
                stage("Solder::bicgstab::begin", Phase::begin,
                      A.apply_made(BiCgStabMadeBeginning<Scalar, OpenedM>{{{M}, vectors.Ms()},
                                                                          vectors.rs()}),
                      BiCgStabFirstTurn<Scalar>{{{of.omega.left}, vectors}})),
        program(
            stage("Solder::bicgstab::half_turn", Phase::iterate,
                  A.apply_made(BiCgStabMadeHalfStep<Scalar, OpenedM>{{M}, vectors}),
                  BiCgStabHalfTurn<BiCgStabHalfStep, BiCgStabSecondProduct, Scalar, OpenedM>{
                      {of.alpha, vectors}, of.omega.of_second_product}),
            stage("Solder::bicgstab::turn", Phase::iterate,
                  A.apply_made(BiCgStabMadeDirection<Scalar, OpenedM>{{M}, vectors, x}),
                  BiCgStabTurn<BiCgStabUpdate<true>, Scalar, OpenedM>{{of.omega, vectors}, x})));
  }

  template <bool Pipelined>
  auto with_another(Scalar const* b, Scalar* x) {
    auto& arena = this->arena();
    auto const A = this->open_matrix();
    auto const M = this->open_preconditioner();
    auto const [u, p, q, t, rs, r, w] = this->vectors(
        "Solder::bicgstab::u", "Solder::bicgstab::p", "Solder::bicgstab::q", "Solder::bicgstab::t",
        "Solder::bicgstab::rs", "Solder::bicgstab::r", "Solder::bicgstab::w");
    auto const Mt = M.apply(Phase::iterate, t);
    // (r, r) is left by the residual check and by the rows of M t.
    Rows const rows = rows_as_dealt<Exec>(M.rows(A.rows), Mt.rows);
    auto const of = BiCgStabDecisions<Scalar, true, Pipelined>::in(arena, this->limits(), A.league,
                                                                   arena.teams(rows.teams));
    auto const check =
        program(this->residual_check(
                    A, rows, b, x, q,
                    body<BiCgStabBegin>(of.template beginning<Phase::begin>(), none, rs, r)),
                step<BiCgStabBegunApart, Phase::begin>(
                    "Solder::bicgstab::begin", M.apply(Phase::begin, r),
                    begins<Phase::iterate>(both(of.alpha.of_first_u, of.alpha.of_u)), none, u, p));
    auto const iteration = program(
        step<BiCgStabFirstProduct>("Solder::bicgstab::first_product", A.apply(Phase::iterate, p),
                                   leaves(of.alpha.of_first_product), none, as_read(rs), q),
        step<BiCgStabHalfStepApart>("Solder::bicgstab::half_step", M.apply(Phase::iterate, q),
                                    of.alpha, none, as_read(q), w, r, u),
        step<BiCgStabSecondProduct>("Solder::bicgstab::second_product", A.apply(Phase::iterate, u),
                                    leaves(of.omega.of_second_product), none, as_read(r),
                                    as_read(rs), t),
        step<BiCgStabUpdateApart<Pipelined>>("Solder::bicgstab::update", Mt, of.omega, none,
                                             as_read(t), as_read(Pipelined ? w : rs), x, r, u, p));
    if constexpr (Pipelined)
      return form<true>({.A = 2, .M = 2, .row = 23}, check, iteration);
    else
      return form<false>(
          {.A = 2, .M = 2, .row = 26}, check,
          program(iteration, step<BiCgStabDirection>("Solder::bicgstab::direction",
                                                     this->entries(rows, as_read(u), p, as_read(w)),
                                                     of.beta(), none)));
  }
};

}  // namespace Impl

}  // namespace Solder
