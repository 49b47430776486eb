"""A stream of features: the columns of any data, a block at a time, each once a scan."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.feature_space import FeatureSpace
from thresher.display import cut
from thresher.errors import DataError, SettingsError
from thresher.sources.transforms.drop import FeatureDrop
from thresher.substitution.arriving.checked_blocks import CONSTANT, Block, Scan
from thresher.substitution.arriving.column_reader import ColumnReader, IndexedReader
from thresher.substitution.arriving.file_readers import ARROW_ENDINGS, has_only_numbers, read_labels
from thresher.substitution.arriving.format_readers import open_columns

__all__ = ["Block", "FeatureStream", "block_for", "stream_labels", "stream_of"]

#: The most columns of a block, dense or sparse.
_DENSE_BLOCK, _SPARSE_BLOCK = 64, 1024
_BLOCK_BYTES = 64 << 20


class FeatureStream:
    """Features that arrive one by one as columns, of which only a block is in memory.

    Parameters
    ----------
    data : array, memory-mapped array, SciPy matrix, DataFrame or Arrow table, path, callable or iterable
        The data whose columns are the features. A path is a ``.npy`` file (memory-mapped), a Parquet or Arrow file
        (read column by column), or a folder with one file for each column (``.npy``, or text with a number a line),
        named after the feature. An iterable yields columns, or pairs of a name and a column. A callable without
        arguments returns such an iterable; it is called again for every scan, whereas an iterator allows one scan.
    names : sequence of str, optional
        The names of the columns. Keys are then hashes of the names, as they are for the columns of a table. By
        default the columns of a matrix are identified by their position.
    target : str, optional
        The column of a table that holds the labels.
    on_error : {"stop", "skip", "constant"}
        What to do about a column that is constant, has another length than the labels, or has missing or infinite
        values: ``stop`` raises an error, ``skip`` skips and counts the column, ``constant`` skips constant columns
        and raises an error for the others.
    block : int, optional
        Columns to hold at a time; it does not change the answer.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=500)
    >>> def columns():
    ...     rng = np.random.default_rng(1)
    ...     for j in range(100):
    ...         noise = rng.normal(size=500)
    ...         yield f"c{j}", y + noise if j == 7 else noise
    >>> th.select(th.FeatureStream(columns), y, k=1, method="os", loss="squared").names
    ['c7']
    """

    def __init__(
        self,
        data: Any,
        *,
        names: Sequence[str] | None = None,
        target: str | None = None,
        on_error: str = "stop",
        block: int | None = None,
    ) -> None:
        if on_error not in ("stop", "skip", "constant"):
            raise SettingsError(f'on_error must be "stop", "skip" or "constant", not {on_error!r}')
        if block is not None and block < 1:
            raise SettingsError(f"block is a number of columns, at least 1, not {block}")
        self.reader: ColumnReader = open_columns(data, names, target)
        self.on_error = on_error
        self.block = block
        #: The number of columns skipped in the first scan, by what is wrong with them.
        self.skipped: Counter[str] = Counter()
        #: The features that never arrive.
        self.dropped: FeatureDrop | None = None

    def without(self, dropped: FeatureDrop) -> FeatureStream:
        """The same stream without some features."""
        stream = copy(self)
        stream.dropped = dropped
        return stream

    @property
    def size(self) -> int | None:
        """The number of features, if known."""
        return self.reader.size

    @property
    def rows(self) -> int | None:
        """The length of a column, if known before the first column is read."""
        return self.reader.rows

    @property
    def labels(self) -> Any:
        """The labels, if the data has a column for them."""
        return self.reader.labels

    @property
    def rewindable(self) -> bool:
        """Whether the stream can be scanned again."""
        return self.reader.rewindable

    @property
    def sparse(self) -> bool:
        """Whether columns are read without their zeros."""
        return isinstance(self.reader, IndexedReader) and self.reader.sparse

    @property
    def space(self) -> FeatureSpace:
        """The feature space of the keys."""
        return FeatureSpace("token") if self.reader.named else FeatureSpace("column", self.size)

    def describe(self) -> str:
        """A short description for messages."""
        return self.reader.describe()

    def fingerprint(self) -> str:
        """A hash of the shape and the first columns, or of the names and sizes of the files."""
        plain = hashlib.blake2b(self.reader.identity(), digest_size=16).hexdigest()
        return plain if self.dropped is None else f"{plain}:dropped:{self.dropped.identity()}"

    def block_for(self, rows: int) -> int:
        """The number of dense columns of ``rows`` rows to hold at a time."""
        return self.block if self.block is not None else block_for(rows)

    def blocks(
        self,
        rows: int,
        *,
        start: int,
        order: NDArray[np.int64] | None,
        keep: NDArray[np.int64] | None,
        block: int,
        wide: bool,
        count_skipped: bool,
    ) -> Iterator[Block]:
        """One scan from position ``start`` on, a block at a time.

        Parameters
        ----------
        rows : int
            The length that every column must have.
        order : array or None
            The positions of the features in the order in which they arrive.
        keep : array or None
            Rows to use of every column.
        block : int
            Dense columns to hold at a time.
        wide : bool
            Put more columns into a block if they are sparse, in the same memory: for methods that keep them sparse.
        count_skipped : bool
            Whether to count skipped columns; the first scan does.
        """

        def on_bad_column(name: str, fault: str) -> None:
            if self.on_error == "stop" or (self.on_error == "constant" and fault != CONSTANT):
                raise DataError(f'the column {cut(name)} {fault}. Fix it, or skip such columns with `on_error="skip"`.')
            if count_skipped:
                self.skipped[fault] += 1

        sparse_block = max(block, _SPARSE_BLOCK) if wide and self.block is None else block
        dropped = None if self.dropped is None else self.dropped.has
        return Scan(self.reader, rows, order, keep, block, sparse_block, on_bad_column, dropped).blocks(start)


def block_for(rows: int) -> int:
    """The default number of dense columns of ``rows`` rows to hold at a time."""
    return max(1, min(_DENSE_BLOCK, _BLOCK_BYTES // (4 * max(1, rows))))


def stream_of(data: Any, *, target: Any = None, on_error: str = "stop") -> FeatureStream | None:
    """The stream that the data is or names: its columns are the features; None for data to be read by rows."""
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
    if path.endswith(ARROW_ENDINGS) and os.path.isfile(path) and has_only_numbers(path):
        return FeatureStream(path, target=target, on_error=on_error)
    if os.path.isdir(path) and any(entry.name.endswith(".npy") for entry in os.scandir(path)):
        return FeatureStream(path, on_error=on_error)
    return None


def stream_labels(y: Any, file: Any) -> Any:
    """The labels of a stream: ``y``, or the content of ``labels_file=``; None if the stream contains them."""
    if y is not None or file is None:
        return y
    return read_labels(file) if isinstance(file, (str, os.PathLike)) else file
