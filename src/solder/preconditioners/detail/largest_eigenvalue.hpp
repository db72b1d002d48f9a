// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <solder/core/arena.hpp>
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

/// \brief The first w: entries without a pattern, and no vector before it. Where M is pointwise
/// they are as large as M's are small, by the root: all rows then have their share of M's inner
/// product, however A is scaled.
template <class Scalar, class OpenedM>
struct LanczosStart {
  Scalar *w, *older;
  OpenedM m;

  KOKKOS_FUNCTION void operator()(std::int32_t i) const {
    older[i] = Scalar{};
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

/// \brief The memory of Lanczos's method, which several matrices one after another may share.
template <class Exec>
struct LanczosMemory {
  Arena<Exec> arena;
  Engine<Exec> engine;

  /// \param on_device false: M has host stages
  LanczosMemory(Exec const& exec, bool on_device)
      : arena(exec, 0), engine(exec, "Solder::lanczos", Runner::launch, {}, on_device) {}
};

/// \brief An estimate, from below, of the largest eigenvalue of M A by Lanczos's method; the same
/// in every run. Not positive or not finite where A or M is not positive definite, as far as it
/// meets that.
///
/// M A is self-adjoint in the inner product of M's inverse, where
///
///     v = M w,  beta = (w, v)^(1/2),  q' = w / beta,  u = A v,  alpha = (v, u) / beta^2
///     w = u / beta - alpha q' - beta q,  q = q'
///
/// makes q orthonormal in M, and M A tridiagonal: alpha on the diagonal, beta beside it. A step is
/// three kernels, and those of M; the host waits once, at the end.
template <class Exec, class Matrix, class Preconditioner>
double largest_eigenvalue(LanczosMemory<Exec>& memory, Matrix const& given_A,
                          Preconditioner const& given_M, int most_steps) {
  using Scalar = typename Matrix::scalar_type;
  Arena<Exec>& arena = memory.arena;
  Exec const& exec = arena.exec();
  std::int32_t const n = given_A.rows();
  int const steps = std::min<int>(most_steps, n);
  arena.rewind();
  auto const A = open_matrix(arena, given_A);
  auto const M = open_preconditioner<Scalar>(arena, given_M);
  auto const vector = [&](char const* label) { return arena.template array<Scalar>(label, n); };
  Scalar *const v = vector("Solder::lanczos::v"), *const w = vector("Solder::lanczos::w"),
                *const u = vector("Solder::lanczos::u"),
                *const older = vector("Solder::lanczos::older");
  double* const records = arena.template array<double>("Solder::lanczos::records", 2 * steps);
  Kokkos::parallel_for("Solder::lanczos::start", Kokkos::RangePolicy<Exec>(exec, 0, n),
                       LanczosStart<Scalar, std::remove_const_t<decltype(M)>>{w, older, M});

  auto const all_steps = [&](auto const& Mw) {
    auto const Av = A.apply(Phase::judge, v);
    auto const wv = arena.template sum<1>(Mw.rows.teams()),
               vu = arena.template sum<1>(Av.rows.teams());
    memory.engine.run(
        program(repeat(program(Mw.before,
                               stage("Solder::lanczos::apply", Phase::judge, Mw.rows,
                                     LanczosApply<Scalar>{w, v, wv}),
                               Av.before,
                               stage("Solder::lanczos::product", Phase::judge, Av.rows,
                                     LanczosProduct<Scalar>{v, u, vu}),
                               stage("Solder::lanczos::update", Phase::judge,
                                     arena.template range<Scalar>(A.rows, w, u, older),
                                     LanczosUpdate<Scalar>{w, older, wv, vu, records})),
                       steps)));
  };
  if constexpr (decltype(M)::is_pointwise)
    all_steps(application(program(), mapped(arena.template range<Scalar>(A.rows, w),
                                            PointwiseOf<std::remove_const_t<decltype(M)>>{M})));
  else
    all_steps(M.apply(Phase::judge, w));

  Kokkos::View<double*, Kokkos::HostSpace> const sums("Solder::lanczos::sums", 2 * steps);
  Kokkos::deep_copy(
      exec, sums,
      Kokkos::View<double const*, typename Exec::memory_space>(records, sums.extent(0)));
  exec.fence("Solder::lanczos: all sums are known");
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

}  // namespace Solder::Impl
