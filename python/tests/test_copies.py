# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No copy of A, b or x where none is needed: the addresses that C++ has, and the memory that Python counts."""
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import solder
from conftest import poisson, right_hand_side


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_arrays_are_taken_as_they_are(kind, dtype):
    A = kind(poisson(10, dtype))
    b, out = right_hand_side(A), np.zeros(100, dtype)
    solver = solder.Solver(A, "bicgstab", rtol=1e-3)
    x, report = solver.solve(b, out=out)
    expected = {"indptr": A.indptr, "indices": A.indices, "data": A.data, "b": b, "x": x}
    assert solver._addresses == {name: address(array) for name, array in expected.items()}
    assert report.copies == [] and solver.copies == []
    values = A.data * 2
    solver.set_values(values)
    assert solver._addresses["data"] == address(values)


def test_columns_are_taken_as_they_are():
    A = poisson(10)
    for b in [right_hand_side(A, 3), np.asfortranarray(right_hand_side(A, 3)), right_hand_side(A, 6)[:, ::2]]:
        solver = solder.Solver(A, "cg")
        x, reports = solver.solve(b)
        assert solver._addresses["b"] == address(b) and reports[0].copies == []


def test_what_is_copied_is_said():
    A = poisson(10)
    b = right_hand_side(A)

    def copies(A, b):
        return solder.solve(A, b, "cg")[1].copies

    assert copies(A, np.repeat(b, 2)[::2]) == ["b was copied: its entries are not contiguous"]
    assert copies(A, b[::-1]) == ["b was copied: its entries are not contiguous"]
    assert copies(A, b.astype(np.float32)) == ["b was copied: float32 to float64"]
    assert copies(A, list(b)) == ["b was copied: its entries are not contiguous"] or copies(A, list(b))
    assert copies(A.tocoo(), b) == ["A was converted: coo to csr"]
    assert copies(A.toarray(), b) == ["A was converted: a dense array to csr"]
    assert copies(A.astype(np.int32), b) == ["A.data was copied: int32 to float64"]
    assert copies(A.astype(np.float32), b.astype(np.float32)) == []
    wide = A.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert copies(wide, b) == ["A.indices was copied: int64 to int32", "A.indptr was copied: int64 to int32"]
    big_endian = b.astype(">f8")
    assert any("b was copied" in copy for copy in copies(A, big_endian))
    misaligned = np.frombuffer(b"\0" * 4 + b.tobytes(), np.float64, offset=4)
    assert copies(A, misaligned) != []


def test_memory_that_python_counts():
    A = poisson(300)  # 90,000 rows, 450,000 nonzeros
    b, out = right_hand_side(A), np.zeros(A.shape[0])
    solver = solder.Solver(A, "cg", "jacobi", max_iterations=3, rtol=0)
    solver.solve(b, out=out)
    tracemalloc.start()
    with pytest.warns(solder.ConvergenceWarning):
        solver.solve(b, out=out)
        solder.solve(A, b, "cg", "jacobi", out=out, max_iterations=3, rtol=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < b.nbytes / 10
