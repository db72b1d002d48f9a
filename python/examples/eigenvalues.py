# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The smallest eigenvalues of a Laplacian by SciPy's LOBPCG, with and without multigrid of Solder.
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
import solder

n = 60
side = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
A = sp.csr_array(sp.kron(side, sp.eye_array(n)) + sp.kron(sp.eye_array(n), side))
start = np.random.default_rng(1).standard_normal((A.shape[0], 4))
exact = np.sort(np.add.outer(*2 * [4 * np.sin(np.arange(1, 9) * np.pi / 2 / (n + 1)) ** 2]).ravel())[:4]

M = solder.preconditioner(A, "amg").aspreconditioner()
for name, preconditioner in [("no preconditioner", None), ("amg", M)]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without a preconditioner it does not get there
        values, _, history = sla.lobpcg(
            A, start, M=preconditioner, largest=False, tol=1e-7, maxiter=200, retResidualNormsHistory=True
        )
    error = np.abs(np.sort(values) - exact).max()
    print(f"{name}: {len(history)} iterations, error {error:.1e}")
assert error < 1e-10
