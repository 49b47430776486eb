"""Datasets of Ray Data: a stand-in with the part of the interface that is used, which notes how it was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thresher as th
from tests.distributed.streams import bits
from tests.sources.ray_datasets import Dataset
from thresher.sources.dataframes import TableSource


def table(rows: int = 3000) -> Any:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 6)).astype(np.float32)
    colour = rng.choice(["red", "green", "blue"], rows)
    y = np.where(2 * x[:, 1] + 2 * (colour == "red") + rng.normal(size=rows) > 0.5, "yes", "no")
    place = pa.StructArray.from_arrays([pa.array(x[:, 5])], ["height"])
    return pa.table({**{f"c{j}": x[:, j] for j in range(5)}, "place": place, "colour": colour, "y": y})


HOW: dict[str, Any] = {"k": 3, "target": "y", "memory": "4MB", "passes": 2}


def test_a_dataset_gives_the_features_of_a_file_and_of_an_interrupted_fit(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table(), tmp_path / "rows.parquet")
    data = Dataset(table())
    found = th.select(data, **HOW, shuffle=False)
    assert bits(found) == bits(th.select(tmp_path / "rows.parquet", **HOW, shuffle=False))
    assert {"c1", "colour=red"} <= set(found.names)
    assert not data.context.execution_options.preserve_order  # as it was before

    def interrupt(progress: Any) -> None:
        if progress.rows > 1500 and progress.passes_done == 1:
            raise KeyboardInterrupt

    how = HOW | {"shuffle": False, "batch_rows": 500}
    with pytest.raises(th.Interrupted):
        th.select(data, **how, checkpoint=tmp_path / "c", progress=interrupt)
    assert bits(th.select(data, **how, checkpoint=tmp_path / "c")) == bits(found)


def test_rows_in_any_order_and_workers_go_through_a_temporary_file() -> None:
    data = Dataset(table())
    found = th.select(data, **HOW)
    assert {"c1", "colour=red"} <= set(found.names)
    two = th.select(data, **(HOW | {"sync": 400, "workers": 2}))
    assert two.provenance["workers"]["count"] == 2
    assert {"c1", "colour=red"} <= set(two.names)


def test_estimators_and_predictions() -> None:
    data = Dataset(table())
    model = th.MissionClassifier(k=3, memory="4MB").fit(th.scan(data, target="y"))
    assert model.score(data) > 0.8
    assert model.predict(data).tolist() == model.predict(TableSource(flat(data.table))).tolist()
    read: list[Any] = []
    rows = Dataset(data.table.drop_columns(["y"]), read)
    assert len(model.predict(rows)) == 3000
    with pytest.raises(th.DataError, match=r"the Ray dataset: no column is named for the labels. Pass `target`"):
        th.MissionClassifier(k=3).fit(rows)


def flat(whole: Any) -> Any:
    return whole.flatten().drop_columns(["y"])


def test_only_the_needed_columns_are_read() -> None:
    data = Dataset(table().drop_columns(["place"]))
    source = th.scan(data, target="y", ignored=["c0", "c2", "colour"])
    assert sum(len(batch) for batch, _ in source.batches()) == 3000
    assert sorted(data.read[-1]) == ["c1", "c3", "c4", "y"]


def test_what_is_wrong_is_said() -> None:
    data = Dataset(table(50))
    with pytest.raises(th.ThresherError, match="a Ray dataset is a table: leave out `format`"):
        th.scan(data, format="csv")
    with pytest.raises(th.ThresherError, match="`kmer`: not an option for a Ray dataset"):
        th.scan(data, kmer=5)
    with pytest.raises(th.DataError, match="the Ray dataset has no rows"):
        th.scan(Dataset(table(50).slice(0, 0)), target="y")
    with pytest.raises(th.ThresherError, match="brings its own labels"):
        th.select(data, np.zeros(50), k=2)

    class RayTaskError(Exception):
        """Ray's error of a task."""

    RayTaskError.__module__ = "ray.exceptions"

    def lost(**given: Any) -> Any:
        raise RayTaskError("traceback\nFileNotFoundError: s3://bucket/rows.parquet")

    source = th.scan(data, target="y")
    data.select_columns = lambda columns: data  # type: ignore[method-assign]
    data.iter_batches = lost  # type: ignore[method-assign]
    with pytest.raises(th.DataError, match="could not be read: FileNotFoundError: s3://bucket"):
        list(source.batches())
