"""The rows of a fit: opened with their options, without features to drop, divided into training and test rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from thresher.core.memory import Watch
from thresher.errors import SettingsError
from thresher.selection.scoring import test_source
from thresher.sources.base import Source
from thresher.sources.files.changes import FilesAtStart
from thresher.sources.registry import is_paths

if TYPE_CHECKING:
    from thresher.sources.named_features import NamedFeatures
    from thresher.sources.transforms.held_rows import HeldRows


class TrainingRows(NamedTuple):
    """The rows of a fit.

    Attributes
    ----------
    source : Source
        The rows to learn from.
    whole : Source
        All rows, before some were held out.
    files : FilesAtStart
        The files of the rows, as they are now.
    test : Source or None
        Rows to score on.
    held : HeldRows or None
        The rule by which the test rows are held out.
    """

    source: Source
    whole: Source
    files: FilesAtStart
    test: Source | None = None
    held: HeldRows | None = None

    @classmethod
    def of(cls, source: Source) -> TrainingRows:
        """All rows of a source."""
        return cls(source, source, FilesAtStart(source))

    @property
    def labelled(self) -> Source:
        """All rows that have labels: those to learn from, and test rows that are held out already."""
        return self.source if self.test is None else self.whole

    def grouped(self, held: HeldRows | None, reading: Mapping[str, Any], watch: Watch) -> TrainingRows:
        """The rows with what a cache of them must know: their groups, or where the last rows begin."""
        if held is None:
            return self
        source, test = held.before_cache(self.source, _named_columns(reading), watch)
        return self._replace(source=source, test=test, held=held)

    def cached(self, cache: str | os.PathLike[str] | bool, size: str | int, watch: Watch) -> TrainingRows:
        """The rows, parsed once and kept."""
        from thresher.sources.cache.cached import cached

        return self._replace(source=cached(self.source, cache, size=size, watch=watch))

    def divided(self, seed: int) -> TrainingRows:
        """The rows without those to hold out."""
        if self.held is None or self.test is not None:
            return self
        source, test = self.held.split(self.source, seed)
        return self._replace(source=source, test=test)

    def other(self, data: Any, target: str | int | None, reading: Mapping[str, Any], *, number: int) -> Source:
        """Other data, read in the same way; of the same genomes, each number draws fragments of its own."""
        fragments = {"seed": reading["seed"] + number} if reading.get("fragments") is not None else {}
        return test_source(data, self.source, target, {**reading, **fragments})

    @property
    def holdout(self) -> dict[str, Any] | None:
        """What was held out, for the provenance of a selection."""
        return None if self.held is None else self.held.to_dict(self.whole)


def held_rows(
    holdout: float | None, holdout_by: str | None, holdout_last: float | None, test: Any = None
) -> HeldRows | None:
    """The rows to hold out by these settings of `thresher.select`, if any."""
    if holdout is None and holdout_by is None and holdout_last is None:
        return None
    if test is not None:
        raise SettingsError("pass `test` or `holdout`, not both")
    from thresher.sources.transforms.held_rows import HeldRows

    return HeldRows.of(holdout, holdout_by, holdout_last)


def named_features(keep: Any, drop: Any) -> NamedFeatures | None:
    """The features to keep and to drop, if any."""
    if keep is None and drop is None:
        return None
    from thresher.sources.named_features import NamedFeatures

    return NamedFeatures.of(keep, drop)


def reading_options(
    data: Any,
    reading: dict[str, Any],
    format: str | None,
    on_error: str,
    *,
    multilabel: bool,
    seed: int,
    sample_weight: Any,
) -> dict[str, Any]:
    """All options for reading the data, with the arguments of a fit that concern reading."""
    if reading and isinstance(data, Source):
        raise SettingsError(f"a Source has its own reading options: leave out {', '.join(reading)}")
    reading = {**reading, "format": format, "on_error": on_error}
    if is_paths(data):
        reading["multilabel"] = multilabel
    if reading.get("fragments") is not None:
        reading.setdefault("seed", seed)
    if sample_weight is not None:  # for a table in a file, the name of a column
        reading["weight"] = sample_weight
    return reading


def _named_columns(reading: Mapping[str, Any]) -> list[str]:
    """The columns of a table that are features because an option names them."""
    return [name for kind in ("numeric", "categorical", "times", "texts") for name in reading.get(kind) or ()]
