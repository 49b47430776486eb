"""Scores of every task: against scikit-learn, to the bit for any cut of the rows, saved and merged."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from tests.examples import examples
from tests.reference.core import losses as slow_losses
from tests.reference.core import scores as slow
from thresher.core.losses import get_loss
from thresher.core.scores.metrics import Scores
from thresher.errors import SettingsError

BINARY = ["logistic", "hinge", "squared_hinge"]
CLASSES, LABELS = 4, 3
TASKS = [*BINARY, "squared", "huber:0.5", "softmax", "labels"]


def fresh(task):
    return Scores(get_loss("logistic" if task == "labels" else task), CLASSES if task == "softmax" else 2)


def rows_of(task, n, seed=0, *, weighted=True):
    """Margins, targets and weights of a problem that is neither hopeless nor done."""
    rng = np.random.default_rng(seed)
    weight = rng.gamma(1.0, size=n).astype(np.float32) if weighted else None
    if task == "softmax":
        y = rng.integers(0, CLASSES, n)
        return rng.normal(size=(n, CLASSES)) + 1.5 * np.eye(CLASSES)[y], y.astype(np.float64), weight
    if task == "labels":
        y = np.where(rng.random((n, LABELS)) < [0.1, 0.5, 0.8], 1.0, -1.0)
        return y + rng.normal(size=(n, LABELS)), y, weight
    if get_loss(task).task == "real":
        y = 1e6 + 10 * rng.normal(size=n)
        return y + rng.normal(size=n), y, weight
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    return np.round(y + rng.normal(size=n), 1), y, weight


def scored(task, margins, y, weight, cuts=()):
    """The scores of rows cut into batches."""
    scores = fresh(task)
    for part in np.split(np.arange(len(margins)), sorted(cuts)):
        scores.add(margins[part], y[part], None if weight is None else weight[part])
    return scores


def bytes_of(scores):
    return {name: (array.shape, array.tobytes()) for name, array in scores.state().items()}


# ── against scikit-learn ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", BINARY)
def test_two_classes(loss, weighted):
    margins, y, weight = rows_of(loss, 3000, weighted=weighted)
    result = scored(loss, margins, y, weight).result()
    assert list(result) == [
        "rows",
        "accuracy",
        "auc",
        "average_precision",
        "balanced_accuracy",
        "largest_class",
        "log_loss" if loss == "logistic" else "loss",
    ]
    assert result["rows"] == 3000
    truth = y > 0
    assert result["accuracy"] == pytest.approx(metrics.accuracy_score(truth, margins > 0, sample_weight=weight))
    # Margins of one digit lie apart: no two values share a bin.
    assert result["auc"] == pytest.approx(metrics.roc_auc_score(truth, margins, sample_weight=weight))
    average = metrics.average_precision_score(truth, margins, sample_weight=weight)
    assert result["average_precision"] == pytest.approx(average)
    balanced = metrics.balanced_accuracy_score(truth, margins > 0, sample_weight=weight)
    assert result["balanced_accuracy"] == pytest.approx(balanced)
    share = np.average(truth, weights=weight)
    assert result["largest_class"] == pytest.approx(max(share, 1 - share))
    if loss == "logistic":
        proba = 1 / (1 + np.exp(-margins))
        assert result["log_loss"] == pytest.approx(metrics.log_loss(truth, proba, sample_weight=weight))
    elif loss == "hinge":
        assert result["loss"] == pytest.approx(metrics.hinge_loss(truth, margins, sample_weight=weight))
    else:
        gap = np.maximum(0, 1 - y * margins)
        assert result["loss"] == pytest.approx(np.average(gap**2 / 2, weights=weight))


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers(weighted):
    margins, y, weight = rows_of("squared", 3000, weighted=weighted)
    result = scored("squared", margins, y, weight).result()
    assert list(result) == ["rows", "rmse", "r2", "loss"]
    mse = metrics.mean_squared_error(y, margins, sample_weight=weight)
    assert result["rmse"] == pytest.approx(mse**0.5, rel=1e-9)
    assert result["r2"] == pytest.approx(metrics.r2_score(y, margins, sample_weight=weight), rel=1e-9)
    assert result["loss"] == pytest.approx(mse / 2, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_several_classes(weighted):
    margins, y, weight = rows_of("softmax", 3000, weighted=weighted)
    result = scored("softmax", margins, y, weight).result()
    assert list(result) == ["rows", "accuracy", "balanced_accuracy", "largest_class", "log_loss"]
    chosen = margins.argmax(axis=1)
    assert result["accuracy"] == pytest.approx(metrics.accuracy_score(y, chosen, sample_weight=weight))
    balanced = metrics.balanced_accuracy_score(y, chosen, sample_weight=weight)
    assert result["balanced_accuracy"] == pytest.approx(balanced)
    shares = np.bincount(y.astype(np.int64), weights=weight) / (len(y) if weight is None else weight.sum())
    assert result["largest_class"] == pytest.approx(shares.max())
    proba = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    assert result["log_loss"] == pytest.approx(metrics.log_loss(y, proba, sample_weight=weight))
    assert result == scored("softmax", margins, y.astype(np.int64), weight).result()


def test_two_classes_of_softmax_are_scored_as_two_classes():
    margins = np.array([1.0, 0.5, -0.25, 2.0])
    y = np.array([1, 0, 1, 1])
    softmax, logistic = Scores(get_loss("softmax"), 2), Scores(get_loss("logistic"))
    softmax.add(np.stack([0 * margins, margins], axis=1), y)
    logistic.add(margins, 2 * y - 1)
    found = softmax.result()
    assert found == pytest.approx({name: logistic.result()[name] for name in found})
    assert (found["balanced_accuracy"], found["largest_class"]) == (pytest.approx(1 / 3), 0.75)


def test_margins_of_zero_are_for_the_negative_class_also_with_the_sign_flipped():
    scores = Scores(get_loss("logistic"))
    scores.add(np.array([0.0, 0.0, 1.0, 1.0, -1.0]), np.array([1, -1, 1, -1, 1]))
    assert scores.result()["balanced_accuracy"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    # The classes are swapped, and all margins negated.
    assert scores.result(flip_sign=True)["balanced_accuracy"] == pytest.approx((0 / 2 + 2 / 3) / 2)


def test_classes_that_never_came_do_not_count():
    scores = Scores(get_loss("softmax"), 5)
    scores.add(np.eye(5)[[0, 1, 3, 3]], np.array([0, 1, 1, 1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class is predicted that no row has
        expected = metrics.balanced_accuracy_score([0, 1, 1, 1], [0, 1, 3, 3])
    assert scores.result()["balanced_accuracy"] == pytest.approx(expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_several_labels_a_row(weighted):
    margins, y, weight = rows_of("labels", 2000, weighted=weighted)
    result = scored("labels", margins, y, weight).result()
    assert list(result) == ["rows", "micro_f1", "macro_f1", "hamming_accuracy", "log_loss"]
    true, given = y > 0, margins > 0
    for kind in ("micro", "macro"):
        expected = metrics.f1_score(true, given, average=kind, sample_weight=weight)
        assert result[f"{kind}_f1"] == pytest.approx(expected)
    assert result["hamming_accuracy"] == pytest.approx(1 - metrics.hamming_loss(true, given, sample_weight=weight))
    each = [
        metrics.log_loss(t, p, sample_weight=weight) for t, p in zip(true.T, 1 / (1 + np.exp(-margins.T)), strict=True)
    ]
    assert result["log_loss"] == pytest.approx(np.mean(each))


def test_labels_neither_met_nor_given():
    y = np.array([[1, -1], [-1, -1]])
    result = scored("labels", np.where(y > 0, 0.5, -0.5), y, None).result()
    assert result["macro_f1"] == result["micro_f1"] == 1.0
    none = scored("labels", np.full((2, 2), -1.0), np.full((2, 2), -1), None).result()
    assert list(none) == ["rows", "hamming_accuracy", "log_loss"]


# ── what is not defined, what is extreme ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("task", TASKS)
def test_no_rows_no_scores(task):
    margins, y, weight = rows_of(task, 5)
    scores = scored(task, margins[:0], y[:0], weight[:0])
    assert scores.result() == {}
    scores.add(margins, y, np.zeros(5))
    assert scores.rows == 5
    assert scores.result() == {}


def test_one_class_has_no_ranking():
    assert list(scored("hinge", np.array([1.0, -1.0]), np.ones(2), None).result()) == ["rows", "accuracy", "loss"]


def test_equal_margins_give_half():
    result = scored("logistic", np.full(5, -2.5), np.array([1.0, -1, -1, 1, -1]), None).result()
    assert result["auc"] == 0.5
    assert result["average_precision"] == pytest.approx(0.4)
    assert result["accuracy"] == pytest.approx(0.6)


@pytest.mark.parametrize("y", [[0.1], [0.1] * 7])
def test_equal_targets_have_no_r2(y):
    assert list(scored("squared", np.ones(len(y)), np.array(y), None).result()) == ["rows", "rmse", "loss"]


def test_weightless_rows_change_nothing():
    """Also where they come first, and the origin of the targets is theirs."""
    margins, y, weight = rows_of("squared", 50)
    more = scored("squared", np.r_[0, margins, 7], np.r_[1e3, y, 0], np.r_[0, weight, 0])
    assert more.result() == pytest.approx(scored("squared", margins, y, weight).result() | {"rows": 52}, rel=1e-6)


@pytest.mark.parametrize("outlier", [0.0, 1e9])
def test_the_spread_keeps_its_digits(outlier):
    """Far from zero, and with a first target far from all others."""
    rng = np.random.default_rng(5)
    y = np.r_[1e9 + outlier, 1e9 + rng.normal(size=999)]
    weight = rng.random(1000)
    scores = scored("squared", y + 1, y, weight)
    assert scores._sums.table[4] == pytest.approx(slow.spread(y, weight), rel=1e-7)


def test_hopeless_predictions_score_infinitely_badly():
    result = scored("squared", np.array([1e200, 0.0]), np.array([0.0, 1.0]), None).result()
    assert result["rmse"] == result["loss"] == np.inf
    assert result["r2"] == -np.inf


@pytest.mark.parametrize("task", TASKS)
def test_what_is_not_a_number_is_refused(task):
    margins, y, weight = rows_of(task, 5)
    margins[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fresh(task).add(margins, y, weight)


# ── batches, states, merging ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("task", BINARY)
def test_the_sums_are_those_of_a_plain_loop(task):
    margins, y, weight = rows_of(task, 500)
    scores = scored(task, margins, y, weight, [100, 333])
    total = slow.running_sum(weight)
    right = slow.running_sum(w * ((m > 0) == (t > 0)) for m, t, w in zip(margins, y, weight, strict=True))
    assert scores.result()["accuracy"] == right / total
    loss = slow.running_sum(
        float(w) * slow_losses.value(task, 1.0, m, t) for m, t, w in zip(margins, y, weight, strict=True)
    )
    assert list(scores.result().values())[-1] == pytest.approx(loss / total, rel=1e-14)


@examples(30)
@given(st.sampled_from(TASKS), st.lists(st.integers(0, 60), max_size=6), st.integers(0, 5), st.booleans())
def test_where_batches_end_changes_no_bit(task, cuts, seed, weighted):
    rows = rows_of(task, 60, seed, weighted=weighted)
    whole, parts = scored(task, *rows), scored(task, *rows, cuts)
    assert bytes_of(parts) == bytes_of(whole)
    assert parts.result() == whole.result()


@examples(30)
@given(st.sampled_from(TASKS), st.integers(0, 60), st.integers(0, 5))
def test_saved_scores_go_on_where_they_stood(task, cut, seed):
    margins, y, weight = rows_of(task, 60, seed)
    first = scored(task, margins[:cut], y[:cut], weight[:cut])
    again = fresh(task)
    again.restore({"keys": np.zeros(3), **{name: array.copy() for name, array in first.state().items()}})
    before = bytes_of(first)
    again.add(margins[cut:], y[cut:], weight[cut:])
    assert bytes_of(again) == bytes_of(scored(task, margins, y, weight))
    assert bytes_of(first) == before


@examples(30)
@given(st.sampled_from(TASKS), st.lists(st.integers(0, 60), max_size=3), st.integers(0, 5))
def test_merged_scores_are_those_of_all_rows(task, cuts, seed):
    margins, y, weight = rows_of(task, 60, seed)
    merged = fresh(task)
    for part in np.split(np.arange(60), sorted(cuts)):
        other = scored(task, margins[part], y[part], weight[part])
        before = bytes_of(other)
        merged.merge(other)
        assert bytes_of(other) == before
    assert merged.result() == pytest.approx(scored(task, margins, y, weight).result(), rel=1e-9)
    merged.add(margins, y, weight)  # still of use
    assert merged.rows == 120


@pytest.mark.parametrize("weights", [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0)])
def test_merging_rows_without_weight(weights):
    margins, y, _ = rows_of("squared", 20)
    weight = np.repeat(weights, 10)
    merged = scored("squared", margins[:10], y[:10], weight[:10])
    merged.merge(scored("squared", margins[10:], y[10:], weight[10:]))
    assert merged.result() == pytest.approx(scored("squared", margins, y, weight).result(), rel=1e-9)


@pytest.mark.parametrize("loss", BINARY)
def test_a_flipped_sign_is_the_negated_model_on_negated_targets(loss):
    margins, y, weight = rows_of(loss, 400)
    assert (margins == 0).any()  # a margin of zero is on no side, and turns with the classes
    scores = scored(loss, margins, y, weight)
    assert scores.result(flip_sign=True) == scored(loss, -margins, -y, weight).result()
    assert scores.result(flip_sign=True) != scores.result()


def test_what_does_not_fit_is_refused():
    some = scored("logistic", *rows_of("logistic", 10))
    with pytest.raises(SettingsError, match="cannot be merged"):
        some.merge(fresh("hinge"))
    with pytest.raises(SettingsError, match="numbers of labels"):
        some.merge(scored("labels", *rows_of("labels", 10)))
    with pytest.raises(SettingsError, match="cannot be merged"):
        Scores(get_loss("softmax"), 3).merge(Scores(get_loss("softmax"), 4))


@pytest.mark.parametrize("task", TASKS)
def test_states_that_are_none(task):
    state = scored(task, *rows_of(task, 10)).state()
    for name in state:
        with pytest.raises(KeyError, match=name):
            fresh(task).restore({key: array for key, array in state.items() if key != name})
        for bad in (state[name].astype(np.float32), state[name].ravel()[:1]):
            with pytest.raises(ValueError, match="score_"):
                fresh(task).restore(state | {name: bad})
    with pytest.raises(ValueError, match="score_sums"):
        fresh(task).restore(state | {"score_sums": np.array([-1.0, 1.0, 1.0])})
    other = "squared" if task == "softmax" else "softmax"
    with pytest.raises(ValueError, match="score_table"):
        fresh(other).restore(state)
