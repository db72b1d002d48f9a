// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Tpetra matrix over all ranks, solved by Solder's CG, and by the same CG as a solver of Belos.
//   mpirun -np 4 ./tpetra
#include <BelosTpetraAdapter.hpp>
#include <Tpetra_Core.hpp>
#include <iostream>
#include <solder/preconditioners/fsai.hpp>
#include <solder/trilinos/belos.hpp>

using Matrix = Tpetra::CrsMatrix<double>;
using Vectors = Tpetra::MultiVector<double>;
using Operator = Tpetra::Operator<double>;
using Map = Matrix::map_type;
using Exec = Matrix::node_type::execution_space;
using Teuchos::RCP;
using Teuchos::rcp;

/// The 5-point Laplacian on side x side nodes, each rank a slice of its rows.
RCP<Matrix> laplacian(int side, RCP<Teuchos::Comm<int> const> const& comm) {
  using Global = Map::global_ordinal_type;
  auto const map = rcp(new Map(Tpetra::global_size_t(side) * side, 0, comm));
  auto const A = rcp(new Matrix(map, 5));
  for (std::size_t l = 0; l < map->getLocalNumElements(); ++l) {
    Global const row = map->getGlobalElement(int(l)), i = row % side, j = row / side;
    auto const set = [&](Global column, double value) {
      A->insertGlobalValues(row, 1, &value, &column);
    };
    if (j > 0) set(row - side, -1);
    if (i > 0) set(row - 1, -1);
    set(row, 4);
    if (i < side - 1) set(row + 1, -1);
    if (j < side - 1) set(row + side, -1);
  }
  A->fillComplete();
  return A;
}

int main(int argc, char* argv[]) {
  Tpetra::ScopeGuard const scope(&argc, &argv);
  auto const comm = Tpetra::getDefaultComm();
  auto const A = laplacian(200, comm);
  auto const x = rcp(new Vectors(A->getDomainMap(), 1)), b = rcp(new Vectors(A->getRangeMap(), 1));
  b->putScalar(1);

  // With Solder's classes. Each rank has an FSAI of its own block.
  Exec const exec;
  auto const a = Solder::from_tpetra(exec, A);
  Solder::Fsai const M(exec, a.own_block(exec));
  Solder::Cg cg(exec, a, M);
  Solder::Report const report = Solder::solve(cg, *b, *x);
  if (comm->getRank() == 0) std::cout << report << '\n';

  // By Belos's factory, with the same preconditioner as a Tpetra operator.
  Belos::SolverFactory<double, Vectors, Operator> factory;
  Solder::add_to(factory);
  auto const parameters = Teuchos::parameterList();
  parameters->set("Convergence Tolerance", 1e-8);
  auto const problem = rcp(new Belos::LinearProblem<double, Vectors, Operator>(A, x, b));
  problem->setRightPrec(rcp(new Solder::PreconditionerOperator(exec, A->getDomainMap(), M)));
  x->putScalar(0);
  problem->setProblem();
  auto const solver = factory.create("SOLDER CG", parameters);
  solver->setProblem(problem);
  bool const converged = solver->solve() == Belos::Converged;
  if (comm->getRank() == 0)
    std::cout << "Belos: " << solver->getNumIters() << " iterations, residual "
              << solver->achievedTol() << '\n';

  Vectors r(*b, Teuchos::Copy);
  A->apply(*x, r, Teuchos::NO_TRANS, -1, 1);
  Teuchos::Array<double> norm(1), of_b(1);
  r.norm2(norm());
  b->norm2(of_b());
  bool const same = std::abs(norm[0] / of_b[0] - solver->achievedTol()) < 1e-12;
  return report.reason == Solder::Reason::converged && converged && same ? 0 : 1;
}
