"""A fit whose features are given their stand-ins, and with ``collapse`` one feature for each group of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.memory import PlanReport, ReadLimits, show_size
from thresher.core.storage.checkpoint import Checkpoint
from thresher.errors import SettingsError
from thresher.methods import Data, MakeRun, MethodSpec
from thresher.run import Run, RunOptions, check_readable_again
from thresher.selection.selection import Selection
from thresher.selection.stand_ins.find import find, threshold_of
from thresher.selection.stand_ins.memory_plan import search_bytes
from thresher.selection.stand_ins.search import Pairs
from thresher.sources.base import Source
from thresher.trust.final_fit import final_fit, some_features
from thresher.trust.memory_plan import Room
from thresher.trust.split import Halves, columns_of

#: Methods whose features are no columns, and why.
_REFUSED = {
    "sparse-rf": "random features are drawn, and no column of the data is one",
    "hashing": "it learns buckets, which have no names",
}


@dataclass(frozen=True, kw_only=True)
class StandInSearch:
    """What to do about features that are nearly the same column.

    Parameters
    ----------
    threshold : float
        The least absolute cosine of stand-ins.
    collapse : bool
        Keep one of each group of selected features that are stand-ins of each other.
    """

    threshold: float
    collapse: bool = False

    @classmethod
    def of(cls, stand_ins: bool | float | None, collapse: bool, method: str) -> StandInSearch | None:
        """The search that settings ask for; None if there is none."""
        threshold = threshold_of(stand_ins)
        if threshold is None:
            if collapse:
                raise SettingsError("`collapse` keeps one of each group of stand-ins: pass `stand_ins`, too")
            return None
        if method in _REFUSED:
            raise SettingsError(f"{method} has no `stand_ins`: {_REFUSED[method]}. Choose another method")
        return cls(threshold=threshold, collapse=bool(collapse))


def with_stand_ins(spec: MethodSpec, make_run: MakeRun, search: StandInSearch | None) -> MakeRun:
    """What makes the run of a method, with a search for stand-ins after it."""
    if search is None:
        return make_run

    def make(data: Data, settings: Any, options: RunOptions) -> Run:
        if not isinstance(data.rows, Source):
            raise SettingsError(
                "`stand_ins` are found in rows, and the data is a stream of features: leave out `stand_ins`"
            )
        check_readable_again(data.rows, needed=True, why="`stand_ins`")
        return StandInRun(spec, make_run(data, settings, options), data.rows, settings, search)

    return make


def with_search(report: PlanReport, search: StandInSearch | None, memory: str | int | None) -> PlanReport:
    """The plan of a fit with what its search for stand-ins needs."""
    if search is None:
        return report
    size = show_size(search_bytes(memory))
    note = f"after the fit, up to {size} for what stands in the rows of the features, in three readings"
    return report._replace(notes=[*report.notes, ("stand-ins", note)])


class StandInRun(Run):
    """A fit by another run, after which the stand-ins of its features are found.

    The other run has the checkpoints. It is saved before the search, which takes three readings, and starts anew after
    an interrupt.

    Parameters
    ----------
    spec, settings
        The method, and its settings.
    run : Run
        The fit.
    source : Source
        The rows it learns from.
    search : StandInSearch
        What to look for.
    """

    def __init__(self, spec: MethodSpec, run: Run, source: Source, settings: Any, search: StandInSearch) -> None:
        self._spec, self._settings, self._search = spec, settings, search
        self._run: Run | None = run  # None when it has ended: its state makes room for the search
        self._selection: Selection | None = None
        self._amount = ""
        self.source, self.options, self.watch, self.unsaved = source, run.options, run.watch, run.unsaved
        self.stopped, self.callback_error, self.released = False, None, None  # the fit has those that matter

    def run(self) -> None:
        fit = self._fit
        try:
            fit.run()
            fit.save()
        finally:
            self.unsaved = fit.unsaved
        self._selection, self._amount = fit.selection(), fit.amount
        rows = fit.limited(self.source)
        self._run = None
        del fit
        self.release_buffers()
        self._selection = self._with_stand_ins(self._selection, rows)

    @property
    def _fit(self) -> Run:
        assert self._run is not None
        return self._run

    def _with_stand_ins(self, selection: Selection, rows: Source) -> Selection:
        threshold, memory = self._search.threshold, self.options.memory
        found = find(selection, rows, threshold, memory, self.watch)
        into = groups(len(selection), selection.keys, found.pairs)
        into[np.isin(selection.keys, np.array(list(self.options.keep.values()), np.uint64))] = -1
        facts = {**found.facts, "collapse": self._search.collapse}
        if self._search.collapse and (into >= 0).any():
            facts["collapsed"] = _collapsed(selection, into)
            selection = self._refitted(some_features(selection, into < 0), rows)
            kept = set(selection.names)
            for name in ("found", "more"):
                facts[name] = {feature: these for feature, these in facts[name].items() if feature in kept}
            facts["incomplete"] = [feature for feature in facts["incomplete"] if feature in kept]
        plan = selection.provenance.get("plan")
        if plan is not None:  # the search begins when the fit has ended
            taken = search_bytes(memory)
            plan = {"plan": {**plan, "stand_ins": taken, "total": max(plan["total"], taken)}}
        return replace(selection, provenance={**selection.provenance, **(plan or {}), "stand_ins": facts})

    def _refitted(self, chosen: Selection, rows: Source) -> Selection:
        """The features that stay, fitted to all rows."""
        room = Room.of(self._spec, self.options).both
        halves = Halves.of(rows, int(getattr(self._settings, "seed", 0)), 0)
        watched = (self.watched(half, "fitting the features that stay") for half in halves)
        first, second = (columns_of(chosen, half, room)[0] for half in watched)
        fit_intercept = bool(getattr(self._settings, "fit_intercept", True))
        return final_fit(chosen, (first, second), fit_intercept=fit_intercept, calibrate=self.options.calibrate)

    # ── the fit ──────────────────────────────────────────────────────────────────────────────────

    def save(self) -> None:
        if self._run is not None:  # later, its checkpoint is complete
            self._run.save()

    def limited(self, source: Source) -> Source:
        if self._run is not None:
            return self._run.limited(source)
        if self.options.memory is None and not self._spec.online:
            return source
        return source.limited(ReadLimits.of(search_bytes(self.options.memory)))

    @property
    def amount(self) -> str:
        return self._amount if self._run is None else self._run.amount

    @property
    def usable(self) -> bool:
        return self._selection is not None or self._fit.usable

    def selection(self) -> Selection:
        return self._fit.selection() if self._selection is None else self._selection

    def _steps(self) -> Iterator[None]:
        return self._fit._steps()

    def _counts(self) -> dict[str, Any]:
        return self._fit._counts()

    def _identity(self) -> dict[str, Any]:
        return self._fit._identity()

    def _snapshot(self) -> Checkpoint | None:
        return self._fit._snapshot()

    def _restore(self, saved: Checkpoint) -> None:
        self._fit._restore(saved)


def _collapsed(selection: Selection, into: NDArray[np.int64]) -> dict[str, list[Any]]:
    """The features that go, and those that stand for them."""
    gone = np.flatnonzero(into >= 0)
    return {
        "names": [selection.names[at] for at in gone],
        "keys": selection.keys[gone].tolist(),
        "into": [selection.names[at] for at in into[gone]],
    }


def groups(features: int, keys: NDArray[np.uint64], pairs: Pairs) -> NDArray[np.int64]:
    """For each selected feature the stronger one that stands for it, or -1 if it stays.

    The strongest feature stays, and stands for those that are alike; then the strongest of the others, and so on. A
    feature that goes is alike to the one that stands for it.
    """
    order = np.argsort(keys)
    places = np.minimum(np.searchsorted(keys, pairs.keys, sorter=order), max(0, features - 1))
    number = order[places] if features else places
    selected = keys[number] == pairs.keys if features else np.zeros(0, np.bool_)
    alike: dict[int, list[tuple[float, int]]] = {}
    for a, b, cosine in zip(pairs.feature[selected], number[selected], pairs.cosine[selected], strict=True):
        if a < b:
            alike.setdefault(int(a), []).append((float(cosine), int(b)))
    into = np.full(features, -1, np.int64)
    for stronger in sorted(alike):
        if into[stronger] < 0:
            for _, weaker in alike[stronger]:
                if into[weaker] < 0:
                    into[weaker] = stronger
    return into
