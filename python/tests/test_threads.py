# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's lock, Ctrl-C, callbacks and threads."""
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import solder
from conftest import poisson, residual, right_hand_side

# Iterates until it is stopped.
ENDLESS = {"solver": "cg", "rtol": 0, "atol": 0, "max_iterations": 1_000_000_000}


def test_other_threads_run_while_a_solve_does():
    A = poisson(100)
    b = right_hand_side(A)
    ticks = []
    done = threading.Event()

    def solve():
        with pytest.warns(solder.ConvergenceWarning):
            solder.solve(A, b, "cg", rtol=0, max_iterations=3000)
        done.set()

    thread = threading.Thread(target=solve)
    thread.start()
    while not done.is_set():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    thread.join()
    assert len(ticks) > 10


def test_a_callback_may_stop_a_solve():
    A = poisson(20)
    b = right_hand_side(A)
    told = []

    def callback(progress):
        told.append((progress.iteration, progress.relative_residual, progress.seconds))
        if progress.iteration == 7:
            progress.stop()

    with pytest.warns(solder.ConvergenceWarning, match="stopped"):
        x, report = solder.solve(A, b, callback=callback, **ENDLESS)
    assert report.reason == "stopped" and report.iterations == 7
    iterations = [iteration for iteration, _, _ in told]
    assert iterations == sorted(set(iterations)) and iterations[-1] == 7 and len(iterations) >= 7
    assert all(0 < relative < 10 and seconds >= 0 for _, relative, seconds in told)
    assert report.true_relative_residual == pytest.approx(residual(A, b, x), rel=1e-6)


def test_what_a_callback_raises_comes_through():
    A = poisson(20)
    b = right_hand_side(A)

    class Mine(Exception):
        pass

    def callback(progress):
        if progress.iteration == 5:
            raise Mine("enough")

    with pytest.raises(Mine, match="enough") as error:
        solder.solve(A, b, callback=callback, **ENDLESS)
    assert error.value.report.reason == "stopped" and error.value.report.iterations == 5
    assert error.value.report.true_relative_residual == pytest.approx(residual(A, b, error.value.x), rel=1e-6)
    solver = solder.Solver(A, rtol=1e-8, solver="cg")
    with pytest.raises(Mine):
        solver.solve(b, callback=callback)
    assert solver.solve(b)[1].converged  # as good as before
    with pytest.raises(TypeError, match="callable"):
        solver.solve(b, callback=3)


def test_a_callback_must_not_use_its_solver():
    A = poisson(10)
    b = right_hand_side(A)
    solver = solder.Solver(A, "cg")
    with pytest.raises(RuntimeError, match="in this thread"):
        solver.solve(b, callback=lambda progress: solver.solve(b))
    other = solder.Solver(A, "cg")
    assert solver.solve(b, callback=lambda progress: other.solve(b))[1].converged


@pytest.fixture
def ctrl_c():
    """It interrupts also where the tests run in the background of a shell, which has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before or signal.SIG_DFL)


@pytest.mark.parametrize("n", [15, 200])
def test_ctrl_c_stops_a_solve(n, ctrl_c):
    A = poisson(n)
    b = right_hand_side(A)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt) as error:
        solder.solve(A, b, **ENDLESS)
    assert time.perf_counter() - start < 30
    report = error.value.report
    assert report.reason == "stopped" and report.iterations > 0
    assert report.true_relative_residual == pytest.approx(residual(A, b, error.value.x), rel=1e-3, abs=1e-13)


def test_threads_solve_at_once():
    systems = [(poisson(20 + k), "cg" if k % 2 else "gmres") for k in range(4)]
    expected = [solder.solve(A, right_hand_side(A), name, "fsai")[0] for A, name in systems]
    failures = []

    def work(k):
        A, name = systems[k]
        b = right_hand_side(A)
        try:
            for _ in range(5):
                x, report = solder.solve(A, b, name, "fsai")
                if not (report.converged and np.array_equal(x, expected[k])):
                    failures.append((k, report))
        except BaseException as error:
            failures.append((k, error))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_threads_take_turns_with_one_solver():
    A = poisson(20)
    solver = solder.Solver(A, "cg", "jacobi")
    bs = [right_hand_side(A, seed=k) for k in range(4)]
    xs = [None] * 4

    def work(k):
        for _ in range(10):
            xs[k] = solver.solve(bs[k])[0]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x, b in zip(xs, bs):
        assert residual(A, b, x) <= 1e-8


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "raise SystemExit(0)",
        "kept = [solver, M, report, x, report.history]; globals()['again'] = kept",
        "import threading; threading.Thread(target=lambda: solder.solve(A, b, 'cg', rtol=0, "
        "max_iterations=10**9), daemon=True).start(); import time; time.sleep(0.2); import os; "
        "os.environ['x'] = '1'",
    ],
)
def test_programs_end_quietly(ending):
    program = f"""
import numpy as np, scipy.sparse as sp, solder
A = sp.csr_array(sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(1000, 1000)))
b = np.ones(1000)
solver = solder.Solver(A, 'cg', 'amg')
M = solder.preconditioner(A, 'fsai')
x, report = solver.solve(b)
assert report.converged
{ending}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "" and done.stdout == ""


def test_a_second_import_is_refused():
    program = """
import sys, solder
del sys.modules["solder"], sys.modules["solder._solder"]
try:
    import solder
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "once in a process" in done.stdout, done.stderr
