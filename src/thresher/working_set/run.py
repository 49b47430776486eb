"""Driving a working-set method over a source: reading, rounds, checkpoints, validation, progress."""

from __future__ import annotations

import logging
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.checkpoint import Checkpoint
from thresher.core.container import check_folder
from thresher.core.losses import get_loss
from thresher.core.progress import Progress
from thresher.errors import FileFormatError, SettingsError
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.working_set.dataset import Examples, Reader
from thresher.working_set.result import Found
from thresher.working_set.run_settings import RunSettings
from thresher.working_set.validation import Validation
from thresher.working_set.watch import Watch

log = logging.getLogger(__name__)


class Engine(Protocol):
    """What a run drives: a method's loop, a round a `step`."""

    #: What each round came to.
    path: list[dict[str, float]]

    @property
    def rounds(self) -> int:
        """How many are done."""

    def step(self) -> bool:
        """One round; False at the end."""

    def found(self) -> Found:
        """The features so far."""

    def state(self) -> dict[str, Any]:
        """All that going on needs, as arrays; the data is read again."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where the engine that gave ``state`` stood; KeyError or ValueError unless it fits."""


E = TypeVar("E", bound=Engine)


class WorkingSetRun(ABC, Generic[E]):
    """One fit: made, then `run` to the end or to an interrupt; usable either way once a round is done.

    A subclass says how its engine is made of the examples, and how its answer is made of what that found.
    """

    def __init__(self, source: Source, settings: Any, how: RunSettings, expected: int) -> None:
        self.source = source
        self.settings = settings
        self.how = how
        self.team = _native.Team(how.threads)
        self.engine: E | None = None
        self.examples: Examples | None = None
        self.validation = None if how.validation is None else Validation(how.validation, how.patience)
        self._complete: dict[str, Any] | None = None  # the engine's state after the last whole iteration
        self._saved = time.monotonic()
        self._watch = Watch(source, expected)
        if how.checkpoint is not None:
            check_folder(how.checkpoint)
        if not source.rewindable and (how.checkpoint is not None or not source.space.invertible):
            raise SettingsError(
                f"{source.describe()} can be read once: for a checkpoint, or for names that are read at the end, save "
                "it to a file first"
            )

    def run(self, progress: Callable[[Progress], None] | None = None) -> None:
        """Read, then go round until the end. Ctrl-C saves the checkpoint, if there is one, and comes out again."""
        self._watch.tell = progress or self._watch.tell
        self._prepare()
        assert self.engine is not None
        try:
            while not self._enough() and self.engine.step():
                self._check_round()
                self._validate()
                if self.how.checkpoint is not None:
                    self._complete = self._state()
                self._watch.at(self.rounds)
                if time.monotonic() - self._saved >= self.how.every:
                    self.save()
        except KeyboardInterrupt:
            self.save()
            raise

    @property
    def rounds(self) -> int:
        """Iterations done."""
        return 0 if self.engine is None else self.engine.rounds

    @property
    def usable(self) -> bool:
        """Whether there is something to select from."""
        return self.rounds > 0

    def selection(self) -> Selection:
        """What was found: the best by the validation's score, where there is one."""
        assert self.engine is not None
        best = None if self.validation is None else self.validation.best
        found = self._selection(best or self.engine.found())
        found.provenance["path"] = self.path
        return found

    @property
    def path(self) -> list[dict[str, float]]:
        """What each iteration came to."""
        assert self.engine is not None
        return self.engine.path if self.validation is None else self.validation.scored(self.engine.path)

    # ── what a method says ───────────────────────────────────────────────────────────────────────

    #: Whether the examples are to be kept as rows rather than as columns.
    _wants_rows = False

    @abstractmethod
    def _make_engine(self, examples: Examples) -> E:
        """The engine for these examples, if they and their problems fit into the memory."""

    @abstractmethod
    def _selection(self, found: Found, *, told: bool = True) -> Selection:
        """With its names and where it came from, or only to predict with."""

    @abstractmethod
    def _method(self) -> dict[str, Any]:
        """What a checkpoint must agree in, besides data and settings."""

    def _room(self) -> Callable[[int], int] | None:
        """Bytes that the features of so many rows may take; None: any."""
        return None

    def _check_rows(self, rows: int) -> None:
        """Raise where so many rows do not fit."""

    def _check_round(self) -> None:
        """Raise where what a round came to does not fit."""

    def _scored(self) -> bool:
        """Whether the validation is to score what the last round came to."""
        return True

    # ── on the way ───────────────────────────────────────────────────────────────────────────────

    def _prepare(self) -> None:
        if self.engine is not None:
            return
        reader = Reader(
            self.source,
            get_loss(self.settings.loss),
            self.team,
            multilabel=self.how.multilabel,
            room=self._room(),
            batch_rows=self.how.batch_rows,
            on_batch=self._seen,
            keep_rows=self._wants_rows,
        )
        self.examples = examples = reader.read(self.how.class_weight)
        self.engine = self._make_engine(examples)
        if self.how.checkpoint is not None and os.path.exists(self.how.checkpoint) and not self.how.restart:
            self._resume(self.how.checkpoint)

    def _seen(self, batch: Batch, cursor: Cursor) -> None:
        self._watch.seen(batch, cursor)
        self._check_rows(self._watch.rows)

    def _enough(self) -> bool:
        return self.validation is not None and self.validation.enough

    def _validate(self) -> None:
        if self.validation is not None and self._scored():
            assert self.engine is not None
            found = self.engine.found()
            self.validation.take(self.rounds, found, self._selection(found, told=False))

    def _state(self) -> dict[str, Any]:
        assert self.engine is not None
        return {**self.engine.state(), **({} if self.validation is None else self.validation.state())}

    def save(self) -> None:
        """Write the checkpoint, if one was asked for: as it was after the last whole iteration."""
        if self.how.checkpoint is None or self.examples is None or self._complete is None:
            return
        Checkpoint(
            identity=self._identity(),
            passes_done=int(self._complete["rounds"][0]),
            cursor=Cursor(),
            labels=list(self.examples.classes or []),
            engine=self._complete,
        ).save(self.how.checkpoint)
        self._saved = time.monotonic()

    def _identity(self) -> dict[str, Any]:
        weights = self.how.class_weight
        return {
            "data": self.source.fingerprint(),
            **self._method(),
            **self.settings.to_dict(),
            "class_weight": sorted(map(str, weights.items())) if isinstance(weights, Mapping) else weights,
            "validation": None if self.how.validation is None else self.how.validation.fingerprint(),
        }

    def _resume(self, path: str | os.PathLike[str]) -> None:
        assert self.engine is not None
        saved = Checkpoint.load(path, self._identity())
        try:
            self.engine.restore(saved.engine)
            if self.validation is not None:
                self.validation.restore(saved.engine)
            self._complete = saved.engine
        except (KeyError, ValueError, IndexError) as error:
            raise FileFormatError(f"{os.fspath(path)}: not a checkpoint in order ({error}).") from None
        log.info("resumed from %s after %d iterations", os.fspath(path), self.engine.rounds)
