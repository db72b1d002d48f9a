#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What others' first choice makes of the matrices that sweep.py solves: PETSc's GMRES(30) with ILU(0), and SciPy's
spilu (SuperLU, drop_tol 1e-4 and 1e-2, else its defaults) with SciPy's GMRES(30).

    ./peers.py --matrices FOLDER --out peers.jsonl

Both are preconditioned from the right, so that they stop by the residual of A x = b itself, at 1e-8, from x = 0. b is
A x for the x of solves.cpp. The residual is computed anew from the answer. Each solve is a process of its own and has
60 CPU seconds; the least of some repeats counts where it is short. Debian: python3-scipy, python3-petsc4py-real3.18 and
python3-petsc4py-complex3.18.
"""
import argparse
import json
import math
import os
import pathlib
import signal
import sys
import time
import warnings

import numpy
import scipy.io
import scipy.sparse
import scipy.sparse.linalg

PETSC = "/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-{}/lib/python3/dist-packages"
MOST = 10000  # iterations


def numbers(count):
    """The first of the sequence of solves.cpp."""
    z = numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> numpy.uint64(31))) >> numpy.uint64(11)).astype(float) * 2.0**-52 - 1


def system(path):
    A = scipy.sparse.csr_matrix(scipy.io.mmread(path))
    if numpy.iscomplexobj(A.data):
        x = numbers(2 * A.shape[0])
        x = x[0::2] + 1j * x[1::2]
    else:
        A, x = A.astype(float), numbers(A.shape[0])
    return A, A @ x


def residual(A, b, x):
    with numpy.errstate(all="ignore"):
        return float(numpy.linalg.norm(b - A @ x) / numpy.linalg.norm(b))


def by_spilu(A, b, drop):
    steps = 0

    def count(_):
        nonlocal steps
        steps += 1
    n = A.shape[0]
    try:
        factors = scipy.sparse.linalg.spilu(A.tocsc(), drop_tol=drop)
    except RuntimeError as error:
        return None, 0, str(error)
    product = scipy.sparse.linalg.LinearOperator((n, n), dtype=A.dtype, matvec=lambda v: A @ factors.solve(v))
    y, _ = scipy.sparse.linalg.gmres(product, b, tol=1e-8, atol=0, restart=30, maxiter=MOST // 30, callback=count,
                                     callback_type="pr_norm")
    return factors.solve(y), steps, ""


def by_petsc(A, b):
    from petsc4py import PETSc
    matrix = PETSc.Mat().createAIJ(A.shape, csr=(A.indptr, A.indices, A.data), comm=PETSc.COMM_SELF)
    solver = PETSc.KSP().create(PETSc.COMM_SELF)
    solver.setType("gmres")
    solver.setGMRESRestart(30)
    solver.setPCSide(PETSc.PC.Side.RIGHT)
    solver.getPC().setType("ilu")
    solver.setTolerances(rtol=1e-8, atol=0, max_it=MOST)
    solver.setOperators(matrix)
    right, x = PETSc.Vec().createWithArray(b.copy()), PETSc.Vec().createWithArray(numpy.zeros_like(b))
    try:
        solver.solve(right, x)
    except PETSc.Error as error:
        return None, 0, str(error).splitlines()[-1]
    return x.getArray().copy(), solver.getIterationNumber(), f"reason {int(solver.getConvergedReason())}"


RUNS = {"petsc": by_petsc, "spilu-1e-4": lambda A, b: by_spilu(A, b, 1e-4),
        "spilu-1e-2": lambda A, b: by_spilu(A, b, 1e-2)}


def work(run, A, b):
    # The clock of this thread, the only one: while a timer runs, a process's moves in ticks.
    begin, best, runs = time.thread_time(), math.inf, 0
    while True:
        before = time.thread_time()
        x, steps, text = RUNS[run](A, b)
        best, runs = min(best, time.thread_time() - before), runs + 1
        if time.thread_time() - begin > 0.03 or runs >= 20:
            break
    r = residual(A, b, x) if x is not None else None
    r = r if r is not None and math.isfinite(r) else None
    return {"solved": r is not None and r <= 1.0001e-8, "residual": r, "iterations": steps, "seconds": best, "text": text}


def in_child(run, A, b, limit):
    """In a process of its own: it may crash, or take too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.setitimer(signal.ITIMER_PROF, limit)
        if run == "petsc":
            sys.path.insert(0, PETSC.format("complex" if numpy.iscomplexobj(A.data) else "real"))
            import petsc4py
            petsc4py.init()
        try:
            answer = work(run, A, b)
        except MemoryError:
            answer = {"solved": False, "text": "out of memory"}
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if text:
        return json.loads(text)
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
    return {"solved": False, "text": "time" if late else f"crash {status}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrices", required=True)
    parser.add_argument("--out", default="peers.jsonl")
    parser.add_argument("--limit", type=float, default=60)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    out = pathlib.Path(arguments.out)
    done = {(line["matrix"], line["run"]) for line in map(json.loads, out.read_text().splitlines())} if out.exists() else set()
    with open(out, "a", buffering=1) as file:
        for path in sorted(pathlib.Path(arguments.matrices).glob("*.mtx*")):
            name = path.name.split(".mtx")[0]
            if all((name, run) in done for run in RUNS):
                continue
            A, b = system(path)
            for run in RUNS:
                if (name, run) in done:
                    continue
                line = {"matrix": name, "run": run, **in_child(run, A, b, arguments.limit)}
                file.write(json.dumps(line) + "\n")
                print(*line.values(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
