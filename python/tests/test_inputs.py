# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Any input: an answer that SciPy confirms, or an exception with a sentence. Never a crash."""
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import solder
from conftest import poisson, residual, right_hand_side
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

REFUSALS = (ValueError, TypeError, OverflowError, RuntimeError)
SOLVERS = ["cg", "bicgstab", "gmres", "idr", "block_cg"]
PRECONDITIONERS = ["none", "jacobi", "fsai", "ic0", "ilu0", "chebyshev", "amg"]


def check(A, b, x, report, rtol=1e-8):
    """A solve that says it converged has."""
    dense = A.toarray() if sp.issparse(A) else np.asarray(A)
    for k, each in enumerate(report if isinstance(report, list) else [report]):
        of_b, of_x = (b, x) if np.ndim(b) == 1 else (np.asarray(b)[:, k], x[:, k])
        of_b = np.asarray(of_b, np.complex128)
        if each.converged:
            norm = np.linalg.norm(of_b)
            largest = np.abs(dense).max(initial=0) or 1  # near 1e300 it must not be squared
            size = largest * np.linalg.norm(dense / largest)
            slack = 100 * np.finfo(x.dtype).eps * size * np.linalg.norm(of_x)
            assert np.linalg.norm(of_b - dense @ of_x) <= rtol * norm * 1.01 + slack


@pytest.mark.parametrize(
    "given, error, words",
    [
        (lambda A, b: (A, b[:-1]), ValueError, "b has 99 entries and x has 99; both need 100"),
        (lambda A, b: (A, b[:, None, None]), ValueError, "b needs one dimension or two, not 3"),
        (lambda A, b: (A, 1.0), ValueError, "b needs one dimension or two, not 0"),
        (lambda A, b: (A, "b"), TypeError, "b must have numbers"),
        (lambda A, b: (A, None), TypeError, "b must have numbers"),
        (lambda A, b: (A, [[1], [1, 2]]), TypeError, "b is no array"),
        (lambda A, b: (A, b + 1j), TypeError, "b is complex128, and the matrix float64"),
        (lambda A, b: (A.astype(np.float32), b), TypeError, 'say b.astype\\("float32"\\)'),
        (lambda A, b: (A, b.astype(object)), TypeError, "b must have numbers, not object"),
        (lambda A, b: (A[:-1], b), ValueError, "square"),
        (lambda A, b: (A.toarray()[0], b), ValueError, "A needs two dimensions"),
        (lambda A, b: (A.astype(np.longdouble), b), TypeError, "longdouble|float128"),
        (lambda A, b: (sp.linalg.aslinearoperator(A), b), TypeError, "operator without a matrix"),
        (lambda A, b: (None, b), TypeError, "A must be a sparse matrix"),
        (lambda A, b: ([[1.0]], b), TypeError, "A must be a sparse matrix"),
    ],
)
def test_what_is_refused(given, error, words):
    A, b = poisson(10), right_hand_side(poisson(10))
    with pytest.raises(error, match=words):
        solder.solve(*given(A, b), "cg")


@pytest.mark.parametrize(
    "parameters, error, words",
    [
        ({"solver": "gc"}, ValueError, "name must be .*cg"),
        ({"solver": "cg", "preconditioner": "jacobbi"}, ValueError, "did you mean jacobi"),
        ({"solver": "cg", "max_iteration": 3}, ValueError, "did you mean max_iterations"),
        ({"solver": "cg", "max_iterations": 0}, ValueError, "max_iterations must be"),
        ({"solver": "cg", "max_iterations": 2.5}, ValueError, "max_iterations must be"),
        ({"solver": "cg", "max_iterations": 2**80}, ValueError, "max_iterations is too large"),
        ({"solver": "cg", "rtol": -1}, ValueError, "tolerance must be"),
        ({"solver": "cg", "rtol": float("nan")}, ValueError, "tolerance must be"),
        ({"solver": "cg", "rtol": "small"}, ValueError, "tolerance must be"),
        ({"solver": "cg", "rtol": [1]}, TypeError, "tolerance must be"),
        ({"solver": 3}, ValueError, "name must be"),
        ({"solver": {"name": "cg", "restart": 3}}, ValueError, "restart is not a parameter of cg"),
        ({"solver": "cg", "preconditioner": {"name": "amg", 3: 4}}, TypeError, "names of parameters are words"),
        ({"solver": "cg", "coordinates": [1, 2]}, ValueError, "coordinates"),
        ({"solver": "cg", "x0": np.zeros(99)}, ValueError, "x0 has the shape \\(99,\\), and b \\(100,\\)"),
        ({"solver": "cg", "x0": np.zeros(100, complex)}, TypeError, "x0 is complex128"),
        ({"solver": "cg", "out": np.zeros(100, np.float32)}, TypeError, "out must be float64"),
        ({"solver": "cg", "out": np.zeros((100, 1))}, ValueError, "out must have the shape of b"),
        ({"solver": "cg", "out": np.zeros(200)[::2]}, ValueError, "out must be contiguous"),
        ({"solver": "cg", "out": [0.0] * 100}, TypeError, "out must be an array"),
        ({"solver": "cg", "out": np.broadcast_to(0.0, 100)}, ValueError, "out is read-only|out must be contiguous"),
        ({"solver": "cg", "callback": "call"}, TypeError, "callback must be callable"),
    ],
)
def test_parameters_that_are_refused(parameters, error, words):
    A = poisson(10)
    with pytest.raises(error, match=words):
        solder.solve(A, right_hand_side(A), **parameters)


def test_a_dict_that_holds_itself():
    A = poisson(10)
    own = {"name": "chebyshev"}
    own["inner"] = own
    with pytest.raises(ValueError, match="at most 16 dicts deep, and these begin with preconditioner.inner.inner"):
        solder.solve(A, right_hand_side(A), "cg", own)


def test_outputs_that_are_refused():
    A = poisson(10)
    b = right_hand_side(A)
    solver = solder.Solver(A, "cg")
    fixed = np.zeros(100)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        solver.solve(b, out=fixed)
    with pytest.raises(ValueError, match="overlap"):
        solver.solve(b, x0=b, out=b)
    columns = np.lib.stride_tricks.as_strided(np.zeros(200), (100, 3), (8, 8))
    with pytest.raises(ValueError, match="contiguous"):
        solver.solve(np.ones((100, 3)), out=columns)
    fixed = b.copy()
    fixed.flags.writeable = False  # a right-hand side may be
    assert solver.solve(fixed)[1].copies == []


def test_empty_and_tiny_matrices():
    for name in SOLVERS:
        empty = sp.csr_array((0, 0))
        x, report = solder.solve(empty, np.zeros(0), name)
        assert x.shape == (0,) and report.converged and report.iterations == 0
        x, report = solder.solve(sp.csr_array([[4.0]]), np.array([2.0]), name)
        assert x == pytest.approx([0.5])
    with pytest.warns(solder.ConvergenceWarning):
        x, report = solder.solve(sp.csr_array((5, 5)), np.ones(5), "gmres")
    assert not report.converged
    x, reports = solder.solve(poisson(4), np.zeros((16, 0)), "cg")
    assert x.shape == (16, 0) and reports == []


def wrong(A, **arrays):
    """A matrix whose arrays nobody has looked at."""
    matrix = A.copy()
    for name, array in arrays.items():
        matrix.__dict__[name] = array
    return matrix


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_wrong_patterns(index):
    A = poisson(4)
    b = right_hand_side(A)
    indptr, indices = A.indptr.astype(index), A.indices.astype(index)

    def changed(array, at, value):
        array = array.copy()
        array[at] = value
        return array

    for arrays, words in [
        ({"indptr": changed(indptr, 3, 1)}, "must not descend"),
        ({"indptr": changed(indptr, 0, 1)}, "begins at 1, not at 0"),
        ({"indptr": changed(indptr, -1, 10**9)}, "the last, ends at"),
        ({"indptr": changed(indptr, 5, -(2**31))}, "must not descend"),
        ({"indptr": indptr[:-1]}, "row offsets"),
        ({"indices": changed(indices, 7, 16)}, "column 16, but there are 16"),
        ({"indices": changed(indices, 7, -1)}, "has an entry in column"),
        ({"indices": indices[:-1]}, "column indices"),
        ({"data": A.data[:-1]}, "values"),
        ({"indices": indices.astype(float)}, "int32 or int64"),
        ({"indices": None}, "contiguous array"),
        ({"data": None}, "no array"),
        ({"data": A.data.reshape(1, -1)}, "one dimension"),
    ]:
        with pytest.raises(REFUSALS, match=words):
            solder.solve(wrong(A, **{"indptr": indptr, "indices": indices, **arrays}), b, "cg")
    if index is np.int64:
        with pytest.raises(ValueError, match="has an entry in column"):
            solder.solve(wrong(A, indptr=indptr, indices=changed(indices, 7, 2**32)), b, "cg")


# Arrays of any dtype, shape and strides.
dtypes = st.one_of(
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(endianness="?"),
    hnp.integer_dtypes(endianness="?"),
    hnp.boolean_dtypes(),
    st.sampled_from([np.dtype(object), np.dtype("U3"), np.dtype("M8[s]"), np.dtype([("a", "f8")])]),
)


@st.composite
def arrays(draw):
    dtype = draw(dtypes)
    shape = draw(st.one_of(st.just((8,)), st.just((8, 2)), hnp.array_shapes(max_dims=3, max_side=9, min_side=0)))
    step = draw(st.sampled_from([1, 1, 2, -1]))
    array = np.zeros(tuple(2 * n + 1 for n in shape), dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dtype.kind in "biufc":
            array += np.asarray(draw(st.integers(0, 9))).astype(dtype)
    array = array[tuple(slice(None, n * abs(step), abs(step)) for n in shape)][:: -1 if step < 0 else 1]
    if draw(st.booleans()) and array.ndim == 2:
        array = np.asfortranarray(array)
    if draw(st.booleans()):
        array.flags.writeable = False
    return array


@st.composite
def systems(draw):
    n = draw(st.sampled_from([8, 8, 8, 0, 1, 5]))
    values = st.floats(-4, 4) | st.sampled_from([np.nan, np.inf, 0.0, 1e300, 5e-324])
    entries = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), values), max_size=20)) if n else []
    A = sp.coo_array((n, n))
    if entries:
        row, column, value = zip(*entries)
        A = sp.coo_array((value, (row, column)), (n, n))
    if draw(st.booleans()):
        A = A + A.T + 9 * sp.eye_array(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        A = A.asformat(draw(st.sampled_from(["csr", "csr", "coo", "csc", "lil", "dok", "bsr"])))
        dtypes = [np.float64, np.float32, np.complex64, np.complex128]
        if all(np.isfinite(value) and abs(value) < 100 for _, _, value in entries):
            dtypes.append(np.int8)
        A = A.astype(draw(st.sampled_from(dtypes)))
    return A


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(systems(), arrays(), st.none() | arrays(), st.none() | arrays(), st.sampled_from(SOLVERS),
       st.sampled_from(PRECONDITIONERS), st.floats(0, 1))
def test_any_system(A, b, x0, out, solver, preconditioner, rtol):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            x, report = solder.solve(A, b, solver, preconditioner, rtol, x0=x0, out=out, max_iterations=20)
        except REFUSALS as error:
            assert str(error)
        else:
            if np.isfinite(x).all():
                check(A, b, x, report, rtol)


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(
    st.sampled_from(["solver", "preconditioner", "tolerance", "max_iterations", "restart", "runner", "matrix_format",
                     "check_symmetry", "keep_guess", "coordinates", "form"]) | st.text(max_size=8),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
        | st.sampled_from(["cg", "gmres", "amg", "fsai", "chebyshev", "launch", "team", "csr", "sell"]),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5) | st.just("name"), inner, max_size=3),
        max_leaves=4),
    max_size=4))
def test_any_parameters(parameters):
    A = poisson(4)
    for name in {"A", "b"} & parameters.keys():
        del parameters[name]
    parameters.setdefault("max_iterations", 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            solder.solve(A, right_hand_side(A), **parameters)
        except REFUSALS as error:
            assert str(error)


def test_ten_thousand_bad_matrices():
    """Arrays of a matrix with wrong entries, lengths, dtypes and strides: 10,000 cases, and the last still solves."""
    random = np.random.default_rng(51)
    A = poisson(4)
    b = right_hand_side(A)
    refused = 0
    for _ in range(10_000):
        index = random.choice([np.int32, np.int64])
        arrays = {"indptr": A.indptr.astype(index), "indices": A.indices.astype(index), "data": A.data.copy()}
        for _ in range(random.integers(1, 4)):
            name = random.choice(list(arrays))
            array = arrays[name]
            match random.integers(6):
                case 0:
                    bad = [-1, 0, 1, 15, 16, 2**31 - 1, -(2**31), 2**31, 2**62, -(2**63)]
                    if array.dtype.kind in "iu":
                        limits = np.iinfo(array.dtype)
                        bad = [value for value in bad if limits.min <= value <= limits.max]
                    if array.size and array.dtype.kind in "iuf":
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            arrays[name][random.integers(array.size)] = bad[random.integers(len(bad))]
                case 1:
                    arrays[name] = array[: random.integers(array.size + 1)].copy()
                case 2:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        if array.dtype.kind in "biufc":
                            arrays[name] = array.astype(random.choice(["i1", "u8", "f2", "f4", "c8", ">f8", ">i4", "O", "U2"]))
                case 3:
                    arrays[name] = np.repeat(array, 2)[::2]
                case 4:
                    arrays[name] = array[::-1]
                case 5:
                    if name == "data" and array.dtype.kind == "f" and array.size:
                        arrays[name][random.integers(array.size)] = random.choice([np.nan, np.inf, -np.inf, 0, 1e308])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                solver = random.choice(SOLVERS)
                solder.solve(wrong(A, **arrays), b, solver, random.choice(PRECONDITIONERS), max_iterations=10)
            except REFUSALS as error:
                assert str(error)
                refused += 1
    assert 2000 < refused < 10_000
    x, report = solder.solve(A, b, "cg")
    assert report.converged and residual(A, b, x) <= 1e-8
