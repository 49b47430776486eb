"""The complete splits of a fit as arrays of its checkpoint."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import FileFormatError
from thresher.selection.file import load, save
from thresher.trust.split import Split


def saved_splits(splits: Sequence[Split]) -> dict[str, NDArray[Any]]:
    """The arrays: the candidates of each split as the bytes of a ``.thr`` file, and its numbers."""
    arrays: dict[str, NDArray[Any]] = {}
    for number, split in enumerate(splits):
        arrays[f"{number}.candidates"] = np.frombuffer(_bytes_of(split), np.uint8)
        arrays[f"{number}.units"] = split.units
        arrays[f"{number}.mirror"] = split.mirror
        arrays[f"{number}.rows"] = np.array([*split.rows, *split.seen, split.ridged, split.taken], np.int64)
    return arrays


def restored_splits(arrays: Mapping[str, NDArray[Any]], count: int) -> list[Split]:
    """The splits of these arrays; LookupError or ValueError if they are not complete."""
    splits = []
    for number in range(count):
        candidates = _selection_of(arrays[f"{number}.candidates"])
        units, mirror, rows = (arrays[f"{number}.{name}"] for name in ("units", "mirror", "rows"))
        if units.dtype != np.uint64 or mirror.dtype != np.float64 or units.shape != mirror.shape or rows.shape != (6,):
            raise ValueError(f"split {number} is damaged")
        first, second, seen_first, seen_second, *others = rows.tolist()
        splits.append(Split(candidates, units, mirror, (first, second), (seen_first, seen_second), *others))
    return splits


def _bytes_of(split: Split) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "candidates.thr")
        save(split.candidates, path)
        with open(path, "rb") as file:
            return file.read()


def _selection_of(content: NDArray[Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "candidates.thr")
        with open(path, "wb") as file:
            file.write(content.astype(np.uint8).tobytes())
        try:
            return load(path)
        except FileFormatError as error:
            raise ValueError(str(error)) from None
