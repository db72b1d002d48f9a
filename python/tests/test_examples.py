# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import scipy.io
from conftest import flow, poisson

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


def run(name, *arguments, cwd=None):
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments], capture_output=True, text=True, timeout=120, cwd=cwd,
        env={**__import__("os").environ, "MPLBACKEND": "svg"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    scipy.io.mmwrite(tmp_path / "A.mtx", flow(20))
    out = run("picture.py", tmp_path / "A.mtx", tmp_path / "picture.svg")
    assert "converged" in out and "<svg" in (tmp_path / "picture.svg").read_text()


def test_newton():
    norms = [float(line.split("=")[1]) for line in run("newton.py").splitlines()]
    assert norms[-1] < 1e-6 and 3 < len(norms) <= 20 and norms[-1] < 1e-3 * norms[-2]


def test_eigenvalues():
    plain, amg = run("eigenvalues.py").splitlines()
    iterations = [int(line.split(":")[1].split()[0]) for line in (plain, amg)]
    assert iterations[1] < iterations[0] / 2
