# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of CuPy and PyTorch on a GPU: in and out on their streams, nothing copied. Skipped where there is no GPU."""
import numpy as np
import pytest
import solder
from conftest import flow, poisson, residual, right_hand_side

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif("Cuda" not in solder.spaces(), reason="this build has no GPU: " + solder.spaces()),
]
SYSTEMS = [("cg", "none"), ("cg", "jacobi"), ("cg", "fsai"), ("cg", "amg"), ("gmres", "ilu0"), ("idr", "jacobi")]


def on_gpu_of_cupy(A):
    cupy = pytest.importorskip("cupy")
    from cupyx.scipy.sparse import csr_matrix

    return csr_matrix(
        (cupy.asarray(A.data), cupy.asarray(A.indices.astype(np.int32)), cupy.asarray(A.indptr.astype(np.int32))),
        shape=A.shape,
    )


@pytest.mark.parametrize("name, preconditioner", SYSTEMS)
@pytest.mark.parametrize("own_stream", [False, True])
def test_cupy(name, preconditioner, own_stream):
    cupy = pytest.importorskip("cupy")
    host = (flow if name != "cg" else poisson)(60)
    rhs = right_hand_side(host)
    stream = cupy.cuda.Stream(non_blocking=True) if own_stream else cupy.cuda.Stream.null
    with stream:
        A, b = on_gpu_of_cupy(host), cupy.asarray(rhs)
        solver = solder.Solver(A, name, preconditioner, rtol=1e-9)
        out = cupy.zeros_like(b)
        x, report = solver.solve(b, out=out, check=True)
        assert x is out and report.copies == [] and report.runner in {"graph", "team", "resident", "launch"}
        assert solver._addresses == {
            "indptr": A.indptr.data.ptr, "indices": A.indices.data.ptr, "data": A.data.data.ptr,
            "b": b.data.ptr, "x": x.data.ptr,
        }  # fmt: skip
        assert residual(host, rhs, cupy.asnumpy(x)) <= 1e-9
        x, report = solver.solve(2 * b)  # b made on this stream a moment ago, x by CuPy
        assert isinstance(x, cupy.ndarray) and residual(host, 2 * rhs, cupy.asnumpy(x)) <= 1e-9
        again, report = solver.solve(2 * b, x0=x)
        assert report.iterations == 0


def test_cupy_allocates_nothing_for_us():
    cupy = pytest.importorskip("cupy")
    A = on_gpu_of_cupy(poisson(300))
    b = cupy.ones(A.shape[0])
    out = cupy.zeros_like(b)
    solver = solder.Solver(A, "cg", "jacobi")
    solver.solve(b, out=out)
    free = cupy.cuda.runtime.memGetInfo()[0]
    used = cupy.get_default_memory_pool().used_bytes()
    for _ in range(3):
        out[:] = 0
        solver.solve(b, out=out)
    assert cupy.get_default_memory_pool().used_bytes() == used
    assert free - cupy.cuda.runtime.memGetInfo()[0] < b.nbytes


def test_cupy_on_another_stream_than_the_solver():
    cupy = pytest.importorskip("cupy")
    host = poisson(60)
    rhs = right_hand_side(host)
    with cupy.cuda.Stream(non_blocking=True):
        A, b = on_gpu_of_cupy(host), cupy.asarray(rhs)
        solver = solder.Solver(A, "cg", "jacobi", rtol=1e-9)
    for k in range(1, 6):
        with cupy.cuda.Stream(non_blocking=True):
            of = b * k  # in flight on this stream
            x, _ = solver.solve(of)
            twice = x * 2  # likewise
            assert residual(host, 2 * k * rhs, cupy.asnumpy(twice)) <= 1e-9


def test_cupy_values_and_preconditioners():
    cupy = pytest.importorskip("cupy")
    host = poisson(60)
    rhs = right_hand_side(host)
    A, b = on_gpu_of_cupy(host), cupy.asarray(rhs)
    solver = solder.Solver(A, "cg", "fsai", rtol=1e-9)
    values = A.data * 3
    solver.set_values(values)
    solver.refresh()
    x, _ = solver.solve(b, check=True)
    assert solver._addresses["data"] == values.data.ptr
    assert residual(3 * host, rhs, cupy.asnumpy(x)) <= 1e-9
    M = solder.preconditioner(A, "amg")
    z = M.apply(b)
    on_host = solder.preconditioner(host, "amg").apply(rhs)
    assert isinstance(z, cupy.ndarray) and np.allclose(cupy.asnumpy(z), on_host, atol=0.3 * abs(on_host).max())
    with pytest.raises(TypeError, match="b must be on the GPU"):
        solver.solve(rhs)
    with pytest.raises(TypeError, match="float32"):
        solver.solve(b.astype(cupy.float32))


@pytest.mark.parametrize("name, preconditioner", SYSTEMS)
@pytest.mark.parametrize("own_stream", [False, True])
def test_torch(name, preconditioner, own_stream):
    torch = pytest.importorskip("torch")
    host = (flow if name != "cg" else poisson)(60)
    rhs = right_hand_side(host)
    with torch.cuda.stream(torch.cuda.Stream() if own_stream else torch.cuda.default_stream()):
        A = torch.sparse_csr_tensor(
            torch.as_tensor(host.indptr.astype(np.int32)), torch.as_tensor(host.indices.astype(np.int32)),
            torch.as_tensor(host.data), size=host.shape,
        ).cuda()  # fmt: skip
        b = torch.as_tensor(rhs).cuda()
        solver = solder.Solver(A, name, preconditioner, rtol=1e-9)
        x, report = solver.solve(b, check=True)
        assert isinstance(x, torch.Tensor) and x.is_cuda
        assert solver._addresses["data"] == A.values().data_ptr() and solver._addresses["b"] == b.data_ptr()
        assert solver._addresses["x"] == x.data_ptr()
        if A.crow_indices().dtype == torch.int32:
            assert report.copies == [] and solver._addresses["indices"] == A.col_indices().data_ptr()
        assert residual(host, rhs, x.cpu().numpy()) <= 1e-9
        columns = torch.stack([b, 2 * b, 3 * b], dim=1)
        x, reports = solver.solve(columns)
        assert all(each.converged for each in reports)
        assert residual(host, 2 * rhs, x[:, 1].cpu().numpy()) <= 1e-9


def test_torch_and_cupy_agree_bit_by_bit():
    torch, cupy = pytest.importorskip("torch"), pytest.importorskip("cupy")
    host = poisson(60)
    rhs = right_hand_side(host)
    x, _ = solder.solve(on_gpu_of_cupy(host), cupy.asarray(rhs), "cg", "jacobi")
    A = torch.sparse_csr_tensor(
        torch.as_tensor(host.indptr.astype(np.int32)), torch.as_tensor(host.indices.astype(np.int32)),
        torch.as_tensor(host.data), size=host.shape,
    ).cuda()  # fmt: skip
    y, _ = solder.solve(A, torch.as_tensor(rhs).cuda(), "cg", "jacobi")
    assert np.array_equal(cupy.asnumpy(x), y.cpu().numpy())


def test_hosts_arrays_are_solved_on_the_host():
    A = poisson(20)
    x, report = solder.solve(A, right_hand_side(A), "cg", "jacobi")
    assert isinstance(x, np.ndarray) and report.converged
