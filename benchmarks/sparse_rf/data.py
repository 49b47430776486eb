"""The data sets of Sparse Random Features, from the folder that THRESHER_DATASETS names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.fgm.real import load as load_svm
from benchmarks.harness import DATASETS

Array = np.ndarray[Any, Any]
MISSING = f"Not run: {DATASETS} names no folder with this data."


class Data(NamedTuple):
    """Rows and targets, to learn from and to test on."""

    x: Array
    y: Array
    test: Array
    truth: Array


def folder() -> Path | None:
    """Where the sets are."""
    named = os.environ.get(DATASETS)
    return Path(named) if named and Path(named).is_dir() else None


def load(name: str) -> Data | None:
    """A set by name; numbers to predict are scaled to 0..1, and the inputs of these sets too."""
    return _load(name, "test_idx")


def load_validated(name: str) -> Data | None:
    """The same without its test rows: in their place rows to choose settings by, which are not learned from."""
    data = _load(name, "valid_idx")
    if data is None or (folder() or Path()).joinpath(f"{name}.npz").exists():
        return data
    held = np.arange(len(data.x)) % 5 == 4
    return Data(data.x[~held], data.y[~held], data.x[held], data.y[held])


def _load(name: str, other: str) -> Data | None:
    where = folder()
    if where is None:
        return None
    stored = where / f"{name}.npz"
    if stored.exists():
        held = np.load(stored)
        x, y = held["X"].astype(np.float64), held["y"].astype(np.float64)
        x, y = _scaled(x), _scaled(y)
        train, test = held["train_idx"], held[other]
        return Data(x[train], y[train], x[test], y[test])
    if not list(where.glob(f"{name}.train.svm*")):
        return None
    train_rows, y, test_rows, truth = load_svm(where, name)
    return Data(train_rows.toarray().astype(np.float64), y, test_rows.toarray().astype(np.float64), truth)


def _scaled(values: Array) -> Array:
    low, high = values.min(axis=0), values.max(axis=0)
    return (values - low) / np.where(high > low, high - low, 1.0)
