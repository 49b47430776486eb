"""Passes chosen on held-out rows, and the final fit of the selected features."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.streams import write_libsvm
from thresher.core.batch import Batch
from thresher.core.losses import get_loss
from thresher.online.pass_choice import PassChoice
from thresher.online.run import OnlineRun
from thresher.online.settings import OnlineSettings
from thresher.refit import ColumnReader, Columns, Model, choose_refit, clearly_better
from thresher.run import RunOptions
from thresher.sources.registry import as_source

#: Both are chosen on held-out rows.
AUTO: dict[str, Any] = {"passes": "auto", "refit": "auto"}


def problem(rows: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((rows, 60)) < 0.3, rng.normal(size=(rows, 60)), 0.0)
    y = np.where(x[:, :6] @ np.array([3, -3, 2, -2, 2, 1]) + rng.logistic(size=rows) > 0, "yes", "no")
    return x, y


@pytest.mark.parametrize("method", ["mission", "b-arda"])
def test_defaults_choose_passes_and_say_so(method: str) -> None:
    x, y = problem()
    test, other = problem(seed=1)
    plain = th.select(x, y, k=6, method=method, passes=1, refit=False, test=(test, other))
    chosen = th.select(x, y, k=6, method=method, test=(test, other))
    facts = chosen.provenance["passes"]
    assert chosen.provenance["passes_done"] == facts["best"] <= len(facts["losses"]) <= 20
    assert chosen.provenance["rows"] == facts["best"] * len(y)  # all rows are learned once the passes are chosen
    assert facts["best"] == int(np.argmin(facts["losses"])) + 1
    assert len(facts["losses"]) in (20, facts["best"] + 2)  # it ends two passes after the best one
    assert 0 < chosen.provenance["validation"]["rows"] < 0.3 * len(y)
    assert "passes" not in plain.provenance
    assert plain.provenance["rows"] == len(y)


@pytest.mark.parametrize("method", ["mission", "b-arda"])
def test_chosen_passes_predict_as_well_as_one(method: str) -> None:
    """In the mean of some draws: one is a matter of chance, and this mean has a standard error of 0.01."""
    accuracies = []
    for seed in range(0, 8, 2):
        (x, y), rows = problem(seed=seed), problem(seed=seed + 1)
        settings: list[dict[str, Any]] = [{"passes": 1, "refit": False}, {}]
        found = [th.select(x, y, k=6, method=method, test=rows, **how).provenance["test"] for how in settings]
        accuracies.append([test["accuracy"] for test in found])
    one, chosen = np.mean(accuracies, axis=0)
    assert chosen >= one - 0.02


def test_a_set_number_of_passes_is_kept() -> None:
    x, y = problem()
    found = th.select(x, y, k=6, passes=3, refit="auto")
    assert found.provenance["passes_done"] == 3
    assert found.provenance["passes"]["best"] == 3
    assert found.settings["passes"] == 3


def test_a_refit_is_used_unless_clearly_worse_or_if_requested() -> None:
    x, y = problem()
    found = th.select(x, y, k=6, **AUTO).provenance
    before = found["passes"]["losses"][found["passes"]["best"] - 1]
    assert found["refit"]["used"] or found["refit"]["loss"] > before
    always = th.select(x, y, k=6, passes="auto", refit=True)
    assert always.provenance["refit"]["used"]
    assert (always.bounds == 0).all()
    never = th.select(x, y, k=6, passes="auto", refit=False)
    assert "refit" not in never.provenance


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        ("classes", {"loss": "softmax"}),
        ("classes", {"loss": "rest:squared_hinge", "method": "b-arda"}),
        ("numbers", {"loss": "squared"}),
        ("numbers", {"loss": "huber:0.5"}),
        ("two", {"loss": "hinge"}),
    ],
)
def test_every_task_is_refitted(labels: str, options: dict[str, Any]) -> None:
    x, _ = problem(800)
    margin = x[:, :6] @ np.array([3, -3, 2, -2, 2, 1])
    y = {"classes": np.digitize(margin, [-1, 1]), "numbers": margin + 5, "two": np.sign(margin + 0.1)}[labels]
    found = th.select(x, y, k=6, passes="auto", refit=True, test=(x, y), **options)
    assert found.provenance["refit"]["used"]
    if labels == "numbers":
        assert found.provenance["test"]["r2"] > 0.95
    else:
        assert found.provenance["test"]["accuracy"] > 0.85


def test_same_bits_for_any_batch_size_order_of_bytes_and_after_a_resume(tmp_path: Path) -> None:
    x, y = problem(560)
    path = tmp_path / "rows.svm"
    write_libsvm(path, sp.csr_matrix(x), np.where(y == "yes", 1, -1))
    how: dict[str, Any] = {"k": 6, "memory": "8MB", **AUTO}
    whole = th.select(path, **how)
    again = th.select(path, batch_rows=7, **how)
    np.testing.assert_array_equal(whole.weights, again.weights)
    assert whole.names == again.names
    calls = 0

    def stop(_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls % 23 == 0:
            raise KeyboardInterrupt

    checkpoint = tmp_path / "run.ckpt"
    for _ in range(60):
        try:
            resumed = th.select(path, checkpoint=checkpoint, every=0.0, batch_rows=40, progress=stop, **how)
            break
        except KeyboardInterrupt:
            continue
    np.testing.assert_array_equal(whole.weights, resumed.weights)
    np.testing.assert_array_equal(whole.intercept, resumed.intercept)
    assert whole.names == resumed.names
    assert resumed.provenance["passes"] == whole.provenance["passes"]
    assert resumed.calibration == whole.calibration
    assert not checkpoint.exists()


def test_an_interrupt_while_held_out_rows_are_read_is_like_any_other() -> None:
    x, y = problem()

    def stop(progress: Any) -> None:
        assert progress.phase == "reading held-out rows"
        raise KeyboardInterrupt

    with pytest.raises(th.Interrupted) as stopped:
        th.select(x, y, k=3, progress=stop, **AUTO)
    assert stopped.value.selection is None


@given(data=st.data())
def test_a_sample_of_the_rows_fits_its_room_and_does_not_depend_on_batches(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 60))
    x, _ = problem(rows)
    matrix = sp.csr_matrix(x.astype(np.float32))
    keys = np.arange(0, 60, 7, dtype=np.uint64)
    room = data.draw(st.sampled_from([None, 1500, 3000, 10**6]))
    ends = sorted({*data.draw(st.lists(st.integers(1, rows), max_size=5)), rows})
    found = []
    for cuts in ([rows], ends):
        reader, start = ColumnReader(keys, 1, room), 0
        for end in cuts:
            part = matrix[start:end]
            batch = Batch(part.indptr.astype(np.int64), part.indices.astype(np.uint64), part.data)
            reader.add(batch, np.arange(start, end, dtype=np.float64))
            start = end
        found.append(reader.read())
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    kept = found[0].y.astype(int)  # the numbers of the rows
    assert room == 1500 or rows < 10 or len(kept)
    assert room is not None or len(kept) == rows
    dense = np.zeros((len(kept), len(keys)), np.float32)
    dense[np.repeat(np.arange(len(kept)), np.diff(found[0].indptr)), found[0].columns] = found[0].values
    np.testing.assert_array_equal(dense, matrix[kept][:, keys.astype(int)].toarray())
    if room is not None:
        assert 12 * len(found[0].values) + 112 * len(kept) <= room


def test_too_few_rows_hold_none_out() -> None:
    x, y = problem(20)
    found = th.select(x, y, k=3, **AUTO)
    assert "passes" not in found.provenance
    assert found.provenance["rows"] == 20


def test_a_pipe_is_learned_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = problem()
    source = as_source(x, y)
    monkeypatch.setattr(type(source), "rewindable", False)
    run = OnlineRun(source, OnlineSettings(k=5, loss="logistic", **AUTO), RunOptions())
    assert run.choice is None
    run.run()
    assert run.passes_done == 1
    assert run.engine.rows == len(y)


@pytest.mark.parametrize("options", [{"passes": 0}, {"passes": "many"}, {"refit": "no"}, {"passes": True}])
def test_nonsense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(th.SettingsError, match="must be"):
        OnlineSettings(k=5, **options)


def test_a_refit_needs_features_of_its_own() -> None:
    with pytest.raises(th.SettingsError, match="hashing"):
        OnlineSettings(k=5, method="hashing", refit=True)
    with pytest.raises(th.SettingsError, match="per_class"):
        OnlineSettings(k=5, loss="softmax", per_class=True, refit=True)


def test_units_follow_the_values_and_dense_columns_are_centred() -> None:
    values = np.array([2.0, 4.0, 10.0, 12.0, 14.0, 3.0], np.float32)
    columns = Columns(
        np.array([0, 2, 4, 6]),
        np.array([0, 1, 0, 1, 1, 2], np.uint32),
        values[[0, 2, 1, 3, 4, 5]],
        np.zeros(3),
        np.ones(3),
        4,
    )
    shift, scale = columns.units()
    np.testing.assert_allclose(shift, [2.0, 12.0, 0.0, 0.0])  # the first two are in most rows
    np.testing.assert_allclose(scale, [np.sqrt(20 / 3 - 4), np.std([10, 12, 14]), 3.0, 1.0])


def test_defaults_do_not_care_about_a_unit_in_the_refit() -> None:
    x, y = problem()
    a = th.select(x, y, k=6, passes=1, refit=True)
    b = th.select(x * 2.0**10, y, k=6, passes=1, refit=True)
    assert set(a.names) == set(b.names)


@given(
    losses=st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9), st.floats(0.1, 5)), min_size=2, max_size=30),
    errors=st.sampled_from([1.0, 2.0]),
)
def test_clearly_better_is_a_paired_standard_error(losses: list[tuple[float, float, float]], errors: float) -> None:
    one, other, weight = map(np.array, zip(*losses, strict=True))
    mean = sum(w * (b - a) for a, b, w in losses) / weight.sum()
    error = sum(w**2 * (b - a - mean) ** 2 for a, b, w in losses) ** 0.5 / weight.sum()
    if abs(mean - errors * error) > 1e-9:
        assert clearly_better(one, other, weight, errors) == (mean > errors * error)
    assert not clearly_better(np.full(len(one), np.inf), other, weight)
    assert clearly_better(one, np.full(len(one), np.inf), weight)


def counted(rows: int, seed: int = 3) -> tuple[Columns, Columns, np.ndarray]:
    """Columns of counts: rare ones carry noise only, but a unit of their own would make them as large as the others."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((rows, 80)) < np.r_[np.full(8, 0.4), np.full(72, 0.02)], 1.0, 0.0)
    x[:, 8:] *= 0.1  # few and small
    y = np.where(x[:, :8] @ np.array([3, -3, 2, -2, 2, -2, 1, -1]) + rng.logistic(size=rows) > 0, 1.0, -1.0)
    matrix = sp.csr_matrix(x.astype(np.float32))
    columns = Columns(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32), matrix.data, y, np.ones(rows), 80
    )
    return columns.take(np.arange(rows // 2)), columns.take(np.arange(rows // 2, rows)), x


def test_held_out_rows_choose_whether_columns_share_a_unit() -> None:
    model = Model(get_loss("logistic"), 1, False, True)
    train, held, _ = counted(600)
    assert choose_refit(train, held, model, units=(True, False)).shared  # type: ignore[union-attr]
    assert not choose_refit(train, held, model).shared  # type: ignore[union-attr]
    # The same columns, the first of them in a small unit: a shared one would keep their weights near 0.
    scale = np.where(np.arange(80) < 8, 1e-4, 1.0).astype(np.float32)
    small = [rows._replace(values=rows.values * scale[rows.columns]) for rows in (train, held)]
    assert not choose_refit(*small, model, units=(True, False)).shared  # type: ignore[union-attr]


def test_a_shared_unit_is_that_of_all_sparse_values() -> None:
    train, _, x = counted(600)
    shift, scale = train.units(shared=True)
    values = x[:300][x[:300] != 0].astype(np.float32)
    np.testing.assert_allclose(scale, np.sqrt((values**2).mean()))
    np.testing.assert_array_equal(shift, 0.0)


def test_a_refit_has_the_probabilities_of_its_own_loss() -> None:
    x, y = problem(8000)
    found = th.select(x, y, k=6, passes=1, refit=True)
    assert found.calibration is not None
    assert (found.calibration.slopes, found.calibration.intercepts) == ((1.0,), (0.0,))
    assert str(found.calibration).startswith("probabilities of the fit itself")
    several = th.select(x, np.digitize(x[:, :6].sum(axis=1), [-1, 1]), k=6, passes=1, refit=True, loss="softmax")
    assert several.calibration is not None
    assert several.calibration.slopes == (1.0,)
    np.testing.assert_allclose(several.predict_proba(x).sum(axis=1), 1.0)


def test_features_of_the_best_pass_stay_if_all_rows_give_worse_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = problem()
    good = th.select(x, y, k=6, passes=1, refit=False)
    choose = PassChoice.choose

    def spoiled(self: PassChoice, found: Any, *rest: Any) -> Any:
        return choose(self, found._replace(weights=-found.weights), *rest)

    monkeypatch.setattr(PassChoice, "choose", spoiled)
    found = th.select(x, y, k=6, passes="auto", refit=False, test=(x, y))
    assert found.provenance["passes"]["kept_best"]
    assert found.provenance["test"]["accuracy"] > 0.7
    assert "kept_best" not in good.provenance.get("passes", {})
