// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <solder/core/open.hpp>
#include <solder/core/runners/engine.hpp>
#include <solder/kernels/multi_dot.hpp>

namespace Solder::Impl {

/// \brief The largest eigenvalue of a real symmetric tridiagonal matrix, by bisection with Sturm
/// sequences, to nearly all digits.
inline double largest_of_tridiagonal(std::vector<double> const& diagonal,
                                     std::vector<double> const& beside) {
  double low = diagonal[0], high = diagonal[0];
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    double const radius =
        (i > 0 ? std::abs(beside[i - 1]) : 0) + (i + 1 < diagonal.size() ? std::abs(beside[i]) : 0);
    low = std::min(low, diagonal[i] - radius);
    high = std::max(high, diagonal[i] + radius);
  }
  if (!(std::isfinite(low) && std::isfinite(high))) return std::nan("");
  auto const all_below = [&](double x) {
    double pivot = 1;
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
      pivot = diagonal[i] - x - (i > 0 ? beside[i - 1] * beside[i - 1] / pivot : 0);
      if (pivot >= 0) return false;
    }
    return true;
  };
  for (int k = 0; k < 200 && high - low > 1e-14 * std::max(std::abs(low), std::abs(high)); ++k) {
    double const middle = low + (high - low) / 2;
    (all_below(middle) ? high : low) = middle;
  }
  return high;
}

/// \brief Lanczos's method for M A, self-adjoint in the inner product of M's inverse.
///
/// Each step takes a product with A, an application of M and two inner products, and waits for
/// them.
template <class Exec, class Matrix, class Preconditioner>
class Lanczos {
 public:
  using Scalar = typename Matrix::scalar_type;

  Lanczos(Exec const& exec, Matrix const& A, Preconditioner const& M)
      : exec_(exec),
        n_(A.rows()),
        arena_(exec, false),
        A_(open_matrix(arena_, A)),
        M_(open_preconditioner<Scalar>(arena_, M)),
        engine_(exec, "Solder::lanczos", Runner::launch, {}, is_on_device<decltype(M_)>),
        dot_(exec, n_, 1),
        product_("Solder::lanczos::product", 1),
        v_(vector("Solder::lanczos::v")),
        w_(vector("Solder::lanczos::w")),
        q_(vector("Solder::lanczos::q")),
        older_(vector("Solder::lanczos::older")) {}

  /// \brief An estimate, from below, of the largest eigenvalue; the same in every run. Not
  /// positive or not finite where A or M is not positive definite, as far as it meets that.
  double largest(int steps) {
    // q_k are orthonormal in M, v_k = M q_k: A v_k = beta_k-1 q_k-1 + alpha_k q_k + beta_k q_k+1
    std::vector<double> alphas, betas;
    fill_at_random();
    for (int k = 0; k < std::min<int>(steps, n_); ++k) {
      apply_preconditioner();  // v = M w
      double const squared = dot(w_, v_);
      if (k == 0 && !(squared > 0)) return squared;
      if (!std::isfinite(squared) || squared < 0) return squared;
      double const beta = std::sqrt(squared);
      if (k > 0 && beta <= 1e-12 * std::abs(alphas[0])) break;  // an invariant subspace
      if (k > 0) betas.push_back(beta);
      next(1 / beta);  // older = q, q = w / beta, v = v / beta
      apply_matrix();  // w = A v
      double const alpha = dot(v_, w_);
      alphas.push_back(alpha);
      subtract(alpha, k > 0 ? beta : 0);  // w = w - alpha q - beta older
    }
    return largest_of_tridiagonal(alphas, betas);
  }

  // The kernels; public, for CUDA takes lambdas of public functions only.

  /// \brief w of entries between -1 and 1 that have no pattern.
  void fill_at_random() {
    Scalar* const w = w_;
    Kokkos::parallel_for(
        "Solder::lanczos::start", Kokkos::RangePolicy<Exec>(exec_, 0, n_), KOKKOS_LAMBDA(int i) {
          auto bits = static_cast<std::uint32_t>(i + 1) * 0x9e3779b9u;
          bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
          bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
          bits ^= bits >> 16;
          w[i] = Scalar(to_real<Scalar>(2 * (bits / 4294967296.0) - 1));
        });
  }
  void next(double inverse) {
    Scalar *const v = v_, *const w = w_, *const q = q_, *const older = older_;
    auto const factor = to_real<Scalar>(inverse);
    Kokkos::parallel_for(
        "Solder::lanczos::next", Kokkos::RangePolicy<Exec>(exec_, 0, n_), KOKKOS_LAMBDA(int i) {
          older[i] = q[i];
          q[i] = factor * w[i];
          v[i] = factor * v[i];
        });
  }
  void subtract(double alpha, double beta) {
    Scalar *const w = w_, *const q = q_, *const older = older_;
    auto const a = to_real<Scalar>(alpha), b = to_real<Scalar>(beta);
    Kokkos::parallel_for(
        "Solder::lanczos::subtract", Kokkos::RangePolicy<Exec>(exec_, 0, n_),
        KOKKOS_LAMBDA(int i) { w[i] = w[i] - a * q[i] - b * older[i]; });
  }

 private:
  Scalar* vector(char const* label) { return arena_.template array<Scalar>(label, n_); }

  void apply_matrix() {
    auto const Av = A_.apply(Phase::judge, v_);
    engine_.run(
        program(Av.before, stage("Solder::lanczos::product", Phase::judge, Av.rows, store(w_))));
  }
  void apply_preconditioner() {
    if constexpr (decltype(M_)::is_pointwise) {
      auto const Mw =
          mapped(arena_.template range<Scalar>(A_.rows, w_), PointwiseOf<decltype(M_)>{M_});
      engine_.run(program(stage("Solder::lanczos::apply", Phase::judge, Mw, store(v_))));
    } else {
      auto const Mw = M_.apply(Phase::judge, w_);
      engine_.run(
          program(Mw.before, stage("Solder::lanczos::apply", Phase::judge, Mw.rows, store(v_))));
    }
  }
  double dot(Scalar const* a, Scalar const* b) {
    using Vector = typename MultiDot<Scalar, Exec>::Vector;
    dot_(Vector(a, n_), n_, 1, Vector(b, n_), product_);
    auto const host = Kokkos::create_mirror_view(product_);
    Kokkos::deep_copy(exec_, host, product_);
    exec_.fence("Solder::lanczos: an inner product");
    return real_part(host(0));
  }

  Exec exec_;
  std::int32_t n_;
  Arena<Exec> arena_;
  OpenedMatrixOf<Matrix, Exec> A_;
  OpenedOf<Preconditioner, Exec, Scalar> M_;
  Engine<Exec> engine_;
  MultiDot<Scalar, Exec> dot_;
  typename MultiDot<Scalar, Exec>::Products product_;
  Scalar *v_, *w_, *q_, *older_;
};

}  // namespace Solder::Impl
