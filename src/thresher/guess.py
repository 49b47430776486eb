"""The loss that the labels ask for, where the user names none: of two classes, of several, or of numbers.

A fit begins with two classes, so that usual data is read no more often than with a given loss. A third label ends it,
and the fit starts again with what the labels of all rows are. If the data can be read only once, the first rows decide.
"""

from __future__ import annotations

import logging
import os
from functools import partial
from typing import NamedTuple

from thresher.core.label_task import NumericLabels, are_numbers, classes_found, numbers_found
from thresher.core.labels import Label, ThirdLabel, sort_labels
from thresher.core.losses import get_loss
from thresher.core.memory import DEFAULT_MEMORY, ReadLimits, Watch, parse_size
from thresher.core.storage import container
from thresher.core.storage.checkpoint import KIND
from thresher.errors import DataError, FileFormatError, SettingsError
from thresher.methods import MethodSpec
from thresher.sources.base import Source
from thresher.sources.transforms.label_scan import distinct_of
from thresher.sources.transforms.peeked import FirstLabels, Peeked
from thresher.sources.transforms.watched import Watched

log = logging.getLogger("thresher.sources")


class Guess(NamedTuple):
    """A loss, and the classes if the method must know them before the first row."""

    loss: str
    classes: list[Label] | None = None


class Guesser(NamedTuple):
    """Guesses the loss of a method.

    Attributes
    ----------
    task : {"auto", "classes"}
        ``classes``: labels are never numbers.
    weighted : bool
        Whether classes have weights, so that labels must not be numbers.
    """

    spec: MethodSpec
    task: str
    weighted: bool
    memory: str | int | None
    watch: Watch

    def from_checkpoint(self, path: str | os.PathLike[str]) -> Guess:
        """The guess of an interrupted fit; two classes if the file is none of this method."""
        spec = self.spec
        try:
            _, meta, _ = container.read(path, KIND)
            loss, labels = meta["identity"]["loss"], list(meta["labels"])
        except (FileFormatError, LookupError, TypeError):
            return Guess(spec.loss)  # resuming says what is wrong
        if loss not in (spec.several, spec.numbers):
            return Guess(spec.loss)
        return Guess(loss, labels if spec.online and get_loss(loss).task == "classes" else None)

    def peeked(self, source: Source) -> Source:
        """A source that can be read only once; the pass over it ends early if its first labels decide otherwise."""
        return Peeked(source, FirstLabels(partial(self._check, source.describe())))

    def _check(self, data: str, labels: set[Label]) -> None:
        """Raise if the fit that began is wrong for these labels."""
        if self._are_numbers(labels) or (self.spec.online and len(labels) > 2):
            raise ThirdLabel(f"{data}: the first rows have more than two labels", ".")

    def after_third_label(self, error: ThirdLabel, source: Source | None) -> Guess:
        """The guess by the labels of all rows, or of the first ones, once a fit of two classes has failed."""
        if source is None:  # a stream of features, none of which was read
            self._check_unweighted(error.what)
            log.info('%s; for classes pass `task="classes"`', error.what)
            return Guess(self.spec.numbers)
        if isinstance(source, Peeked) and not source.first.taken:
            return self._guess(source.first.labels, source.describe())
        if source.rewindable:
            return self._guess(self._all_labels(source), source.describe(), "; the fit starts again")
        if isinstance(error, NumericLabels):
            raise error
        raise DataError(
            f"{error.what}, and the data can be read only once. For several classes name them all (`classes`), as in "
            '`classes=["a", "b", "c"]`; for numbers pass `task="numbers"`.'
        )

    def _guess(self, labels: set[Label], data: str, then: str = "") -> Guess:
        if self._are_numbers(labels):
            self._check_unweighted(f"{data}: {numbers_found(labels)}")
            log.info("%s: %s%s", data, numbers_found(labels), then)
            return Guess(self.spec.numbers)
        classes = sort_labels(labels)
        if len(classes) <= 2:
            return Guess(self.spec.loss)
        log.info("%s: %s%s", data, classes_found(classes), then)
        return Guess(self.spec.several, classes if self.spec.online else None)

    def _are_numbers(self, labels: set[Label]) -> bool:
        return self.task == "auto" and are_numbers(labels)

    def _check_unweighted(self, found: str) -> None:
        if self.weighted:
            raise SettingsError(f"{found}. `class_weight` needs classes: leave it out, or pass `task='classes'`")

    def _all_labels(self, source: Source) -> set[Label]:
        watched = Watched(self._limited(source), self.watch, "reading labels")
        return distinct_of(watched, may_be_numbers=self.task == "auto")

    def _limited(self, source: Source) -> Source:
        return source.limited(ReadLimits.of(parse_size(DEFAULT_MEMORY if self.memory is None else self.memory)))
