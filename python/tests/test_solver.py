# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Solver, changing values, preconditioners for others, and reports."""
import base64
import gc
import re
import xml.etree.ElementTree

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
import solder
from conftest import flow, poisson, residual, right_hand_side


def test_a_solver_for_many_right_hand_sides(poisson_15):
    solver = solder.Solver(poisson_15, "cg", "fsai", rtol=1e-10)
    for seed in range(3):
        b = right_hand_side(poisson_15, seed=seed)
        x, report = solver.solve(b)
        assert report.converged and residual(poisson_15, b, x) <= 1e-10
    assert solver.name == "Solder::Cg" and solver.shape == (225, 225) and solver.dtype == "float64"
    assert "fsai" in solver.describe() and solver.workspace_bytes() > 0
    assert solver.workspace_bytes(8) > solver.workspace_bytes(4) > 0


def test_guesses_and_outputs(poisson_15):
    b = right_hand_side(poisson_15)
    solver = solder.Solver(poisson_15, "cg", rtol=1e-10)
    x, first = solver.solve(b)
    again, report = solver.solve(b, x0=x)
    assert report.iterations == 0 and again is not x and np.array_equal(again, x)
    out = np.full(225, np.nan)
    y, report = solver.solve(b, out=out)  # the guess is 0
    assert y is out and np.array_equal(y, x) and report.iterations == first.iterations
    y, report = solver.solve(b, x0=out, out=out)
    assert y is out and report.iterations == 0
    y, report = solver.solve(b, x0=x, out=np.zeros(225))
    assert report.iterations == 0


def test_values_that_change():
    A = flow(20)
    b = right_hand_side(A)
    solver = solder.Solver(A, "gmres", "ilu0", rtol=1e-10)
    other = sp.csr_array(A + 2 * sp.eye_array(A.shape[0]))
    solver.set_values(other.data)
    with pytest.raises(RuntimeError, match="refresh"):
        solver.solve(b)
    solver.refresh()
    x, _ = solver.solve(b, check=True)
    assert residual(other, b, x) <= 1e-10
    other.data *= 2  # in place
    solver.set_values(other.data)
    solver.refresh()
    x, _ = solver.solve(b, check=True)
    assert residual(other, b, x) <= 1e-10
    with pytest.raises(ValueError, match="nonzeros|values"):
        solver.set_values(other.data[:-1])
    with pytest.raises(TypeError, match="complex128"):
        solver.set_values(other.data.astype(complex))
    x, _ = solver.solve(b, check=True)  # as good as before
    assert residual(other, b, x) <= 1e-10


def test_values_that_had_to_be_copied_are_said():
    A = poisson(10)
    solver = solder.Solver(A, "cg")
    solver.set_values(list(A.data))
    _, report = solver.solve(right_hand_side(A))
    assert report.copies == ["data was copied: float64 to float64"]
    solver.set_values(A.data)
    _, report = solver.solve(right_hand_side(A))
    assert report.copies == []


def test_tolerances_of_a_dict():
    A = poisson(15)
    b = right_hand_side(A)
    _, loose = solder.solve(A, b, {"name": "cg", "tolerance": 1e-3})
    x, tight = solder.solve(A, b, {"name": "cg", "tolerance": 1e-12})
    assert loose.iterations < tight.iterations and residual(A, b, x) <= 1e-12
    _, given = solder.solve(A, b, {"name": "cg", "tolerance": 1e-12}, rtol=1e-3)
    assert given.iterations == loose.iterations  # an argument counts more
    _, absolute = solder.solve(A, b, {"name": "cg", "absolute_tolerance": 1e-3 * np.linalg.norm(b)})
    assert absolute.iterations == loose.iterations


@pytest.mark.parametrize("preconditioner", ["chebyshev", "fsai", "amg", "ic0", "jacobi"])
def test_an_older_preconditioner_outlives_the_values_it_was_made_of(preconditioner):
    A = poisson(30)
    b = right_hand_side(A)
    solver = solder.Solver(A.copy(), "cg", preconditioner, allow_stale_preconditioner=True)
    for k in range(1, 20):
        solver.set_values(A.data * (1 + 0.1 * k))
        gc.collect()
        junk = [np.full(A.nnz, np.nan) for _ in range(4)]  # where freed values were
        x, _ = solver.solve(b, check=True)
        assert residual(A * (1 + 0.1 * k), b, x) <= 1e-8
        del junk


def test_columns_that_differ(poisson_15):
    b = right_hand_side(poisson_15, 3)
    b[:, 1] = 0
    x, reports = solder.solve(poisson_15, b, "cg")
    assert reports[1].iterations == 0 and not x[:, 1].any() and reports[0].iterations > 0


@pytest.mark.parametrize("name", ["none", "jacobi", "fsai", "ic0", "ilu0", "chebyshev", "amg"])
def test_preconditioners_for_scipy(name):
    A = poisson(20)
    b = right_hand_side(A)
    M = solder.preconditioner(A, name)
    operator = M.aspreconditioner()
    assert isinstance(operator, sla.LinearOperator) and operator.shape == A.shape
    x, info = sla.cg(A, b, rtol=1e-8, M=operator)
    assert info == 0 and residual(A, b, x) <= 1.1e-8
    columns = right_hand_side(A, 3)
    together = operator @ columns
    for k in range(3):
        assert np.allclose(together[:, k], M.apply(columns[:, k].copy()), rtol=1e-12)
    out = np.empty_like(b)
    assert M.apply(b, out) is out
    # Linear: M (r + s) = M r + M s.
    assert np.allclose(M.apply(b + columns[:, 0]), M.apply(b) + M.apply(columns[:, 0].copy()))
    assert M.copies == [] and name in M.describe()


def test_a_preconditioner_of_other_values():
    A = poisson(20)
    M = solder.preconditioner(A, "ic0")
    b = right_hand_side(A)
    before = M.apply(b)
    M.set_values(4 * A.data)
    M.refresh()
    assert np.allclose(M.apply(b), before / 4)
    assert M.setup.density > 0


def test_reports(poisson_15, capsys):
    b = right_hand_side(poisson_15)
    with pytest.warns(solder.ConvergenceWarning, match="Solder::Cg: max_iterations after 3"):
        x, report = solder.solve(poisson_15, b, "cg", max_iterations=3)
    assert not report.converged and report.reason == "max_iterations" and report.iterations == 3
    assert report.true_relative_residual == pytest.approx(residual(poisson_15, b, x), rel=1e-6)
    assert len(report.history) == 4 and not report.history.flags.writeable
    print(report)
    assert "max_iterations after 3 iterations" in capsys.readouterr().out
    html = report._repr_html_()
    assert "<table" in html and "max_iterations" in html
    picture = base64.b64decode(re.search('base64,([^"]*)"', html).group(1)).decode()
    assert xml.etree.ElementTree.fromstring(picture).tag.endswith("svg") and "relative residual" in picture
    history = report.history
    del report
    gc.collect()
    assert history[0] == 1
    with pytest.raises(solder.NotConverged, match="max_iterations") as error:
        solder.solve(poisson_15, b, "cg", max_iterations=3, check=True)
    assert error.value.report.iterations == 3 and np.array_equal(error.value.x, x)


def test_plots(poisson_15):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("svg")
    _, report = solder.solve(poisson_15, right_hand_side(poisson_15), "cg", "jacobi")
    axes = report.plot()
    assert np.array_equal(axes.lines[0].get_ydata(), report.history)
    assert report.plot(axes) is axes and len(axes.lines) == 2


def test_nan_is_a_reason(poisson_15):
    b = right_hand_side(poisson_15)
    b[7] = np.nan
    with pytest.warns(solder.ConvergenceWarning, match="not_finite"):
        _, report = solder.solve(poisson_15, b, "cg")
    assert report.reason == "not_finite"


def test_stand_ins_for_scipy():
    A, F = poisson(20), flow(20)
    b = right_hand_side(A)
    for solve, of in [(solder.cg, A), (solder.bicgstab, F), (solder.gmres, F), (solder.idr, F)]:
        x, info = solve(of, b, rtol=1e-9)
        assert info == 0 and residual(of, b, x) <= 1e-9
        x, info = solve(of, b.reshape(-1, 1), np.ones_like(b), rtol=1e-9, M="jacobi")
        assert info == 0 and x.shape == b.shape and residual(of, b, x) <= 1e-9
        x, info = solve(of, b, maxiter=2, **({"restart": 1} if solve is solder.gmres else {}))
        assert info == 2
        x, info = solve(of, b.astype(np.float32))
        assert info == 0 and x.dtype == np.float64
        x, info = solve(of.astype(np.int64) if solve is solder.cg else of, 1j * b)
        assert info == 0 and x.dtype == np.complex128
        told = []
        x, info = solve(of, b, callback=told.append)
        assert info == 0 and len(told) > 3
    x, info = solder.gmres(F, b, callback=told.append)
    assert isinstance(told[-1], float) and told[-1] <= 1e-5
    with pytest.raises(TypeError, match="not x"):
        solder.cg(A, b, callback=lambda x: np.linalg.norm(b - A @ np.asarray(x)))
    x, info = solder.cg(-A, b)
    assert info < 0


def test_preconditioners_of_ones_own():
    A, F = poisson(20), flow(20)
    b = right_hand_side(A)
    ilu = sla.spilu(F.tocsc())
    M = sla.LinearOperator(F.shape, ilu.solve)
    plain = solder.gmres(F, b)[0]
    for own in [M, ilu.solve]:
        x, report = solder.solve(F, b, "gmres", own, 1e-10, check=True)
        assert residual(F, b, x) <= 1e-10 and report.iterations < 20
    for solve in [solder.gmres, solder.bicgstab, solder.idr]:
        x, info = solve(F, b, M=M, rtol=1e-10)
        assert info == 0 and residual(F, b, x) <= 1e-10
    x, info = solder.cg(A, b, M=sp.diags_array(1 / A.diagonal()), rtol=1e-10)  # a matrix, as SciPy takes
    assert info == 0 and residual(A, b, x) <= 1e-10
    made = solder.preconditioner(A, "amg")
    x, report = solder.solve(A, b, "cg", made, 1e-10)
    y, other = solder.solve(A, b, "cg", "amg", 1e-10)
    assert report.iterations == other.iterations and residual(A, b, x) <= 1e-10
    x, reports = solder.solve(A, right_hand_side(A, 3), "cg", made, check=True)
    solver = solder.Solver(F, "gmres", M)
    assert "preconditioner: given" in solver.describe()
    del made, M, ilu
    gc.collect()
    assert solver.solve(b)[1].converged
    assert residual(F, b, plain) <= 1e-5


def test_preconditioners_of_ones_own_that_fail():
    A = poisson(10)
    b = right_hand_side(A)

    class Mine(Exception):
        pass

    def fails(r):
        raise Mine("in M")

    with pytest.raises(Mine, match="in M"):
        solder.solve(A, b, "cg", fails)
    with pytest.raises(ValueError, match="M r has 99 entries, not 100"):
        solder.solve(A, b, "cg", lambda r: r[:-1])
    with pytest.raises(TypeError, match="M r is complex128"):
        solder.solve(A, b, "cg", lambda r: 1j * r)
    with pytest.raises(TypeError, match="M r must have numbers"):
        solder.solve(A, b, "cg", lambda r: None)
    with pytest.raises(TypeError, match="preconditioner must be a name"):
        solder.solve(A, b, "cg", 3.5)
    with pytest.raises(TypeError, match="the preconditioner is float32"):
        solder.solve(A, b, "cg", solder.preconditioner(A.astype(np.float32), "jacobi"))
    with pytest.raises(ValueError, match="auto does not take a preconditioner"):
        solder.solve(A, b, preconditioner=lambda r: r)
    kept = []

    def keeps(r):
        kept.append(r)
        return r

    x, report = solder.solve(A, b, "cg", keeps, check=True)
    assert np.allclose(kept[0], b) and len(kept) >= report.iterations


def test_what_the_library_chooses():
    A = poisson(30)
    b = right_hand_side(A)
    x, report = solder.solve(A, b)
    assert report.converged and residual(A, b, x) <= 1e-8
    assert len(report.attempts) == 1 and report.attempts[0].solver == "cg"
    assert report.attempts[0].why in str(report) and "tried" in report._repr_html_()
    solver = solder.Solver(flow(30), preconditioner="ilu0")
    x, report = solver.solve(b, check=True)
    assert report.attempts[-1].preconditioner == "ilu0" and "ilu0" in solver.explain()
    with pytest.warns(solder.ConvergenceWarning) as warnings:
        _, report = solder.solve(A, b, "cg", max_iterations=2)
    assert report.attempts == [] and report.advice in str(warnings[0].message)
