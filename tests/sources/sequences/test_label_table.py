"""Tables of labels."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from thresher import _native
from thresher.errors import DataError, UnreadableError
from thresher.sources.sequences.label_table import LabelTable


def labels_of(path, *ids: str) -> list:
    table = LabelTable(path)
    hashes = np.array([_native.hash_bytes(id.encode()) for id in ids], np.uint64)
    return table.labels(table.index.find(hashes)).tolist()


def test_text_and_numbers(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_bytes(b"# remark\r\na\tE. coli\r\n\r\nb \t S. aureus\tand more\nc\tE. coli")
    assert labels_of(path, "a", "b", "c") == ["E. coli", "S. aureus", "E. coli"]
    assert np.isnan(labels_of(path, "d")[0])
    path.write_bytes(gzip.compress(b"a\t1\nb\t-1.5e1\n"))
    assert labels_of(path, "b", "a") == [-15.0, 1.0]
    assert np.isnan(labels_of(path, "c")[0])
    path.write_bytes(b"a\t1\nb\tnan\n")
    assert labels_of(path, "a", "b") == ["1", "nan"]


def test_a_first_line_of_names(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_bytes(b"id\tlabel\na\t1\nb\t0\n")
    assert labels_of(path, "a", "b") == [1.0, 0.0]
    assert np.isnan(labels_of(path, "id")[0])
    path.write_bytes(b"id\tlabel\na\tx\nb\ty\n")
    assert labels_of(path, "a", "b") == ["x", "y"]


def test_many_records(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_bytes(b"".join(b"read/%d\tclass%d\n" % (i, i % 3) for i in range(200_000)))
    assert labels_of(path, "read/0", "read/131071", "read/199999") == ["class0", "class1", "class1"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"a\tx\nb y\n", r"table\.tsv: line 2: no label\. Write"),
        (b"a\tx\n\ty\n", "line 2: no label"),
        (b"a\tx\nb\t \n", "line 2: no label"),
        (b"# nothing\n\n", "has no labels"),
        (b"", "has no labels"),
        (b"a\tx\nb\ty\na\tx\nb\tz\n", "line 4: this record has another label"),
    ],
)
def test_what_is_no_table(tmp_path, text, told):
    path = tmp_path / "table.tsv"
    path.write_bytes(text)
    with pytest.raises(DataError, match=told):
        labels_of(path, "a")


def test_a_table_that_is_not_there(tmp_path):
    with pytest.raises(UnreadableError, match="no such file"):
        labels_of(tmp_path / "table.tsv", "a")
    path = tmp_path / "table.tsv"
    path.write_bytes(gzip.compress(b"a\tx\n" * 1000)[:-4])
    with pytest.raises(DataError, match="cut short"):
        labels_of(path, "a")
