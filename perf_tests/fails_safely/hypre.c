// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hypre's own pcg, bicgstab or gmres on a system from files; see fails_safely.py.
//
//     mpicc -O2 -I/usr/include/hypre hypre.c -lHYPRE -lm -o hypre
//     ./hypre METHOD SYSTEM SOLUTION
//
// SYSTEM: rows and nonzeros, then "row column value" of each entry, rows ascending, then b. Writes
// "converged ITERATIONS" where hypre claims the tolerance and sets no error, else "failed
// ITERATIONS", to standard output, and x, a number a line, to SOLUTION.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "HYPRE.h"
#include "HYPRE_IJ_mv.h"
#include "HYPRE_krylov.h"
#include "HYPRE_parcsr_ls.h"

#define TOLERANCE 1e-8
#define MOST_ITERATIONS 10000
#define RESTART 30

static double read_number(FILE* file) {  // "nan" and "inf" too
  char text[64];
  if (fscanf(file, "%63s", text) != 1) exit(2);
  return strtod(text, NULL);
}

static HYPRE_ParVector vector_of(int n, double const* values, HYPRE_IJVector* ij) {
  HYPRE_ParVector vector;
  HYPRE_BigInt* rows = malloc(n * sizeof *rows);
  for (int i = 0; i < n; ++i) rows[i] = i;
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, 0, n - 1, ij);
  HYPRE_IJVectorSetObjectType(*ij, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(*ij);
  HYPRE_IJVectorSetValues(*ij, n, rows, values);
  HYPRE_IJVectorAssemble(*ij);
  HYPRE_IJVectorGetObject(*ij, (void**)&vector);
  free(rows);
  return vector;
}

int main(int argc, char* argv[]) {
  if (argc != 4) return 2;
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  FILE* file = fopen(argv[2], "r");
  if (!file) return 2;
  int const n = (int)read_number(file), nonzeros = (int)read_number(file);
  HYPRE_IJMatrix ij;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, 0, n - 1, 0, n - 1, &ij);
  HYPRE_IJMatrixSetObjectType(ij, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(ij);
  for (int k = 0; k < nonzeros; ++k) {
    HYPRE_BigInt const i = (HYPRE_BigInt)read_number(file), j = (HYPRE_BigInt)read_number(file);
    double const value = read_number(file);
    HYPRE_Int one = 1;
    HYPRE_IJMatrixSetValues(ij, 1, &one, &i, &j, &value);
  }
  HYPRE_IJMatrixAssemble(ij);
  HYPRE_ParCSRMatrix A;
  HYPRE_IJMatrixGetObject(ij, (void**)&A);
  double* values = calloc(n, sizeof *values);
  HYPRE_IJVector ij_x, ij_b;
  HYPRE_ParVector const x = vector_of(n, values, &ij_x);
  for (int i = 0; i < n; ++i) values[i] = read_number(file);
  HYPRE_ParVector const b = vector_of(n, values, &ij_b);
  fclose(file);

  HYPRE_ClearAllErrors();
  HYPRE_Solver solver;
  HYPRE_Int iterations = 0;
  double relative = NAN;
  if (!strcmp(argv[1], "pcg")) {
    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &solver);
    HYPRE_PCGSetTol(solver, TOLERANCE);
    HYPRE_PCGSetTwoNorm(solver, 1);
    HYPRE_PCGSetMaxIter(solver, MOST_ITERATIONS);
    HYPRE_ParCSRPCGSetup(solver, A, b, x);
    HYPRE_ParCSRPCGSolve(solver, A, b, x);
    HYPRE_PCGGetNumIterations(solver, &iterations);
    HYPRE_PCGGetFinalRelativeResidualNorm(solver, &relative);
  } else if (!strcmp(argv[1], "bicgstab")) {
    HYPRE_ParCSRBiCGSTABCreate(MPI_COMM_WORLD, &solver);
    HYPRE_BiCGSTABSetTol(solver, TOLERANCE);
    HYPRE_BiCGSTABSetMaxIter(solver, MOST_ITERATIONS);
    HYPRE_ParCSRBiCGSTABSetup(solver, A, b, x);
    HYPRE_ParCSRBiCGSTABSolve(solver, A, b, x);
    HYPRE_BiCGSTABGetNumIterations(solver, &iterations);
    HYPRE_BiCGSTABGetFinalRelativeResidualNorm(solver, &relative);
  } else {
    HYPRE_ParCSRGMRESCreate(MPI_COMM_WORLD, &solver);
    HYPRE_GMRESSetTol(solver, TOLERANCE);
    HYPRE_GMRESSetKDim(solver, RESTART);
    HYPRE_GMRESSetMaxIter(solver, MOST_ITERATIONS);
    HYPRE_ParCSRGMRESSetup(solver, A, b, x);
    HYPRE_ParCSRGMRESSolve(solver, A, b, x);
    HYPRE_GMRESGetNumIterations(solver, &iterations);
    HYPRE_GMRESGetFinalRelativeResidualNorm(solver, &relative);
  }
  int const converged = HYPRE_GetError() == 0 && relative <= TOLERANCE;
  printf("\n%s %d\n", converged ? "converged" : "failed", (int)iterations);

  HYPRE_BigInt* rows = malloc(n * sizeof *rows);
  for (int i = 0; i < n; ++i) rows[i] = i;
  HYPRE_IJVectorGetValues(ij_x, n, rows, values);
  file = fopen(argv[3], "w");
  if (!file) return 2;
  for (int i = 0; i < n; ++i) fprintf(file, "%.17g\n", values[i]);
  fclose(file);
  free(rows);
  free(values);
  HYPRE_Finalize();
  MPI_Finalize();
  return 0;
}
