"""Chooses C, the scale of columns and the refit on held-out rows; the fit of all rows follows.

Candidates are fitted without some rows, and compared by the loss of these: the log loss of calibrated probabilities, or
the squared error. All share the columns in memory; held-out rows have weight 0. A C is a strength divided by the sum of
the row weights and by the mean square of the columns, so it does not depend on their number and unit. ``norm`` is kept
unless another scale is better by two standard errors: it finds rare features, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Family, Floats
from thresher.fgm.engine import FGMEngine
from thresher.fgm.l2_refit import L2Refit
from thresher.fgm.settings import FGMSettings
from thresher.refit import penalty_path, row_losses
from thresher.selection.calibration import Calibration
from thresher.working_set.calibration import numbered_parts
from thresher.working_set.dataset import Examples

#: Nothing is chosen for fewer or more rows than this: few rows say little, and with many the settings matter little.
LEAST_ROWS, MOST_ROWS = 100, 20_000
#: C, before it is divided by the sum of weights and the mean square of columns: for few rows, and for more.
STRENGTHS = ((10.0, 100.0), (100.0, 1000.0))
SCALES = ("norm", "root")
#: The penalties of a refit. They are far apart: those between predict as well.
PENALTIES = tuple(10.0**-exponent for exponent in range(1, 7))
#: Up to this number of rows, two thirds are held out in turn; of more rows a fifth is held out once.
_FEW, _PARTS, _FOLDS = 5000, 3, 2
#: The tolerance of a refit in the search, of classes and of numbers, whose loss takes one step to minimise.
_TOLERANCE = (1e-2, 1e-6)
_STANDARD_ERRORS = 2.0


#: The number of candidates that go on to the next fold.
_LEFT = (2,)


class Choice(NamedTuple):
    """The chosen settings, their calibration on the held-out rows, and what they were chosen among."""

    settings: FGMSettings
    calibration: Calibration | None
    facts: dict[str, Any]


@dataclass(eq=False)
class _Candidate:
    """Settings with a number for C, the family of their columns, and what held-out rows say."""

    settings: FGMSettings
    family: Family
    margins: list[Floats] = field(default_factory=list)  # of each fold, outputs x rows, without a refit
    paths: list[dict[float, tuple[float, Floats]]] = field(default_factory=list)  # by penalty: loss, margins

    @property
    def solved_settings(self) -> FGMSettings:
        """The settings of the fit that a refit may follow."""
        return replace(self.settings, refit=False) if self.settings.refit == "auto" else self.settings

    def variants(self) -> list[tuple[FGMSettings, Floats]]:
        """The settings without and with a refit, and the margins of the held-out rows: outputs x rows."""
        found = []
        if self.margins:
            found.append((self.solved_settings, np.concatenate(self.margins, axis=1)))
        shared = [p for p in self.paths[0] if all(p in path for path in self.paths)] if self.paths else []
        if len(shared) and len(self.paths) >= len(self.margins):
            best = min(shared, key=lambda penalty: sum(path[penalty][0] for path in self.paths))
            refitted = replace(self.settings, refit=f"l2:{best:g}")
            found.append((refitted, np.concatenate([path[best][1] for path in self.paths], axis=1)))
        return found


class _Score(NamedTuple):
    """The losses of held-out rows, of a candidate with or without a refit."""

    candidate: _Candidate
    settings: FGMSettings
    losses: Floats
    weight: Floats
    calibration: Calibration | None

    @property
    def mean(self) -> float:
        """The mean loss."""
        return float(np.average(self.losses, weights=self.weight))

    def facts(self, folds: int) -> dict[str, Any]:
        """A line of the table of candidates."""
        settings = self.settings
        chosen = {"C": settings.C, "scale": settings.scale, "refit": settings.refit}
        return {**chosen, "loss": self.mean, "folds": folds}


class _Search:
    """The examples, and the fits of candidates without some of them."""

    def __init__(
        self,
        examples: Examples,
        family: Callable[[FGMSettings], Family],
        engine: Callable[[Family, FGMSettings, Floats], FGMEngine],
        may_refit: Callable[[FGMEngine], bool],
        together: int,
    ) -> None:
        self.y, self.weight = examples.y, examples.weight
        self._together = together
        self._family, self._engine, self._may_refit = family, engine, may_refit
        self._penalties = PENALTIES

    def candidates(self, settings: FGMSettings) -> list[_Candidate]:
        """All combinations of a scale and a C."""
        found = []
        for scale in SCALES if settings.scale == "auto" else (settings.scale,):
            scaled = replace(settings, scale=scale, repeat=bool(settings.repeat))
            family = self._family(scaled)
            weights: Sequence[float] = [scaled.loss_weight] if scaled.C != "auto" else self._weights(scaled, family)
            found += [_Candidate(replace(scaled, C=C), family) for C in weights]
        return found

    def _weights(self, settings: FGMSettings, family: Family) -> list[float]:
        """The values of C for a scale, by the mean square of the columns that are proposed first."""
        start = self._engine(family, replace(settings, C=1.0, refit=False), self.weight)
        offered = family.top(start.problems[0].residual[None], start.proposer.B)[0]
        columns = family.columns(offered.ids)
        of_entries = np.repeat(columns.scales, np.diff(columns.indptr))
        squares = self.weight[columns.rows] * (columns.values * of_entries) ** 2
        unit = float(squares.sum()) / max(1, len(offered.ids))  # the sum of weights times the mean square
        if not (unit > 0 and np.isfinite(unit)):
            unit = float(self.weight.sum())
        # Three digits, so that a person can pass the number again.
        return [float(f"{strength / unit:.3g}") for strength in STRENGTHS[len(self.weight) > _FEW]]

    def fit(self, candidates: Sequence[_Candidate], held: NDArray[np.bool_]) -> None:
        """Fit candidates without the held-out rows, and keep their margins; of a refit, with several penalties."""
        for start in range(0, len(candidates), self._together):
            some = candidates[start : start + self._together]
            engines = [self._engine(one.family, one.solved_settings, np.where(held, 0.0, self.weight)) for one in some]
            FGMEngine.run_together(engines)
            for candidate, engine in zip(some, engines, strict=True):
                self._keep(candidate, engine, held)

    def _keep(self, candidate: _Candidate, engine: FGMEngine, held: NDArray[np.bool_]) -> None:
        automatic, settings = candidate.settings.refit == "auto", candidate.solved_settings
        if settings.penalty is None:
            candidate.margins.append(engine.own_margins(held))
        penalties = self._penalties if automatic else () if settings.penalty is None else (settings.penalty,)
        if penalties and not settings.per_class and self._may_refit(engine):
            rows = engine.l2.columns(engine.filled())._replace(weight=self.weight)
            path = penalty_path(
                rows.take(np.flatnonzero(~held)),
                rows.take(np.flatnonzero(held)),
                engine.l2.model,
                penalties=penalties,
                patience=1,
                tolerance=_TOLERANCE[engine.l2.model.loss.task == "real"],
            )
            found = {fit.penalty: (fit.loss, np.atleast_2d(fit.margins.T)) for fit in path}
            candidate.paths.append(found)
            if automatic and found:  # the best penalty of other candidates and folds is not far away
                at = PENALTIES.index(min(found, key=lambda penalty: found[penalty][0]))
                self._penalties = PENALTIES[max(0, at - 1) : at + 2]
        self.refit = engine.l2

    def scored(self, candidates: Sequence[_Candidate], folds: Sequence[NDArray[np.bool_]]) -> list[_Score]:
        """The losses of the rows held out so far, for all candidates without and with a refit."""
        rows = np.concatenate([np.flatnonzero(held) for held in folds])
        return [
            _score(candidate, settings, margins, self.refit, rows, self.weight[rows])
            for candidate in candidates
            for settings, margins in candidate.variants()
        ]


def _score(
    candidate: _Candidate,
    settings: FGMSettings,
    margins: Floats,
    refit: L2Refit,
    rows: NDArray[np.intp],
    weight: Floats,
) -> _Score:
    """The loss of each held-out row: the log loss of calibrated probabilities, or the squared error."""
    model, y = refit.model, refit.y[rows]
    margins = margins[0] if model.outputs == 1 and not model.multilabel else margins.T
    losses, calibration = row_losses(model.loss, margins, y, weight, model.multilabel)
    return _Score(candidate, settings, losses, weight, calibration)


def choose(
    settings: FGMSettings,
    examples: Examples,
    *,
    family: Callable[[FGMSettings], Family],
    engine: Callable[[Family, FGMSettings, Floats], FGMEngine],
    may_refit: Callable[[FGMEngine], bool],
    together: int,
) -> Choice | None:
    """Choose all that is ``auto``; None if no rows can be held out.

    Parameters
    ----------
    family : callable
        The columns in memory, with the scale of these settings.
    engine : callable
        The loop over a family with settings and row weights.
    may_refit : callable
        Whether there is memory for a refit of an engine's features.
    together : int
        The number of engines for which there is memory. They share the scans of the columns.
    """
    folds = [held for held in _folds(numbered_parts(examples.rows)) if _usable(examples, held)]
    if not folds:
        return None
    search = _Search(examples, family, engine, may_refit, together)
    racing = search.candidates(settings)
    table: list[dict[str, Any]] = []
    for fold, held in enumerate(folds):
        search.fit(racing, held)
        scored = search.scored(racing, folds[: fold + 1])
        last = fold == len(folds) - 1
        racing = racing if last else _finalists(racing, scored, _LEFT[fold])
        dropped = [score for score in scored if last or score.candidate not in racing]
        table += [score.facts(fold + 1) for score in dropped]
    best = _best(scored)
    facts = {"chosen": best.facts(len(folds)), "candidates": table}
    return Choice(best.settings, best.calibration, facts)


def _finalists(racing: list[_Candidate], scored: list[_Score], limit: int) -> list[_Candidate]:
    """The best candidates, among them the best one with the first scale; in the order they have."""
    by_loss = [score.candidate for score in sorted(scored, key=lambda score: score.mean)]
    first = next(candidate for candidate in by_loss if candidate.settings.scale == racing[0].settings.scale)
    kept = [first]
    for candidate in by_loss:
        if len(kept) < limit and candidate not in kept:
            kept.append(candidate)
    return [candidate for candidate in racing if candidate in kept]


def _best(scored: Sequence[_Score]) -> _Score:
    """The smallest loss with the first scale, unless another is better by two standard errors."""
    best = min(scored, key=lambda score: score.mean)
    kept = min((s for s in scored if s.settings.scale == scored[0].settings.scale), key=lambda score: score.mean)
    if best is kept or not np.isfinite(kept.mean):
        return best
    shares = best.weight / best.weight.sum()
    better = kept.losses - best.losses
    gain = kept.mean - best.mean
    error = float(np.sqrt((shares**2 * (better - gain) ** 2).sum()))
    return best if gain > _STANDARD_ERRORS * error else kept


def _folds(parts: NDArray[np.uint8]) -> list[NDArray[np.bool_]]:
    """The rows to hold out in turn, by the tenths of `numbered_parts`: the same for a matrix and a data frame."""
    return [parts < 2] if len(parts) > _FEW else [parts % _PARTS == fold for fold in range(_FOLDS)]


def _usable(examples: Examples, held: NDArray[np.bool_]) -> bool:
    """Whether there are rows on both sides, and in classes of both kinds among those that stay."""
    rest = examples.y[:, ~held]
    if not (examples.weight[held].sum() > 0 and examples.weight[~held].sum() > 0):
        return False
    if examples.classes is None:
        return True
    return bool((rest.max(axis=1) > 0).all() and (rest.min(axis=1) < 0).all())
