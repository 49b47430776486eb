"""The answer: the selected features with their names and weights, and predictions from them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.random_features import RandomFeatureMap
from thresher.core.batch import Batch
from thresher.core.feature_space import FeatureSpace
from thresher.core.kmers import Kmers
from thresher.core.losses import Loss
from thresher.core.memory import Watch
from thresher.core.optional import need
from thresher.display import cut, visible
from thresher.errors import DataError
from thresher.selection.calibration import Calibration
from thresher.sources.base import Source
from thresher.sources.registry import as_source, is_paths
from thresher.sources.transforms.expand import Expanded
from thresher.sources.transforms.hash_features import Hashed
from thresher.sources.transforms.interactions import Interactions
from thresher.sources.transforms.watched import Watched

if TYPE_CHECKING:
    from thresher.selection.contributions import Contributions
    from thresher.selection.pictures.plotter import Plotter

if TYPE_CHECKING:
    from thresher.selection.words import Word
    from thresher.sources.files.paths import PathLike

#: The kinds of predictions: the class (or number), its probability, and the margin w'x + b.
Output = Literal["prediction", "probability", "margin"]


@dataclass(frozen=True, eq=False)
class Selection:
    """The selected features, strongest first (ties to the smaller key), and the linear model on them.

    Attributes
    ----------
    names : list of str
        The name of each feature; ``#`` and its key if the name is unknown.
    keys : array of uint64
    weights : array of shape (k,) or (n_classes, k)
    bounds : array of shape (k,)
        The error bound of each weight: 0 in an exact store; one standard error, the share of the sketch included, in
        a sketch of evidence; the estimate of ε‖β‖₂ in a count-sketch.
    counts : array of shape (k,)
        Rows that had the feature since it was (last) admitted to the table.
    intercept : array of shape (1,) or (n_classes,)
    loss : Loss
    classes : list or None
        The labels, the positive one last; None for regression.
    space : FeatureSpace
        The meaning of the keys.
    settings, provenance : dict
        The settings and the data of the fit.
    calibration : Calibration, optional
        The function from margins to probabilities, see `thresher.selection.calibration`. It does not change what
        `predict` returns.
    centres, scales : array of shape (k,), optional
        The centre and the scale of each feature, if numeric columns were standardised; 0 and 1 for other features. The
        order of the features is then that of `standardized_weights`.
    q_values : array of shape (k,), optional
        With error control (``fdr``), the least share of false features at which each feature stays, see
        `thresher.trust.mirror`.
    frequencies : array of shape (k,), optional
        With ``stability``, the share of fits of halves of the rows that select each feature, see
        `thresher.trust.stability.frequencies`.
    """

    names: list[str]
    keys: NDArray[np.uint64]
    weights: NDArray[np.float64]
    bounds: NDArray[np.float64]
    counts: NDArray[np.uint64]
    intercept: NDArray[np.float64]
    loss: Loss
    classes: list[Any] | None
    space: FeatureSpace
    settings: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None
    centres: NDArray[np.float64] | None = None
    scales: NDArray[np.float64] | None = None
    q_values: NDArray[np.float64] | None = None
    frequencies: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def named(self) -> int:
        """The number of features whose name is known."""
        return sum(name != f"#{key}" for name, key in zip(self.names, self.keys.tolist(), strict=True))

    @property
    def k_curve(self) -> dict[str, Any] | None:
        """How ``k="auto"`` chose: the held-out loss by the number of features (``points``), and the ``chosen`` one."""
        return self.provenance.get("k_curve")

    @property
    def stand_ins(self) -> dict[str, list[list[Any]]] | None:
        """The stand-ins of each feature that has any, as pairs of a name and a cosine; None if none were looked for."""
        facts = self.provenance.get("stand_ins")
        return None if facts is None else facts["found"]

    @property
    def words(self) -> list[Word]:
        """Longer words that selected k-mers are parts of, the heaviest first; empty if the features are no k-mers.

        k-mers are joined if they overlap by all letters but one and occur together: their cosine is at least the
        threshold of the stand-ins or, if these were not looked for, their weights have the same sign.
        """
        from thresher.selection.words import words_of

        kmers = self.space.kmers
        if kmers is None or not self.space.invertible or self.space.hashing is not None:
            return []
        facts = self.provenance.get("stand_ins", {})
        collapsed = facts.get("collapsed", {"names": [], "keys": []})
        names = [*self.names, *collapsed["names"]]
        keys = np.concatenate([self.keys, np.array(collapsed["keys"], np.uint64)])
        none = np.zeros((*self.weights.shape[:-1], len(collapsed["names"])))
        weights = np.concatenate([self.weights, none], axis=-1)
        if "together" in facts:
            pairs = {frozenset(pair[:2]) for pair in facts["together"]}
            return words_of(kmers, names, keys, weights, lambda a, b: frozenset((names[a], names[b])) in pairs)
        return words_of(kmers, names, keys, weights, lambda a, b: bool((weights[..., a] * weights[..., b]).sum() > 0))

    @property
    def stable(self) -> NDArray[np.bool_] | None:
        """Whether the frequency of each feature reaches the threshold; None without ``stability``."""
        if self.frequencies is None:
            return None
        threshold = self.provenance["stability"]["threshold"]
        return self.frequencies >= (np.inf if threshold is None else threshold)

    @property
    def standardized_weights(self) -> NDArray[np.float64]:
        """The weights of the features in units of their own, by which they rank: weights times scales."""
        return self.weights if self.scales is None else self.weights * self.scales

    @property
    def labels(self) -> list[Any]:
        """The classes as `predict` returns them, as integers if all are whole numbers. Empty for regression."""
        classes = self.classes or []
        if all(isinstance(label, float) and label.is_integer() for label in classes):
            return [int(label) for label in classes]
        return classes

    @property
    def multilabel(self) -> bool:
        """Whether a row may have several labels: each class then has an output of its own."""
        return self.loss.task == "binary" and self.weights.ndim == 2

    def __repr__(self) -> str:
        shown = ", ".join(cut(visible(name)) for name in self.names[:3]) + (", …" if len(self) > 3 else "")
        return f"<Selection of {len(self)} features ({self.named} named): {shown}>"

    def _repr_html_(self) -> str:
        from thresher.selection.html import selection_html

        return selection_html(self)

    @property
    def plot(self) -> Plotter:
        """Pictures: ``plot.weights()``, ``learning_curve()``, ``history()``, ``scores()``, ``path()``, ``stability()``.

        Each returns matplotlib axes, see `thresher.selection.pictures.plotter.Plotter`.
        """
        from thresher.selection.pictures.plotter import Plotter

        return Plotter(self)

    # ── prediction ───────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _index(self) -> _native.KeyIndex:
        return _native.KeyIndex(np.ascontiguousarray(self.keys))

    @cached_property
    def _random_features(self) -> RandomFeatureMap:
        return RandomFeatureMap(self.space, self.keys, _native.ThreadPool(0))

    def __getstate__(self) -> dict[str, Any]:
        # The cached objects are native and cannot be pickled.
        return {name: value for name, value in self.__dict__.items() if name not in ("_index", "_random_features")}

    @property
    def input_keys(self) -> NDArray[np.uint64] | None:
        """The keys that the model reads from a row; None for all, which random features need."""
        return self.keys if self.space.random_features is None else None

    def batches(self, data: Any, reading: dict[str, Any]) -> Iterator[Batch]:
        """The rows of any data, with only the features that the model needs."""
        for batch, _ in self.source(data, reading).batches(keys=self.input_keys, want_labels=False):
            if len(batch):
                yield batch

    def source(self, data: Any, reading: Mapping[str, Any], watch: Watch | None = None) -> Source:
        """Any data as a source with the features of the model; ``watch`` receives the progress of reading it."""
        source = self._plain_source(data, reading)
        return self.adapt(source if watch is None else Watched(source, watch, "predicting"))

    def _plain_source(self, data: Any, reading: Mapping[str, Any]) -> Source:
        """Any data as a source, read as that of the fit."""
        if self.multilabel and self.space.kind == "index" and is_paths(data):  # LIBSVM rows may have several labels
            reading = {"multilabel": True, **reading}
        return as_source(data, like=self.like, **reading)

    @property
    def like(self) -> Kmers | dict[str, Any] | None:
        """How to read files so that they have the features of the model."""
        return self.space.kmers or self.provenance.get("reading")

    def adapt(self, source: Source) -> Source:
        """The source with the features of the model: their products and hash buckets, if the model has any.

        Raises `SpaceError` if the source has other features than the data of the fit.
        """
        if self.space.expansion is not None and source.space.expansion is None:
            base = replace(self, space=self.space.without_expansion()).adapt(source)
            return Expanded(base, self.space.expansion)
        wanted = self.space.without_random_features()
        wanted = wanted.without_hashing() if source.space.hashing is None else wanted
        if wanted.products is not None and source.space.products is None:
            wanted.without_products().check_same(source.space)
            source = Interactions.over(source, wanted.products)
        wanted.check_same(source.space)
        hashing = self.space.hashing
        return source if hashing is None or wanted.hashing is not None else Hashed(source, hashing)

    def margins(self, batch: Batch) -> NDArray[np.float64]:
        """w'x + b of each row of a batch: (rows,), or (rows, n_classes) for several outputs."""
        if self.space.random_features is not None:
            return self._random_feature_margins(batch)
        weights = np.ascontiguousarray(self.weights, dtype=np.float64).ravel()
        flat = self._index.margins(batch.indptr, batch.keys, batch.values, weights, self.intercept)
        return flat if len(self.intercept) == 1 else flat.reshape(-1, len(self.intercept))

    def _random_feature_margins(self, batch: Batch) -> NDArray[np.float64]:
        values = self._random_features.values(batch)
        weights = np.atleast_2d(self.weights)
        margins = [
            _native.weighted_sum(values, np.ascontiguousarray(row), float(intercept))
            for row, intercept in zip(weights, self.intercept, strict=True)
        ]
        return margins[0] if len(margins) == 1 else np.stack(margins, axis=1)

    def decision_function(self, data: Any, **reading: Any) -> NDArray[np.float64]:
        """The margins of all rows of any data: a path, a `Source`, a matrix or a DataFrame."""
        parts = [self.margins(batch) for batch in self.batches(data, reading)]
        return np.concatenate(parts) if parts else np.empty(0 if len(self.intercept) == 1 else (0, len(self.intercept)))

    def predict(self, data: Any, **reading: Any) -> NDArray[Any]:
        """The class of each row; its value in regression; a matrix of 0 and 1, rows x labels, for several labels.

        Data is read as that of the fit. ``reading`` holds options for files that are laid out in another way, such as
        ``text=`` and ``target=`` for other column names, or ``delimiter=``.
        """
        return self.decide(self.decision_function(data, **reading))

    def decide(self, margins: NDArray[np.float64]) -> NDArray[Any]:
        """The predictions for these margins."""
        if self.classes is None:
            return margins
        if self.multilabel:
            return (margins > 0).astype(np.int64)
        chosen = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        predicted: NDArray[Any] = np.array(self.labels)[chosen]
        return predicted

    def predict_proba(self, data: Any, **reading: Any) -> NDArray[np.float64]:
        """Probabilities, rows x classes; calibrated ones, or those of the logistic and softmax losses."""
        self.check_probabilities()
        return self.probabilities(self.decision_function(data, **reading))

    @property
    def has_probabilities(self) -> bool:
        """Whether there are probabilities: from a calibration, or from the loss itself."""
        return self.calibration is not None or self.loss.part in ("logistic", "softmax")

    def check_probabilities(self) -> None:
        """Raise if there are no probabilities."""
        if not self.has_probabilities:
            raise DataError(
                f"the {self.loss} loss gives no probabilities, and the selection has no calibration: use "
                "decision_function."
            )

    def predictions(
        self,
        data: Any,
        *,
        output: Output = "prediction",
        ids: Sequence[str] = (),
        id_column: str | None = None,
        **reading: Any,
    ) -> dict[str, list[Any]]:
        """The predictions as a table, column by column, with identifiers of the rows.

        Parameters
        ----------
        output : {"prediction", "probability", "margin"}
            The class (or number), the probability of the second of two classes or of each of several, or w'x + b.
        ids : some of "file", "line", "record"
            Identifiers: the file, the line from 1 (in Parquet and memory the row), the name of a FASTA or FASTQ record.
        id_column : str, optional
            A column of a table that identifies its rows.
        """
        from thresher.selection.predictions import prediction_table

        return prediction_table(self, data, output, ids, id_column, reading)

    def probabilities(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probabilities for margins, rows x classes: calibrated, or those of the logistic or softmax loss."""
        if self.calibration is not None:
            return self.calibration.probabilities(margins)
        if self.loss.name == "softmax":
            powers = np.exp(margins - margins.max(axis=1, keepdims=True))
            softmax: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
            return softmax
        positive: NDArray[np.float64] = 0.5 * (1.0 + np.tanh(0.5 * margins))
        if self.multilabel:
            return positive
        if margins.ndim == 2:  # one class against the rest: normalised to sum to one
            total: NDArray[np.float64] = positive.sum(axis=1, keepdims=True)
            return np.divide(positive, total, out=np.full_like(positive, 1.0 / positive.shape[1]), where=total > 0)
        return np.stack([1.0 - positive, positive], axis=1)

    def transform(self, data: Any, **reading: Any) -> Any:
        """The selected columns of the data as a SciPy CSR matrix, in the order of the selection."""
        return self.selected_columns(data, reading, np.float32)

    def selected_columns(self, data: Any, reading: Mapping[str, Any], dtype: type[np.floating[Any]]) -> Any:
        """`transform` with numbers of a type; values that a row has twice are added in it."""
        import scipy.sparse as sp

        rows, columns, values = [np.zeros(1, np.int64)], [], []
        if self.space.random_features is not None:
            blocks = [self._random_features.values(batch).T for batch in self.batches(data, dict(reading))]
            return sp.csr_matrix(np.concatenate(blocks).astype(dtype) if blocks else np.empty((0, len(self)), dtype))
        for batch in self.batches(data, dict(reading)):
            indptr, positions, where = self._index.keep(batch.indptr, batch.keys)
            rows.append(indptr[1:] + rows[-1][-1])
            columns.append(positions)
            values.append(np.ones(len(where), dtype) if batch.values is None else batch.values[where].astype(dtype))
        indptr = np.concatenate(rows)
        if not columns:
            return sp.csr_matrix((0, len(self)), dtype=dtype)
        matrix = sp.csr_matrix(
            (np.concatenate(values), np.concatenate(columns), indptr), shape=(len(indptr) - 1, len(self))
        )
        matrix.sum_duplicates()
        return matrix

    def contributions(self, data: Any, **reading: Any) -> Contributions:
        """What each selected feature adds to the margin of each row: why a prediction is what it is.

        Parameters
        ----------
        data : path, Source, matrix, DataFrame or list of texts
            The rows, as for `predict`. The answer holds a number for every selected feature of every row: for large
            data, pass some rows.

        Returns
        -------
        Contributions
            ``values``, a CSR matrix (rows x k) of weight times value in the order of the selection, and ``intercept``;
            their sum is `decision_function`. With several classes ``values`` is a list with one matrix for each, in
            the order of `labels`. For random features, each contribution is that of a function of the inputs.
        """
        from thresher.selection.contributions import contributions

        return contributions(self, data, reading)

    def find_stand_ins(
        self, data: Any, threshold: float = 0.9, *, memory: str | int | None = None, **reading: Any
    ) -> Selection:
        """The same selection with the stand-ins of its features: columns of the data that are nearly the same.

        Parameters
        ----------
        data : like that of `predict`
            The rows to compare columns on; they are read three times, and need no labels.
        threshold : float
            The least absolute cosine of two columns, 0.5 to 1; of columns that most rows have it is their correlation.
        memory : str or int, optional
            The most memory of the search. Default: 64 MB.

        Returns
        -------
        Selection
            Its `stand_ins` has the names and cosines, and ``provenance["stand_ins"]`` all facts.
        """
        from thresher.selection.stand_ins.find import checked_threshold, find

        least = checked_threshold(threshold)
        facts = find(self, self._plain_source(data, reading), least, memory).facts
        return replace(self, provenance={**self.provenance, "stand_ins": facts})

    def report(
        self,
        data: Any = None,
        y: Any = None,
        *,
        path: str | os.PathLike[str] = "report.html",
        genome: PathLike | Iterable[PathLike] | None = None,
        **reading: Any,
    ) -> None:
        """Write a report as one HTML file, which opens offline, makes no request and stays below 3 MB.

        Parameters
        ----------
        data : path, Source, matrix, DataFrame or list of texts, optional
            Labelled rows, as for `thresher.select`: they add where predictions err, and examples. Rows that the model
            did not learn from show how good it is.
        y : array-like, optional
            The labels of data in memory.
        path : path
            The file; an existing one is replaced when the new one is complete.
        genome : path, glob, folder, or several of these, optional
            FASTA or FASTQ files: the report shows where selected k-mers are in them.
        **reading
            Options for files that are laid out in another way than those of the fit.

        Notes
        -----
        Requires the extra ``thresher[report]``.
        """
        from thresher.selection.report.report import make_report

        make_report(self, data, y, path=path, genome=genome, **reading)

    # ── tables and files ─────────────────────────────────────────────────────────────────────────

    def columns(self) -> dict[str, Any]:
        """The table of features, column by column: rank, name, key, weight, bound, count.

        If numeric columns were standardised, ``standardized`` is the weight that a feature ranks by: that in its own
        unit, or with several classes the norm across them. With error control, ``q_value`` is there, too; with
        ``stability``, ``frequency`` and ``stable``: whether it reaches the threshold. If stand-ins were looked for,
        ``stand_ins`` lists them with their cosines.

        Names are valid Unicode here: a byte that is not UTF-8 is escaped as ``\\xff``.
        """
        names = [escaped(name) for name in self.names]
        table: dict[str, Any] = {"rank": np.arange(1, len(self) + 1), "name": names, "key": self.keys}
        if self.weights.ndim == 1:
            table["weight"] = self.weights
        else:
            labels = self.labels or range(len(self.weights))
            table |= {f"weight_{label}": row for label, row in zip(labels, self.weights, strict=True)}
        if self.scales is not None:
            own = self.standardized_weights
            table["standardized"] = own if own.ndim == 1 else np.linalg.norm(own, axis=0)
        if self.q_values is not None:
            table["q_value"] = self.q_values
        if self.stand_ins is not None:
            table["stand_ins"] = [escaped(self._listed_stand_ins(name)) for name in self.names]
        if self.frequencies is not None:
            table |= {"frequency": self.frequencies, "stable": self.stable}
        return table | {"bound": self.bounds, "count": self.counts}

    def _listed_stand_ins(self, name: str) -> str:
        """The stand-ins of a feature as text: ``x9 1, x10 -0.994913, … and 3 more``."""
        facts = self.provenance["stand_ins"]
        listed = [f"{other} {cosine:g}" for other, cosine in facts["found"].get(name, ())]
        more = facts["more"].get(name, 0)
        return ", ".join([*listed, f"… and {more} more"] if more else listed)

    def to_arrow(self) -> Any:
        """The table of features as an Arrow table."""
        import pyarrow as pa

        columns = self.columns()
        columns["name"] = pa.array(columns["name"], pa.string())  # text, even if there are no features
        return pa.table(columns)

    def to_frame(self) -> Any:
        """The table of features as a pandas DataFrame."""
        return need("pandas", "pandas").DataFrame(self.columns())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.thr`` file, atomically; `thresher.load` reads it."""
        from thresher.selection.file import save

        save(self, path)

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the selection for other programs: tsv, json, parquet, vw or onnx (default: by the path's ending).

        ``vw`` is text for people, as of ``vw --invert_hash``: ``vw -i`` does not load it.
        """
        from thresher.selection.export.registry import export

        export(self, path, format)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn linear model of the k columns that `transform` returns."""
        from thresher.selection.export.sklearn import to_sklearn

        return to_sklearn(self)


def escaped(name: str) -> str:
    """A name with every byte that is not UTF-8 escaped as ``\\xff``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
