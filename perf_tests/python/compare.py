#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Solder beside scipy.sparse.linalg and PyAMG on real matrices: time, what each claims, and what is true.

    compare.py FOLDER [--most-rows N] [--least-rows N] [--every K] [--seconds S] [--json FILE] [--machine TEXT] [--only NAME...]

Each method solves A x = A * ones for every real square matrix FOLDER/*.mtx[.gz] to ||b - A x|| <= 1e-8 ||b||, its
set-up included, in a process of its own that is ended after S seconds; of the matrices in the
order of their names each K-th is taken. What a method claims is what it answers: SciPy's
and PyAMG's info, no warning of spsolve, the reason of Solder's report. What is true is ||b - A x|| in extended
precision, up to 1e-8 and a thousandth. FILE gets the table in the form of docs/data.
"""
import argparse
import datetime
import gzip
import json
import math
import multiprocessing
import pathlib
import statistics
import time
import warnings

RTOL = 1e-8


def scipy_krylov(name, **more):
    def solve(A, b, spd):
        import scipy.sparse.linalg as sla

        x, info = getattr(sla, name)(A, b, rtol=RTOL, atol=0.0, maxiter=20_000, **more)
        return x, info == 0

    return solve


def scipy_ilu_gmres(A, b, spd):
    import scipy.sparse.linalg as sla

    factors = sla.spilu(A.tocsc())
    M = sla.LinearOperator(A.shape, factors.solve)
    x, info = sla.gmres(A, b, rtol=RTOL, atol=0.0, restart=30, maxiter=700, M=M)
    return x, info == 0


def scipy_direct(A, b, spd):
    import scipy.sparse.linalg as sla

    with warnings.catch_warnings():
        warnings.simplefilter("error", sla.MatrixRankWarning)
        return sla.spsolve(A.tocsc(), b), True


def pyamg_aggregation(A, b, spd):
    import pyamg

    A = type(A)(A)
    hierarchy = pyamg.smoothed_aggregation_solver(A, symmetry="hermitian" if spd else "nonsymmetric")
    x, info = hierarchy.solve(b, tol=RTOL, maxiter=1000, accel="cg" if spd else "gmres", return_info=True)
    return x, info == 0


def solder_by_name(for_spd, for_others):
    def solve(A, b, spd):
        import solder

        name, preconditioner = for_spd if spd else for_others
        x, report = solder.solve(A, b, name, preconditioner, RTOL, max_iterations=20_000)
        return x, report.converged

    return solve


METHODS = {
    "solder, as it comes": solder_by_name((None, None), (None, None)),
    "solder cg (gmres) + jacobi": solder_by_name(("cg", "jacobi"), ("gmres", "jacobi")),
    "solder cg + ic0 (gmres + ilu0)": solder_by_name(("cg", "ic0"), ("gmres", "ilu0")),
    "solder cg (gmres) + amg": solder_by_name(("cg", "amg"), ("gmres", "amg")),
    "scipy cg": scipy_krylov("cg"),
    "scipy gmres": scipy_krylov("gmres", restart=30),
    "scipy spilu + gmres": scipy_ilu_gmres,
    "scipy spsolve": scipy_direct,
    "pyamg cg (gmres) + aggregation": pyamg_aggregation,
}


def read(path):
    import numpy as np
    import scipy.io
    import scipy.sparse as sp

    opened = gzip.open(path) if path.suffix == ".gz" else open(path, "rb")
    with opened as file:
        A = sp.csr_matrix(scipy.io.mmread(file))
    A = A.astype(np.float64)
    A.sum_duplicates()
    return A


def true_residual(A, b, x):
    """||b - A x|| / ||b|| in extended precision, so that rounding in it is nobody's."""
    import numpy as np

    wide = np.longdouble
    r = b.astype(wide)
    products = A.data.astype(wide) * np.asarray(x).ravel().astype(wide)[A.indices]
    filled = np.flatnonzero(np.diff(A.indptr))
    r[filled] -= np.add.reduceat(products, A.indptr[filled])
    return float(np.sqrt((r * r).sum()) / np.sqrt((b.astype(wide) ** 2).sum()))


def is_spd(A):
    """Symmetric with a positive diagonal that SuperLU factors without a negative pivot."""
    import scipy.sparse.linalg as sla

    if abs(A - A.T).max() > 1e-12 * abs(A).max() or A.diagonal().min() <= 0:
        return False
    try:
        factors = sla.splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:
        return False
    return bool((factors.perm_r == factors.perm_c).all() and factors.U.diagonal().min() > 0)


def work(pipe):
    """Solves what comes through the pipe, until it is closed."""
    import numpy as np
    import pyamg  # noqa: F401, not part of anybody's time
    import scipy.sparse.linalg  # noqa: F401
    import solder  # noqa: F401

    last = None, None
    while True:
        try:
            method, path, spd = pipe.recv()
        except EOFError:
            return
        A = last[1] if last[0] == path else read(path)
        last = path, A
        b = A @ np.ones(A.shape[0])
        pipe.send("ready")
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                x, claims = METHODS[method](A, b, spd)
        except (Exception, MemoryError) as error:
            pipe.send((time.perf_counter() - start, False, math.inf, f"{type(error).__name__}: {error}"[:200]))
            continue
        seconds = time.perf_counter() - start
        residual = true_residual(A, b, x) if x is not None else math.inf
        pipe.send((seconds, bool(claims), residual if math.isfinite(residual) else math.inf, ""))


class Worker:
    """A process that is ended where it takes too long, or has ended itself."""

    def __init__(self):
        self.process = None

    def solve(self, method, path, spd, limit):
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=work, args=(other,), daemon=True)
            self.process.start()
            other.close()
        try:
            self.pipe.send((method, path, spd))
            self.pipe.recv()
            if self.pipe.poll(limit):
                return self.pipe.recv()
            outcome = (limit, False, math.inf, "time limit")
        except EOFError:
            outcome = (math.nan, False, math.inf, "crash")
        self.process.kill()
        self.process.join()
        self.process = None
        return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--least-rows", type=int, default=1000)
    parser.add_argument("--most-rows", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--machine", default="two cores, shared")
    parser.add_argument("--only", nargs="*", default=[], help="names of matrices")
    arguments = parser.parse_args()

    outcomes = {method: [] for method in METHODS}
    names = []
    worker = Worker()
    seen = 0
    for path in sorted(arguments.folder.glob("*.mtx*")):
        name = path.name.split(".mtx")[0]
        if arguments.only and name not in arguments.only:
            continue
        try:
            A = read(path)
        except (ValueError, TypeError):
            continue  # a vector, or complex
        rows = A.shape[0]
        if A.shape[1] != rows or not arguments.least_rows <= rows <= arguments.most_rows:
            continue
        seen += 1
        if (seen - 1) % arguments.every != 0:
            continue
        spd = is_spd(A)
        names.append(name)
        for method in METHODS:
            outcome = worker.solve(method, path, spd, arguments.seconds)
            outcomes[method].append(outcome)
            seconds, claims, residual, why = outcome
            print(f"{name:22s} {rows:7d} {'spd' if spd else '   '} {method:32s} {seconds:8.3f} s  "
                  f"{'claims' if claims else 'no':6s} {residual:8.1e} {why}", flush=True)  # fmt: skip

    is_true = {m: [o[2] <= 1.001 * RTOL for o in outcomes[m]] for m in METHODS}
    reference = next(iter(METHODS))
    rows = []
    for method, all_of in outcomes.items():
        both = [k for k in range(len(names)) if is_true[method][k] and is_true[reference][k]]
        ratio = statistics.geometric_mean(all_of[k][0] / outcomes[reference][k][0] for k in both) if both else math.nan
        rows.append([
            method,
            sum(o[1] for o in all_of),
            sum(is_true[method]),
            sum(o[1] and not t for o, t in zip(all_of, is_true[method])),
            sum(o[3] == "time limit" for o in all_of),
            round(sum(o[0] for o in all_of if math.isfinite(o[0])), 1),
            None if math.isnan(ratio) else round(ratio, 2),
            len(both),
        ])  # fmt: skip
    heads = ["method", "claims to have solved", "has solved", "claims and has not", "time limit", "seconds in all",
             "time / Solder's as it comes", "on"]  # fmt: skip
    print("\n" + " | ".join(heads))
    for row in rows:
        print(" | ".join("-" if cell is None else str(cell) for cell in row))
    if arguments.json:
        import importlib.metadata

        import solder

        have = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in ("scipy", "pyamg"))
        have += f", solder {solder.__version__}"
        document = {
            "scipy": {
                "what": f"matrices of {len(names)}, seconds, and the geometric mean of the ratio of times where both have solved",
                "machine": arguments.machine,
                "software": have,
                "date": str(datetime.date.today()),
                "command": f"perf_tests/python/compare.py MATRICES --least-rows {arguments.least_rows} "
                f"--most-rows {arguments.most_rows} --every {arguments.every} --seconds {arguments.seconds:g}",
                "notes": f"A x = A * ones to 1e-8, set-up included, at most {arguments.seconds:g} s; names in brackets for "
                "matrices that are not symmetric positive definite",
                "columns": [{"name": head} for head in heads],
                "rows": rows,
            }
        }
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
