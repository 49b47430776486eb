"""The fits of a working-set method on halves of the rows: they share the columns, and other rows weigh nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.core.memory import Watch
from thresher.errors import DataError
from thresher.sources.base import Source
from thresher.trust.stability.classes import one_class_in_a_half
from thresher.trust.stability.distinct import DistinctKeys
from thresher.trust.stability.frequencies import Keys
from thresher.trust.stability.pairs import Pairs, Sides
from thresher.trust.stability.settings import Stability
from thresher.working_set.dataset import Examples


class ColumnRun(Protocol):
    """A run whose columns are there after it, for further fits."""

    source: Source | None
    examples: Examples | None
    watch: Watch

    def watched(self, source: Source, phase: str) -> Source:
        """The source, whose passes are reported."""

    def part_fits(self, show: Callable[[], None]) -> Callable[[NDArray[np.bool_]], Keys]:
        """What selects features from some rows alone, with the settings of the run; ``show`` is called meanwhile."""


class ColumnFits:
    """Fits on halves of the rows of a run, one after the other.

    Parameters
    ----------
    run : ColumnRun
    stability : Stability
    """

    def __init__(self, run: ColumnRun, stability: Stability) -> None:
        self._run, self._seed, self._pairs = run, stability.seed, stability.pairs
        self.distinct = DistinctKeys()

    def fits(self, done: int) -> Iterator[Keys]:
        """The features of each fit, strongest first; ``done`` fits are skipped."""
        halves = self._halves()
        number = done
        watch = self._run.watch
        fit = self._run.part_fits(lambda: watch.show(phase=f"fitting half {number + 1} of {2 * self._pairs}"))
        for number in range(done, 2 * self._pairs):
            rows = halves(number // 2) == number % 2
            self._check(rows, number // 2)
            yield fit(rows)

    def _halves(self) -> Callable[[int], Sides]:
        """Read the rows once: a word for each says which half of every pair it belongs to."""
        assert self._run.source is not None
        source = self._run.watched(self._run.source, "dividing the rows")
        pairs = Pairs(source, self._seed)
        found = []
        for batch, _ in source.batches():
            self.distinct.add(batch.keys)
            found.append(pairs.words(batch) if pairs.by_words else pairs.sides(batch, range(self._pairs)))
        if not pairs.by_words:
            sides = np.concatenate(found, axis=1).astype(np.int8)
            return lambda pair: sides[pair]
        words = np.concatenate(found).astype(np.uint64)
        return lambda pair: pairs.bits(words, pair)

    def _check(self, rows: NDArray[np.bool_], pair: int) -> None:
        """Raise if a class has no rows in a half."""
        examples = self._run.examples
        assert examples is not None
        if examples.classes is None:
            return
        positive = (examples.y[:, rows & (examples.weight > 0)] > 0).sum(axis=1)
        if len(positive) == 1:
            rest = int((rows & (examples.weight > 0)).sum()) - int(positive[0])
            missing = [examples.classes[i] for i, count in enumerate((rest, int(positive[0]))) if not count]
        else:
            missing = [label for label, count in zip(examples.classes, positive, strict=True) if not count]
        if missing:
            assert self._run.source is not None
            raise DataError(one_class_in_a_half(self._run.source.describe(), pair, missing))
