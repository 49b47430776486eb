"""Held-out rows: independent splits, nested in a stated order, that keep all of the source below them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.streams import planted, write_libsvm
from thresher.selection.scoring import evaluate
from thresher.sources.arrays import DenseSource
from thresher.sources.base import Source
from thresher.sources.transforms.holdout import HeldOut, Split, hold_out

N = 40_000
SPLITS = list(Split)


def _numbered(n: int = N) -> Source:
    """Rows of one feature, whose value is the number of the row."""
    return DenseSource(np.arange(1.0, n + 1)[:, None], np.zeros(n))


def _rows(source: Source) -> set[int]:
    return {int(v) for batch, _ in source.batches() if batch.values is not None for v in batch.values}


def _is_share(part: int, whole: int, fraction: float) -> bool:
    return abs(part - whole * fraction) < 4 * math.sqrt(whole * fraction * (1 - fraction))


@pytest.mark.parametrize("seed", [0, 1])
def test_splits_are_independent(seed: int) -> None:
    held = {split: _rows(hold_out(_numbered(), 0.3, seed=seed, split=split)[1]) for split in SPLITS}
    for one in SPLITS:
        assert _is_share(len(held[one]), N, 0.3)
        for other in SPLITS:
            if one is not other:
                assert _is_share(len(held[one] & held[other]), len(held[one]), 0.3)


def test_nested_splits_are_shares_of_what_is_left() -> None:
    """Halves of the training rows, and validation rows of a half: with one salt, they would be all or none."""
    training, test = hold_out(_numbered(), 0.5, seed=3)
    one, other = hold_out(training, 0.5, seed=3, split=Split.HALVES)
    fitted, validation = hold_out(one, 0.5, seed=3, split=Split.VALIDATION)
    parts = [_rows(part) for part in (test, other, validation, fitted)]
    left = N
    for part in parts[:-1]:
        assert _is_share(len(part), left, 0.5)
        left -= len(part)
    assert len(set.union(*parts)) == sum(map(len, parts)) == N


def test_the_test_rows_have_no_salt() -> None:
    """The same rows for the same seed as ever."""
    held = HeldOut(_numbered(20), 0.5, held=True, seed=7)
    assert sorted(_rows(held)) == sorted(_rows(hold_out(_numbered(20), 0.5, seed=7)[1]))
    assert Split.TEST.salted(7) == 7
    assert len({split.salted(7) for split in SPLITS}) == len(SPLITS)
    prints = {hold_out(_numbered(20), 0.5, split=split)[0].fingerprint() for split in SPLITS}
    assert len(prints) == len(SPLITS)


@pytest.mark.parametrize("split", SPLITS)
def test_copies_of_a_row_are_on_one_side_of_every_split(split: Split) -> None:
    x = np.tile(np.arange(1.0, 501), 4)[:, None]
    training, held = (_rows(side) for side in hold_out(DenseSource(x, np.zeros(2000)), 0.3, split=split))
    assert training
    assert held
    assert not training & held


@pytest.mark.parametrize("order", ["shuffled", "sorted"])
def test_held_out_rows_keep_what_a_run_needs(tmp_path: Path, order: str) -> None:
    """Blocks in any order, names of files, limits: also where splits are nested."""
    x, y = planted(rows=3000, support=(3, 77, 200, 399), seed=1)
    by_class = np.argsort(y, kind="stable") if order == "sorted" else np.arange(len(y))
    source = th.scan(write_libsvm(tmp_path / "rows.svm", x[by_class], y[by_class]))
    training = hold_out(hold_out(source, 0.2)[0], 0.2, split=Split.VALIDATION)[0]
    assert training.mixes
    assert training.files() == source.files()
    assert training.permuted(1).fingerprint() != training.fingerprint()
    assert training.rewindable
    assert training.parses_files
    first = next(iter(training.permuted(1).batches(500)))[0]
    assert first.y is not None
    assert 0.2 < np.mean(first.y == first.y[0]) < 0.8


def test_a_sorted_file_with_a_holdout_learns_as_well_as_a_shuffled_one(tmp_path: Path) -> None:
    """Within three points, also of the whole file, where the order of the file costs ten and more."""
    x, y = planted(rows=4000, support=(3, 77, 200, 399), seed=1)
    by_class = np.argsort(y[:3000], kind="stable")
    files = {
        "shuffled": write_libsvm(tmp_path / "shuffled.svm", x[:3000], y[:3000]),
        "sorted": write_libsvm(tmp_path / "sorted.svm", x[by_class], y[by_class]),
    }
    test = th.scan(write_libsvm(tmp_path / "test.svm", x[3000:], y[3000:]))

    def accuracy(order: str, **how: Any) -> float:
        once: dict[str, Any] = {"k": 30, "memory": "4MB", "passes": 1, "refit": False}
        answers = [th.select(files[order], random_state=seed, **once, **how) for seed in range(3)]
        return float(np.mean([evaluate(answer, test)["accuracy"] for answer in answers]))

    learned = accuracy("sorted", holdout=0.2)
    assert abs(learned - accuracy("shuffled", holdout=0.2)) < 0.03
    assert abs(learned - accuracy("sorted")) < 0.03
    assert accuracy("sorted", holdout=0.2, shuffle=False) < learned - 0.1
