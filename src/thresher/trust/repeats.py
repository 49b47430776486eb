"""Fits that are repeated after a fit, on rows that were changed, to compare with: the chance level, and decoys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from thresher.core.logs import quiet
from thresher.errors import DataError, SettingsError
from thresher.methods import Data, MethodSpec
from thresher.run import Run, RunOptions, check_readable_again
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.trust.run import InnerWatch


class Repeats(ABC):
    """Repeats a fit with changed rows.

    Parameters
    ----------
    spec : MethodSpec
    make_run : callable
        What makes the run of the fit itself.
    times : int
        The number of repetitions.
    seed : int
        The seed of the draws.
    """

    #: The setting that asks for it, its place in the provenance, what it does to rows, and what a repetition is.
    setting: ClassVar[str]
    provenance: ClassVar[str]
    does: ClassVar[str]
    phase: ClassVar[str]

    def __init__(
        self, spec: MethodSpec, make_run: Callable[[Data, Any, RunOptions], Run], times: int, *, seed: int = 0
    ) -> None:
        if isinstance(times, bool) or times != int(times) or times < 1:
            raise SettingsError(f"{self.setting} must be at least 1, the number of fits, got {times}")
        self.times, self._seed = int(times), seed
        self._spec, self._make_run = spec, make_run

    def make_run(self, data: Data, settings: Any, options: RunOptions) -> Run:
        """The run of the fit itself; the last one that was made is the one to repeat."""
        if not isinstance(data.rows, Source):
            raise SettingsError(
                f"`{self.setting}` {self.does}, and the data is a stream of features: leave out `{self.setting}`"
            )
        check_readable_again(data.rows, needed=True, why=f"`{self.setting}`")
        self._data, self._settings, self._options = data, settings, options
        return self._make_run(data, settings, options)

    @abstractmethod
    def facts(self, selection: Selection, run: Run, held: Source | None = None) -> dict[str, Any]:
        """What the repetitions find, for the provenance of the selection; the run is released."""

    @property
    def _rows(self) -> Source:
        assert isinstance(self._data.rows, Source)
        return self._data.rows

    def _phase(self, number: int) -> str:
        return f"{self.phase}, {number + 1} of {self.times}"

    def _fitted(
        self,
        rows: Source,
        number: int,
        run: Run,
        make_run: Callable[[Data, Any, RunOptions], Run],
        **changed: Any,
    ) -> Selection:
        """The model of the same fit to these rows."""
        options = replace(
            self._options,
            watch=InnerWatch(run.watch, self._phase(number)),
            checkpoint=None,
            callback=None,
            calibrate=False,
            from_estimator=True,
            facts={},
            may_be_numbers=False,
            **changed,
        )
        with quiet():
            again = make_run(self._data._replace(rows=rows), self._settings, options)
            try:
                again.run()
            except DataError as error:
                raise DataError(f"{self.phase} (`{self.setting}`): {error}") from None
            found = again.model()
            again.release()
        return found
