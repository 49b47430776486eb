"""Blocks of sources in a random order: every row once, whatever the blocks and the batches, from any cursor."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.reference.sources.permutation import permuted
from tests.sources.reading import exactly, joined, read
from thresher.core.batch import Cursor
from thresher.core.memory import ReadLimits
from thresher.sources.blocks import split_tag
from thresher.sources.cache import in_blocks
from thresher.sources.cache import source as stored_source
from thresher.sources.cache.file import write_rows
from thresher.sources.tables.jsonl import scan_jsonl
from thresher.sources.text import text_blocks
from thresher.sources.transforms.shuffle import Permutation, Permuted


@given(st.integers(1, 3000), st.integers(0, 2**70))
def test_a_permutation_has_every_number_once(n: int, seed: int) -> None:
    order = Permutation(n, seed)
    assert sorted(found := order.take(np.arange(n)).tolist()) == list(range(n))
    assert order[n - 1] == found[-1]


@given(n=st.integers(1, 2**62), seed=st.integers(-(2**63), 2**64 - 1), data=st.data())
def test_numbers_are_those_of_the_twin(n: int, seed: int, data: st.DataObject) -> None:
    """Also where blocks are so many that words wrap around."""
    places = data.draw(st.lists(st.integers(0, n - 1), max_size=20))
    found = Permutation(n, seed).take(np.array(places, np.int64))
    assert found.tolist() == [permuted(i, n, seed) for i in places]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 16, 17, 100, 257, 1000])
def test_all_numbers_together_are_those_of_the_twin(n: int) -> None:
    found = Permutation(n, n).take(np.arange(n)).tolist()
    assert found == [permuted(i, n, n) for i in range(n)]
    assert sorted(found) == list(range(n))


def test_permutations_are_random() -> None:
    """Neighbours are uncorrelated, and different seeds give different orders."""
    permutations = [Permutation(200, seed) for seed in range(100)]
    orders = np.array([order.take(np.arange(200)) for order in permutations])
    assert len(np.unique(orders, axis=0)) == 100
    neighbours = [np.corrcoef(order[:-1], order[1:])[0, 1] for order in orders]
    assert abs(np.mean(neighbours)) < 4 / (200 * 100) ** 0.5
    assert np.all(np.abs(orders.mean(axis=0) - 99.5) < 5 * 200 / 12**0.5 / 10)


#: Texts with long lines, empty lines, comments and, at times, without a last newline.
LINES = st.lists(
    st.one_of(st.integers(0, 12).map(lambda n: "1" + " 5:1" * n), st.sampled_from(["", "# nothing", "-1 3:2.5 # end"])),
    min_size=1,
    max_size=25,
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 40 bytes, so that small files have many of them."""
    for module in (text_blocks, in_blocks, stored_source):
        monkeypatch.setattr(module, "BLOCK_BYTES", 80)
        monkeypatch.setattr(module, "SMALLEST_BLOCK", 40, raising=False)


@given(LINES, LINES, st.booleans(), st.integers(0, 5), st.integers(1, 50), st.sampled_from([20, 100, 5000]))
def test_the_rows_of_text_are_all_read(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[str],
    second: list[str],
    ends: bool,
    seed: int,
    rows: int,
    block: int,
) -> None:
    """The same rows for any batch and block size, with the cache, and from every cursor; their lines are right."""
    folder = tmp_path_factory.mktemp("text")
    # The first feature of a row tells its file and line.
    texts = [
        [
            line if not line or line[0] == "#" else f"{line.split()[0]} {1000 * file + i + 1000}:1"
            for i, line in enumerate(lines)
        ]
        for file, lines in enumerate((first, second))
    ]
    for name, lines in zip("ab", texts, strict=True):
        (folder / f"{name}.svm").write_text("\n".join([*lines, "1 1:1"]) + "\n" * ends)
    source = th.scan_libsvm([folder / "a.svm", folder / "b.svm"]).limited(ReadLimits(block=block))
    expected = exactly(read(source.permuted(seed)))
    assert sorted(expected) == sorted(exactly(read(source)))
    assert exactly(read(source.permuted(seed), rows)) == expected
    cached = th.cached(source, folder / "cache")
    assert exactly(read(cached)) == exactly(read(source))
    assert exactly(read(cached.permuted(seed), rows)) == expected
    at = 0
    for batch, cursor in source.permuted(seed).batches(rows):
        for row, key in enumerate(batch.keys[batch.indptr[:-1]].tolist()):
            where = source.permuted(seed).where(cursor, batch, row)
            if key >= 1000:
                assert where == f"{folder / 'ab'[key // 1000 - 1]}.svm, line {key % 1000 + 1}"
        at += len(batch)
        for again in (source, cached):
            assert exactly(joined(again.permuted(seed).batches(start=cursor))) == expected[at:]


def test_long_lines_and_lines_over_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "long.svm"
    lines = [f"{1 if i % 2 else -1} " + " ".join(f"{j}:1" for j in range(1, 2 + 40 * (i % 7 == 0))) for i in range(40)]
    path.write_text("\n".join(lines))
    for cap in (5000, 100):
        source = th.scan_libsvm(path, on_error="skip").limited(ReadLimits(line_cap=cap, block=50))
        assert isinstance(source.permuted(3), Permuted)
        assert sorted(exactly(read(source.permuted(3)))) == sorted(exactly(read(source)))
        (*_, (_, cursor)) = source.permuted(3).batches()
        assert cursor.skipped == (0 if cap == 5000 else 6)


@pytest.mark.parametrize("header", [True, False])
def test_tables_and_objects(tmp_path: Path, header: bool) -> None:
    rows = [(i % 3, f"word{i % 5}", i) for i in range(60)]
    text = "".join(f"{a},{b},{c}\n" for a, b, c in rows)
    (tmp_path / "t.csv").write_text(("y,b,c\n" if header else "") + text)
    options = {} if header else {"names": ["y", "b", "c"]}
    plain = th.scan_csv(tmp_path / "t.csv", target="y", quote="", **options)
    (tmp_path / "t.jsonl").write_text("".join(f'{{"y": {a}, "b": "{b}", "c": {c}}}\n' for a, b, c in rows))
    for source in (plain, scan_jsonl(tmp_path / "t.jsonl", target="y")):
        permuted = source.permuted(1)
        assert isinstance(permuted, Permuted)
        assert exactly(read(permuted)) != exactly(read(source))
        assert sorted(exactly(read(permuted, 7, want_names=True))) == sorted(exactly(read(source, want_names=True)))
    # A quoted field may span lines.
    assert th.scan_csv(tmp_path / "t.csv", target="y", **options).blocks() is None


def test_small_and_compressed_files_stay_in_order(tmp_path: Path) -> None:
    (tmp_path / "small.svm").write_text("1 1:1\n" * 20)
    (tmp_path / "packed.svm.gz").write_bytes(gzip.compress(b"1 1:1\n" * 2000))
    for name in ("small.svm", "packed.svm.gz"):
        source = th.scan(tmp_path / name)
        assert source.permuted(1) is source


def test_a_cursor_of_an_earlier_version_is_read_on_in_order(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"1 {i + 1}:1\n" for i in range(200)))
    source = th.scan(path)
    (_, cursor), *_ = source.batches(33)
    assert cursor != Cursor()
    assert exactly(joined(source.permuted(1).batches(start=cursor))) == exactly(read(source))[33:]


def test_converted_rows_are_permuted_with_their_names(tmp_path: Path) -> None:
    """Pieces of a stored block hold their own names, not the text of the whole block."""
    path = tmp_path / "rows.vw"
    path.write_text("".join(f"1 | feature{i} shared\n" for i in range(500)))
    th_file = tmp_path / "rows.thc"
    with open(th_file, "wb") as file:
        summary = write_rows(file, th.scan(path))
    assert summary.pieces is not None
    assert len(summary.pieces) > 20
    stored = th.scan(th_file)
    batches = list(stored.permuted(5).batches(want_names=True))
    assert max(len(batch.names.text) for batch, _ in batches if batch.names is not None) < 200
    assert exactly(joined(batches)) == exactly(read(th.scan(path).permuted(5), want_names=True))
    line = batches[3][0].line
    assert line is not None
    assert split_tag(int(line[0]))[0] == 0
