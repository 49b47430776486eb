"""The table of file formats: every entry can be opened, and files are recognised by their first bytes."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

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
