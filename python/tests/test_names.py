# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every solver and preconditioner by name, four dtypes, both index types; residuals are SciPy's."""
import numpy as np
import pytest
import solder
from conftest import flow, poisson, residual, right_hand_side

SOLVERS = ["cg", "bicgstab", "gmres", "idr", "block_cg"]
PRECONDITIONERS = ["none", "jacobi", "fsai", "ic0", "ilu0", "chebyshev", "amg"]
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
TAKES_COLUMNS = {"none", "jacobi", "fsai", "chebyshev", "amg"}


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_and_preconditioners(solver, dtype, index):
    A = poisson(12, dtype)
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    rtol = 1e-4 if np.finfo(dtype).eps > 1e-10 else 1e-9
    b = right_hand_side(A, 3 if solver == "block_cg" else None)
    for preconditioner in PRECONDITIONERS:
        if solver == "block_cg" and preconditioner not in TAKES_COLUMNS:
            with pytest.raises(ValueError, match="others take one right-hand side"):
                solder.solve(A, b, solver, preconditioner)
            continue
        x, report = solder.solve(A, b, solver, preconditioner, rtol, check=True)
        assert x.dtype == dtype and x.shape == b.shape
        reports = report if isinstance(report, list) else [report]
        for k, each in enumerate(reports):
            of_b, of_x = (b, x) if b.ndim == 1 else (b[:, k], x[:, k])
            true = residual(A, of_b, of_x)
            assert each.converged and true <= 1.1 * rtol, (solver, preconditioner)
            assert each.true_relative_residual == pytest.approx(true, rel=1e-3, abs=1e-2 * rtol)
            assert each.iterations == len(each.history) - 1
            assert ("A.indices was copied: int64 to int32" in each.copies) == (index == np.int64)


@pytest.mark.parametrize("solver", ["bicgstab", "gmres", "idr"])
def test_matrices_that_are_not_symmetric(solver):
    A = flow(20)
    b = right_hand_side(A)
    x, report = solder.solve(A, b, solver, "ilu0", 1e-10, check=True)
    assert residual(A, b, x) <= 1e-10
    with pytest.raises(ValueError, match="Hermitian positive definite"):
        solder.solve(A, b, "cg")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("solver", ["cg", "gmres"])
def test_columns(solver, order):
    A = poisson(15)
    b = np.asarray(right_hand_side(A, 5), order=order)
    x, reports = solder.solve(A, b, solver, "jacobi", 1e-10)
    assert x.shape == b.shape and len(reports) == 5
    for k in range(5):
        assert residual(A, b[:, k], x[:, k]) <= 1e-10
        assert reports[k].copies == []


def test_the_default_is_the_librarys():
    A = poisson(10)
    b = right_hand_side(A)
    x, report = solder.solve(A, b, "cg", rtol=None, atol=None)
    assert report.true_relative_residual <= 1e-8 < report.history[-2]


def test_version_is_the_librarys():
    import importlib.metadata

    assert solder.__version__ == importlib.metadata.version("solder")


def test_rigid_bodies():
    # Linear elasticity of springs: any matrix of as many unknowns does to see that coordinates arrive.
    A = poisson(8)
    points = np.stack([np.arange(32.0), np.arange(32.0) % 7], axis=1)
    b = right_hand_side(A)
    amg = {"name": "amg", "near_nullspace": "rigid_body"}
    x, _ = solder.solve(A, b, "cg", amg, coordinates=points, check=True)
    assert residual(A, b, x) <= 1e-8
    with pytest.raises(ValueError, match="coordinates"):
        solder.solve(A, b, "cg", amg)
