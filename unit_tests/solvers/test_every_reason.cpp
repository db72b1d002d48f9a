// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every reason that a solver may end with, forced: in each form, by each runner, in each scalar.
// Each method has a table of small hard systems, and of faults that begin in the middle of a solve.
#include "bicgstab.hpp"
#include "cg.hpp"
#include "columns.hpp"
#include "faults.hpp"
#include "gmres.hpp"
#include "idr.hpp"
#include "problems.hpp"
#include "reals.hpp"

#include <optional>

#include <solder/solvers/block_cg.hpp>

namespace SolderTest {
namespace {

using Exec = Kokkos::DefaultExecutionSpace;

/// A system, in reals, and how a solve of it must end.
struct Row {
  std::string name;
  HostCsr<double> A;
  Vector b;
  Vector x0 = Vector(b.size());
  Vector diagonal = {};  ///< of Jacobi; empty: no preconditioner
  std::optional<Fault> in_A = {}, in_M = {};
  Vector beside = {};                      ///< the other column of a block
  double tolerance = 0;                    ///< 0: one that the scalar reaches
  int limit = 100;                         ///< iterations
  Reason reason = {}, reason_beside = {};  ///< of the other column
  std::optional<std::string> sentence =
      {};                   ///< that is in the detail; "": there is none; unset: any
  int least = 0, most = 0;  ///< iterations

  Row from(Vector const& guess) && { return x0 = guess, std::move(*this); }
  Row jacobi(Vector const& entries) && { return diagonal = entries, std::move(*this); }
  Row fault_in_A(Fault const& fault) && { return in_A = fault, std::move(*this); }
  Row fault_in_M(Fault const& fault) && { return in_M = fault, std::move(*this); }
  Row limits(double least_residual, int iterations) && {
    return tolerance = least_residual, limit = iterations, std::move(*this);
  }
  Row with(Vector const& column) && { return beside = column, std::move(*this); }
  Row ends(Reason why, std::optional<std::string> const& says, int first, int last) && {
    reason = reason_beside = why;
    return sentence = says, least = first, most = last, std::move(*this);
  }
  Row ends(Reason why, std::optional<std::string> const& says, int at = 0) && {
    return std::move(*this).ends(why, says, at, at);
  }
  Row beside_ends(Reason why) && { return reason_beside = why, std::move(*this); }
};
using Table = std::vector<Row>;

constexpr int n = 12;
Vector const some_b{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}, ones(n, 1);

Vector with(Vector v, int i, double value) {
  v[i] = value;
  return v;
}
Vector const first = with(Vector(n), 0, 1);

/// tridiag(-1, diagonal, -1), of condition 5 where the diagonal is 3.
HostCsr<double> tridiagonal(Vector const& entries) {
  std::vector<Vector> rows(entries.size(), Vector(entries.size()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    rows[i][i] = entries[i];
    if (i > 0) rows[i][i - 1] = rows[i - 1][i] = -1;
  }
  return sparse(rows);
}
HostCsr<double> good() { return tridiagonal(Vector(n, 3)); }
HostCsr<double> zero() { return diagonal(Vector(n)); }

/// One with another entry.
HostCsr<double> broken(double value) {
  auto A = good();
  A.values[4] = value;
  return A;
}

/// I + (1, ..., 1) of entries so large that any product with what is not small overflows.
HostCsr<double> huge(double largest) {
  std::vector<Vector> rows(n, Vector(n, largest / 2.5));
  for (int i = 0; i < n; ++i) rows[i][i] *= 2;
  return sparse(rows);
}

/// A e_i = e_i+1.
HostCsr<double> shift() {
  std::vector<Vector> rows(n, Vector(n));
  for (int i = 0; i < n; ++i) rows[i][(i + n - 1) % n] = 1;
  return sparse(rows);
}

constexpr char const *not_a_number = "a NaN or an infinity in A, b or x, or an overflow",
                     *beyond = " is more than 1e12 times ||b||";

/// What holds of all methods.
Table of_all(double largest) {
  using enum Reason;
  auto const good_with = [](char const* name, Vector const& b) { return Row{name, good(), b}; };
  Table table{
      good_with("b = 0", Vector(n)).from(some_b).ends(converged, ""),
      good_with("b = 0, a NaN in x", Vector(n)).from(with(ones, 3, nan)).ends(converged, ""),
      good_with("at the solution", multiply(good(), some_b)).from(some_b).ends(converged, ""),
      Row{"a NaN in A", broken(nan), some_b}.ends(not_finite, not_a_number),
      Row{"an infinity in A", broken(-infinity), some_b}.ends(not_finite, not_a_number),
      // Far away, but no farther than it was.
      good_with("a poor guess", some_b).from(Vector(n, 1e14)).ends(converged, "", 1, 10 * n),
      good_with("a NaN in b", with(ones, 11, nan)).ends(not_finite, not_a_number),
      good_with("an infinity in b", with(ones, 5, infinity)).ends(not_finite, not_a_number),
      good_with("a NaN in x", ones).from(with(ones, 2, nan)).ends(not_finite, not_a_number),
      good_with("an infinity in x", ones)
          .from(with(ones, 2, infinity))
          .ends(not_finite, not_a_number),
      good_with("a zero in Jacobi's diagonal", some_b)
          .jacobi(with(ones, 4, 0))
          .ends(breakdown, "row 5 (counted from 1) is zero"),
  };
  if (largest > 1e300) {  // the squares of floats stay in double's range
    table.push_back(good_with("||b|| overflows", Vector(n, 1e200))
                        .ends(breakdown, "||b||^2 overflows: scale b"));
    table.push_back(good_with("||b|| underflows", Vector(n, 1e-200))
                        .ends(breakdown, "||b||^2 underflows: scale b"));
  }
  for (Vector const& M : {Vector{}, Vector(n, 3)}) {
    auto const row = [&](char const* name) { return good_with(name, some_b).jacobi(M); };
    table.push_back(row("a good system").ends(converged, "", 1, 2 * n));
    table.push_back(row("the limit").limits(1e-15, 3).ends(max_iterations, "", 3));
    table.push_back(row("no iteration").limits(1e-15, 0).ends(max_iterations, ""));
    table.push_back(
        row("no such accuracy").limits(1e-18, 1000).ends(stagnated, std::nullopt, 5, 1000));
  }
  return table;
}

Table operator+(Table a, Table const& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// ---- What is each method's own ----

/// f(fault) for what no sum is finite with, from the given application on and in that one alone.
template <class F>
void for_each_fault(std::int32_t application, F const& f) {
  for (double const factor : {nan, infinity, -infinity})
    for (bool const once : {true, false}) f(Fault{factor, application, once});
}

Table table_of(CgOptions const& options, double largest) {
  using enum Reason;
  bool const pipelined = options.form == CgForm::pipelined;
  // From such a b the space grows by a row an iteration, so the last row counts in the last.
  Vector const at_last{3, 3, 3, 3, 3, -3}, b{1, 0, 0, 0, 0, 0};
  std::string const of_A = ": A is not positive definite",
                    of_M = ": the preconditioner is not positive definite";
  Table table{
      Row{"A = 0", zero(), some_b}.ends(breakdown, "(p, A p) = 0 at iteration 0"),
      Row{"b is not in the range", diagonal<double>({1, 0}), {1, 1}}.ends(
          breakdown, "(p, A p) = 0 at iteration 1", 1),
      Row{"M = 0", good(), first}
          .fault_in_M({.factor = 0, .first = 0, .once = false})
          .ends(breakdown, "(r, z) = 0 at iteration 0"),
      Row{"A is indefinite at first", diagonal<double>({1, -1}), {1, 2}}.ends(
          indefinite_matrix, "(p, A p) = -3 at iteration 0" + of_A),
      Row{"A is indefinite at last", tridiagonal(at_last), b}.ends(indefinite_matrix,
                                                                   " at iteration 5" + of_A, 5),
      Row{"M is indefinite at first", good(), ones}
          .jacobi(Vector(n, -1))
          .ends(indefinite_preconditioner, "(r, z) = -12 at iteration 0" + of_M),
      Row{"M is indefinite at last", tridiagonal(Vector(6, 3)), b}.jacobi(at_last).ends(
          indefinite_preconditioner, " at iteration 5" + of_M, 5),
      Row{"A p overflows", huge(largest), ones}.ends(not_finite, "(p, A p) = "),
      // A step may lengthen r by half the root of A's condition number.
      Row{"diverges", diagonal<double>({1, 1e25}), {1, 3e-13}}.ends(diverged, beyond, 1),
  };
  // The residual check has product 0.
  for (bool const once : {true, false})
    table.push_back(Row{"A turns its sign in iteration 0", good(), first}
                        .fault_in_A({.factor = -1, .first = 1, .once = once})
                        .ends(indefinite_matrix, "(p, A p) = -3 at iteration 0"));
  for_each_fault(4, [&](Fault const& fault) {
    table.push_back(Row{"A fails in iteration 3", good(), some_b}.fault_in_A(fault).ends(
        not_finite, "(p, A p) = ", 3));
    // The pipelined form applies M to A p, and takes an infinity for an overflow; the classical one
    // applies it to r.
    if (pipelined && std::isinf(fault.factor)) return;
    table.push_back(Row{"M fails in iteration 3", good(), some_b}.fault_in_M(fault).ends(
        not_finite, pipelined ? "(A p, M A p) = " : "(r, z) = ", pipelined ? 3 : 4));
  });
  return table;
}

Table table_of(BiCgStabOptions const&, double largest) {
  using enum Reason;
  std::string const rs_Ap = "(rs, A p), rs the shadow residual, = ";
  Table table{
      Row{"A = 0", zero(), some_b}.ends(breakdown, rs_Ap + "0 at iteration 0"),
      Row{"A p is orthogonal to r", sparse<double>({{0, 1}, {-1, 0}}), {1, 0}}.ends(
          breakdown, rs_Ap + "0 at iteration 0"),
      Row{"A s is orthogonal to s", sparse<double>({{1, 0, 0}, {1, 0, 1}, {0, -1, 0}}), {1, 0, 0}}
          .ends(breakdown, "(A s, s) = 0 at iteration ", 0, 3),
      Row{"A p overflows", huge(largest), ones}.ends(not_finite, rs_Ap),
  };
  // In double a step may lengthen r by 1e13, in single precision not by 1e6.
  auto const grows =
      largest > 1e300
          ? sparse<double>({{1, 1}, {1e13, 0.1}})
          : sparse<double>({{-3e3, 0, 3e3, 0}, {-3, 3, 1, 3}, {1, 0, 0, 0}, {2e3, 3e3, 3e3, -1}});
  Vector const b = with(Vector(grows.rows), 0, 1);
  table.push_back(Row{"diverges", grows, b}.ends(diverged, beyond, 1, 20));
  for_each_fault(7, [&](Fault const& fault) {
    table.push_back(Row{"A p fails in iteration 3", good(), some_b}.fault_in_A(fault).ends(
        not_finite, rs_Ap, 3));
  });
  for_each_fault(8, [&](Fault const& fault) {
    table.push_back(Row{"A s fails in iteration 3", good(), some_b}.fault_in_A(fault).ends(
        not_finite, "(A s, s) = ", 3, 4));
  });
  for_each_fault(5, [&](Fault const& fault) {
    table.push_back(Row{"M fails in iteration 2", good(), some_b}.fault_in_M(fault).ends(
        not_finite, " at iteration ", 2, 3));
  });
  return table;
}

Table table_of(GmresOptions const&, double largest) {
  using enum Reason;
  Table table{
      Row{"A = 0", zero(), some_b}.ends(breakdown, "||A v|| outside the Krylov space = 0", 0, 1),
      Row{"A v overflows", huge(largest), ones}.ends(not_finite, " at iteration ", 0, 1),
      // Cycles of 8 steps, in which a shift of 12 rows does nothing for this b.
      Row{"a cycle wins nothing", shift(), first}.ends(
          stagnated, "a cycle that starts from the true residual", 8),
  };
  for_each_fault(4, [&](Fault const& fault) {
    table.push_back(Row{"A fails in iteration 3", good(), some_b}.fault_in_A(fault).ends(
        not_finite, " at iteration ", 3, 4));
  });
  for_each_fault(3, [&](Fault const& fault) {
    table.push_back(Row{"M fails in iteration 3", good(), some_b}.fault_in_M(fault).ends(
        not_finite, " at iteration ", 3, 4));
  });
  return table;
}

Table table_of(IdrOptions const&, double largest) {
  using enum Reason;
  Table table{
      Row{"A = 0", zero(), some_b}.ends(
          breakdown, "(p, g), p of the shadow space and g = A u, = 0 at iteration 0"),
      Row{"A u overflows", huge(largest), ones}.ends(not_finite, " at iteration 0"),
  };
  for_each_fault(4, [&](Fault const& fault) {
    table.push_back(Row{"A fails in iteration 3", good(), some_b}.fault_in_A(fault).ends(
        not_finite, " at iteration ", 3, 4));
  });
  for_each_fault(3, [&](Fault const& fault) {
    table.push_back(Row{"M fails in iteration 3", good(), some_b}.fault_in_M(fault).ends(
        not_finite, " at iteration ", 3, 4));
  });
  return table;
}

/// Of the block method, with another column; a sentence is that of a row's own one.
Table table_of(Solder::BlockCgOptions const&, double largest) {
  using enum Reason;
  Vector const signs{1, -1, 1, 1, -1, 1, -1, -1, 1, -1, 1, 1};
  auto const row = [&](char const* name, HostCsr<double> const& A) {
    return Row{name, A, some_b}.with(signs);
  };
  return {
      row("a good system", good()).ends(converged, "", 1, n),
      row("with Jacobi", good()).jacobi(Vector(n, 3)).ends(converged, "", 1, n),
      row("the limit", good()).limits(1e-15, 3).ends(max_iterations, "", 3),
      row("no iteration", good()).limits(1e-15, 0).ends(max_iterations, ""),
      row("no such accuracy", good()).limits(1e-18, 1000).ends(stagnated, std::nullopt, 5, 1000),
      Row{"b = 0", good(), Vector(n)}.with(some_b).ends(converged, ""),
      row("a NaN in A", broken(nan)).ends(not_finite, not_a_number),
      Row{"a NaN in b", good(), with(ones, 3, nan)}
          .with(some_b)
          .ends(not_finite, not_a_number)
          .beside_ends(converged),
      Row{"A p overflows", huge(largest), ones}.with(signs).ends(not_finite, "(p, A p) = "),
      row("a zero in Jacobi's diagonal", good())
          .jacobi(with(ones, 4, 0))
          .ends(breakdown, "row 5 (counted from 1) is zero"),
      row("A = 0", zero()).ends(breakdown, "(p, A p) = 0 at iteration 0"),
      Row{"A is indefinite", diagonal<double>({1, 1, 1, -1, -1, -1}), {1, 0, 2, 3, 0, 1}}
          .with({0, 1, 1, 0, 3, 2})
          .ends(indefinite_matrix, "(p, A p) = ", 0, 2),
      row("M is indefinite", good())
          .jacobi(Vector(n, -1))
          .ends(indefinite_preconditioner, "(r, z) = "),
      Row{"diverges", diagonal<double>({1, 1e25, 1, 1e25}), {1, 3e-13, 0, 0}}
          .with({0, 0, 1, 3e-13})
          .ends(diverged, beyond, 1),
  };
}

// ---- In every scalar ----

/// i^quarters times a real. With it complex numbers have a part: D A D^H and D b, D = diag(i^row),
/// which are A and b in other coordinates, exactly.
template <class Scalar>
Scalar turned(double value, int quarters) {
  if constexpr (!Solder::ScalarTraits<Scalar>::is_complex) return Scalar(value);
  double const parts[] = {value, 0, -value, 0};
  return entry<Scalar>(parts[quarters % 4], parts[(quarters + 3) % 4]);
}

template <class Scalar>
HostCsr<Scalar> in_scalar(HostCsr<double> const& A) {
  HostCsr<Scalar> turned_A{A.rows, A.columns_count, A.row_offsets, A.columns, {}};
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      turned_A.values.push_back(turned<Scalar>(A.values[k], i + 3 * A.columns[k]));
  return turned_A;
}
template <class Scalar>
std::vector<Scalar> in_scalar(Vector const& v) {
  std::vector<Scalar> turned_v;
  for (std::size_t i = 0; i < v.size(); ++i) turned_v.push_back(turned<Scalar>(v[i], int(i)));
  return turned_v;
}

template <class Scalar>
constexpr double largest_of =
    std::numeric_limits<typename Solder::ScalarTraits<Scalar>::Real>::max();

template <class Scalar>
struct InScalar {
  HostCsr<Scalar> A;
  std::vector<Scalar> b, x0, diagonal;
  explicit InScalar(Row const& row)
      : A(in_scalar<Scalar>(row.A)), b(in_scalar<Scalar>(row.b)), x0(in_scalar<Scalar>(row.x0)) {
    for (double const value : row.diagonal) diagonal.push_back(Scalar(value));
  }
};

/// The reason, the sentence, the iterations; and that the residual is the one that x has.
template <class Scalar>
void expect_end(Row const& row, HostCsr<Scalar> const& A, std::vector<Scalar> const& b,
                Solved<Scalar> const& s, double tolerance) {
  Report const& report = s.report;
  EXPECT_EQ(to_string(report.reason), to_string(row.reason));
  bool const needs_none =
      report.reason == Reason::converged || report.reason == Reason::max_iterations;
  EXPECT_TRUE(needs_none || !report.detail.empty());
  std::string const sentence = row.sentence.value_or(report.detail);
  EXPECT_TRUE(sentence.empty() ? report.detail.empty() : contains(report.detail, sentence))
      << report.detail;
  EXPECT_GE(report.iterations, row.least) << report.detail;
  EXPECT_LE(report.iterations, row.most) << report.detail;
  EXPECT_EQ(report.history.size(), std::size_t(report.iterations) + 1);
  bool const is_zero = std::all_of(b.begin(), b.end(), [](Scalar v) { return v == Scalar{}; });
  double const said = report.true_relative_residual;
  if (is_zero) {
    EXPECT_EQ(said, 0);
    EXPECT_EQ(s.x, b);
  } else if (contains(sentence, "||b||^2") ||
             (row.in_A && !row.in_A->once && !std::isfinite(row.in_A->factor))) {
    EXPECT_TRUE(std::isnan(said)) << said;
  } else if (auto const [exact, rounding] = exact_residual(A, b, s.x); std::isfinite(exact)) {
    EXPECT_NEAR(said, exact, rounding + 1e-13 * exact);
    EXPECT_EQ(report.reason == Reason::converged, said <= tolerance);
  } else {
    EXPECT_TRUE(std::isnan(said)) << said << " is said, and " << exact << " is true";
    EXPECT_EQ(report.reason, Reason::not_finite);
  }
}

template <class Options, class Scalar>
struct Solves {
  /// A GPU has kernels of its own for each type of matrix and preconditioner: for one scalar only.
  static constexpr bool has_faults =
      Solder::Impl::is_host_space<Exec> || std::is_same_v<Scalar, double>;

  Exec exec;

  template <class Matrix, class M>
  Solved<Scalar> solve(Matrix const& A, M const& m, InScalar<Scalar> const& in,
                       Options const& options) const {
    SolverOn<Options, Exec, Matrix, M> solver(exec, A, m, options);
    auto const x = to_device(exec, in.x0);
    Solved<Scalar> s;
    s.report = solver.solve(to_device(exec, in.b), x);
    s.x = to_host(exec, x);
    return s;
  }

  Solved<Scalar> solve(Row const& row, InScalar<Scalar> const& in, Options const& options) const {
    CsrMatrix<Scalar, Exec> const A(exec, in.A);
    if constexpr (has_faults) {
      if (row.in_A)
        return solve(FaultyMatrix<Scalar, Exec>{A, FaultCounter<Exec>(*row.in_A)}, Identity{}, in,
                     options);
      if (row.in_M)
        return solve(A, FaultyPreconditioner<Scalar, Exec>{A.rows(), FaultCounter<Exec>(*row.in_M)},
                     in, options);
    }
    if (row.diagonal.empty()) return solve(A, Identity{}, in, options);
    return solve(A, Jacobi<Scalar, Exec>(exec, to_device(exec, in.diagonal)), in, options);
  }
};

template <class Case>
struct EveryReason : testing::Test {};
TYPED_TEST_SUITE(EveryReason, CasesOfDefault, TypeName);

template <class Options, class Scalar>
void expect_every_reason() {
  Solves<Options, Scalar> const of;
  constexpr double largest = largest_of<Scalar>;
  int solves = 0;
  for (auto const& [form, form_options] : every_form<Options>())
    for (Row const& row : of_all(largest) + table_of(form_options, largest)) {
      if ((row.in_A || row.in_M) && !of.has_faults) continue;
      InScalar<Scalar> const in(row);
      for (Runner const runner : every_runner) {
        Options options = form_options;
        options.tolerance = row.tolerance > 0 ? row.tolerance : reachable<Scalar>;
        options.max_iterations = row.limit;
        options.runner = runner;
        options.keep_guess = false;
        SCOPED_TRACE(form + ", " + std::string(to_string(runner)) + ": " + row.name);
        expect_end(row, in.A, in.b, of.solve(row, in, options), options.tolerance);
        ++solves;
      }
    }
  std::printf("[  counted ] %d solves\n", solves);
}

TYPED_TEST(EveryReason, Cg) { expect_every_reason<CgOptions, typename TypeParam::Scalar>(); }
TYPED_TEST(EveryReason, BiCgStab) {
  expect_every_reason<BiCgStabOptions, typename TypeParam::Scalar>();
}
TYPED_TEST(EveryReason, Gmres) { expect_every_reason<GmresOptions, typename TypeParam::Scalar>(); }
TYPED_TEST(EveryReason, Idr) { expect_every_reason<IdrOptions, typename TypeParam::Scalar>(); }

/// A first residual and shadow vector that leave (p, A r) 5 digits above rounding: the step is 1e13
/// times too long. In single precision no step may lengthen r so much.
TYPED_TEST(EveryReason, IdrDiverges) {
  using Scalar = typename TypeParam::Scalar;
  if (1e-10 < epsilon<Scalar>) GTEST_SKIP() << "(p, A r) has no digits left before";
  auto const A = in_scalar<Scalar>(good());
  auto options = idr(1);
  Solder::ShadowSpace<Scalar> const shadow{options.seed};
  std::vector<Scalar> p;
  for (int i = 0; i < n; ++i) p.push_back(shadow.entry(i, 0));
  auto const w = multiply(A, p);  // A is Hermitian: (p, A b) = (w, b)
  auto b = p;
  auto const add = [&](Complex const& factor) {
    for (int i = 0; i < n; ++i) {
      Complex const sum = plain(b[i]) + factor * plain(w[i]);
      b[i] = entry<Scalar>(sum.real(), sum.imag());
    }
  };
  double const w_w = inner(w, w).real();
  for (int round = 0; round < 2; ++round) add(-inner(w, b) / w_w);
  add(5e-14 * norm(p) * norm(multiply(A, b)) / w_w);
  for (Runner const runner : every_runner) {
    options = with_limits(options, 1e-9, 100, runner);
    auto const s = SolderTest::solve(Exec(), A, false, b, std::vector<Scalar>(n), options);
    auto const row = Row{"", {}, {}}.ends(Reason::diverged, beyond, 1);
    expect_end(row, A, b, s, options.tolerance);
  }
}

// ---- Several columns ----

template <class Scalar, class M>
void expect_ends_of_block(Row const& row, InScalar<Scalar> const& in, M const& m,
                          Solder::BlockCgOptions const& options) {
  Vectors<Scalar> const b{in_scalar<Scalar>(row.beside), in.b};
  CsrMatrix<Scalar, Exec> const A(Exec(), in.A);
  Solder::BlockCg<Exec, CsrMatrix<Scalar, Exec>, M> solver(Exec(), A, m, options);
  auto const x = columns_to_device(Vectors<Scalar>(2, in.x0));
  auto const reports = solver.solve(columns_to_device(b), x);
  auto const x_host = columns_to_host(x);
  Row beside = row;
  beside.reason = row.reason_beside;
  beside.sentence = std::nullopt;
  beside.least = 0;
  beside.most = row.limit;
  for (std::size_t c : {0, 1}) {
    SCOPED_TRACE("column " + std::to_string(c));
    expect_end(c == 0 ? beside : row, in.A, b[c], Solved<Scalar>{reports[c], x_host[c]},
               options.tolerance);
  }
}

TYPED_TEST(EveryReason, BlockCg) {
  using Scalar = typename TypeParam::Scalar;
  Solder::BlockCgOptions options;
  for (Row const& row : table_of(options, largest_of<Scalar>)) {
    SCOPED_TRACE(row.name);
    options.tolerance = row.tolerance > 0 ? row.tolerance : reachable<Scalar>;
    options.max_iterations = row.limit;
    InScalar<Scalar> const in(row);
    if (in.diagonal.empty())
      expect_ends_of_block(row, in, Identity{}, options);
    else
      expect_ends_of_block(row, in, Jacobi<Scalar, Exec>(Exec(), to_device(Exec(), in.diagonal)),
                           options);
  }
}

}  // namespace
}  // namespace SolderTest
