"""What the estimators of the working-set loop share: settings to a run, a run to its selection."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

from thresher.core.feature_space import FeatureSpace
from thresher.estimators.base import SelectingEstimator, Task
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.registry import as_source
from thresher.working_set.run import WorkingSetRun
from thresher.working_set.run_settings import RunSettings


@dataclass(frozen=True)
class FittedRun:
    """What a run has come to, without the data it came from."""

    selection: Selection
    space: FeatureSpace


class WorkingSetEstimator(SelectingEstimator):
    """An estimator that learns in rounds."""

    _fitted: FittedRun
    threads: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, validation: Any = None) -> Self:
        """Learn from the data.

        Parameters
        ----------
        X : array, SciPy matrix, DataFrame, path or Source
            The examples. Paths may be globs, folders, compressed, or several.
        y : array-like, optional
            The targets; files and sources bring their own.
        sample_weight : array-like, optional
            Importance of each row. A row of weight 0 is left out.
        validation : path, Source or pair (X, y), optional
            Scored on the way; learning ends when that gets no better, and the best is kept.

        Returns
        -------
        self
        """
        pair = validation if isinstance(validation, tuple) else (validation,)
        self._validation = None if validation is None else as_source(*pair)
        try:
            super().fit(X, y, sample_weight)
        finally:
            del self._validation
        return self

    @abstractmethod
    def _run(self, source: Source, task: Task, how: RunSettings) -> WorkingSetRun[Any]:
        """A run with the settings of this estimator."""

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        how = RunSettings(
            memory=getattr(self, "memory", None),
            threads=self.threads,
            multilabel=task.multilabel,
            class_weight=getattr(self, "class_weight", None),
            validation=self._validation,
            lenient=True,
        )
        run = self._run(source, task, how)
        try:
            run.run()
        except KeyboardInterrupt:
            if run.usable:
                self._keep(run, y)  # usable as far as it came
            raise
        self._keep(run, y)

    def _keep(self, run: WorkingSetRun[Any], y: Any) -> None:
        self._fitted = FittedRun(run.selection(), run.source.space)

    @property
    def path_(self) -> list[dict[str, float]]:
        """What each iteration came to: features, objective, its lower bound, and the validation's score."""
        path: list[dict[str, float]] = self.selection_.provenance["path"]
        return path
