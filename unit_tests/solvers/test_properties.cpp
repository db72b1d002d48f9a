// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What must hold whatever the system: thousands of small random ones, each solved in a random way.
// A failure names its number; $SOLDER_PROPERTIES_FIRST and $SOLDER_PROPERTIES (see Numbers) bring
// it back, and make the tests longer.
#include "batches.hpp"
#include "random_systems.hpp"
#include "reals.hpp"

#include <cstdio>

#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>

namespace SolderTest {
namespace {

template <class Case>
struct Properties : testing::Test {
  using Scalar = typename Case::Scalar;
  Default exec;

  /// f(random) for each of so many numbers; prints how many there were.
  template <class F>
  void for_each_number(int usual, F const& f) {
    Numbers const numbers(usual);
    for (std::uint64_t number = numbers.first; number < numbers.last; ++number) {
      SCOPED_TRACE("number " + std::to_string(number));
      Random random(number);
      f(random);
    }
    std::printf("[  systems ] %llu\n", (unsigned long long)(numbers.last - numbers.first));
  }
};
TYPED_TEST_SUITE(Properties, CasesOfDefault, TypeName);

/// What is said of x is true of it, in long double; `converged` is said where that meets the
/// tolerance, and nowhere else.
template <class Scalar>
void expect_truth(System<Scalar> const& system, Way const& way, Solved<Scalar> const& s) {
  Report const& report = s.report;
  EXPECT_NE(report.reason, Reason::running);
  EXPECT_EQ(report.history.size(), std::size_t(report.iterations) + 1);
  EXPECT_LE(report.iterations, way.max_iterations);
  double const said = report.true_relative_residual, size = norm(system.b);
  if (std::all_of(system.b.begin(), system.b.end(), [](Scalar v) { return v == Scalar{}; })) {
    bool const is_finite = std::all_of(
        system.A.values.begin(), system.A.values.end(),
        [](Scalar v) { return std::isfinite(plain(v).real()) && std::isfinite(plain(v).imag()); });
    EXPECT_EQ(to_string(report.reason), is_finite ? "converged" : "not_finite");
    EXPECT_TRUE(same_bits(s.x, system.b));
    return;
  }
  if (contains(report.detail, "||b||^2")) {
    EXPECT_TRUE(std::isnan(said));
    EXPECT_FALSE(size > 1e-129 && size < 1e153) << size;
    return;
  }
  if (std::isfinite(report.guess_relative_residual)) {
    EXPECT_LE(said, report.guess_relative_residual);
  }
  auto const [exact, rounding] = exact_residual(system.A, system.b, s.x);
  if (std::isnan(said)) {
    EXPECT_TRUE(report.reason == Reason::not_finite ||
                contains(report.detail, "x has left the range of its scalar"))
        << to_string(report.reason);
    EXPECT_FALSE(exact * size < 1e153) << exact;
    return;
  }
  EXPECT_NEAR(said, exact, rounding + 1e-12 * exact);
  EXPECT_EQ(report.reason == Reason::converged, said <= way.tolerance)
      << to_string(report.reason) << ", " << said;
}

TYPED_TEST(Properties, WhatIsSaidIsTrue) {
  using Scalar = typename TypeParam::Scalar;
  bool const is_double = epsilon<Scalar> < 1e-10;
  std::array<int, 9> ends{};
  this->for_each_number(1000, [&](Random& random) {
    auto system = hard_system<Scalar>(random);
    auto way = random_way(random);
    way.tolerance = random.one_of({reachable<Scalar>, reachable<Scalar>, 0.3, 1e-14, 1e-17});
    way.max_iterations = random.one_of({0, 1, 7, 60, 200});
    if (random.one_in(4)) {  // by far
      int const most = is_double ? 1000 : 110;
      system.A.values = times(system.A.values, std::ldexp(1.0, random.between(-most, most)));
      system.kind += ", A scaled";
    }
    if (random.one_in(6)) {
      int const most = is_double ? 1000 : 110;
      system.b = times(system.b, std::ldexp(1.0, random.between(-most, most)));
      system.kind += ", b scaled";
    }
    if (random.one_in(30)) {
      double const value = random.one_of({nan, infinity, -infinity});
      auto* const where = random.one_of({&system.A.values, &system.b, &system.x0});
      (*where)[random.below(int(where->size()))] = Scalar(value);
      system.kind += ", not finite";
    }
    SCOPED_TRACE(system.kind + ", " + std::to_string(system.A.rows) + " rows, " + describe(way));
    auto const s = solve(this->exec, system, way);
    expect_truth(system, way, s);
    ++ends[int(s.report.reason)];
  });
  for (std::size_t reason = 1; reason < ends.size(); ++reason)
    std::printf("[  systems ] %5d %s\n", ends[reason], to_string(Reason(reason)).data());
}

/// Bit for bit, but where numbers have lost digits to the end of Scalar's range.
template <class Scalar, class T>
bool same_but_for_underflow(std::vector<T> const& a, std::vector<T> const& b) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  constexpr double least = 1e7 * double(std::numeric_limits<Real>::min());
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](T const& x, T const& y) {
    return x == y || std::abs(plain(x) - plain(y)) < least;
  });
}

/// Where two histories part, for people.
std::string parting(Vector const& a, Vector const& b) {
  std::size_t k = 0;
  while (k < std::min(a.size(), b.size()) && a[k] == b[k]) ++k;
  std::ostringstream text;
  text.precision(17);
  text << "they part at " << k << " of " << a.size() << " and " << b.size();
  if (k < a.size() && k < b.size()) text << ": " << a[k] << " and " << b[k];
  return text.str();
}

/// A by 2^k and b by 2^l: the same iterations, to the last bit.
TYPED_TEST(Properties, PowersOfTwoChangeNoBit) {
  using Scalar = typename TypeParam::Scalar;
  int const most = epsilon<Scalar> < 1e-10 ? 60 : 12;
  this->for_each_number(500, [&](Random& random) {
    auto const system = hard_system<Scalar>(random);
    auto way = random_way(random);
    way.tolerance = random.one_of({reachable<Scalar>, 1e-14});
    way.keep_guess = false;  // x tells how far numbers have gone
    int const k = random.between(-most, most), l = random.between(-most, most);
    auto scaled = system;
    scaled.A.values = times(system.A.values, std::ldexp(1.0, k));
    scaled.b = times(system.b, std::ldexp(1.0, l));
    scaled.x0 = times(system.x0, std::ldexp(1.0, l - k));
    SCOPED_TRACE(system.kind + ", " + std::to_string(system.A.rows) + " rows, " + describe(way) +
                 ", 2^" + std::to_string(k) + " A, 2^" + std::to_string(l) + " b");
    auto const s = solve(this->exec, system, way), t = solve(this->exec, scaled, way);
    double const size = norm(s.x);  // of what has no solution: it may overflow sooner, or later
    if (!(size * norm(system.A.values) < (most == 60 ? 1e120 : 1e20))) return;
    EXPECT_EQ(to_string(t.report.reason), to_string(s.report.reason)) << t.report.detail;
    EXPECT_EQ(t.report.iterations, s.report.iterations);
    EXPECT_TRUE(same_but_for_underflow<Scalar>(t.report.history, s.report.history))
        << parting(t.report.history, s.report.history);
    EXPECT_TRUE(same_but_for_underflow<Scalar>(t.x, times(s.x, std::ldexp(1.0, l - k))));
  });
}

/// P A P^T and P b, P a permutation: the same solution, in other places.
TYPED_TEST(Properties, PermutationsPermuteTheSolution) {
  using Scalar = typename TypeParam::Scalar;
  this->for_each_number(200, [&](Random& random) {
    auto way = random_way(random);
    way.tolerance = reachable<Scalar>;
    auto const system = easy_system<Scalar>(random, way.solver == 0 || random.one_in(2));
    SCOPED_TRACE(system.kind + ", " + std::to_string(system.A.rows) + " rows, " + describe(way));
    std::int32_t const n = system.A.rows;
    std::vector<std::int32_t> place(n);  // where a row goes
    for (std::int32_t i = 0; i < n; ++i) {
      place[i] = i;
      std::swap(place[i], place[random.below(i + 1)]);
    }
    Solder::TripletBuilder<Scalar> builder;
    for (std::int32_t i = 0; i < n; ++i)
      for (auto k = system.A.row_offsets[i]; k < system.A.row_offsets[i + 1]; ++k)
        builder.add(place[i], place[system.A.columns[k]], system.A.values[k]);
    System<Scalar> other{system.kind, builder.build(n, n), system.b, system.x0};
    for (std::int32_t i = 0; i < n; ++i) {
      other.b[place[i]] = system.b[i];
      other.x0[place[i]] = system.x0[i];
    }
    auto const s = solve(this->exec, system, way), t = solve(this->exec, other, way);
    EXPECT_EQ(to_string(s.report.reason), "converged") << s.report.detail;
    EXPECT_EQ(to_string(t.report.reason), "converged") << t.report.detail;
    std::vector<Scalar> difference(n);
    for (std::int32_t i = 0; i < n; ++i) difference[i] = s.x[i] - t.x[place[i]];
    EXPECT_LE(norm(multiply(system.A, difference)),
              (2 * way.tolerance + 100 * epsilon<Scalar>)*norm(system.b));
    // IDR's shadow space stays where it is, and BiCGStab's divisors may be nearly lost.
    if (way.solver == 1 || way.solver == 3) return;
    // Simpler GMRES takes a square from a square: half of the digits are left.
    bool const half = way.solver == 2 && s.report.form == "pipelined";
    double const rounding = half ? 100 * std::sqrt(epsilon<Scalar>) : 1e5 * epsilon<Scalar>;
    std::size_t const both = std::min({s.report.history.size(), t.report.history.size(), 5ul});
    for (std::size_t k = 0; k < both; ++k)
      EXPECT_NEAR(t.report.history[k], s.report.history[k], rounding * s.report.history[0])
          << "iteration " << k;
  });
}

/// What a device solves, the host solves too.
TYPED_TEST(Properties, HostAndDeviceAgree) {
  using Scalar = typename TypeParam::Scalar;
  Kokkos::DefaultHostExecutionSpace const host;
  this->for_each_number(100, [&](Random& random) {
    auto way = random_way(random);
    way.tolerance = reachable<Scalar>;
    auto const system = easy_system<Scalar>(random, way.solver == 0 || random.one_in(2));
    SCOPED_TRACE(system.kind + ", " + std::to_string(system.A.rows) + " rows, " + describe(way));
    auto const s = solve(this->exec, system, way), t = solve(host, system, way);
    EXPECT_EQ(to_string(s.report.reason), "converged") << s.report.detail;
    EXPECT_EQ(to_string(t.report.reason), "converged") << t.report.detail;
    EXPECT_NEAR(s.report.iterations, t.report.iterations, 2 + 0.2 * t.report.iterations);
    std::vector<Scalar> difference(s.x);
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= t.x[i];
    EXPECT_LE(norm(multiply(system.A, difference)),
              (2 * way.tolerance + 100 * epsilon<Scalar>)*norm(system.b));
  });
}

// ---- Several right-hand sides, several systems ----

template <class Scalar>
void expect_columns(Default const& exec, Random& random) {
  auto way = random_way(random);
  way.tolerance = 0.1 * reachable<Scalar>;
  auto const system = easy_system<Scalar>(random, way.solver == 0);
  int const columns = random.between(1, 9);
  auto b = random_columns<Scalar>(system.A.rows, columns, random.seed());
  auto x0 = random_columns<Scalar>(system.A.rows, columns, random.seed());
  if (system.A.rows > 3) mix(system.A, b, x0);
  SCOPED_TRACE(std::to_string(system.A.rows) + " rows, " + describe(way));
  CsrMatrix<Scalar, Default> const A(exec, system.A);
  with_options(way, [&](auto options, std::string const&) {
    if (way.jacobi)
      expect_columns_as_alone(A, Jacobi<Scalar, Default>(exec, A), options, b, x0, 1);
    else
      expect_columns_as_alone(A, Identity{}, options, b, x0, 1);
  });
}

TYPED_TEST(Properties, ColumnsAreAsAlone) {
  this->for_each_number(
      100, [&](Random& random) { expect_columns<typename TypeParam::Scalar>(this->exec, random); });
}

template <class Scalar, class Options>
void expect_batch(Random& random, Options options) {
  std::vector<HostCsr<Scalar>> systems;
  Vectors<Scalar> b, x0;
  for (int k = random.between(1, 12); k > 0; --k) {
    auto const system =
        easy_system<Scalar>(random, std::is_same_v<Options, CgOptions> || random.one_in(2));
    systems.push_back(system.A);
    b.push_back(random.one_in(8) ? std::vector<Scalar>(system.b.size()) : system.b);
    x0.push_back(system.x0);
  }
  options.runner = Runner::automatic;
  options.tolerance = 0.1 * reachable<Scalar>;
  if (random.one_in(2))
    expect_batch_as_alone(
        systems, b, x0, options, [](auto const&, auto const&) { return Identity{}; }, 1);
  else
    expect_batch_as_alone(
        systems, b, x0, options,
        [](auto const& exec, auto const& A) { return Jacobi<Scalar, Default>(exec, A); }, 1);
}

TYPED_TEST(Properties, BatchesAreAsAlone) {
  using Scalar = typename TypeParam::Scalar;
  this->for_each_number(50, [&](Random& random) {
    if (random.one_in(2))
      expect_batch<Scalar>(random, Method<CgOptions>::forms()[random.below(2)].second);
    else
      expect_batch<Scalar>(random, Method<BiCgStabOptions>::forms()[random.below(2)].second);
  });
}

// ---- Preconditioners set up again ----

/// M, set up for one matrix and refreshed for another, is one that was set up for that: to the last
/// bit, in what CG makes of it. Of `before` only the size is another where M keeps what is coupled
/// strongly.
template <class Scalar, class Make>
void expect_refresh(Default const& exec, Random& random, bool keeps_strength, Make const& make) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  auto const system = easy_system<Scalar>(random, true);
  auto before = system.A;
  change_entries(before, [&](int i, int j, Scalar v) {
    return v * Real(keeps_strength ? 4 : i == j ? 2 + i % 3 : 0.5);
  });
  CsrMatrix<Scalar, Default> const A(exec, system.A), old(exec, before);
  auto M = make(old);
  M.refresh(exec, A);
  auto const anew = make(A);
  auto const solve_with = [&](auto const& with) {
    CgOptions options;
    options.tolerance = reachable<Scalar>;
    options.max_iterations = 200;
    SolverOf<CgOptions, Default, Scalar, std::decay_t<decltype(with)>> solver(exec, A, with,
                                                                              options);
    auto const x = to_device(exec, system.x0);
    Solved<Scalar> s;
    s.report = solver.solve(to_device(exec, system.b), x);
    s.x = to_host(exec, x);
    return s;
  };
  auto const s = solve_with(M), t = solve_with(anew);
  EXPECT_EQ(to_string(s.report.reason), to_string(t.report.reason));
  EXPECT_EQ(to_string(s.report.reason), "converged") << s.report.detail;
  EXPECT_TRUE(same_bits(s.report.history, t.report.history));
  EXPECT_TRUE(same_bits(s.x, t.x));
}

TYPED_TEST(Properties, ARefreshIsANewSetup) {
  using Scalar = typename TypeParam::Scalar;
  if constexpr (1e-10 < epsilon<Scalar>) {
    GTEST_SKIP() << "the set-ups are tested in double";
  } else {
    auto const& exec = this->exec;
    this->for_each_number(60, [&](Random& random) {
      auto const expect = [&](std::string const& name, auto const& make) {
        SCOPED_TRACE(name);
        expect_refresh<Scalar>(exec, random, name == "amg", make);
      };
      switch (random.below(5)) {
        case 0:
          return expect("jacobi", [&](auto const& A) { return Jacobi<Scalar, Default>(exec, A); });
        case 1:
          return expect("fsai",
                        [&](auto const& A) { return Solder::Fsai<Scalar, Default>(exec, A); });
        case 2:
          return expect(
              "amg", [&](auto const& A) { return Solder::Amg(exec, A, {.max_coarse_size = 4}); });
        case 3:
          return expect("ic0", [&](auto const& A) {
            return Solder::Incomplete(exec, A, Solder::Factorisation::ic0);
          });
        default:
          return expect("chebyshev",
                        [&](auto const& A) { return Solder::Chebyshev(exec, A, Identity{}, {3}); });
      }
    });
  }
}

}  // namespace
}  // namespace SolderTest
