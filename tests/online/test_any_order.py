"""Rows in any order: sorted files learn as well as shuffled ones, to the same bits however they are read."""

from __future__ import annotations

import gzip
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.online.test_select import _StopAt, saved_bytes
from tests.streams import planted, write_libsvm, write_vw
from thresher.selection.scoring import evaluate
from thresher.sources.cache import external_shuffle
from thresher.sources.cache.file import write_rows

X, Y = planted(rows=4000, support=(3, 77, 200, 399), seed=1)
N = 3000  # rows to learn from
HOW: dict[str, Any] = {"k": 30, "memory": "4MB", "passes": 1, "refit": False}  # the buffer holds about a fifth of them


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same rows shuffled, sorted by class, and sorted and compressed; and others to test."""
    folder = tmp_path_factory.mktemp("orders")
    by_class = np.argsort(Y[:N], kind="stable")
    found = {
        "shuffled": write_libsvm(folder / "shuffled.svm", X[:N], Y[:N]),
        "sorted": write_libsvm(folder / "sorted.svm", X[by_class], Y[by_class]),
        "names": write_vw(folder / "names.vw", X[by_class], Y[by_class]),
        "test": write_libsvm(folder / "test.svm", X[N:], Y[N:]),
    }
    for name in ("sorted", "names"):
        found[f"{name}, gzip"] = found[name].with_name(f"{found[name].name}.gz")
        found[f"{name}, gzip"].write_bytes(gzip.compress(found[name].read_bytes(), 1))
    assert found["sorted"].stat().st_size > 1 << 17
    return found


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder, which must be empty at the end."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    return tmp_path / "user" / "thresher"


def accuracy(selection: th.Selection, test: Path) -> float:
    return float(evaluate(selection, th.scan(test))["accuracy"])


@pytest.mark.parametrize("method", ["mission", "b-arda"])
def test_sorted_rows_learn_as_well_as_shuffled_ones(
    files: dict[str, Path], cache_folder: Path, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    """Within two points, where the order of the file costs ten and more."""
    scores = {}
    with caplog.at_level(logging.INFO):
        for order in ("shuffled", "sorted", "sorted, gzip"):
            answers = [th.select(files[order], **HOW, method=method, random_state=seed) for seed in range(2)]
            scores[order] = np.mean([accuracy(answer, files["test"]) for answer in answers])
            assert answers[0].provenance["progressive"]["rows"] == N
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    said = [record.getMessage() for record in caplog.records if "temporary file" in record.getMessage()]
    assert len(said) == 2
    assert all(str(files["sorted, gzip"]) in line and str(cache_folder) in line for line in said)
    assert abs(scores["sorted"] - scores["shuffled"]) < 0.02
    assert abs(scores["sorted, gzip"] - scores["shuffled"]) < 0.02
    caplog.clear()
    in_order = th.select(files["sorted"], **HOW, method=method, shuffle=False)
    assert accuracy(in_order, files["test"]) < scores["sorted"] - 0.1
    assert "class after class" in caplog.text
    assert list(cache_folder.iterdir()) == []


@pytest.mark.parametrize("order", ["sorted, gzip", "names", "names, gzip"])
def test_same_bits_however_they_are_read(files: dict[str, Path], tmp_path: Path, order: str) -> None:
    """For any batch size, with and without the cache, and after interruptions with one and resumed with the other."""
    how = {**HOW, "passes": 2, "holdout": 0.2}
    whole = saved_bytes(th.select(files[order], **how), tmp_path / "s")
    kept = {"cache": tmp_path / "cache"}
    for rows, more in ((7, {}), (10**6, kept), (100, kept)):
        assert saved_bytes(th.select(files[order], **how, **more, batch_rows=rows), tmp_path / "s") == whole
    for stop_at, first, then in ((9, {}, {}), (26, kept, {}), (40, {}, kept)):
        options = {**how, "checkpoint": tmp_path / "c"}
        with pytest.raises(th.Interrupted):
            th.select(files[order], **options, **first, batch_rows=100, progress=_StopAt(stop_at))
        assert saved_bytes(th.select(files[order], **options, **then, batch_rows=77), tmp_path / "s") == whole


_KILLED = """
import os, sys, thresher as th
from tests.online.test_any_order import HOW
seen = 0
def kill(progress):
    global seen
    seen += 1
    if seen == 10:
        os.kill(os.getpid(), 9)
th.select(sys.argv[1], **HOW, checkpoint=sys.argv[2], every=0.0, batch_rows=100, progress=kill)
"""


@pytest.mark.parametrize("order", ["sorted", "sorted, gzip"])
def test_a_killed_run_resumes_to_the_same_bits_and_leaves_no_file(
    files: dict[str, Path], tmp_path: Path, cache_folder: Path, order: str
) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, str(files[order]), str(tmp_path / "c")])
    assert done.returncode == -9
    assert (tmp_path / "c").exists()
    assert not cache_folder.exists() or list(cache_folder.iterdir()) == []
    resumed = th.select(files[order], **HOW, checkpoint=tmp_path / "c")
    assert saved_bytes(resumed, tmp_path / "s") == saved_bytes(th.select(files[order], **HOW), tmp_path / "s")


def test_a_pipe_is_shuffled_too(files: dict[str, Path], cache_folder: Path) -> None:
    code = "import sys, thresher as th\nth.select('-', format='libsvm', k=30, memory='4MB').save(sys.argv[1])"
    saved = cache_folder.parent / "piped.thr"
    saved.parent.mkdir(parents=True)
    with open(files["sorted"], "rb") as rows:
        subprocess.run([sys.executable, "-c", code, str(saved)], stdin=rows, check=True)
    expected = accuracy(th.select(files["shuffled"], **HOW), files["test"])
    assert accuracy(th.load(saved), files["test"]) > expected - 0.02
    assert list(cache_folder.iterdir()) == []


def test_several_sorted_files_are_interleaved(files: dict[str, Path], tmp_path: Path) -> None:
    lines = files["sorted"].read_text().splitlines(keepends=True)
    for i, name in enumerate(["a", "b"]):
        (tmp_path / f"{name}.svm").write_text("".join(lines[N // 2 * i : N // 2 * (i + 1)]))
    both = th.select([tmp_path / "a.svm", tmp_path / "b.svm"], **HOW)
    assert accuracy(both, files["test"]) > accuracy(th.select(files["shuffled"], **HOW), files["test"]) - 0.02


def test_drifting_targets_are_shuffled(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    targets = np.round(X[:, [3, 77]] @ [1.0, -1.0] + 5, 4)
    for name, order in (("sorted", np.argsort(targets)), ("shuffled", np.arange(len(targets)))):
        path = write_libsvm(tmp_path / f"{name}.svm", X[order], targets[order])
        path.with_suffix(".svm.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
        caplog.clear()
        with caplog.at_level(logging.INFO):
            th.select(path.with_suffix(".svm.gz"), **HOW, loss="squared")
        assert ("the targets drift" in caplog.text) == (name == "sorted")


def test_rows_of_one_class_say_so(files: dict[str, Path], tmp_path: Path) -> None:
    lines = files["sorted"].read_text().splitlines(keepends=True)[: int((Y[:N] < 0).sum())]
    path = tmp_path / "one.svm.gz"
    path.write_bytes(gzip.compress("".join(lines).encode()))
    assert len({line.split()[0] for line in lines}) == 1
    with pytest.raises(th.DataError, match="-1"):
        th.select(path, **HOW)


def test_a_full_disk_is_a_clear_error(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: Any, *arguments: Any, **more: Any) -> Any:
        summary = write_rows(file, *arguments, **more)
        raise OSError(28, "No space left on device") if summary else AssertionError

    monkeypatch.setattr(external_shuffle, "write_rows", full)
    with pytest.raises(th.SettingsError, match=r"No space left on device.*cache=FOLDER.*shuffle=False"):
        th.select(files["sorted, gzip"], **HOW)


@pytest.mark.parametrize("cause", ["size", "folder"])
def test_where_nothing_can_be_written_the_warning_comes_first(
    files: dict[str, Path], tmp_path: Path, cache_folder: Path, caplog: pytest.LogCaptureFixture, cause: str
) -> None:
    """And no progressive score is shown; the answer is that of the order of the file."""
    options: dict[str, Any] = {"cache_size": "10KB"} if cause == "size" else {}
    if cause == "folder":  # a file is in its place
        cache_folder.parent.mkdir()
        cache_folder.write_text("")
    seen: list[int] = []
    with caplog.at_level(logging.WARNING):
        answer = th.select(files["sorted, gzip"], **HOW, **options, progress=lambda _: seen.append(len(caplog.records)))
    assert seen[0] == 1
    with pytest.raises(th.Interrupted):
        th.select(files["sorted, gzip"], **HOW, **options, checkpoint=tmp_path / "c", progress=_StopAt(3))
    resumed = th.select(files["sorted, gzip"], **HOW, **options, checkpoint=tmp_path / "c")
    assert saved_bytes(resumed, tmp_path / "s") == saved_bytes(answer, tmp_path / "s")
    assert "the rows cannot be shuffled" in caplog.records[0].getMessage()
    assert "`cache_size`" in caplog.records[0].getMessage()
    assert answer.provenance["progressive"] == {}


@pytest.mark.parametrize("order", ["sorted", "sorted, gzip", "names"])
def test_the_line_of_a_bad_label_is_exact(files: dict[str, Path], tmp_path: Path, order: str) -> None:
    """Also with the cache, which keeps the lines."""
    packed = order.endswith("gzip")
    data = files[order].read_bytes()
    lines = (gzip.decompress(data) if packed else data).splitlines(keepends=True)
    lines[1221] = b"7" + lines[1221][lines[1221].index(b" ") :]
    first, bad = tmp_path / files[order].name, tmp_path / f"bad-{files[order].name}"
    first.write_bytes(data)
    bad.write_bytes(gzip.compress(b"".join(lines), 1) if packed else b"".join(lines))
    for cache in (None, tmp_path / "cache"):
        with pytest.raises(th.DataError, match=f"{bad}, line 1222: "):
            th.select([first, bad], **HOW, loss="logistic", cache=cache)


@pytest.mark.parametrize("form", ["csv", "parquet", "fa"])
def test_tables_and_sequences_are_shuffled_too(tmp_path: Path, caplog: pytest.LogCaptureFixture, form: str) -> None:
    """Quoted text, row groups larger than the buffer, and a file for each class."""
    rng = np.random.default_rng(0)
    words = np.where(rng.random(6000) < 0.9, np.arange(6000) // 3000, 1 - np.arange(6000) // 3000)
    path = tmp_path / f"rows.{form}"
    options: dict[str, Any] = {"target": "y"}
    if form == "csv":
        text = "".join(f'{i // 3000},"two\nlines {word}",{i % 7}\n' for i, word in enumerate(words))
        path.write_text("y,word,other\n" + text)
    elif form == "parquet":
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = {"y": np.arange(6000) // 3000, "word": [f"w{word}" for word in words], "other": np.arange(6000) % 7}
        parquet.write_table(pa.table(table), path)
    else:
        letters = rng.choice(list("ACGT"), (6000, 30))
        letters[np.arange(6000), 5 + 10 * words] = "A"
        path = tmp_path / "species"
        path.mkdir()
        for name, some in (("a", letters[:3000]), ("b", letters[3000:])):
            (path / f"{name}.fa").write_text("".join(f">{i}\n{''.join(row)}\n" for i, row in enumerate(some)))
        options = {"kmer": 3, "positional": True}
    with caplog.at_level(logging.INFO):
        answer = th.select(path, k=20, memory="3MB", passes=1, refit=False, **options)
    assert "temporary file" in caplog.text
    assert answer.provenance["progressive"]["rows"] == 6000
