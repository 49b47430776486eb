"""What users name instead of rows: streams of features, and files of labels."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from thresher.errors import DataError, SettingsError, UnreadableError
from thresher.substitution.arriving.feature_stream import FeatureStream


def stream_of(data: Any, *, target: Any = None, on_error: str = "stop") -> FeatureStream | None:
    """The stream that data is or names; None for rows."""
    if isinstance(data, FeatureStream):
        if target is not None:
            raise SettingsError("a stream knows its labels: name the target there, or pass y")
        return data
    if callable(data):
        return FeatureStream(data, on_error=on_error)
    if not isinstance(data, (str, os.PathLike)):
        return None
    path = os.fspath(data)
    if path.endswith(".npy"):
        return FeatureStream(path, on_error=on_error)
    if path.endswith((".parquet", ".pq", ".arrow", ".feather")) and os.path.isfile(path) and _all_numbers(path):
        return FeatureStream(path, target=target, on_error=on_error)
    if os.path.isdir(path) and any(entry.name.endswith(".npy") for entry in os.scandir(path)):
        return FeatureStream(path, on_error=on_error)
    return None


def _all_numbers(path: str) -> bool:
    """Whether the columns of a file can be taken as they are: other tables are read row by row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = (
            pq.read_schema(path) if path.endswith((".parquet", ".pq")) else pa.ipc.open_file(pa.memory_map(path)).schema
        )
    except (pa.ArrowException, OSError):
        return False
    kinds = [schema.field(i).type for i in range(len(schema))]
    return sum(not (pa.types.is_integer(kind) or pa.types.is_floating(kind)) for kind in kinds) == 0


def read_labels(path: str | os.PathLike[str]) -> Any:
    """Labels from a ``.npy`` file, or from text with one a line."""
    path = os.fspath(path)
    try:
        if path.endswith(".npy"):
            return np.load(path)
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except OSError as error:
        raise UnreadableError(f"{path}: {error.strerror or error}.") from None
    except ValueError as error:
        raise DataError(f"{path}: not a file of labels ({error}).") from None
    try:
        return np.array([float(line) for line in lines])
    except ValueError:
        return np.array(lines, dtype=object)
