// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solvers and preconditioners by name over ranks: from Parameters, from a Teuchos::ParameterList,
// and in Stratimikos. Run by mpirun with any number of ranks; residuals are Tpetra's own.
#include <Ifpack2_Factory.hpp>
#include <Stratimikos_DefaultLinearSolverBuilder.hpp>
#include <Thyra_Ifpack2PreconditionerFactory.hpp>
#include <Thyra_LinearOpWithSolveHelpers.hpp>
#include <Thyra_VectorStdOps.hpp>
#include <cstdlib>
#include <new>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/trilinos/stratimikos.hpp>

#include "system.hpp"

// Of this rank's views, the one that fails, counted from 0; -1: none.
namespace {
long failing_view = -1;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (failing_view >= 0 && failing_view-- == 0) throw std::bad_alloc();
  auto const to = static_cast<std::size_t>(alignment);
  if (void* const block = std::aligned_alloc(to, (bytes + to - 1) / to * to)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace {

using namespace SolderTest;
using Solder::Parameters;

void expect_holds(std::string const& text, std::string const& part, std::string const& what) {
  expect(text.find(part) != std::string::npos, what + ": '" + text + "' has no '" + part + "'");
}

/// Every method and preconditioner by name.
void solvers_by_name(Comm const& comm) {
  System spd(Solder::fem_poisson_2d<double>(20), comm),
      flow(Solder::convection_diffusion_2d<double>(20, {20, 10}, Solder::Convection::upwind), comm);
  auto const solved = [&](System& s, Parameters const& parameters, std::string const& what) {
    s.x.putScalar(0);
    auto const solver = Solder::make_solver(Exec(), s.A, parameters);
    auto const report = Solder::solve(solver, s.b, s.x);
    expect(report.reason == Solder::Reason::converged, what + ": " + report.detail);
    expect(true_residual(*s.A, s.b, s.x) <= 1.001e-8, what + ": residual");
    if (is_first) std::printf("%-36s %4d iterations\n", what.c_str(), report.iterations);
    return report.iterations;
  };
  for (std::string const M : {"none", "jacobi", "fsai", "ic0", "chebyshev", "amg"})
    solved(spd, {{"name", "cg"}, {"preconditioner", M}}, "cg, " + M);
  for (std::string const name : {"bicgstab", "gmres", "idr"})
    solved(flow, {{"name", name}, {"preconditioner", "ilu0"}}, name + ", ilu0");
  Parameters const ilu0{{"name", "ilu0"}, {"overlap", "1"}};
  solved(flow, {{"name", "gmres"}, {"preconditioner", ilu0}}, "gmres, ilu0 overlapping");

  auto const solver = Solder::make_solver(
      Exec(), spd.A,
      Parameters{{"name", "cg"}, {"preconditioner", ilu0}, {"check_symmetry", false}});
  expect_holds(solver.describe(), "overlap: 1", "describe()");
  expect_holds(solver.describe(), "its rows are distributed over ranks", "describe()");
  expect_holds(thrown([&] {
                 Solder::make_solver(Exec(), spd.A, Parameters{{"name", "block_cg"}});
               }),
               "block_cg does not work over ranks", "block_cg");
  expect_holds(thrown([&] {
                 Solder::make_solver(Exec(), flow.A, Parameters{{"name", "cg"}});
               }),
               comm->getSize() > 2 ? "" : "needs a Hermitian", "cg for a flow");
}

/// A list is a tree of parameters, both ways; names that there are not are errors.
void lists_of_parameters(Comm const& comm) {
  Parameters const parameters{{"name", "gmres"},
                              {"tolerance", 1e-9},
                              {"restart", 40},
                              {"zero_guess", true},
                              {"preconditioner", Parameters{{"name", "ilu0"}, {"overlap", "1"}}}};
  auto const list = Solder::parameter_list_from(parameters);
  expect(list.get<int>("restart") == 40 && list.get<bool>("zero_guess") &&
             list.sublist("preconditioner").get<std::string>("name") == "ilu0",
         "a list of parameters");
  Parameters const back = Solder::parameters_from(list);
  expect(*back.find("tolerance")->as_real() == 1e-9 &&
             *back.find("preconditioner")->as_tree()->find("overlap")->as_word() == "1",
         "and back");
  System s(Solder::fem_poisson_2d<double>(15), comm);
  auto const solver = Solder::make_solver(Exec(), s.A, list);
  s.x.putScalar(0);
  expect(Solder::solve(solver, s.b, s.x).reason == Solder::Reason::converged, "by a list");
  expect(true_residual(*s.A, s.b, s.x) <= 1.001e-9, "by a list: residual");
  Teuchos::ParameterList wrong(list);
  wrong.set("tolerence", 1e-9);
  expect_holds(thrown([&] { Solder::make_solver(Exec(), s.A, wrong); }), "did you mean tolerance?",
               "a wrong name");
  Teuchos::ParameterList other;
  other.set("name", std::vector<int>());
  expect_holds(thrown([&] { Solder::make_solver(Exec(), s.A, other); }), "name must be a bool",
               "a value of another type");
}

/// f(builder, list): the list is to be filled.
template <class F>
Thyra::SolveStatus<double> by_stratimikos(System& s, double tolerance, F const& fill_list) {
  Stratimikos::LinearSolverBuilder<double> builder;
  Solder::add_to(builder);
  using Ifpack2Factory = Thyra::Ifpack2PreconditionerFactory<Matrix>;
  builder.setPreconditioningStrategyFactory(
      Teuchos::abstractFactoryStd<Thyra::PreconditionerFactoryBase<double>, Ifpack2Factory>(),
      "Ifpack2");
  auto const list = Teuchos::parameterList();
  fill_list(*list);
  builder.setParameterList(list);
  auto const factory = Thyra::createLinearSolveStrategy(builder);
  RCP<Operator const> const A = s.A;
  auto const op = Thyra::linearOpWithSolve(*factory, Thyra::createConstLinearOp(A));
  auto const b = Thyra::createConstMultiVector(RCP<Vectors const>(rcp(&s.b, false)), op->range());
  auto const x = Thyra::createMultiVector(rcp(&s.x, false), op->domain());
  s.x.putScalar(0);
  if (tolerance == 0) return Thyra::solve<double>(*op, Thyra::NOTRANS, *b, x.ptr());
  Thyra::SolveCriteria<double> const criteria(
      {Thyra::SOLVE_MEASURE_NORM_RESIDUAL, Thyra::SOLVE_MEASURE_NORM_RHS}, tolerance);
  return Thyra::solve<double>(*op, Thyra::NOTRANS, *b, x.ptr(), Teuchos::constPtr(criteria));
}

void stratimikos(Comm const& comm) {
  System s(Solder::fem_poisson_2d<double>(20), comm, 2);
  auto const solves = [&](std::string const& what, double tolerance, auto const& fill_list) {
    auto const status = by_stratimikos(s, tolerance, fill_list);
    double const residual = true_residual(*s.A, s.b, s.x),
                 asked = tolerance == 0 ? 1e-8 : tolerance;
    expect(status.solveStatus == Thyra::SOLVE_STATUS_CONVERGED, what + ": " + status.message);
    expect(residual <= 1.001 * asked, what + ": residual " + std::to_string(residual));
    if (is_first) std::printf("Stratimikos, %-23s %s\n", what.c_str(), status.message.c_str());
    return residual;
  };
  auto const solder = [](Teuchos::ParameterList& list) -> Teuchos::ParameterList& {
    list.set("Linear Solver Type", "Solder");
    auto& of = list.sublist("Linear Solver Types").sublist("Solder");
    of.set("name", "cg");
    return of;
  };
  solves("Solder, fsai", 0, [&](auto& list) {
    list.set("Preconditioner Type", "None");
    solder(list).set("preconditioner", "fsai");
  });
  solves("Solder, another tolerance", 1e-11, [&](auto& list) {
    list.set("Preconditioner Type", "None");
    solder(list);
  });
  solves("Solder, Ifpack2", 0, [&](auto& list) {
    solder(list);
    list.set("Preconditioner Type", "Ifpack2");
    auto& of = list.sublist("Preconditioner Types").sublist("Ifpack2");
    of.set("Prec Type", "RELAXATION");
    of.sublist("Ifpack2 Settings").set("relaxation: type", "Jacobi");
  });
  solves("Solder, Solder's ic0", 0, [&](auto& list) {
    solder(list);
    list.set("Preconditioner Type", "Solder");
    list.sublist("Preconditioner Types").sublist("Solder").set("name", "ic0");
  });
  solves("Belos, Solder's fsai", 0, [&](auto& list) {
    list.set("Linear Solver Type", "Belos");
    auto& of = list.sublist("Linear Solver Types").sublist("Belos");
    of.set("Solver Type", "Pseudo Block CG");
    of.sublist("Solver Types").sublist("Pseudo Block CG").set("Convergence Tolerance", 1e-8);
    list.set("Preconditioner Type", "Solder");
    list.sublist("Preconditioner Types").sublist("Solder").set("name", "fsai");
  });
  expect_holds(thrown([&] {
                 by_stratimikos(s, 0, [&](auto& list) {
                   list.set("Preconditioner Type", "None");
                   solder(list).set("max_iteration", 10);
                 });
               }),
               "did you mean max_iterations?", "a wrong name in Stratimikos");
  auto const few = by_stratimikos(s, 0, [&](auto& list) {
    list.set("Preconditioner Type", "None");
    solder(list).set("max_iterations", 3);
  });
  expect(few.solveStatus == Thyra::SOLVE_STATUS_UNCONVERGED, "three iterations");
  expect_holds(few.message, "max_iterations", "three iterations");
}

/// The views of the last rank, one after another: all ranks say so, and nobody waits.
void memory_of_one_rank(Comm const& comm) {
  System s(Solder::fem_poisson_2d<double>(8), comm);
  bool const fails = comm->getRank() == comm->getSize() - 1;
  auto const A = Solder::from_tpetra(Exec(), s.A);
  for (std::string const M : {"jacobi", "fsai", "chebyshev", "amg"}) {
    Parameters const parameters{{"name", "cg"}, {"preconditioner", M}};
    int failed = 0;
    for (long view = 0; view < 1000; ++view) {
      if (fails) failing_view = view;
      std::string const error = thrown([&] {
        auto const solver = Solder::make_solver(Exec(), A, parameters);
        Solder::solve(solver, s.b, s.x);
      });
      int const over = failing_view >= 0;
      failing_view = -1;
      int any = 0;
      Teuchos::reduceAll(*comm, Teuchos::REDUCE_MAX, over, Teuchos::outArg(any));
      if (any != 0) break;          // there is no such view
      if (error.empty()) continue;  // it did without
      ++failed;
      bool const is_of_tpetra = error.find("DualView") != std::string::npos;  // in Kokkos's words
      expect_holds(error,
                   !fails         ? "another rank"
                   : is_of_tpetra ? "failed to allocate"
                                  : "out of memory",
                   M + ", view " + std::to_string(view));
    }
    int least = 0, most = 0;
    Teuchos::reduceAll(*comm, Teuchos::REDUCE_MIN, failed, Teuchos::outArg(least));
    Teuchos::reduceAll(*comm, Teuchos::REDUCE_MAX, failed, Teuchos::outArg(most));
    expect(least == most && most > 5, M + ": as many failed everywhere, and some");
    if (is_first) std::printf("%-36s %4d views failed on the last rank\n", M.c_str(), failed);
  }
}

}  // namespace

int main(int argc, char* argv[]) {
  Tpetra::ScopeGuard const guard(&argc, &argv);
  auto const comm = Tpetra::getDefaultComm();
  is_first = comm->getRank() == 0;
  solvers_by_name(comm);
  lists_of_parameters(comm);
  stratimikos(comm);
  memory_of_one_rank(comm);
  return result(comm);
}
