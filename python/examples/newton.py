# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Newton's method for -u'' - v'' + u^3 = 1 on a square: the Jacobian's values change, its pattern does not.
import numpy as np
import scipy.sparse as sp
import solder

n = 60
side = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)) * (n + 1) ** 2
L = sp.csr_array(sp.kron(side, sp.eye_array(n)) + sp.kron(sp.eye_array(n), side))
J = L.copy()
J.sort_indices()
row = np.repeat(np.arange(n * n), np.diff(J.indptr))
on_diagonal = J.indices == row  # where in J.data the diagonal is
of_L = J.data.copy()

solver = solder.Solver(J, "cg", "ic0", rtol=1e-10)
u = np.zeros(n * n)
for step in range(20):
    F = L @ u + 50 * u**3 - 1000
    norm = np.linalg.norm(F)
    print(f"step {step}: ||F(u)|| = {norm:.3e}")
    if norm < 1e-6:
        break
    J.data[:] = of_L
    J.data[on_diagonal] += 150 * u**2
    solver.set_values(J.data)  # in place: nothing is copied
    solver.refresh()  # the preconditioner
    du, report = solver.solve(-F, check=True)
    u += du
assert norm < 1e-6
