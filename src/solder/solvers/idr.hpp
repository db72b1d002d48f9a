// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <solder/core/identity.hpp>
#include <solder/solvers/detail/idr_stages.hpp>
#include <solder/solvers/detail/idr_update.hpp>
#include <solder/solvers/detail/residual_check.hpp>
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
/// product, counts as an iteration: s + 1 of them are a cycle. All inner products with P that a
/// step needs are computed with its product by A (Collignon and van Gijzen 2011), and the entries
/// of P are made where they are needed instead of read. So the update, which knows all
/// coefficients, makes the next step's direction in the same pass over G and U. At a cycle's end
/// P^H r is computed anew.
///
/// A pointwise B is applied within the update. Any other has kernels of its own, the last of which
/// adds its rows to u.
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
/// Where (p_k, g_k) or omega has no digits left, the iteration begins anew if the residual has
/// fallen, and once with another shadow space if not. It also begins anew where its residual is not
/// the true one and, with smoothing, where the residual before smoothing has grown beyond use.
///
/// \tparam Matrix, Preconditioner as of Cg
template <class Exec, class Matrix, class Preconditioner = Identity>
class Idr : public Impl::Solver<Impl::IdrMethod, Exec, Matrix, Preconditioner, IdrOptions> {
  using Base = Impl::Solver<Impl::IdrMethod, Exec, Matrix, Preconditioner, IdrOptions>;

 public:
  /// \brief The largest s that there may be.
  static constexpr int most_shadow_dimension = Impl::most_shadow_dimension;

  /// \brief Allocates the workspace. All work of all solves goes to exec.
  /// \throws std::invalid_argument where A is not square, M has another size or an option is out of
  /// range
  Idr(Exec const& exec, Matrix const& A, Preconditioner const& M = {},
      IdrOptions const& options = {})
      : Base(exec, A, M, options) {}
};

namespace Impl {

// ---- The formulas: what a step does with row i once g_k and u_k are biorthogonal ----

struct IdrFormula {
  /// \brief r and x, and v of the next direction; from_G is sum_i c_i g_i.
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto& r, auto& x, auto& v, auto g, auto u,
                                              auto from_G, auto const& s) {
    r -= s.beta * g;
    x += s.beta * u;
    v = r - from_G;
  }
  /// \brief The next u, of sum_i c_i u_i and B v; the factor is omega, or sigma before step s.
  KOKKOS_FORCEINLINE_FUNCTION static void add_direction(auto& u, auto Bv, auto const& s) {
    u += s.factor * Bv;
  }
};

// ---- The program ----

template <class Exec, class OpenedA, class OpenedM>
class IdrMethod
    : public MethodBase<IdrMethod<Exec, OpenedA, OpenedM>, Exec, OpenedA, OpenedM, IdrOptions> {
  using Base = MethodBase<IdrMethod, Exec, OpenedA, OpenedM, IdrOptions>;

 public:
  using Scalar = typename OpenedA::scalar_type;
  static constexpr char name[] = "Solder::Idr", label[] = "Solder::idr::solve",
                        check_label[] = "Solder::idr::check";
  static constexpr Recovery recovery{.continues = true, .restarts = true, .has_another = true};
  static constexpr bool has_cycles = true;
  static Impl::Cycle cycle(IdrOptions const& options, std::int64_t rows) {
    return {.steps = checked_dimension(options, rows) + 1, .is_checked = false};
  }
  using Base::Base;

  template <class Use>
  void with_form(Scalar const* b, Scalar* x, Use const& use) {
    use(biorthogonal(b, x));
  }

 private:
  using Cycle = IdrCycle<Scalar>;
  static constexpr bool pointwise = OpenedM::is_pointwise;

  static std::int32_t checked_dimension(IdrOptions const& options, std::int64_t rows) {
    static_assert(most_shadow_dimension <= ShadowSpace<Scalar>::most);
    check(options, name);
    return static_cast<std::int32_t>(
        std::max<std::int64_t>(1, std::min<std::int64_t>(options.shadow_dimension, rows)));
  }

  auto biorthogonal(Scalar const* b, Scalar* x) {
    auto& arena = this->arena();
    auto const A = this->open_matrix();
    auto const M = this->open_preconditioner();
    std::int32_t const s_ = checked_dimension(this->options(), this->all_rows());
    bool const smoothing_ = this->options().smoothing;
    auto const vector = [&](char const* label) {
      return arena.template array<Scalar>(label, this->rows());
    };
    Scalar *const r = vector("Solder::idr::r"),
                  *const v = pointwise ? nullptr : vector("Solder::idr::v"),
                  *const rs = smoothing_ ? vector("Solder::idr::smoothed_r") : nullptr,
                  *const plain_x = smoothing_ ? vector("Solder::idr::x") : x,
                  *const smoothed_x = smoothing_ ? x : nullptr;
    Rows rows = A.rows;
    if constexpr (!pointwise) rows = M.rows(A.rows);
    int const league = arena.teams(rows.teams);
    Cycle const d = open_cycle(s_, A.league, league);
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
    auto const check = [&](auto const& begin) {  // t is free while a claim is checked
      return this->residual_check(A, rows, b, x, d.g(s_), begin);
    };
    double const norm_of_shadow = std::sqrt(ShadowSpace<Scalar>::squared_norm(this->all_rows()));
    std::string_view const name = smoothing_ ? "smoothed" : "biorthogonal";
    if constexpr (pointwise) {
      return form<whole_kernels<OpenedA, OpenedM>>(
          name, cost(d),
          program(check(IdrBegin<Scalar, OpenedM, true>{d, M, plain_x, r, smoothed_x, rs}),
                  shadow(Phase::begin)),
          program(products, IdrUpdate<IdrFormula, Scalar, OpenedM, false>{d, M, rows, plain_x, r, v,
                                                                          smoothed_x, rs, workspace,
                                                                          league, norm_of_shadow}));
    } else {
      auto const Mr = M.apply(Phase::begin, r), Mv = M.apply(Phase::iterate, v);
      return form<whole_kernels<OpenedA, OpenedM>>(
          name, cost(d),
          program(check(IdrBegin<Scalar, NoOperation, false>{d, {}, plain_x, r, smoothed_x, rs}),
                  Mr.before,
                  stage("Solder::idr::begin", Phase::begin, Mr.rows,
                        IdrBegun<Scalar>{d.u(0), d.is_narrow()}),
                  shadow(Phase::begin)),
          program(
              products,
              IdrUpdate<IdrFormula, Scalar, NoOperation, true>{
                  d, {}, rows, plain_x, r, v, smoothed_x, rs, workspace, league, norm_of_shadow},
              Mv.before,
              stage("Solder::idr::direction", Phase::iterate, Mv.rows,
                    IdrDirection<IdrFormula, Scalar>{d})));
    }
  }

  Cycle open_cycle(std::int32_t s, int product_teams, int vector_teams) {
    auto& arena = this->arena();
    std::int64_t const stride = (std::int64_t(this->rows()) + 31) / 32 * 32;  // full cache lines
    auto const basis = [&](char const* label) {
      return arena.template array<Scalar>(label, stride * (s + 1));
    };
    Scalar *const G = basis("Solder::idr::G"), *const U = basis("Solder::idr::U");
    bool const is_small = arena.league() > 0 || this->rows() <= most_fused_rows;
    Cycle d{this->limits(),
            s,
            s <= Cycle::width && (is_host_space<Exec> || is_small),
            {ShadowSpace<Scalar>::seed_from(this->options().seed, this->first_row())},
            G,
            U,
            stride,
            {arena.doubles(IdrSmall<Scalar>::size(s)), s},
            nullptr,
            product_teams,
            vector_teams};
    d.sums = arena.doubles(d.size_of_sums());
    return d;
  }

  /// \brief On average over a cycle.
  Cost cost(Cycle const& d) {
    double const s = d.s, passes = std::ceil(s / IdrShadow<Scalar>::width);
    double const of_shadow = (d.fused ? 0 : passes * (s + 1)) + (d.s > Cycle::width ? passes : 0);
    double const of_cycle = 2 * s * s + 11 * s + 8 + of_shadow;
    double const of_step = (pointwise ? 0 : 4) + (this->options().smoothing ? 4 : 0);
    return {.A = 1, .M = 1, .row = of_cycle / (s + 1) + of_step};
  }

  /// Up to this many rows a GPU's product, where it is a kernel of its own, also computes P^H g,
  /// which saves a kernel. Beyond, a product that does nothing else has more of the matrix's
  /// entries in flight, which saves more. Measured: docs/performance/idr.md.
  static constexpr std::int32_t most_fused_rows = 200'000;
};

}  // namespace Impl

}  // namespace Solder
