"""Budgeted methods: batching, resuming, budgets, tuning, history, names, and rejected settings."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.online.test_engine import ROWS, assert_same, learned, whole_batch
from tests.streams import planted, planted_outputs, write_vw
from thresher import _native
from thresher.core.batch import Batch
from thresher.errors import SettingsError
from thresher.online.engine import OnlineEngine, OnlineSettings, StateFullError
from thresher.online.tuning import FIRST_ROUND, SuccessiveHalving
from thresher.sources.arrays import SparseSource

METHODS: tuple[dict[str, Any], ...] = (
    {"method": "b-arda"},
    {"method": "b-arda", "eta": 0.3, "lam": 0.01},
    {"method": "b-arda", "eta": 0.3, "truncation": "naive", "minibatch": 3},
    {"method": "b-arda", "lam": 0.01, "sketch": (1, 40)},
    {"method": "b-amd"},
    {"method": "b-amd", "eta": 0.3, "lam": 0.01},
    {"method": "ofs"},
    {"method": "ofs", "eta": 0.1, "lam": 0.1},
    {"method": "sofs"},
    {"method": "sofs", "eta": 2.0},
    {"method": "l1-arda", "lam": 0.005},
    {"method": "ada-fobos", "eta": 0.3, "lam": 0.01},
)
OUTPUTS: tuple[dict[str, Any], ...] = (
    {"loss": "squared_hinge"},
    {"loss": "logistic"},
    {"loss": "squared", "fit_intercept": False},
    {"loss": "softmax", "outputs": 3},
    {"loss": "rest:squared_hinge", "outputs": 3},
    {"loss": "rest:hinge", "outputs": 3, "per_class": True},
    {"loss": "squared_hinge", "outputs": 3, "multilabel": True},
)
CASES = st.builds(lambda method, outputs: {**method, **outputs}, st.sampled_from(METHODS), st.sampled_from(OUTPUTS))


@examples(50)
@given(st.lists(st.integers(0, ROWS), max_size=8), CASES)
def test_batches_make_no_difference(cuts: list[int], case: dict[str, Any]) -> None:
    assert_same(learned([0, *sorted(cuts), ROWS], **case), learned([0, ROWS], **case))


@examples(50)
@given(st.integers(0, ROWS), CASES)
def test_a_restored_state_continues_to_the_same_bits(at: int, case: dict[str, Any]) -> None:
    half = learned([0, at], **case)
    again = OnlineEngine.from_state(half.settings, half.state())
    assert_same(again, half)
    whole = learned([0, ROWS], **case)
    learned([at, ROWS], again)
    assert_same(again, whole)
    batch = whole_batch(case)
    np.testing.assert_array_equal(again.margins(batch), whole.margins(batch))


@pytest.mark.parametrize("method", [m for m in METHODS if m["method"] not in ("l1-arda", "ada-fobos")], ids=str)
def test_at_most_k_weights_after_every_step(method: dict[str, Any]) -> None:
    engine = OnlineEngine(OnlineSettings(k=3, **{"loss": "squared_hinge", **method}))
    for i in range(ROWS):
        learned([i, i + 1], engine)
        assert engine.count() <= 3
        assert np.count_nonzero(engine.selected().weights) <= 3


@pytest.mark.parametrize("method", ["b-arda", "b-amd", "ofs"])
def test_the_true_features_are_found_whatever_the_unit_of_the_data(method: str) -> None:
    x, y = planted(rows=3000, width=400)
    for scale in (1e-3, 1.0, 300.0):
        found = th.select(x * np.float32(scale), y, k=4, method=method, loss="squared_hinge", passes=2)
        assert len(set(found.keys.tolist()) & {3, 77, 200, 399}) >= 3, (method, scale)


def test_several_classes_one_vs_rest() -> None:
    x, margins = planted_outputs()
    y = margins.argmax(axis=1)
    model = th.BudgetedClassifier(k=6, passes=3).fit(x, y)
    assert str(model.selection_.loss) == "rest:squared_hinge"
    assert model.coef_.shape == (3, 6)
    assert set(model.get_support(indices=True)) == set(range(6))
    assert model.score(x, y) > 0.7
    again = th.BudgetedClassifier(k=6, shuffle=False)
    for part in np.array_split(np.arange(len(y)), 5):
        again.partial_fit(x[part], y[part], classes=[0, 1, 2])
    np.testing.assert_array_equal(
        again.coef_, th.BudgetedClassifier(k=6, shuffle=False, passes=1, refit=False).fit(x, y).coef_
    )


def test_history_of_kept_features() -> None:
    rng = np.random.default_rng(0)
    x = (rng.random((4000, 20)) < 0.5).astype(np.float32)
    truth = np.where(np.arange(4000) < 2000, 0, 1)  # the feature that matters changes half way
    y = np.where(x[np.arange(4000), truth] > 0, 1, -1)
    model = th.BudgetedClassifier(k=1, shuffle=False, fit_intercept=True).fit(x, y)
    history = model.history_
    assert len(history.rows) == len(history.kept) <= 64
    assert np.all(np.diff(history.rows) > 0)
    assert all(len(kept) <= 1 for kept in history.kept)
    assert history.jaccard.shape == (len(history.rows) - 1,)
    assert 0 in np.concatenate(history.kept).tolist()
    came = history.stays(0)
    assert came
    assert came[0][0] < 2000


def test_the_history_does_not_depend_on_batches() -> None:
    a, b = learned([0, 3, 77, ROWS], method="b-arda"), learned([0, ROWS], method="b-arda")
    assert a.history.rows.tolist() == b.history.rows.tolist()
    assert all(np.array_equal(p, q) for p, q in zip(a.history.kept, b.history.kept, strict=True))


# ── tuning ───────────────────────────────────────────────────────────────────────────────────────


def tuned_engine(cuts: list[int], engine: SuccessiveHalving | None = None, **options: Any) -> SuccessiveHalving:
    engine = engine or SuccessiveHalving(OnlineSettings(k=7, loss="squared_hinge", **options))
    learned(cuts, engine)  # type: ignore[arg-type]
    return engine


@pytest.mark.parametrize("options", [{"method": "b-arda", "tune": True}, {"method": "l1-arda"}], ids=str)
def test_tuning_resumes_and_does_not_see_batches(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.online.tuning.FIRST_ROUND", 30)
    whole = tuned_engine([0, ROWS], **options)
    parts = tuned_engine([0, 7, 30, 31, 150, ROWS], **options)
    half = tuned_engine([0, 77], **options)
    again = tuned_engine([77, ROWS], SuccessiveHalving.from_state(half.settings, half.state()))
    assert 0 < len(whole.candidates) < 10
    for other in (parts, again):
        assert other.state().keys() == whole.state().keys()
        for name, array in whole.state().items():
            if not name.endswith("_heap"):
                np.testing.assert_array_equal(other.state()[name], array, err_msg=name)


def test_lambda_is_tuned_to_the_number_of_features() -> None:
    x, y = planted(rows=2 * FIRST_ROUND, width=400)
    for method in ("l1-arda", "ada-fobos"):
        found = th.select(x, y, k=20, method=method, loss="squared_hinge", passes=3)
        assert 5 <= len(found) <= 20
        assert found.settings["lam"] > 0
        raw = th.select(1000 * x, y, k=20, method=method, loss="squared_hinge", passes=3)
        assert 5 <= len(raw) <= 20
        assert found.settings["lam"] < raw.settings["lam"] < 1e6


def test_the_tuned_values_give_the_same_features() -> None:
    x, y = planted(rows=1500, width=400)
    tuned = th.select(x, y, k=4, method="b-amd", loss="squared_hinge", tune=True)
    said = th.select(
        x, y, k=4, method="b-amd", loss="squared_hinge", eta=tuned.settings["eta"], lam=tuned.settings["lam"]
    )
    np.testing.assert_array_equal(tuned.keys, said.keys)
    np.testing.assert_array_equal(tuned.weights, said.weights)


def test_tuning_that_does_not_fit_into_memory_is_rejected() -> None:
    tuner = SuccessiveHalving(OnlineSettings(k=7, method="b-arda", tune=True, room=1 << 16))
    with pytest.raises(SettingsError, match="side by side"):
        learned([0, ROWS], tuner)  # type: ignore[arg-type]


# ── names, memory, and rejected settings ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["b-arda", "l1-arda", "ofs"])
@pytest.mark.parametrize("keep", [True, False])
def test_features_are_named_during_the_pass_or_afterwards(method: str, keep: bool, tmp_path: Path) -> None:
    x, y = planted(rows=800, width=100, support=(3, 77))
    path = write_vw(tmp_path / "rows.vw", x, y)
    lam = {"lam": 0.01} if method == "l1-arda" else {}
    found = th.select(path, k=10, method=method, loss="squared_hinge", keep_names=keep, **lam)
    assert 0 < len(found) <= 10
    assert found.named == len(found)
    assert all(name.startswith("column-") for name in found.names)


def test_the_features_seen_stay_within_memory() -> None:
    engine = OnlineEngine(OnlineSettings(k=2, method="b-amd", room=1 << 15))
    with pytest.raises(SettingsError, match="no longer fits"):
        for i in range(20):
            batch = whole_batch({})
            engine.step(type(batch)(batch.indptr, batch.keys + np.uint64(1000 * i), batch.values, batch.y))


def test_a_sketch_bounds_the_memory_and_is_reported(tmp_path: Path) -> None:
    x, y = planted(rows=2000, width=2000, support=(3, 77, 1200, 1999))
    path = write_vw(tmp_path / "rows.vw", x, y)
    found = th.select(path, k=8, method="b-arda", sketch=(1, 512), memory="4MB", passes=3, refit=False)
    assert found.provenance["approximate"]
    assert found.provenance["plan"]["sketch"] == 512 * 8
    assert found.provenance["plan"]["seen"] == 0
    assert len({f"column-{j}" for j in (3, 77, 1200, 1999)} & set(found.names)) >= 3
    assert np.all(found.bounds > 0)
    exact = th.select(path, k=8, method="b-arda", memory="4MB", passes=3)
    assert "approximate" not in exact.provenance
    with pytest.raises(SettingsError, match="must have one row"):
        th.select(path, k=8, method="b-arda", sketch=(3, 512))
    model = th.BudgetedClassifier(k=8, sketch=(1, 512), passes=3, refit=False, memory="4MB").fit(path)
    np.testing.assert_array_equal(model.selection_.keys, found.keys)


def test_checkpoints_resume_to_the_same_bits(tmp_path: Path) -> None:
    x, y = planted(rows=900, width=400)
    path = write_vw(tmp_path / "rows.vw", x, y)
    whole = th.select(path, k=5, method="b-arda", lam=1e-3, passes=2)

    def stop(progress: Any) -> None:
        if progress.rows > 400:
            raise KeyboardInterrupt

    saved = tmp_path / "half.ckpt"
    with pytest.raises(th.Interrupted):
        th.select(path, k=5, method="b-arda", lam=1e-3, passes=2, checkpoint=saved, batch_rows=50, progress=stop)
    again = th.select(path, k=5, method="b-arda", lam=1e-3, passes=2, checkpoint=saved)
    np.testing.assert_array_equal(again.keys, whole.keys)
    np.testing.assert_array_equal(again.weights, whole.weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "b-arda", "step": 0.1}, "pass `eta`"),
        ({"method": "b-arda", "l2": 0.1}, "pass `lam`"),
        ({"method": "b-amd", "sketch": (1, 10)}, "no `sketch`"),
        ({"method": "b-arda", "eta": 0.0}, "eta must be above 0"),
        ({"method": "b-arda", "lam": -1.0}, "lam must be at least 0"),
        ({"method": "b-arda", "delta": 0.0}, "delta must be above 0"),
        ({"method": "b-arda", "truncation": "bold"}, "truncation"),
        ({"method": "sofs", "minibatch": 2}, "one row at a time"),
        ({"method": "ofs", "eta": 10.0, "lam": 1.0}, "below 1"),
        ({"method": "mission", "eta": 0.1}, "`step` and `l2`"),
        ({"method": "mission", "tune": True}, "mission has no `tune`"),
    ],
    ids=str,
)
def test_invalid_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        OnlineSettings(k=3, **options)


def test_budgeted_engines_do_not_merge() -> None:
    a, b = learned([0, 50], method="b-arda"), learned([50, ROWS], method="b-arda")
    with pytest.raises(SettingsError, match="cannot be merged"):
        a.merge(b)


# ── switching to a sketch ────────────────────────────────────────────────────────────────────────


def wide_batch(rows: int = 400, seed: int = 0) -> Any:
    """Two features that matter, and a few new ones in every row."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], rows)
    fresh = rng.integers(10, 10**9, (rows, 8)).astype(np.uint64)
    keys = np.concatenate([np.where(y > 0, 1, 2)[:, None].astype(np.uint64), fresh], axis=1)
    return Batch(np.arange(0, keys.size + 1, 9), keys.ravel(), None, y)


def spilling(cuts: list[int], engine: OnlineEngine | None = None, **options: Any) -> OnlineEngine:
    engine = engine or OnlineEngine(OnlineSettings(k=4, method="b-arda", loss="squared_hinge", room=1 << 16, **options))
    batch = wide_batch()
    for a, b in pairwise(cuts):
        part = batch.take(slice(a, b))
        engine.step(Batch(part.indptr, part.keys, part.values, batch.y[a:b]))
    return engine


@pytest.mark.parametrize("options", [{}, {"lam": 0.01, "eta": 0.3}], ids=str)
def test_a_full_memory_switches_to_a_sketch_at_a_fixed_row(
    options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    whole = spilling([0, 400], **options)
    assert 0 < whole.spilled_at < 400
    assert "share 2048 cells" in caplog.text
    assert whole.approximate
    assert {1, 2} <= set(whole.selected().keys.tolist())
    assert_same(spilling([0, 3, 77, 301, 400], **options), whole)
    for at in (20, whole.spilled_at, whole.spilled_at + 1, 300):
        half = spilling([0, at], **options)
        again = OnlineEngine.from_state(half.settings, half.state())
        assert_same(again, half)
        spilling([at, 400], again)
        assert_same(again, whole)


def test_exact_sums_are_moved_into_the_sketch() -> None:
    """As if there had been a sketch from the start, up to rounding to single precision."""
    settings = {"k": 30, "method": "b-arda", "loss": "squared_hinge", "eta": 0.1}
    spilled = OnlineEngine(OnlineSettings(**settings, room=1 << 18))
    sketched = OnlineEngine(OnlineSettings(**settings, sketch=(1, spilled.settings.spill_width)))
    x, y = planted(rows=300, width=30, support=(3, 4))  # all features are kept from when they come
    for engine in (spilled, sketched):
        for batch, _ in SparseSource(x, y).batches():
            engine.step(batch)
    _native.dual_spill(spilled._loop)
    a, b = spilled.selected(), sketched.selected()
    assert a.keys.tolist() == b.keys.tolist()
    np.testing.assert_allclose(a.weights, b.weights, rtol=1e-6)


def test_a_file_beyond_the_memory_is_reported_as_approximate(tmp_path: Path) -> None:
    path = tmp_path / "rows.vw"
    path.write_text(
        "".join(
            f"{y:g} | {'good' if y > 0 else 'bad'} {' '.join(f'once-{100 * i + j}' for j in range(100))}\n"
            for i, y in enumerate(np.random.default_rng(0).choice([-1, 1], 500))
        )
    )
    found = th.select(path, k=8, method="b-arda", memory="3MB")
    assert found.provenance["approximate"]
    assert 0 < found.provenance["exact_steps"] < 500
    assert {"good", "bad"} <= set(found.names)
    assert found.named == len(found)
    assert "approximate" not in th.select(path, k=8, method="b-arda", memory="64MB").provenance


def test_settings_side_by_side_stop_before_they_take_much_more_than_they_may() -> None:
    """Not a batch late: all of them grow at the same row."""
    settings = OnlineSettings(k=10, method="l1-arda", tune=True, room=8 << 20, name_cap=32)
    tuner = SuccessiveHalving(settings)
    keys = np.arange(200 * 500, dtype=np.uint64)
    batch = Batch(np.arange(0, len(keys) + 1, 500), keys, None, y=np.where(np.arange(200) % 2, 1.0, -1.0))
    with pytest.raises(StateFullError, match="side by side"):
        tuner.step(batch)
    assert sum(candidate.seen[1] for candidate in tuner.candidates) <= 1.1 * settings.room
