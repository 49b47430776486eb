"""The chance level: what score, and what largest weight, the same fit reaches with labels drawn by chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.errors import SettingsError
from thresher.methods import Data
from thresher.run import Run, RunOptions
from thresher.selection.scoring import evaluate
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.transforms.drawn_labels import DrawnLabels, LabelSample
from thresher.trust.repeats import Repeats

#: The scores by which chance is compared, the more the better: the first that a task has.
_SCORES = ("auc", "r2", "accuracy")
#: Where scores are, the best first: the user's test rows, rows predicted before they are learned, and rows that the
#: fit holds out.
_WHERE = {"test": "held-out rows", "progressive": "rows before they are learned", "validation": "validation rows"}


class Chance(Repeats):
    """Repeats a fit, with the checks around it, with labels drawn by chance."""

    setting = "permutations"
    provenance = "chance"
    does = "draws labels of rows"
    phase = "fitting labels drawn by chance"

    @classmethod
    def check(cls, fdr: float | None) -> None:
        """Raise if the fit has error control, and so no chance level."""
        if fdr is not None:
            raise SettingsError(
                "`permutations` repeats a fit without error control, whose scores are no measure of one with it: leave "
                "out `fdr` or `permutations`"
            )

    def make_run(self, data: Data, settings: Any, options: RunOptions) -> Run:
        if options.multilabel:
            raise SettingsError("`permutations` needs one label for each row: leave it out, or `multilabel`")
        return super().make_run(data, settings, options)

    def facts(self, selection: Selection, run: Run, held: Source | None = None) -> dict[str, Any]:
        """What chance reaches, for the provenance of the selection; the run is released."""
        run.release()
        run.release_buffers()
        rows = self._rows
        sample = LabelSample(run.watched(run.limited(rows), "reading labels"), self._seed)
        where, name, own = _own_score(selection, held)
        scores, weights = [], []
        for number in range(self.times):
            found = self._fitted(DrawnLabels(rows, sample, self._seed, number), number, run, self._make_run)
            weights.append(largest_weight(found))
            if where == "test":
                assert held is not None
                scores.append(evaluate(found, run.watched(run.limited(held), self._phase(number))).get(name, np.nan))
            elif where is not None:
                scores.append(found.provenance.get(where, {}).get(name, np.nan))
        mine = largest_weight(selection)
        reached = _p_value(own, scores) if where is not None else _p_value(mine, weights)
        return {
            "n": self.times,
            "score": name if where is not None else None,
            "on": None if where is None else _WHERE[where],
            "own_score": own if where is not None else None,
            "scores": scores,
            "largest_weight": weights,
            "own_largest_weight": mine,
            "p_value": reached,
        }


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
