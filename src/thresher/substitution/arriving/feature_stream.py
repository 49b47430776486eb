"""Features that arrive: columns of anything, a block at a time, each of them once a scan."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.feature_space import FeatureSpace
from thresher.errors import DataError, SettingsError
from thresher.substitution.arriving.blocks import CONSTANT, Block, Scan
from thresher.substitution.arriving.column_reader import Arrivals, Numbered
from thresher.substitution.arriving.format_readers import open_arrivals

__all__ = ["BLOCK", "Block", "FeatureStream"]

#: Columns of a block, unless their rows make that too large.
BLOCK = 64
_BLOCK_BYTES = 64 << 20
#: Columns of a block of which only few numbers are not zero.
WIDE = 1024


@dataclass
class Skipped:
    """Columns that were passed over, by what is wrong with them; a few of their names."""

    counts: dict[str, int]
    names: list[str]

    def add(self, name: str, fault: str) -> None:
        """One more."""
        self.counts[fault] = self.counts.get(fault, 0) + 1
        if len(self.names) < 10:
            self.names.append(name)


class FeatureStream:
    """Columns that arrive one by one: a family of features of which only a block is ever held.

    Parameters
    ----------
    data : array, memory-mapped array, SciPy matrix, DataFrame or Arrow table, path, callable or iterable
        Whose columns are the features. A path is a ``.npy`` file (read through a memory map), a Parquet or Arrow
        file (read column by column) or a folder of files of one column each (``.npy``, or text with a number a
        line), called as the file is. An iterable gives columns, or pairs of a name and a column; a callable without
        arguments gives such an iterable, and is called again for every scan, where a mere iterator can be gone
        through once.
    names : sequence of str, optional
        What the columns are called; their keys then are hashes of the names, as those of the columns of a table
        are. Columns of a matrix are otherwise known by their position.
    target : str, optional
        The column of a table that holds the labels.
    on_error : {"stop", "skip", "constant"}
        What to do about a column of another length, with missing or infinite numbers, or all constant: refuse it,
        or pass over it and count it; ``constant`` passes over constant ones only.
    block : int, optional
        Columns to hold at a time; the answer does not depend on it.

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
            raise SettingsError(f'on_error is "stop", "skip" or "constant", not {on_error!r}')
        if block is not None and block < 1:
            raise SettingsError(f"block is a number of columns, at least 1, not {block}")
        self.arrivals: Arrivals = open_arrivals(data, names, target)
        self.on_error = on_error
        self.block = block
        self.skipped = Skipped({}, [])

    @property
    def size(self) -> int | None:
        """How many features there are, where that is known."""
        return self.arrivals.size

    @property
    def rows(self) -> int | None:
        """How long a column is, where that is known before the first."""
        return self.arrivals.rows

    @property
    def labels(self) -> Any:
        """The column that holds the labels, where the data has one."""
        return self.arrivals.labels

    @property
    def rewindable(self) -> bool:
        """Whether there can be another scan."""
        return self.arrivals.rewindable

    @property
    def sparse(self) -> bool:
        """Whether columns come without their zeros."""
        return isinstance(self.arrivals, Numbered) and self.arrivals.sparse

    @property
    def space(self) -> FeatureSpace:
        """What the keys mean."""
        return FeatureSpace("token") if self.arrivals.named else FeatureSpace("column", self.size)

    def describe(self) -> str:
        """For people."""
        return self.arrivals.describe()

    def fingerprint(self) -> str:
        """A hash of what identifies the stream: its shape and its first columns, or its files."""
        return hashlib.blake2b(self.arrivals.identity(), digest_size=16).hexdigest()

    def block_for(self, rows: int, most: int | None = None) -> int:
        """Columns to hold at a time."""
        return self.block if self.block is not None else block_for(rows, most)

    def arrive(
        self,
        rows: int,
        *,
        start: int = 0,
        order: NDArray[np.int64] | None = None,
        keep: NDArray[np.int64] | None = None,
        block: int = BLOCK,
        wide: bool = False,
        count: bool = True,
    ) -> Iterator[Block]:
        """The features from number ``start`` on, a block at a time.

        Parameters
        ----------
        rows : int
            How long columns must be.
        order : array, optional
            The numbers of the features in the order they are to come.
        keep : array, optional
            Rows to take of every column.
        block : int
            Columns to hold at a time.
        wide : bool
            More at a time of columns with few numbers, in the same room: for whoever never makes them whole.
        count : bool
            Whether what is skipped counts: it does in the first scan.
        """

        def faulty(name: str, fault: str) -> None:
            if self.on_error == "stop" or (self.on_error == "constant" and fault != CONSTANT):
                raise DataError(f'the column {name} {fault}. Mend it, or pass over such columns with on_error="skip".')
            if count:
                self.skipped.add(name, fault)

        most = max(block, WIDE) if wide and self.block is None else block
        return Scan(self.arrivals, rows, order, keep, block, most, faulty).blocks(start)


def block_for(rows: int, most: int | None = None) -> int:
    """Columns of so many rows to hold at a time, in ``most`` bytes."""
    return max(1, min(BLOCK, (_BLOCK_BYTES if most is None else most) // (4 * max(1, rows))))
