# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stand-ins for solvers of scipy.sparse.linalg: its signatures, its tolerances, and ``(x, info)``.

``info`` is 0 where the true residual meets the tolerance; the number of iterations where the solve ended
without; and negative where it broke down: a zero divisor, an indefinite matrix, a NaN. No warning: as SciPy's
functions they say it by ``info``.

They differ from SciPy's in this: A must be a matrix, for an operator has no entries; a callback is told a
`solder.Progress` (gmres's, by default, the relative residual) and not x; further keywords are options of
Solder. M may also be the name of one of its preconditioners, a dict of its name and options, or a
`solder.Preconditioner`.
"""

import numpy as np

from scipy.sparse.linalg import aslinearoperator

from ._solder import Preconditioner, solve

_BREAKDOWNS = {"breakdown", "indefinite_matrix", "indefinite_preconditioner", "not_finite", "nonsymmetric_matrix"}


def _solve(name, A, b, x0, rtol, atol, M, callback, parameters):
    if M is not None and not isinstance(M, (str, dict, Preconditioner)):
        M = aslinearoperator(M)
    b = np.asarray(b)
    columns = b.ndim == 2 and b.shape[1] == 1
    dtype = np.result_type(A.dtype, b.dtype, *([] if x0 is None else [np.asarray(x0).dtype]))
    if dtype.char not in "fdFD":
        dtype = np.result_type(dtype, np.float64)
    x, report = solve(
        A if A.dtype == dtype else A.astype(dtype),
        b.ravel() if columns else b,
        name,
        M,
        rtol,
        atol,
        None if x0 is None else np.asarray(x0).ravel() if columns else x0,
        callback,
        check=None,
        **parameters,
    )
    if report.converged:
        return x, 0
    return x, -1 if report.reason in _BREAKDOWNS else max(report.iterations, 1)


def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, **parameters):
    """Conjugate gradients, for Hermitian positive definite A; as scipy.sparse.linalg.cg."""
    return _solve("cg", A, b, x0, rtol, atol, M, callback, {"max_iterations": maxiter, **parameters})


def bicgstab(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, **parameters):
    """BiCGStab, for any A; as scipy.sparse.linalg.bicgstab."""
    return _solve("bicgstab", A, b, x0, rtol, atol, M, callback, {"max_iterations": maxiter, **parameters})


def idr(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, **parameters):
    """IDR(s), for any A; with the signature of scipy.sparse.linalg.bicgstab."""
    return _solve("idr", A, b, x0, rtol, atol, M, callback, {"max_iterations": maxiter, **parameters})


def gmres(
    A,
    b,
    x0=None,
    *,
    rtol=1e-5,
    atol=0.0,
    restart=None,
    maxiter=None,
    M=None,
    callback=None,
    callback_type=None,
    **parameters,
):
    """GMRES(restart), for any A; as scipy.sparse.linalg.gmres, whose ``maxiter`` counts cycles.

    With ``callback_type="progress"`` the callback is told a `solder.Progress`; else, as SciPy's "pr_norm" and
    "legacy", the relative residual.
    """
    if callback_type == "x":
        raise ValueError('a callback of Solder is told no x: callback_type is "pr_norm", "legacy" or "progress"')
    told = callback
    if callback is not None and callback_type != "progress":

        def told(progress):
            callback(progress.relative_residual)

    limits = {"restart": restart}
    if maxiter is not None:
        limits["max_iterations"] = maxiter * (20 if restart is None else restart)  # SciPy's cycles
    return _solve("gmres", A, b, x0, rtol, atol, M, told, {**limits, **parameters})
