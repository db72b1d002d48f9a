// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include <solder/core/identity.hpp>
#include <solder/solvers/detail/idr_stages.hpp>
#include <solder/solvers/detail/idr_update.hpp>
#include <solder/solvers/detail/judge.hpp>
#include <solder/solvers/detail/solver.hpp>
#include <solder/solvers/idr_options.hpp>

namespace Solder {

namespace Impl {
template <class Exec, class OpenedA, class OpenedM>
class IdrMethod;
}

/// \brief The induced dimension reduction method IDR(s) for any nonsingular system, preconditioned
/// from the right: the variant with biorthogonal residuals (Van Gijzen and Sonneveld 2011; paper
/// 5).
///
/// With P = [p_0, ..., p_s-1] a random shadow space, G = U = 0, M = I, omega = 1, r = b - A x,
/// f = P^H r, and B the preconditioner:
///
///     for k = 0, ..., s - 1, with M, f and c from their entries k on:
///       M c = f,  v = r - sum_i c_i g_i,  u_k = sum_i c_i u_i + omega B v
///       g_k = A u_k                                        kernel 1: product
///       g_k = g_k - sum_i a_i g_i,  u_k = u_k - sum_i a_i u_i,
///         so that (p_i, g_k) = 0 for i < k;  M_i,k = (p_i, g_k)
///       beta = f_k / M_k,k,  r = r - beta g_k,
///       x = x + beta u_k,  f = f - beta M_k                kernel 2: update
///     t = A B r,  omega = (t, r) / (t, t)                  kernel 1: product
///     r = r - omega t,  x = x + omega B r                  kernel 2: update
///
/// where omega is larger if t and r are all but orthogonal (kappa = 0.7). A step, which costs a
/// product, is what counts as an iteration: s + 1 of them are a cycle. All products with P that a
/// step needs come with its product (Collignon and van Gijzen 2011), and the entries of P are made
/// where they are needed instead of read. So the update, which knows all coefficients, makes the
/// next step's direction in the same pass over G and U. At a cycle's end P^H r is computed anew.
///
/// A pointwise B is applied within the update. The last of the kernels of any other hands out what
/// it has made, to be added to u.
///
/// Cost of an iteration on average over a cycle, no fence:
///
///     B                   kernels    words
///     pointwise           2          A, (2 s^2 + 11 s + 8) / (s + 1) n, B
///     another, k kernels  2 + k      A, (2 s^2 + 15 s + 12) / (s + 1) n, B
///
/// and 4 n words more with smoothing. For s > 4, and for large systems on GPUs, P^H g takes a
/// kernel of its own, and n words for every 8 vectors of P. Memory: 2 s + 3 vectors, two more with
/// smoothing, one more where B is not pointwise, and B's.
///
/// Where (p_k, g_k) or omega has no digits left the iteration begins anew if it has won something,
/// and once with another shadow space if not; so it does where its residual is not the true one,
/// and, with smoothing, where the residual that is smoothed has grown beyond use.
///
/// \tparam Matrix, Preconditioner as of Cg
template <class Exec, class Matrix, class Preconditioner = Identity>
class Idr : public Impl::Solver<Impl::IdrMethod, Exec, Matrix, Preconditioner, IdrOptions> {
  using Base = Impl::Solver<Impl::IdrMethod, Exec, Matrix, Preconditioner, IdrOptions>;

 public:
  static constexpr int most_shadow_dimension = Impl::most_shadow_dimension;

  /// \brief Allocates the workspace. All work of all solves goes to exec.
  /// \throws std::invalid_argument where A is not square, M has another size or an option is out of
  /// range
  Idr(Exec const& exec, Matrix const& A, Preconditioner const& M = {},
      IdrOptions const& options = {})
      : Base(exec, A, M, options) {}
};

namespace Impl {

template <class Exec, class OpenedA, class OpenedM>
class IdrMethod {
 public:
  static constexpr char name[] = "Solder::Idr";
  using Scalar = typename OpenedA::scalar_type;
  using System = Impl::System<Exec, OpenedA, OpenedM>;
  static constexpr bool takes_many = false;

  IdrMethod(Exec const& exec, std::shared_ptr<System> system, IdrOptions const& options,
            Many const& many = {})
      : s_(checked_dimension(options, system->rows())),
        smoothing_(options.smoothing),
        shadow_{options.seed},
        solving_(name, "Solder::idr::solve", exec, std::move(system), options,
                 {.steps = s_ + 1, .is_judged = false}, many) {
    solving_.reserve([&](auto... all) { return with_programs(all...); });
  }

  Report solve(Scalar const* b, Scalar* x) {
    return complete(solving_.solve(b, x, [&](auto... all) { return with_programs(all...); }));
  }
  /// \brief The same, led by the caller, and what it has come to: see Beside.
  std::unique_ptr<Underway> start(Scalar const* b, Scalar* x) {
    return solving_.start(b, x, [&](auto... all) { return with_programs(all...); });
  }
  Report report(Underway const* underway) { return complete(solving_.report(underway)); }

 private:
  using Cycle = IdrCycle<Scalar>;
  static constexpr bool pointwise = OpenedM::is_pointwise;

  static std::int32_t checked_dimension(IdrOptions const& options, std::int32_t rows) {
    static_assert(most_shadow_dimension <= ShadowSpace<Scalar>::most);
    check(options, name);
    return std::max(1, std::min(options.shadow_dimension, rows));
  }

  /// \brief use(judgement, iteration).
  template <class Use>
  void with_programs(Scalar const* b, Scalar* x, Use const& use) {
    auto& arena = solving_.arena();
    auto const A = solving_.open_matrix();
    auto const M = solving_.open_preconditioner();
    auto const vector = [&](char const* label) {
      return arena.template array<Scalar>(label, solving_.rows());
    };
    Scalar* const r = vector("Solder::idr::r");
    Scalar* const v = pointwise ? nullptr : vector("Solder::idr::v");
    Scalar* const rs = smoothing_ ? vector("Solder::idr::smoothed_r") : nullptr;
    Scalar* const plain_x = smoothing_ ? vector("Solder::idr::x") : x;
    Scalar* const smoothed_x = smoothing_ ? x : nullptr;
    Rows rows = A.rows;
    if constexpr (!pointwise) rows = M.rows(A.rows);
    int const league = arena.teams(rows.teams);
    Cycle const d = open_cycle(A.league, league);
    double* workspace = nullptr;
    if constexpr (is_host_space<Exec>)
      workspace = arena.doubles(std::size_t(rows.teams) * IdrScratch<Scalar>::size(s_));

    auto const shadow = [&](Phase phase) {
      bool const is_needed = phase == Phase::iterate ? !d.fused : !d.is_narrow();
      return repeat(program(IdrShadow<Scalar>{phase, d, rows, r, league}), is_needed);
    };
    auto const Au = A.apply(Phase::iterate, Place<Scalar>(d.U, d.stride, 0));
    Place<Scalar> const g(d.G, d.stride, 0);
    auto const product = [&]<bool Fused>() {
      return repeat(program(stage("Solder::idr::product", Phase::iterate, Au.rows,
                                  IdrProduct<Scalar, Fused>{d, g, r})),
                    d.fused == Fused);
    };
    auto const products = program(Au.before, product.template operator()<true>(),
                                  product.template operator()<false>(), shadow(Phase::iterate));
    auto const judged = [&](auto const& begin) {  // t is free while a claim is judged
      return judgement(arena, "Solder::idr::judge", A, rows, d.limits, recovery, b, x, d.g(s_),
                       begin);
    };
    if constexpr (pointwise) {
      return use(
          program(judged(IdrBegin<Scalar, OpenedM, true>{d, M, plain_x, r, smoothed_x, rs}),
                  shadow(Phase::begin)),
          program(products, IdrUpdate<Scalar, OpenedM, false>{d, M, rows, plain_x, r, v, smoothed_x,
                                                              rs, workspace, league}));
    } else {
      auto const Mr = M.apply(Phase::begin, r), Mv = M.apply(Phase::iterate, v);
      return use(
          program(judged(IdrBegin<Scalar, NoOperation, false>{d, {}, plain_x, r, smoothed_x, rs}),
                  Mr.before,
                  stage("Solder::idr::begin", Phase::begin, Mr.rows,
                        IdrBegun<Scalar>{d.u(0), d.is_narrow()}),
                  shadow(Phase::begin)),
          program(
              products,
              IdrUpdate<Scalar, NoOperation, true>{
                  d, {}, rows, plain_x, r, v, smoothed_x, rs, workspace, league},
              Mv.before,
              stage("Solder::idr::direction", Phase::iterate, Mv.rows, IdrDirection<Scalar>{d})));
    }
  }

  Cycle open_cycle(int product_teams, int vector_teams) {
    auto& arena = solving_.arena();
    std::int64_t const stride = (std::int64_t(solving_.rows()) + 31) / 32 * 32;  // full cache lines
    auto const basis = [&](char const* label) {
      return arena.template array<Scalar>(label, stride * (s_ + 1));
    };
    Scalar *const G = basis("Solder::idr::G"), *const U = basis("Solder::idr::U");
    Cycle d{solving_.limits(),
            s_,
            shadow_,
            G,
            U,
            stride,
            is_fused(),
            {arena.doubles(IdrSmall<Scalar>::size(s_)), s_},
            nullptr,
            product_teams,
            vector_teams};
    d.sums = arena.doubles(d.size_of_sums());
    return d;
  }

  /// \brief Whether P^H g comes with the product.
  bool is_fused() {
    bool const is_small = solving_.arena().league() > 0 || solving_.rows() <= most_fused_rows;
    return s_ <= Cycle::width && (is_host_space<Exec> || is_small);
  }

  Report complete(Report report) {
    report.form = smoothing_ ? "smoothed" : "biorthogonal";
    report.words_per_iteration = words_per_iteration();
    return report;
  }
  /// \brief On average over a cycle.
  double words_per_iteration() {
    double const s = s_, passes = std::ceil(s / IdrShadow<Scalar>::width);
    double const of_shadow = (is_fused() ? 0 : passes * (s + 1)) + (s_ > Cycle::width ? passes : 0);
    double const of_cycle = 2 * s * s + 11 * s + 8 + of_shadow;
    double const of_step = (pointwise ? 0 : 4) + (smoothing_ ? 4 : 0);
    return solving_.matrix_words() + (of_cycle / (s + 1) + of_step) * solving_.rows() +
           solving_.preconditioner_words();
  }

  /// Up to so many rows a GPU's product, a kernel of its own, takes P^H g along: a kernel less.
  /// Beyond, a product that does nothing else has more of the matrix's entries in flight, and wins
  /// more. Measured: docs/performance.md.
  static constexpr std::int32_t most_fused_rows = 200'000;

  static constexpr Recovery recovery{.continues = true, .restarts = true, .has_another = true};

  std::int32_t s_;
  bool smoothing_;
  ShadowSpace<Scalar> shadow_;
  Solving<Exec, OpenedA, OpenedM> solving_;
};

}  // namespace Impl

}  // namespace Solder
