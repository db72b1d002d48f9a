// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <solder/core/identity.hpp>
#include <solder/solvers/cg_options.hpp>
#include <solder/solvers/detail/cg_decisions.hpp>
#include <solder/solvers/detail/cg_merged.hpp>
#include <solder/solvers/detail/residual_check.hpp>
#include <solder/solvers/detail/solver.hpp>

namespace Solder {

namespace Impl {
template <class Exec, class OpenedA, class OpenedM>
class CgMethod;
}

/// \brief The preconditioned conjugate gradient method for real symmetric or complex Hermitian
/// positive definite systems.
///
/// Pipelined (paper 1, Algorithm 2, as predict-and-recompute), for i = 0, 1, ... to convergence:
///
///     q     = A p                                            kernel 1: product
///     alpha = (r, z) / (p, q)
///     beta  = alpha^2 (q, M q) / (r, z) - 1
///     x     = x + alpha p,  r = r - alpha q,  z = M r,  p = z + beta p      kernel 2: update
///
/// where M is pointwise (none, Jacobi). Any other M is applied to q, in kernels of its own, and
/// z = z - alpha M q is updated as r is. Where a GPU solves in one kernel, with at most a row a
/// thread, the two are one stage: it computes A M r, A M q and A p, and combines them into the next
/// q when alpha and beta are known.
///
/// Classical (paper 1, Algorithm 1):
///
///     q     = A p                                            kernel 1: product
///     alpha = (r, z) / (p, q),  x = x + alpha p,  r = r - alpha q       kernel 2: step
///     z     = M r                                            kernels of M, where not pointwise
///     beta  = (r', z') / (r, z),  p = z + beta p             the last: direction
///
/// Where M is split, M = F^H F (Fsai), (r, z) comes with F r and z is never stored: direction is
/// the product by F^H. Otherwise z is stored, and direction is a kernel of its own. Where a GPU
/// solves in one kernel, with at most a row a thread, the product by F does the step, too.
///
/// Cost of an iteration, no fence. Words: the matrix, those of M, and a row:
///
///     M                   pipelined              classical
///     none                2 kernels,  9 n        3 kernels, 11 n
///     pointwise           2,  9 n, M twice       3, 11 n, M twice
///     ..., a row a thread one stage, 8 n, M
///     split, k kernels    2 + k, 15 n            2 + k, 10 n
///     ..., a row a thread                        1 + k stages, 9 n
///     another, k kernels  2 + k, 15 n            3 + k, 13 n
///
/// Before the first iteration, and when the recursion believes it has converged, 2 kernels, and
/// those of M, recompute the true residual and begin: a recursion that was wrong restarts from it,
/// or ends as stagnated. Whether A is Hermitian is not checked here: check_symmetry tells.
///
/// \tparam Matrix CsrMatrix, SellMatrix, BlockMatrix or another LinearOperator: its
///         device_operator() is a plain struct with `Rows rows`, `teams`, operator== and
///         for_each_row_product, which hands out row products
/// \tparam Preconditioner see Application
template <class Exec, class Matrix, class Preconditioner = Identity>
class Cg : public Impl::Solver<Impl::CgMethod, Exec, Matrix, Preconditioner, CgOptions> {
  using Base = Impl::Solver<Impl::CgMethod, Exec, Matrix, Preconditioner, CgOptions>;

 public:
  /// \brief Allocates the workspace: 3 vectors, one or two more where M is not pointwise, 7 where
  /// an iteration is one stage, and M's. All work of all solves goes to exec. \throws
  /// std::invalid_argument where A is not square, M has another size or an option is out of range
  Cg(Exec const& exec, Matrix const& A, Preconditioner const& M = {}, CgOptions const& options = {})
      : Base(exec, A, M, options) {}
};

namespace Impl {

// ---- The formulas: what a stage does with row i; what it changes is auto& ----

/// \brief q = A p, with (p, q) and, to predict beta, (q, M q); or z = M r, with (r, z).
template <bool Predict = false, std::size_t First = 0>
struct CgProduct {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto p, auto& q, auto Ap, auto& mine) {
    q = Ap;
    mine[First] += real_dot(p, q);
    if constexpr (Predict) mine[First + 1] += real_dot(q, M(q));
  }
};

/// \brief x = x + alpha p, r = r - alpha q, with the norms.
template <class Norms>
struct CgStep {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto& x, auto& r, auto p, auto q,
                                              auto const& s, auto& mine) {
    x += s.alpha * p;
    r -= s.alpha * q;
    Norms::add(mine, r, M(r));
  }
};

/// \brief p = M r + beta p.
struct CgDirection {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto& p, auto r, auto const& s) {
    p = M(r) + s.beta * p;
  }
};

/// \brief The step and the direction.
template <class Norms>
struct CgUpdate {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto& x, auto& r, auto& p, auto q,
                                              auto const& s, auto& mine) {
    CgStep<Norms>::row(M, x, r, p, q, s, mine);
    CgDirection::row(M, p, r, s);
  }
};

/// \brief The same with an M that is not pointwise: u is M q, and z = z - alpha u.
struct CgUpdateApart {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto& x, auto& r, auto& z, auto& p,
                                              auto q, auto u, auto const& s, auto& mine) {
    x += s.alpha * p;
    r -= s.alpha * q;
    z -= s.alpha * u;
    CgDirection::row(M, p, z, s);
    CgSums<CgNorms::recurred>::add(mine, r, z);
  }
};

/// \brief Begins anew from the true residual, which is handed out: p = M r.
template <class Norms>
struct CgBegin {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto& r, auto& p, auto residual,
                                              auto const&, auto& mine) {
    r = residual;
    p = M(r);
    Norms::add(mine, r, p);
  }
  /// M is not pointwise, and comes next.
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const&, auto& r, auto residual, auto const&,
                                              auto& mine) {
    r = residual;
    Norms::add(mine, r, r);
  }
};

/// \brief p = z, which is handed out.
struct CgBegun {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const&, auto& p, auto z, auto const&, auto&) {
    p = z;
  }
  /// M does not leave (r, z).
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const& M, auto r, auto& p, auto z, auto const&,
                                              auto& mine) {
    CgProduct<>::row(M, r, p, z, mine);
  }
  /// z is kept, with its norms, (z, z) twice.
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const&, auto r, auto& z_kept, auto& p, auto z,
                                              auto const&, auto& mine) {
    z_kept = p = z;
    CgSums<CgNorms::recurred>::add(mine, r, z);
    mine[3] = mine[2];
  }
};

// ---- The forms: their stages ----

template <class Exec, class OpenedA, class OpenedM>
class CgMethod
    : public MethodBase<CgMethod<Exec, OpenedA, OpenedM>, Exec, OpenedA, OpenedM, CgOptions> {
  using Base = MethodBase<CgMethod, Exec, OpenedA, OpenedM, CgOptions>;
  static constexpr bool pointwise = OpenedM::is_pointwise;
  /// Whether a split M can apply its first factor alone, to a vector made entry by entry.
  static constexpr bool has_inner = requires(OpenedM const& m) { m.inner(); };
  /// Merged stages are for kernels of a whole solve.
  static constexpr bool can_merge = !is_host_space<Exec> && OpenedA::has_whole_kernels &&
                                    (pointwise ? OpenedA::can_hold_rows : has_inner);

 public:
  using Scalar = typename OpenedA::scalar_type;
  static constexpr char name[] = "Solder::Cg", label[] = "Solder::cg::solve",
                        check_label[] = "Solder::cg::check";
  static constexpr bool takes_many = true, owns = pointwise && OpenedA::may_be_aligned;
  static bool merges(CgOptions const& options) {
    return can_merge && options.form != (pointwise ? CgForm::classical : CgForm::pipelined);
  }
  static WholeKernels whole_kernels_for(CgOptions const& options) {
    return whole(form_of(options));
  }
  using Base::Base;

  template <class Use>
  void with_form(Scalar const* b, Scalar* x, Use const& use) {
    CgForm const which = form_of(this->options());
    if constexpr (can_merge && pointwise) {
      if (this->merges_stages()) return use(merged_pipelined(b, x));
    } else if constexpr (can_merge) {
      if (this->merges_stages()) return use(merged_split(b, x));
    }
    if constexpr (pointwise)
      which == CgForm::pipelined ? use(with_pointwise<CgForm::pipelined>(b, x))
                                 : use(with_pointwise<CgForm::classical>(b, x));
    else
      which == CgForm::pipelined ? use(pipelined_apart(b, x)) : classical_apart(b, x, use);
  }

 private:
  static constexpr WholeKernels whole(CgForm form) {
    return whole_kernels_of<OpenedA, OpenedM>(form);
  }
  static CgForm form_of(CgOptions const& options) {
    if (options.form != CgForm::automatic) return options.form;
    return pointwise ? CgForm::pipelined : CgForm::classical;
  }

  static constexpr NoOperation none{};
  /// (r, z) and (r, r) where M is pointwise.
  static constexpr CgNorms how = OpenedM::is_identity ? CgNorms::one : CgNorms::together;

  /// What forms begin with; q is free while a claim is checked.
  struct Work {
    OpenedA A;
    OpenedM M;
    Scalar *r, *p, *q;
  };
  Work open() {
    auto const A = this->open_matrix();
    auto const M = this->open_preconditioner();
    auto const [r, p, q] = this->vectors("Solder::cg::r", "Solder::cg::p", "Solder::cg::q");
    return {A, M, r, p, q};
  }

  /// \tparam Form pipelined: two stages; classical: three
  template <CgForm Form>
  auto with_pointwise(Scalar const* b, Scalar* x_) {
    constexpr bool pipelined = Form == CgForm::pipelined;
    constexpr std::size_t products = pipelined ? 2 : 1;
    using Norms = CgSums<how, products>;
    auto& arena = this->arena();
    auto const [A, M, r_, p, q_] = open();
    auto const q = arena.own(q_), r = arena.own(r_), x = arena.own(x_);
    CgDecision<Scalar, pipelined, Norms> const decision{
        this->limits(),
        {.left = arena.template double_buffered_sum<Norms::size>(arena.teams(A.rows.teams)),
         .of_product = arena.template sum<products>(A.league)}};
    auto const& norms = decision.of;
    auto const check = this->residual_check(
        A, A.rows, b, x_, q_,
        body<CgBegin<CgSums<how>>>(begins<Phase::iterate>(norms.left), M, r_, p));
    auto const Ap = A.apply(Phase::iterate, p);
    if constexpr (pipelined)
      return form<whole(Form), owns>(
          "pipelined", {.A = 1, .M = 2, .row = 9}, check,
          program(step<CgProduct<true>>("Solder::cg::product", Ap, leaves(norms.of_product), M,
                                        as_read(p), q),
                  step<CgUpdate<Norms>>("Solder::cg::update",
                                        this->entries(A.rows, x, r, p, as_read(q)), decision, M)));
    else
      return form<whole(Form), owns>(
          "classical", {.A = 1, .M = 2, .row = 11}, check,
          program(
              step<CgProduct<>>("Solder::cg::product", Ap, leaves(norms.of_product), none,
                                as_read(p), q),
              step<CgStep<Norms>>("Solder::cg::step",
                                  this->entries(A.rows, x, r, as_read(p), as_read(q)), decision, M),
              step<CgDirection>("Solder::cg::direction", this->entries(A.rows, p, as_read(r)),
                                CgBeta<Scalar, Norms::size>{norms.left.all()}, M)));
  }

  /// M has kernels of its own. A split one leaves (r, z) itself, and z is not stored.
  template <class Use>
  void classical_apart(Scalar const* b, Scalar* x, Use const& use) {
    using Norms = CgSums<CgNorms::apart, 1>;
    auto& arena = this->arena();
    Work const w = open();
    Scalar *const r = w.r, *const p = w.p, *const q = w.q;
    Rows const rows = w.M.rows(w.A.rows);
    auto const pq = arena.template sum<1>(w.A.league);
    auto const rr = arena.template double_buffered_sum<1>(arena.teams(rows.teams));
    auto const check = this->residual_check(
        w.A, rows, b, x, q, body<CgBegin<Norms>>(begins<Phase::begin>(rr), none, r));
    auto const up_to_step = [&](DoubleBufferedSum<1> const& rz) {
      return program(
          step<CgProduct<>>("Solder::cg::product", w.A.apply(Phase::iterate, p), leaves(pq), none,
                            as_read(p), q),
          step<CgStep<Norms>>("Solder::cg::step", this->entries(rows, x, r, as_read(p), as_read(q)),
                              CgDecision<Scalar, false, Norms>{
                                  this->limits(), {.left = rr, .rz = rz, .of_product = pq}},
                              none));
    };
    constexpr auto kernels = whole(CgForm::classical);
    if constexpr (may_split<OpenedM>) {
      if (splits(w.M)) {
        auto const rz = arena.template double_buffered_sum<1>(w.M.inner_teams());
        return use(form<kernels>(
            "classical", {.A = 1, .M = 1, .row = 10},
            program(check,
                    step<CgBegun, Phase::begin>("Solder::cg::begin", w.M.apply(Phase::begin, r, rz),
                                                begins<Phase::iterate>(), none, p)),
            program(up_to_step(rz),
                    step<CgDirection>("Solder::cg::direction", w.M.apply(Phase::iterate, r, rz),
                                      CgBeta<Scalar, 1>{rz.all()}, none, p))));
      }
    }
    if constexpr (!OpenedM::is_split) {
      Scalar* const z = this->vector("Solder::cg::z");
      auto const Mr = w.M.apply(Phase::iterate, r);
      auto const rz = arena.template double_buffered_sum<1>(Mr.rows.teams());
      use(form<kernels>(
          "classical", {.A = 1, .M = 1, .row = 13},
          program(check,
                  step<CgBegun, Phase::begin>("Solder::cg::begin", w.M.apply(Phase::begin, r),
                                              begins<Phase::iterate>(rz), none, as_read(r), p)),
          program(up_to_step(rz),
                  step<CgProduct<>>("Solder::cg::keep", Mr, leaves(rz), none, as_read(r), z),
                  step<CgDirection>("Solder::cg::direction", this->entries(rows, p, as_read(z)),
                                    CgBeta<Scalar, 1>{rz.all()}, none))));
    }
  }

  /// u = M q is computed, and z follows by a recurrence.
  auto pipelined_apart(Scalar const* b, Scalar* x) {
    auto& arena = this->arena();
    auto const [A, M, r, p, q] = open();
    auto const [z, u] = this->vectors("Solder::cg::z", "Solder::cg::u");
    auto const first = M.apply(Phase::begin, r), Mq = M.apply(Phase::iterate, q);
    // Norms are left by the rows of M r and by the update.
    Rows const rows = rows_as_dealt<Exec>(M.rows(A.rows), first.rows);
    int const teams = arena.teams(rows.teams);
    auto const rr = arena.template double_buffered_sum<1>(teams);
    CgDecision<Scalar, true, CgSums<CgNorms::recurred, 2>> const decision{
        this->limits(),
        {.left = arena.template double_buffered_sum<3>(teams),
         .of_first_z = arena.template sum<1>(teams),
         .of_Mq = arena.template sum<1>(Mq.rows.teams()),
         .of_product = arena.template sum<1>(A.league)}};
    auto const& norms = decision.of;
    return form<whole(CgForm::pipelined)>(
        "pipelined", {.A = 1, .M = 1, .row = 15},
        program(
            this->residual_check(
                A, rows, b, x, q,
                body<CgBegin<CgSums<CgNorms::apart>>>(begins<Phase::begin>(rr), none, r)),
            step<CgBegun, Phase::begin>("Solder::cg::begin", first,
                                        begins<Phase::iterate>(both(norms.left, norms.of_first_z)),
                                        none, as_read(r), z, p)),
        program(step<CgProduct<>>("Solder::cg::product", A.apply(Phase::iterate, p),
                                  leaves(norms.of_product), none, as_read(p), q),
                step<CgProduct<>>("Solder::cg::keep", Mq, leaves(norms.of_Mq), none, as_read(q), u),
                step<CgUpdateApart>("Solder::cg::update",
                                    this->entries(rows, x, r, z, p, as_read(q), as_read(u)),
                                    decision, none)));
  }

  /// The pipelined form in one stage an iteration, where a stage costs more than what it computes.
  auto merged_pipelined(Scalar const* b, Scalar* x) {
    using Norms = CgSums<how, 2, true>;
    using Product = CgProduct<true, Norms::norms>;
    auto& arena = this->arena();
    auto const A = this->open_matrix();
    auto const M = this->open_preconditioner();
    auto const twice = [&](char const* label) {
      return arena.template vector<Scalar>(label, std::int64_t(2) * this->rows());
    };
    CgVectors<Scalar> const vectors{{static_cast<std::ptrdiff_t>(this->rows())},
                                    twice("Solder::cg::r"),
                                    twice("Solder::cg::p"),
                                    twice("Solder::cg::q")};
    CgDecision<Scalar, true, Norms> const decision{
        this->limits(), {.left = arena.template double_buffered_sum<Norms::size>(A.league)}};
    auto const begin = begins<Phase::iterate>(decision.of.left);
    Scalar* const s = this->vector("Solder::cg::s");
    return merged_form(
        "pipelined", {.A = 1, .M = 1, .row = 8},
        program(
            this->residual_check(A, A.rows, b, x, s, body<Nothing>(begins<Phase::begin>(), none)),
            stage("Solder::cg::begin", Phase::begin,
                  A.apply_made(CgMadeBeginning<Scalar, OpenedM>{{{M}, s}}),
                  CgFirstTurn<CgBegin<Norms>, Product, OpenedM, Scalar, decltype(begin)>{
                      {begin, vectors}})),
        program(stage("Solder::cg::turn", Phase::iterate,
                      A.apply_made(CgMadeDirection<Scalar, OpenedM>{{M}, vectors, x}),
                      CgTurn<CgUpdate<Norms>, Product, OpenedM, Scalar, decltype(decision)>{
                          {decision, vectors}, x})));
  }

  /// The classical form with a split M in three stages an iteration.
  auto merged_split(Scalar const* b, Scalar* x) {
    auto& arena = this->arena();
    auto const A = this->open_matrix();
    auto const M = this->open_preconditioner();
    CgSplit<Scalar> const shared{
        {static_cast<std::ptrdiff_t>(this->rows())},
        arena.template vector<Scalar>("Solder::cg::r", std::int64_t(2) * this->rows()),
        M.inner()};
    auto const [p, q] = this->vectors("Solder::cg::p", "Solder::cg::q");
    auto const left = arena.template double_buffered_sum<2>(M.inner_teams());
    auto const pq = arena.template sum<1>(A.league);
    return merged_form(
        "classical", {.A = 1, .M = 1, .row = 9},
        program(
            this->residual_check(A, A.rows, b, x, q, body<Nothing>(begins<Phase::begin>(), none)),
            stage("Solder::cg::first_factor", Phase::begin, M.apply_inner(as_read(q)),
                  CgSplitFirstTurn<Scalar>{{{left}, shared}, q}),
            step<CgBegun, Phase::begin>("Solder::cg::begin", M.apply_outer(),
                                        begins<Phase::iterate>(), none, p)),
        program(step<CgProduct<>>("Solder::cg::product", A.apply(Phase::iterate, p), leaves(pq),
                                  none, as_read(p), q),
                stage("Solder::cg::step", Phase::iterate,
                      M.apply_inner_made(CgMadeResidual<Scalar>{{}, shared.r, q, p, x}),
                      CgSplitTurn<Scalar>{
                          {{this->limits(), {.left = left, .of_product = pq}}, shared}, x}),
                step<CgDirection>("Solder::cg::direction", M.apply_outer(),
                                  CgBeta<Scalar, 2>{left.all()}, none, p)));
  }
};

}  // namespace Impl

}  // namespace Solder
