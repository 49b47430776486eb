"""C, scale and refit chosen on held-out rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import thresher as th
from tests.fgm.data import data, sparse_file
from tests.fgm.families.helpers import same_model
from thresher.fgm.choice import _best, _Score
from thresher.fgm.engine import FGMEngine
from thresher.fgm.memory_plan import FGMPlan
from thresher.fgm.settings import FGMSettings


def test_the_choice_is_in_the_settings_and_can_be_passed_again() -> None:
    x, y = data()
    found = th.select(x, y, k=6, method="fgm", calibrate=False)
    chosen = {name: found.settings[name] for name in ("C", "scale", "refit", "repeat")}
    assert chosen["repeat"] is False
    assert not {"auto"} & set(map(str, chosen.values()))
    facts = found.provenance["choice"]
    assert chosen.items() >= {name: facts["chosen"][name] for name in ("C", "scale", "refit")}.items()
    assert facts["chosen"] in facts["candidates"]
    again = th.select(x, y, k=6, method="fgm", calibrate=False, **chosen)
    assert same_model(again, found)
    assert "choice" not in again.provenance


def test_the_same_choice_for_any_batches_threads_and_seed(tmp_path: Path) -> None:
    path = sparse_file(tmp_path)
    found = th.select(path, k=8, method="fgm")
    other = th.select(path, k=8, method="fgm", batch_rows=37, n_jobs=1, random_state=5)
    assert same_model(found, other)
    assert found.settings == other.settings
    assert found.provenance["choice"] == other.provenance["choice"]
    assert found.calibration == other.calibration


@pytest.mark.parametrize("outputs", [1, 3])
def test_engines_that_share_scans_choose_the_same(outputs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = data(p=90)
    y = y if outputs == 1 else np.digitize(x[:, 3], [-0.5, 0.5])
    counts, given = [], np.where(np.abs(x) > 0.6, x, 0.0)
    run_together = FGMEngine.run_together

    def counted(engines: Any) -> None:
        counts.append(len(engines))
        run_together(engines)

    monkeypatch.setattr(FGMEngine, "run_together", staticmethod(counted))
    for rows in (given, scipy.sparse.csr_array(given)):
        together = th.select(rows, y, k=20, method="fgm")
        with monkeypatch.context() as little:
            little.setattr(FGMPlan, "engines", lambda plan, rows: 1)
            alone = th.select(rows, y, k=20, method="fgm")
        assert same_model(together, alone)
        assert together.provenance["choice"] == alone.provenance["choice"]
        assert together.calibration == alone.calibration
    assert counts == 2 * ([4, 2] + [1] * 6)


def test_engines_together_have_the_memory_of_the_plan() -> None:
    settings = FGMSettings(k=100)
    assert FGMPlan.of(settings, None).engines(1000) > 4
    assert FGMPlan.of(settings, None).engines(10**6) == 1
    plan = FGMPlan.of(settings, "16MB")
    count = plan.engines(1000)
    each = 1000 * (4 * 100 + plan.row_bytes + 16)
    assert count * each <= plan.selected(1000) < (count + 1) * each


def test_a_resumed_fit_chooses_the_same(tmp_path: Path) -> None:
    path, checkpoint = sparse_file(tmp_path), tmp_path / "run.thr"
    whole = th.select(path, k=20, B=2, method="fgm")

    def stop(progress: Any) -> None:
        if progress.passes_done > 3:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted):
        th.select(path, k=20, B=2, method="fgm", checkpoint=checkpoint, every=0.0, progress=stop)
    assert same_model(th.select(path, k=20, B=2, method="fgm", checkpoint=checkpoint), whole)


@pytest.mark.parametrize(
    "given", [{"C": 0.5}, {"scale": None}, {"refit": False}, {"refit": "l2:0.01"}, {"refit": True}]
)
def test_a_value_that_is_set_stays(given: dict[str, Any]) -> None:
    x, y = data()
    settings = th.select(x, y, k=4, method="fgm", **given).settings
    assert settings.items() >= given.items()
    assert "auto" not in map(str, settings.values())


def test_presets() -> None:
    x, y = data()
    assert same_model(
        th.select(x, y, k=4, method="fgm", preset="paper"),
        th.select(x, y, k=4, method="fgm", C=10.0, scale=None, refit=False),
    )
    assert FGMSettings(k=3, preset="fixed", scale=None).scale is None
    with pytest.raises(th.ThresherError, match="preset must be one of paper, fixed"):
        FGMSettings(k=3, preset="best")


@pytest.mark.parametrize("refit", ["l2", "l2:", "l2:-1", "l2:x", "yes", -1.0])
def test_a_bad_refit(refit: Any) -> None:
    with pytest.raises(th.ThresherError, match="refit must be"):
        FGMSettings(k=3, refit=refit)


def test_several_classes_labels_and_numbers() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 30))
    scores = np.stack([x[:, 3], x[:, 9], -x[:, 3] - x[:, 9]], axis=1)
    classes = th.FGMClassifier(k=2).fit(x, scores.argmax(axis=1))
    assert classes.score(x, scores.argmax(axis=1)) > 0.85
    assert set(classes.selection_.keys.tolist()) == {3, 9}
    labels = th.FGMClassifier(k=2).fit(x, (scores[:, :2] > 0).astype(int))
    assert set(labels.selection_.keys.tolist()) == {3, 9}
    numbers = th.FGMRegressor(k=2).fit(x, 2 * x[:, 3] - x[:, 9])
    assert numbers.score(x, 2 * x[:, 3] - x[:, 9]) > 0.99


def test_an_l2_refit_is_the_minimum_of_its_objective() -> None:
    x, y = data(n=200, p=12)
    found = th.select(x, y, k=5, method="fgm", C=1.0, scale="norm", refit="l2:0.01", calibrate=False)
    keys = np.sort(found.keys).astype(int)
    assert len(keys) == 5
    columns = x[:, keys].astype(np.float64)
    z = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    w = found.weights[np.argsort(found.keys)] * columns.std(axis=0)
    margins = x[:, found.keys.astype(int)].astype(np.float64) @ found.weights + found.intercept
    slopes = -y / (1 + np.exp(y * margins)) / len(y)
    np.testing.assert_allclose(z.T @ slopes + 0.01 * w, 0.0, atol=1e-4)
    np.testing.assert_allclose(slopes.sum(), 0.0, atol=1e-4)


def test_few_features_with_weights_are_filled_up_for_a_refit() -> None:
    x, y = data(p=40)
    settings = {"k": 20, "B": 2, "method": "fgm", "C": 1e-4, "scale": "norm", "calibrate": False, "repeat": False}
    assert len(th.select(x, y, refit=False, **settings)) < 20
    assert len(th.select(x, y, refit="l2:0.01", **settings)) == 20


def test_features_proposed_once_end_at_k() -> None:
    x, y = data(p=40)
    found = th.select(x, y, k=40, B=4, method="fgm", C=10.0, scale="norm", refit=False, repeat=False)
    assert found.provenance["iterations"] == 10


def test_norm_unless_another_is_better_by_two_standard_errors() -> None:
    rng = np.random.default_rng(0)
    norm, root = (FGMSettings(k=1, C=1.0, scale=scale, refit=False) for scale in ("norm", "root"))
    losses = rng.uniform(size=400)
    noise = rng.normal(size=400)
    noise -= noise.mean()

    def chosen(gain: float) -> str | None:
        """The scale chosen if the other is better by this number of standard errors."""
        others = losses - noise - gain * noise.std() / 20
        scored = [_Score(None, s, loss, np.ones(400), None) for s, loss in ((norm, losses), (root, others))]  # type: ignore[arg-type]
        return _best(scored).settings.scale

    assert [chosen(gain) for gain in (-1.0, 1.0, 1.9, 2.1)] == ["norm", "norm", "norm", "root"]


def test_nothing_is_chosen_without_rows_to_hold_out() -> None:
    found = th.select(np.eye(2), [0, 1], k=1, method="fgm")
    assert found.settings["C"] == 10.0
    assert "choice" not in found.provenance
