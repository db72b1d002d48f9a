// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <solder/core/runners.hpp>
#include <solder/core/scalar.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/solvers/common.hpp>

namespace Solder {

/// \brief `classical`: Hestenes & Stiefel's, 3 kernels an iteration. `pipelined`: the default, 2
/// kernels.
enum class CgForm { classical, pipelined };

constexpr std::string_view to_string(CgForm form) {
  return form == CgForm::classical ? "classical" : "pipelined";
}

struct CgOptions : SolverOptions {
  CgForm form = CgForm::pipelined;
};

namespace Impl {

/// \brief What the stages of CG share.
///
/// Sums left by one stage for later ones: the vector updates leave (r, z) and (r, r), one and the
/// same without preconditioner, in two buffers taken in turn by the iteration's parity; the product
/// leaves (p, q) and (q, M q); the residual leaves (s, s), (b, b) and the nonzeros of b. With a
/// factorised preconditioner M = G^H G the product with G leaves (r, z) = (t, t), t = G r.
template <class Scalar, class Operator, class Preconditioner>
struct CgData {
  using scalar_type = Scalar;
  static constexpr char const* label = "Solder::cg::solve";
  static constexpr std::size_t update_sums = Preconditioner::is_identity ? 1 : 2;
  static constexpr int max_sums = update_sums + 2;

  Operator A;
  Preconditioner M;
  Rows rows;
  Limits limits;
  Scalar const* b;
  Scalar *x, *r, *p, *q;
  Scalar* t;  ///< G r; row-wise preconditioners have none
  double* sums;
  std::int32_t vector_teams, product_teams;

  bool operator==(CgData const&) const = default;

  KOKKOS_FUNCTION std::int32_t most_teams() const {
    return Kokkos::max(vector_teams, product_teams);
  }
  KOKKOS_FUNCTION Partials<update_sums> of_update(int iteration) const {
    return {sums + (iteration & 1) * update_sums * vector_teams, vector_teams};
  }
  /// Each by a stage of its own, where the preconditioner is not row-wise.
  KOKKOS_FUNCTION Partials<1> of_rz(int iteration) const {
    return {of_update(iteration).values, vector_teams};
  }
  KOKKOS_FUNCTION Partials<1> of_rr(int iteration) const {
    return {of_update(iteration).values + vector_teams, vector_teams};
  }
  KOKKOS_FUNCTION Partials<2> of_product() const {
    return {sums + 2 * update_sums * vector_teams, product_teams};
  }
  KOKKOS_FUNCTION Partials<3> of_residual() const {
    return {of_product().values + 2 * product_teams, product_teams};
  }
  /// q is free while a claim is judged.
  KOKKOS_FUNCTION Scalar* true_residual() const { return q; }

  static std::size_t sums_size(int vector_teams, int product_teams) {
    return std::size_t(2) * update_sums * vector_teams + std::size_t(5) * product_teams;
  }

  /// \brief Adds (r, z) and (r, r) of one row.
  KOKKOS_FORCEINLINE_FUNCTION static void add(Sums<update_sums>& mine, Scalar const& r,
                                              Scalar const& z) {
    mine[0] += real_dot(r, z);
    if constexpr (update_sums == 2) mine[1] += abs_squared(r);
  }
};

/// \brief Holds the claim against the true residual; begins anew from it, r = s and p = M r, where
/// the judge says so.
struct CgJudge : VectorStage {
  static constexpr char const* label = "Solder::cg::judge";
  static constexpr Phase phase = Phase::judge;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    if (now.phase != phase) return;
    if (verdict_on_residual(d, team, next) != Verdict::restart) return;
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
};

/// \brief q = A p, with (p, q) and, for the prediction of beta, (q, M q). Words: the matrix, and 2
/// a row.
template <bool Predict>
struct CgProduct : ProductStage {
  static constexpr char const* label = "Solder::cg::product";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control&) {
    Sums<2> mine{};
    bool const went_on = d.A.for_each_row_product(
        team, d.p, [&] { return now.phase == phase; },
        [&](std::int32_t i, auto const& q) {
          d.q[i] = q;
          mine[0] += real_dot(d.p[i], q);
          if constexpr (Predict) mine[1] += real_dot(q, d.M(i, q));
        });
    if (!went_on) return;
    d.of_product().leave(team, mine);
  }
};

/// \brief The scalars of an iteration.
struct CgStep {
  double alpha, beta;
};

/// \brief A thread's shares of the sums of an iteration: those of even updates, of odd ones and of
/// the product.
///
/// Where they are few they are gathered before it is known whether the iteration is even or odd:
/// their latency then hides the control block's.
template <class Data>
using CgShares = Sums<2 * Data::update_sums + 2>;

template <class Data, class Team>
KOKKOS_FORCEINLINE_FUNCTION CgShares<Data> cg_shares(Data const& d, Team const& team) {
  std::int32_t const most = d.most_teams();
  if (!team.gathers_ahead(most)) return {};
  return team.gather(most, d.of_update(0), d.of_update(1), d.of_product());
}

/// \brief Whether a square has all its digits: (A p, M A p) may leave the range of double where the
/// scalars of the classical form do not.
KOKKOS_FORCEINLINE_FUNCTION bool in_range(double square) {
  return square >= 1e-290 && square <= 1e290;
}

/// \brief Why an iteration cannot go on as usual. In the benchmark mode it goes on all the same,
/// with 0 for 0 / 0.
template <bool Predict, class Data>
KOKKOS_FUNCTION CgStep cg_end(Data const& d, Control const& now, Control& next, CgStep const& step,
                              double rz, double rr, double pq, double qMq) {
  if (!(Kokkos::isfinite(rr) && Kokkos::isfinite(rz)))
    next.claim(Reason::not_finite, Cause::r_z, rz);
  else if (!Kokkos::isfinite(pq))
    next.claim(Reason::not_finite, Cause::p_Ap, pq);
  else if (!d.limits.unconditional() && rr <= now.stop_squared)
    next.claim(Reason::converged);
  else if (now.iteration >= d.limits.max_iterations)
    next.claim(Reason::max_iterations);
  else if (d.limits.unconditional())
    return Kokkos::isfinite(step.alpha) && Kokkos::isfinite(step.beta) ? step : CgStep{0, 0};
  else if (rr > Limits::divergence * Limits::divergence * now.b_squared)
    next.claim(Reason::diverged);
  else if (rz <= 0)
    next.claim(rz < 0 ? Reason::indefinite_preconditioner : Reason::breakdown, Cause::r_z, rz);
  else if (pq <= 0)
    next.claim(pq < 0 ? Reason::indefinite_matrix : Reason::breakdown, Cause::p_Ap, pq);
  else if (Predict && !(step.beta >= 0 && in_range(qMq)))
    next.claim(Kokkos::isnan(qMq) ? Reason::not_finite : Reason::breakdown, Cause::q_Mq, qMq);
  else
    next.claim(Reason::not_finite, Cause::p_Ap, pq);  // its inverse is infinite or zero
  return step;
}

/// \brief Sums (r, z), (r, r), (p, q) and (q, M q) up, records the residual, and ends the iteration
/// where it must.
///
/// beta is predicted, (r', z') = -(r, z) + alpha^2 (q, M q) (paper 1, eq. 3.1, preconditioned); the
/// (r', z') that the update then computes corrects it in the next alpha (predict and recompute:
/// Chen & Carson 2020).
template <bool Predict, class Data, class Team>
KOKKOS_FORCEINLINE_FUNCTION CgStep cg_step(Data const& d, Team const& team,
                                           CgShares<Data> const& shares, Control const& now,
                                           Control& next) {
  constexpr std::size_t n = Data::update_sums;
  std::int32_t const most = d.most_teams();
  Sums<n + 2> share;
  if (team.gathers_ahead(most)) {
    for (std::size_t v = 0; v < n; ++v) share[v] = now.iteration & 1 ? shares[n + v] : shares[v];
    for (std::size_t v = 0; v < 2; ++v) share[n + v] = shares[2 * n + v];
  } else {
    share = team.gather(most, d.of_update(now.iteration), d.of_product());
  }
  auto const s = team.total(share, most);
  double const rz = s[0], rr = s[n - 1], pq = s[n], qMq = s[n + 1];
  next.measure(rr);

  double const inverse = 1 / pq;  // one division: it is the longest chain here
  double const alpha = rz * inverse;
  CgStep const step{alpha, Predict ? Kokkos::fmax(alpha * qMq * inverse - 1, 0.0) : 0};
  bool const ordinary = rr > now.stop_squared &&
                        rr <= Limits::divergence * Limits::divergence * now.b_squared && rz > 0 &&
                        pq > 0 && step.alpha > 0 && Kokkos::isfinite(step.alpha) &&
                        Kokkos::isfinite(step.beta) && (!Predict || in_range(qMq)) &&
                        now.iteration < d.limits.max_iterations;
  return ordinary ? step : cg_end<Predict>(d, now, next, step, rz, rr, pq, qMq);
}

/// \brief x += alpha p, r -= alpha q, p = M r + beta p, with (r, z) and (r, r). Words: 7 a row.
struct CgUpdate : VectorStage {
  static constexpr char const* label = "Solder::cg::update";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    using Scalar = typename Data::scalar_type;
    struct Row {
      Scalar x, r, p, q;
    };
    typename ScalarTraits<Scalar>::Real alpha, beta;
    Sums<Data::update_sums> mine{};
    CgShares<Data> const shares = cg_shares(d, team);
    bool const went_on = team.for_each_row(
        d.rows,
        [&](std::int32_t i) {
          return Row{d.x[i], d.r[i], d.p[i], d.q[i]};
        },
        [&] {
          if (now.phase != phase) return false;
          CgStep const step = cg_step<true>(d, team, shares, now, next);
          alpha = to_real<Scalar>(step.alpha);
          beta = to_real<Scalar>(step.beta);
          return next.phase == phase;
        },
        [&](std::int32_t i, Row const& old) {
          Scalar const r = old.r - alpha * old.q;
          Scalar const z = d.M(i, r);
          d.x[i] = old.x + alpha * old.p;
          d.r[i] = r;
          d.p[i] = z + beta * old.p;
          Data::add(mine, r, z);
        });
    if (!went_on) return;
    d.of_update(now.iteration + 1).leave(team, mine);
    ++next.iteration;
  }
};

/// \brief x += alpha p, r -= alpha q, with (r, z) and (r, r). Words: 6 a row.
struct CgClassicalStep : VectorStage {
  static constexpr char const* label = "Solder::cg::step";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    if (now.phase != phase) return;
    CgStep const step = cg_step<false>(d, team, cg_shares(d, team), now, next);
    if (next.phase != phase) return;
    auto const alpha = to_real<typename Data::scalar_type>(step.alpha);
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
    if (now.phase != phase) return;
    constexpr std::size_t n = Data::update_sums;
    auto const s = team.total(
        team.gather(d.vector_teams, d.of_update(now.iteration - 1), d.of_update(now.iteration)),
        d.vector_teams);
    auto const beta = to_real<typename Data::scalar_type>(s[0] == 0 ? 0 : s[n] / s[0]);
    team.for_each_row(d.rows, [&](std::int32_t i) { d.p[i] = d.M(i, d.r[i]) + beta * d.p[i]; });
  }
};

/// \brief CgJudge of a factorised preconditioner: CgFactor and CgFactorDirection<true> complete its
/// new beginning.
struct CgFactorJudge : FactorStage {
  static constexpr char const* label = "Solder::cg::judge";
  static constexpr Phase phase = Phase::judge;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    if (now.phase != phase) return;
    next.part = verdict_on_residual(d, team, next) == Verdict::restart;
    if (next.part == 0) return;
    Sums<1> mine{};
    team.for_each_row(d.rows, [&](std::int32_t i) {
      auto const r = d.q[i];
      d.r[i] = r;
      mine[0] += abs_squared(r);
    });
    d.of_rr(next.iteration).leave(team, mine);
  }
};

/// \brief x += alpha p, r -= alpha q, with (r, r). Words: 6 a row.
struct CgFactorStep : FactorStage {
  static constexpr char const* label = "Solder::cg::step";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    using Scalar = typename Data::scalar_type;
    struct Row {
      Scalar x, r, p, q;
    };
    typename ScalarTraits<Scalar>::Real alpha;
    Sums<1> mine{};
    CgShares<Data> const shares = cg_shares(d, team);
    bool const went_on = team.for_each_row(
        d.rows,
        [&](std::int32_t i) {
          return Row{d.x[i], d.r[i], d.p[i], d.q[i]};
        },
        [&] {
          if (now.phase != phase) return false;
          alpha = to_real<Scalar>(cg_step<false>(d, team, shares, now, next).alpha);
          return next.phase == phase;
        },
        [&](std::int32_t i, Row const& old) {
          Scalar const r = old.r - alpha * old.q;
          d.x[i] = old.x + alpha * old.p;
          d.r[i] = r;
          mine[0] += abs_squared(r);
        });
    if (!went_on) return;
    d.of_rr(now.iteration + 1).leave(team, mine);
    ++next.iteration;
  }
};

/// \brief t = G r, with (t, t) = (r, z). Words: G, and 2 a row.
template <bool Fresh>
struct CgFactor : FactorStage {
  static constexpr char const* label = "Solder::cg::factor";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control&) {
    Sums<1> mine{};
    bool const went_on = d.M.G.for_each_row_product(
        team, d.r, [&] { return now.phase == phase && (!Fresh || now.part == 1); },
        [&](std::int32_t i, auto const& t) {
          d.t[i] = t;
          mine[0] += abs_squared(t);
        });
    if (went_on) d.of_rz(now.iteration).leave(team, mine);
  }
};

/// \brief beta = (r', z') / (r, z), p = G^H t + beta p; beta = 0 where Fresh. Words: G, and 3 a
/// row.
template <bool Fresh>
struct CgFactorDirection : FactorTransposedStage {
  static constexpr char const* label = "Solder::cg::factor_direction";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    typename ScalarTraits<typename Data::scalar_type>::Real beta;
    d.M.GH.for_each_row_product(
        team, d.t,
        [&] {
          if (now.phase != phase) return false;
          if constexpr (Fresh) {
            next.part = 0;
            return now.part == 1;
          } else {
            auto const s = team.total(
                team.gather(d.vector_teams, d.of_rz(now.iteration - 1), d.of_rz(now.iteration)),
                d.vector_teams);
            beta = to_real<typename Data::scalar_type>(s[0] == 0 ? 0 : s[1] / s[0]);
            return true;
          }
        },
        [&](std::int32_t i, auto const& z) {
          if constexpr (Fresh)
            d.p[i] = z;
          else
            d.p[i] = z + beta * d.p[i];
        });
  }
};

}  // namespace Impl

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
/// Classical (paper 1, Algorithm 1): the update in two kernels, with beta = (r', z') / (r, z)
/// recomputed.
///
/// With a factorised preconditioner M = G^H G (Fsai) both forms are the classical one, in 4
/// kernels, for (r, z) = (G r, G r) comes with the product by G:
///
///     q     = A p                                            kernel 1: product
///     alpha = (t, t) / (p, q),  x = x + alpha p,  r = r - alpha q       kernel 2: step
///     t     = G r                                            kernel 3: factor
///     beta  = (t', t') / (t, t),  p = G^H t + beta p         kernel 4: factor_direction
///
/// Cost of an iteration: 2 kernels (classical 3), no fence; words: the matrix + 9 n (classical 11
/// n), Jacobi adds 2 n (2 n); with a factorised preconditioner 4 kernels, A, G and G^H + 13 n.
/// Before the first iteration, and when the recursion believes it has
/// converged, 2 kernels recompute the true residual: a recursion that was wrong restarts from the
/// truth, or ends as stagnated.
///
/// \tparam Matrix has scalar_type, rows(), columns(), nonzeros(), words() and device_operator(): a
/// plain struct with
///         `Rows rows`, `teams`, operator== and for_each_row_product, which hands out row products
///         (CsrMatrix)
/// \tparam Preconditioner is applied row by row inside the kernels, Identity or Jacobi, or by two
///         products, Fsai
template <class Exec, class Matrix, class Preconditioner = Identity>
class Cg {
 public:
  using scalar_type = typename Matrix::scalar_type;

  /// \brief Allocates the workspace, 3 vectors. All work of all solves goes to exec.
  /// \throws std::invalid_argument where A is not square or an option is out of range
  Cg(Exec const& exec, Matrix const& A, Preconditioner const& M = {}, CgOptions const& options = {})
      : exec_(exec), matrix_(A), preconditioner_(M), options_(options) {
    Kokkos::Timer timer;
    Impl::check_system("Solder::Cg", A, options);
    options_.runner = Impl::choose_runner<Exec>(options.runner, A.rows(), A.nonzeros());
    auto const vector = [&](std::string const& label) {
      return Vector(Kokkos::view_alloc(label, exec), A.rows());
    };
    r_ = vector("Solder::cg::r");
    p_ = vector("Solder::cg::p");
    q_ = vector("Solder::cg::q");
    bool const one = options_.runner == Runner::team;
    product_teams_ = one ? 1 : A.device_operator().teams;
    vector_teams_ = one ? 1 : Impl::vector_teams(exec, A.rows());
    if constexpr (!Operation::is_row_wise) {
      t_ = vector("Solder::cg::t");
      if (!one) vector_teams_ = M.device_operator().G.teams;
    }
    sums_ = decltype(sums_)(Kokkos::view_alloc("Solder::cg::sums", exec),
                            Data::sums_size(vector_teams_, product_teams_));
    if constexpr (!Operation::is_row_wise)
      factorised_ = std::make_unique<Factorised>(exec, options_.runner);
    else if (options.form == CgForm::pipelined)
      pipelined_ = std::make_unique<Pipelined>(exec, options_.runner);
    else
      classical_ = std::make_unique<Classical>(exec, options_.runner);
    setup_seconds_ = timer.seconds();
  }

  /// \brief Solves A x = b from the initial guess in x.
  ///
  /// b and x are rank-1 contiguous views of rows() scalars, accessible from Exec. Returns when x is
  /// complete on exec (fence exec before another instance reads it). \throws std::invalid_argument
  /// where b or x has another length or is strided
  template <class B, class X>
  Report solve(B const& b, X const& x) {
    Impl::check_vectors("Solder::Cg", r_.extent(0), b, x);
    Report report = Impl::solve_unless_trivial(
        matrix_.rows(), preconditioner_, options_, [&](SolverOptions const& options) {
          auto const A = matrix_.device_operator();
          auto M = preconditioner_.device_operator();
          Impl::check_preconditioner("Solder::Cg", matrix_.rows(), M);
          if constexpr (!Operation::is_row_wise) M.G.teams = vector_teams_;  // they leave sums
          Data const data{A,
                          M,
                          Impl::vector_rows(A, M),
                          {options.tolerance, options.max_iterations},
                          b.data(),
                          x.data(),
                          r_.data(),
                          p_.data(),
                          q_.data(),
                          t_.data(),
                          sums_.data(),
                          vector_teams_,
                          product_teams_};
          if constexpr (Operation::is_row_wise)
            return pipelined_ ? pipelined_->solve(data, options) : classical_->solve(data, options);
          else
            return factorised_->solve(data, options);
        });
    report.setup_seconds += setup_seconds_;
    double const vectors = factorised_  ? 13
                           : pipelined_ ? 9
                                        : 11,
                 applications = factorised_ ? 1 : 2;
    report.words_per_iteration =
        matrix_.words() + vectors * matrix_.rows() +
        applications * Impl::words_of<scalar_type>(preconditioner_, matrix_.rows());
    return report;
  }

 private:
  using Operator = decltype(std::declval<Matrix const&>().device_operator());
  using Operation = decltype(std::declval<Preconditioner const&>().device_operator());
  using Data = Impl::CgData<scalar_type, Operator, Operation>;
  using Judgement = Program<Impl::Residual, Impl::CgJudge>;
  using Pipelined =
      Impl::Engine<Exec, Data, Judgement, Program<Impl::CgProduct<true>, Impl::CgUpdate>>;
  using Classical = Impl::Engine<
      Exec, Data, Judgement,
      Program<Impl::CgProduct<false>, Impl::CgClassicalStep, Impl::CgClassicalDirection>>;
  using Factorised = Impl::Engine<Exec, Data,
                                  Program<Impl::Residual, Impl::CgFactorJudge, Impl::CgFactor<true>,
                                          Impl::CgFactorDirection<true>>,
                                  Program<Impl::CgProduct<false>, Impl::CgFactorStep,
                                          Impl::CgFactor<false>, Impl::CgFactorDirection<false>>>;
  using Vector = Kokkos::View<scalar_type*, typename Exec::memory_space>;

  Exec exec_;
  Matrix matrix_;
  Preconditioner preconditioner_;
  CgOptions options_;
  Vector r_, p_, q_, t_;
  Kokkos::View<double*, typename Exec::memory_space> sums_;
  int vector_teams_, product_teams_;
  std::unique_ptr<Pipelined> pipelined_;
  std::unique_ptr<Classical> classical_;
  std::unique_ptr<Factorised> factorised_;
  double setup_seconds_;
};

}  // namespace Solder
