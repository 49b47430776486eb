"""One fit from data to selection: the skeleton that every method's run fills in.

A run reads its data, repeats the step of its loop, saves and resumes, and builds a selection. A method provides the
parts: the steps, a snapshot of its state, and the result.
"""

from __future__ import annotations

import logging
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.feature_space import FeatureSpace
from thresher.core.interim import Callback, Interim
from thresher.core.labels import Label
from thresher.core.losses import Loss, get_loss
from thresher.core.memory import DEFAULT_CACHE_SIZE, DEFAULT_MEMORY, Watch, parse_size
from thresher.core.storage.atomic import check_writable
from thresher.core.storage.checkpoint import Checkpoint
from thresher.errors import DataError, FileFormatError, SettingsError, UnwritableError
from thresher.selection.calibration import Calibration
from thresher.selection.selection import Selection
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.version import __version__

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a fit reads its data and what it may use: the same for every method.

    Parameters
    ----------
    memory : str or int, optional
        The most memory the fit may use. None: 64 MB for an online method, no limit for the others.
    n_jobs : int
        Threads of a working-set method; -1: all cores. The result does not depend on it.
    workers : int
        Workers of ``fgm``, which share the columns, or of ``sparse-rf``, which share the rows; the result does not
        depend on their number. The workers of other methods are one of their settings.
    cluster : str, optional
        Where workers run: None, threads of this process; ``"ray"``, a Ray that is running or is started here; or the
        address of a Ray cluster. The result does not depend on it, but for Online Substitution.
    interactions : {1, 2, 3} or list of tuples
        Products of features to add, see `thresher.core.feature_space.Products`.
    multilabel : bool
        Rows have any number of labels.
    class_weight : mapping or "balanced", optional
        Importance of each class.
    may_be_numbers : bool
        Labels are classes only as long as they do not look like numbers: then raise `NumericLabels`.
    validation : Source, optional
        Scored after every iteration of a working-set method; the best iteration is the result.
    patience : int
        Stop after this number of iterations without a better validation score.
    cache : path or True
        The folder of temporary files; True: the user's cache folder.
    cache_size : str or int
        The most bytes in that folder.
    checkpoint : path, optional
        Written every ``every`` seconds and on Ctrl-C; an existing one is resumed unless ``restart``.
    batch_rows : int
        Rows per batch. The result does not depend on it.
    from_estimator : bool
        The caller is a scikit-learn estimator: ``k`` may exceed the number of columns, and the data is not
        fingerprinted.
    keep : mapping
        Features that are in the answer whatever their weights are: the key of each name.
    dropped : bool
        Features were dropped from the rows, and data to predict may still have them.
    calibrate : bool
        Calibrate the probabilities of a classifier.
    facts : mapping
        Further facts for the provenance, such as the curve by which ``k`` was chosen.
    watch : Watch
        Receives the progress of the fit.
    callback : callable, optional
        Called with an `Interim` after every step, once there is a model; True ends the fit.
    """

    memory: str | int | None = None
    n_jobs: int = -1
    workers: int = 1
    cluster: str | None = None
    interactions: int | Sequence[Sequence[str | int]] = 1
    multilabel: bool = False
    class_weight: Mapping[Any, float] | str | None = None
    may_be_numbers: bool = False
    validation: Source | None = None
    patience: int = 3
    cache: str | os.PathLike[str] | bool = True
    cache_size: str | int = DEFAULT_CACHE_SIZE
    checkpoint: str | os.PathLike[str] | None = None
    every: float = 30.0
    restart: bool = False
    batch_rows: int = DEFAULT_ROWS
    from_estimator: bool = False
    keep: Mapping[str, int] = field(default_factory=dict)
    dropped: bool = False
    calibrate: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)
    watch: Watch = field(default_factory=Watch)
    callback: Callback | None = None

    def __post_init__(self) -> None:
        if self.n_jobs != -1 and self.n_jobs < 1:
            raise SettingsError(f"n_jobs must be -1 (all cores) or at least 1, got {self.n_jobs}")

    @property
    def threads(self) -> int:
        """Threads as the native core counts them: 0 for all cores."""
        return 0 if self.n_jobs == -1 else self.n_jobs

    def class_weight_identity(self) -> Any:
        """The class weights in a form that JSON can hold, for checkpoints."""
        weights = self.class_weight
        return sorted(map(str, weights.items())) if isinstance(weights, Mapping) else weights


class Result(NamedTuple):
    """The result of a method, strongest feature first.

    ``weights`` is (features,) or (outputs, features); ``errors`` the standard error or error bound of each weight, 0
    if weights are exact. If numeric columns were standardised, ``centres`` and ``scales`` are those of the features,
    and weights are in the unit of the data.
    """

    keys: NDArray[np.uint64]
    weights: NDArray[np.float64]
    errors: NDArray[np.float64]
    counts: NDArray[np.uint64]
    intercept: NDArray[np.float64]
    centres: NDArray[np.float64] | None = None
    scales: NDArray[np.float64] | None = None

    def in_data_units(self, centres: NDArray[np.float64], scales: NDArray[np.float64]) -> Result:
        """The result for values as they are, from that for values minus ``centres``, divided by ``scales``."""
        weights = self.weights / scales
        return Result(
            self.keys,
            weights,
            self.errors / scales,
            self.counts,
            self.intercept - (weights * centres).sum(axis=-1),
            centres,
            scales,
        )


class Origin(NamedTuple):
    """A description of the training data."""

    data: str
    fingerprint: str | None
    reading: dict[str, Any] | None

    @classmethod
    def of(cls, data: Any, *, fingerprint: bool = True) -> Origin:
        """Describe a Source or a FeatureStream; a fingerprint may take a pass over the data."""
        reading = data.reading() if hasattr(data, "reading") else None
        return cls(data.describe(), data.fingerprint() if fingerprint else None, reading)


def build_selection(
    result: Result,
    names: list[str],
    *,
    loss: Loss,
    classes: list[Label] | None,
    space: FeatureSpace,
    settings: dict[str, Any],
    origin: Origin,
    facts: dict[str, Any],
    final: bool = True,
    calibration: Calibration | None = None,
) -> Selection:
    """Combine a result, its names and its provenance; ``facts`` are the method's part of the provenance.

    Warns if a ``final`` selection is empty: it is a valid answer, but rarely the one that was hoped for.
    """
    if not all(np.isfinite(numbers).all() for numbers in (result.weights, result.errors, result.intercept)):
        raise DataError(
            "the weights grew beyond all numbers. Scale the data or choose a smaller step (eta), and start anew if the "
            "fit was resumed from a checkpoint."
        )
    if final and not len(result.keys):
        log.warning(_nothing_selected(settings))
    selection = Selection(
        names,
        result.keys,
        result.weights,
        result.errors,
        result.counts,
        result.intercept + 0.0,  # no negative zeros
        loss,
        classes,
        space,
        settings,
        {
            "thresher": __version__,
            "data": origin.data,
            "fingerprint": origin.fingerprint,
            **facts,
            **({} if origin.reading is None else {"reading": origin.reading}),
        },
        centres=result.centres,
        scales=result.scales,
    )
    return calibrated(selection, calibration)


def calibrated(selection: Selection, calibration: Calibration | None) -> Selection:
    """The selection with a calibration, and with the intercept at which both classes are equally probable."""
    if calibration is None or calibration.kind != "logistic":
        return replace(selection, calibration=calibration)
    centred, shift = calibration.centred()
    return replace(selection, calibration=centred, intercept=selection.intercept + shift)


def _nothing_selected(settings: Mapping[str, Any]) -> str:
    lam = settings.get("lam")
    advice = f"Lower `lam`, now {lam}, or check" if lam else "Check"
    return (
        "Nothing was selected: no feature has a weight, and every prediction is the intercept alone. "
        f"{advice} that the features vary from row to row."
    )


def one_vs_rest_loss(loss: str, outputs: int, *, multilabel: bool) -> Loss:
    """The loss of a one-vs-rest model."""
    return get_loss(f"rest:{loss}" if outputs > 1 and not multilabel else loss)


class Run(ABC):
    """One fit. Create it, then call `run`; after an interrupt it returns the selection so far.

    Parameters
    ----------
    options : RunOptions
        How to read the data.
    """

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.watch = options.watch
        self.watch.restart()
        self._last_save = time.monotonic()
        #: Whether the callback has ended the fit, and what it raised.
        self.stopped = False
        self.callback_error: Exception | None = None
        #: Why the last attempt to write the checkpoint failed.
        self.unsaved: str | None = None
        #: The amount learned, once the run was released.
        self.released: str | None = None
        if options.checkpoint is not None:
            check_writable(options.checkpoint)

    def release_buffers(self) -> None:
        """Return freed memory to the system before another phase, and limit what is kept for new arrays."""
        _native.release_buffers(self.kept_buffers)

    @property
    def kept_buffers(self) -> int:
        """The most bytes of freed arrays that are kept for new ones."""
        return parse_size(DEFAULT_MEMORY if self.options.memory is None else self.options.memory) // 8

    # ── the skeleton ─────────────────────────────────────────────────────────────────────────────

    def run(self) -> None:
        """Fit to the end. On Ctrl-C, save the checkpoint (if there is one) and re-raise."""
        try:
            for _ in self._steps():
                self._step_done()
        except KeyboardInterrupt:
            self.save()
            raise

    def _step_done(self) -> None:
        self._show_progress()
        if self.options.checkpoint is not None and time.monotonic() - self._last_save >= self.options.every:
            self.save()
        if self.options.callback is not None and not self.stopped and self._has_interim:
            self._call_back(self.options.callback)

    def _call_back(self, callback: Callback) -> None:
        """Show the callback what there is; it may end the fit."""
        counts = self._counts()
        unit = counts.get("unit", "rows")
        interim = Interim(counts["rows"], self._passes_complete, self.watch.seconds, unit, self.interim_selection)
        try:
            self.stopped = callback(interim) is True
        except Exception as error:
            self.callback_error = error
            self.save()  # what is learned is not lost with an error in code of the user
            raise
        if self.stopped:
            log.info("the callback ended the fit after %s", self.amount)

    @property
    def stop_facts(self) -> dict[str, Any]:
        """For the provenance: the amount learned, if the callback ended the fit."""
        return {"stopped": self.amount} if self.stopped else {}

    def _show_progress(self) -> None:
        """Measure the memory and report progress: after every step, and within long ones."""
        self.watch.show(**self._counts())

    def save(self) -> None:
        """Write the checkpoint, if the options name one and there is a state to save.

        A fit of hours must not end because a disk is full for a minute: if the file cannot be written, warn, and try
        again after the same interval.
        """
        if self.released is not None or self.options.checkpoint is None or (snapshot := self._snapshot()) is None:
            return
        try:
            snapshot.save(self.options.checkpoint)
            self.unsaved = None
        except UnwritableError as error:
            self.unsaved = str(error)
            log.warning("%s The fit goes on without a new checkpoint.", error)
        self._last_save = time.monotonic()

    def resume(self) -> None:
        """Continue from the checkpoint, if the options name one and it exists."""
        path = self.options.checkpoint
        if path is None or self.options.restart or not os.path.exists(path):
            return
        saved = Checkpoint.load(path, self._identity())
        try:
            self._restore(saved)
        except (LookupError, ValueError, TypeError, OverflowError) as error:
            raise FileFormatError(f"{os.fspath(path)}: invalid checkpoint ({error}).") from None
        log.info("resumed from %s after %s", os.fspath(path), self.amount)

    # ── what a method provides ───────────────────────────────────────────────────────────────────

    @abstractmethod
    def _steps(self) -> Iterator[None]:
        """Read the data and repeat the loop's step; yield after each one."""

    @abstractmethod
    def _counts(self) -> dict[str, Any]:
        """The fields of `Progress` that the skeleton does not know."""

    @abstractmethod
    def _identity(self) -> dict[str, Any]:
        """The data and settings that a checkpoint must agree with."""

    @abstractmethod
    def _snapshot(self) -> Checkpoint | None:
        """The state to save; None before there is one."""

    @abstractmethod
    def _restore(self, saved: Checkpoint) -> None:
        """Continue from a saved state; LookupError, ValueError, TypeError or OverflowError if it does not fit."""

    @property
    @abstractmethod
    def amount(self) -> str:
        """The amount learned, such as ``1200 rows``."""

    @property
    @abstractmethod
    def usable(self) -> bool:
        """Whether a selection can be built."""

    @abstractmethod
    def selection(self) -> Selection:
        """Build the selection of the features found so far."""

    def release(self) -> None:
        """Give up what was learned, to make room for further fits. The selection is built; nothing more is saved."""
        self.released = self.released or self.amount

    def model(self) -> Selection:
        """The selection for predictions only: names and fingerprint, which take a pass, may be missing."""
        return self.selection()

    def interim_selection(self) -> Selection:
        """The selection so far for a callback, with names; the fit goes on as if it had not been built."""
        return self.model()

    @property
    def _has_interim(self) -> bool:
        """Whether there is something to show to a callback, which may end the fit."""
        return self.usable

    @property
    def _passes_complete(self) -> int:
        """Complete passes over the data, or rounds."""
        return int(self._counts()["passes_done"])

    def watched(self, source: Source, phase: str) -> Source:
        """The source, whose further passes are reported as progress of a phase."""
        from thresher.sources.transforms.watched import Watched

        return Watched(source, self.watch, phase)

    def limited(self, source: Source) -> Source:
        """Other data, read within the memory limits of this fit."""
        return source


def check_readable_again(source: Source, *, needed: bool, why: str) -> None:
    """Raise if the fit must read a source again that can be read only once."""
    if needed and not source.rewindable:
        raise SettingsError(
            f"{source.describe()} can be read only once, but {why} must read it again: pass `cache=True`, or "
            "save it to a file first"
        )
