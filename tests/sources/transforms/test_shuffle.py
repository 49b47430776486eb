"""Shuffle buffers end by bytes, long names included, whatever the batches of the source are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from thresher.core.batch import Batch, Names
from thresher.core.memory import ReadLimits
from thresher.sources.transforms.shuffle import FEATURE_BYTES, USUAL_NAME, Shuffled


def _write(path: Path, lengths: list[list[int]]) -> Path:
    """A row per list, with a name of each of these lengths."""
    rows = [" ".join(f"{i}_{j}".ljust(n, "x") for j, n in enumerate(row)) for i, row in enumerate(lengths)]
    path.write_text("".join(f"{i % 2} | {row}\n" for i, row in enumerate(rows)))
    return path


def _ends(lengths: list[list[int]], rows: int, features: int) -> list[int]:
    """The rows of each buffer, by the rule."""
    ends, n, size = [], 0, 0
    for row in lengths:
        n += 1
        for length in row:
            # A name holds at most 4095 bytes of its text.
            size += FEATURE_BYTES + max(0, min(length, 4095) - USUAL_NAME)
        if n >= rows or size >= FEATURE_BYTES * features:
            ends.append(n)
            n = size = 0
    return ends + [n] * (n > 0)


_LENGTHS = st.lists(
    st.lists(st.sampled_from([8, 20, 64, 65, 100, 700, 5000]), min_size=1, max_size=5), min_size=1, max_size=20
)


@examples(60)
@given(lengths=_LENGTHS, block=st.integers(100, 20_000), rows=st.integers(1, 8), features=st.integers(1, 40))
def test_buffers_end_by_rows_features_and_long_names(tmp_path_factory, lengths, block, rows, features):
    path = _write(tmp_path_factory.mktemp("names") / "rows.vw", lengths)
    source = Shuffled(th.scan(path).limited(ReadLimits(block=block)), seed=1, rows=rows, features=features)
    buffers = [batch for batch, _ in source.batches(want_names=True)]
    assert [len(batch) for batch in buffers] == _ends(lengths, rows, features)
    for batch in buffers:
        assert batch.names is not None
        names = batch.names.to_bytes()
        # What is held is bounded by what was counted, up to the marks between names.
        assert len(batch.names.text) <= sum(map(len, names)) + (USUAL_NAME + 4) * len(names) + 8 * len(batch)
    assert sorted(name[:2] for batch in buffers for name in batch.names.to_bytes()) == sorted(
        f"{i}_{j}".encode()[:2] for i, row in enumerate(lengths) for j in range(len(row))
    )


def test_buffers_of_usual_names_end_after_a_number_of_features(tmp_path: Path) -> None:
    """Names of up to 64 bytes change nothing: without names the buffers are the same."""
    source = th.scan(_write(tmp_path / "rows.vw", [[64] * (1 + i % 7) for i in range(300)]))
    shuffled = Shuffled(source, seed=1, rows=50, features=90)
    named = [batch.keys.tolist() for batch, _ in shuffled.batches(want_names=True)]
    assert named == [batch.keys.tolist() for batch, _ in shuffled.batches()]
    assert len(named) > 10


def test_a_text_shared_by_batches_is_stored_once() -> None:
    text = np.frombuffer(b"abcdef", np.uint8)
    words = Names.pack(np.array([0, 3]), np.array([3, 3]), 0)
    part = Batch(np.array([0, 2]), np.array([7, 8], np.uint64), None, names=Names(words, text, [b""]))
    other = replace(part, names=Names(words, text.copy(), [b"", b"p"]))
    joined = Batch.concat([part, other, part]).names
    assert joined is not None
    assert joined.to_bytes() == [b"abc", b"def"] * 3
    assert len(joined.text) == 12
