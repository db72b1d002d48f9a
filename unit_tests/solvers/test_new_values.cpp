// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solvers by name, and the classes, whose matrix gets other values; and the memory that they take.
#include "../kokkos_events.hpp"
#include "by_name.hpp"

#include <cmath>
#include <utility>

#include <solder/matrix/sell.hpp>
#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/solver.hpp>
#include <solder/solvers/cg.hpp>
#include <solder/solvers/gmres.hpp>

namespace {

using namespace SolderTest;

struct NewValues : ByName {
  static bool is_multigrid(Parameters const& parameters) {
    return *parameters.find("preconditioner")->as_word() == "amg";
  }
  /// The same pattern, with values of another size in each row and column; or of another size all
  /// alike, for multigrid, whose aggregates would be others.
  Solder::HostCsr<double> changed(bool alike = false) const {
    Solder::HostCsr<double> other = host;
    if (alike) {
      for (double& value : other.values) value *= 2.7;
      return other;
    }
    for (std::int32_t i = 0; i < other.rows; ++i)
      for (auto k = other.row_offsets[i]; k < other.row_offsets[i + 1]; ++k)
        other.values[k] *= (1 + i % 3) * (1 + other.columns[k] % 3);
    return other;
  }
  auto solve_by(Solder::Solver<double, Exec> const& solver) {
    return solved([&](auto const& r, auto const& y) { return solver.solve(r, y); });
  }
  void expect_as_new(Solder::Solver<double, Exec> const& solver, Matrix const& of,
                     Parameters const& parameters) {
    auto const [report, x] = solve_by(solver);
    auto const [expected, z] = solve_by(make_solver(exec, of, parameters));
    EXPECT_EQ(report.reason, Reason::converged);
    EXPECT_TRUE(same_bits(x, z));
    EXPECT_TRUE(same_bits(report.history, expected.history));
  }
};

/// A solver and a preconditioner, in a test of their own: so each is quick under a sanitizer.
struct NewValuesOf : NewValues, testing::WithParamInterface<std::pair<std::string, std::string>> {
  static std::vector<ParamType> pairs() {
    std::vector<ParamType> all;
    for (std::string const solver : {"cg", "bicgstab", "gmres", "idr", "block_cg"})
      for (std::string const preconditioner : every_preconditioner)
        if (solver != "block_cg" || (preconditioner != "ic0" && preconditioner != "ilu0"))
          all.emplace_back(solver, preconditioner);
    return all;
  }
  template <class F>
  void for_each_format(F const& f) {
    auto const& [solver, preconditioner] = GetParam();
    for (std::string const format : {"csr", "sell"}) {
      if (solver == "block_cg" && format == "sell") continue;
      SCOPED_TRACE(format);
      f(Parameters{
          {"name", solver}, {"preconditioner", preconditioner}, {"matrix_format", format}});
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Each, NewValuesOf, testing::ValuesIn(NewValuesOf::pairs()),
                         [](auto const& info) {
                           return info.param.first + "_" + info.param.second;
                         });

TEST_P(NewValuesOf, AreRefusedUntilARefresh) {
  for_each_format([&](Parameters const& parameters) {
    auto const anew = changed(is_multigrid(parameters));
    Matrix const old(exec, host), other(exec, anew);
    auto const solver = make_solver(exec, old, parameters);
    expect_as_new(solver, old, parameters);
    solver.set_matrix(other);
    EXPECT_THROW(solve_by(solver), std::logic_error);
    solver.refresh();
    expect_as_new(solver, other, parameters);
    // In place.
    Kokkos::deep_copy(Kokkos::View<double*, Exec::memory_space>(
                          const_cast<double*>(other.values().data()), other.nonzeros()),
                      old.values());
    other.values_changed();
    EXPECT_THROW(solve_by(solver), std::logic_error);
    solver.refresh();
    expect_as_new(solver, old, parameters);
  });
}

/// A hundred time steps: after the first refresh nothing is allocated, and each step is as if all
/// were made anew.
struct NewValuesOfTimeSteps : NewValues, testing::WithParamInterface<char const*> {};
INSTANTIATE_TEST_SUITE_P(Each, NewValuesOfTimeSteps, testing::ValuesIn(every_preconditioner),
                         [](auto const& info) { return std::string(info.param); });

TEST_P(NewValuesOfTimeSteps, AllocateNothing) {
  auto const values_of = [](Matrix const& of) {
    return Kokkos::View<double*, Exec::memory_space>(const_cast<double*>(of.values().data()),
                                                     of.nonzeros());
  };
  std::string const name = GetParam();
  Parameters const parameters = in_csr({{"name", "cg"}, {"preconditioner", name}});
  Matrix const mine(exec, host), other(exec, changed(name == "amg"));
  auto const solver = make_solver(exec, mine, parameters);
  auto const r = to_device(exec, b), x = to_device(exec, std::vector<double>(b.size()));
  auto const step = [&](int k) {
    Kokkos::deep_copy(exec, values_of(mine), (k % 2 == 0 ? other : A).values());
    mine.values_changed();
    solver.refresh();
    return solver.solve(r, x);
  };
  step(0);
  step(1);
  KokkosEvents events;
  int converged = 0;
  for (int k = 2; k < 102; ++k) converged += step(k).reason == Reason::converged;
  events.stop();
  EXPECT_EQ(converged, 100);
  std::string labels;
  for (auto const& allocation : events.allocations) labels += allocation.label + " ";
  EXPECT_EQ(labels, "");
  expect_as_new(solver, A, parameters);
}

/// A lagged preconditioner: the solution is that of the new matrix, M that of the old one.
TEST_P(NewValuesOf, MayMeetAnOlderPreconditioner) {
  for_each_format([&](Parameters parameters) {
    parameters.set("allow_stale_preconditioner", true);
    auto const anew = changed(is_multigrid(parameters));
    Matrix const old(exec, host), other(exec, anew);
    auto const solver = make_solver(exec, old, parameters);
    solver.set_matrix(other);
    auto const [report, x] = solve_by(solver);
    EXPECT_EQ(report.reason, Reason::converged);
    auto const [relative, rounding] = true_residual(anew, b, x);
    EXPECT_LE(relative, 1e-8 + rounding);
    auto const [of_new, z] = solve_by(make_solver(exec, other, parameters));
    EXPECT_FALSE(same_bits(x, z));  // by another M
  });
}

TEST_F(NewValues, WithoutAPreconditionerNeedNothing) {
  for (std::string const format : {"csr", "sell", "ell"}) {
    Parameters const parameters{{"name", "cg"}, {"matrix_format", format}};
    Matrix const other(exec, changed());
    auto const solver = make_solver(exec, A, parameters);
    solver.set_matrix(other);
    expect_as_new(solver, other, parameters);
    Kokkos::deep_copy(Kokkos::View<double*, Exec::memory_space>(
                          const_cast<double*>(other.values().data()), other.nonzeros()),
                      A.values());
    other.values_changed();
    expect_as_new(solver, A, parameters);
  }
}

TEST_P(NewValuesOf, OfAnotherPatternAreANewSystem) {
  Matrix const larger(exec, Solder::fem_poisson_2d<double>(21));
  for_each_format([&](Parameters const& parameters) {
    auto const solver = make_solver(exec, A, parameters);
    EXPECT_THROW(solver.set_matrix(larger), std::invalid_argument);
    expect_as_new(solver, A, parameters);
    solver.set_matrix(larger, Solder::Pattern::different);
    auto const rhs = std::exchange(b, random_vector<double>(std::size_t(larger.rows()), 2));
    expect_as_new(solver, larger, parameters);
    b = rhs;
  });
}

TEST_F(NewValues, AreNoticedByTheClasses) {
  Matrix const mine(exec, host);
  auto const padded = Solder::SellMatrix<double, Exec>::sell(exec, mine);
  Solder::Jacobi<double, Exec> jacobi(exec, mine);
  Solder::Chebyshev polynomial(exec, padded, jacobi);
  Solder::Cg solver(exec, padded, polynomial);
  auto const text = [&] {
    try {
      solved([&](auto const& r, auto const& y) { return solver.solve(r, y); });
    } catch (std::logic_error const& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(text(), "no error");
  mine.values_changed();
  EXPECT_NE(text().find("copy in another format"), std::string::npos) << text();
  auto again = padded;
  again.refresh(exec, mine);
  EXPECT_NE(text().find("since the preconditioner was set up"), std::string::npos) << text();
  jacobi.refresh(exec, mine);
  EXPECT_TRUE(polynomial.is_stale());
  polynomial.refresh(exec, padded);
  EXPECT_EQ(text(), "no error");
}

/// Tpetra's offsets are std::size_t.
TEST_P(NewValuesOf, RowOffsetsMayBeWide) {
  Solder::CsrMatrix<double, Exec, std::size_t> const wide(exec, host);
  for_each_format([&](Parameters const& parameters) {
    auto const anew = changed(is_multigrid(parameters));
    Solder::CsrMatrix<double, Exec, std::size_t> const other(exec, anew);
    auto const solver = make_solver(exec, wide, parameters);
    expect_as_new(solver, A, parameters);
    solver.set_matrix(other);
    EXPECT_THROW(solve_by(solver), std::logic_error);
    solver.refresh();
    expect_as_new(solver, Matrix(exec, anew), parameters);
    other.values_changed();  // the solver's is a copy that shares the values
    EXPECT_THROW(solve_by(solver), std::logic_error);
  });
}

TEST_F(NewValues, TheClassesTakeWideRowOffsetsAsTheyAre) {
  Solder::CsrMatrix<double, Exec, std::size_t> const wide(exec, host);
  using Wide = Solder::CsrMatrix<double, Exec, std::size_t>;
  auto const expect_as_narrow = [&](auto const& M, std::string const& name) {
    SCOPED_TRACE(name);
    Solder::Cg<Exec, Wide, std::decay_t<decltype(M)>> solver(exec, wide, M);
    auto const [report, x] =
        solved([&](auto const& r, auto const& y) { return solver.solve(r, y); });
    auto const narrow = make_solver(exec, A, in_csr({{"name", "cg"}, {"preconditioner", name}}));
    EXPECT_EQ(report.reason, Reason::converged);
    EXPECT_TRUE(same_bits(x, solve_by(narrow).second));
  };
  expect_as_narrow(Solder::Jacobi(exec, wide), "jacobi");
  expect_as_narrow(Solder::Fsai(exec, wide), "fsai");
  expect_as_narrow(Solder::Incomplete(exec, wide, Solder::Factorisation::ic0), "ic0");
  expect_as_narrow(Solder::Chebyshev(exec, wide, Solder::Jacobi(exec, wide)), "chebyshev");
  expect_as_narrow(Solder::Amg(exec, wide), "amg");
}

// ---- Memory ----

/// What is said before is what Kokkos Tools counts, within 2%.
template <class Solve>
void expect_allocated(double said, Solve const& solve) {
  KokkosEvents events;
  solve();
  events.stop();
  double counted = 0;
  for (auto const& allocation : events.allocations)
    if (allocation.label.rfind("Kokkos::", 0) != 0)  // an instance's own, on GPUs
      counted += double(allocation.bytes);
  EXPECT_NEAR(said, counted, 0.02 * counted);
  EXPECT_GT(said, 0);
}

TEST_P(NewValuesOf, TheWorkspaceIsKnownBefore) {
  using Columns = Kokkos::View<double**, Kokkos::LayoutRight, Exec::memory_space>;
  for_each_format([&](Parameters const& parameters) {
    auto const solver = make_solver(exec, A, parameters);
    if (GetParam().first != "block_cg") {
      double const said = double(solver.workspace_bytes());
      expect_allocated(said, [&] { solver.reserve(); });
      auto const r = to_device(exec, b), x = to_device(exec, std::vector<double>(b.size()));
      KokkosEvents events;
      solver.solve(r, x);
      events.stop();
      EXPECT_TRUE(events.allocations.empty());
    }
    for (int const columns : {3, 40}) {
      auto const again = make_solver(exec, A, parameters);
      Columns const r("SolderTest::b", A.rows(), columns), x("SolderTest::x", A.rows(), columns);
      Kokkos::deep_copy(r, 0.0);  // all end together: none is compacted
      double const said = double(again.workspace_bytes(columns));
      expect_allocated(said, [&] { again.solve(r, x); });
    }
  });
}

TEST_F(NewValues, TheWorkspaceOfAClassIsKnownBefore) {
  Solder::GmresOptions options;
  options.restart = 11;
  Solder::Gmres const typed(exec, A, Solder::Identity{}, options);
  expect_allocated(double(typed.workspace_bytes()),
                   [&] { Solder::Gmres(exec, A, Solder::Identity{}, options); });
}

}  // namespace
