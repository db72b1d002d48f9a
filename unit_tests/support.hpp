// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the typed tests share: lists of spaces and scalars, copies, leagues of the runners'
/// teams, and oracles as plain loops that use nothing of the code under test but the scalar and
/// HostCsr types.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <solder/core/arena.hpp>
#include <solder/core/runners/engine.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/host_csr.hpp>

namespace SolderTest {

// ---- Types ----

template <class... T>
struct List {
  using Types = testing::Types<T...>;
  template <class... More>
  using With = List<T..., More...>;
};

using Spaces = List<>
#ifdef KOKKOS_ENABLE_SERIAL
    ::With<Kokkos::Serial>
#endif
#ifdef KOKKOS_ENABLE_OPENMP
    ::With<Kokkos::OpenMP>
#endif
#ifdef KOKKOS_ENABLE_THREADS
    ::With<Kokkos::Threads>
#endif
#ifdef KOKKOS_ENABLE_CUDA
    ::With<Kokkos::Cuda>
#endif
#ifdef KOKKOS_ENABLE_HIP
    ::With<Kokkos::HIP>
#endif
    ;

template <class E, class S>
struct Case {
  using Exec = E;
  using Scalar = S;
};

template <class Cases, class Execs, class... Scalars>
struct Cross;
template <class... C, class... Scalars>
struct Cross<List<C...>, List<>, Scalars...> {
  using type = List<C...>;
};
template <class... C, class E, class... Rest, class... Scalars>
struct Cross<List<C...>, List<E, Rest...>, Scalars...>
    : Cross<List<C..., Case<E, Scalars>...>, List<Rest...>, Scalars...> {};

/// \brief Case<space, scalar> of every enabled space and every scalar.
using AllCases = Cross<List<>, Spaces, float, double, Kokkos::complex<float>,
                       Kokkos::complex<double>>::type::Types;

/// \brief Names of the typed tests: "OpenMP" or "OpenMP_complex_double".
struct TypeName {
  template <class T>
  static std::string GetName(int) {
    if constexpr (requires { typename T::Scalar; })
      return std::string(T::Exec::name()) + "_" +
             std::string(Solder::scalar_name<typename T::Scalar>());
    else
      return T::name();
  }
};

/// \brief An instance that is not the default one, where the space has such.
template <class Exec>
Exec another_instance() {
  return Kokkos::Experimental::partition_space(Exec(), 1)[0];
}

inline constexpr Solder::Runner every_runner[] = {Solder::Runner::launch, Solder::Runner::graph,
                                                  Solder::Runner::team, Solder::Runner::resident};

/// \brief Whether a preconditioner is applied inside a solver's own kernels.
template <class Exec, class M>
constexpr bool is_pointwise(M const&) {
  return decltype(std::declval<M const&>().open(
      std::declval<Solder::Arena<Exec>&>()))::is_pointwise;
}

/// \brief Whether a kernel runs the whole solve.
inline bool is_whole(Solder::Runner runner) {
  return runner == Solder::Runner::team || runner == Solder::Runner::resident;
}

// ---- Copies ----

template <class Exec, class T>
Kokkos::View<T*, typename Exec::memory_space> to_device(Exec const& exec,
                                                        std::vector<T> const& host) {
  Kokkos::View<T*, typename Exec::memory_space> device("SolderTest::copy", host.size());
  auto const mirror = Kokkos::create_mirror_view(device);
  for (std::size_t i = 0; i < host.size(); ++i) mirror(i) = host[i];
  Kokkos::deep_copy(exec, device, mirror);
  exec.fence("SolderTest: to the device");
  return device;
}

template <class Exec, class ViewType>
auto to_host(Exec const& exec, ViewType const& device) {
  using T = typename ViewType::non_const_value_type;
  exec.fence("SolderTest: before the copy to the host");
  auto const mirror = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), device);
  return std::vector<T>(mirror.data(), mirror.data() + mirror.extent(0));
}

// ---- Leagues ----

/// \brief Calls body(team) as the runners call their stages.
template <class Body>
struct LeagueKernel {
  Body body;
  int teams, sums;

  template <class Where>
  KOKKOS_FUNCTION void operator()(Where const& where) const {
    if constexpr (std::is_integral_v<Where>)
      body(Solder::Impl::HostTeam{static_cast<int>(where), teams});
    else
      body(Solder::Impl::DeviceTeam<Where>(where, where.league_rank(), where.league_size(), sums));
  }
};

/// \brief body(team) for every thread of a league; body is a functor that sums at most `sums`
/// values at once.
template <int Threads = Solder::Impl::league_threads, class Exec, class Body>
void run_league(Exec const& exec, int teams, int sums, Body const& body) {
  Kokkos::parallel_for(
      "SolderTest::league",
      Solder::Impl::team_policy<Exec, Threads>(
          exec, teams, Threads, Solder::Impl::DeviceTeam<int>::scratch_bytes(sums, 0)),
      LeagueKernel<Body>{body, teams, sums});
}

// ---- Plain loops ----

using Complex = std::complex<double>;

inline Complex plain(double value) { return value; }
template <class Real>
Complex plain(Kokkos::complex<Real> const& value) {
  return {double(value.real()), double(value.imag())};
}

template <class Scalar>
constexpr double epsilon =
    std::numeric_limits<typename Solder::ScalarTraits<Scalar>::Real>::epsilon();

template <class Scalar>
bool same_bits(std::vector<Scalar> const& a, std::vector<Scalar> const& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

/// \brief Entries in [-1, 1), in real and imaginary part.
template <class Scalar>
std::vector<Scalar> random_vector(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  auto const next = [&] { return double(generator()) / 2147483648.0 - 1; };
  std::vector<Scalar> v(n);
  for (auto& entry : v) {
    using Real = typename Solder::ScalarTraits<Scalar>::Real;
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex) {
      Real const re = Real(next());
      entry = Scalar(re, Real(next()));
    } else {
      entry = Real(next());
    }
  }
  return v;
}

/// \brief A small matrix from its dense rows; zeros are left out.
template <class Scalar>
Solder::HostCsr<Scalar> sparse(std::vector<std::vector<Scalar>> const& rows) {
  Solder::HostCsr<Scalar> A;
  A.rows = A.columns_count = static_cast<std::int32_t>(rows.size());
  A.row_offsets = {0};
  for (auto const& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] == Scalar{}) continue;
      A.columns.push_back(static_cast<std::int32_t>(j));
      A.values.push_back(row[j]);
    }
    A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  return A;
}

template <class Scalar>
Solder::HostCsr<Scalar> diagonal(std::vector<Scalar> const& entries) {
  Solder::HostCsr<Scalar> A;
  A.rows = A.columns_count = static_cast<std::int32_t>(entries.size());
  for (std::int32_t i = 0; i < A.rows; ++i) A.columns.push_back(i);
  for (std::int32_t i = 0; i <= A.rows; ++i) A.row_offsets.push_back(i);
  A.values = entries;
  return A;
}

/// \brief A <- D A D, D = diag(d) real: as positive definite as A, and as ill-conditioned as one
/// likes.
template <class Scalar>
void scale_both_sides(Solder::HostCsr<Scalar>& A, std::vector<double> const& d) {
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      A.values[k] *=
          static_cast<typename Solder::ScalarTraits<Scalar>::Real>(d[i] * d[A.columns[k]]);
}

/// \brief A x in the matrix's own precision.
template <class Scalar>
std::vector<Scalar> multiply(Solder::HostCsr<Scalar> const& A, std::vector<Scalar> const& x) {
  std::vector<Scalar> y(A.rows);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      y[i] += A.values[k] * x[A.columns[k]];
  return y;
}

template <class Scalar>
double norm(std::vector<Scalar> const& v) {
  double sum = 0;
  for (auto const& entry : v) sum += std::norm(plain(entry));
  return std::sqrt(sum);
}

/// \brief Re(a, b).
template <class Scalar>
double dot(std::vector<Scalar> const& a, std::vector<Scalar> const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
      sum += double(a[i].real()) * b[i].real() + double(a[i].imag()) * b[i].imag();
    else
      sum += double(a[i]) * b[i];
  return sum;
}

/// \brief Numbers of this precision, real or complex as the scalar is: loops of complex numbers
/// take several times as long, without optimisation above all.
template <class Scalar, class Real>
using PlainNumber =
    std::conditional_t<Solder::ScalarTraits<Scalar>::is_complex, std::complex<Real>, Real>;

/// \brief ||b - A x|| / ||b||, and what rounding may make of it.
struct TrueResidual {
  double relative, rounding;
};

/// \brief By plain loops in Real, of a solver that rounds by epsilon.
template <class Real, class Scalar>
TrueResidual residual_in(Solder::HostCsr<Scalar> const& A, std::vector<Scalar> const& b,
                         std::vector<Scalar> const& x, double epsilon) {
  using Number = PlainNumber<Scalar, Real>;
  auto const wide = [](Scalar const& value) {
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
      return Number(value.real(), value.imag());
    else
      return Number(value);
  };
  // Of finite numbers, whose squares are summed below: neither operator* nor abs of std::complex,
  // which take care of others.
  auto const times = [](Number const& a, Number const& c) {
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
      return Number(a.real() * c.real() - a.imag() * c.imag(),
                    a.real() * c.imag() + a.imag() * c.real());
    else
      return a * c;
  };
  auto const size = [](Number const& value) {
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
      return std::sqrt(std::norm(value));
    else
      return std::abs(value);
  };
  Real squared = 0, terms_squared = 0, b_squared = 0;
  std::int64_t longest = 0;
  for (std::int32_t i = 0; i < A.rows; ++i) {
    Number sum = wide(b[i]);
    b_squared += std::norm(sum);
    Real terms = size(sum);
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
      Number const term = times(wide(A.values[k]), wide(x[A.columns[k]]));
      sum -= term;
      terms += size(term);
    }
    squared += std::norm(sum);
    terms_squared += terms * terms;
    longest = std::max(longest, A.row_offsets[i + 1] - A.row_offsets[i]);
  }
  return {double(std::sqrt(squared / b_squared)),
          double(double(longest + 4) * epsilon * std::sqrt(terms_squared / b_squared))};
}

/// \brief In double; rounding is that of the matrix's own precision.
template <class Scalar>
TrueResidual true_residual(Solder::HostCsr<Scalar> const& A, std::vector<Scalar> const& b,
                           std::vector<Scalar> const& x) {
  return residual_in<double>(A, b, x, epsilon<Scalar>);
}

/// \brief With the digits and the range of long double; rounding is that of double.
template <class Scalar>
TrueResidual exact_residual(Solder::HostCsr<Scalar> const& A, std::vector<Scalar> const& b,
                            std::vector<Scalar> const& x) {
  return residual_in<long double>(A, b, x, epsilon<double>);
}

/// \brief 1 / diag(A).
template <class Scalar>
std::vector<Scalar> inverse_diagonal(Solder::HostCsr<Scalar> const& A) {
  std::vector<Scalar> inverse(A.rows);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      if (A.columns[k] == i) inverse[i] = Scalar(1) / A.values[k];
  return inverse;
}

template <class Scalar>
struct PlainCg {
  std::vector<Scalar> x;
  int iterations = 0;
  double residual = 0;  ///< of the recursion, relative
};

/// \brief Textbook preconditioned CG, no safeguards; `inverse` is empty or 1 / diag(A).
template <class Scalar>
PlainCg<Scalar> plain_cg(Solder::HostCsr<Scalar> const& A, std::vector<Scalar> const& inverse,
                         std::vector<Scalar> const& b, std::vector<Scalar> const& x0,
                         double tolerance, int max_iterations) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  std::size_t const n = b.size();
  PlainCg<Scalar> s;
  s.x = x0;
  auto r = b;
  auto const Ax = multiply(A, x0);
  for (std::size_t i = 0; i < n; ++i) r[i] -= Ax[i];
  auto const precondition = [&](std::vector<Scalar> z) {
    if (!inverse.empty())
      for (std::size_t i = 0; i < n; ++i) z[i] *= inverse[i];
    return z;
  };
  auto z = precondition(r);
  auto p = z;
  double rz = dot(r, z);
  double const norm_b = norm(b);
  for (s.residual = norm(r) / norm_b; s.residual > tolerance && s.iterations < max_iterations;
       ++s.iterations) {
    auto const q = multiply(A, p);
    auto const alpha = static_cast<Real>(rz / dot(p, q));
    for (std::size_t i = 0; i < n; ++i) {
      s.x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    z = precondition(r);
    double const rz_next = dot(r, z);
    auto const beta = static_cast<Real>(rz_next / rz);
    for (std::size_t i = 0; i < n; ++i) p[i] = z[i] + beta * p[i];
    rz = rz_next;
    s.residual = norm(r) / norm_b;
  }
  return s;
}

/// \brief A^-1 b by Gaussian elimination with partial pivoting, dense.
template <class Scalar>
std::vector<Complex> dense_solve(Solder::HostCsr<Scalar> const& A, std::vector<Scalar> const& b) {
  std::size_t const n = b.size();
  std::vector<std::vector<Complex>> rows(n, std::vector<Complex>(n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      rows[i][A.columns[k]] += plain(A.values[k]);
    rows[i][n] = plain(b[i]);
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(rows[i][k]) > std::abs(rows[best][k])) best = i;
    std::swap(rows[k], rows[best]);
    for (std::size_t i = k + 1; i < n; ++i) {
      Complex const factor = rows[i][k] / rows[k][k];
      if (factor == 0.0) continue;
      for (std::size_t j = k; j <= n; ++j) rows[i][j] -= factor * rows[k][j];
    }
  }
  std::vector<Complex> x(n);
  for (std::size_t k = n; k-- > 0;) {
    Complex sum = rows[k][n];
    for (std::size_t j = k + 1; j < n; ++j) sum -= rows[k][j] * x[j];
    x[k] = sum / rows[k][k];
  }
  return x;
}

}  // namespace SolderTest
