"""The table of the k largest weights equals a dictionary and a sort, whatever is done to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.native.base.rows import KEYS
from tests.reference.core import topk
from thresher import _native

# Ties in plenty, both signs, both zeros.
WEIGHTS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 5e-324, 1e300]) | st.floats(-3, 3)
NAMES = st.text(alphabet="aé語𝄞", max_size=6)


def same(table: _native.TopK, twin: topk.TopK, limit: int) -> None:
    """Everything that can be asked of the two is equal."""
    assert len(table) == len(twin)
    keys, weights, counts, names = table.rows(limit)
    assert repr((keys.tolist(), weights.tolist(), counts.tolist(), names)) == repr(twin.rows(limit))


@examples(300)
@given(
    st.integers(1, 6),
    st.integers(0, 12),
    st.lists(st.tuples(KEYS, WEIGHTS, NAMES), max_size=60),
    st.integers(0, 8),
)
def test_any_operations(k, name_cap, operations, limit):
    """After every operation, down to who has just left and how names are cut."""
    table, twin = _native.TopK(k, name_cap), topk.TopK(k, name_cap)
    for key, weight, name in operations:
        assert table.put(key, weight, name) == twin.put(key, weight, name.encode())
        assert table.weight(key) == twin.weight(key)
        same(table, twin, limit)
    same(table, twin, k)


@examples(80)
@given(
    st.integers(1, 6),
    st.lists(KEYS, unique=True, max_size=6),
    st.lists(st.tuples(KEYS, WEIGHTS, NAMES), max_size=60),
)
def test_pinned_features_never_leave(k, pinned, operations):
    """Whatever is put: the others compete for the slots that are left, before and after the table is cleared."""
    table, twin = _native.TopK(k), topk.TopK(k)
    for key in pinned[:k]:
        table.pin(key, "p")
        twin.pin(key, b"p")
    same(table, twin, k)
    for key, weight, name in operations:
        assert table.put(key, weight, name) == twin.put(key, weight, name.encode())
        same(table, twin, k)
    table.clear()
    assert sorted(table.rows(k)[0].tolist()) == sorted(pinned[:k])


def test_a_table_pins_at_most_k_features_before_all_others():
    """Anything else is an error."""
    table = _native.TopK(2)
    table.pin(1)
    with pytest.raises(ValueError, match="twice"):
        table.pin(1)
    table.put(2, 1.0)
    with pytest.raises(ValueError, match="before all others"):
        table.pin(3)


@pytest.mark.parametrize("seed", range(3))
def test_many_operations(seed):
    """Thousands of arrivals, growth and decay in a table of 50: its index sees long runs and many removals."""
    rng = np.random.default_rng(seed)
    table, twin = _native.TopK(50), topk.TopK(50)
    for key in rng.zipf(1.2, 6000) % 400:
        weight = float(rng.normal()) if rng.random() < 0.5 else 0.9 * (twin.weight(int(key)) or 1.0)
        assert table.put(int(key), weight) == twin.put(int(key), weight)
    same(table, twin, 50)


def test_ties_go_to_the_smaller_key():
    """Of equal magnitudes the smaller key stays, whenever it came."""
    table = _native.TopK(2)
    assert [table.put(key, weight) for key, weight in [(5, 1.0), (3, -1.0), (9, 1.0), (4, -1.0)]] == [1, 1, 0, 1]
    assert table.rows(9)[0].tolist() == [3, 4]
    assert table.weight(5) is None


def test_a_weight_that_fell_leaves_first():
    """A feature that was strong and is weak now goes before one that never was strong."""
    table = _native.TopK(2)
    for key, weight in [(1, 9.0), (2, 1.0), (1, 0.5)]:
        table.put(key, weight)
    assert table.put(3, 0.75)
    assert table.rows(9)[0].tolist() == [2, 3]
    assert table.rows(9)[2].tolist() == [1, 1]


def test_a_weight_that_grew_stays():
    """A feature that came in weak and is strong now is not mistaken for the weakest."""
    table = _native.TopK(2)
    for key, weight in [(1, 0.1), (2, 1.0), (1, 5.0), (1, 5.0)]:
        table.put(key, weight)
    assert not table.put(3, 0.75)
    assert table.put(4, 2.0)
    assert table.rows(9)[0].tolist() == [1, 4]
    assert table.rows(9)[2].tolist() == [3, 1]


def test_names_are_cut_between_characters():
    """A name at its cap keeps whole characters only."""
    table = _native.TopK(1, 4)
    table.put(1, 1.0, "aé語")
    assert table.rows(1)[3] == ["aé".encode()]
    table.put(2, 2.0, "")
    assert table.rows(1)[3] == [b""]


@pytest.mark.parametrize("k", [0, 2**40])
def test_sizes_that_make_no_sense(k):
    """No room at all, or more than slots can number."""
    with pytest.raises(ValueError, match="top-k"):
        _native.TopK(k)


def test_planned_bytes_cover_the_names_and_grow_with_the_table():
    """The plan counts every name at its cap, and the table besides."""
    assert _native.TopK.planned_bytes(1000, 256) > 1000 * 256
    assert _native.TopK.planned_bytes(2000, 256) > 1.9 * _native.TopK.planned_bytes(1000, 256)
    # A slot with numbers of its own takes a line of memory.
    assert _native.TopK.planned_bytes(1000, 256, 3) == _native.TopK.planned_bytes(1000, 256) + 1000 * (64 - 24)
