"""What the estimators of Online Substitution share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_array

from thresher.core.feature_space import FeatureSpace
from thresher.errors import DataError
from thresher.estimators.base import SelectingEstimator, Task
from thresher.estimators.inputs import seed_of
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.registry import as_source
from thresher.substitution.arriving.feature_stream import FeatureStream, stream_of
from thresher.substitution.run import BrokenStream, StreamRun
from thresher.substitution.settings import SubstitutionSettings
from thresher.working_set.run_settings import RunSettings


@dataclass(frozen=True)
class FittedSubstitution:
    """What a run has come to."""

    selection: Selection
    space: FeatureSpace


class SubstitutionEstimator(SelectingEstimator):
    """What both estimators share: settings to a run, a run to its selection, and features that come later."""

    _fitted: FittedSubstitution

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the beginning.

        Parameters
        ----------
        X : array, SciPy matrix, DataFrame, path, Source or FeatureStream
            The examples; or their columns, as they arrive.
        y : array-like, optional
            The targets; files and sources bring their own.
        sample_weight : array-like, optional
            Importance of each row.

        Returns
        -------
        self
        """
        stream = stream_of(X)
        if stream is None:
            return super().fit(X, y, sample_weight)
        self._forget()
        self._run_stream(stream, y, sample_weight, self.scans)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Let further *features* of the same rows arrive, once; the first call brings the targets.

        Parameters
        ----------
        X : array, SciPy matrix, FeatureStream, or what makes one
            Columns. Those of a matrix are numbered on from the ones so far.
        """
        stream = stream_of(X)
        if stream is None:
            stream = FeatureStream(check_array(X, accept_sparse="csc"), on_error="skip")
        run = getattr(self, "_run", None)
        if run is None:
            self._forget()
            self._run_stream(stream, y, sample_weight, 1)
            return self
        if y is not None and self._digest != _digest(y):
            raise DataError("the targets differ from those of the first call: leave them out, or fit anew.")
        run.go_on(stream)
        self._finish(run, y)
        return self

    def _run_stream(self, stream: FeatureStream, y: Any, sample_weight: Any, scans: int) -> None:
        y = stream.labels if y is None else y
        if y is None:
            raise DataError("a stream of features has no labels: pass y.")
        y = y if hasattr(y, "tocsr") else np.asarray(y)
        rows = as_source(np.zeros((y.shape[0], 1), np.float32), y, weight=sample_weight)
        task = self._task(rows, y)
        self._run = StreamRun(stream, self._settings(task, scans), self._how(task), y, sample_weight)
        self._digest = _digest(y)
        self._finish(self._run, y)

    def _forget(self) -> None:
        for name in ("_run", "_digest", "_fitted", "n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self, name):
                delattr(self, name)

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        if hasattr(self, "_run"):
            del self._run
        scans = self.get_params(deep=False)["scans"]
        self._finish(StreamRun(source, self._settings(task, scans), self._how(task)), y)

    def _finish(self, run: StreamRun, y: Any) -> None:
        """Run to the end; whatever stops it leaves a usable model of what was seen."""
        try:
            run.run()
        except (KeyboardInterrupt, BrokenStream):
            if run.usable:
                self._keep(run, y)
            raise
        if not run.usable:
            what = "one sample" if run.examples.rows == 1 else run.stream.describe()
            raise DataError(f"{what}: there is no feature to learn from.")
        self._keep(run, y)

    def _keep(self, run: StreamRun, y: Any) -> None:
        self._fitted = FittedSubstitution(run.selection(), run.space)
        if run.source is None and run.space.size is not None:
            self.n_features_in_ = run.space.size

    def _settings(self, task: Task, scans: int) -> SubstitutionSettings:
        given = self.get_params(deep=False)
        names = (
            "k",
            "method",
            "eta",
            "rate",
            "m",
            "c",
            "check",
            "workers",
            "staleness",
            "refit",
            "lam",
            "order",
            "intercept",
        )
        return SubstitutionSettings(
            **{name: given[name] for name in names},
            scans=scans,
            loss=task.loss,
            per_class=given.get("per_class", False),
            seed=seed_of(given["random_state"]),
        )

    def _how(self, task: Task) -> RunSettings:
        given = self.get_params(deep=False)
        return RunSettings(
            memory=given["memory"],
            threads=given["threads"],
            multilabel=task.multilabel,
            class_weight=given.get("class_weight"),
            lenient=True,
        )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_run"}  # it holds threads and streams


def _digest(y: Any) -> bytes:
    return (y.toarray() if hasattr(y, "toarray") else np.asarray(y)).astype(str).tobytes()
