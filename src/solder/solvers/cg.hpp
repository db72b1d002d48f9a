// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>

#include <solder/core/identity.hpp>
#include <solder/solvers/cg_options.hpp>
#include <solder/solvers/detail/cg_bodies.hpp>
#include <solder/solvers/detail/cg_merged.hpp>
#include <solder/solvers/detail/judge.hpp>
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

template <class Exec, class OpenedA, class OpenedM>
class CgMethod {
  /// Whether a split M's first factor can be had of a made vector.
  template <class M>
  static constexpr bool has_inner = requires(M const& m) {
    m.inner();
  };

 public:
  static constexpr char name[] = "Solder::Cg";
  using Scalar = typename OpenedA::scalar_type;
  using System = Impl::System<Exec, OpenedA, OpenedM>;
  static constexpr bool takes_many = true, pointwise = OpenedM::is_pointwise;
  static constexpr bool can_merge =
      !is_host_space<Exec> && (pointwise ? OpenedA::can_keep_rows : has_inner<OpenedM>);
  /// \brief Whether this form can be had with fewer stages.
  static bool merges(CgOptions const& options) {
    return can_merge && options.form != (pointwise ? CgForm::classical : CgForm::pipelined);
  }
  using MySolving =
      Impl::Solving<Exec, OpenedA, OpenedM, pointwise && OpenedA::knows_rows, can_merge>;

  CgMethod(Exec const& exec, std::shared_ptr<System> system, CgOptions const& options,
           Many const& many = {})
      : solving_(name, "Solder::cg::solve", exec, std::move(system), options, {}, many,
                 merges(options)),
        form_(options.form) {
    if (form_ == CgForm::automatic) form_ = pointwise ? CgForm::pipelined : CgForm::classical;
    solving_.reserve([&](auto... all) { return with_programs(all...); },
                     [&](auto... all) { return merged(all...); });
  }

  Report solve(Scalar const* b, Scalar* x) {
    return complete(solving_.solve(
        b, x, [&](auto... all) { return with_programs(all...); },
        [&](auto... all) { return merged(all...); }));
  }
  /// \brief The same, led by the caller, and what it has come to: see Beside.
  std::unique_ptr<Underway> start(Scalar const* b, Scalar* x) {
    return solving_.start(
        b, x, [&](auto... all) { return with_programs(all...); },
        [&](auto... all) { return merged(all...); });
  }
  Report report(Underway const* underway) const { return complete(solving_.report(underway)); }
  /// \brief Several right-hand sides, or systems: see Many.
  std::vector<Report> solve_many(Scalar const* b, Scalar* x) {
    auto reports = solving_.solve_many(b, x, [&](auto... all) { return with_programs(all...); });
    for (Report& report : reports) report = complete(report);
    return reports;
  }

 private:
  /// \brief use(judgement, iteration) of the form.
  template <class Use>
  void with_programs(Scalar const* b, Scalar* x, Use const& use) {
    if constexpr (pointwise)
      return with_pointwise(b, x, use);
    else
      return form_ == CgForm::pipelined ? pipelined(b, x, use) : classical(b, x, use);
  }

  /// What all forms begin with.
  struct Work {
    Arena<Exec>& arena;
    OpenedA A;
    OpenedM M;
    Limits limits;
    Scalar *r, *p, *q;
  };
  Work open() {
    auto& arena = solving_.arena();
    return {arena,
            solving_.open_matrix(),
            solving_.open_preconditioner(),
            solving_.limits(),
            vector("Solder::cg::r"),
            vector("Solder::cg::p"),
            vector("Solder::cg::q")};
  }
  Scalar* vector(char const* label) {
    return solving_.arena().template vector<Scalar>(label, solving_.rows());
  }
  /// q is free while a claim is judged.
  template <class Begin>
  static auto judgement(Work const& w, Rows const& rows, Scalar const* b, Scalar* x,
                        Begin const& begin) {
    return Impl::judgement(w.arena, "Solder::cg::judge", w.A, rows, w.limits, {}, b, x, w.q, begin);
  }

  template <class Use>
  void with_pointwise(Scalar const* b, Scalar* x, Use const& use) {
    constexpr CgNorms how = OpenedM::is_identity ? CgNorms::one : CgNorms::together;
    constexpr std::size_t size = CgSums<how>::size;
    Work const w = open();
    Rows const rows = w.A.rows;
    auto const q = w.arena.own(w.q), r = w.arena.own(w.r), own_x = w.arena.own(x);
    CgSums<how> const norms{w.arena.template turning_sum<size>(w.arena.teams(rows.teams))};
    auto const of_product = w.arena.template sum<2>(w.A.league);
    auto const Ap = w.A.apply(Phase::iterate, w.p);
    auto const all = w.arena.template range<Scalar>(rows, own_x, r, w.p, q);
    auto const begin =
        judgement(w, rows, b, x, CgBegin<Scalar, OpenedM, how>{w.M, w.r, w.p, norms});

    if (form_ == CgForm::pipelined)
      return use(begin, program(Ap.before,
                                stage("Solder::cg::product", Phase::iterate, Ap.rows,
                                      CgProduct<Scalar, OpenedM, true>{w.p, q, w.M, of_product}),
                                stage("Solder::cg::update", Phase::iterate, all,
                                      CgUpdate<Scalar, OpenedM, how>{w.M, w.limits, own_x, r, w.p,
                                                                     norms, of_product})));
    Sum<1> const pq{of_product.values, of_product.parts};
    auto const z = mapped(w.arena.template range<Scalar>(rows, r), PointwiseOf<OpenedM>{w.M});
    return use(begin,
               program(Ap.before,
                       stage("Solder::cg::product", Phase::iterate, Ap.rows,
                             CgProduct<Scalar, NoOperation, false>{w.p, q, {}, pq}),
                       stage("Solder::cg::step", Phase::iterate, all,
                             CgStep<Scalar, OpenedM, how>{w.M, w.limits, own_x, r, norms, pq}),
                       stage("Solder::cg::direction", Phase::iterate, z,
                             CgDirection<Scalar, size>{w.p, norms.left.all()})));
  }

  /// With fewer stages, where a stage costs more than what it computes.
  template <class Use>
  void merged(Scalar const* b, Scalar* x, Use const& use) {
    if constexpr (pointwise)
      return merged_pipelined(b, x, use);
    else
      return merged_split(b, x, use);
  }

  /// The pipelined form in one stage an iteration.
  template <class Use>
  void merged_pipelined(Scalar const* b, Scalar* x, Use const& use) {
    constexpr CgNorms how = OpenedM::is_identity ? CgNorms::one : CgNorms::together;
    using Shared = CgMerged<Scalar, how>;
    auto& arena = solving_.arena();
    OpenedA const A = solving_.open_matrix();
    OpenedM const M = solving_.open_preconditioner();
    std::int64_t const n = solving_.rows();
    auto const by_turns = [&](char const* label) {
      return arena.template vector<Scalar>(label, 2 * n);
    };
    Shared const shared{{static_cast<std::ptrdiff_t>(n)},
                        by_turns("Solder::cg::r"),
                        by_turns("Solder::cg::p"),
                        by_turns("Solder::cg::q"),
                        arena.template turning_sum<Shared::sums>(A.league)};
    Scalar* const s = vector("Solder::cg::s");
    return use(program(Impl::judgement(arena, "Solder::cg::judge", A, A.rows, solving_.limits(), {},
                                       b, x, s, CgMergedBegin{}),
                       stage("Solder::cg::begin", Phase::begin,
                             A.apply_made(CgMadeBeginning<Scalar, OpenedM>{{{M}, s}}),
                             CgFirstTurn<Scalar, how>{{shared}})),
               program(stage("Solder::cg::turn", Phase::iterate,
                             A.apply_made(CgMadeDirection<Scalar, OpenedM>{
                                 {M}, shared.r, shared.p, shared.q, x}),
                             CgTurn<Scalar, how>{shared, solving_.limits(), x})));
  }

  /// The classical form with a split M in three stages an iteration.
  template <class Use>
  void merged_split(Scalar const* b, Scalar* x, Use const& use) {
    auto& arena = solving_.arena();
    OpenedA const A = solving_.open_matrix();
    OpenedM const M = solving_.open_preconditioner();
    std::int64_t const n = solving_.rows();
    CgSplit<Scalar> const shared{{static_cast<std::ptrdiff_t>(n)},
                                 arena.template vector<Scalar>("Solder::cg::r", 2 * n),
                                 M.inner(),
                                 arena.template turning_sum<2>(M.inner_teams())};
    Scalar *const p = vector("Solder::cg::p"), *const q = vector("Solder::cg::q");
    auto const pq = arena.template sum<1>(A.league);
    auto const Ap = A.apply(Phase::iterate, p);
    return use(program(Impl::judgement(arena, "Solder::cg::judge", A, A.rows, solving_.limits(), {},
                                       b, x, q, CgMergedBegin{}),
                       stage("Solder::cg::first_factor", Phase::begin, M.apply_inner(as_read(q)),
                             CgSplitFirstTurn<Scalar>{{shared}, q}),
                       stage("Solder::cg::begin", Phase::begin, M.apply_outer(),
                             CgBegun<Scalar, false>{nullptr, p, {}})),
               program(Ap.before,
                       stage("Solder::cg::product", Phase::iterate, Ap.rows,
                             CgProduct<Scalar, NoOperation, false>{p, {q}, {}, pq}),
                       stage("Solder::cg::step", Phase::iterate,
                             M.apply_inner_made(CgMadeResidual<Scalar>{{}, shared.r, q, p, x}),
                             CgSplitTurn<Scalar>{shared, solving_.limits(), x, pq}),
                       stage("Solder::cg::direction", Phase::iterate, M.apply_outer(),
                             CgDirection<Scalar, 2>{p, shared.left.all()})));
  }

  template <class Use>
  void classical(Scalar const* b, Scalar* x, Use const& use) {
    constexpr CgNorms how = CgNorms::apart;
    Work const w = open();
    Rows const rows = w.M.rows(w.A.rows);
    auto const pq = w.arena.template sum<1>(w.A.league);
    auto const rr = w.arena.template turning_sum<1>(w.arena.teams(rows.teams));
    auto const Ap = w.A.apply(Phase::iterate, w.p);

    auto const with_z = [&](TurningSum<1> const& rz, auto const& start, auto const& z) {
      CgSums<how> const norms{rr, rz};
      constexpr bool split = OpenedM::is_split;
      auto const direction = [&](auto const& source) {
        return stage("Solder::cg::direction", Phase::iterate, source,
                     CgDirection<Scalar, 1>{w.p, rz.all()});
      };
      auto const z_and_direction = [&] {
        if constexpr (split) {
          return direction(z.rows);
        } else {
          Scalar* const kept = vector("Solder::cg::z");
          return program(
              stage("Solder::cg::keep", Phase::iterate, z.rows, CgKeep<Scalar>{w.r, kept, rz}),
              direction(
                  mapped(w.arena.template range<Scalar>(rows, kept), PointwiseOf<NoOperation>{})));
        }
      }();
      return use(
          program(judgement(w, rows, b, x, CgBegin<Scalar, NoOperation, how>{{}, w.r, w.p, norms}),
                  start.before,
                  stage("Solder::cg::begin", Phase::begin, start.rows,
                        CgBegun<Scalar, !split>{w.r, w.p, rz})),
          program(Ap.before,
                  stage("Solder::cg::product", Phase::iterate, Ap.rows,
                        CgProduct<Scalar, NoOperation, false>{w.p, {w.q}, {}, pq}),
                  stage("Solder::cg::step", Phase::iterate,
                        w.arena.template range<Scalar>(rows, x, w.r, w.p, w.q),
                        CgStep<Scalar, NoOperation, how>{{}, w.limits, {x}, {w.r}, norms, pq}),
                  z.before, z_and_direction));
    };

    if constexpr (OpenedM::is_split) {
      auto const rz = w.arena.template turning_sum<1>(w.M.inner_teams());
      return with_z(rz, w.M.apply(Phase::begin, w.r, rz), w.M.apply(Phase::iterate, w.r, rz));
    } else {
      auto const z = w.M.apply(Phase::iterate, w.r);
      return with_z(w.arena.template turning_sum<1>(z.rows.teams()), w.M.apply(Phase::begin, w.r),
                    z);
    }
  }

  template <class Use>
  void pipelined(Scalar const* b, Scalar* x, Use const& use) {
    Work const w = open();
    Scalar *const z = vector("Solder::cg::z"), *const u = vector("Solder::cg::u");
    auto const Ap = w.A.apply(Phase::iterate, w.p);
    auto const start = w.M.apply(Phase::begin, w.r), Mq = w.M.apply(Phase::iterate, w.q);
    // Norms are left by the rows of M r and by the update.
    Rows const rows = rows_as_dealt<Exec>(w.M.rows(w.A.rows), start.rows);
    int const teams = w.arena.teams(rows.teams);
    auto const pq = w.arena.template sum<1>(w.A.league);
    auto const qu = w.arena.template sum<1>(Mq.rows.teams());
    auto const rr = w.arena.template turning_sum<1>(teams);
    auto const norms = w.arena.template turning_sum<3>(teams);
    auto const of_first_z = w.arena.template sum<1>(teams);
    return use(
        program(judgement(w, rows, b, x,
                          CgBegin<Scalar, NoOperation, CgNorms::apart>{{}, w.r, w.p, {rr, {}}}),
                start.before,
                stage("Solder::cg::begin", Phase::begin, start.rows,
                      CgBegunApart<Scalar>{w.r, z, w.p, norms, of_first_z})),
        program(
            Ap.before,
            stage("Solder::cg::product", Phase::iterate, Ap.rows,
                  CgProduct<Scalar, NoOperation, false>{w.p, {w.q}, {}, pq}),
            Mq.before,
            stage("Solder::cg::keep", Phase::iterate, Mq.rows, CgKeepProduct<Scalar>{w.q, u, qu}),
            stage("Solder::cg::update", Phase::iterate,
                  w.arena.template range<Scalar>(rows, x, w.r, z, w.p, w.q, u),
                  CgUpdateApart<Scalar>{w.limits, x, w.r, z, w.p, norms, of_first_z, pq, qu})));
  }

  /// \brief What Solving does not know.
  Report complete(Report report) const {
    report.form = to_string(form_);
    report.words_per_iteration = words_per_iteration();
    return report;
  }

  double words_per_iteration() const {
    double const n = solving_.rows(), A = solving_.matrix_words(),
                 M = solving_.preconditioner_words();
    bool const pipelined = form_ == CgForm::pipelined;
    if (solving_.saves_stages()) return A + (pointwise ? 8 : 9) * n + M;
    if constexpr (pointwise)
      return A + (pipelined ? 9 : 11) * n + 2 * M;
    else
      return A + (pipelined ? 15 : OpenedM::is_split ? 10 : 13) * n + M;
  }

  MySolving solving_;
  CgForm form_;
};

}  // namespace Impl

}  // namespace Solder
