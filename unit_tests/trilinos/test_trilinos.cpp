// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tpetra's matrices over all ranks in Solder's solvers, preconditioners both ways, and Solder in
// Belos. Run by mpirun with any number of ranks; residuals are Tpetra's own.
#include <mpi.h>

#include <BelosPseudoBlockCGSolMgr.hpp>
#include <Ifpack2_Factory.hpp>
#include <MueLu_CreateTpetraPreconditioner.hpp>
#include <Tpetra_Core.hpp>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/distributed_fsai.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/preconditioners/schwarz.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/trilinos/belos.hpp>
#include <string>
#include <vector>

#include "system.hpp"

// ---- What communicates: MPI's own profiling layer ----

namespace {
long all_reduces = 0;
}
extern "C" int MPI_Allreduce(void const* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  ++all_reduces;
  return PMPI_Allreduce(from, to, count, type, op, comm);
}

namespace {

using namespace SolderTest;

/// Solves and checks what is said; the report.
template <class Solver>
Solder::Report solved(std::string const& what, System& s, Solver&& solver,
                      double tolerance = 1e-8) {
  s.x.putScalar(0);
  Solder::Report const report = Solder::solve(solver, s.b, s.x);
  double const residual = true_residual(*s.A, s.b, s.x);
  expect(report.reason == Solder::Reason::converged,
         what + ": " + std::string(to_string(report.reason)) + " " + report.detail);
  expect(residual <= 1.001 * tolerance, what + ": residual " + std::to_string(residual));
  expect(std::abs(residual - report.true_relative_residual) <= 1e-3 * residual ||
             s.b.getNumVectors() > 1,
         what + ": the report's residual is another one");
  int least = 0, most = 0;
  auto const comm = s.A->getMap()->getComm();
  Teuchos::reduceAll(*comm, Teuchos::REDUCE_MIN, report.iterations, Teuchos::outArg(least));
  Teuchos::reduceAll(*comm, Teuchos::REDUCE_MAX, report.iterations, Teuchos::outArg(most));
  expect(least == most, what + ": ranks have other iterations");
  if (is_first) std::printf("%-36s %4d iterations, residual %.2e\n", what.c_str(), most, residual);
  return report;
}

/// f(solver's maker, name) for each method: maker(A, M) makes one.
template <class F>
void for_each_method(F const& f) {
  f([](auto const& A, auto const& M) { return Solder::Cg(Exec(), A, M); }, "cg", true);
  f([](auto const& A, auto const& M) { return Solder::BiCgStab(Exec(), A, M); }, "bicgstab", false);
  f([](auto const& A, auto const& M) { return Solder::Gmres(Exec(), A, M); }, "gmres", false);
  f(
      [](auto const& A, auto const& M) {
        Solder::GmresOptions options;
        options.form = Solder::GmresForm::pipelined;
        return Solder::Gmres(Exec(), A, M, options);
      },
      "gmres pipelined", false);
  f([](auto const& A, auto const& M) { return Solder::Idr(Exec(), A, M); }, "idr", false);
}

/// As one process, with the same rows.
void as_one_process(Comm const& comm, Comm const& alone) {
  auto const spd = Solder::fem_poisson_2d<double>(25);
  auto const flow =
      Solder::convection_diffusion_2d<double>(25, {20, 10}, Solder::Convection::upwind);
  for_each_method([&](auto const& make, std::string const& name, bool needs_spd) {
    for (bool const is_flow : {false, true}) {
      if (is_flow && needs_spd) continue;
      System all(is_flow ? flow : spd, comm), one(is_flow ? flow : spd, alone);
      auto const A = Solder::from_tpetra(Exec(), all.A), B = Solder::from_tpetra(Exec(), one.A);
      for (bool const jacobi : {false, true}) {
        std::string const what = name + (is_flow ? ", flow" : "") + (jacobi ? ", jacobi" : "");
        Solder::Report here, there;
        if (jacobi) {
          here = solved(what, all, make(A, Solder::Jacobi(Exec(), A.own_block(Exec()))));
          there =
              solved(what + " alone", one, make(B, Solder::Jacobi(Exec(), B.own_block(Exec()))));
        } else {
          here = solved(what, all, make(A, Solder::Identity()));
          there = solved(what + " alone", one, make(B, Solder::Identity()));
        }
        int const slack = std::max(1, there.iterations / 25);
        expect(std::abs(here.iterations - there.iterations) <= slack,
               what + ": " + std::to_string(here.iterations) + " iterations, and " +
                   std::to_string(there.iterations) + " of one process");
      }
    }
  });
}

/// All-reduces of an iteration: the difference of two limits.
void all_reduces_of_an_iteration(Comm const& comm) {
  System s(Solder::fem_poisson_2d<double>(40), comm);
  auto const A = Solder::from_tpetra(Exec(), s.A);
  auto const count = [&]<class Options>(Options options, auto const& make, double most,
                                        std::string const& what) {
    long of[2];
    for (int k : {0, 1}) {
      options.tolerance = 0;
      options.max_iterations = 40 * (k + 1);
      auto solver = make(options);
      s.x.putScalar(0);
      long const before = all_reduces;
      Solder::solve(solver, s.b, s.x);
      of[k] = all_reduces - before;
    }
    double const each = double(of[1] - of[0]) / 40;
    if (is_first) std::printf("%-36s %.3f all-reduces an iteration\n", what.c_str(), each);
    expect(each <= most, what + ": " + std::to_string(each) + " all-reduces an iteration");
  };
  count(
      Solder::CgOptions(),
      [&](auto const& o) { return Solder::Cg(Exec(), A, Solder::Identity(), o); }, 1.0,
      "cg pipelined");
  count(
      Solder::BiCgStabOptions(),
      [&](auto const& o) { return Solder::BiCgStab(Exec(), A, Solder::Identity(), o); }, 2.0,
      "bicgstab pipelined");
  count(
      Solder::IdrOptions(),
      [&](auto const& o) { return Solder::Idr(Exec(), A, Solder::Identity(), o); }, 1.0, "idr(4)");
  Solder::GmresOptions gmres;
  gmres.form = Solder::GmresForm::cgs;
  gmres.restart = 200;
  count(
      gmres, [&](auto const& o) { return Solder::Gmres(Exec(), A, Solder::Identity(), o); }, 2.0,
      "gmres cgs");
}

template <class M>
int iterations_of_belos(System& s, RCP<M const> const& preconditioner) {
  auto const problem = rcp(
      new Belos::LinearProblem<double, Vectors, Operator>(s.A, rcp(&s.x, false), rcp(&s.b, false)));
  problem->setLeftPrec(preconditioner);
  s.x.putScalar(0);
  problem->setProblem();
  auto const list = Teuchos::parameterList();
  list->set("Convergence Tolerance", 1e-8);
  list->set("Maximum Iterations", 2000);
  Belos::PseudoBlockCGSolMgr<double, Vectors, Operator> belos(problem, list);
  expect(belos.solve() == Belos::Converged, "Belos did not converge");
  return belos.getNumIters();
}

/// M of Solder in Belos: the iterations of Solder's own solver with it.
void preconditioners_both_ways(Comm const& comm) {
  System s(Solder::fem_poisson_2d<double>(40), comm);
  Exec const exec;
  auto const A = Solder::from_tpetra(exec, s.A);
  auto const own = A.own_block(exec);
  auto const with = [&](std::string const& name, auto const& M) {
    auto const ours = solved("cg, " + name, s, Solder::Cg(exec, A, M)).iterations;
    RCP<Operator const> const op = rcp(
        new Solder::PreconditionerOperator<std::decay_t<decltype(M)>>(exec, s.A->getRowMap(), M));
    int const theirs = iterations_of_belos(s, op);
    expect(std::abs(ours - theirs) <= 2, name + " in Belos: " + std::to_string(theirs) +
                                             " iterations, " + std::to_string(ours) + " in Solder");
  };
  with("fsai", Solder::Fsai(exec, own));
  with("ic0", Solder::Incomplete(exec, own, Solder::Factorisation::ic0));
  with("amg", Solder::Amg(exec, own));
  Solder::Jacobi const jacobi(exec, own);
  solved("cg, chebyshev of all ranks", s, Solder::Cg(exec, A, Solder::Chebyshev(exec, A, jacobi)));
  with("fsai of all ranks", Solder::DistributedFsai(exec, A));
  with("ic0, overlapping", Solder::Schwarz(exec, A, Solder::Factorisation::ic0));

  auto const ilu =
      Ifpack2::Factory().create<Tpetra::RowMatrix<double>>("CHEBYSHEV", s.A.getConst());
  Teuchos::ParameterList chebyshev;
  chebyshev.set("chebyshev: degree", 4);
  ilu->setParameters(chebyshev);
  ilu->initialize();
  ilu->compute();
  RCP<Operator const> const of_ifpack = ilu;
  int const ifpack = solved("cg, Ifpack2's Chebyshev", s,
                            Solder::Cg(exec, A, Solder::preconditioner_from_tpetra(of_ifpack)))
                         .iterations;
  expect(std::abs(ifpack - iterations_of_belos(s, of_ifpack)) <= 2,
         "Ifpack2 in Solder and in Belos");
  Teuchos::ParameterList muelu;
  muelu.set("verbosity", "none");
  muelu.set("coarse: max size", 50);
  RCP<Operator> const op = s.A;
  RCP<Operator const> const multigrid = MueLu::CreateTpetraPreconditioner(op, muelu);
  int const of_muelu =
      solved("cg, MueLu", s, Solder::Cg(exec, A, Solder::preconditioner_from_tpetra(multigrid)))
          .iterations;
  expect(std::abs(of_muelu - iterations_of_belos(s, multigrid)) <= 2,
         "MueLu in Solder and in Belos");
}

void belos_by_name(Comm const& comm) {
  System s(Solder::fem_poisson_2d<double>(25), comm, 3);
  Belos::SolverFactory<double, Vectors, Operator> factory;
  Solder::add_to(factory);
  for (std::string const name : {"SOLDER CG", "SOLDER BICGSTAB", "SOLDER GMRES", "SOLDER IDR"}) {
    auto const list = Teuchos::parameterList();
    list->set("Convergence Tolerance", 1e-9);
    if (name == "SOLDER GMRES") list->set("Num Blocks", 50);
    auto const solver = factory.create(name, list);
    auto const problem = rcp(new Belos::LinearProblem<double, Vectors, Operator>(
        s.A, rcp(&s.x, false), rcp(&s.b, false)));
    s.x.putScalar(0);
    problem->setProblem();
    solver->setProblem(problem);
    expect(solver->solve() == Belos::Converged, name + " in Belos did not converge");
    expect(true_residual(*s.A, s.b, s.x) <= 1.001e-9, name + ": residual");
    expect(solver->getNumIters() > 0, name + ": iterations");
    auto const wrong = Teuchos::parameterList();
    wrong->set("Convergence Tolerence", 1e-9);
    bool thrown = false;
    try {
      factory.create(name, wrong);
    } catch (std::exception const&) {
      thrown = true;
    }
    expect(thrown, name + " takes a parameter that there is not");
  }
}

/// Some vectors of several, which Tpetra keeps in the memory of all of them.
void some_of_several_vectors(Comm const& comm) {
  System s(Solder::fem_poisson_2d<double>(12), comm, 3);
  auto const A = Solder::from_tpetra(Exec(), s.A);
  Solder::Jacobi<double, Exec> const M(Exec(), A.own_block(Exec()));
  Teuchos::Array<std::size_t> const columns(Teuchos::tuple<std::size_t>(0, 2));
  s.x.putScalar(0);
  {
    auto const b = s.b.subView(columns());
    auto const x = s.x.subViewNonConst(columns());
    Solder::Cg cg(Exec(), A, M);
    Solder::solve(cg, *b, *x);
    expect(true_residual(*s.A, *b, *x) <= 1e-8 * (1 + 1e-6), "columns 0 and 2");
  }
  Teuchos::Array<double> norms(3);
  s.x.norm2(norms());
  expect(norms[1] == 0, "column 1 is as it was");
  Vectors all(s.b, Teuchos::Copy), some(s.A->getRangeMap(), 3);
  Solder::PreconditionerOperator const of_M(Exec(), s.A->getDomainMap(), M);
  of_M.apply(s.b, all);
  of_M.apply(*s.b.subView(columns()), *some.subViewNonConst(columns()));
  all.getVectorNonConst(1)->putScalar(0);
  some.update(-1, all, 1);
  some.norm2(norms());
  expect(norms[0] == 0 && norms[1] == 0 && norms[2] == 0, "M of columns 0 and 2");
}

/// A row without entries and without ghosts is the last of its rank: its column is not in the map.
void a_row_without_entries_is_refused(Comm const& comm) {
  auto const map = rcp(new Map(Tpetra::global_size_t(3 * comm->getSize()), 3, 0, comm));
  auto const A = rcp(new Matrix(map, 1));
  int const rows = comm->getRank() == 0 ? 2 : 3;
  for (int l = 0; l < rows; ++l) {
    auto const i = map->getGlobalElement(l);
    double const one = 1;
    A->insertGlobalValues(i, 1, &one, &i);
  }
  A->fillComplete();
  expect(throws([&] { Solder::from_tpetra(Exec(), A); }), "a rank without a column of its own");
}

/// Parameters that are given one after another, other operators, and what only Belos's own have.
void belos_manager(Comm const& comm) {
  System s(Solder::fem_poisson_2d<double>(12), comm),
      other(Solder::fem_poisson_2d<double>(12), comm);
  other.A->resumeFill();
  other.A->scale(2);
  other.A->fillComplete();
  using Solver = Solder::BelosSolver<Solder::CgOptions, double, Vectors, Operator>;
  Solver solver;
  auto const first = Teuchos::parameterList(), second = Teuchos::parameterList();
  first->set("Convergence Tolerance", 1e-12);
  first->set("Verbosity", Belos::Errors);
  first->set("Output Frequency", 1);
  solver.setParameters(first);
  second->set("Maximum Iterations", 500);
  solver.setParameters(second);
  expect(solver.getCurrentParameters()->get<double>("Convergence Tolerance") == 1e-12,
         "a tolerance stays where the limit is set");
  expect(second->numParams() == 1, "the list given stays as it is");
  auto const problem = rcp(
      new Belos::LinearProblem<double, Vectors, Operator>(s.A, rcp(&s.x, false), rcp(&s.b, false)));
  solver.setProblem(problem);
  for (auto const& A : {s.A, other.A}) {
    s.x.putScalar(0);
    problem->setOperator(A);
    problem->setProblem();
    expect(solver.solve() == Belos::Converged, "another operator");
    expect(true_residual(*A, s.b, s.x) <= 1.001e-12, "of that operator");
  }
  RCP<Operator> const M = rcp(new Solder::PreconditionerOperator(
      Exec(), s.A->getDomainMap(),
      Solder::Jacobi<double, Exec>(Exec(), Solder::from_tpetra(Exec(), s.A).own_block(Exec()))));
  problem->setLeftPrec(M);
  problem->setRightPrec(M);
  problem->setProblem();
  expect(throws([&] { solver.solve(); }), "left and right preconditioners");
  // A zero on the diagonal of the last rank that has rows.
  Kokkos::View<double*, Exec::memory_space> diagonal("diagonal", s.A->getLocalNumRows());
  Kokkos::deep_copy(diagonal, 1.0);
  auto const last = s.A->getRangeMap()->getMaxAllGlobalIndex();
  if (s.A->getRangeMap()->isNodeGlobalElement(last)) diagonal(diagonal.extent(0) - 1) = 0;
  Solder::Jacobi<double, Exec> const broken(Exec(), diagonal);
  expect(throws([&] {
           Solder::PreconditionerOperator const of_M(Exec(), s.A->getDomainMap(), broken);
         }),
         "M that cannot be applied on a rank");
}

/// A NaN in b on the last rank alone.
void a_fault_ends_all(Comm const& comm) {
  System s(Solder::fem_poisson_2d<double>(25), comm);
  if (comm->getRank() == comm->getSize() - 1)
    s.b.getLocalViewHost(Tpetra::Access::ReadWrite)(0, 0) = std::nan("");
  s.x.putScalar(0);
  auto const A = Solder::from_tpetra(Exec(), s.A);
  Solder::Cg cg(Exec(), A);
  expect(Solder::solve(cg, s.b, s.x).reason == Solder::Reason::not_finite, "a NaN on one rank");
  Solder::CgOptions options;
  options.monitor = [&](Solder::Progress const& progress) {
    if (progress.iteration == 5 && comm->getRank() == 0) throw std::runtime_error("of rank 0");
  };
  fill(s.b);
  Solder::Cg throws(Exec(), A, Solder::Identity(), options);
  bool thrown = false;
  try {
    Solder::solve(throws, s.b, s.x);
  } catch (std::runtime_error const&) {
    thrown = true;
  }
  expect(thrown, "a monitor that throws on one rank");
}

/// MPI ends all: mpirun says which signal, and nobody waits for ever; see CMakeLists.txt.
[[noreturn]] void a_rank_is_killed(Comm const& comm) {
  System s(Solder::fem_poisson_2d<double>(60), comm);
  auto const A = Solder::from_tpetra(Exec(), s.A);
  Solder::CgOptions options;
  options.tolerance = 0;
  options.max_iterations = 1000000;
  options.monitor = [&](Solder::Progress const& progress) {
    if (progress.iteration == 20 && comm->getRank() == comm->getSize() - 1) std::raise(SIGKILL);
  };
  Solder::Cg cg(Exec(), A, Solder::Identity(), options);
  Solder::solve(cg, s.b, s.x);
  std::printf("the solve went on without a rank\n");
  std::exit(0);
}

}  // namespace

int main(int argc, char* argv[]) {
  Tpetra::ScopeGuard const guard(&argc, &argv);
  auto const comm = Tpetra::getDefaultComm();
  is_first = comm->getRank() == 0;
  if (argc > 1 && std::string(argv[1]) == "killed") a_rank_is_killed(comm);
  Comm const alone = Teuchos::rcp(new Teuchos::MpiComm<int>(MPI_COMM_SELF));
  as_one_process(comm, alone);
  all_reduces_of_an_iteration(comm);
  preconditioners_both_ways(comm);
  belos_by_name(comm);
  some_of_several_vectors(comm);
  a_row_without_entries_is_refused(comm);
  belos_manager(comm);
  a_fault_ends_all(comm);
  return result(comm);
}
