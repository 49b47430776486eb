"""Sparse Random Features by workers that share the rows: the bits of one process."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.distributed.streams import bits
from thresher.columns.row_store import RowStore
from thresher.columns.shared_rows import RowWindows
from thresher.distributed.shard_teams import ThreadShards, WorkerLost
from thresher.sparse_rf.memory_plan import SparseRFPlan
from thresher.sparse_rf.shared_columns import SharedFeatureColumns

HOW: dict[str, Any] = {"method": "sparse-rf", "draws": 20, "max_iter": 3, "gamma": 0.5, "lam": 2.0, "scale": None}
AUTO: dict[str, Any] = {"method": "sparse-rf", "draws": 20, "k": 30}


def ball(rows: int = 1300, columns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose class is nonlinear, and whose columns have other units."""
    x = np.random.default_rng(0).uniform(-1, 1, (rows, columns)).astype(np.float32)
    return x * np.arange(1, columns + 1, dtype=np.float32), (x**2).sum(axis=1) < 0.3 * columns


def write_svm(path: Path, x: np.ndarray, y: np.ndarray) -> Path:
    lines = [
        " ".join([str(int(label)), *(f"{j}:{v:.4f}" for j, v in enumerate(row))])
        for row, label in zip(x, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("how", [HOW, AUTO], ids=["fixed", "auto"])
def test_the_bits_are_those_of_one_process(how: dict[str, Any], tmp_path: Path) -> None:
    x, y = ball()
    for data in ((x, y), (write_svm(tmp_path / "rows.svm", x, y),)):
        alone = th.select(*data, **how)
        assert len(alone) > 3
        for workers, batch_rows in ((2, 100), (5, 8192)):
            shared = th.select(*data, workers=workers, batch_rows=batch_rows, **how)
            assert bits(shared) == bits(alone)
            assert shared.names == alone.names
            assert shared.settings == alone.settings
    assert shared.provenance["workers"]["count"] == 5
    assert shared.provenance["plan"]["inputs"] == 0 < shared.provenance["workers"]["largest"]


def test_rows_and_columns_that_do_not_fit_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With little memory workers read their rows again, and columns are sent again whenever they are needed."""
    x, y = ball(3000, 8)
    file, how = write_svm(tmp_path / "rows.svm", x, y), HOW | {"gamma": 0.1, "max_iter": 2}
    monkeypatch.setattr(SparseRFPlan, "columns", lambda plan, rows, inputs: 4 * rows * 10)  # ten of them
    monkeypatch.setattr(SparseRFPlan, "worker_rows", 40_000)
    again, usual = [], SharedFeatureColumns._in_order
    monkeypatch.setattr(SharedFeatureColumns, "_in_order", lambda *given: again.append(0) or usual(*given))
    shared = th.select(file, workers=2, memory="8MB", batch_rows=100, **how)
    assert len(again) > 3
    assert 30_000 < shared.provenance["workers"]["largest"] < 60_000
    assert bits(shared) == bits(th.select(file, **how))


def test_classes_one_row_and_workers_without_rows() -> None:
    x, y = ball(240)
    labels = np.where(y, "in", np.where(x[:, 0] > 0, "right", "left"))
    assert bits(th.select(x, labels, workers=3, **HOW)) == bits(th.select(x, labels, **HOW))
    few, which = x[:2], np.array([0, 1])
    assert bits(th.select(few, which, workers=4, **HOW)) == bits(th.select(few, which, **HOW))
    with pytest.raises(th.DataError, match="all rows are equal"):
        th.select(np.ones((4, 2)), np.array([0, 1, 0, 1]), workers=2, **HOW)


def test_workers_without_rows_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = write_svm(tmp_path / "rows.svm", *ball(100))
    packed = tmp_path / "rows.svm.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert bits(th.select(packed, workers=3, **HOW)) == bits(th.select(file, **HOW))
    assert "2 of 3 workers have no rows, since the data has 1 part that can be read separately" in caplog.text


def test_estimators_checkpoints_and_kept_out_columns(tmp_path: Path) -> None:
    x, y = ball(500)
    how = {name: value for name, value in HOW.items() if name != "method"}
    fits = [th.SparseRFClassifier(workers=n, **how).fit(x, y) for n in (1, 3)]
    assert bits(fits[0].selection_) == bits(fits[1].selection_)
    checkpoint = tmp_path / "c"

    def stop(progress: Any) -> None:
        if not progress.phase and progress.passes_done == 3:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted):
        th.select(x, y, checkpoint=checkpoint, every=0.0, progress=stop, workers=2, **HOW)
    assert bits(th.select(x, y, checkpoint=checkpoint, workers=3, **HOW)) == bits(th.select(x, y, **HOW))
    assert bits(th.select(x, y, drop=["x1"], workers=2, **HOW)) == bits(th.select(x, y, drop=["x1"], **HOW))


def test_lost_workers_let_all_rows_be_read_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    x, y = ball(600)
    alone, losses, usual = bits(th.select(x, y, **HOW)), iter([False, True]), ThreadShards.step

    def lose(team: ThreadShards) -> Any:
        if next(losses, False):
            raise WorkerLost
        return usual(team)

    monkeypatch.setattr(ThreadShards, "step", lose)
    monkeypatch.setattr("thresher.distributed.sparse_rf_run._STEP", 300)
    with caplog.at_level(logging.WARNING):
        assert bits(th.select(x, y, workers=2, batch_rows=50, **HOW)) == alone
    assert "the rows are read from the beginning" in caplog.text


def test_what_workers_cannot_do_is_refused() -> None:
    for how, message in (
        ({"workers": 0}, "workers must be an integer of at least 1"),
        ({"cluster": "ray"}, "pass their number, `workers=N`"),
    ):
        with pytest.raises(th.ThresherError, match=message):
            th.select(*ball(20), **(HOW | how))


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=6),
)
def test_windows_are_ranges_of_rows_in_any_order(batches: list[int], windows: list[tuple[int, int]]) -> None:
    store, at = RowStore(), 0
    for rows in batches:
        store.add(np.arange(rows + 1), np.arange(at, at + rows, dtype=np.uint64), None)
        at += rows
    reader = RowWindows(store)
    for begin, count in windows:
        found = [key for batch in reader.take(begin, count) for key in batch.keys.tolist()]
        assert found == list(range(at))[begin : begin + count]
