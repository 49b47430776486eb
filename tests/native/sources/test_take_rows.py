"""Small helpers over batches and blocks: rows picked out, and the last newline."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.native.base.rows import compressed, rows
from thresher import _native


@given(rows(), st.data())
def test_take_rows(some, data):
    """Any rows in any order, some of them twice, with what belongs to them."""
    order = data.draw(st.lists(st.integers(0, len(some) - 1), max_size=12)) if some else []
    indptr, keys, values = compressed(some)
    names = np.arange(len(keys), dtype=np.uint64)
    found = _native.take_rows(indptr, keys, values, names, np.array(order, dtype=np.int64))
    expected = (
        *compressed([some[i] for i in order]),
        np.array([j for i in order for j in range(indptr[i], indptr[i + 1])]),
    )
    assert [array.tolist() for array in found] == [array.tolist() for array in expected]
    bare = _native.take_rows(indptr, keys, None, None, np.array(order, dtype=np.int64))
    assert bare[1].tolist() == expected[1].tolist()
    assert bare[2] is bare[3] is None


@pytest.mark.parametrize("row", [-1, 2])
def test_rows_that_are_not_there(row):
    """A row outside the batch is refused."""
    with pytest.raises(IndexError, match="no such row"):
        _native.take_rows(*compressed([([1], [1.0]), ([], [])]), None, np.array([row]))


@given(st.binary(max_size=20).map(lambda text: text.replace(b"a", b"\n")), st.data())
def test_after_last_newline(text, data):
    """Where the whole lines of a stretch end."""
    end = data.draw(st.integers(0, len(text)))
    begin = data.draw(st.integers(0, end))
    at = text.rfind(b"\n", begin, end)
    found = _native.after_last_newline(np.frombuffer(text, dtype=np.uint8), begin, end)
    assert found == (begin if at < 0 else at + 1)


def test_new_blocks_can_be_written():
    """A block is bytes to read into, as many as asked for."""
    block = _native.new_block(1000)
    block[:] = 7
    assert (block.dtype, block.shape, int(block.sum())) == (np.uint8, (1000,), 7000)
