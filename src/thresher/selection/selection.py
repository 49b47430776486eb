"""The answer: which features, called what, with which weights; predicting, saving and loading."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.kernels import check_kernel
from thresher.columns.random_features import RandomFeatureMap
from thresher.core import container
from thresher.core.batch import Batch
from thresher.core.feature_space import FeatureSpace
from thresher.core.kmers import Kmers
from thresher.core.labels import known_targets
from thresher.core.losses import Loss, get_loss
from thresher.core.metrics import Scores
from thresher.errors import DataError, FileFormatError
from thresher.sources.base import Source
from thresher.sources.registry import as_source, is_paths
from thresher.sources.transforms.expand import Expanded
from thresher.sources.transforms.hash_features import Hashed
from thresher.sources.transforms.interactions import Interactions

KIND = "selection"


@dataclass(frozen=True, eq=False)
class Selection:
    """The selected features, strongest first (ties to the smaller key), and the linear model on them.

    Attributes
    ----------
    names : list of str
        What each feature is called; ``#`` and its key where the name could not be kept.
    keys : array of uint64
    weights : array of shape (k,) or (n_classes, k)
    bounds : array of shape (k,)
        How far off a weight may be: 0 from an exact store; one standard deviation, the sketch's share
        included, from a sketch of evidence; the estimate of ε‖β‖₂ from a count-sketch.
    counts : array of shape (k,)
        Rows in which the feature was seen since it was (last) taken in.
    intercept : array of shape (1,) or (n_classes,)
    loss : Loss
    classes : list or None
        The labels, the positive one last; None for regression.
    space : FeatureSpace
        What the keys mean.
    settings, provenance : dict
        How the selection was made, and from what.
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

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def named(self) -> int:
        """How many features have their true name."""
        return sum(name != f"#{key}" for name, key in zip(self.names, self.keys.tolist(), strict=True))

    @property
    def labels(self) -> list[Any]:
        """The classes as `predict` gives them: numbers as integers where all of them are. Empty for regression."""
        classes = self.classes or []
        if all(isinstance(label, float) and label.is_integer() for label in classes):
            return [int(label) for label in classes]
        return classes

    @property
    def multilabel(self) -> bool:
        """Whether the classes are yes-or-no questions, each with an answer of its own."""
        return self.loss.task == "binary" and self.weights.ndim == 2

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:3]) + (", …" if len(self) > 3 else "")
        return f"<Selection of {len(self)} features ({self.named} named): {shown}>"

    # ── the model ────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _index(self) -> _native.KeyIndex:
        return _native.KeyIndex(np.ascontiguousarray(self.keys))

    @cached_property
    def _functions(self) -> RandomFeatureMap:
        return RandomFeatureMap(self.space, self.keys, _native.Team(0))

    def __getstate__(self) -> dict[str, Any]:
        # The others are made again when needed.
        return {name: value for name, value in self.__dict__.items() if name not in ("_index", "_functions")}

    @property
    def inputs(self) -> NDArray[np.uint64] | None:
        """The keys that the model needs of a row; None: all, where its features are functions of them."""
        return self.keys if self.space.random_features is None else None

    def batches(self, data: Any, reading: dict[str, Any]) -> Iterator[Batch]:
        """The rows of any data, with the features only that the model needs."""
        if self.multilabel and self.space.kind == "index" and is_paths(data):  # LIBSVM, whose rows may have several
            reading = {"multilabel": True, **reading}
        source = self.over(as_source(data, like=self.like, **reading))
        for batch, _ in source.batches(keys=self.inputs, want_labels=False):
            if len(batch):
                yield batch

    @property
    def like(self) -> Kmers | dict[str, Any] | None:
        """How files must be read to have the features of the model."""
        return self.space.kmers or self.provenance.get("reading")

    def over(self, source: Source) -> Source:
        """The source as the model sees it: products of features are formed, buckets filled, where it has such.

        Raises `SpaceError` where the features are not those that the model was made from.
        """
        if self.space.expansion is not None and source.space.expansion is None:
            base = replace(self, space=self.space.without_expansion()).over(source)
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
            return self._drawn_margins(batch)
        weights = np.ascontiguousarray(self.weights, dtype=np.float64).ravel()
        flat = self._index.margins(batch.indptr, batch.keys, batch.values, weights, self.intercept)
        return flat if len(self.intercept) == 1 else flat.reshape(-1, len(self.intercept))

    def _drawn_margins(self, batch: Batch) -> NDArray[np.float64]:
        values = self._functions.values(batch)
        weights = np.atleast_2d(self.weights)
        margins = [
            _native.weighted_sum(values, np.ascontiguousarray(row), float(start))
            for row, start in zip(weights, self.intercept, strict=True)
        ]
        return margins[0] if len(margins) == 1 else np.stack(margins, axis=1)

    def decision_function(self, data: Any, **reading: Any) -> NDArray[np.float64]:
        """The margins of all rows of anything that holds rows: a path, a Source, a matrix, a frame."""
        parts = [self.margins(batch) for batch in self.batches(data, reading)]
        return np.concatenate(parts) if parts else np.empty(0 if len(self.intercept) == 1 else (0, len(self.intercept)))

    def predict(self, data: Any, **reading: Any) -> NDArray[Any]:
        """The class of each row, its value in regression, or rows x labels of 0 and 1 for several labels."""
        return self.decide(self.decision_function(data, **reading))

    def decide(self, margins: NDArray[np.float64]) -> NDArray[Any]:
        """Margins to classes (or to themselves in regression)."""
        if self.classes is None:
            return margins
        if self.multilabel:
            return (margins > 0).astype(np.int64)
        chosen = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        predicted: NDArray[Any] = np.array(self.labels)[chosen]
        return predicted

    def predict_proba(self, data: Any, **reading: Any) -> NDArray[np.float64]:
        """Probabilities, rows x classes; for the logistic and softmax losses."""
        if self.loss.part not in ("logistic", "softmax"):
            raise DataError(f"the {self.loss} loss gives no probabilities: use decision_function.")
        return self.probabilities(self.decision_function(data, **reading))

    def probabilities(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Margins of the logistic or softmax loss to probabilities, rows x classes."""
        if self.loss.name == "softmax":
            raised = np.exp(margins - margins.max(axis=1, keepdims=True))
            shares: NDArray[np.float64] = raised / raised.sum(axis=1, keepdims=True)
            return shares
        positive: NDArray[np.float64] = 0.5 * (1.0 + np.tanh(0.5 * margins))
        if self.multilabel:
            return positive
        if margins.ndim == 2:  # each class against the rest: their shares
            total: NDArray[np.float64] = positive.sum(axis=1, keepdims=True)
            return np.divide(positive, total, out=np.full_like(positive, 1.0 / positive.shape[1]), where=total > 0)
        return np.stack([1.0 - positive, positive], axis=1)

    def transform(self, data: Any, **reading: Any) -> Any:
        """The selected columns of the data as a SciPy CSR matrix, in the order of the selection."""
        import scipy.sparse as sp

        rows, columns, values = [np.zeros(1, np.int64)], [], []
        if self.space.random_features is not None:
            blocks = [self._functions.values(batch).T for batch in self.batches(data, reading)]
            return sp.csr_matrix(np.concatenate(blocks) if blocks else np.empty((0, len(self)), np.float32))
        for batch in self.batches(data, reading):
            indptr, positions, where = self._index.keep(batch.indptr, batch.keys)
            rows.append(indptr[1:] + rows[-1][-1])
            columns.append(positions)
            values.append(np.ones(len(where), np.float32) if batch.values is None else batch.values[where])
        indptr = np.concatenate(rows)
        if not columns:
            return sp.csr_matrix((0, len(self)), dtype=np.float32)
        matrix = sp.csr_matrix(
            (np.concatenate(values), np.concatenate(columns), indptr), shape=(len(indptr) - 1, len(self))
        )
        matrix.sum_duplicates()
        return matrix

    # ── the file ─────────────────────────────────────────────────────────────────────────────────

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.thr`` file, atomically."""
        offsets, text = container.pack_strings([name.encode("utf-8", "surrogateescape") for name in self.names])
        arrays: dict[str, NDArray[Any]] = {
            "keys": self.keys,
            "weights": np.asarray(self.weights, dtype=np.float64),
            "bounds": self.bounds,
            "counts": self.counts,
            "intercept": self.intercept,
            "name_offsets": offsets,
            "name_text": text,
        }
        meta = {
            "loss": str(self.loss),
            "classes": self.classes,
            "space": self.space.to_dict(),
            "settings": self.settings,
            "provenance": self.provenance,
        }
        container.write(path, container.Content(KIND, meta, arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Selection:
        """Read a ``.thr`` file; a damaged or foreign one raises `FileFormatError`."""
        _, meta, arrays = container.read(path, KIND)
        try:
            names = container.unpack_strings(arrays["name_offsets"], arrays["name_text"])
            selection = cls(
                [name.decode("utf-8", "surrogateescape") for name in names],
                arrays["keys"],
                arrays["weights"],
                arrays["bounds"],
                arrays["counts"],
                arrays["intercept"],
                get_loss(meta["loss"]),
                meta["classes"],
                FeatureSpace.from_dict(meta["space"]),
                meta["settings"],
                meta["provenance"],
            )
            selection._check()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"{os.fspath(path)}: not a selection in order ({error}).") from None
        return selection

    def _check(self) -> None:
        """Raise ValueError unless everything a file may have brought fits together."""
        k, outputs = len(self.keys), len(self.intercept)
        several = self._several
        for name, dtype, shape in (
            ("keys", np.uint64, (k,)),
            ("weights", np.float64, (outputs, k) if several else (k,)),
            ("bounds", np.float64, (k,)),
            ("counts", np.uint64, (k,)),
            ("intercept", np.float64, (outputs,)),
        ):
            array = getattr(self, name)
            if array.dtype != dtype or array.shape != shape:
                raise ValueError(f"{name} of type {array.dtype} and shape {array.shape}")
        if not (np.isfinite(self.weights).all() and np.isfinite(self.intercept).all() and (self.bounds >= 0).all()):
            raise ValueError("weights or bounds that are no numbers")
        if len(self.names) != k or len(np.unique(self.keys)) != k:
            raise ValueError("features without a name, or twice")
        size = self.space.size
        if (
            self.space.kind not in ("column", "index", "token", "kmer")
            or (self.space.kind == "kmer") != (self.space.kmers is not None)
            or not (size is None or (type(size) is int and size >= 0))
        ):
            raise ValueError("an unknown feature space")
        if self.space.hashing is not None:
            size = self.space.hashing.width
        elif self.space.products is not None or self.space.expansion is not None:
            size = None
        if self.space.random_features is not None:
            check_kernel(self.space.random_features, self.space.size)
            size = None
        if size is not None and k and int(self.keys.max()) >= size:
            raise ValueError(f"feature {self.keys.max()} of {size}")
        if not (isinstance(self.settings, dict) and isinstance(self.provenance, dict)):
            raise TypeError("settings or provenance of the wrong type")
        self._check_classes(outputs)

    @property
    def _several(self) -> bool:
        """Whether there is an output for each class or label."""
        return self.loss.task == "classes" or (self.loss.task == "binary" and self.weights.ndim == 2)

    def _check_classes(self, outputs: int) -> None:
        several = self._several
        if not several and outputs != 1:
            raise ValueError(f"{outputs} outputs for the {self.loss} loss")
        if self.loss.task == "real":
            if self.classes is not None:
                raise ValueError("classes in regression")
            return
        if not isinstance(self.classes, list) or len(self.classes) != (outputs if several else 2):
            raise ValueError("not as many classes as the loss tells apart")
        one_type = all(isinstance(c, str) for c in self.classes) or all(type(c) in (int, float) for c in self.classes)
        if not one_type or len(set(self.classes)) != len(self.classes):
            raise ValueError("classes that are not distinct numbers or distinct words")

    # ── other forms ──────────────────────────────────────────────────────────────────────────────

    def columns(self) -> dict[str, Any]:
        """The table of features, column by column: rank, name, key, weight, bound, count.

        Names are proper Unicode here: a byte that is not UTF-8 is spelled ``\\xff``.
        """
        names = [spelled(name) for name in self.names]
        table: dict[str, Any] = {"rank": np.arange(1, len(self) + 1), "name": names, "key": self.keys}
        if self.weights.ndim == 1:
            table["weight"] = self.weights
        else:
            labels = self.labels or range(len(self.weights))
            table |= {f"weight_{label}": row for label, row in zip(labels, self.weights, strict=True)}
        return table | {"bound": self.bounds, "count": self.counts}

    def to_arrow(self) -> Any:
        """The table of features as an Arrow table."""
        import pyarrow as pa

        columns = self.columns()
        columns["name"] = pa.array(columns["name"], pa.string())  # text even when there is none
        return pa.table(columns)

    def to_frame(self) -> Any:
        """The table of features as a pandas DataFrame."""
        from thresher.core.optional import need

        return need("pandas", "pandas").DataFrame(self.columns())

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the selection for other programs: tsv, json, parquet, vw or onnx (by the path's ending)."""
        from thresher.selection.export import export

        export(self, path, format)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn linear model on the k columns that `transform` gives."""
        from thresher.selection.export.sklearn import to_sklearn

        return to_sklearn(self)


def spelled(name: str) -> str:
    """A name with every byte that was not UTF-8 spelled out, ``\\xff``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def load(path: str | os.PathLike[str]) -> Selection:
    """Read a selection back from a ``.thr`` file."""
    return Selection.load(path)


def evaluate(selection: Selection, source: Source) -> dict[str, float]:
    """Score a selection on labelled data by what fits its task, see `thresher.core.metrics.Scores`."""
    source = selection.over(source)
    scores = Scores(selection.loss, len(selection.classes or ()))
    for batch, cursor in source.batches(keys=selection.inputs):
        where = partial(source.where, cursor, batch)
        y = known_targets(batch, selection.classes, selection.loss, where, multilabel=selection.multilabel)
        margins = selection.margins(batch)
        if not np.isfinite(margins).all():
            row = int(np.argwhere(~np.isfinite(margins))[0, 0])
            raise DataError(f"{where(row)}: the prediction is {margins[row]}: its values are too large for this model.")
        scores.add(margins, y, batch.weight)
    return scores.result()
