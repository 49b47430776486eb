"""Rows written in every format and read again: the same to the bit, or it is said what is not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given

import thresher as th
from tests.examples import examples
from tests.sources.reading import exactly, read
from tests.writers.made import Made, indexed, named
from thresher.core.batch import Batch, Names
from thresher.core.feature_space import FeatureSpace
from thresher.errors import SettingsError
from thresher.sources.registry import as_source
from thresher.sources.transforms.interactions import Interactions
from thresher.writers.registry import write_source

often = examples(50, HealthCheck.function_scoped_fixture)


def _all(source: Any) -> list[str]:
    return exactly(read(source, want_names=True, want_labels=False))


@often
@given(indexed())
def test_libsvm_there_and_back(tmp_path: Path, source: Made) -> None:
    path = tmp_path / "rows.svm"
    rows = read(source, want_labels=False)
    bare = [row.y == () if source.multilabel else row.y != row.y for row in rows]
    if any(not (row.keys or row.qid >= 0) and no for row, no in zip(rows, bare, strict=True)):
        with pytest.raises(SettingsError, match="neither label nor features"):  # a line of nothing would be no row
            write_source(source, path)
        return
    written = write_source(source, path)
    assert _all(th.scan_libsvm(path, multilabel=source.multilabel)) == _all(source)
    assert written.rows == len(read(source, want_labels=False))
    assert written.messages() == []


@often
@given(named())
def test_vw_there_and_back(tmp_path: Path, source: Made) -> None:
    path = tmp_path / "rows.vw.gz"
    written = write_source(source, path)
    assert _all(th.scan_vw(path)) == _all(source)
    assert written.messages() == []


@often
@given(named(awkward=True))
def test_what_vw_cannot_hold_is_counted(tmp_path: Path, source: Made) -> None:
    """Every feature that comes back under another name or key, and no other."""
    path = tmp_path / "rows.vw"
    losses = write_source(source, path).losses
    before, after = (
        [*batches] for batches in (source.batches(), th.scan_vw(path).batches(want_names=True, want_labels=False))
    )
    one, other = (Batch.concat([batch for batch, _ in batches]) for batches in (before, after))
    assert one.indptr.tolist() == other.indptr.tolist()
    ones = np.ones(one.nnz, np.float32)
    assert exactly((ones if one.values is None else one.values).tolist()) == exactly(
        (ones if other.values is None else other.values).tolist()
    )
    names = [(left, right) for left, right in zip(_spelled(one), _spelled(other), strict=True)]
    renamed = [left != right for left, right in names]
    rekeyed = (one.keys != other.keys) & ~np.array(renamed, bool)
    counts = {"another name": sum(renamed), "other keys": int(rekeyed.sum())}
    for what, count in counts.items():
        assert sum(n for told, n in losses.items() if what in told) == count


def _spelled(batch: Batch) -> list[bytes]:
    assert batch.names is not None
    return [batch.names[j] for j in range(batch.nnz)]


@often
@given(named(awkward=True))
def test_parsed_rows_there_and_back(tmp_path: Path, source: Made) -> None:
    written = write_source(source, tmp_path / "rows.thc")
    assert _all(th.scan(tmp_path / "rows.thc")) == _all(source)
    assert written.messages() == []
    assert written.rows == len(read(source, want_labels=False))


@often
@given(indexed())
def test_parsed_rows_of_indices_there_and_back(tmp_path: Path, source: Made) -> None:
    write_source(source, tmp_path / "rows.thc")
    kept = th.scan(tmp_path / "rows.thc")
    assert (kept.space, kept.multilabel) == (source.space, source.multilabel)
    assert _all(kept) == _all(source)


@often
@given(named())
def test_parquet_holds_everything(tmp_path: Path, source: Made) -> None:
    written = write_source(source, tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    rows = read(source, want_names=True, want_labels=False)
    assert exactly(table["keys"].to_pylist()) == exactly(list(row.keys) for row in rows)
    assert exactly(table["values"].to_pylist()) == exactly(list(row.values) for row in rows)
    assert table["names"].to_pylist() == [list(row.names or ()) for row in rows]
    assert exactly(table["weight"].to_pylist()) == exactly(row.weight for row in rows)
    assert exactly(table["label"].to_pylist()) == exactly(None if row.y != row.y else row.y for row in rows)
    assert (written.rows, written.messages()) == (len(rows), [])
    about = json.loads(table.schema.metadata[b"thresher"])
    assert FeatureSpace.from_dict(about["space"]) == source.space


@often
@given(indexed())
def test_parquet_of_indices(tmp_path: Path, source: Made) -> None:
    write_source(source, tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    rows = read(source, want_labels=False)
    assert table["names"].to_pylist() == [[str(key) for key in row.keys] for row in rows]
    assert table["qid"].to_pylist() == [None if row.qid < 0 else row.qid for row in rows]
    labels = [list(row.y) if source.multilabel else None if row.y != row.y else row.y for row in rows]
    assert exactly(table["label"].to_pylist()) == exactly(labels)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    x, y = np.eye(4, dtype=np.float32), [1.0, 2.0, 1.0, 2.0]
    for name in ("rows.svm", "rows.vw.gz", "rows.thc", "rows.parquet"):
        paths = [tmp_path / f"{i}-{name}" for i in range(2)]
        for path in paths:
            write_source(as_source(x, y), path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_large_tables_come_in_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.writers.parquet._GROUP_FEATURES", 100)
    monkeypatch.setattr("thresher.sources.arrays.MAX_BATCH_FEATURES", 50)
    write_source(as_source(np.ones((50, 10)), np.arange(50.0)), tmp_path / "rows.parquet")
    file = pq.ParquetFile(tmp_path / "rows.parquet")
    assert file.num_row_groups == 5
    assert file.read()["label"].to_pylist() == list(range(50))


def _one(**given: Any) -> Made:
    """A row of one feature."""
    fields = {"indptr": np.array([0, 1]), "keys": np.array([7], np.uint64), "values": None, "y": np.array([1.0])}
    names = Names.of_bytes([b"seven"])
    return Made([Batch(**{**fields, "names": names, **given})], FeatureSpace("token"))


@pytest.mark.parametrize(
    ("source", "to", "told"),
    [
        (_one(weight=np.array([2.0], np.float32)), "libsvm", "has no sample weights"),
        (_one(y=np.array(["cat"], object)), "libsvm", "no text labels"),
        (_one(y=np.array(["black cat"], object)), "vw", "cannot hold the label 'black cat'"),
        (_one(qid=np.array([3])), "vw", "no query ids"),
        (_one(y=np.array([1.0, 2.0]), y_indptr=np.array([0, 2])), "vw", "one label per row"),
        (_one(y=np.array([np.nan]), weight=np.array([2.0], np.float32)), "vw", "row 1 has a weight but no label"),
        (_one(), "csv", "unknown format 'csv': choose one of 'libsvm', 'vw', 'parquet', 'cache'"),
    ],
)
def test_what_would_be_other_data_is_refused(tmp_path: Path, source: Made, to: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        write_source(source, tmp_path / "rows", to)
    assert list(tmp_path.iterdir()) == []


def test_endings(tmp_path: Path) -> None:
    for name in ("rows.xyz", "rows.fa", "rows"):
        with pytest.raises(SettingsError, match="its ending does not show a format"):
            write_source(_one(), tmp_path / name)
    for name in ("rows.thc.gz", "rows.parquet.gz"):
        with pytest.raises(SettingsError, match="only text can be compressed"):
            write_source(_one(), tmp_path / name)


def test_losses_are_told(tmp_path: Path) -> None:
    (told,) = write_source(_one(), tmp_path / "rows.svm").messages()
    assert told.startswith("1 features have their 64-bit keys as indices")
    (told,) = write_source(_one(y=np.array(["cat"], object), keys=_keys(b"seven")), tmp_path / "a.vw").messages()
    assert told.startswith("1 labels are text")
    assert (tmp_path / "a.vw").read_text() == "cat | seven\n"
    (told,) = write_source(_one(names=Names.of_bytes([b"\xff"])), tmp_path / "a.parquet").messages()
    assert told.startswith("1 names are not valid UTF-8")


def _keys(name: bytes) -> Any:
    from thresher import _native

    return np.array([_native.hash_bytes(name, 0)], np.uint64)


def test_products_are_spelled_out(tmp_path: Path) -> None:
    source = Interactions(as_source(np.array([[2.0, 3.0]]), [1.0]))
    written = write_source(source, tmp_path / "rows.vw.gz")
    text = gzip.decompress((tmp_path / "rows.vw.gz").read_bytes()).decode()
    assert text == "1 | x0:2 x1:3 x0%20×%20x1:6\n"
    assert sum(written.losses.values()) == 3  # two columns that get the keys of their names, and a name with blanks
    write_source(source, tmp_path / "rows.thc")
    assert _all(th.scan(tmp_path / "rows.thc")) == _all(source)


def test_an_empty_source(tmp_path: Path) -> None:
    source = Made([], FeatureSpace("index"))
    for name in ("rows.svm", "rows.vw", "rows.thc", "rows.parquet"):
        assert write_source(source, tmp_path / name).rows == 0
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 0
    assert read(th.scan(tmp_path / "rows.thc")) == []
