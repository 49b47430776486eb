"""fgm: the same bits for any form of the data, memory, batch size and number of threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import thresher as th
from tests.fgm.data import data, sparse_file
from tests.fgm.families.helpers import same_model
from thresher.fgm.run import FGMRun
from thresher.fgm.settings import FGMSettings
from thresher.run import RunOptions


def run(source: Any, options: RunOptions, **settings: Any) -> tuple[th.Selection, FGMRun]:
    made = FGMRun(source, FGMSettings(preset="fixed", **settings), options)
    made.run()
    return made.selection(), made


def test_streamed_blocked_and_in_memory_are_the_same(tmp_path: Path) -> None:
    path = sparse_file(tmp_path)
    whole, _ = run(th.scan(path), RunOptions(), k=12, B=4)
    assert len(whole) == 12
    for how in (
        RunOptions(n_jobs=1),
        RunOptions(n_jobs=3, batch_rows=7),
        RunOptions(memory="400KB"),
        RunOptions(memory="400KB", batch_rows=13, n_jobs=1),
    ):
        again, made = run(th.scan(path), how, k=12, B=4)
        assert same_model(again, whole), how
        if how.memory is not None:
            assert made.engine is not None
            assert made.engine.family.passes > 3


def test_repeated_parsing_warns_unless_there_is_a_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = sparse_file(tmp_path)
    little: dict[str, Any] = {"k": 4, "B": 4, "method": "fgm", "preset": "fixed", "memory": "400KB"}
    again = th.select(path, **little)
    assert "cache=True" in caplog.text
    caplog.clear()
    assert same_model(th.select(path, cache=tmp_path / "cache", **little), again)
    assert "cache=True" not in caplog.text


def test_dense_sparse_and_column_matrices_are_the_same() -> None:
    x, y = data(n=500)
    x[np.random.default_rng(3).random(x.shape) < 0.7] = 0
    expected = th.select(x, y, k=8, method="fgm", preset="fixed")
    for other in (x.astype(np.float64), np.asfortranarray(x), sp.csr_matrix(x), sp.csc_matrix(x)):
        assert same_model(th.select(other, y, k=8, method="fgm", preset="fixed"), expected)


def test_weights_are_as_good_as_rows() -> None:
    x, y = data(n=200)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = th.select(x, y, k=6, method="fgm", preset="fixed", sample_weight=times)
    repeated = th.select(np.repeat(x, times, axis=0), np.repeat(y, times), k=6, method="fgm", preset="fixed")
    assert weighted.names == repeated.names
    assert np.allclose(weighted.weights, repeated.weights, rtol=1e-6)
    classes = th.select(x, y, k=6, method="fgm", preset="fixed", class_weight={1.0: 3.0, -1.0: 1.0})
    same_weights = th.select(x, y, k=6, method="fgm", preset="fixed", sample_weight=np.where(y > 0, 3.0, 1.0))
    assert np.allclose(classes.weights, same_weights.weights)
    th.select(x, y, k=6, method="fgm", preset="fixed", class_weight="balanced")


def test_names_of_hashed_features(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(300):
        words = rng.choice(["red", "green", "blue", "gold", "grey", "pink"], 3, replace=False)
        lines.append(f"{1 if 'gold' in words or 'red' in words else -1} |w {' '.join(words)}")
    path = tmp_path / "rows.vw"
    path.write_text("\n".join(lines))
    found = th.select(path, k=2, method="fgm", preset="fixed")
    assert sorted(found.names) == ["w^gold", "w^red"]
    assert found.named == 2
    found.save(tmp_path / "a.thr")
    again = th.load(tmp_path / "a.thr")
    assert (again.predict(path) == found.predict(path)).all()
    streamed = th.select(path, k=2, method="fgm", preset="fixed", memory="400KB")
    assert same_model(streamed, found)
