"""A fit of a working-set method: reading, iterations, validation and checkpoints around the engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import Products
from thresher.core.losses import Loss, get_loss
from thresher.core.storage.checkpoint import Checkpoint
from thresher.run import Run, RunOptions, calibrated, check_readable_again
from thresher.selection.calibration import Calibration
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.working_set.calibration import calibration_by_refit, calibration_on
from thresher.working_set.dataset import Examples, Reader
from thresher.working_set.result import Found
from thresher.working_set.validation import Validation


class Engine(Protocol):
    """The loop of a method; each `step` is one round (an iteration)."""

    @property
    def path(self) -> list[dict[str, float]]:
        """The features, objective and bound after each round."""

    @property
    def rounds(self) -> int:
        """Rounds done."""

    def step(self) -> bool:
        """Do one round; False at the end."""

    def found(self) -> Found:
        """The features found so far."""

    def held_out_margins(self, held: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Fit the features of the last `found` without the rows of a mask; their margins, outputs x rows."""

    def state(self) -> dict[str, Any]:
        """The state as arrays, without the data."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state; KeyError or ValueError if it does not fit."""


E = TypeVar("E", bound=Engine)


class WorkingSetRun(Run, Generic[E]):
    """One fit of a working-set method; usable after its first round.

    A subclass creates the engine from the examples, and the selection from the features found.

    Parameters
    ----------
    expected_rounds : int
        The number of rounds if the fit does not stop early, for the progress display.
    """

    def __init__(self, source: Source, settings: Any, options: RunOptions, expected_rounds: int) -> None:
        super().__init__(options)
        self.source = source
        self.settings = settings
        self.pool = _native.ThreadPool(options.threads)
        self.engine: E | None = None
        self.examples: Examples | None = None
        self.validation = None
        if options.validation is not None:
            self.validation = Validation(self.watched(options.validation, "validating"), options.patience)
        self._calibrated_before: Calibration | None = None  # by the fits that chose settings
        self._complete: dict[str, Any] | None = None  # the state after the last complete round
        self._expected_rounds = expected_rounds
        self._rows = self._features = self._read = 0
        self.release_buffers()
        again = options.checkpoint is not None or not source.space.invertible
        check_readable_again(source, needed=again, why="a checkpoint and the names of features")

    # ── the loop ─────────────────────────────────────────────────────────────────────────────────

    def _steps(self) -> Iterator[None]:
        self._prepare()
        assert self.engine is not None
        while not self.stopped and not self._enough() and self.engine.step():
            self._check_round()
            self._validate()
            if self.options.checkpoint is not None:
                self._complete = self._state()
            yield

    def _prepare(self) -> None:
        """Read the data and create the engine."""
        if self.engine is not None:
            return
        reader = self._make_reader(get_loss(self.settings.loss))
        self.examples = examples = reader.read(self.options.class_weight)
        self.release_buffers()  # batches, and columns that did not fit, would add to the memory of the rounds
        self.engine = self._make_engine(examples)
        self.resume()

    def _make_reader(self, loss: Loss) -> Reader:
        return Reader(
            self.source,
            loss,
            self.pool,
            self.watch,
            multilabel=self.options.multilabel,
            may_be_numbers=self.options.may_be_numbers,
            room=self._room(),
            batch_rows=self.options.batch_rows,
            on_batch=self._batch_read,
            keep_rows=self._wants_rows,
            want_parts=self._wants_parts(loss),
        )

    def _batch_read(self, batch: Batch, cursor: Cursor) -> None:
        self._rows += len(batch)
        self._features += batch.nnz
        self._read = cursor.read
        self._show_progress()
        self._check_rows(self._rows)

    def _enough(self) -> bool:
        return self.validation is not None and self.validation.enough

    def _validate(self) -> None:
        if self.validation is not None and self._scored():
            assert self.engine is not None
            found = self.engine.found()
            self.validation.take(self.rounds, found, self._selection(found, final=False))

    # ── what a method provides ───────────────────────────────────────────────────────────────────

    #: Whether the examples are kept as rows rather than as columns.
    _wants_rows = False

    @abstractmethod
    def _make_engine(self, examples: Examples) -> E:
        """Create the engine; raise if the examples and their problems do not fit into memory."""

    @abstractmethod
    def _selection(self, found: Found, *, final: bool = True) -> Selection:
        """The selection; if not ``final``, only for prediction, without names and fingerprint."""

    @abstractmethod
    def _names_of(self, keys: NDArray[np.uint64]) -> list[str]:
        """The names of features, which may be read from the data."""

    @abstractmethod
    def _method_identity(self) -> dict[str, Any]:
        """The values that a checkpoint must agree with, besides data and settings."""

    def _room(self) -> Callable[[int], int] | None:
        """The bytes allowed for the features of a number of rows; None: no limit."""
        return None

    def _check_rows(self, rows: int) -> None:
        """Raise if this number of rows does not fit into memory."""

    def _check_round(self) -> None:
        """Raise if the result of a round does not fit into memory."""

    def _wants_parts(self, loss: Loss) -> bool:
        """Whether the rows are assigned to tenths, some of which are held out."""
        return self.options.calibrate and self.validation is None and loss.task != "real"

    def _scored(self) -> bool:
        """Whether the validation scores the last round."""
        return True

    # ── checkpoints, progress and the result ─────────────────────────────────────────────────────

    @property
    def rounds(self) -> int:
        """Rounds done."""
        return 0 if self.engine is None else self.engine.rounds

    @property
    def amount(self) -> str:
        return f"{self.rounds} iterations"

    @property
    def usable(self) -> bool:
        return self.rounds > 0

    def selection(self) -> Selection:
        """Build the selection; with validation data, that of the round with the best score."""
        assert self.engine is not None
        best = None if self.validation is None else self.validation.best
        if best is None:
            self.watch.show(phase="refitting the selected features")
        found = self._selection(best or self.engine.found())
        found.provenance.update(path=self.path, **self.stop_facts)
        return calibrated(found, self._calibration(found))

    def release(self) -> None:
        super().release()
        self.engine = self.examples = self._complete = None

    def model(self) -> Selection:
        assert self.engine is not None
        return self._selection(self.engine.found(), final=False)

    def interim_selection(self) -> Selection:
        assert self.engine is not None
        found = self.engine.found()
        shown = self._selection(found, final=False)
        shown.provenance["path"] = list(self.path)
        return replace(shown, names=self._names_of(found.keys))

    @property
    def _passes_complete(self) -> int:
        return self.rounds

    def _calibration(self, selection: Selection) -> Calibration | None:
        """The calibration of a selection: on the validation data, or by a further fit without some rows."""
        if selection.classes is None or not self.options.calibrate or not len(selection):
            return None
        if self.validation is not None:
            return calibration_on(selection, self.validation.source)
        if self._calibrated_before is not None:
            return self._calibrated_before
        assert self.examples is not None
        assert self.engine is not None
        if self.examples.parts is None or not self._may_refit():
            return None
        self.watch.show(phase="calibrating probabilities")
        examples, refit = self.examples, self.engine.held_out_margins
        return calibration_by_refit(selection.loss, self.examples.parts, examples.y, examples.weight, refit)

    def _may_refit(self) -> bool:
        """Whether the memory allows a further fit of the selected features."""
        return True

    @property
    def path(self) -> list[dict[str, float]]:
        """The features, objective, bound and validation score after each round."""
        assert self.engine is not None
        return self.engine.path if self.validation is None else self.validation.scored(self.engine.path)

    def _counts(self) -> dict[str, Any]:
        reading = self.engine is None
        return {
            "rows": self._rows,
            "features": self._features,
            # The data is read in one pass, and each round counts as one more.
            "passes": max(self.rounds, self._expected_rounds) + 1,
            "passes_done": 0 if reading else self.rounds + 1,
            "read": self._read if reading else 0,
            "total_bytes": self.source.total_bytes,
            "rows_in_pass": self._rows if reading else 0,
            "total_rows": self.source.total_rows,
        }

    def _state(self) -> dict[str, Any]:
        assert self.engine is not None
        return {**self.engine.state(), **({} if self.validation is None else self.validation.state())}

    def _snapshot(self) -> Checkpoint | None:
        """The state after the last complete round."""
        if self.examples is None or self._complete is None:
            return None
        return Checkpoint(
            identity=self._identity(),
            passes_done=int(self._complete["rounds"][0]),
            cursor=Cursor(),
            labels=list(self.examples.classes or []),
            engine=self._complete,
        )

    def _restore(self, saved: Checkpoint) -> None:
        assert self.engine is not None
        self.engine.restore(saved.engine)
        if self.validation is not None:
            self.validation.restore(saved.engine)
        self._complete = saved.engine

    def _identity(self) -> dict[str, Any]:
        validation = self.options.validation
        return {
            "data": self.source.fingerprint(),
            **self._method_identity(),
            **self.settings.to_dict(),
            "class_weight": self.options.class_weight_identity(),
            "validation": None if validation is None else validation.fingerprint(),
        }


def with_interactions(source: Source, options: RunOptions) -> Source:
    """Add the products of features that the options request."""
    products = Products.of(options.interactions)
    if products is None:
        return source
    from thresher.sources.transforms.interactions import Interactions

    return Interactions.over(source, products)
