"""Sparse features whose scales differ by orders of magnitude are learned in units of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.online.test_select import _StopAt, saved_bytes
from thresher.errors import FileFormatError

HOW: dict[str, Any] = {"k": 10, "memory": "4MB"}
METHODS = ["mission", "b-arda"]


def _matrix(rows: int = 1500, width: int = 60, seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows of 12 features; the sign of y follows from the first four."""
    rng = np.random.default_rng(seed)
    x = np.zeros((rows, width), np.float32)
    for i in range(rows):
        x[i, rng.choice(width, 12, replace=False)] = rng.uniform(0.5, 1.5, 12)
    y = x[:, :4] @ np.array([3, -3, 2.5, -2.5]) + 0.3 * rng.logistic(size=rows) > 0
    return sp.csr_matrix(x), y


def _times(x: sp.csr_matrix, factors: np.ndarray) -> sp.csr_matrix:
    """Columns times factors, with the values of each row in the order they have."""
    return sp.csr_matrix((x.data * factors[x.indices], x.indices, x.indptr), shape=x.shape)


X, Y = _matrix()
LARGE = np.ones(60)
LARGE[30:] = 4096.0


def _write(path: Path, x: sp.csr_matrix, y: np.ndarray) -> Path:
    with path.open("w") as file:
        for i in range(x.shape[0]):
            row = x[i]
            large = [(j, v) for j, v in zip(row.indices, row.data, strict=True) if j >= 30]
            small = [(j, v) for j, v in zip(row.indices, row.data, strict=True) if j < 30]
            parts = [
                f"|{name} " + " ".join(f"f{j}:{v}" for j, v in each) for name, each in (("big", large), ("a", small))
            ]
            file.write(f"{1 if y[i] else -1} {' '.join(parts)}\n")
    return path


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["csr", "vw", "libsvm"])
def test_deciding_features_are_found_among_large_ones(method: str, kind: str, tmp_path: Path) -> None:
    x = _times(X, LARGE)
    data: tuple[Any, ...] = (x, Y)
    if kind == "vw":
        data = (_write(tmp_path / "rows.vw", x, Y),)
    elif kind == "libsvm":
        from sklearn.datasets import dump_svmlight_file

        dump_svmlight_file(x, np.where(Y, 1, -1), str(tmp_path / "rows.svm"), zero_based=False)
        data = (tmp_path / "rows.svm",)
    found = th.select(*data, method=method, passes=1, refit=False, **HOW)
    assert found.settings["standardize"] is True
    first = 1 if kind == "libsvm" else 0
    deciding = {f"a^f{j}" if kind == "vw" else f"x{j}" if kind == "csr" else str(j + first) for j in range(4)}
    assert deciding <= set(found.names[:6]), found.names
    assert (found.predict(*data[:1]) == found.predict(*data[:1])).all()
    np.testing.assert_allclose(found.weights * found.scales, found.standardized_weights)
    again = th.load(_saved(found, tmp_path))
    np.testing.assert_array_equal(again.decision_function(data[0]), found.decision_function(data[0]))


def _saved(selection: th.Selection, folder: Path) -> Path:
    selection.save(folder / "found.thr")
    return folder / "found.thr"


@pytest.mark.parametrize("method", METHODS)
@examples(5)
@given(powers=st.lists(st.integers(-20, 20), min_size=60, max_size=60))
def test_powers_of_two_change_no_bit(method: str, powers: list[int]) -> None:
    other_units = _times(X, 2.0 ** np.array(powers))
    plain, other = (th.select(x, Y, method=method, standardize=True, **HOW) for x in (X, other_units))
    assert plain.names == other.names
    assert plain.standardized_weights.tobytes() == other.standardized_weights.tobytes()


def test_values_of_one_scale_are_learned_as_they_are() -> None:
    counts = sp.csr_matrix(np.random.default_rng(1).poisson(0.3, (500, 40)).astype(np.float32))
    y = np.asarray(counts[:, 3].todense()).ravel() > 0
    for x in (counts, counts.astype(bool).astype(np.float32), X):
        n = x.shape[0]
        auto = th.select(x, np.resize(y, n), passes=1, refit=False, **HOW)
        plain = th.select(x, np.resize(y, n), passes=1, refit=False, standardize=False, **HOW)
        assert auto.settings["standardize"] is False
        assert auto.weights.tobytes() == plain.weights.tobytes()


def test_an_interrupted_fit_gives_the_same_bits(tmp_path: Path) -> None:
    path = _write(tmp_path / "rows.vw", _times(X, LARGE), Y)
    how = {**HOW, "batch_rows": 100, "every": 0.0, "passes": 2}
    whole = th.select(path, **how)
    assert whole.settings["standardize"] is True
    checkpoint = tmp_path / "fit.ckpt"
    with pytest.raises(KeyboardInterrupt):
        th.select(path, **how, checkpoint=checkpoint, progress=_StopAt(9))
    resumed = th.select(path, **{**how, "batch_rows": 37}, checkpoint=checkpoint)
    assert saved_bytes(resumed, tmp_path / "resumed") == saved_bytes(whole, tmp_path / "whole")


def test_scales_of_a_damaged_checkpoint_are_refused(tmp_path: Path) -> None:
    from thresher.core.storage import container

    x, checkpoint = _times(X, LARGE), tmp_path / "fit.ckpt"
    how = {**HOW, "batch_rows": 50, "every": 0.0, "checkpoint": checkpoint}
    with pytest.raises(KeyboardInterrupt):
        th.select(x, Y, **how, progress=_StopAt(3))
    saved = container.read(checkpoint, "checkpoint")
    container.write(checkpoint, saved._replace(arrays={**saved.arrays, "scale_cells": np.zeros((2, 9), np.uint8)}))
    with pytest.raises(FileFormatError, match="invalid checkpoint"):
        th.select(x, Y, **how)


def test_workers_share_the_scales() -> None:
    x = _times(X, LARGE)
    one = th.select(x, Y, workers=2, sync=200, passes=1, refit=False, **HOW)
    assert one.settings["standardize"] is True
    assert {"x0", "x1", "x2", "x3"} <= set(one.names[:6])


def test_a_stream_takes_its_first_rows_scales_if_that_is_set() -> None:
    x = _times(X, LARGE)
    fit = th.MissionClassifier(k=10, standardize=True).partial_fit(x[:700], Y[:700]).partial_fit(x[700:], Y[700:])
    assert fit.score(x, Y) > 0.8
    assert fit.selection_.scales is not None
