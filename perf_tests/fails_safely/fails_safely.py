#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hard inputs: what Solder and its peers say of them, and what is true.

    apt install python3-scipy python3-petsc4py python3-mpmath libhypre-dev      # Debian 12
    mpicc -O2 -I/usr/include/hypre hypre.c -lHYPRE -lm -o hypre
    ./fails_safely.py --solder ../../solder --hypre ./hypre > table.md

Every system is solved by each method of each package: without a preconditioner, from x = 0, to a relative residual of
1e-8, with at most 10,000 iterations and cycles of 30 steps. x is then judged here: b - A x with 60 digits. A package
succeeds where it says so; the success is false where that residual is more than twice the tolerance, or no number.
The residual that Solder reports is held against it, too.
The tables of docs/reliability.md are this program's output.
"""
import argparse
import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile

import mpmath
import numpy
import scipy
import scipy.sparse.linalg

TOLERANCE, MOST_ITERATIONS, RESTART, SECONDS = 1e-8, 10000, 30, 120
METHODS = {"Solder": ["cg", "bicgstab", "gmres", "idr"], "SciPy": ["cg", "bicgstab", "gmres"],
           "PETSc": ["cg", "bcgs", "gmres"], "hypre": ["pcg", "bicgstab", "gmres"]}
N = 30
os.environ["OMPI_MCA_ess_singleton_isolated"] = "1"  # no daemon for a process alone


# ---- The inputs: (name, what is true, A, b) ----

def tridiagonal(lower, diagonal, upper, n=N):
    return numpy.diag([float(lower)] * (n - 1), -1) + numpy.diag([float(diagonal)] * n) + \
        numpy.diag([float(upper)] * (n - 1), 1)


def unit(i, n=N):
    e = numpy.zeros(n)
    e[i] = 1
    return e


def with_entry(array, where, value):
    changed = array.copy()
    changed[where] = value
    return changed


def inputs():
    random = numpy.random.default_rng(1)
    ones, good, some = numpy.ones(N), tridiagonal(-1, 2.1, -1), random.uniform(-1, 1, N)
    neumann = tridiagonal(-1, 2, -1)
    neumann[0, 0] = neumann[-1, -1] = 1
    shift = numpy.diag(numpy.ones(N - 1), -1)
    u = random.uniform(-1, 1, N)
    graded = numpy.diag(10.0 ** numpy.linspace(0, -16, N))
    scales = 10.0 ** numpy.linspace(-10, 10, N)
    hilbert = numpy.array([[1 / (i + j + 1) for j in range(12)] for i in range(12)])
    constraint = random.uniform(-1, 1, (8, N - 8))
    saddle = numpy.block([[tridiagonal(-1, 2.1, -1, N - 8), constraint.T], [constraint, numpy.zeros((8, 8))]])
    no_row = with_entry(good, (4, slice(None)), 0.0)
    yes, no, never = "has a solution", "has none", "has no meaning"
    # Half of the right-hand sides are A times something, so that a solution exists where A is singular.
    return [
        ("a good system, for comparison", yes, good, some),
        ("b = 0", yes + ", 0", good, 0 * ones),
        ("b = 0, A = 0", yes + ", 0", 0 * good, 0 * ones),
        ("a NaN in A", never, with_entry(good, (3, 4), math.nan), ones),
        ("an infinity in A", never, with_entry(good, (3, 3), math.inf), ones),
        ("a NaN in b", never, good, with_entry(ones, 7, math.nan)),
        ("an infinity in b", never, good, with_entry(ones, 7, math.inf)),
        ("A = 0", no, 0 * good, ones),
        ("one by one, negative", yes, numpy.array([[-4.0]]), numpy.array([2.0])),
        ("one by one, zero", no, numpy.array([[0.0]]), numpy.array([1.0])),
        ("a row of zeros, b there 0", yes, no_row, with_entry(ones, 4, 0.0)),
        ("a row of zeros, b there 1", no, no_row, ones),
        ("a diagonal of zeros", yes, tridiagonal(1, 0, 1), some),
        ("Neumann's Laplacian, b in its range", yes, neumann, neumann @ some),
        ("Neumann's Laplacian, b = 1", no, neumann, ones),
        ("Neumann's Laplacian, b random", no, neumann, some),
        ("skew-symmetric", yes, tridiagonal(-1, 0, 1), some),
        ("turns by 90 degrees", yes, numpy.kron(numpy.eye(N // 2), [[0.0, 1.0], [-1.0, 0.0]]), some),
        ("a cyclic shift", yes, with_entry(shift, (0, N - 1), 1.0), unit(0)),
        ("a nilpotent shift, b in its range", yes, shift, unit(1)),
        ("a nilpotent shift, b not in its range", no, shift, unit(0)),
        ("a Jordan block of 1", yes, tridiagonal(0, 1, 1), ones),
        ("a Jordan block of 0.1", yes, tridiagonal(0, 0.1, 1), ones),
        ("Hilbert's matrix, 12 rows", yes, hilbert, hilbert @ numpy.ones(12)),
        ("a diagonal from 1 to 1e-16", yes, graded, ones),
        ("rows and columns of 1e-10 to 1e10", yes, scales[:, None] * good * scales, ones),
        ("rows of 1e-10 to 1e10", yes, scales[:, None] * good, scales * ones),
        ("indefinite, symmetric", yes, tridiagonal(-1, 1, -1), some),
        ("negative definite", yes, -good, ones),
        ("convection beyond diffusion", yes, tridiagonal(-1.9, 2, -0.1), ones),
        ("convection alone, centred", yes, tridiagonal(-10, 2, 10), ones),
        ("rank one, b in its range", yes, numpy.outer(u, u), 3 * u),
        ("rank one, b not in its range", no, numpy.outer(u, u), some),
        ("a saddle point", yes, saddle, ones),
        ("1e150 A", yes, 1e150 * good, some),
        ("1e-150 A", yes, 1e-150 * good, some),
        ("1e300 A", yes, 1e300 * good, some),
        ("1e-300 A", yes, 1e-300 * good, some),
        ("A of denormal numbers", yes, 2.0 ** -1050 * tridiagonal(-1, 3, -1), 2.0 ** -1050 * ones),
        ("1e150 b", yes, good, 1e150 * some),
        ("1e-150 b", yes, good, 1e-150 * some),
        ("1e300 b", yes, good, 1e300 * some),
        ("1e-300 b", yes, good, 1e-300 * some),
        ("a diagonal of 1e308 and 1e-308", yes, numpy.diag([1e308, 1e-308]), numpy.array([1.0, 1.0])),
        ("products that overflow", yes, 4e307 * (numpy.ones((N, N)) + numpy.eye(N)), ones),
    ]


# ---- The judge ----

def best_residual(A, b):
    """The least there is, of a system without a solution."""
    x = numpy.linalg.lstsq(A, b, rcond=None)[0]
    return numpy.linalg.norm(b - A @ x) / numpy.linalg.norm(b)


def true_residual(A, b, x):
    """||b - A x|| / ||b|| with 60 digits; NaN where x, A or b is not finite; of b = 0 it is 0 or infinite."""
    if x is None or not (numpy.isfinite(x).all() and numpy.isfinite(A).all() and numpy.isfinite(b).all()):
        return math.nan
    with mpmath.workdps(60):
        exact = [[mpmath.mpf(v) for v in row] for row in A]
        x, b = [mpmath.mpf(v) for v in x], [mpmath.mpf(v) for v in b]
        square = sum((bi - sum(a * xj for a, xj in zip(row, x) if a)) ** 2 for row, bi in zip(exact, b))
        of_b = sum(bi ** 2 for bi in b)
        if of_b == 0:
            return 0.0 if square == 0 else math.inf
        return float(mpmath.sqrt(square / of_b))


def rounding(A, b, x):
    """What rounding in double may make of the residual."""
    with numpy.errstate(over="ignore"):
        terms = numpy.abs(A) @ numpy.abs(x) + numpy.abs(b)
        size = max(numpy.abs(b)) or 1.0
        return (len(b) + 4) * numpy.finfo(float).eps * numpy.linalg.norm(terms / size)


# ---- The packages: each answers (whether it says that it has succeeded, its words, x) ----

def matrix_market(A, b, folder):
    rows, columns = numpy.nonzero(A)
    with open(f"{folder}/A.mtx", "w") as out:
        out.write(f"%%MatrixMarket matrix coordinate real general\n{len(A)} {len(A)} {len(rows)}\n")
        out.writelines(f"{i + 1} {j + 1} {float(A[i, j])!r}\n" for i, j in zip(rows, columns))
    with open(f"{folder}/b.mtx", "w") as out:
        out.write(f"%%MatrixMarket matrix array real general\n{len(b)} 1\n")
        out.writelines(f"{float(v)!r}\n" for v in b)


def solve_with_solder(solder, A, b):
    """All methods in one file: a sweep."""
    methods = METHODS["Solder"]
    with tempfile.TemporaryDirectory() as folder:
        matrix_market(A, b, folder)
        with open(f"{folder}/run.yaml", "w") as out:
            out.write(f"problem: {{matrix: A.mtx, rhs: b.mtx}}\n"
                      f"solver: {{name: [{', '.join(methods)}], tolerance: {TOLERANCE}, "
                      f"max_iterations: {MOST_ITERATIONS}}}\n"
                      f"preconditioner: {{name: none}}\noutput: {{json: run.json, solution: x.mtx}}\n")
        try:
            run = subprocess.run(solder.split() + [f"{folder}/run.yaml"], capture_output=True, text=True,
                                 timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return [(False, "hangs", None)] * len(methods)
        if run.returncode == 2:
            return [(False, "refused", None)] * len(methods)
        if not os.path.exists(f"{folder}/run.json"):
            return [(False, "crashes", None)] * len(methods)
        answers = []
        for k, record in enumerate(json.load(open(f"{folder}/run.json"))["runs"]):
            x, file = None, f"{folder}/x-{k + 1}.mtx"
            if os.path.exists(file):
                lines = [line for line in open(file) if not line.startswith("%")]
                x = numpy.array([float(line) for line in lines[1:]])
            answers.append((record["reason"] == "converged", record["reason"], x))
            own, judged = record["true_relative_residual"], true_residual(A, b, x)
            if own is not None and not abs(own - judged) <= 1e-6 * judged + rounding(A, b, x):
                print(f"Solder says {own} where {judged} is true: {record['solver']}", file=sys.stderr)
        return answers


def solve_with_scipy(method, A, b):
    function = getattr(scipy.sparse.linalg, method)
    more = {"restart": RESTART, "maxiter": MOST_ITERATIONS // RESTART} if method == "gmres" else \
        {"maxiter": MOST_ITERATIONS}
    name = "rtol" if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 12) else "tol"
    x, info = function(scipy.sparse.csr_matrix(A), b, atol=0, **{name: TOLERANCE}, **more)
    return info == 0, f"info {info}", x


def petsc():
    sys.path.append("/usr/lib/petsc/lib/python3/dist-packages")
    sys.path.append("/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages")
    import petsc4py
    petsc4py.init(["-options_left", "no"])
    from petsc4py import PETSc
    return PETSc


def solve_with_petsc(method, A, b):
    PETSc = petsc()
    sparse = scipy.sparse.csr_matrix(A)
    matrix = PETSc.Mat().createAIJ(A.shape, csr=(sparse.indptr, sparse.indices, sparse.data))
    rhs, x = PETSc.Vec().createWithArray(b.copy()), PETSc.Vec().createSeq(len(b))
    ksp = PETSc.KSP().create()
    ksp.setOperators(matrix)
    ksp.setType(method)
    ksp.getPC().setType("none")
    ksp.setTolerances(rtol=TOLERANCE, atol=0.0, max_it=MOST_ITERATIONS)
    if method == "gmres":
        ksp.setGMRESRestart(RESTART)
    ksp.setNormType(PETSc.KSP.NormType.PRECONDITIONED)  # M = 1: the norm of r, for every method
    ksp.solve(rhs, x)
    reason = ksp.getConvergedReason()
    return reason > 0, f"reason {reason}", x.getArray().copy()


def solve_with_hypre(program, method, A, b):
    with tempfile.TemporaryDirectory() as folder:
        rows, columns = numpy.nonzero(A)
        with open(f"{folder}/system", "w") as out:
            out.write(f"{len(A)} {len(rows)}\n")
            out.writelines(f"{i} {j} {float(A[i, j])!r}\n" for i, j in zip(rows, columns))
            out.writelines(f"{float(v)!r}\n" for v in b)
        run = subprocess.run([program, method, f"{folder}/system", f"{folder}/x"], capture_output=True, text=True,
                             timeout=SECONDS)
        said = re.search(r"^(converged|failed) (\d+)$", run.stdout, re.M)
        if run.returncode != 0 or not said:
            return False, "crashes", None
        return said[1] == "converged", f"{said[1]}, {said[2]} iterations", numpy.loadtxt(f"{folder}/x", ndmin=1)


def apart(function, *arguments):
    """In a process of its own, as some may not come back."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.close(receive)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            answer = function(*arguments)
        except BaseException as error:  # what a package throws is its word, too
            answer = (False, type(error).__name__, None)
        with os.fdopen(send, "wb") as out:
            pickle.dump(answer, out)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as words:
        text = words.read()
    status = os.waitpid(child, 0)[1]
    if text:
        return pickle.loads(text)
    return False, "hangs" if os.WTERMSIG(status) == signal.SIGALRM else "crashes", None


# ---- The tables ----

def judged(A, b, answer):
    says, words, x = answer
    residual = true_residual(A, b, x)
    if not says:
        return "safe", words, residual
    return "true" if residual <= 2 * TOLERANCE else "FALSE", words, residual


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--solder", default="../../solder", help="the driver, or the command that runs it")
    parser.add_argument("--hypre", default="./hypre", help="hypre.c, compiled")
    parser.add_argument("--details", action="store_true", help="every answer, to standard error")
    given = parser.parse_args()
    given.hypre = os.path.abspath(given.hypre)
    counts = {(package, method): {"true": 0, "safe": 0, "FALSE": 0, "crashes": 0, "hangs": 0}
              for package, methods in METHODS.items() for method in methods}
    table, false, solvable = [], [], 0
    for name, truth, A, b in inputs():
        answers = {("Solder", m): a for m, a in zip(METHODS["Solder"], solve_with_solder(given.solder, A, b))}
        for m in METHODS["SciPy"]:
            answers["SciPy", m] = apart(solve_with_scipy, m, A, b)
        for m in METHODS["PETSc"]:
            answers["PETSc", m] = apart(solve_with_petsc, m, A, b)
        for m in METHODS["hypre"]:
            answers["hypre", m] = apart(solve_with_hypre, given.hypre, m, A, b)
        best = f", {best_residual(A, b):.2g} at best" if truth == "has none" else ""
        row, wrong, solvers = [name, truth + best], [], 0
        for (package, method), answer in answers.items():
            verdict, words, residual = judged(A, b, answer)
            counts[package, method][words if words in ("crashes", "hangs") else verdict] += 1
            if given.details:
                print(f"{name} | {package} {method} | {verdict} | {words} | {residual:.1e}", file=sys.stderr)
            if verdict == "FALSE":
                wrong.append(f"{package} {method} ({residual:.0e})")
            if package == "Solder":
                row.append("**" + words + "**" if verdict == "FALSE" else words)
            elif verdict == "true":
                solvers += 1
        table.append(row + [f"{solvers} of 9"])
        if wrong:
            false.append((name, wrong))
        solvable += truth.startswith("has a")
    print(f"{len(table)} systems, of which {solvable} have a solution. SciPy {scipy.__version__}, PETSc "
          f"{'.'.join(map(str, petsc().Sys.getVersion()))}, hypre {hypre_version()}.\n")
    print("| system | it | cg | bicgstab | gmres | idr | peers that solve it |\n|---|---|---|---|---|---|---|")
    for row in table:
        print("| " + " | ".join(row) + " |")
    print("\n| package | method | solved | said that it failed | false successes | crashes, hangs |\n|---|---|---|---|---|---|")
    for (package, method), count in counts.items():
        print(f"| {package} | {method} | {count['true']} | {count['safe']} | {count['FALSE']} | "
              f"{count['crashes'] + count['hangs']} |")
    print("\n| system | success was said falsely by (true residual) |\n|---|---|")
    for name, wrong in false:
        print(f"| {name} | {', '.join(wrong)} |")


def hypre_version():
    header = open("/usr/include/hypre/HYPRE_config.h").read()
    return re.search(r'HYPRE_RELEASE_VERSION "([^"]*)"', header)[1]


if __name__ == "__main__":
    main()
