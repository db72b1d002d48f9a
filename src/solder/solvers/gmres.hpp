// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <solder/core/identity.hpp>
#include <solder/solvers/detail/gmres_arnoldi.hpp>
#include <solder/solvers/detail/gmres_simpler.hpp>
#include <solder/solvers/detail/judge.hpp>
#include <solder/solvers/detail/solver.hpp>
#include <solder/solvers/gmres_options.hpp>

namespace Solder {

namespace Impl {
template <class Exec, class OpenedA, class OpenedM>
class GmresMethod;
}  // namespace Impl

/// \brief The restarted generalised minimal residual method, GMRES(m), for any nonsingular system,
/// preconditioned from the right: the residual it minimises is the true one.
///
/// Arnoldi's process (forms cgs, cgs2, mgs and flexible), for each cycle, with r = b - A x and
/// v_0 = r / ||r||:
///
///     for j = 0, ..., m - 1:
///       w       = A M v_j
///       h_k,j   = (v_k, w),  w = w - sum_k h_k,j v_k          k = 0, ..., j
///       h_j+1,j = ||w||,  v_j+1 = w / h_j+1,j
///     y = argmin || ||r|| e_1 - H y ||,  x = x + M V y
///
/// cgs: all h_k,j from one pass over the basis: 3 kernels a step. cgs2: a second round where too
/// much orthogonality is lost, or where the first took more than half of ||w||^2 away
/// (GmresReorthogonalisation; on the device): 5 kernels. mgs: one kernel for each k: 2 + j kernels.
/// flexible: cgs2, and x = x + Z y with the z_j = M v_j kept. Simpler GMRES (pipelined): see
/// detail/gmres_simpler.hpp; 2 kernels in the first step of a cycle, then 4. Every cycle ends with
/// 4 kernels more: the small least squares problem, x, the true residual, the judge. A cycle that
/// ends with a larger residual than it began with is undone. No fence; nothing is left to the host.
///
/// A pointwise M (none, Jacobi) is applied inside these kernels. Any other takes its own in every
/// step and, but for flexible, at a cycle's end, each time with one that keeps or adds what they
/// hand out.
///
/// Words of step j: the matrix + (2 j + 7) n for cgs and cgs2 (4 j + 12 with the second round),
/// the matrix + (2 j + 8) n for pipelined; a pointwise M adds 2 n, any other its own words and n.
/// Memory: m + 2 vectors (flexible 2 m + 2), one more where M is not the identity, and M's.
///
/// \tparam Matrix, Preconditioner as for Cg
template <class Exec, class Matrix, class Preconditioner = Identity>
class Gmres : public Impl::Solver<Impl::GmresMethod, Exec, Matrix, Preconditioner, GmresOptions> {
  using Base = Impl::Solver<Impl::GmresMethod, Exec, Matrix, Preconditioner, GmresOptions>;

 public:
  static constexpr int most_restart = Impl::most_restart;

  /// \brief Allocates the basis. All work of all solves goes to exec. A restart longer than A has
  /// rows is cut.
  /// \throws std::invalid_argument where A is not square, M has another size or an option is out of
  /// range
  Gmres(Exec const& exec, Matrix const& A, Preconditioner const& M = {},
        GmresOptions const& options = {})
      : Base(exec, A, M, options) {}
};

namespace Impl {

template <class Exec, class OpenedA, class OpenedM>
class GmresMethod {
 public:
  static constexpr char name[] = "Solder::Gmres";
  using Scalar = typename OpenedA::scalar_type;
  using System = Impl::System<Exec, OpenedA, OpenedM>;
  static constexpr bool takes_many = false;

  GmresMethod(Exec const& exec, std::shared_ptr<System> system, GmresOptions const& options,
              Many const& many = {})
      : form_(options.form),
        second_round_(options.reorthogonalisation),
        restart_(checked_restart(options, system->rows())),
        solving_(name, "Solder::gmres::solve", exec, std::move(system), options, {restart_}, many) {
    solving_.reserve([&](auto... all) { return with_programs(all...); });
  }

  Report solve(Scalar const* b, Scalar* x) {
    return complete(solving_.solve(b, x, [&](auto... all) { return with_programs(all...); }));
  }
  /// \brief The same, led by the caller, and what it has come to: see Beside.
  std::unique_ptr<Underway> start(Scalar const* b, Scalar* x) {
    return solving_.start(b, x, [&](auto... all) { return with_programs(all...); });
  }
  Report report(Underway const* underway) const { return complete(solving_.report(underway)); }

 private:
  using Cycle = GmresCycle<Scalar>;
  static constexpr bool pointwise = OpenedM::is_pointwise, identity = OpenedM::is_identity;
  /// What makes M v together with v: a pointwise M, or nothing.
  using Operation = std::conditional_t<pointwise, OpenedM, NoOperation>;
  using Operand = GmresOperand<Scalar, Operation, !identity && pointwise>;

  static std::int32_t checked_restart(GmresOptions const& options, std::int32_t rows) {
    check(options, name);
    return std::max(1, std::min(options.restart, rows));
  }

  /// \brief use(judgement, iteration) of the form.
  template <class Use>
  void with_programs(Scalar const* b, Scalar* x, Use const& use) {
    auto& arena = solving_.arena();
    // A GPU's product has a clerk: a team of its own that accounts for the step before.
    std::int32_t const clerks = arena.league() == 1 || is_host_space<Exec> ? 0 : 1;
    auto const A =
        clerks == 0
            ? solving_.open_matrix()
            : solving_.open_matrix(std::max(1, arena.teams(resident_league(arena.exec())) - 1));
    auto const M = solving_.open_preconditioner();
    std::int64_t const stride = (std::int64_t(solving_.rows()) + 31) / 32 * 32;  // full cache lines
    bool const keeps = form_ == GmresForm::flexible && !identity;                // all z_j = M v_j
    TallBasis<Scalar> const V{
        arena.template array<Scalar>("Solder::gmres::basis", stride * (restart_ + 1)), stride};
    Scalar* const z =
        identity ? nullptr
                 : arena.template array<Scalar>("Solder::gmres::z",
                                                keeps ? stride * (restart_ + 1) : solving_.rows());
    Cycle const cycle = open_cycle(A.rows, V, A.league);
    Place<Scalar> const v(V.values, stride, 0), z_of_step(z, keeps ? stride : 0, 0);
    Operand const operand{pointwise_of(M), z, keeps ? stride : 0};

    auto const AMv = [&] {
      if constexpr (identity)
        return A.apply(Phase::iterate, v);
      else
        return A.apply(Phase::iterate, z_of_step);
    }();
    auto const before = [&] {  // z = M v_j
      if constexpr (pointwise) {
        return AMv.before;
      } else {
        auto const Mv = M.apply(Phase::iterate, v);
        return program(Mv.before,
                       stage("Solder::gmres::keep", Phase::iterate, Mv.rows, store(z_of_step)),
                       AMv.before);
      }
    }();

    if (form_ == GmresForm::pipelined) {
      using Simpler = SimplerGmres<Scalar>;
      return use(judgement<Simpler>(A, M, cycle, operand, b, x),
                 program(before,
                         GmresProduct<decltype(AMv.rows), Scalar, Simpler>(cycle, AMv.rows, clerks),
                         AfterFirst{program(typename Simpler::Dots(cycle),
                                            typename Simpler::Orthogonalise(cycle))},
                         typename Simpler::template Normalise<Operand>(cycle, operand)));
    }
    if (form_ == GmresForm::mgs) {
      using Modified = ModifiedGmres<Scalar>;
      using Project = typename Modified::template Project<Operand>;
      return use(
          judgement<ArnoldiGmres<Scalar>>(A, M, cycle, operand, b, x),
          program(before,
                  GmresProduct<decltype(AMv.rows), Scalar, Modified>(cycle, AMv.rows, clerks),
                  repeat(program(Project(cycle, operand)), 1, 1)));
    }
    using Arnoldi = ArnoldiGmres<Scalar>;
    auto const first =
        program(before, GmresProduct<decltype(AMv.rows), Scalar, Arnoldi>(cycle, AMv.rows, clerks),
                typename Arnoldi::template Dots<1>(cycle));
    if (form_ == GmresForm::cgs)
      return use(judgement<Arnoldi>(A, M, cycle, operand, b, x),
                 program(first, typename Arnoldi::template Orthogonalise<1, true, Operand>(
                                    cycle, operand)));
    auto const steps =
        program(first, typename Arnoldi::template Orthogonalise<1, false, Operand>(cycle, operand),
                typename Arnoldi::template Dots<2>(cycle, second_round_),
                typename Arnoldi::template Orthogonalise<2, true, Operand>(cycle, operand));
    if (keeps) return use(judgement<Arnoldi, true>(A, M, cycle, operand, b, x), steps);
    return use(judgement<Arnoldi>(A, M, cycle, operand, b, x), steps);
  }

  /// \brief The end of a cycle: the small system, x += M V y, the true residual and the judge.
  /// \tparam Kept x += Z y
  template <class Variant, bool Kept = false>
  auto judgement(OpenedA const& A, OpenedM const& M, Cycle const& cycle, Operand const& operand,
                 Scalar const* b, Scalar* x) {
    auto& arena = solving_.arena();
    int const league = arena.teams(A.rows.teams);
    Scalar* const before = arena.template array<Scalar>("Solder::gmres::x_before", solving_.rows());
    auto const end = [&] {
      constexpr auto how = Kept || identity ? GmresCorrection::kept
                           : pointwise      ? GmresCorrection::pointwise
                                            : GmresCorrection::apart;
      TallBasis<Scalar const> const basis =
          Kept ? TallBasis<Scalar const>{operand.z, operand.per_step} : cycle.V.from(0);
      using Update = GmresUpdate<Scalar, Variant, Operation, how>;
      if constexpr (how == GmresCorrection::apart) {
        auto const Mz = M.apply(Phase::correct, operand.z);
        return program(Update(cycle, operand.m, basis, operand.z, nullptr, league), Mz.before,
                       stage("Solder::gmres::correct", Phase::correct, Mz.rows,
                             GmresCorrect<Scalar>{x, before}));
      } else {
        return program(Update(cycle, operand.m, basis, x, before, league));
      }
    }();
    return program(
        GmresLeastSquares<Scalar, Variant>(cycle), end,
        Impl::judgement(
            arena, "Solder::gmres::judge", A, A.rows, cycle.limits,
            {.continues = false, .restarts = true, .reverts = true}, b, x, cycle.true_residual(),
            GmresBegin<Scalar, Variant, Operand>{cycle.V, cycle.small, operand}, before));
  }

  static Operation pointwise_of(OpenedM const& M) {
    if constexpr (pointwise)
      return M;
    else
      return {};
  }

  Cycle open_cycle(Rows const& rows, TallBasis<Scalar> const& V, int product_teams) {
    auto& arena = solving_.arena();
    int const vector = arena.teams(rows.teams);
    int const dots = arena.teams(multi_dot_teams(arena.exec(), rows.count, product_teams));
    constexpr std::size_t p = parts<Scalar>;
    double* const small = arena.doubles(GmresSmall<Scalar>::size(restart_));
    double* workspace = nullptr;
    if constexpr (is_host_space<Exec>)
      workspace =
          arena.doubles(std::size_t(rows.teams) * multi_dot_workspace<Scalar>(restart_ + 1));
    return {rows,
            solving_.limits(),
            V,
            {small, restart_},
            workspace,
            restart_,
            arena.template sum<1>(product_teams),
            arena.template sum<p>(product_teams),
            arena.template turning_sum<1>(vector),
            arena.template turning_sum<p>(vector),
            {arena.doubles(p * restart_ * dots), dots}};
  }

  Report complete(Report report) const {
    report.form = to_string(form_);
    report.words_per_iteration = words_per_iteration();
    return report;
  }
  /// \brief On average over a full cycle, its end included; of cgs2 without the second round.
  double words_per_iteration() const {
    double const m = restart_, n = solving_.rows();
    double const of_steps = form_ == GmresForm::mgs         ? 2 * m + 4
                            : form_ == GmresForm::pipelined ? m + 7 - 3 / m
                                                            : m + 6;
    double const of_end = (m + 3 + 3 + 2) / m, M = solving_.preconditioner_words();
    bool const once = form_ == GmresForm::flexible;
    double const of_M = pointwise ? 2 * M : (once ? 1 : 1 + 1 / m) * (M + n);
    return solving_.matrix_words() * (1 + 1 / m) + (of_steps + of_end) * n + of_M;
  }

  GmresForm form_;
  GmresReorthogonalisation second_round_;
  std::int32_t restart_;
  Solving<Exec, OpenedA, OpenedM> solving_;
};

}  // namespace Impl

}  // namespace Solder
