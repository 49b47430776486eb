"""Columns of sparse rows, added up and in units of their own: equal to the slow formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.native.base.rows import KEYS, compressed, rows
from tests.reference.sources.column_units import in_units
from thresher import _native

COLUMNS = st.lists(
    st.tuples(KEYS, st.sampled_from([0.0, 0.0, 1.5, -1e300]), st.sampled_from([1.0, 0.3, 1e-300])),
    max_size=6,
    unique_by=lambda column: column[0],
)


@given(rows(), COLUMNS)
def test_twin(some, columns):
    """Any rows in any units, with and without values and names."""
    keys, centres, scales = (np.array([column[i] for column in columns], kind) for i, kind in enumerate("Qdd"))
    units = _native.ColumnUnits(keys, centres, scales)
    batch = compressed(some)
    words = np.arange(len(batch[1]), dtype=np.uint64)
    *found, names = units.apply(*batch, words, 7)
    expected, expected_names = in_units(some, words.tolist(), columns, 7)
    assert [array.tolist() for array in found] == [array.tolist() for array in compressed(expected)]
    assert names.tolist() == expected_names
    *found, names = units.apply(batch[0], batch[1], None, None, 0)
    expected, _ = in_units([(keys, [1.0] * len(keys)) for keys, _ in some], words.tolist(), columns, 0)
    assert [array.tolist() for array in found] == [array.tolist() for array in compressed(expected)]
    assert names is None


@given(rows(), st.lists(KEYS, max_size=6, unique=True))
def test_columns_are_added_up(some, keys):
    """Values of a key that occurs twice add up, on top of what is there."""
    out = np.full((len(some), len(keys)), 0.5)
    _native.KeyIndex(np.array(keys, np.uint64)).add_columns(*compressed(some), out)
    for (row_keys, values), sums in zip(some, out, strict=True):
        for key, total in zip(keys, sums, strict=True):
            assert total == 0.5 + sum(float(np.float32(v)) for k, v in zip(row_keys, values, strict=True) if k == key)


def test_arrays_that_do_not_fit_are_refused():
    """Before any pointer is followed."""
    key, one = np.array([1], np.uint64), np.ones(1)
    with pytest.raises(ValueError, match="one centre"):
        _native.ColumnUnits(key, np.ones(2), one)
    units, indptr = _native.ColumnUnits(key, one, one), np.array([0, 1])
    with pytest.raises(ValueError, match="one name"):
        units.apply(indptr, key, None, np.zeros(2, np.uint64), 0)
    with pytest.raises(ValueError, match="rows x keys"):
        _native.KeyIndex(key).add_columns(indptr, key, None, np.zeros((1, 2)))
