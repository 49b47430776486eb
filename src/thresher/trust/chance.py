"""The chance level: what score, and what largest weight, the same fit reaches with labels drawn by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from thresher.core.logs import quiet
from thresher.errors import DataError, SettingsError
from thresher.methods import Data, MethodSpec
from thresher.run import Run, RunOptions, check_readable_again
from thresher.selection.scoring import evaluate
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.transforms.drawn_labels import DrawnLabels, LabelSample
from thresher.trust.run import InnerWatch

#: The scores by which chance is compared, the more the better: the first that a task has.
_SCORES = ("auc", "r2", "accuracy")
#: Where scores are, the best first: the user's test rows, rows predicted before they are learned, and rows that the
#: fit holds out.
_WHERE = {"test": "held-out rows", "progressive": "rows before they are learned", "validation": "validation rows"}


class Chance:
    """Repeats a fit with labels drawn by chance.

    Parameters
    ----------
    spec : MethodSpec
    make_run : callable
        What makes the run of the fit itself.
    permutations : int
        The number of repetitions.
    fdr : float, optional
        The error control of the fit, which has no chance level.
    seed : int
        The seed of the draws.
    """

    def __init__(
        self,
        spec: MethodSpec,
        make_run: Callable[[Data, Any, RunOptions], Run],
        permutations: int,
        *,
        fdr: float | None = None,
        seed: int = 0,
    ) -> None:
        if permutations != int(permutations) or permutations < 1:
            raise SettingsError(f"permutations must be at least 1, got {permutations}")
        if fdr is not None:
            raise SettingsError(
                "`permutations` repeats a fit without error control, whose scores are no measure of one with it: leave "
                "out `fdr` or `permutations`"
            )
        self.permutations = permutations
        self._seed = seed
        self._spec, self._make_run = spec, make_run

    def make_run(self, data: Data, settings: Any, options: RunOptions) -> Run:
        """The run of the fit itself; the last one that was made is the one to repeat."""
        if not isinstance(data.rows, Source):
            raise SettingsError(
                "`permutations` draws labels of rows, and the data is a stream of features: leave out `permutations`"
            )
        if options.multilabel:
            raise SettingsError("`permutations` needs one label for each row: leave it out, or `multilabel`")
        check_readable_again(data.rows, needed=True, why="`permutations`")
        self._data, self._settings, self._options = data, settings, options
        return self._make_run(data, settings, options)

    def facts(self, selection: Selection, run: Run, held: Source | None = None) -> dict[str, Any]:
        """What chance reaches, for the provenance of the selection; the run is released."""
        run.release()
        run.release_buffers()
        rows = self._data.rows
        assert isinstance(rows, Source)
        sample = LabelSample(run.watched(run.limited(rows), "reading labels"), self._seed)
        where, name, own = _own_score(selection, held)
        scores, weights = [], []
        for number in range(self.permutations):
            phase = f"fitting labels drawn by chance, {number + 1} of {self.permutations}"
            options = replace(
                self._options,
                watch=InnerWatch(run.watch, phase),
                checkpoint=None,
                callback=None,
                calibrate=False,
                from_estimator=True,
                facts={},
                may_be_numbers=False,
            )
            drawn = self._data._replace(rows=DrawnLabels(rows, sample, self._seed, number))
            with quiet():
                found = self._fitted(drawn, options)
            weights.append(largest_weight(found))
            if where == "test":
                assert held is not None
                scores.append(evaluate(found, run.watched(run.limited(held), phase)).get(name, np.nan))
            elif where is not None:
                scores.append(found.provenance.get(where, {}).get(name, np.nan))
        mine = largest_weight(selection)
        reached = _p_value(own, scores) if where is not None else _p_value(mine, weights)
        return {
            "n": self.permutations,
            "score": name if where is not None else None,
            "on": None if where is None else _WHERE[where],
            "own_score": own if where is not None else None,
            "scores": scores,
            "largest_weight": weights,
            "own_largest_weight": mine,
            "p_value": reached,
        }

    def _fitted(self, data: Data, options: RunOptions) -> Selection:
        run = self._spec.make_run(data, self._settings, options)
        try:
            run.run()
        except DataError as error:
            raise DataError(f"with labels drawn by chance (`permutations`): {error}") from None
        found = run.model()
        run.release()
        return found


def largest_weight(selection: Selection) -> float:
    """The largest |weight| of a selection, in the units that features rank by; 0 of an empty one."""
    return float(np.linalg.norm(np.atleast_2d(selection.standardized_weights), axis=0).max(initial=0.0))


def _own_score(selection: Selection, held: Source | None) -> tuple[str | None, str, float]:
    """Where the score to compare is, its name, and the score of the fit itself."""
    for where in _WHERE if held is not None else list(_WHERE)[1:]:
        found = selection.provenance.get(where) or {}
        for name in _SCORES:
            if name in found:
                return where, name, float(found[name])
    return None, "", float("nan")


def _p_value(own: float, chance: list[float]) -> float:
    """The share of fits, this one included, that reach as much."""
    reached = sum(not value < own for value in chance)  # one without a number counts as reached
    return (1 + reached) / (1 + len(chance))
