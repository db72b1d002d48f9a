// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// PETSc's cg, pipecg, bcgs and gmres, of one process, with its AIJ matrix and no norm to converge
// by. KSP_NORM_NONE saves them an inner product that Solder's iteration has.

#include "product.hpp"

#include <petscksp.h>

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace Solder::Perf {
namespace {

void check(PetscErrorCode code) {
  if (code != 0) throw std::runtime_error("PETSc reports error " + std::to_string(int(code)));
}

/// MPI and PETSc, from the first use to the end of the program.
void begin() {
  struct Session {
    Session() {
      check(PetscInitializeNoArguments());
      check(PetscPopSignalHandler());
    }
    ~Session() { (void)PetscFinalize(); }
  };
  static Session const session;
}

/// A x = b of this process, which PETSc reads where it lies.
class PetscSystem {
 public:
  explicit PetscSystem(PeerProblem<double> const& problem)
      : offsets_(problem.row_offsets.begin(), problem.row_offsets.end()),
        columns_(problem.columns.begin(), problem.columns.end()),
        values_(problem.values),
        right_side_(problem.right_side) {
    PetscInt const rows = problem.rows;
    check(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, rows, rows, offsets_.data(), columns_.data(),
                                    values_.data(), &A));
    check(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, rows, right_side_.data(), &b));
    check(VecDuplicate(b, &x));
  }
  ~PetscSystem() {
    (void)VecDestroy(&x);
    (void)VecDestroy(&b);
    (void)MatDestroy(&A);
  }
  PetscSystem(PetscSystem const&) = delete;
  PetscSystem& operator=(PetscSystem const&) = delete;

  Mat A = nullptr;
  Vec b = nullptr, x = nullptr;

 private:
  std::vector<PetscInt> offsets_, columns_;
  std::vector<double> values_, right_side_;
};

PeerRun<double> solve(PetscSystem& system, char const* type, PeerRequest const& request,
                      int iterations) {
  KSP ksp = nullptr;
  PC pc = nullptr;
  bool const is_gmres = request.solver == "gmres";
  check(KSPCreate(PETSC_COMM_SELF, &ksp));
  check(KSPSetOperators(ksp, system.A, system.A));
  check(KSPSetType(ksp, type));
  if (is_gmres) check(KSPGMRESSetRestart(ksp, request.restart));
  check(KSPGetPC(ksp, &pc));
  check(PCSetType(pc, request.preconditioner == "jacobi" ? PCJACOBI : PCNONE));
  if (!is_gmres) check(KSPSetNormType(ksp, KSP_NORM_NONE));
  int const one_more = std::strcmp(type, KSPPIPECG) == 0;  // what it does beyond its limit
  check(KSPSetTolerances(ksp, 1e-300, 1e-300, 1e300, iterations - one_more));
  check(KSPSetUp(ksp));
  check(VecSet(system.x, 0));
  auto const begin = Clock::now();
  check(KSPSolve(ksp, system.b, system.x));
  double const seconds = seconds_between(begin, Clock::now());
  PetscInt done = 0;
  check(KSPGetIterationNumber(ksp, &done));
  check(KSPDestroy(&ksp));
  PetscScalar const* values = nullptr;
  PetscInt rows = 0;
  check(VecGetLocalSize(system.x, &rows));
  check(VecGetArrayRead(system.x, &values));
  PeerRun<double> run{seconds, std::max(1, int(done)), {values, values + rows}};
  check(VecRestoreArrayRead(system.x, &values));
  return run;
}

}  // namespace

template <class Scalar>
std::vector<PeerTiming> run_petsc(PeerProblem<Scalar> const& problem, PeerRequest const& request) {
  std::vector<PeerTiming> timings;
  if constexpr (std::is_same_v<Scalar, PetscScalar>) {
    if (request.on_device || problem.right_sides > 1) return {};
    std::vector<char const*> types;
    if (request.solver == "cg") types = {KSPCG, KSPPIPECG};
    if (request.solver == "bicgstab") types = {KSPBCGS};
    if (request.solver == "gmres") types = {KSPGMRES};
    begin();
    PetscSystem system(problem);
    for (char const* const type : types)
      timings.push_back(
          time_variant(std::string(type) + ", 1 process", problem, request,
                       [&](int iterations) { return solve(system, type, request, iterations); }));
  }
  return timings;
}

template std::vector<PeerTiming> run_petsc(PeerProblem<float> const&, PeerRequest const&);
template std::vector<PeerTiming> run_petsc(PeerProblem<double> const&, PeerRequest const&);

}  // namespace Solder::Perf
