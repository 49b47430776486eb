"""The base class of all estimators: fitting, and the selected columns."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from thresher._native import KeyIndex
from thresher.choose_k import check_k_max, choose_k
from thresher.core.feature_space import FeatureSpace
from thresher.core.interim import Callback
from thresher.core.labels import Label
from thresher.core.memory import Watch
from thresher.errors import DataError, SettingsError
from thresher.estimators.inputs import checked_rows, seed_of, training_data
from thresher.estimators.locking import locked
from thresher.estimators.verbose import VerboseProgress
from thresher.methods import Data, check_keep, get_method
from thresher.run import Run, RunOptions
from thresher.selection.scoring import evaluate
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.dataframes import are_texts, frame_kind
from thresher.sources.named_features import NamedFeatures
from thresher.sources.registry import as_source, is_stored
from thresher.trust.checks import CHECKS, with_checks
from thresher.trust.repeats import Repeats

log = logging.getLogger(__name__)

#: The most columns for a boolean mask.
_MAX_MASK = 10_000_000


class Task(NamedTuple):
    """The learning task: the loss, and the classes if the loss must know them before the first row."""

    loss: str
    classes: list[Label] | None = None
    multilabel: bool = False


@dataclass(frozen=True)
class FittedRun:
    """The result of a run, without its data."""

    selection: Selection
    space: FeatureSpace


class SelectingEstimator(TransformerMixin, BaseEstimator):
    """An estimator that selects at most k features.

    A subclass determines the task (`_task`), fits (`_fit`), and predicts. Threads that share an estimator take turns:
    a prediction waits for a call of ``fit`` or ``partial_fit`` that is under way.
    """

    #: The method, for estimators without a ``method`` parameter.
    _method: ClassVar[str] = ""
    #: The fitted model, with a ``selection`` and a ``space``.
    _fitted: Any
    k: int | str | None

    # ── fitting ──────────────────────────────────────────────────────────────────────────────────

    @locked
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, callback: Callback | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, SciPy matrix, DataFrame, list of texts, path or Source
            The training data. Paths may be globs, folders, compressed files, or a list; a list of strings with ``y``
            holds texts.
        y : array-like, optional
            The targets; files and sources contain theirs.
        sample_weight : array-like, optional
            The weight of each row. Rows of weight 0 are ignored.
        callback : callable, optional
            Called with a `thresher.core.interim.Interim` while the method learns; True ends the fit, as
            if it were complete. See `thresher.select`.

        Returns
        -------
        self
        """
        source, y = training_data(self, X, y, sample_weight, reset=True, **self._targets(y))
        with self._calling(callback), self._by_name(source) as (rows, named):
            self._fit(rows, self._task(rows, y), y)
            if named is not None:
                self.selection_.provenance.update(named.facts())
                counts = dict(zip(self.selection_.names, self.selection_.counts.tolist(), strict=True))
                for warning in named.warnings(counts):
                    log.warning("%s", warning)
        return self

    @contextmanager
    def _calling(self, callback: Callback | None) -> Iterator[None]:
        """Let the fit within call this, which is no parameter and is not kept, and show its progress if ``verbose``."""
        outermost = not hasattr(self, "_shown")
        self._callback = callback
        if outermost:
            self._shown = VerboseProgress(type(self).__name__) if getattr(self, "verbose", 0) else None
        try:
            yield
            if outermost and self._shown is not None:
                self._shown.end(f"{len(self.selection_):,} features")
        finally:
            self.__dict__.pop("_callback", None)
            if outermost:
                del self._shown

    @contextmanager
    def _by_name(self, source: Source) -> Iterator[tuple[Source, NamedFeatures | None]]:
        """The rows without the features to drop; within, runs keep those to keep."""
        named = NamedFeatures.of(getattr(self, "keep", None), getattr(self, "drop", None))
        self._named: NamedFeatures | None = None
        if named is None:
            yield source, None
            return
        named.check_products(getattr(self, "interactions", 1))
        self._named = named
        try:
            yield named.of_source(source, self.k), named
        finally:
            self._named = None

    def _set_trust(
        self,
        fdr: float | None,
        splits: int | None,
        stand_ins: bool | float,
        collapse: bool,
        stability: int | None,
        expected_false: float | None,
        permutations: int | None,
        decoys: int | None,
        keep: Any,
        drop: Any,
        *,
        verbose: int,
    ) -> None:
        """Store the parameters that the constructors of these estimators share, as they are."""
        self.fdr, self.splits, self.verbose = fdr, splits, verbose
        self.stand_ins, self.collapse = stand_ins, collapse
        self.stability, self.expected_false = stability, expected_false
        self.permutations, self.decoys = permutations, decoys
        self.keep, self.drop = keep, drop

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        """Fit, and set ``_fitted``."""
        raise NotImplementedError

    def _prepared(self, task: Task, **changed: Any) -> tuple[Any, RunOptions]:
        """The settings of the method and the options of its run, from the parameters of the estimator."""
        given = self.get_params(deep=False) | changed
        given["k"] = check_k_max(given.get("k"), given.pop("k_max", None))
        method = given.pop("method", self._method)
        seed = seed_of(given.pop("random_state", None))
        options = RunOptions(
            memory=given.get("memory"),
            n_jobs=given.get("n_jobs", -1),
            workers=given.get("workers") or 1,
            cluster=given.get("cluster"),
            interactions=given.get("interactions", 1),
            multilabel=task.multilabel,
            class_weight=given.get("class_weight"),
            validation=given.get("validation"),
            calibrate=given.pop("calibrate", True),
            from_estimator=True,
            watch=Watch(getattr(self, "_shown", None)),
            callback=getattr(self, "_callback", None),
        )
        given |= {"method": method, "loss": task.loss, "multilabel": task.multilabel, "seed": seed}
        settings = get_method(method).make_settings(**given)
        named: NamedFeatures | None = getattr(self, "_named", None)
        if named is None:
            return settings, options
        if named.keep is not None:
            fdr, auto = getattr(self, "fdr", None) is not None, self.k == "auto"
            check_keep(get_method(method), settings, auto=auto, fdr=fdr, cluster=options.cluster)
        options = replace(options, keep=named.kept, dropped=named.drop is not None, facts=named.facts())
        return settings, options

    def _run_of(self, source: Source, task: Task, **changed: Any) -> Run:
        """The run of the method. Held-out rows choose the features' number if ``k="auto"``; ``fdr`` controls errors."""
        settings, options = self._prepared(task, **changed)
        method = getattr(self, "method", self._method)
        spec = get_method(method)
        checks = {name: getattr(self, name, default) for name, default in CHECKS.items()}
        make, self._repeats = with_checks(spec, method, getattr(settings, "seed", 0), checks)

        def plain(rows: Source, settings: Any, options: RunOptions) -> Run:
            return spec.make_run(Data(rows, task.classes), settings, options)

        if self.k == "auto":
            if checks["fdr"] is not None:
                raise SettingsError("`fdr` chooses among `k` candidates: pass their number as `k`")
            k_max, outputs = self.get_params(deep=False).get("k_max"), len(task.classes or ())
            settings, options = choose_k(source, settings, options, plain, k_max=k_max, outputs=outputs)
        return make(Data(source, task.classes), settings, options)

    def _check_no_fdr(self, why: str) -> None:
        """Raise if ``fdr`` or the like is set, which needs all rows."""
        for name, what in (
            ("fdr", "divides all rows into halves"),
            ("stability", "divides all rows into halves"),
            ("stand_ins", "looks for other columns in all rows"),
            ("permutations", "repeats the fit of all rows"),
            ("decoys", "repeats the fit of all rows"),
        ):
            if (value := getattr(self, name, None)) is not None and value is not False:
                raise SettingsError(f"`{name}` {what}, and {why}: leave it out, or call fit with rows")

    def _finish(self, run: Run, y: Any) -> None:
        """Run to the end; after an interrupt, keep the result so far."""
        several: list[Repeats] = self.__dict__.pop("_repeats", [])
        try:
            run.run()
        except KeyboardInterrupt:
            if run.usable:
                self._keep(run, y)
            raise
        self._keep(run, y)
        for repeats in several:
            self.selection_.provenance[repeats.provenance] = repeats.facts(self.selection_, run)

    def _keep(self, run: Any, y: Any) -> None:
        """Keep the result of a run, without its data."""
        raise NotImplementedError

    def _targets(self, y: Any) -> dict[str, bool]:
        """The options of scikit-learn's target validation."""
        raise NotImplementedError

    def _task(self, source: Source, y: Any) -> Task:
        """Determine the task; ``y`` is None if the source contains the targets."""
        raise NotImplementedError

    @property
    def _lock(self) -> Any:
        """The lock of this estimator. Parameters are all that ``__init__`` may set, so the first use creates it."""
        return self.__dict__.setdefault("_turn", threading.RLock())

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_turn"}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True  # for data in memory; files contain theirs
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ── the model ────────────────────────────────────────────────────────────────────────────────

    @property
    @locked
    def selection_(self) -> Selection:
        """The selected features: names, keys, weights and their error bounds."""
        if not hasattr(self, "_fitted"):
            raise AttributeError("selection_ is not available before fit")
        selection: Selection = self._fitted.selection
        return selection

    def _margins(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.selection_.decision_function(checked_rows(self, X))

    def _stored_score(self, X: Any, score: str, sample_weight: Any) -> float:
        """Score data that contains its labels, batch by batch."""
        check_is_fitted(self)
        if not is_stored(X):
            raise DataError("score requires labels, which only files and sources contain: pass y.")
        source = self._limited(as_source(X, weight=sample_weight, like=self.selection_.like))
        return float(evaluate(self.selection_, source)[score])

    def _limited(self, source: Source) -> Source:
        """The source, read within the limits of the memory plan."""
        return source

    # ── the selected columns ─────────────────────────────────────────────────────────────────────

    def transform(self, X: Any) -> Any:
        """Return the selected columns, strongest first.

        Parameters
        ----------
        X : array, SciPy matrix, DataFrame, path or Source

        Returns
        -------
        array or CSR matrix of shape (n_samples, n_selected)
            Dense for an array or a DataFrame, unless that would be larger than ``X``; otherwise sparse. Always dense
            if `set_output` asks for a data frame.
        """
        check_is_fitted(self)
        X = checked_rows(self, X)
        selection = self.selection_
        stored, framed = is_stored(X) or are_texts(X), frame_kind(X) is not None
        as_frame = self._output_container() != "default"
        if selection.space.by_position and not (stored or framed):
            if not hasattr(X, "tocsr"):
                return X[:, selection.keys.astype(np.int64)]
            columns = _sparse_columns(X, selection.keys)
            return columns.toarray() if as_frame else columns
        columns = selection.transform(X)
        dense = not (stored or hasattr(X, "tocsr")) and len(selection) <= X.shape[1]
        return columns.toarray() if dense or as_frame else columns

    def _output_container(self) -> str:
        """What `set_output`, or scikit-learn's configuration, asks for: default, pandas or polars."""
        own: dict[str, str] = getattr(self, "_sklearn_output_config", {})
        return str(own.get("transform", get_config()["transform_output"]))

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Return a mask, or the indices, of the selected columns.

        Parameters
        ----------
        indices : bool
            True: indices, strongest first (for a LIBSVM file as written in it). False: a boolean mask over all columns,
            whose number must be known and at most ten million.
        """
        check_is_fitted(self)
        positions = self._positions()
        if indices:
            return positions
        size = getattr(self, "n_features_in_", None)
        if size is None or size > _MAX_MASK:
            what = "the number of columns is not known" if size is None else f"{size} columns are too many for a mask"
            raise SettingsError(f"{what}: call get_support(indices=True)")
        mask = np.zeros(size, bool)
        mask[positions] = True
        return mask

    def _positions(self) -> NDArray[Any]:
        selection = self.selection_
        if selection.space.invertible and selection.space.hashing is None:
            small = not len(selection) or int(selection.keys.max()) < 2**63
            return selection.keys.astype(np.int64) if small else selection.keys
        places = {name: j for j, name in enumerate(getattr(self, "feature_names_in_", ()))}
        if any(name not in places for name in selection.names):
            raise SettingsError(
                "the selected features are not columns by position, but hashed names or products: call "
                "get_feature_names_out(), or see selection_.keys"
            )
        return np.array([places[name] for name in selection.names], np.int64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the selected features, strongest first.

        Parameters
        ----------
        input_features : array-like of str, optional
            The names of a matrix's columns, instead of ``x0``, ``x1``, …
        """
        check_is_fitted(self)
        selection = self.selection_
        if input_features is None:
            return np.array(selection.names, dtype=object)
        given = np.asarray(input_features, dtype=object)
        known = getattr(self, "feature_names_in_", None)
        if known is not None and not np.array_equal(known, given):
            raise SettingsError("input_features is not equal to feature_names_in_")
        if known is None and len(given) != getattr(self, "n_features_in_", len(given)):
            raise SettingsError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), "
                f"got {len(given)}"
            )
        by_position = known is None and selection.space.by_position
        return given[self._positions()] if by_position else np.array(selection.names, dtype=object)

    @property
    def _n_features_out(self) -> int:
        return len(self.selection_)


def _sparse_columns(X: Any, keys: NDArray[np.uint64]) -> Any:
    """Select columns of a CSR matrix. SciPy's indexing would allocate memory for every column of the matrix."""
    rows, kept, where = KeyIndex(keys).keep(X.indptr.astype(np.int64), X.indices.astype(np.uint64))
    columns = type(X)((X.data[where], kept, rows), shape=(X.shape[0], len(keys)))
    columns.sum_duplicates()
    return columns
