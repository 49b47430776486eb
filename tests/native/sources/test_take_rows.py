"""Small helpers over batches and blocks: rows picked out, and the last newline."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.native.base.rows import compressed, rows
from thresher import _native


@given(st.lists(rows(), max_size=3), st.data())
def test_take_rows(batches, data):
    """Any rows of any batches in any order, some of them twice, with what belongs to them."""
    some = [row for batch in batches for row in batch]
    order = data.draw(st.lists(st.integers(0, len(some) - 1), max_size=12)) if some else []
    indptr, keys, _ = compressed(some)
    names = np.arange(len(keys), dtype=np.uint64)
    parts, begin = [], 0
    for batch in batches:
        arrays = compressed(batch)
        parts.append((*arrays, names[begin : begin + len(arrays[1])]))
        begin += len(arrays[1])
    found = _native.take_rows(parts, np.array(order, dtype=np.int64))
    expected = (
        *compressed([some[i] for i in order]),
        np.array([j for i in order for j in range(indptr[i], indptr[i + 1])]),
    )
    assert [array.tolist() for array in found if array is not None] == [
        array.tolist() for array in expected[: len(expected) if parts else 2]
    ]
    bare = [(indptr, keys, None, None) for indptr, keys, _, _ in parts]
    found = _native.take_rows(bare, np.array(order, dtype=np.int64))
    assert found[1].tolist() == expected[1].tolist()
    assert found[2] is found[3] is None


def test_batches_without_values_have_ones():
    """Values are left out only where no batch has any."""
    one, ones = compressed([([1, 2], [0.5, 3.0])]), compressed([([3], [1.0])])
    batches = [(*one, None), (ones[0], ones[1], None, None)]
    assert _native.take_rows(batches, np.array([1, 0]))[2].tolist() == [1.0, 0.5, 3.0]


@pytest.mark.parametrize("row", [-1, 2])
def test_rows_that_are_not_there(row):
    """A row outside the batches is refused."""
    with pytest.raises(IndexError, match="no such row"):
        _native.take_rows([(*compressed([([1], [1.0]), ([], [])]), None)], np.array([row]))


def test_names_of_some_batches_only():
    """Batches with names and batches without do not mix."""
    some = compressed([([1], [1.0])])
    with pytest.raises(ValueError, match="lack names"):
        _native.take_rows([(*some, None), (*some, some[1])], np.array([0]))


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
