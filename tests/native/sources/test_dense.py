"""Dense rows become sparse ones as their twin says, by the wide and by the narrow path alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.examples import examples
from tests.reference.sources.dense import nonzeros
from thresher import _native

NAN, INF = float("nan"), float("inf")


def entries(width: int):
    """Mostly zeros; now and then something that single precision cannot hold."""
    rare = [NAN, INF, -INF] + ([1e39, -1e300, 1e-60] if width == 64 else [])
    some = st.sampled_from([0.0, 0.0, 0.0, -0.0, 1.0]) | st.floats(-100, 100, width=width)
    return st.integers(0, 60).flatmap(lambda i: st.sampled_from(rare) if i == 0 else some)


MATRICES = st.sampled_from([np.float32, np.float64]).flatmap(
    lambda dtype: hnp.arrays(
        dtype, st.tuples(st.integers(0, 4), st.integers(0, 21)), elements=entries(np.dtype(dtype).itemsize * 8)
    )
)


def check(x: np.ndarray) -> None:
    """Both paths against the twin, and against each other to the last bit."""
    wide, narrow = _native.dense_rows(x, True), _native.dense_rows(x, False)
    for a, b in zip(wide[:3], narrow[:3], strict=True):
        assert a.tobytes() == b.tobytes()
    assert wide[3:] == narrow[3:]
    indptr, keys, values, *bad = wide
    rows, first_bad = nonzeros(x)
    assert tuple(bad) == first_bad
    assert indptr.tolist() == np.cumsum([0, *map(len, rows)]).tolist()
    pairs = [pair for row in rows for pair in row]
    assert keys[: len(pairs)].tolist() == [j for j, _ in pairs]
    assert values[: len(pairs)].tobytes() == np.array([value for _, value in pairs], dtype=np.float32).tobytes()


@examples(150)
@given(MATRICES)
def test_twin(x):
    """Any small matrix."""
    check(x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_the_first_bad_entry_is_found(dtype, bad):
    """Wherever in a vector it stands, and with another behind it."""
    for column in range(19):
        x = np.zeros((2, 19), dtype=dtype)
        x[0, ::3] = 1
        x[1, column:] = bad
        check(x)
        assert _native.dense_rows(x)[3:] == (1, column)


def test_by_hand():
    """A double too small for single precision is a feature whose value is zero; one too large is refused."""
    indptr, keys, values, row, column = _native.dense_rows(np.array([[0.0, 1e-60, -2.0], [0.0, 0.0, 1e39]]))
    assert (row, column) == (1, 2)
    assert (indptr.tolist(), keys.tolist(), values.tolist()) == ([0, 2], [1, 2], [0.0, -2.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_larger_matrix(dtype):
    """Rows of many vectors, of every density."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(12, 203)) * (rng.random((12, 203)) < np.linspace(0, 1, 12)[:, None])
    check(x.astype(dtype))
