# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused, pipelined sparse iterative solvers: SciPy's matrices in, a truthful report out.

    x, report = solder.solve(A, b, solver="cg", preconditioner="amg")

`solve` solves once, `Solver` many right-hand sides and changing values, `preconditioner` makes one for
solvers of others. `cg`, `bicgstab`, `gmres` and `idr` stand in for those of scipy.sparse.linalg.
"""

import os as _os

# GNU OpenMP reads this when it is loaded: its threads then sleep soon where they wait, instead of keeping
# cores that others need for milliseconds.
_waits = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}
if _waits.isdisjoint(_os.environ):
    _os.environ["GOMP_SPINCOUNT"] = "300"
    try:
        from . import _solder
    finally:
        del _os.environ["GOMP_SPINCOUNT"]

from ._solder import (
    Attempt,
    ConvergenceWarning,
    NotConverged,
    Preconditioner,
    Progress,
    Report,
    SetupReport,
    Solver,
    __version__,
    preconditioner,
    solve,
    spaces,
    threads,
)
from ._scipy import bicgstab, cg, gmres, idr

__all__ = [
    "Attempt",
    "ConvergenceWarning",
    "NotConverged",
    "Preconditioner",
    "Progress",
    "Report",
    "SetupReport",
    "Solver",
    "__version__",
    "bicgstab",
    "cg",
    "gmres",
    "idr",
    "preconditioner",
    "solve",
    "spaces",
    "threads",
]
