"""The online engine: batching, state, merging, results, and rejected settings."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.streams import planted, planted_outputs
from thresher import _native
from thresher.core.batch import Batch, Names
from thresher.core.losses import get_loss
from thresher.errors import DataError, SettingsError
from thresher.online.engine import OnlineEngine, OnlineSettings
from thresher.sources.arrays import SparseSource

ROWS = 200
X, Y = planted(rows=ROWS, width=60, support=(1, 5, 30))
RNG = np.random.default_rng(0)
CLASSES = RNG.integers(0, 3, ROWS).astype(np.float64)
LABELS = RNG.choice([-1.0, 1.0], (ROWS, 3))

METHODS: tuple[dict[str, Any], ...] = (
    {"method": "iht"},
    {"method": "iht", "step": 0.1},
    {"method": "mission", "sketch": (3, 17)},
    {"method": "mission", "sketch": (1, 30), "step": "0.5/sqrt", "lazy": 0.1},
    {"method": "mission", "sketch": (2, 25), "l2": 0.01, "decay": 0.99},
    {"method": "mission", "sketch": (3, 17), "active": "sketch"},
    {"method": "mission", "sketch": (1, 60), "active": "sketch", "decay": 0.9, "identity": True},
    {"method": "batch-iht", "sketch": (1, 40)},
    {"method": "batch-iht", "sketch": (1, 40), "minibatch": 6},
    {"method": "mission", "sketch": (1, 30), "minibatch": 7},
    {"method": "hashing", "sketch": (1, 30)},
    {"method": "hashing", "sketch": (3, 30), "step": 0.2, "minibatch": 3},
)
OUTPUTS: tuple[dict[str, Any], ...] = (
    {"loss": "logistic"},
    {"loss": "squared"},
    {"loss": "huber:0.5", "fit_intercept": False},
    {"loss": "hinge"},
    {"loss": "softmax", "outputs": 3},
    {"loss": "softmax", "outputs": 3, "per_class": True},
    {"loss": "logistic", "outputs": 3, "multilabel": True},
    {"loss": "squared_hinge", "outputs": 3, "multilabel": True, "per_class": True},
)
CASES = st.builds(lambda method, outputs: {**method, **outputs}, st.sampled_from(METHODS), st.sampled_from(OUTPUTS))


def whole_batch(options: dict[str, Any]) -> Batch:
    """All rows as one batch, named, with targets that fit."""
    batch, _ = next(SparseSource(X, Y).batches(10_000))
    text = "".join(f"c{key:02d}" for key in range(60)).encode()
    words = Names.pack(batch.keys.astype(np.int64) * 3, np.full(batch.nnz, 3), 0)
    names = Names(words, np.frombuffer(text, np.uint8), [b""])
    classes = get_loss(options.get("loss", "logistic")).task == "classes"
    y = LABELS if options.get("multilabel") else CLASSES if classes else batch.y
    return Batch(batch.indptr, batch.keys, batch.values, y, names=names)


def learned(cuts: list[int], engine: OnlineEngine | None = None, **options: Any) -> OnlineEngine:
    """An engine after the rows between the first and the last cut, batch by batch."""
    engine = engine or OnlineEngine(OnlineSettings(k=7, **options))
    batch = whole_batch(engine.settings.to_dict())
    for a, b in pairwise(cuts):
        part = batch.take(slice(a, b))
        engine.step(
            Batch(part.indptr, part.keys, part.values, None if batch.y is None else batch.y[a:b], names=part.names)
        )
    return engine


def assert_same(a: OnlineEngine, b: OnlineEngine) -> None:
    mine, theirs = a.state(), b.state()
    assert mine.keys() == theirs.keys()
    for name in mine:
        np.testing.assert_array_equal(mine[name], theirs[name], err_msg=name)


def all_sums(engine: OnlineEngine) -> np.ndarray:
    """The sums of every feature, kept or not, in the unit of the store: (features, outputs)."""
    every = np.arange(60, dtype=np.uint64)
    outputs = engine.settings.outputs
    sums = np.zeros((60, outputs))
    if engine.sketch is not None:
        found = engine.sketch.query(every)
        sums = (found[0] if isinstance(found, tuple) else found).reshape(60, outputs).copy()
    lanes = outputs // max(1, len(engine.kept()))
    for t, table in enumerate(engine.kept()):
        sums[table.keys.astype(int), t * lanes : (t + 1) * lanes] = table.state[:, 2:]
    return engine.shrink * sums


@examples(60)
@given(st.lists(st.integers(0, ROWS), max_size=8), CASES)
def test_batches_make_no_difference(cuts: list[int], case: dict[str, Any]) -> None:
    assert_same(learned([0, *sorted(cuts), ROWS], **case), learned([0, ROWS], **case))


@examples(60)
@given(st.integers(0, ROWS), CASES)
def test_a_restored_state_continues_to_the_same_bits(at: int, case: dict[str, Any]) -> None:
    """Also from a state saved within a mini-batch."""
    half = learned([0, at], **case)
    again = OnlineEngine.from_state(half.settings, half.state())
    assert_same(again, half)
    whole = learned([0, ROWS], **case)
    learned([at, ROWS], again)
    for engine in (again, whole):
        engine.flush()
    assert_same(again, whole)
    assert again.progressive() == whole.progressive()
    batch = whole_batch(case)
    np.testing.assert_array_equal(again.margins(batch), whole.margins(batch))


@pytest.mark.parametrize("method", [m for m in METHODS if m["method"] != "hashing"], ids=str)
@pytest.mark.parametrize("per_class", [False, True])
def test_never_more_than_k_features_and_all_named(method: dict[str, Any], per_class: bool) -> None:
    case = {**method, "loss": "softmax", "outputs": 3, "per_class": per_class} if per_class else method
    engine = OnlineEngine(OnlineSettings(k=3, **case))
    for i in range(0, ROWS, 10):
        learned([i, i + 10], engine)
        assert all(len(table.keys) <= 3 for table in engine.kept())
    engine.flush()
    found = engine.selected()
    assert 0 < len(found.keys) <= (9 if per_class else 3)
    assert found.names == [f"c{key:02d}".encode() for key in found.keys]
    strength = np.sqrt((np.atleast_2d(found.weights) ** 2).sum(axis=0))
    assert (np.diff(strength) <= 1e-12).all()
    if per_class:
        assert ((found.weights != 0).sum(axis=1) <= 3).all()


def test_hashing_has_a_weight_for_every_bucket() -> None:
    """The buckets, their weights and the intercept are the whole model, strongest first."""
    for outputs in OUTPUTS:
        for step in ("auto", 0.1):
            engine = learned([0, ROWS], method="hashing", sketch=(1, 1000), step=step, **outputs)
            found = engine.selected()
            weights = np.atleast_2d(found.weights)
            strength = np.sqrt((weights**2).sum(axis=0))
            assert len(found.keys) == len(found.names) == weights.shape[1] > 0
            assert (np.diff(strength) <= 1e-12).all()
            batch = whole_batch(outputs)
            table = np.zeros((len(weights), 1000))
            table[:, found.keys.astype(int)] = weights
            buckets, signs = _native.buckets_and_signs(batch.keys, engine.settings.seed, 1000)
            values = signs * (1 if batch.values is None else batch.values)
            rows = np.repeat(np.arange(len(batch)), np.diff(batch.indptr))
            margins = np.stack([np.bincount(rows, values * of[buckets], len(batch)) for of in table], axis=1)
            wanted = engine.margins(batch).reshape(margins.shape)
            np.testing.assert_allclose(margins + found.intercept, wanted, rtol=1e-6, atol=1e-9)


# ── merging ──────────────────────────────────────────────────────────────────────────────────────


def test_merging_averages_by_rows() -> None:
    """Constant steps: every weight is the average of the two, by the rows behind them."""
    how: dict[str, Any] = {"method": "iht", "step": 0.1}
    first, second = learned([0, 50], **how), learned([50, ROWS], **how)
    expected = 0.25 * all_sums(first)[:, 0] + 0.75 * all_sums(second)[:, 0]
    intercept = 0.25 * first.selected().intercept + 0.75 * second.selected().intercept
    first.merge(second)
    merged = first.selected()
    best = sorted(np.flatnonzero(expected).tolist(), key=lambda key: (-abs(expected[key]), key))[:7]
    assert merged.keys.tolist() == best
    np.testing.assert_allclose(merged.weights, expected[best], rtol=1e-12)
    assert merged.intercept == pytest.approx(intercept)
    assert first.rows == ROWS


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("outputs", [OUTPUTS[0], OUTPUTS[4], OUTPUTS[7]], ids=str)
def test_merging_combines_both_states(method: dict[str, Any], outputs: dict[str, Any]) -> None:
    """The merged sum of any feature is the sum (adaptive) or average of both sums, without collisions."""
    method = {**method, "sketch": (5, 1 << 18)} if "sketch" in method and not method.get("identity") else method
    case = {**method, **outputs}
    first, second = learned([0, 50], **case), learned([50, ROWS], **case)
    for engine in (first, second):
        engine.flush()
    adaptive = first.settings.step_rule.rule == "adaptive"
    mine, theirs = (1.0, 1.0) if adaptive else (0.25, 0.75)
    expected = mine * all_sums(first) + theirs * all_sums(second)
    progress = [engine.progressive()["rows"] for engine in (first, second)]
    first.merge(second)
    found = all_sums(first)
    if "sketch" in case and case["method"] != "batch-iht":
        # 16-bit cells round each of these numbers once or twice; those of single precision hardly.
        within = 2**-6 if adaptive else 1e-4
        np.testing.assert_allclose(found, expected, rtol=within, atol=within * np.abs(expected).max())
    else:
        np.testing.assert_allclose(found[found != 0], expected[found != 0], rtol=1e-9)
    assert first.rows == ROWS
    assert first.progressive()["rows"] == sum(progress)
    assert_same(OnlineEngine.from_state(first.settings, first.state()), first)
    learned([0, 20], first)  # and it can go on


def test_a_merged_adaptive_engine_adds_the_evidence_of_both() -> None:
    """Energies add up, so the standard error of a weight decreases."""
    how: dict[str, Any] = {"method": "mission", "sketch": (3, 500)}
    first, second = learned([0, 100], **how), learned([100, ROWS], **how)
    energy = {int(key): state[1] for table in first.kept() for key, state in zip(table.keys, table.state, strict=True)}
    first.merge(second)
    (table,) = first.kept()
    shared = [i for i, key in enumerate(table.keys.tolist()) if key in energy]
    assert shared
    assert all(table.state[i, 1] > energy[int(table.keys[i])] for i in shared)
    np.testing.assert_allclose(np.abs(table.ranks), np.sort(np.abs(table.ranks))[::-1])


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_merging_with_an_engine_that_saw_nothing_changes_no_weight(method: dict[str, Any]) -> None:
    for swap in (False, True):
        engines = [learned([0, ROWS], **method), OnlineEngine(OnlineSettings(k=7, **method))]
        engines[0].flush()
        before, sums = engines[0].selected(), all_sums(engines[0])
        one, other = engines[::-1] if swap else engines
        one.merge(other)
        after = one.selected()
        assert set(after.keys.tolist()) == set(before.keys.tolist())
        # 16-bit cells under a common factor are rounded once more.
        within = 2**-6 if "l2" in method else 1e-6
        np.testing.assert_allclose(all_sums(one), sums, rtol=within, atol=within * np.abs(sums).max())
        np.testing.assert_array_equal(after.intercept, before.intercept)
        if one.settings.step_rule.rule != "adaptive":  # there weights are settled anew, by the prior as it is now
            np.testing.assert_allclose(after.weights, before.weights, rtol=1e-6)


def test_engines_of_different_settings_are_not_merged() -> None:
    with pytest.raises(SettingsError, match="different settings"):
        learned([0, 50], method="iht").merge(OnlineEngine(OnlineSettings(k=8, method="iht")))


# ── what is found ────────────────────────────────────────────────────────────────────────────────


def test_an_identity_sketch_is_exact_stochastic_gradient_descent() -> None:
    """Every feature has a cell of its own: the weights are those of plain descent, the k largest of them kept."""
    how: dict[str, Any] = {
        "method": "hashing",
        "sketch": (1, 60),
        "identity": True,
        "step": 0.1,
        "fit_intercept": False,
    }
    engine = learned([0, ROWS], **how)
    w = np.zeros(60)
    for row, target in zip(X.toarray().astype(np.float64), Y, strict=True):
        w += 0.1 * target / (1 + np.exp(target * (w @ row))) * row
    np.testing.assert_allclose(all_sums(engine)[:, 0], w, rtol=1e-4, atol=1e-7)
    full = OnlineEngine(OnlineSettings(k=60, **{**how, "method": "mission"}))
    learned([0, ROWS], full)
    found = full.selected()
    np.testing.assert_allclose(found.weights, w[found.keys.astype(int)], rtol=1e-9)


SELECTING = [
    {"method": "mission", "sketch": (1, 60)},
    {"method": "mission", "sketch": (3, 40), "active": "sketch"},
    {"method": "iht"},
    {"method": "batch-iht", "sketch": (1, 60)},
    {"method": "mission", "sketch": (1, 60), "minibatch": 5},
]
STEPS: list[str | float] = ["auto", 0.02, "0.1/sqrt"]
TASKS: dict[str, list[dict[str, Any]]] = {
    "binary": [{"loss": name} for name in ("logistic", "hinge", "squared_hinge")],
    "real": [{"loss": "squared"}, {"loss": "huber:1"}],
    "classes": [{"loss": "softmax", "outputs": 3, "per_class": split} for split in (False, True)],
    "labels": [{"loss": "logistic", "outputs": 3, "multilabel": True, "per_class": split} for split in (False, True)],
}
PLANTED, MARGINS = planted_outputs()


def targets_of(task: str) -> tuple[np.ndarray, set[int]]:
    """Targets and the columns that they depend on."""
    if task == "binary":
        return np.where(MARGINS[:, 0] - MARGINS[:, 1] > 0, 1.0, -1.0), {0, 1, 2, 3}
    if task == "real":
        return MARGINS[:, 0] - MARGINS[:, 1], {0, 1, 2, 3}
    if task == "classes":
        return MARGINS.argmax(axis=1).astype(np.float64), set(range(6))
    return np.where(MARGINS > 0, 1.0, -1.0), set(range(6))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("method", SELECTING, ids=str)
def test_a_planted_support_is_found(task: str, step: str | float, method: dict[str, Any]) -> None:
    """By every method, step rule and loss: after three passes the planted columns are the strongest."""
    y, support = targets_of(task)
    batch, _ = next(SparseSource(PLANTED, np.zeros(len(y))).batches(10_000))
    data = Batch(batch.indptr, batch.keys, batch.values, y)
    for outputs in TASKS[task]:
        engine = OnlineEngine(OnlineSettings(k=20, step=step, **method, **outputs))
        for _ in range(3):
            engine.step(data)
        engine.flush()
        found = engine.selected()
        strongest = set(found.keys[: len(support)].tolist())
        assert len(strongest & support) >= len(support) - 1, (outputs, sorted(strongest))
        score = engine.progressive()
        assert max(score.get("accuracy", 0), score.get("r2", 0), score.get("hamming_accuracy", 0)) > 0.45


def test_errors_are_zero_for_exact_stores_and_those_of_the_sketch_otherwise() -> None:
    assert (learned([0, ROWS], method="iht").selected().errors == 0).all()
    for how in ({"sketch": (3, 17)}, {"sketch": (3, 17), "step": 0.1}, {"sketch": (3, 17), "active": "sketch"}):
        bounds = learned([0, ROWS], method="mission", **how).selected().errors
        assert (bounds > 0).all()


# ── what is refused ──────────────────────────────────────────────────────────────────────────────


def test_a_prediction_that_is_not_finite_names_its_row() -> None:
    engine = OnlineEngine(OnlineSettings(k=5, method="iht", loss="squared", step=1e200))
    with pytest.raises(DataError, match="smaller `step`") as caught:
        learned([0, ROWS], engine)
    assert caught.value.args[1] == engine.rows
    with pytest.raises(DataError, match="no targets"):
        engine.step(Batch(np.zeros(2, np.int64), np.empty(0, np.uint64), None))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "at least 1"),
        ({"k": -3}, "at least 1"),
        ({"k": 2.5}, "at least 1"),
        ({"k": True}, "at least 1"),
        ({"method": "magic"}, "unknown method"),
        ({"active": "maybe"}, "active"),
        ({"loss": "zero-one"}, "unknown loss"),
        ({"step": 0}, "positive number"),
        ({"step": "big"}, "positive number"),
        ({"step": "big/sqrt"}, "positive number"),
        ({"step": "adaptive:-1"}, "positive number"),
        ({"step": float("nan")}, "positive number"),
        ({"step": True}, "positive number"),
        ({"step": "adaptive", "active": "sketch"}, "does not support adaptive steps"),
        ({"minibatch": 0}, "minibatch"),
        ({"minibatch": 1.5}, "minibatch"),
        ({"l2": -1.0}, "l2"),
        ({"l2": float("nan")}, "l2"),
        ({"lazy": 1.0}, "lazy"),
        ({"decay": 0.0}, "decay"),
        ({"decay": 1.1}, "decay"),
        ({"sketch": (17, 5)}, "rows, width"),
        ({"sketch": (1, 2**32)}, "rows, width"),
        ({"outputs": 3}, "outputs must be 1"),
        ({"outputs": 0, "loss": "softmax"}, "output"),
        ({"multilabel": True, "loss": "squared"}, "must be binary"),
        ({"multilabel": True, "loss": "softmax"}, "must be binary"),
    ],
)
def test_settings_out_of_range_are_rejected(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        OnlineSettings(**{"k": 5, **wrong})


@pytest.mark.parametrize("method", ["mission", "batch-iht", "hashing"])
def test_a_sketch_is_needed(method: str) -> None:
    with pytest.raises(SettingsError, match="pass `sketch`"):
        OnlineEngine(OnlineSettings(k=5, method=method))


@pytest.mark.parametrize(
    ("step", "rule", "rate"),
    [
        (0.5, "constant", 0.5),
        (1, "constant", 1.0),
        ("0.25", "constant", 0.25),
        ("0.5/sqrt", "root", 0.5),
        ("auto", "adaptive", 1.0),
        ("adaptive", "adaptive", 1.0),
        ("adaptive:0.5", "adaptive", 0.5),
    ],
)
def test_step_notations(step: str | float, rule: str, rate: float) -> None:
    assert OnlineSettings(k=5, step=step).step_rule == (rule, rate)
    assert OnlineSettings(k=5, active="sketch").step_rule == ("stable", 1.0)


def test_invalid_states_are_rejected() -> None:
    state = learned([0, 50], method="mission", sketch=(3, 17)).state()
    chosen = OnlineSettings(k=7, method="mission", sketch=(3, 17))
    for change in (
        {"cells": state["cells"][:-1]},
        {"keys": state["keys"][:-1]},
        {"kept": state["kept"][:-1]},
        {"table_sizes": np.array([8])},
        {"table_sizes": np.array([3, 4])},
        {"step": np.zeros(3)},
        {"bias": np.zeros(3)},
        {"loop": np.zeros(2)},
        {"gathered_sums": np.zeros(3)},
    ):
        with pytest.raises(ValueError):
            OnlineEngine.from_state(chosen, {**state, **change})
