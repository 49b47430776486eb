"""Columns of rows, dense and sparse, and sums over streams: against plain NumPy, and against each other to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.reference.fgm import working_set as reference
from thresher import _native

POOL = _native.ThreadPool(2)


def compressed(x: np.ndarray[Any, Any], keys: np.ndarray[Any, Any], ones: bool) -> tuple[Any, Any, Any]:
    """A matrix as rows of a batch, its columns under these keys."""
    rows, columns = np.nonzero(x)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(x, axis=1))]).astype(np.int64)
    return indptr, keys[columns], None if ones else x[rows, columns].astype(np.float32)


def store_of(parts: list[tuple[Any, Any, Any]], weights: Any = None, pool: Any = POOL) -> _native.ColumnStore:
    store = _native.ColumnStore()
    for part in parts:
        store.add(*part)
    store.finish(pool, weights)
    return store


@st.composite
def matrices(draw: Any) -> tuple[Any, Any, bool]:
    """Some rows with few distinct values (so that scores tie), keys anywhere, all ones or not.

    Sums of such values are exact, so that a score is zero or equals another one in every order of summation.
    """
    rows, columns = draw(st.integers(1, 12)), draw(st.integers(1, 15))
    ones = draw(st.booleans())
    values = st.sampled_from([0.0, 0.0, 1.0] if ones else [0.0, 0.0, 1.0, -2.5, 0.125])
    x = np.array(draw(st.lists(values, min_size=rows * columns, max_size=rows * columns)), np.float32)
    keys = draw(st.lists(st.integers(0, 2**64 - 1), min_size=columns, max_size=columns, unique=True))
    return x.reshape(rows, columns), np.array(keys, np.uint64), ones


@examples(60)
@given(matrices(), st.integers(1, 20), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 1000))
def test_top_is_the_best_scores(data: Any, most: int, power: float, seed: int) -> None:
    x, keys, ones = data
    rng = np.random.default_rng(seed)
    residuals = rng.integers(-3, 4, size=(2, len(x))).astype(float)
    weights = rng.integers(1, 3, size=len(x)).astype(float)
    half = len(x) // 2
    store = store_of([compressed(part, keys, ones) for part in (x[:half], x[half:])], weights)
    assert store.columns == np.count_nonzero((x != 0).any(axis=0))
    order = np.argsort(keys)
    for residual, (found, scores) in zip(residuals, store.top(residuals, most, np.full(2, power), POOL), strict=True):
        expected = reference.scores(x[:, order].astype(float), residual, power=power, weights=weights)
        chosen = reference.best(expected, most)
        assert np.allclose(scores * weights.sum() ** power, expected[chosen])
        # Of scores that are equal but for the rounding of the reference, either column may be the one.
        places = np.searchsorted(keys[order], found)
        assert keys[order][places].tolist() == found.tolist()
        assert len(set(places.tolist())) == len(places)
        assert np.allclose(expected[places], expected[chosen])
        if power == 0:  # no rounding at all: ties go to the smaller key
            assert chosen == places.tolist()


@examples(40)
@given(matrices(), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 1000))
def test_dense_stored_and_streamed_agree_to_the_bit(data: Any, power: float, seed: int) -> None:
    x, _, ones = data
    keys = np.arange(x.shape[1], dtype=np.uint64)
    rng = np.random.default_rng(seed)
    residuals = rng.normal(size=(7, len(x)))  # read in groups of 4, 2 and 1
    powers, weights = np.full(7, power), rng.random(len(x))
    row_parts = [compressed(row[None, :], keys, ones) for row in x]
    expected = store_of([compressed(x, keys, ones)], weights).top(residuals, 5, powers, POOL)
    answers = [store_of(row_parts, weights, _native.ThreadPool(1)).top(residuals, 5, powers, _native.ThreadPool(3))]
    for dtype, kind in ((np.float32, _native.DenseColumns32), (np.float64, _native.DenseColumns64)):
        for layout in (np.ascontiguousarray, np.asfortranarray):
            dense = kind(layout(x.astype(dtype)), weights)
            answers.append(dense.top(residuals, 5, powers, POOL))
            assert dense.finite(POOL)
    sums = _native.KeySums(7, 1 << 20, 0, 2**64 - 1)
    for i, part in enumerate(row_parts):
        sums.add(*part, residuals, i, weights)
    answers.append(sums.top(5, power))
    for answer in answers:
        for (ids, scores), (their_ids, their_scores) in zip(answer, expected, strict=True):
            assert ids.tolist() == their_ids.tolist()
            assert scores.tolist() == their_scores.tolist()


def test_a_key_twice_in_a_row_counts_once_with_the_sum() -> None:
    indptr = np.array([0, 3, 4], np.int64)
    keys = np.array([7, 9, 7, 7], np.uint64)
    residuals = np.array([[1.0, 10.0]])
    store = store_of([(indptr, keys, None)])
    taken_indptr, rows, values, squares = store.take(np.array([7, 8, 9], np.uint64), POOL)
    assert taken_indptr.tolist() == [0, 2, 2, 3]
    assert rows.tolist() == [0, 1, 0]
    assert values.tolist() == [2.0, 1.0, 1.0]
    assert squares.tolist() == [5.0, 0.0, 1.0]
    sums = _native.KeySums(1, 0, 0, 2**64 - 1)
    sums.add(indptr, keys, None, residuals, 0)
    for found in (store.top(residuals, 5, np.zeros(len(residuals)), POOL), sums.top(5, False)):
        assert found[0][0].tolist() == [7, 9]
        assert found[0][1].tolist() == [144.0, 1.0]


def test_many_keys_in_little_memory_take_several_ranges() -> None:
    rng = np.random.default_rng(0)
    n, per_row = 400, 30
    keys = rng.integers(0, 2**64, size=(n, per_row), dtype=np.uint64)
    keys[:, 0] = 5
    indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int64)
    values = rng.normal(size=n * per_row).astype(np.float32)
    residuals = rng.normal(size=(1, n))
    expected = store_of([(indptr, keys.ravel(), values)]).top(residuals, 7, np.ones(1), POOL)[0]
    begin, ids, scores, passes = 0, [], [], 0
    while begin < 2**64:
        sums = _native.KeySums(1, 1 << 16, begin, 2**64 - 1)
        sums.add(indptr, keys.ravel(), values, residuals, 0)
        (found, theirs), *_ = sums.top(7, True)
        ids += found.tolist()
        scores += theirs.tolist()
        begin = sums.end + 1
        passes += 1
    assert passes > 3
    order = sorted(range(len(ids)), key=lambda i: (-scores[i], ids[i]))[:7]
    assert [ids[i] for i in order] == expected[0].tolist()
    assert [scores[i] for i in order] == expected[1].tolist()


def test_sums_of_wanted_keys() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 30)).astype(np.float32) * (rng.random((50, 30)) < 0.3)
    keys = rng.permutation(1000)[:30].astype(np.uint64)
    residual = rng.normal(size=50)
    wanted = np.array([keys[3], 12345, keys[0], keys[3]], np.uint64)
    sums, squares = store_of([compressed(x, keys, False)]).sums(residual, wanted, POOL)
    wide = x.astype(float)
    assert np.allclose(sums, [residual @ wide[:, 3], 0.0, residual @ wide[:, 0], residual @ wide[:, 3]])
    assert np.allclose(squares, [(wide[:, 3] ** 2).sum(), 0.0, (wide[:, 0] ** 2).sum(), (wide[:, 3] ** 2).sum()])
    dense = _native.DenseColumns32(x)
    assert np.allclose(dense.sums(residual, np.array([3, 99], np.uint64), POOL)[0], [residual @ wide[:, 3], 0.0])


def test_bad_arguments_are_refused() -> None:
    store = store_of([(np.array([0, 1], np.int64), np.array([1], np.uint64), None)])
    with pytest.raises(ValueError, match="one residual a row"):
        store.top(np.zeros((1, 2)), 1, np.ones(1), POOL)
    with pytest.raises(ValueError, match="one power a residual"):
        store.top(np.zeros((1, 1)), 1, np.ones(2), POOL)
    with pytest.raises(ValueError, match="one weight a row"):
        _native.DenseColumns64(np.zeros((2, 2)), np.zeros(3))
    with pytest.raises(ValueError, match="contiguous"):
        _native.DenseColumns64(np.zeros((4, 4))[::2, ::2])
    assert not _native.DenseColumns64(np.array([[np.inf, 1.0]])).finite(POOL)


@examples(40)
@given(matrices(), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 6), st.integers(0, 1000))
def test_bounds_rule_out_nothing_that_is_among_the_best(data: Any, power: float, most: int, seed: int) -> None:
    x, keys, ones = data
    rng = np.random.default_rng(seed)
    rows = compressed(x, keys, ones)
    residuals, weights = rng.normal(size=(2, len(x))), rng.random(len(x)) + 0.1
    whole = _native.KeySums(2, 1 << 20, 0, 2**64 - 1)
    whole.add(*rows, residuals, 0, weights)
    expected = whole.top(most, power)
    bounds = _native.KeyBounds(2, 0, power)
    bounds.add(*rows, residuals, 0, weights)
    bounds.set_floors([scores[-1] if len(scores) else 0.0 for _, scores in expected])
    fewer = _native.KeySums(2, 1 << 20, 0, 2**64 - 1)
    fewer.add(*rows, residuals, 0, weights, bounds)
    for (ids, scores), (their_ids, their_scores) in zip(fewer.top(most, power), expected, strict=True):
        assert ids.tolist() == their_ids.tolist()
        assert scores.tolist() == their_scores.tolist()


def test_bounds_rule_out_what_is_rare() -> None:
    indptr = np.arange(0, 2001, 2, dtype=np.int64)  # a key of every row, and one of that row alone
    keys = np.stack([np.zeros(1000), np.arange(1, 1001)], axis=1).astype(np.uint64).ravel()
    residuals = np.ones((1, 1000))
    bounds = _native.KeyBounds(1, 1 << 20, 1.0)
    bounds.add(indptr, keys, None, residuals, 0)
    bounds.set_floors([1000.0])
    sums = _native.KeySums(1, 1 << 20, 0, 2**64 - 1)
    sums.add(indptr, keys, None, residuals, 0, None, bounds)
    assert sums.keys < 10
    assert sums.top(1, 1.0)[0][0].tolist() == [0]
