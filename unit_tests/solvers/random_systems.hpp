// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Small random systems of many kinds, and random ways to solve them; each from a number.

#include "bicgstab.hpp"
#include "cg.hpp"
#include "gmres.hpp"
#include "idr.hpp"
#include "problems.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace SolderTest {

/// \brief Numbers that follow from a number alone, on every platform.
class Random {
 public:
  explicit Random(std::uint64_t number) : generator_(number) {}
  /// \brief From 0 to count - 1.
  int below(int count) { return int(generator_() % std::uint64_t(count)); }
  int between(int first, int last) { return first + below(last - first + 1); }
  bool one_in(int count) { return below(count) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(int(list.size()))];
  }
  unsigned seed() { return unsigned(generator_()); }

 private:
  std::mt19937_64 generator_;
};

template <class Scalar>
struct System {
  std::string kind;
  HostCsr<Scalar> A;
  std::vector<Scalar> b, x0;
};

/// \brief Entry (i, j) <- f(i, j, entry).
template <class Scalar, class F>
void change_entries(HostCsr<Scalar>& A, F const& f) {
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      A.values[k] = f(i, A.columns[k], A.values[k]);
}

template <class Scalar>
std::vector<Scalar> times(std::vector<Scalar> v, double factor) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  for (Scalar& entry : v) entry *= Real(factor);
  return v;
}

/// \brief A pattern with random entries, from the left of the diagonal another one.
template <class Scalar>
HostCsr<Scalar> random_general(int rows, Random& random) {
  auto A = Solder::random_spd<Scalar>(rows, random.between(1, std::min(rows, 7)), random.seed());
  auto const entries = random_vector<Scalar>(A.values.size(), random.seed());
  std::copy(entries.begin(), entries.end(), A.values.begin());
  return A;
}

/// \brief Solvable to a few digits less than the scalar has; definite, or general but dominated by
/// its diagonal.
template <class Scalar>
System<Scalar> easy_system(Random& random, bool definite) {
  int const n = random.between(1, 60), entries = random.between(1, std::min(n, 9));
  System<Scalar> s{definite ? "definite" : "nonsymmetric",
                   definite ? Solder::random_spd<Scalar>(n, entries, random.seed())
                            : random_nonsymmetric<Scalar>(n, entries, random.seed()),
                   random_vector<Scalar>(n, random.seed()), std::vector<Scalar>(n)};
  if (random.one_in(2)) s.x0 = random_vector<Scalar>(n, random.seed());
  return s;
}

/// \brief Of a matrix that may be anything.
template <class Scalar>
HostCsr<Scalar> hard_matrix(int n, std::string& kind, Random& random) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  auto const spd = [&] {
    return Solder::random_spd<Scalar>(n, random.between(1, std::min(n, 9)), random.seed());
  };
  auto const is_one_of = [](int i, int j, int row) { return i == row || j == row; };
  switch (random.below(10)) {
    case 0:
      kind = "definite";
      return spd();
    case 1:
      kind = "nonsymmetric";
      return random_nonsymmetric<Scalar>(n, random.between(1, std::min(n, 9)), random.seed());
    case 2: {
      kind = "indefinite";
      auto A = spd();
      int const every = random.between(2, 5);
      change_entries(A, [&](int i, int j, Scalar v) { return i == j && i % every == 0 ? -v : v; });
      return A;
    }
    case 3: {
      kind = "skew";
      auto A = spd();
      change_entries(A, [&](int i, int j, Scalar v) { return i == j ? Scalar{} : i < j ? v : -v; });
      return A;
    }
    case 4: {
      kind = "singular, symmetric";
      auto A = spd();
      int const row = random.below(n);
      change_entries(A,
                     [&](int i, int j, Scalar v) { return is_one_of(i, j, row) ? Scalar{} : v; });
      return A;
    }
    case 5: {
      kind = "graded";
      auto A = spd();
      std::vector<double> scales(n);
      double const decades = epsilon<Scalar> < 1e-10 ? 8 : 3;
      for (double& scale : scales) scale = std::pow(10.0, decades * random.below(1000) / 1000);
      scale_both_sides(A, scales);
      return A;
    }
    case 6:
      kind = "general";
      return random_general<Scalar>(n, random);
    case 7: {
      kind = "nilpotent";
      auto A = random_general<Scalar>(n, random);
      change_entries(A, [&](int i, int j, Scalar v) { return i < j ? v : Scalar{}; });
      return A;
    }
    case 8: {
      kind = "a row of zeros";
      auto A = random_general<Scalar>(n, random);
      int const row = random.below(n);
      change_entries(A, [&](int i, int, Scalar v) { return i == row ? Scalar{} : v; });
      return A;
    }
    default: {
      kind = "diagonal";
      auto A = spd();
      change_entries(A, [&](int i, int j, Scalar) {
        return i == j ? Scalar(Real(random.between(-3, 3))) : Scalar{};
      });
      return A;
    }
  }
}

/// \brief Anything: singular or not, solvable or not; with guesses that are no help.
template <class Scalar>
System<Scalar> hard_system(Random& random) {
  int const n = random.between(1, 60);
  System<Scalar> s;
  s.A = hard_matrix<Scalar>(n, s.kind, random);
  s.b = random_vector<Scalar>(n, random.seed());
  switch (random.below(6)) {
    case 0:
      s.b = multiply(s.A, s.b);
      break;
    case 1:
      std::fill(s.b.begin() + 1, s.b.end(), Scalar{});
      break;
    default:
      break;
  }
  s.x0.resize(n);
  if (random.one_in(3))
    s.x0 = times(random_vector<Scalar>(n, random.seed()), random.one_of({1e-10, 1.0, 1e8}));
  return s;
}

/// \brief A solver, its form and its runner.
struct Way {
  int solver = 0, form = 0;
  Runner runner = Runner::launch;
  bool jacobi = false;
  double tolerance = 1e-8;
  int max_iterations = 200;
  bool keep_guess = true;
};

inline constexpr int solvers = 4;

inline Way random_way(Random& random) {
  return {random.below(solvers), random.below(60), every_runner[random.below(4)], random.one_in(2)};
}

/// \brief f(options) of the way's solver and form.
template <class F>
auto with_options(Way const& way, F const& f) {
  auto const of = [&]<class Options>(std::vector<std::pair<std::string, Options>> const& forms) {
    auto options = forms[way.form % forms.size()].second;
    options.tolerance = way.tolerance;
    options.max_iterations = way.max_iterations;
    options.runner = way.runner;
    options.keep_guess = way.keep_guess;
    return f(options, forms[way.form % forms.size()].first);
  };
  switch (way.solver) {
    case 0:
      return of(every_form<CgOptions>());
    case 1:
      return of(every_form<BiCgStabOptions>());
    case 2:
      return of(every_form<GmresOptions>());
    default:
      return of(every_form<IdrOptions>());
  }
}

inline std::string describe(Way const& way) {
  static char const* const names[] = {"cg ", "bicgstab ", "gmres ", "idr "};
  std::ostringstream text;
  text << names[way.solver]
       << with_options(way, [](auto const&, std::string const& name) { return name; }) << ", "
       << to_string(way.runner) << (way.jacobi ? ", jacobi" : ", none") << ", tolerance "
       << way.tolerance << ", at most " << way.max_iterations;
  return text.str();
}

template <class Exec, class Scalar>
Solved<Scalar> solve(Exec const& exec, System<Scalar> const& s, Way const& way) {
  return with_options(way, [&](auto const& options, std::string const&) {
    return solve(exec, s.A, way.jacobi, s.b, s.x0, options);
  });
}

/// \brief How many systems a test takes: `usual`, or as many times more as $SOLDER_PROPERTIES says;
/// from number $SOLDER_PROPERTIES_FIRST on, by which one can be looked at alone.
struct Numbers {
  std::uint64_t first, last;

  explicit Numbers(int usual) {
    auto const given = [](char const* name, double otherwise) {
      char const* const text = std::getenv(name);
      return text == nullptr ? otherwise : std::atof(text);
    };
    first = std::uint64_t(given("SOLDER_PROPERTIES_FIRST", 0));
    last = first + std::max(std::uint64_t(1), std::uint64_t(usual * given("SOLDER_PROPERTIES", 1)));
  }
};

}  // namespace SolderTest
