"""Files of parsed rows with true checksums and false content."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thresher as th
from thresher.core.batch import Batch, Cursor, Names
from thresher.errors import FileFormatError
from thresher.sources.cache import codec
from thresher.sources.cache.codec import Summary, encode, encode_summary, schema
from thresher.sources.cache.source import scan_cache

LOW, HIGH = -(2**63), 2**63 - 1


def rows() -> Batch:
    """Two rows of three features, with everything a batch can hold but several labels."""
    return Batch(
        np.array([0, 2, 3]),
        np.array([7, 8, 9], np.uint64),
        np.ones(3, np.float32),
        np.array([1.0, 0.0]),
        None,
        np.ones(2, np.float32),
        Names.of_bytes([b"a", b"b", b"c"]),
        np.array([0, 1]),
        np.array([1, 2]),
    )


def write(path: Path, batch: Batch, *, summary: dict[str, Any] | None = None, **about: Any) -> Path:
    """A file of one block."""
    described = {"version": 1, "space": {"kind": "token", "size": None}, "multilabel": False, "label_columns": None}
    metadata = {"thresher": json.dumps({**described, **about})}
    record = encode_summary(Summary(starts=[0, len(batch)]))
    if summary is not None:
        fields = {**json.loads(codec._columns(record)["summary"][0].as_py()), **summary}
        record = codec._record(dict.fromkeys(codec._ARRAYS), dict.fromkeys(codec._LISTS), "", json.dumps(fields))
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema().with_metadata(metadata)) as writer:
        writer.write_batch(_record(batch))
        writer.write_batch(record)
    return path


def _record(batch: Batch) -> Any:
    """A record batch with the names as they are: the encoder would refuse false ones."""
    cursor = json.dumps(Cursor(row=len(batch)).to_dict())
    columns = codec._columns(encode(replace(batch, names=None), Cursor()))
    arrays = {name: codec._array(name, columns[name]) for name in codec._ARRAYS}
    prefixes = None
    if batch.names is not None:
        arrays["words"], arrays["text"], prefixes = batch.names.words, batch.names.text, batch.names.prefixes
    return codec._record(arrays, {"labels": None, "prefixes": prefixes}, cursor, "")


def names(*words: int) -> Names:
    return Names(np.array(words, np.uint64), np.frombuffer(b"abc", np.uint8), [b""])


def labels(*y_indptr: int) -> dict[str, Any]:
    """Several labels for each of three rows without features: 0.0, 1.0, 0.0."""
    return {
        "indptr": np.zeros(4, np.int64),
        "keys": np.empty(0, np.uint64),
        "values": None,
        "weight": None,
        "names": None,
        "qid": None,
        "line": None,
        "y": np.array([0.0, 1.0, 0.0]),
        "y_indptr": np.array(y_indptr, np.int64),
    }


FORGED: dict[str, tuple[dict[str, Any], str]] = {
    "indptr falls": ({"indptr": np.array([0, 4, 3])}, "indptr does not divide"),
    "indptr begins late": ({"indptr": np.array([1, 2, 3])}, "indptr does not divide"),
    "indptr ends late": ({"indptr": np.array([0, 2, 4])}, "indptr does not divide"),
    "indptr wraps": ({"indptr": np.array([0, HIGH, LOW, 3])}, "indptr does not divide"),
    "values are few": ({"values": np.ones(2, np.float32)}, "values and keys differ"),
    "a value is infinite": ({"values": np.array([1, np.inf, 1], np.float32)}, "a value is not finite"),
    "labels are few": ({"y": np.zeros(1)}, "there is not one label a row"),
    "a label is infinite": ({"y": np.array([0.0, -np.inf])}, "a label is infinite"),
    "weights are many": ({"weight": np.ones(3, np.float32)}, "there is not one weight a row"),
    "a weight is negative": ({"weight": np.array([1, -1], np.float32)}, "a weight is negative"),
    "queries are few": ({"qid": np.zeros(1, np.int64)}, "qid does not have one entry a row"),
    "lines are many": ({"line": np.zeros(9, np.int64)}, "line does not have one entry a row"),
    "names are few": ({"names": names(0)}, "there is not one name a key"),
    "a name is far": ({"names": names(0, 1 << 31, 0)}, "a name lies outside"),
    "a name is long": ({"names": names(0, 2 << 32, 4 << 32)}, "a name lies outside"),
    "a prefix is not there": ({"names": names(0, 1 << 44, 0)}, "a name lies outside"),
    # The differences wrap around and sum to 0: np.repeat would write far outside of its result.
    "labels wrap": (labels(0, HIGH, LOW, 0), "y_indptr does not divide"),
    "labels are endless": (labels(0, 30 << 30, 30 << 30, 3), "y_indptr does not divide"),
    "labels are of few rows": (labels(0, 3), "y_indptr does not divide"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_blocks_are_refused(tmp_path: Path, case: str) -> None:
    fields, fault = FORGED[case]
    source = scan_cache(write(tmp_path / "rows.thc", replace(rows(), **fields), multilabel="y_indptr" in fields))
    with pytest.raises(FileFormatError, match=rf"rows\.thc: block 0 is damaged \({fault}"):
        list(source.batches(want_names=True))


def test_what_is_not_forged_is_read(tmp_path: Path) -> None:
    for number, fields in enumerate(({}, labels(0, 1, 1, 3))):
        path = write(tmp_path / f"{number}.thc", replace(rows(), **fields), multilabel="y_indptr" in fields)
        assert sum(len(batch) for batch, _ in scan_cache(path).batches()) == 2 + number


@pytest.mark.parametrize(
    "about",
    [
        {"space": {"kind": "row", "size": None}},
        {"space": {"kind": "column", "size": -1}},
        {"space": None},
        {"multilabel": 1},
        {"label_columns": 1 << 40},
        {"label_columns": -1},
        {"version": None},
    ],
)
def test_forged_descriptions_are_refused(tmp_path: Path, about: dict[str, Any]) -> None:
    with pytest.raises(FileFormatError, match=r"rows\.thc: not a complete file of parsed rows"):
        scan_cache(write(tmp_path / "rows.thc", rows(), **about))


@pytest.mark.parametrize(
    "summary",
    [
        {"starts": [1, 2]},
        {"starts": [0, -2]},
        {"starts": [0, 2.0]},
        {"starts": [0, 1 << 64]},
        {"starts": []},
        {"skipped": -1},
        {"files": []},
        {"files": {"0": "many"}},
        {"digest": 7},
        {"window": None},
        {"more": 1},
    ],
)
def test_forged_summaries_are_refused(tmp_path: Path, summary: dict[str, Any]) -> None:
    with pytest.raises(FileFormatError, match=r"rows\.thc: not a complete file of parsed rows"):
        scan_cache(write(tmp_path / "rows.thc", rows(), summary=summary))


def test_keys_and_labels_are_those_of_the_description(tmp_path: Path) -> None:
    path = tmp_path / "rows.thc"
    for about, fields, fault in (
        ({"space": {"kind": "column", "size": 9}}, {}, "a key is not in the feature space"),
        ({"multilabel": True}, {}, "its labels are of another kind"),
        ({"multilabel": True, "label_columns": 1}, labels(0, 1, 2, 3), "a label is not among those"),
    ):
        with pytest.raises(FileFormatError, match=fault):
            list(scan_cache(write(path, replace(rows(), **fields), **about)).batches())


def test_a_forged_block_never_reaches_a_fit(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.thc", replace(rows(), **labels(0, HIGH, LOW, 0)), multilabel=True)
    with pytest.raises(FileFormatError, match="block 0 is damaged"):
        th.select(path, k=1)


def test_a_file_cut_short_while_it_is_read(tmp_path: Path) -> None:
    """An error, and not the end of the process."""
    path = write(tmp_path / "rows.thc", rows())
    source = scan_cache(path)
    reading = source.batches()
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(FileFormatError, match=r"rows\.thc: block 0 is damaged"):
        next(reading)
