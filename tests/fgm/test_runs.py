"""fgm: several classes, validation, checkpoints."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.fgm.data import data, sparse_file
from tests.fgm.families.helpers import same_model
from thresher.fgm.block_problem import BlockProblem


def test_several_classes_each_against_the_rest() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 40)).astype(np.float32)
    y = np.array(["a", "b", "c"])[np.argmax(x[:, [3, 9, 20]] + 0.1 * rng.normal(size=(900, 3)), axis=1)]
    found = th.select(x, y, k=3, method="fgm", preset="fixed", B=1, test=(x, y))
    assert sorted(found.names) == ["x20", "x3", "x9"]
    assert found.weights.shape == (3, 3)
    assert found.provenance["test"]["accuracy"] > 0.9
    assert (found.predict(x) == y).mean() == pytest.approx(found.provenance["test"]["accuracy"])
    logistic = th.select(x, y, k=3, method="fgm", preset="fixed", loss="logistic")
    assert np.allclose(logistic.predict_proba(x).sum(axis=1), 1.0)
    # Each class alone has what it would have in a problem of its own.
    alone = th.select(x, y == "b", k=3, B=3, method="fgm", preset="fixed", per_class=True)
    together = th.select(x, y, k=3, B=3, method="fgm", preset="fixed", per_class=True)
    assert np.allclose(alone.intercept[0], together.intercept[1])
    mine = dict(zip(together.names, together.weights[1], strict=True))
    assert np.allclose(alone.weights, [mine[name] for name in alone.names])


def test_several_labels_a_row() -> None:
    x, y = data(n=400)
    labels = np.stack([y > 0, x[:, 5] > 0], axis=1).astype(int)
    found = th.select(x, labels, k=6, method="fgm", preset="fixed", multilabel=True)
    assert found.multilabel
    assert (found.predict(x) == labels).mean() > 0.9


def test_validation_keeps_the_best_iteration() -> None:
    x, y = data(n=200, p=300, noise=2.0)
    valid, truth = data(n=2000, p=300, seed=1, noise=2.0)
    found = th.select(x, y, k=100, B=2, method="fgm", preset="fixed", validation=(valid, truth), calibrate=False)
    path = found.provenance["path"]
    best = max(entry["score"] for entry in path)
    assert len(found) < 100
    assert (found.predict(valid) == truth).mean() == pytest.approx(best)
    assert len(found) == next(entry["features"] for entry in path if entry["score"] == best)


@pytest.mark.parametrize("after", [1, 4])
def test_a_run_with_validation_goes_on(tmp_path: Path, after: int) -> None:
    x, y = data(n=200, p=100, noise=2.0)
    valid, other = data(n=500, p=100, seed=1, noise=2.0), data(n=500, p=100, seed=2, noise=2.0)
    options = {"k": 40, "B": 4, "method": "fgm", "preset": "fixed", "checkpoint": tmp_path / "run.ckpt"}
    whole = th.select(x, y, validation=valid, **options)

    def stop(progress: Any) -> None:
        if progress.passes_done == after + 1:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted):
        th.select(x, y, validation=valid, progress=stop, **options)
    with pytest.raises(th.ResumeError, match="validation:"):
        th.select(x, y, validation=other, **options)
    again = th.select(x, y, validation=valid, **options)
    assert same_model(again, whole)
    assert again.provenance["path"] == whole.provenance["path"]


@pytest.mark.parametrize("after", [1, 2, 4])
def test_stopping_and_going_on_gives_the_same_bits(tmp_path: Path, after: int) -> None:
    path, checkpoint = sparse_file(tmp_path), tmp_path / "run.ckpt"
    options = {"k": 12, "B": 3, "method": "fgm", "preset": "fixed"}
    whole = th.select(path, **options)

    def stop(progress: Any) -> None:
        if progress.passes_done == after + 1:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted) as interrupted:
        th.select(path, checkpoint=checkpoint, progress=stop, **options)
    assert len(interrupted.value.selection) == 3 * after
    assert checkpoint.exists()
    with pytest.raises(th.ResumeError, match="C:"):
        th.select(path, checkpoint=checkpoint, C=3.0, **options)
    again = th.select(path, checkpoint=checkpoint, n_jobs=1, **options)
    assert same_model(again, whole)
    assert again.provenance["path"] == whole.provenance["path"]
    assert not checkpoint.exists()


@pytest.mark.parametrize("classes", [2, 3])
def test_stopping_within_an_iteration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classes: int) -> None:
    rng = np.random.default_rng(0)
    x, checkpoint = rng.normal(size=(300, 50)).astype(np.float32), tmp_path / "run.ckpt"
    y = np.argmax(x[:, :classes], axis=1)
    options = {"k": 12, "B": 2, "method": "fgm", "preset": "fixed"}
    whole = th.select(x, y, **options)
    solve, left = BlockProblem._solve, [2 * classes + 1]

    def stop(self: BlockProblem) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return solve(self)

    monkeypatch.setattr(BlockProblem, "_solve", stop)
    with pytest.raises(th.Interrupted) as interrupted:
        th.select(x, y, checkpoint=checkpoint, **options)
    monkeypatch.undo()
    assert len(interrupted.value.selection) >= 2
    assert len(interrupted.value.selection.predict(x)) == 300
    assert same_model(th.select(x, y, checkpoint=checkpoint, **options), whole)


def test_kill_and_resume(tmp_path: Path) -> None:
    path, checkpoint = sparse_file(tmp_path, rows=600), tmp_path / "run.ckpt"
    code = (
        "import sys, time, thresher as th\n"
        "def wait(progress):\n"
        "    if progress.passes_done > 2: print('here', flush=True); time.sleep(60)\n"
        f"th.select({path!r}, k=20, B=2, method='fgm', preset='fixed', checkpoint={str(checkpoint)!r}, every=0,\n"
        "    progress=wait)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"here\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    for _ in range(50):
        if checkpoint.exists():
            break
        time.sleep(0.1)
    assert os.path.exists(checkpoint)
    again = th.select(path, k=20, B=2, method="fgm", preset="fixed", checkpoint=checkpoint)
    assert same_model(again, th.select(path, k=20, B=2, method="fgm", preset="fixed"))
