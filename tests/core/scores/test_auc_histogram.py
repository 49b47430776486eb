"""AUC and average precision from a histogram: against scikit-learn, every pair, and their own bound."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import metrics

from tests.reference.core import scores as slow
from thresher.core.memory import MB
from thresher.core.scores.auc_histogram import BINS, AucHistogram, bins_of

MARGINS = st.one_of(
    st.floats(-8, 8),
    st.floats(4.99, 5.01),  # crowded: many share a bin
    st.sampled_from([0.0, -0.0, 0.5, -0.5, 1e-300, -1e300]),
)
WEIGHTS = st.floats(0.01, 100)
ROWS = st.lists(st.tuples(MARGINS, st.booleans(), WEIGHTS), min_size=1, max_size=40)


def columns(rows):
    margins, positive, weight = zip(*rows, strict=True)
    return np.array(margins), np.array(positive), np.array(weight)


def histogram_of(margins, positive, weight=None):
    histogram = AucHistogram()
    histogram.add(margins, positive, np.ones(len(margins)) if weight is None else weight)
    return histogram


def bytes_of(histogram):
    return {name: (array.shape, array.tobytes()) for name, array in histogram.state().items()}


def drawn(n, rate, centre, spread, seed=0):
    """Margins of two classes, 1.2 spreads apart."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < rate
    return centre + spread * (rng.normal(size=n) + 1.2 * positive), positive


# ── bins ─────────────────────────────────────────────────────────────────────────────────────────


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_bins_keep_the_order_and_mirror_it(margins):
    margins = np.sort(np.array(margins))
    bins = bins_of(margins)
    assert (np.diff(bins) >= 0).all()
    assert bins[0] >= 0
    assert bins[-1] < BINS
    np.testing.assert_array_equal(bins_of(-margins), BINS - 1 - bins)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_two_margins_share_a_bin_when_their_leading_bits_agree(a, b):
    same = slow.rounded(a) == slow.rounded(b)
    assert same == (bins_of(np.array([a])) == bins_of(np.array([b])))[0]


@pytest.mark.parametrize(
    ("size", "width"), [(2.0**-5, 2**-11), (31.9, 2**-11), (2e-5, 2**-9), (1000, 2**-9), (1e9, 2**-4)]
)
def test_bins_are_as_narrow_as_they_say(size, width):
    near = np.array([size, size * (1 + 1.01 * width)])
    assert np.diff(bins_of(near))[0] >= 1
    assert np.diff(bins_of(-near))[0] <= -1


def test_a_histogram_takes_at_most_a_megabyte():
    histogram = AucHistogram()
    assert histogram._weights.nbytes <= MB
    everywhere = np.arange(0, 0x7F800000, 1 << 12, np.uint32).view(np.float32).astype(np.float64)
    for margins in (everywhere, -everywhere):
        histogram.add(margins, np.ones(len(margins), bool), np.ones(len(margins)))
    assert histogram.state()["score_bin_weights"].shape == (2, BINS)
    assert sum(array.nbytes for array in histogram.state().values()) <= MB


# ── scores ───────────────────────────────────────────────────────────────────────────────────────


@given(ROWS)
def test_the_scores_are_those_of_the_rounded_margins(rows):
    margins, positive, weight = columns(rows)
    assume(0 < positive.sum() < len(rows))
    result = histogram_of(margins, positive, weight).result()
    short = [slow.rounded(margin) for margin in margins]
    assert result["auc"] == pytest.approx(slow.auc(short, positive, weight), rel=1e-9)
    assert result["average_precision"] == pytest.approx(slow.average_precision(short, positive, weight), rel=1e-9)
    oracle = metrics.average_precision_score(positive, short, sample_weight=weight)
    assert result["average_precision"] == pytest.approx(oracle, rel=1e-9)


@given(ROWS)
def test_the_auc_is_off_by_no_more_than_it_says(rows):
    margins, positive, weight = columns(rows)
    assume(0 < positive.sum() < len(rows))
    histogram = histogram_of(margins, positive, weight)
    exact = metrics.roc_auc_score(positive, margins, sample_weight=weight)
    assert abs(histogram.result()["auc"] - exact) <= histogram.auc_error() + 1e-9


def test_the_bound_can_be_reached():
    margins = np.array([5.0, 5.0001])
    histogram = histogram_of(margins, np.array([False, True]))
    assert histogram.result()["auc"] == 0.5  # truly 1
    assert histogram.auc_error() == 0.5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n", "rate", "centre", "spread"),
    [(100_000, 0.5, 0, 1), (100_000, 0.03, -4, 1), (20_000, 0.3, -1, 2), (2_000, 0.3, 0, 2), (100_000, 0.01, -5, 0.7)],
)
def test_usual_margins_score_as_with_scikit_learn(n, rate, centre, spread, weighted):
    margins, positive = drawn(n, rate, centre, spread)
    weight = np.random.default_rng(1).gamma(2.0, size=n) if weighted else None
    result = histogram_of(margins, positive, weight).result()
    auc = metrics.roc_auc_score(positive, margins, sample_weight=weight)
    average = metrics.average_precision_score(positive, margins, sample_weight=weight)
    assert result["auc"] == pytest.approx(auc, abs=1e-5)
    assert result["average_precision"] == pytest.approx(average, abs=1e-4)


def test_ties_are_exact():
    rng = np.random.default_rng(3)
    margins = rng.choice([-1.75, -0.5, 0.0, 0.25, 3.0], 5000)
    positive = rng.random(5000) < 1 / (1 + np.exp(-margins))
    result = histogram_of(margins, positive).result()
    assert result["auc"] == pytest.approx(metrics.roc_auc_score(positive, margins), rel=1e-12)
    assert result["average_precision"] == pytest.approx(metrics.average_precision_score(positive, margins), rel=1e-12)


@given(st.floats(allow_nan=False), st.lists(st.tuples(st.booleans(), WEIGHTS)))
def test_equal_margins_rank_nothing(margin, rows):
    rows = [(True, 1.0), (False, 1.0), *rows]
    positive, weight = (np.array(column) for column in zip(*rows, strict=True))
    result = histogram_of(np.full(len(rows), margin), positive, weight).result()
    assert result["auc"] == 0.5
    assert result["average_precision"] == pytest.approx(weight[positive].sum() / weight.sum(), rel=1e-12)


def test_one_class_ranks_nothing():
    margins = np.array([1.0, 2.0])
    assert AucHistogram().result() == {}
    assert AucHistogram().auc_error() == 0.0
    assert histogram_of(margins, np.array([True, True])).result() == {}
    assert histogram_of(margins, np.array([False, False])).result() == {}
    assert histogram_of(margins, np.array([True, False]), np.array([1.0, 0.0])).result() == {}


def test_perfect_and_worst():
    margins, positive = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True])
    assert histogram_of(margins, positive).result() == {
        "auc": 1.0,
        "average_precision": 1.0,
        "balanced_accuracy": 1.0,
        "largest_class": 0.5,
    }
    assert histogram_of(-margins, positive).result()["auc"] == 0.0


# ── batches, states ──────────────────────────────────────────────────────────────────────────────


@given(ROWS, st.lists(st.integers(0, 40), max_size=5))
def test_where_batches_end_changes_no_bit(rows, cuts):
    margins, positive, weight = columns(rows)
    parts = AucHistogram()
    for part in np.split(np.arange(len(rows)), sorted(cuts)):
        parts.add(margins[part], positive[part], weight[part])
        again = AucHistogram()
        again.restore(parts.state())
        parts = again
    assert bytes_of(parts) == bytes_of(histogram_of(margins, positive, weight))


@given(ROWS, ROWS)
def test_merging_is_adding_the_other_rows(first, second):
    merged, other = histogram_of(*columns(first)), histogram_of(*columns(second))
    merged.merge(other)
    whole = histogram_of(*columns(first + second))
    np.testing.assert_allclose(merged._weights, whole._weights, rtol=1e-12)
    assert merged.result() == pytest.approx(whole.result(), rel=1e-9)


@given(ROWS)
def test_turning_round_is_negating(rows):
    margins, positive, weight = columns(rows)
    flipped = histogram_of(margins, positive, weight).result(flip_sign=True)
    assert flipped == histogram_of(-margins, ~positive, weight).result()


@pytest.mark.parametrize(
    "change",
    [
        {"score_bins": np.zeros(3, np.uint8)},
        {"score_bins": np.zeros((BINS + 7) // 8, np.int64)},
        {"score_bins": np.zeros((BINS + 7) // 8, np.uint8)},
        {"score_bin_weights": np.ones((2, 3))},
        {"score_bin_weights": -np.ones((2, 2))},
        {"score_bin_weights": np.full((2, 2), np.nan)},
        {"score_bin_weights": np.ones((2, 2), np.float32)},
    ],
)
def test_states_that_are_none(change):
    state = histogram_of(np.array([0.0, 1.0]), np.array([True, False])).state()
    with pytest.raises(ValueError, match="score_bin"):
        AucHistogram().restore(state | change)
