// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stdexcept>
#include <string>

#include <solder/core/runners.hpp>
#include <solder/core/scalar.hpp>
#include <solder/preconditioners/jacobi.hpp>

namespace Solder {

/// \brief `classical`: Hestenes & Stiefel's, 3 kernels an iteration. `pipelined`: the default, 2 kernels.
enum class CgForm { classical, pipelined };

constexpr std::string_view to_string(CgForm form) { return form == CgForm::classical ? "classical" : "pipelined"; }

struct CgOptions : SolverOptions {
  CgForm form = CgForm::pipelined;
};

namespace Impl {

/// \brief What the stages of CG share.
///
/// Sums left by one stage for later ones: the vector updates leave (r, z) and (r, r), one and the same without
/// preconditioner, in two buffers taken in turn by the iteration's parity; the product leaves (p, q) and
/// (q, M q); the residual leaves (s, s), (b, b) and the nonzeros of b.
template <class Scalar, class Operator, class Preconditioner>
struct CgData {
  static constexpr char const* label = "Solder::cg::solve";
  static constexpr std::size_t update_sums = Preconditioner::is_identity ? 1 : 2;
  static constexpr int max_sums = update_sums + 2;

  Operator A;
  Preconditioner M;
  Rows rows;
  Limits limits;
  Scalar const* b;
  Scalar *x, *r, *p, *q;
  double* sums;
  std::int32_t vector_teams, product_teams;

  bool operator==(CgData const&) const = default;

  KOKKOS_FUNCTION Partials<update_sums> of_update(int iteration) const {
    return {sums + (iteration & 1) * update_sums * vector_teams, vector_teams};
  }
  KOKKOS_FUNCTION Partials<2> of_product() const { return {sums + 2 * update_sums * vector_teams, product_teams}; }
  KOKKOS_FUNCTION Partials<3> of_residual() const { return {of_product().values + 2 * product_teams, product_teams}; }

  static std::size_t sums_size(int vector_teams, int product_teams) {
    return std::size_t(2) * update_sums * vector_teams + std::size_t(5) * product_teams;
  }
  int team_lanes() const { return A.lanes; }

  /// \brief Adds (r, z) and (r, r) of one row.
  KOKKOS_FORCEINLINE_FUNCTION static void add(Sums<update_sums>& mine, Scalar const& r, Scalar const& z) {
    mine[0] += real_dot(r, z);
    if constexpr (update_sums == 2) mine[1] += abs_squared(r);
  }
};

/// \brief A stage whose teams go through the rows of the matrix.
struct ProductStage {
  template <class Data>
  KOKKOS_FUNCTION static int teams(Data const& d) { return d.product_teams; }
  template <class Data>
  static int lanes(Data const& d) { return d.A.lanes; }
};

/// \brief A stage whose teams go through vectors.
struct VectorStage {
  template <class Data>
  KOKKOS_FUNCTION static int teams(Data const& d) { return d.vector_teams; }
  template <class Data>
  static int lanes(Data const&) { return 32; }
};

/// \brief s = b - A x, kept in q. Words: the matrix, and 3 a row.
struct CgResidual : ProductStage {
  static constexpr char const* label = "Solder::cg::residual";
  static constexpr Phase phase = Phase::judge;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const&, Control&) {
    Sums<3> mine{};
    d.A.for_each_row_product(team, d.x, [&](std::int32_t i, auto const& Ax) {
      auto const s = d.b[i] - Ax;
      d.q[i] = s;
      mine[0] += abs_squared(s);
      mine[1] += abs_squared(d.b[i]);
      mine[2] += d.b[i] == decltype(s){} ? 0 : 1;
    });
    d.of_residual().leave(team, mine);
  }
};

/// \brief Holds the claim against the true residual; begins anew from it, r = s and p = M r, where the judge says so.
struct CgJudge : VectorStage {
  static constexpr char const* label = "Solder::cg::judge";
  static constexpr Phase phase = Phase::judge;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const&, Control& next) {
    Sums<3> total{};
    d.of_residual().gather(team, total, 0);
    total = team.sum(total);
    Verdict const verdict = judge(next, d.limits, total[0], total[1], total[2]);
    if (verdict == Verdict::zero) {
      team.for_each_row(d.rows, [&](std::int32_t i) { d.x[i] = {}; });
    } else if (verdict == Verdict::restart) {
      Sums<Data::update_sums> mine{};
      team.for_each_row(d.rows, [&](std::int32_t i) {
        auto const r = d.q[i];
        auto const z = d.M(i, r);
        d.r[i] = r;
        d.p[i] = z;
        Data::add(mine, r, z);
      });
      d.of_update(next.iteration).leave(team, mine);
    }
  }
};

/// \brief q = A p, with (p, q) and, for the prediction of beta, (q, M q). Words: the matrix, and 2 a row.
template <bool Predict>
struct CgProduct : ProductStage {
  static constexpr char const* label = "Solder::cg::product";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const&, Control&) {
    Sums<2> mine{};
    d.A.for_each_row_product(team, d.p, [&](std::int32_t i, auto const& q) {
      d.q[i] = q;
      mine[0] += real_dot(d.p[i], q);
      if constexpr (Predict) mine[1] += real_dot(q, d.M(i, q));
    });
    d.of_product().leave(team, mine);
  }
};

/// \brief The scalars of an iteration, and whether it may go on.
struct CgStep {
  double rz, alpha, beta;
};

/// \brief Sums (r, z), (r, r), (p, q) and (q, M q) up, records the residual, and ends the iteration where it must.
///
/// beta is predicted, (r', z') = -(r, z) + alpha^2 (q, M q) (paper 1, eq. 3.1, preconditioned); the (r', z') that
/// the update then computes corrects it in the next alpha (predict and recompute: Chen & Carson 2020).
template <class Data, class Team>
KOKKOS_FUNCTION CgStep cg_step(Data const& d, Team const& team, Control const& now, Control& next) {
  constexpr std::size_t n = Data::update_sums;
  Sums<n + 2> s{};
  d.of_update(now.iteration).gather(team, s, 0);
  d.of_product().gather(team, s, n);
  s = team.sum(s);
  double const rz = s[0], rr = s[n - 1], pq = s[n], qMq = s[n + 1];
  double const residual = Kokkos::sqrt(rr) / now.norm_b;
  next.measure(residual);

  CgStep step{rz, pq == 0 ? 0 : rz / pq, 0};
  if (rz != 0) step.beta = Kokkos::fmax(step.alpha * (step.alpha * qMq) / rz - 1, 0.0);

  if (!(Kokkos::isfinite(rr) && Kokkos::isfinite(rz) && Kokkos::isfinite(pq) && Kokkos::isfinite(step.alpha) &&
        Kokkos::isfinite(qMq)))
    next.claim(Reason::not_finite);
  else if (!d.limits.unconditional() && residual <= now.threshold)
    next.claim(Reason::converged);
  else if (now.iteration >= d.limits.max_iterations)
    next.claim(Reason::max_iterations);
  else if (d.limits.unconditional())
    return step;
  else if (residual > Limits::divergence)
    next.claim(Reason::diverged);
  else if (rz <= 0)
    next.claim(rz < 0 ? Reason::indefinite_preconditioner : Reason::breakdown, Cause::r_z, rz);
  else if (pq <= 0)
    next.claim(pq < 0 ? Reason::indefinite_matrix : Reason::breakdown, Cause::p_Ap, pq);
  return step;
}

/// \brief x += alpha p, r -= alpha q, p = M r + beta p, with (r, z) and (r, r). Words: 7 a row.
struct CgUpdate : VectorStage {
  static constexpr char const* label = "Solder::cg::update";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control& next) {
    CgStep const step = cg_step(d, team, now, next);
    if (next.phase != phase) return;
    auto const alpha = to_real<std::remove_reference_t<decltype(d.x[0])>>(step.alpha);
    auto const beta = to_real<std::remove_reference_t<decltype(d.x[0])>>(step.beta);
    Sums<Data::update_sums> mine{};
    team.for_each_row(d.rows, [&](std::int32_t i) {
      auto const p = d.p[i];
      auto const r = d.r[i] - alpha * d.q[i];
      auto const z = d.M(i, r);
      d.x[i] += alpha * p;
      d.r[i] = r;
      d.p[i] = z + beta * p;
      Data::add(mine, r, z);
    });
    d.of_update(now.iteration + 1).leave(team, mine);
    ++next.iteration;
  }
};

/// \brief x += alpha p, r -= alpha q, with (r, z) and (r, r). Words: 6 a row.
struct CgClassicalStep : VectorStage {
  static constexpr char const* label = "Solder::cg::step";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control& next) {
    CgStep const step = cg_step(d, team, now, next);
    if (next.phase != phase) return;
    auto const alpha = to_real<std::remove_reference_t<decltype(d.x[0])>>(step.alpha);
    Sums<Data::update_sums> mine{};
    team.for_each_row(d.rows, [&](std::int32_t i) {
      auto const r = d.r[i] - alpha * d.q[i];
      d.x[i] += alpha * d.p[i];
      d.r[i] = r;
      Data::add(mine, r, d.M(i, r));
    });
    d.of_update(now.iteration + 1).leave(team, mine);
    ++next.iteration;
  }
};

/// \brief beta = (r', z') / (r, z), p = M r + beta p. Words: 3 a row.
struct CgClassicalDirection : VectorStage {
  static constexpr char const* label = "Solder::cg::direction";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control&) {
    constexpr std::size_t n = Data::update_sums;
    Sums<2 * n> s{};
    d.of_update(now.iteration - 1).gather(team, s, 0);
    d.of_update(now.iteration).gather(team, s, n);
    s = team.sum(s);
    auto const beta = to_real<std::remove_reference_t<decltype(d.p[0])>>(s[0] == 0 ? 0 : s[n] / s[0]);
    team.for_each_row(d.rows, [&](std::int32_t i) { d.p[i] = d.M(i, d.r[i]) + beta * d.p[i]; });
  }
};

}  // namespace Impl

/// \brief The preconditioned conjugate gradient method for real symmetric or complex Hermitian positive definite
/// systems.
///
/// Pipelined (paper 1, Algorithm 2, as predict-and-recompute), for i = 0, 1, ... to convergence:
///
///     q     = A p                                            kernel 1: product
///     alpha = (r, z) / (p, q)
///     beta  = alpha^2 (q, M q) / (r, z) - 1
///     x     = x + alpha p,  r = r - alpha q,  z = M r,  p = z + beta p      kernel 2: update
///
/// Classical (paper 1, Algorithm 1): the update in two kernels, with beta = (r', z') / (r, z) recomputed.
///
/// Cost of an iteration: 2 kernels (classical 3), no fence; words: the matrix + 9 n (classical 11 n), Jacobi adds
/// 2 n (2 n). Before the first iteration, and when the recursion believes it has converged, 2 kernels recompute
/// the true residual: a recursion that was wrong restarts from the truth, or ends as stagnated.
///
/// \tparam Matrix has rows(), columns(), nonzeros(), words(), longest_row() and device_operator(), whose
///         for_each_row_product hands out row products (CsrMatrix)
/// \tparam Preconditioner is applied row by row inside the kernels: Identity or Jacobi
template <class Exec, class Matrix, class Preconditioner = Identity>
class Cg {
 public:
  using scalar_type = typename Matrix::scalar_type;

  /// \brief Allocates the workspace, 3 vectors. All work of all solves goes to exec.
  /// \throws std::invalid_argument where A is not square or an option is out of range
  Cg(Exec const& exec, Matrix const& A, Preconditioner const& M = {}, CgOptions const& options = {})
      : exec_(exec), matrix_(A), preconditioner_(M), options_(options) {
    Kokkos::Timer timer;
    if (A.rows() != A.columns())
      throw std::invalid_argument("Solder::Cg: a square matrix is needed, not " + std::to_string(A.rows()) + " x " +
                                  std::to_string(A.columns()));
    if (!(options.tolerance >= 0) || options.max_iterations < 0)
      throw std::invalid_argument("Solder::Cg: tolerance and max_iterations must not be negative");
    options_.runner = Impl::choose_runner<Exec>(options.runner, A.rows(), A.nonzeros());
    auto const vector = [&](std::string const& label) { return Vector(Kokkos::view_alloc(label, exec), A.rows()); };
    r_ = vector("Solder::cg::r");
    p_ = vector("Solder::cg::p");
    q_ = vector("Solder::cg::q");
    bool const one = options_.runner == Runner::team;
    vector_teams_ = one ? 1 : Impl::vector_teams(exec, A.rows());
    product_teams_ = one ? 1 : A.device_operator().teams;
    sums_ = decltype(sums_)(Kokkos::view_alloc("Solder::cg::sums", exec),
                            Data::sums_size(vector_teams_, product_teams_));
    if (options.form == CgForm::pipelined)
      pipelined_ = std::make_unique<Pipelined>(exec, options_.runner);
    else
      classical_ = std::make_unique<Classical>(exec, options_.runner);
    setup_seconds_ = timer.seconds();
  }

  /// \brief Solves A x = b from the initial guess in x.
  ///
  /// b and x are rank-1 contiguous views of rows() scalars, accessible from Exec. Returns when x is complete on
  /// exec (fence exec before another instance reads it).
  /// \throws std::invalid_argument where b or x has another length
  template <class B, class X>
  Report solve(B const& b, X const& x) {
    if (b.extent(0) != r_.extent(0) || x.extent(0) != r_.extent(0))
      throw std::invalid_argument("Solder::Cg: b and x need " + std::to_string(r_.extent(0)) + " entries, not " +
                                  std::to_string(b.extent(0)) + " and " + std::to_string(x.extent(0)));
    SolverOptions options = options_;
    std::int32_t const zero_row = preconditioner_.zero_row();
    if (zero_row >= 0) options.max_iterations = 0;
    auto const A = matrix_.device_operator();
    Data const data{A,         preconditioner_.device_operator(),
                    A.rows,    {options.tolerance, options.max_iterations},
                    b.data(),  x.data(),
                    r_.data(), p_.data(),
                    q_.data(), sums_.data(),
                    vector_teams_, product_teams_};
    Report report = pipelined_ ? pipelined_->solve(data, options) : classical_->solve(data, options);
    if (zero_row >= 0 && report.reason == Reason::max_iterations) {
      report.reason = Reason::breakdown;
      report.detail = "the diagonal entry of row " + std::to_string(zero_row + 1) +
                      " (counted from 1) is zero: Jacobi cannot divide by it";
    }
    report.setup_seconds += setup_seconds_;
    report.words_per_iteration =
        matrix_.words() + ((pipelined_ ? 9 : 11) + 2 * Preconditioner::words_per_row()) * matrix_.rows();
    return report;
  }

 private:
  using Operator = decltype(std::declval<Matrix const&>().device_operator());
  using Data = Impl::CgData<scalar_type, Operator, decltype(std::declval<Preconditioner const&>().device_operator())>;
  using Judgement = Program<Impl::CgResidual, Impl::CgJudge>;
  using Pipelined = Impl::Engine<Exec, Data, Judgement, Program<Impl::CgProduct<true>, Impl::CgUpdate>>;
  using Classical = Impl::Engine<Exec, Data, Judgement,
                                 Program<Impl::CgProduct<false>, Impl::CgClassicalStep, Impl::CgClassicalDirection>>;
  using Vector = Kokkos::View<scalar_type*, typename Exec::memory_space>;

  Exec exec_;
  Matrix matrix_;
  Preconditioner preconditioner_;
  CgOptions options_;
  Vector r_, p_, q_;
  Kokkos::View<double*, typename Exec::memory_space> sums_;
  int vector_teams_, product_teams_;
  std::unique_ptr<Pipelined> pipelined_;
  std::unique_ptr<Classical> classical_;
  double setup_seconds_;
};

}  // namespace Solder
