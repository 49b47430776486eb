"""Examines the labels of the first rows of a source that can be read only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.labels import Label, distinct_labels
from thresher.sources.base import Source, Wrapped

#: The rows whose labels are examined.
ROWS = 1000


@dataclass
class FirstLabels:
    """The labels of the first rows, and these rows until a fit takes them.

    ``check`` is called once with the distinct labels, and raises if the fit must begin otherwise.
    """

    check: Callable[[set[Label]], None]
    labels: set[Label] = field(default_factory=set)
    held: list[tuple[Batch, Cursor]] = field(default_factory=list)
    rest: Iterator[tuple[Batch, Cursor]] | None = None
    taken: bool = False


class Peeked(Wrapped):
    """The same rows. The first pass checks the labels of the first ones; if it fails, the next pass gets them too."""

    def __init__(self, source: Source, first: FirstLabels) -> None:
        super().__init__(source)
        self.first = first

    def _with(self, source: Source) -> Source:
        return Peeked(source, self.first)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        first = self.first
        if first.taken:  # the source says that it can be read only once
            yield from self.source._read(rows, start, only, want_names, want_labels)
            return
        if first.rest is None:
            first.rest = self.source._read(rows, start, only, want_names, want_labels)
            self._examine(first, first.rest)
        first.taken = True
        held, first.held = first.held, []
        yield from held
        yield from first.rest

    def _examine(self, first: FirstLabels, reading: Iterator[tuple[Batch, Cursor]]) -> None:
        left = ROWS
        for batch, cursor in reading:
            first.held.append((batch, cursor))
            first.labels |= distinct_labels(batch.take(slice(left)), partial(self.source.where, cursor, batch))
            left -= len(batch)
            if left <= 0:
                break
        first.check(first.labels)
