"""Which rows of the data a fit is tested on: a share of the rows, of groups of rows, of regions, or the last rows."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from thresher.core.memory import Watch
from thresher.display import quoted
from thresher.errors import SettingsError
from thresher.sources.base import Source
from thresher.sources.transforms.holdout import hold_out

log = logging.getLogger("thresher.sources")

#: The share of the groups to hold out, if none is given.
DEFAULT_FRACTION = 0.2


@dataclass(frozen=True)
class HeldRows:
    """What to hold out.

    Attributes
    ----------
    fraction : float
        The share of the rows.
    by : str or None
        The column whose groups stay on one side.
    last : bool
        The last rows in the order of the data.
    """

    fraction: float
    by: str | None = None
    last: bool = False

    @classmethod
    def of(cls, holdout: float | None, by: str | None, last: float | None) -> HeldRows:
        """The rows that these settings of `thresher.select` mean."""
        if last is None:
            chosen = cls(DEFAULT_FRACTION if holdout is None else holdout, by)
        elif holdout is not None or by is not None:
            other = "holdout" if by is None else "holdout_by"
            raise SettingsError(f"`holdout_last` and `{other}` exclude each other: leave out one")
        else:
            chosen = cls(last, last=True)
        if not 0 < chosen.fraction < 1:
            raise SettingsError(f"the held-out fraction must be between 0 and 1, got {chosen.fraction}")
        return chosen

    def before_cache(self, source: Source, features: Collection[Any], watch: Watch) -> tuple[Source, Source | None]:
        """The rows with their groups, or the first rows and the last ones.

        The column of the groups is a feature only if it is among ``features``.
        """
        if self.last:
            from thresher.sources.transforms.row_range import split_last

            return split_last(source, self.fraction, watch)
        if self.by is None:
            return source, None
        feature = self.by in features
        if not feature and self.by != "qid":
            log.info("%s: the column %s forms the groups, and is no feature", source.describe(), quoted(self.by))
        return source.grouped(self.by, feature=feature), None

    def split(self, source: Source, seed: int) -> tuple[Source, Source]:
        """Training rows and test rows, by a hash."""
        return hold_out(source, self.fraction, seed=seed, by=self.by)

    def to_dict(self, source: Source) -> dict[str, Any]:
        """What was held out of ``source``, for the provenance of a selection."""
        share = f"{100 * self.fraction:.4g} % of the"
        if source.overlapping:
            how, rows = "regions", f"{share} letters, in regions that no training fragment overlaps"
        elif self.last:
            how, rows = "last", f"{share} rows, the last ones of the data"
        elif self.by is not None:
            how, rows = "column", f"{share} groups by {quoted(self.by)}, none of which has a training row"
        else:
            how, rows = "content", f"{share} rows, chosen by a hash of their content"
        return {"fraction": self.fraction, "by": how, "column": self.by, "rows": rows}
