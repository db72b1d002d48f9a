// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an iteration of CG takes over ranks, beside Belos's with the same preconditioner, and the
// constants of the model in docs/scaling.md. mpirun -np P ./ranks_times [side] [repetitions]
// The preconditioner is Ifpack2's in both, and for Solder once more its own of the same kind.
// Of 0 repetitions: how many iterations preconditioners of a rank and of all ranks take.
//
// CPU seconds of a rank, on average over all; of some repetitions in turn the least, so that what
// else runs on the machine counts little. Waiting for others counts: MPI waits by spinning.
#include <mpi.h>
#include <sys/resource.h>

#include <BelosBlockCGSolMgr.hpp>
#include <BelosPseudoBlockCGSolMgr.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Ifpack2_Factory.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/solvers/cg.hpp>
#include <solder/trilinos/parameters.hpp>
#include <solder/trilinos/tpetra.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../unit_tests/trilinos/system.hpp"

namespace {

using namespace SolderTest;

double cpu() {
  rusage of{};
  getrusage(RUSAGE_SELF, &of);
  return double(of.ru_utime.tv_sec + of.ru_stime.tv_sec) +
         1e-6 * double(of.ru_utime.tv_usec + of.ru_stime.tv_usec);
}
double wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Rows of fem_poisson_2d in equal slices.
RCP<Matrix> poisson(std::int32_t side, Comm const& comm) {
  auto const host = Solder::fem_poisson_2d<double>(side);
  return rows_of(host, rcp(new Map(Tpetra::global_size_t(host.rows), 0, comm)));
}

struct Taken {
  double cpu = 1e300, wall = 1e300;
};

/// The least of some repetitions, of all in turn.
class Times {
 public:
  explicit Times(Comm const& comm) : comm_(comm) {}

  /// \param run answers how many iterations it took
  void add(std::string const& what, std::function<int()> const& run) {
    runs_.push_back({what, run});
  }
  void take(int repetitions) {
    for (int k = 0; k < repetitions; ++k)
      for (auto const& [what, run] : runs_) {
        comm_->barrier();
        double const began = wall(), of_cpu = cpu();
        int const iterations = run();
        double mine[2] = {cpu() - of_cpu, wall() - began}, sum[2];
        Teuchos::reduceAll(*comm_, Teuchos::REDUCE_SUM, 2, mine, sum);
        Taken& taken = taken_[what];
        taken.cpu = std::min(taken.cpu, sum[0] / comm_->getSize() / iterations);
        taken.wall = std::min(taken.wall, sum[1] / comm_->getSize() / iterations);
      }
  }
  Taken const& operator[](std::string const& what) const { return taken_.at(what); }
  void print(std::string const& what) const {
    if (comm_->getRank() == 0)
      std::printf("  %-34s %9.2f us CPU %9.2f us wall\n", what.c_str(), 1e6 * (*this)[what].cpu,
                  1e6 * (*this)[what].wall);
  }

 private:
  Comm comm_;
  std::vector<std::pair<std::string, std::function<int()>>> runs_;
  std::map<std::string, Taken> taken_;
};

RCP<Operator const> ifpack(RCP<Matrix> const& A, std::string const& name,
                           Teuchos::ParameterList const& list) {
  auto const M = Ifpack2::Factory().create<Tpetra::RowMatrix<double>>(name, A.getConst());
  M->setParameters(list);
  M->initialize();
  M->compute();
  return M;
}

/// Ifpack2's preconditioner of this name; null: none.
RCP<Operator const> of_ifpack(RCP<Matrix> const& A, std::string const& name) {
  Teuchos::ParameterList one_sweep, degree;
  one_sweep.set("relaxation: type", "Jacobi");
  degree.set("chebyshev: degree", 4);
  degree.set("chebyshev: ratio eigenvalue", 50.0);  // Solder's default
  if (name == "Jacobi") return ifpack(A, "RELAXATION", one_sweep);
  if (name == "RILUK(0)") return ifpack(A, "RILUK", {});
  if (name == "Chebyshev(4)") return ifpack(A, "CHEBYSHEV", degree);
  return {};
}

constexpr int steps = 200;

template <class Manager>
std::function<int()> belos(RCP<Matrix> const& A, Vectors& b, Vectors& x,
                           RCP<Operator const> const& M) {
  auto const list = Teuchos::parameterList();
  list->set("Convergence Tolerance", 1e-300);
  list->set("Maximum Iterations", steps);
  if (std::is_same_v<Manager, Belos::BlockCGSolMgr<double, Vectors, Operator>>)
    list->set("Use Single Reduction", true);
  auto const problem =
      rcp(new Belos::LinearProblem<double, Vectors, Operator>(A, rcp(&x, false), rcp(&b, false)));
  if (!M.is_null()) problem->setLeftPrec(M);
  problem->setProblem();
  auto const solver = std::make_shared<Manager>(problem, list);
  return [=, &x] {
    x.putScalar(0);
    problem->setProblem();
    solver->solve();
    return solver->getNumIters();
  };
}

template <class M>
std::function<int()> solder(RCP<Matrix> const& A, Vectors& b, Vectors& x, M const& m) {
  Solder::CgOptions options;
  options.tolerance = 0;
  options.max_iterations = steps;
  auto const solver =
      std::make_shared<decltype(Solder::Cg(Exec(), Solder::from_tpetra(Exec(), A), m, options))>(
          Exec(), Solder::from_tpetra(Exec(), A), m, options);
  return [=, &b, &x] {
    x.putScalar(0);
    return Solder::solve(*solver, b, x).iterations;
  };
}

/// Seconds of an all-reduce of `count` doubles; all ranks come to it together.
double all_reduce(int count) {
  std::vector<double> a(std::size_t(count), 1.0), b(a.size());
  double least = 1e300;
  for (int batch = 0; batch < 50; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const began = wall();
    for (int k = 0; k < 100; ++k)
      MPI_Allreduce(a.data(), b.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    least = std::min(least, (wall() - began) / 100);
  }
  return least;
}

/// Seconds in which ranks 0 and 1 have each other's message of so many bytes.
double message(int bytes) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<char> a(std::size_t(bytes) + 1), b(a.size());
  double least = 1e300;
  for (int batch = 0; batch < 50; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const began = wall();
    if (rank < 2)
      for (int k = 0; k < 100; ++k)
        MPI_Sendrecv(a.data(), bytes, MPI_CHAR, 1 - rank, 0, b.data(), bytes, MPI_CHAR, 1 - rank, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    least = std::min(least, (wall() - began) / 100);
  }
  return least;
}

/// Iterations to 1e-8.
void count_iterations(RCP<Matrix> const& A, Vectors& b, Vectors& x) {
  using Solder::Parameters;
  auto const count = [&](char const* what, Parameters const& M) {
    x.putScalar(0);
    auto const solver =
        Solder::make_solver(Exec(), A, Parameters{{"name", "cg"}, {"preconditioner", M}});
    int const iterations = Solder::solve(solver, b, x).iterations;
    if (A->getMap()->getComm()->getRank() == 0) std::printf("  %-24s %5d\n", what, iterations);
  };
  for (std::string const name : {"RILUK(0)", "Chebyshev(4)"}) {
    x.putScalar(0);
    Solder::Cg cg(Exec(), Solder::from_tpetra(Exec(), A),
                  Solder::preconditioner_from_tpetra(of_ifpack(A, name)));
    int const iterations = Solder::solve(cg, b, x).iterations;
    if (A->getMap()->getComm()->getRank() == 0)
      std::printf("  %-24s %5d\n", ("Ifpack2's " + name).c_str(), iterations);
  }
  count("jacobi", {{"name", "jacobi"}});
  count("chebyshev", {{"name", "chebyshev"}});
  count("chebyshev, degree 3", {{"name", "chebyshev"}, {"degree", 3}});
  count("fsai of all ranks", {{"name", "fsai"}, {"k", 1}});
  count("ic0 of a rank", {{"name", "ic0"}});
  count("ic0 with a layer", {{"name", "ic0"}, {"overlap", "1"}});
  count("amg of a rank", {{"name", "amg"}});
}

}  // namespace

int main(int argc, char* argv[]) {
  Tpetra::ScopeGuard const guard(&argc, &argv);
  auto const comm = Tpetra::getDefaultComm();
  int const side = argc > 1 ? std::atoi(argv[1]) : 300,
            repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  bool const is_first = comm->getRank() == 0;
  auto const A = poisson(side, comm);
  Vectors b(A->getRangeMap(), 1), x(A->getDomainMap(), 1);
  b.putScalar(1);
  if (is_first)
    std::printf("%d ranks, fem_poisson_2d %d: %lld rows, %d iterations, least of %d\n",
                comm->getSize(), side, (long long)A->getGlobalNumRows(), steps, repetitions);
  if (repetitions == 0) {
    count_iterations(A, b, x);
    return 0;
  }

  Exec const exec;
  auto const a = Solder::from_tpetra(exec, A);
  auto const own = a.own_block(exec);
  Solder::Jacobi const jacobi(exec, own);
  Times times(comm);
  std::vector<std::string> const names{"none", "Jacobi", "RILUK(0)", "Chebyshev(4)"};
  for (std::string const& name : names) {
    RCP<Operator const> const M = of_ifpack(A, name);
    times.add(name + ", Belos PseudoBlockCG",
              belos<Belos::PseudoBlockCGSolMgr<double, Vectors, Operator>>(A, b, x, M));
    times.add(name + ", Belos BlockCG",
              belos<Belos::BlockCGSolMgr<double, Vectors, Operator>>(A, b, x, M));
    if (!M.is_null())
      times.add(name + ", Solder", solder(A, b, x, Solder::preconditioner_from_tpetra(M)));
    auto const add = [&](auto const& m) { times.add(name + ", Solder alone", solder(A, b, x, m)); };
    if (name == "none")
      add(Solder::Identity());
    else if (name == "Jacobi")
      add(jacobi);
    else if (name == "RILUK(0)")
      add(Solder::Incomplete(exec, own, Solder::Factorisation::ic0));
    else
      add(Solder::Chebyshev(exec, a, jacobi, {.degree = 3}));  // as many products: Ifpack2's first
                                                               // step from 0 needs none
  }
  times.take(repetitions);
  for (std::string const& name : names) {
    bool const is_ifpack = name != "none";
    std::string const first = name + ", Belos PseudoBlockCG", second = name + ", Belos BlockCG";
    times.print(first);
    times.print(second);
    for (std::string const who : {", Solder", ", Solder alone"}) {
      if (!is_ifpack && who == ", Solder") continue;
      times.print(name + who);
      Taken const &one = times[first], &two = times[second], &ours = times[name + who];
      if (is_first)
        std::printf("  %-34s %9.2f    CPU %9.2f    wall\n", "  over Belos's best",
                    ours.cpu / std::min(one.cpu, two.cpu),
                    ours.wall / std::min(one.wall, two.wall));
    }
  }
  for (int const count : {1, 4, 16}) {
    double const taken = all_reduce(count);
    if (is_first) std::printf("  all-reduce of %2d doubles: %.2f us\n", count, 1e6 * taken);
  }
  if (comm->getSize() > 1)
    for (int const bytes : {8, 1024, 16384, 262144}) {
      double const taken = message(bytes);
      if (is_first) std::printf("  message of %6d bytes: %.2f us\n", bytes, 1e6 * taken);
    }
}
