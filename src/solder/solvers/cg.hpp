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
/// z = z - alpha M q is updated as r is. In a GPU's kernel of a whole solve with a row a thread at
/// most, the two are one stage: the product takes A M r, A M q and A p along, and combines them to
/// the next q when alpha and beta are known.
///
/// Classical (paper 1, Algorithm 1):
///
///     q     = A p                                            kernel 1: product
///     alpha = (r, z) / (p, q),  x = x + alpha p,  r = r - alpha q       kernel 2: step
///     z     = M r                                            kernels of M, where not pointwise
///     beta  = (r', z') / (r, z),  p = z + beta p             the last: direction
///
/// Where M is split, M = F^H F (Fsai), (r, z) comes with F r and z is never stored: direction is
/// the product by F^H. Otherwise z is stored, and direction is a kernel of its own. In a GPU's
/// kernel of a whole solve with a row a thread at most, the product by F takes the step along.
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
/// those of M, recompute the true residual and begin: a recursion that was wrong restarts from the
/// truth, or ends as stagnated. Whether A is Hermitian it does not ask: check_symmetry tells.
///
/// \tparam Matrix CsrMatrix, SellMatrix or another LinearOperator: its device_operator() is a plain
///         struct with `Rows rows`, `teams`, operator== and for_each_row_product, which hands out
///         row products
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

// ---- The formulas: what a stage does with row i ----

/// \brief q = A p, with (p, q) and, for the prediction of beta, (q, M q). Words: the matrix, and 2
/// a row.
template <class Scalar, class M, bool Predict, class Vector = Owned<Scalar>>
struct CgProduct {
  static constexpr std::size_t sums = Predict ? 2 : 1;

  Scalar const* p;
  Vector q;
  M m;
  Sum<sums> left;

  bool operator==(CgProduct const&) const = default;

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    return CgProduct<Scalar, M, Predict, decltype(home(q))>{p, home(q), m, left};
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(auto const& i, Scalar const& Ap, Sums<sums>& mine) const {
    q[i] = Ap;
    mine[0] += real_dot(p[i], Ap);
    if constexpr (Predict) mine[1] += real_dot(Ap, m(i, Ap));
  }
};

/// \brief x += alpha p, r -= alpha q, p = M r + beta p, with (r, z) and (r, r); the rows are those
/// of x, r, p and q. Words: 7 a row.
template <class Scalar, class M, class Norms, class Vector = Owned<Scalar>>
struct CgUpdate {
  static constexpr std::size_t sums = Norms::size;

  M m;
  Vector x, r;
  Scalar* p;

  bool operator==(CgUpdate const&) const = default;

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    return CgUpdate<Scalar, M, Norms, decltype(home(x))>{m, home(x), home(r), p};
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(auto const& i, Kokkos::Array<Scalar, 4> const& old,
                                       auto const& s, Sums<sums>& mine) const {
    Scalar const r_new = old[1] - s.alpha * old[3];
    Scalar const z = m(i, r_new);
    x[i] = old[0] + s.alpha * old[2];
    r[i] = r_new;
    p[i] = z + s.beta * old[2];
    Norms::add(mine, r_new, z);
  }
};

/// \brief x += alpha p, r -= alpha q, with (r, r), and with (r, z) where M is pointwise; the rows
/// are those of x, r, p and q. Words: 6 a row.
template <class Scalar, class M, class Norms, class Vector = Owned<Scalar>>
struct CgStep {
  static constexpr std::size_t sums = Norms::size;

  M m;
  Vector x, r;

  bool operator==(CgStep const&) const = default;

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    return CgStep<Scalar, M, Norms, decltype(home(x))>{m, home(x), home(r)};
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(auto const& i, Kokkos::Array<Scalar, 4> const& old,
                                       auto const& s, Sums<sums>& mine) const {
    Scalar const r_new = old[1] - s.alpha * old[3];
    x[i] = old[0] + s.alpha * old[2];
    r[i] = r_new;
    Norms::add(mine, r_new, m(i, r_new));
  }
};

/// \brief p = z + beta p, z being handed out. Words: 2 a row, and z.
template <class Scalar>
struct CgDirection {
  Scalar* p;

  bool operator==(CgDirection const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& z, auto const& s) const {
    p[i] = z + s.beta * p[i];
  }
};

/// \brief Stores the z that is handed out, with (r, z), double buffered. Words: 2 a row.
template <class Scalar>
struct CgKeep {
  static constexpr std::size_t sums = 1;

  Scalar const* r;
  Scalar* z;
  DoubleBufferedSum<1> rz;

  bool operator==(CgKeep const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value, Sums<1>& mine) const {
    z[i] = value;
    mine[0] += real_dot(r[i], value);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<1> const& mine, Control const& now,
                                       Control&) const {
    rz.of(now.iteration).leave(team, mine);
  }
};

/// \brief u = M q, with (q, u). Words: 2 a row.
template <class Scalar>
struct CgKeepProduct {
  static constexpr std::size_t sums = 1;

  Scalar const* q;
  Scalar* u;
  Sum<1> left;

  bool operator==(CgKeepProduct const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value, Sums<1>& mine) const {
    u[i] = value;
    mine[0] += real_dot(q[i], value);
  }
};

/// \brief Begins anew from the true residual s: r = s, p = M r.
template <class Scalar, class M, CgNorms How>
struct CgBegin {
  using Norms = CgSums<How>;
  static constexpr std::size_t sums = Norms::size;
  struct Scalars {};

  M m;
  Scalar *r, *p;
  DoubleBufferedSum<sums> left;

  bool operator==(CgBegin const&) const = default;

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void scalars(Team const&, Control&, Scalars&) const {}
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& s, Scalars const&,
                                       Sums<sums>& mine) const {
    r[i] = s;
    Scalar const z = m(i, s);
    if constexpr (How != CgNorms::apart) p[i] = z;
    Norms::add(mine, s, z);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const&,
                                       Control& next) const {
    left.of(next.iteration).leave(team, mine);
    if constexpr (How == CgNorms::apart) next.phase = Phase::begin;
  }
};

/// \brief p = z, the end of a beginning with an M that is not pointwise, with (r, z) where M does
/// not leave it.
template <class Scalar, bool LeavesNorm>
struct CgBegun {
  static constexpr std::size_t sums = 1;

  Scalar const* r;
  Scalar* p;
  DoubleBufferedSum<1> rz;

  bool operator==(CgBegun const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& z, Sums<1>& mine) const {
    p[i] = z;
    if constexpr (LeavesNorm) mine[0] += real_dot(r[i], z);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<1> const& mine, Control const&,
                                       Control& next) const {
    if constexpr (LeavesNorm) rz.of(next.iteration).leave(team, mine);
    next.phase = Phase::iterate;
  }
};

/// \brief CgUpdate with an M that is not pointwise, u = M q being computed: z -= alpha u. The rows
/// are those of x, r, z, p, q and u; with (r, z), (r, r) and (z, z). Words: 10 a row.
template <class Scalar>
struct CgUpdateApart {
  static constexpr std::size_t sums = 3;

  Scalar *x, *r, *z, *p;

  bool operator==(CgUpdateApart const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Kokkos::Array<Scalar, 6> const& old,
                                       auto const& s, Sums<3>& mine) const {
    Scalar const r_new = old[1] - s.alpha * old[4], z_new = old[2] - s.alpha * old[5];
    x[i] = old[0] + s.alpha * old[3];
    r[i] = r_new;
    z[i] = z_new;
    p[i] = z_new + s.beta * old[3];
    mine[0] += real_dot(r_new, z_new);
    mine[1] += abs_squared(r_new);
    mine[2] += abs_squared(z_new);
  }
};

/// \brief p = z, z being handed out and kept, with (r, z), (r, r) and, twice, (z, z).
template <class Scalar>
struct CgBegunApart {
  static constexpr std::size_t sums = 4;

  Scalar const* r;
  Scalar *z, *p;
  DoubleBufferedSum<3> norms;
  Sum<1> of_first_z;

  bool operator==(CgBegunApart const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value, Sums<4>& mine) const {
    z[i] = value;
    p[i] = value;
    mine[0] += real_dot(r[i], value);
    mine[1] += abs_squared(r[i]);
    mine[2] += abs_squared(value);
    mine[3] = mine[2];
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<4> const& mine, Control const&,
                                       Control& next) const {
    norms.of(next.iteration).leave(team, Sums<3>{{mine[0], mine[1], mine[2]}});
    of_first_z.leave(team, Sums<1>{{mine[3]}});
    next.phase = Phase::iterate;
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
  static constexpr bool can_merge =
      !is_host_space<Exec> && (pointwise ? OpenedA::can_hold_rows : has_inner);

 public:
  using Scalar = typename OpenedA::scalar_type;
  static constexpr char name[] = "Solder::Cg", label[] = "Solder::cg::solve";
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
      which == CgForm::pipelined ? use(pipelined_pointwise(b, x)) : use(classical_pointwise(b, x));
    else
      which == CgForm::pipelined ? use(pipelined_apart(b, x)) : use(classical_apart(b, x));
  }

 private:
  static constexpr WholeKernels whole(CgForm form) { return whole_kernels_of<OpenedM>(form); }
  static CgForm form_of(CgOptions const& options) {
    if (options.form != CgForm::automatic) return options.form;
    return pointwise ? CgForm::pipelined : CgForm::classical;
  }

  /// What forms begin with.
  struct Work {
    Arena<Exec>& arena;
    OpenedA A;
    OpenedM M;
    Limits limits;
    Scalar *r, *p, *q;
  };
  Work open() {
    auto& arena = this->arena();
    auto const A = this->open_matrix();
    auto const M = this->open_preconditioner();
    return {arena,
            A,
            M,
            this->limits(),
            this->vector("Solder::cg::r"),
            this->vector("Solder::cg::p"),
            this->vector("Solder::cg::q")};
  }
  /// q is free while a claim is checked.
  template <class Begin>
  auto residual_check(Work const& w, Rows const& rows, Scalar const* b, Scalar* x,
                      Begin const& begin) {
    return Impl::residual_check(w.arena, "Solder::cg::check", w.A, rows, this->checked(b, x), {},
                                w.q, begin);
  }
  /// q = A p, with (p, q).
  static auto product(Work const& w, Sum<1> const& pq) {
    auto const Ap = w.A.apply(Phase::iterate, w.p);
    return program(Ap.before, stage("Solder::cg::product", Phase::iterate, Ap.rows,
                                    CgProduct<Scalar, NoOperation, false>{w.p, {w.q}, {}, pq}));
  }

  /// (r, z) and (r, r) where M is pointwise.
  static constexpr CgNorms how = OpenedM::is_identity ? CgNorms::one : CgNorms::together;

  auto pipelined_pointwise(Scalar const* b, Scalar* x) {
    using Norms = CgSums<how, 2>;
    Work const w = open();
    Rows const rows = w.A.rows;
    auto const q = w.arena.own(w.q), r = w.arena.own(w.r), own_x = w.arena.own(x);
    Norms const norms{w.arena.template double_buffered_sum<Norms::size>(w.arena.teams(rows.teams)),
                      {},
                      w.arena.template sum<2>(w.A.league)};
    auto const Ap = w.A.apply(Phase::iterate, w.p);
    return form<whole(CgForm::pipelined), owns>(
        "pipelined", {.A = 1, .M = 2, .row = 9},
        residual_check(w, rows, b, x, CgBegin<Scalar, OpenedM, how>{w.M, w.r, w.p, norms.left}),
        program(Ap.before,
                stage("Solder::cg::product", Phase::iterate, Ap.rows,
                      CgProduct<Scalar, OpenedM, true>{w.p, q, w.M, norms.of_product}),
                stage("Solder::cg::update", Phase::iterate,
                      w.arena.template range<Scalar>(rows, own_x, r, w.p, q),
                      body(CgDecision<Scalar, true, Norms>{w.limits, norms},
                           CgUpdate<Scalar, OpenedM, Norms>{w.M, own_x, r, w.p}))));
  }

  auto classical_pointwise(Scalar const* b, Scalar* x) {
    using Norms = CgSums<how, 1>;
    Work const w = open();
    Rows const rows = w.A.rows;
    auto const q = w.arena.own(w.q), r = w.arena.own(w.r), own_x = w.arena.own(x);
    Norms const norms{w.arena.template double_buffered_sum<Norms::size>(w.arena.teams(rows.teams)),
                      {},
                      w.arena.template sum<1>(w.A.league)};
    auto const Ap = w.A.apply(Phase::iterate, w.p);
    auto const z = mapped(w.arena.template range<Scalar>(rows, r), PointwiseOf<OpenedM>{w.M});
    return form<whole(CgForm::classical), owns>(
        "classical", {.A = 1, .M = 2, .row = 11},
        residual_check(w, rows, b, x, CgBegin<Scalar, OpenedM, how>{w.M, w.r, w.p, norms.left}),
        program(
            Ap.before,
            stage("Solder::cg::product", Phase::iterate, Ap.rows,
                  CgProduct<Scalar, NoOperation, false>{w.p, q, {}, norms.of_product}),
            stage("Solder::cg::step", Phase::iterate,
                  w.arena.template range<Scalar>(rows, own_x, r, w.p, q),
                  body(CgDecision<Scalar, false, Norms>{w.limits, norms},
                       CgStep<Scalar, OpenedM, Norms>{w.M, own_x, r})),
            stage("Solder::cg::direction", Phase::iterate, z,
                  body(CgBeta<Scalar, Norms::size>{norms.left.all()}, CgDirection<Scalar>{w.p}))));
  }

  /// M has kernels of its own. A split one leaves (r, z) itself, and z is not stored.
  auto classical_apart(Scalar const* b, Scalar* x) {
    using Norms = CgSums<CgNorms::apart, 1>;
    Work const w = open();
    Rows const rows = w.M.rows(w.A.rows);
    auto const pq = w.arena.template sum<1>(w.A.league);
    auto const rr = w.arena.template double_buffered_sum<1>(w.arena.teams(rows.teams));
    auto const direction = [&](auto const& z, DoubleBufferedSum<1> const& rz) {
      return stage("Solder::cg::direction", Phase::iterate, z,
                   body(CgBeta<Scalar, 1>{rz.all()}, CgDirection<Scalar>{w.p}));
    };
    auto const with = [&](DoubleBufferedSum<1> const& rz, double words, auto const& first,
                          auto const& Mr, auto const& z_and_direction) {
      return form<whole(CgForm::classical)>(
          "classical", {.A = 1, .M = 1, .row = words},
          program(residual_check(w, rows, b, x,
                                 CgBegin<Scalar, NoOperation, CgNorms::apart>{{}, w.r, w.p, rr}),
                  first.before,
                  stage("Solder::cg::begin", Phase::begin, first.rows,
                        CgBegun<Scalar, !OpenedM::is_split>{w.r, w.p, rz})),
          program(product(w, pq),
                  stage("Solder::cg::step", Phase::iterate,
                        w.arena.template range<Scalar>(rows, x, w.r, w.p, w.q),
                        body(CgDecision<Scalar, false, Norms>{w.limits, {rr, rz, pq}},
                             CgStep<Scalar, NoOperation, Norms>{{}, {x}, {w.r}})),
                  Mr.before, z_and_direction));
    };
    if constexpr (OpenedM::is_split) {
      auto const rz = w.arena.template double_buffered_sum<1>(w.M.inner_teams());
      auto const first = w.M.apply(Phase::begin, w.r, rz), Mr = w.M.apply(Phase::iterate, w.r, rz);
      return with(rz, 10, first, Mr, direction(Mr.rows, rz));
    } else {
      Scalar* const z = this->vector("Solder::cg::z");
      auto const first = w.M.apply(Phase::begin, w.r), Mr = w.M.apply(Phase::iterate, w.r);
      auto const rz = w.arena.template double_buffered_sum<1>(Mr.rows.teams());
      auto const kept = mapped(w.arena.template range<Scalar>(rows, z), PointwiseOf<NoOperation>{});
      return with(
          rz, 13, first, Mr,
          program(stage("Solder::cg::keep", Phase::iterate, Mr.rows, CgKeep<Scalar>{w.r, z, rz}),
                  direction(kept, rz)));
    }
  }

  /// u = M q is applied, and z goes by a recurrence.
  auto pipelined_apart(Scalar const* b, Scalar* x) {
    Work const w = open();
    Scalar *const z = this->vector("Solder::cg::z"), *const u = this->vector("Solder::cg::u");
    auto const first = w.M.apply(Phase::begin, w.r), Mq = w.M.apply(Phase::iterate, w.q);
    // Norms are left by the rows of M r and by the update.
    Rows const rows = rows_as_dealt<Exec>(w.M.rows(w.A.rows), first.rows);
    int const teams = w.arena.teams(rows.teams);
    auto const pq = w.arena.template sum<1>(w.A.league);
    auto const qu = w.arena.template sum<1>(Mq.rows.teams());
    auto const rr = w.arena.template double_buffered_sum<1>(teams);
    auto const norms = w.arena.template double_buffered_sum<3>(teams);
    auto const of_first_z = w.arena.template sum<1>(teams);
    return form<whole(CgForm::pipelined)>(
        "pipelined", {.A = 1, .M = 1, .row = 15},
        program(residual_check(w, rows, b, x,
                               CgBegin<Scalar, NoOperation, CgNorms::apart>{{}, w.r, w.p, rr}),
                first.before,
                stage("Solder::cg::begin", Phase::begin, first.rows,
                      CgBegunApart<Scalar>{w.r, z, w.p, norms, of_first_z})),
        program(
            product(w, pq), Mq.before,
            stage("Solder::cg::keep", Phase::iterate, Mq.rows, CgKeepProduct<Scalar>{w.q, u, qu}),
            stage("Solder::cg::update", Phase::iterate,
                  w.arena.template range<Scalar>(rows, x, w.r, z, w.p, w.q, u),
                  body(CgDecisionApart<Scalar>{w.limits, norms, of_first_z, pq, qu},
                       CgUpdateApart<Scalar>{x, w.r, z, w.p}))));
  }

  /// The pipelined form in one stage an iteration, where a stage costs more than what it computes.
  auto merged_pipelined(Scalar const* b, Scalar* x) {
    using Norms = CgSums<how, 2, true>;
    auto& arena = this->arena();
    OpenedA const A = this->open_matrix();
    OpenedM const M = this->open_preconditioner();
    std::int64_t const n = this->rows();
    auto const buffers = [&](char const* label) {
      return arena.template vector<Scalar>(label, 2 * n);
    };
    CgMerged<Scalar, Norms> const shared{{static_cast<std::ptrdiff_t>(n)},
                                         buffers("Solder::cg::r"),
                                         buffers("Solder::cg::p"),
                                         buffers("Solder::cg::q"),
                                         arena.template double_buffered_sum<Norms::size>(A.league)};
    Scalar* const s = this->vector("Solder::cg::s");
    Limits const limits = this->limits();
    return merged_form("pipelined", {.A = 1, .M = 1, .row = 8},
                       program(Impl::residual_check(arena, "Solder::cg::check", A, A.rows,
                                                    this->checked(b, x), {}, s, CgMergedBegin{}),
                               stage("Solder::cg::begin", Phase::begin,
                                     A.apply_made(CgMadeBeginning<Scalar, OpenedM>{{{M}, s}}),
                                     CgFirstTurn<Scalar, Norms>{{shared}})),
                       program(stage("Solder::cg::turn", Phase::iterate,
                                     A.apply_made(CgMadeDirection<Scalar, OpenedM>{
                                         {M}, shared.r, shared.p, shared.q, x}),
                                     CgTurn<Scalar, Norms>{{limits, {shared.left}}, shared, x})));
  }

  /// The classical form with a split M in three stages an iteration.
  auto merged_split(Scalar const* b, Scalar* x) {
    auto& arena = this->arena();
    OpenedA const A = this->open_matrix();
    OpenedM const M = this->open_preconditioner();
    std::int64_t const n = this->rows();
    CgSplit<Scalar> const shared{{static_cast<std::ptrdiff_t>(n)},
                                 arena.template vector<Scalar>("Solder::cg::r", 2 * n),
                                 M.inner(),
                                 arena.template double_buffered_sum<2>(M.inner_teams())};
    Scalar *const p = this->vector("Solder::cg::p"), *const q = this->vector("Solder::cg::q");
    auto const pq = arena.template sum<1>(A.league);
    Limits const limits = this->limits();
    return merged_form(
        "classical", {.A = 1, .M = 1, .row = 9},
        program(Impl::residual_check(arena, "Solder::cg::check", A, A.rows, this->checked(b, x), {},
                                     q, CgMergedBegin{}),
                stage("Solder::cg::first_factor", Phase::begin, M.apply_inner(as_read(q)),
                      CgSplitFirstTurn<Scalar>{{shared}, q}),
                stage("Solder::cg::begin", Phase::begin, M.apply_outer(),
                      CgBegun<Scalar, false>{nullptr, p, {}})),
        program(product({arena, A, M, limits, nullptr, p, q}, pq),
                stage("Solder::cg::step", Phase::iterate,
                      M.apply_inner_made(CgMadeResidual<Scalar>{{}, shared.r, q, p, x}),
                      CgSplitTurn<Scalar>{{limits, {shared.left, {}, pq}}, shared, x}),
                stage("Solder::cg::direction", Phase::iterate, M.apply_outer(),
                      body(CgBeta<Scalar, 2>{shared.left.all()}, CgDirection<Scalar>{p}))));
  }
};

}  // namespace Impl

}  // namespace Solder
