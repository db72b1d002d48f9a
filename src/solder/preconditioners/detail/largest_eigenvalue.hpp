// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <solder/core/open.hpp>
#include <solder/core/runners/engine.hpp>

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

/// \brief The first w: entries without a pattern. Where M is pointwise they are as large as M's are
/// small, by the root: all rows then have their share of M's inner product, however A is scaled.
template <class Scalar, class OpenedM>
struct LanczosStart {
  Scalar* w;
  OpenedM m;

  KOKKOS_FUNCTION void operator()(std::int32_t i) const {
    auto bits = static_cast<std::uint32_t>(i + 1) * 0x9e3779b9u;
    bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
    bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
    bits ^= bits >> 16;
    double entry = 2 * (bits / 4294967296.0) - 1;
    if constexpr (OpenedM::is_pointwise) {
      double const size = real_part(Wide<Scalar>(m(i, Scalar(1))));
      if (size > 0) entry /= Kokkos::sqrt(size);
    }
    w[i] = Scalar(to_real<Scalar>(entry));
  }
};

/// \brief v = M w, with (w, v). Words: 3 a row.
template <class Scalar>
struct LanczosApply {
  static constexpr std::size_t sums = 1;

  Scalar const* w;
  Scalar* v;
  Sum<1> left;

  bool operator==(LanczosApply const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value, Sums<1>& mine) const {
    v[i] = value;
    mine[0] += real_dot(w[i], value);
  }
};

/// \brief u = A v, with (v, u). Words: 2 a row.
template <class Scalar>
struct LanczosProduct {
  static constexpr std::size_t sums = 1;

  Scalar const* v;
  Scalar* u;
  Sum<1> left;

  bool operator==(LanczosProduct const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value, Sums<1>& mine) const {
    u[i] = value;
    mine[0] += real_dot(v[i], value);
  }
};

/// \brief The next w, from the sums of this step, which are written down: (w, v) and (v, A v).
/// Words: 5 a row.
template <class Scalar>
struct LanczosUpdate {
  using Real = typename ScalarTraits<Scalar>::Real;
  struct Scalars {
    Real inverse, alpha, beta;
  };

  Scalar *w, *older;
  Sum<1> wv, vu;
  double* records;  ///< [steps][2]

  bool operator==(LanczosUpdate const&) const = default;

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    return f(wv, vu);
  }
  template <class Team>
  KOKKOS_FUNCTION bool scalars(Team const& team, Sums<2> const& total, auto const&, At const& at,
                               Control const&, Control&, Scalars& of) const {
    double const beta = Kokkos::sqrt(total[0]);
    of = {to_real<Scalar>(1 / beta), to_real<Scalar>(total[1] / total[0]), to_real<Scalar>(beta)};
    if (team.writes())
      for (int k = 0; k < 2; ++k) records[2 * at.turn + k] = total[k];
    return true;
  }
  /// \param loaded w, u and older
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Kokkos::Array<Scalar, 3> const& loaded,
                                       Scalars const& of) const {
    Scalar const q = of.inverse * loaded[0];
    w[i] = of.inverse * loaded[1] - of.alpha * q - of.beta * loaded[2];
    older[i] = q;
  }
};

/// \brief Lanczos's method for M A, self-adjoint in the inner product of M's inverse:
///
///     v = M w,  beta = (w, v)^(1/2),  q' = w / beta,  u = A v,  alpha = (v, u) / beta^2
///     w = u / beta - alpha q' - beta q,  q = q'
///
/// makes q orthonormal in M, and M A tridiagonal: alpha on the diagonal, beta beside it. A step is
/// three kernels, and those of M; the host waits once, at the end.
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
        v_(vector("Solder::lanczos::v")),
        w_(vector("Solder::lanczos::w")),
        u_(vector("Solder::lanczos::u")),
        older_(vector("Solder::lanczos::older")) {}

  /// \brief An estimate, from below, of the largest eigenvalue; the same in every run. Not
  /// positive or not finite where A or M is not positive definite, as far as it meets that.
  double largest(int most_steps) {
    int const steps = std::min<int>(most_steps, n_);
    double* const records = arena_.template array<double>("Solder::lanczos::records", 2 * steps);
    Kokkos::parallel_for("Solder::lanczos::start", Kokkos::RangePolicy<Exec>(exec_, 0, n_),
                         LanczosStart<Scalar, decltype(M_)>{w_, M_});
    if constexpr (decltype(M_)::is_pointwise)
      run(steps, records,
          application(program(), mapped(arena_.template range<Scalar>(A_.rows, w_),
                                        PointwiseOf<decltype(M_)>{M_})));
    else
      run(steps, records, M_.apply(Phase::judge, w_));
    Kokkos::View<double*, Kokkos::HostSpace> const sums("Solder::lanczos::sums", 2 * steps);
    Kokkos::deep_copy(
        exec_, sums,
        Kokkos::View<double const*, typename Exec::memory_space>(records, sums.extent(0)));
    exec_.fence("Solder::lanczos: all sums are known");
    std::vector<double> alphas, betas;
    for (int k = 0; k < steps; ++k) {
      double const squared = sums(2 * k);
      if (k == 0 && !(squared > 0)) return squared;
      if (!std::isfinite(squared) || squared < 0) return squared;
      double const beta = std::sqrt(squared);
      if (k > 0 && beta <= 1e-12 * std::abs(alphas[0])) break;  // an invariant subspace
      if (k > 0) betas.push_back(beta);
      alphas.push_back(sums(2 * k + 1) / squared);
    }
    return largest_of_tridiagonal(alphas, betas);
  }

 private:
  Scalar* vector(char const* label) { return arena_.template array<Scalar>(label, n_); }

  template <class Applied>
  void run(int steps, double* records, Applied const& Mw) {
    auto const Av = A_.apply(Phase::judge, v_);
    auto const wv = arena_.template sum<1>(Mw.rows.teams()),
               vu = arena_.template sum<1>(Av.rows.teams());
    auto const all = arena_.template range<Scalar>(A_.rows, w_, u_, older_);
    engine_.run(program(repeat(program(Mw.before,
                                       stage("Solder::lanczos::apply", Phase::judge, Mw.rows,
                                             LanczosApply<Scalar>{w_, v_, wv}),
                                       Av.before,
                                       stage("Solder::lanczos::product", Phase::judge, Av.rows,
                                             LanczosProduct<Scalar>{v_, u_, vu}),
                                       stage("Solder::lanczos::update", Phase::judge, all,
                                             LanczosUpdate<Scalar>{w_, older_, wv, vu, records})),
                               steps)));
  }

  Exec exec_;
  std::int32_t n_;
  Arena<Exec> arena_;
  OpenedMatrixOf<Matrix, Exec> A_;
  OpenedOf<Preconditioner, Exec, Scalar> M_;
  Engine<Exec> engine_;
  Scalar *v_, *w_, *u_, *older_;
};

}  // namespace Solder::Impl
