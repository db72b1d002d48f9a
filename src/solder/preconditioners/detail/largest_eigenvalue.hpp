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
#include <solder/matrix/open_matrix.hpp>

namespace Solder::Impl {

/// \brief The largest eigenvalue of a real symmetric tridiagonal matrix, by bisection with Sturm
/// sequences, to almost full precision.
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

/// \brief The initial w, with pseudo-random entries; the vector before it is zero. If M is
/// pointwise, each entry is divided by the root of M's, so that all rows contribute equally to M's
/// inner product, however A is scaled. v = M w is then computed too.
template <class Scalar, class OpenedM>
struct LanczosStart {
  Scalar *w, *older, *v;
  OpenedM m;
  std::uint32_t first;  ///< rows of the ranks before this one

  KOKKOS_FUNCTION void operator()(std::int32_t i) const {
    older[i] = Scalar{};
    auto bits = (static_cast<std::uint32_t>(i + 1) + first) * 0x9e3779b9u;
    bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
    bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
    bits ^= bits >> 16;
    double entry = 2 * (bits / 4294967296.0) - 1;
    if constexpr (OpenedM::is_pointwise) {
      double const size = real_part(Wide<Scalar>(m(i, Scalar(1))));
      if (size > 0) entry /= Kokkos::sqrt(size);
    }
    w[i] = Scalar(to_real<Scalar>(entry));
    if constexpr (OpenedM::is_pointwise) v[i] = m(i, w[i]);
  }
};

/// \brief v = M w, for an M that is not pointwise. Words: 1 a row.
template <class Scalar>
struct LanczosApply {
  Scalar* v;

  bool operator==(LanczosApply const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value) const { v[i] = value; }
};

/// \brief u = A v, and the sums (w, v) and (v, u). Words: 3 a row.
template <class Scalar>
struct LanczosProduct {
  static constexpr std::size_t sums = 2;

  Scalar const *w, *v;
  Scalar* u;
  Sum<2> left;

  bool operator==(LanczosProduct const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value, Sums<2>& mine) const {
    u[i] = value;
    mine[0] += real_dot(w[i], v[i]);
    mine[1] += real_dot(v[i], value);
  }
};

/// \brief Stands in for an M that is not pointwise.
struct LanczosNothing {
  static constexpr bool is_pointwise = false;

  bool operator==(LanczosNothing const&) const = default;
};

/// \brief The next w, computed from the sums of this step, which are recorded; and v = M w if M is
/// pointwise. Words: 6 a row.
template <class Scalar, class OpenedM>
struct LanczosUpdate {
  using Real = typename ScalarTraits<Scalar>::Real;
  struct Scalars {
    Real inverse, alpha, beta;
  };

  Scalar* v;
  OpenedM m;
  Sum<2> dots;      ///< (w, v) and (v, A v)
  double* records;  ///< [steps][2]

  bool operator==(LanczosUpdate const&) const = default;

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    return f(dots);
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
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar& w, Scalar const& u, Scalar& older,
                                       Scalars const& of) const {
    Scalar const q = of.inverse * w;
    w = of.inverse * u - of.alpha * q - of.beta * older;
    older = q;
    if constexpr (OpenedM::is_pointwise) v[i] = m(i, w);
  }
};

/// \brief The memory of the Lanczos method. Several matrices may use it, one after another.
template <class Exec>
struct LanczosMemory {
  Arena<Exec> arena;
  Engine<Exec> engine;

  /// \param on_device false if M has host stages
  /// \param ranks that have A together
  LanczosMemory(Exec const& exec, bool on_device, Ranks const* ranks = nullptr)
      : arena(exec, 0),
        engine(exec, "Solder::lanczos", {.runner = Runner::launch}, {}, on_device, {}, ranks) {}
};

/// \brief A lower estimate of the largest eigenvalue of M A by the Lanczos method; 1 if there are
/// no rows. It is the same in every run. If the method notices that A or M is not positive
/// definite, the estimate is not positive or not finite.
///
/// M A is self-adjoint in the inner product of M's inverse. There,
///
///     v = M w,  beta = (w, v)^(1/2),  q' = w / beta,  u = A v,  alpha = (v, u) / beta^2
///     w = u / beta - alpha q' - beta q,  q = q'
///
/// makes the q orthonormal with respect to M and reduces M A to a tridiagonal matrix, with alpha on
/// the diagonal and beta next to it. A step takes two kernels or, if M is not pointwise, three and
/// those of M. The host waits once, at the end.
template <class Exec, class Matrix, class Preconditioner>
double largest_eigenvalue(LanczosMemory<Exec>& memory, Matrix const& given_A,
                          Preconditioner const& given_M, int most_steps) {
  using Scalar = typename Matrix::scalar_type;
  Arena<Exec>& arena = memory.arena;
  Exec const& exec = arena.exec();
  std::int32_t const n = given_A.rows();
  Ranks const* const ranks = ranks_of(given_A);
  std::int64_t const all = ranks == nullptr ? n : ranks->rows(),
                     first = ranks == nullptr ? 0 : ranks->first_row();
  if (all == 0) return 1;
  int const steps = static_cast<int>(std::min<std::int64_t>(most_steps, all));
  AllOrNone ready(ranks);
  arena.rewind();
  auto const A = open_matrix(arena, given_A);
  auto const M = open_preconditioner<Scalar>(arena, given_M);
  auto const vector = [&](char const* label) { return arena.template array<Scalar>(label, n); };
  Scalar *const v = vector("Solder::lanczos::v"), *const w = vector("Solder::lanczos::w"),
                *const u = vector("Solder::lanczos::u"),
                *const older = vector("Solder::lanczos::older");
  double* const records = arena.template array<double>("Solder::lanczos::records", 2 * steps);
  Kokkos::parallel_for("Solder::lanczos::start", Kokkos::RangePolicy<Exec>(exec, 0, n),
                       LanczosStart<Scalar, std::remove_const_t<decltype(M)>>{
                           w, older, v, M, static_cast<std::uint32_t>(first)});

  auto const Av = A.apply(Phase::check, v);
  auto const dots = arena.template sum<2>(Av.rows.teams());
  auto const all_steps = [&](auto const& apply, auto const& m) {
    using Update = LanczosUpdate<Scalar, std::remove_cvref_t<decltype(m)>>;
    ready.reach();
    memory.engine.run_once(
        program(repeat(program(apply, Av.before,
                               stage("Solder::lanczos::product", Phase::check, Av.rows,
                                     LanczosProduct<Scalar>{w, v, u, dots}),
                               stage("Solder::lanczos::update", Phase::check,
                                     arena.template entries<Scalar>(A.rows, w, as_read(u), older),
                                     Update{v, m, dots, records})),
                       steps)));
  };
  if constexpr (decltype(M)::is_pointwise) {
    all_steps(program(), M);
  } else {
    auto const Mw = M.apply(Phase::check, w);
    all_steps(program(Mw.before, stage("Solder::lanczos::apply", Phase::check, Mw.rows,
                                       LanczosApply<Scalar>{v})),
              LanczosNothing{});
  }

  std::vector<double> sums(2 * std::size_t(steps));
  Impl::copy(exec, Kokkos::View<double*, Kokkos::HostSpace>(sums.data(), sums.size()),
             Kokkos::View<double const*, typename Exec::memory_space>(records, sums.size()));
  exec.fence("Solder::lanczos: all sums are known");
  std::vector<double> alphas, betas;
  for (int k = 0; k < steps; ++k) {
    double const squared = sums[2 * k];
    if (k == 0 && !(squared > 0)) return squared;
    if (!std::isfinite(squared) || squared < 0) return squared;
    double const beta = std::sqrt(squared);
    if (k > 0 && beta <= 1e-12 * std::abs(alphas[0])) break;  // an invariant subspace
    if (k > 0) betas.push_back(beta);
    alphas.push_back(sums[2 * k + 1] / squared);
  }
  return largest_of_tridiagonal(alphas, betas);
}

}  // namespace Solder::Impl
