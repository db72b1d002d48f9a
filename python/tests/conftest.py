# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
import pytest
import scipy.sparse as sp


def poisson(n, dtype=np.float64):
    """The 5-point stencil on n x n points; of complex dtypes Hermitian, with imaginary couplings."""
    side = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    one = sp.eye_array(n)
    A = sp.csr_array(sp.kron(side, one) + sp.kron(one, side)).astype(dtype)
    if np.iscomplexobj(A):
        skew = sp.diags_array([-0.1j, 0.1j], offsets=[-1, 1], shape=A.shape)
        A = sp.csr_array(A + skew + sp.eye_array(n * n)).astype(dtype)
    A.sort_indices()
    return A


def flow(n, dtype=np.float64):
    """Convection and diffusion: not symmetric."""
    A = poisson(n, dtype)
    wind = sp.diags_array([-0.3, 0.3], offsets=[-1, 1], shape=A.shape)
    return sp.csr_array(A + wind).astype(dtype)


def right_hand_side(A, columns=None, seed=1):
    random = np.random.default_rng(seed)
    shape = A.shape[0] if columns is None else (A.shape[0], columns)
    b = random.standard_normal(shape)
    if np.iscomplexobj(A.data):
        b = b + 1j * random.standard_normal(shape)
    return b.astype(A.dtype)


def residual(A, b, x):
    """||b - A x|| / ||b|| by SciPy, in double."""
    wide = np.complex128 if np.iscomplexobj(A.data) else np.float64
    b = b.astype(wide)
    return np.linalg.norm(b - A.astype(wide) @ x.astype(wide)) / np.linalg.norm(b)


@pytest.fixture
def poisson_15():
    """225 unknowns."""
    return poisson(15)
