"""What a callback sees of a fit that is under way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True, eq=False)
class Interim:
    """A fit that is under way.

    Attributes
    ----------
    rows : int
        The rows learned; rows that are learned again count again. For methods that hold their rows, those read; for
        features that arrive one by one, the features (see ``unit``).
    passes : int
        Complete passes over the data, rounds (iterations) of a working-set method, or splits with ``fdr``.
    seconds : float
        Since the start of the fit.
    unit : str
        The unit of ``rows``: ``"rows"``, or ``"features"``.
    """

    rows: int
    passes: int
    seconds: float
    unit: str = "rows"
    _build: Callable[[], Any] = field(default=lambda: None, repr=False)

    def selection(self) -> Any:
        """The `Selection` of the features found so far, built when this is first called.

        The fit goes on as if it had not been built. It is meant to be looked at: where names are not known yet, the
        data is read for them, and what only the end of a fit adds (a refit, calibrated probabilities) is missing.
        With ``fdr`` it holds the candidates. Call it within the callback: later, the fit has gone on.
        """
        return self._selection

    @cached_property
    def _selection(self) -> Any:
        return self._build()


#: Called with each `Interim`; True ends the fit.
Callback = Callable[[Interim], bool | None]
