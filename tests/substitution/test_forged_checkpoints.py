"""Checkpoints of Online Substitution whose numbers are forged: refused, or a finite answer in finite time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.substitution.test_substitution import data
from thresher import _native
from thresher.core.memory import Progress
from thresher.core.storage import container
from thresher.errors import DataError, FileFormatError

X, Y, _ = data(n=80, p=20)
FIT: dict[str, Any] = {"k": 4, "method": "os", "loss": "squared", "scans": 3, "refit": False}


def interrupted(path: Path, fit: dict[str, Any]) -> Path:
    """A checkpoint of a fit that has begun."""

    def stop(progress: Progress) -> None:
        if not progress.phase:  # the loop has begun
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        th.select(X, Y, **fit, checkpoint=path, progress=stop)
    return path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return interrupted(tmp_path / "run.ckpt", FIT)


def forge(path: Path, name: str, number: float, at: int = 0) -> None:
    kind, meta, arrays = container.read(path, "checkpoint")
    changed = arrays[name].copy()
    changed.flat[at] = number
    container.write(path, container.Content(kind, meta, {**arrays, name: changed}))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["weights_0", "scalings_0", "gram_0", "columns_0", "step_0"])
def test_numbers_that_are_not_finite_are_refused(saved: Path, name: str, number: float) -> None:
    forge(saved, name, number)
    with pytest.raises(
        FileFormatError, match=r"run\.ckpt: (not a valid|invalid) checkpoint .*(not finite|not a number)"
    ):
        th.select(X, Y, **FIT, checkpoint=saved)


@pytest.mark.parametrize("scan", [-1, -(1 << 62), 4, 1 << 62])
def test_positions_that_are_not_there_are_refused(saved: Path, scan: int) -> None:
    """A scan before the first would be followed by as many as are missing."""
    forge(saved, "place", scan)
    with pytest.raises(FileFormatError, match=r"run\.ckpt: invalid checkpoint \(the position in the stream"):
        th.select(X, Y, **FIT, checkpoint=saved)


def test_numbers_that_overflow_are_an_error(saved: Path) -> None:
    """They were weights that are not finite."""
    forge(saved, "weights_0", 1e300)
    forge(saved, "scalings_0", 1e30, at=1)
    forge(saved, "place", FIT["scans"])  # nothing is left to do
    with pytest.raises(DataError, match="the weights grew beyond all numbers"):
        th.select(X, Y, **FIT, checkpoint=saved)


@pytest.mark.parametrize("method", ["alpha-investing", "grafting", "grafting-light", "naive-l0", "naive-l1"])
def test_baselines_refuse_numbers_that_are_not_finite(method: str, tmp_path: Path) -> None:
    fit = {**FIT, "method": method, "refit": None}
    saved = interrupted(tmp_path / "run.ckpt", fit)
    for name in ("columns_0", "scales_0", "margins_0"):
        complete = saved.read_bytes()
        forge(saved, name, np.inf)
        with pytest.raises(FileFormatError, match=r"invalid checkpoint \(.* that are not finite\)"):
            th.select(X, Y, **fit, checkpoint=saved)
        saved.write_bytes(complete)


@pytest.mark.parametrize("name", ["ids_0", "scales_0", "weights_0", "margins_0", "numbers_0"])
def test_baselines_refuse_arrays_of_another_shape(name: str, tmp_path: Path) -> None:
    fit = {**FIT, "method": "alpha-investing", "refit": None}
    saved = interrupted(tmp_path / "run.ckpt", fit)
    kind, meta, arrays = container.read(saved, "checkpoint")
    container.write(saved, container.Content(kind, meta, {**arrays, name: arrays[name][None]}))
    with pytest.raises(FileFormatError, match=rf"invalid checkpoint \({name[:-2]} of another shape\)"):
        th.select(X, Y, **fit, checkpoint=saved)


@pytest.mark.parametrize("alive", [[], [0, 0], [0, 7], [-1, 0]])
def test_workers_that_are_not_there_are_refused(alive: list[int], tmp_path: Path) -> None:
    fit = {**FIT, "workers": 2, "staleness": 1}
    saved = interrupted(tmp_path / "run.ckpt", fit)
    kind, meta, arrays = container.read(saved, "checkpoint")
    container.write(saved, container.Content(kind, meta, {**arrays, "alive_0": np.array(alive, np.int64)}))
    with pytest.raises(FileFormatError, match=r"invalid checkpoint \(workers that are not there\)"):
        th.select(X, Y, **fit, checkpoint=saved)


def test_the_regression_of_alpha_investing_ends(tmp_path: Path) -> None:
    """LAPACK never returned from numbers that overflow."""
    fit = {**FIT, "method": "alpha-investing", "refit": None}
    saved = interrupted(tmp_path / "run.ckpt", fit)
    forge(saved, "scales_0", 1e308)
    forge(saved, "columns_0", 1e30)
    forge(saved, "place", FIT["scans"])
    with pytest.raises(DataError, match="the weights grew beyond all numbers"):
        th.select(X, Y, **fit, checkpoint=saved)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_the_refit_of_columns_that_are_not_finite_ends(loss: str) -> None:
    columns = np.ones((2, 6), np.float32)
    columns[0, 1] = np.nan
    y = np.array([[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]])
    pool = _native.ThreadPool(1)
    _, _, _, steps = _native.refit(loss, 1.0, y, np.empty(0), True, columns, np.ones(2), np.zeros(2), 0.1, 200, pool)
    assert steps <= 200
