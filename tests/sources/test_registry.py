"""The table of file formats: every entry can be opened, and files are recognised by their first bytes."""

from __future__ import annotations

import gzip
import importlib
import inspect
from pathlib import Path

import pytest

from thresher.errors import DataError
from thresher.sources.registry import BY_ENDING, FORMATS, format_by_name, scan


@pytest.mark.parametrize("name", FORMATS)
def test_the_opener_takes_the_options_of_its_entry(name: str) -> None:
    module, _, function = FORMATS[name].opener.partition(":")
    opener = getattr(importlib.import_module(f"thresher.sources.{module}"), function)
    parameters = inspect.signature(opener).parameters.values()
    named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        assert named <= set(FORMATS[name].options)
    else:
        assert named == set(FORMATS[name].options)


def test_every_ending_belongs_to_one_format() -> None:
    assert len(BY_ENDING) == sum(len(entry.endings) for entry in FORMATS.values())
    assert all(format_by_name(f"a.{ending}.gz") == name for ending, name in BY_ENDING.items())


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("parquet", b"PAR1 a|b\n"),
        ("parquet", b"ARROW1\0\0"),
        ("jsonl", b'\n {"y": 1, "text": "a|b"}\n'),
        ("fasta", b"\n>gi|12|x\nACGT\n"),
        ("fasta", b"@r 1:2\nACGT\n+\nIIII\n"),
        ("vw", b"# a comment\n1 |a b:2\n"),
        ("libsvm", b"+1 qid:3 1:2 5:1e-3\n"),
        ("libsvm", b"1,3 1:2\n"),
        (None, b"y,a\n1,2\n"),
        (None, b""),
    ],
)
def test_first_bytes(name: str | None, head: bytes) -> None:
    assert next((name for name, entry in FORMATS.items() if entry.matches(head)), None) == name


def test_paths_may_come_from_a_generator(tmp_path: Path) -> None:
    for i in range(2):
        (tmp_path / f"{i}.svm").write_text("1 1:1\n")
    source = scan(tmp_path / f"{i}.svm" for i in range(2))
    assert len(source.files()) == 2


@pytest.mark.parametrize("ending", ["", ".csv", ".bin"])
@pytest.mark.parametrize(
    ("head", "own_ending", "what"),
    [
        (b"PK\x03\x04rest", "zip", r"a zip archive\. Unpack it"),
        (b"PK\x03\x04rest", "xlsx", r"an Excel workbook\. Save the sheet as CSV"),
        (b"PK\x03\x04rest", "npz", "a NumPy archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xls", "an Office document"),
        (b"MATLAB 5.0 MAT-file, Platform", "mat", r"a MATLAB file.*scipy\.io\.loadmat"),
        (b"\x89HDF\r\n\x1a\n", "mat", "a MATLAB file.*h5py"),
        (b"\x89HDF\r\n\x1a\n", "h5", "an HDF5 file"),
        (b"%PDF-1.7\n", "pdf", "a PDF document"),
        (b"\x93NUMPY\x01\x00", "npy", "a NumPy array"),
        (b"SQLite format 3\0", "db", "an SQLite database"),
        (b"\x80\x04\x95\x10", "pkl", "a Python pickle"),
        (b"x" * 257 + b"ustar\0", "tar", "a tar archive"),
        (b"\n<!DOCTYPE HTML>", "html", "a web page"),
        (b"\x89THR\r\n\x1a\n", "thr", "a selection"),
    ],
)
def test_files_of_other_programs_are_named(
    tmp_path: Path, head: bytes, own_ending: str, what: str, ending: str
) -> None:
    if ending and own_ending in ("xlsx", "npz", "mat"):
        return  # only the ending tells these from others
    path = tmp_path / (f"data{ending}" if ending else f"data.{own_ending}")
    path.write_bytes(head + b"\n" * 600)
    options: dict[str, str]
    for options in ({}, {"target": "y"}, {"format": "csv", "target": "y"}):
        with pytest.raises(DataError, match=rf"{path.name}: this is {what}"):
            scan(path, **options)


def test_compressed_files_of_other_programs_are_named_too(tmp_path: Path) -> None:
    path = tmp_path / "data.gz"
    path.write_bytes(gzip.compress(b"x" * 257 + b"ustar\0" + bytes(300)))
    with pytest.raises(DataError, match="a tar archive"):
        scan(path)
    (tmp_path / "rows.json").write_text('[{"y": 1}]')
    with pytest.raises(DataError, match=r"a JSON array\. Write one object per line"):
        scan(tmp_path / "rows.json")
