"""Damaged Parquet, Arrow and ``.npy`` files, read by rows and by columns."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.attack.checks import read_rows
from tests.attack.mutations import damaged
from tests.attack.texts import Case
from thresher.sources.tables.parquet import scan_parquet
from thresher.substitution.arriving.feature_stream import FeatureStream, stream_of
from thresher.substitution.arriving.file_readers import read_labels

N = 40


def _tables() -> list[Any]:
    numbers = [float(i % 7) for i in range(N)]
    mixed = pa.table(
        {
            "y": [i % 2 for i in range(N)],
            "a": [None if i % 9 == 0 else i / 4 for i in range(N)],
            "b": [f"city {i % 5}" for i in range(N)],
            "c": pa.array([f"k{i % 3}" for i in range(N)]).dictionary_encode(),
            "tags": [[f"t{i % 4}", "é"][: i % 3] for i in range(N)],
            "vec": pa.array([[1.0, i, -2.0] for i in range(N)], pa.list_(pa.float32(), 3)),
            "deep": [{"u": i, "v": f"w{i}"} for i in range(N)],
            "m": pa.array([[("k", float(i))] for i in range(N)], pa.map_(pa.string(), pa.float64())),
            "flag": [i % 3 == 0 for i in range(N)],
        }
    )
    return [mixed, pa.table({"y": numbers, "u": numbers[::-1], "v": [x * x for x in numbers]})]


def _read(rng: random.Random, path: Path) -> object:
    """By rows, or by columns as Online Substitution reads a table of numbers."""
    stream = stream_of(path, target="y", on_error="skip") if rng.random() < 0.3 else None
    if stream is None:
        return read_rows(rng, scan_parquet(path, target="y", on_error=rng.choice(("stop", "skip"))))
    return _columns(stream)


def _columns(stream: FeatureStream) -> object:
    stream.fingerprint()
    rows = len(stream.labels) if stream.labels is not None else stream.rows or N
    blocks = stream.blocks(rows, start=0, order=None, keep=None, block=2, wide=False, count_skipped=True)
    return [block.dense.sum() for block in blocks]


def parquet(folder: Path) -> Case:
    files = []
    for table in _tables():
        for options in (
            {"compression": "none", "row_group_size": 15, "write_page_index": True},
            {"compression": "snappy", "use_dictionary": False},
            {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 9, "store_decimal_as_integer": True},
        ):
            sink = io.BytesIO()
            pq.write_table(table, sink, **options)
            files.append(sink.getvalue())
    path = folder / "t.parquet"

    def case(rng: random.Random) -> object:
        path.write_bytes(damaged(rng, files))
        return _read(rng, path)

    return case


def arrow(folder: Path) -> Case:
    files = []
    for table in _tables():
        for new in (pa.ipc.new_file, pa.ipc.new_stream):
            for compression in (None, "lz4", "zstd"):
                sink = io.BytesIO()
                with new(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
                    writer.write_table(table, max_chunksize=15)
                files.append(sink.getvalue())
    path = folder / "t.arrow"

    def case(rng: random.Random) -> object:
        path.write_bytes(damaged(rng, files))
        return _read(rng, path)

    return case


def npy(folder: Path) -> Case:
    files = []
    for array in (
        np.arange(3 * N, dtype=np.float32).reshape(N, 3),
        np.asfortranarray(np.arange(2 * N, dtype=np.int64).reshape(N, 2)),
        np.array([f"a{i % 2}" for i in range(N)]),
        np.arange(N) % 2,
    ):
        sink = io.BytesIO()
        np.save(sink, array)
        files.append(sink.getvalue())
    path, column = folder / "t.npy", folder / "columns" / "c.npy"
    column.parent.mkdir()

    def case(rng: random.Random) -> object:
        data = damaged(rng, files)
        style = rng.randrange(3)
        (column if style == 1 else path).write_bytes(data)
        if style == 2:
            return len(read_labels(path))
        return _columns(FeatureStream(path if style == 0 else column.parent, on_error="skip"))

    return case
