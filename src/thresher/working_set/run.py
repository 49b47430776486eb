"""Driving the Feature Generating Machine over a source: reading, rounds, checkpoints, validation, progress."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from thresher import _native
from thresher.batch import Batch, Cursor
from thresher.checkpoint import Checkpoint
from thresher.container import check_folder
from thresher.errors import FileFormatError, SettingsError
from thresher.families.family import Family
from thresher.families.stored import StoredColumns
from thresher.families.streamed import StreamedColumns
from thresher.families.structure import Structure
from thresher.losses import get_loss
from thresher.memory import show_size
from thresher.online.run import Progress
from thresher.selection import Selection
from thresher.sources.source import Source
from thresher.working_set.answer import make_selection
from thresher.working_set.fgm import FGMEngine, Found
from thresher.working_set.plan import FGMPlan
from thresher.working_set.reading import Examples, Reader
from thresher.working_set.run_settings import RunSettings
from thresher.working_set.settings import FGMSettings
from thresher.working_set.validation import Validation
from thresher.working_set.watch import Watch

log = logging.getLogger(__name__)


class FGMRun:
    """One fit: made, then `run` to the end or to an interrupt; usable either way once a round is done."""

    def __init__(
        self, source: Source, settings: FGMSettings, how: RunSettings, family: str | Structure = "linear"
    ) -> None:
        if isinstance(family, Structure):
            family.check(source.space.size, settings)
        elif family != "linear":
            raise SettingsError(f'family is "linear", thresher.Groups or thresher.Tree, not {family!r}')
        elif source.space.size is not None and settings.k > source.space.size and not how.lenient:
            raise SettingsError(f"k = {settings.k} of {source.space.size} columns: ask for no more than there are")
        self.settings = settings
        self.how = how
        self.team = _native.Team(how.threads)
        self.engine: FGMEngine | None = None
        self.examples: Examples | None = None
        self.validation = None if how.validation is None else Validation(how.validation, how.patience)
        self._structure = None if isinstance(family, str) else family
        self.plan = FGMPlan.of(settings, how.memory)
        if source.total_rows is not None:
            self.plan.check(source.total_rows)
        self.source = source.limited(self.plan.limits)
        self._complete: dict[str, Any] | None = None  # the engine's state after the last whole iteration
        self._saved = time.monotonic()
        self._watch = Watch(source, -(-settings.k // settings.proposed(1)))
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
                self._check_selected()
                self._validate()
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
        return 0 if self.engine is None else self.engine.loop.rounds

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
        if self.validation is None:
            return self.engine.path
        # An interrupt may have come between an iteration and its score.
        return [
            {**entry, "score": score} for entry, score in zip(self.engine.path, self.validation.scores, strict=False)
        ]

    # ── on the way ───────────────────────────────────────────────────────────────────────────────

    def _prepare(self) -> None:
        if self.engine is not None:
            return
        reader = Reader(
            self.source,
            get_loss(self.settings.loss),
            self.team,
            multilabel=self.how.multilabel,
            room=self.plan.columns if self.plan.memory else None,
            batch_rows=self.how.batch_rows,
            tell=self._seen,
        )
        self.examples = examples = reader.read(self.how.class_weight)
        self.plan = FGMPlan.of(self.settings, self.how.memory, len(examples.y))
        self.plan.check(examples.rows)
        self.engine = FGMEngine(self._family(examples), self.settings, examples.y, examples.weight, self.team)
        if self.how.checkpoint is not None and os.path.exists(self.how.checkpoint) and not self.how.restart:
            self._resume(self.how.checkpoint)

    def _family(self, examples: Examples) -> Family:
        power = self.settings.power
        if examples.store is not None:
            stored = StoredColumns(
                examples.store, self.team, power=power, total=float(examples.weight.sum()), source=self.source
            )
            return stored if self._structure is None else self._structure.over(stored)
        if self._structure is not None:
            raise SettingsError(
                f"groups and trees need their columns in memory, and these take more than the "
                f"{show_size(self.plan.columns(examples.rows))} that memory = {show_size(self.plan.memory)} leaves: "
                "give more memory"
            )
        return StreamedColumns(
            self.source,
            examples.rows,
            memory=self.plan.columns(examples.rows),
            power=power,
            weights=examples.weight,
            batch_rows=self.how.batch_rows,
            tell=lambda batch: self._watch.at(self.rounds),
        )

    def _check_selected(self) -> None:
        assert self.engine is not None
        self.plan.check_selected(self.engine.targets.shape[1], self.engine.bytes)

    def _enough(self) -> bool:
        return self.validation is not None and self.validation.enough

    def _validate(self) -> None:
        if self.validation is not None:
            assert self.engine is not None
            found = self.engine.found()
            self.validation.take(found, self._selection(found, told=False))

    def _selection(self, found: Found, *, told: bool = True) -> Selection:
        """With its names and where it came from, or only to predict with."""
        assert self.engine is not None
        assert self.examples is not None
        engine = self.engine
        plan = self.plan.to_dict(self.examples.rows, engine.family.bytes, engine.bytes)
        fingerprint = told and not self.how.lenient
        return make_selection(found, engine, self.examples, self.source, plan, named=told, fingerprint=fingerprint)

    def _state(self) -> dict[str, Any]:
        assert self.engine is not None
        return {**self.engine.state(), **({} if self.validation is None else self.validation.state())}

    def _seen(self, batch: Batch, cursor: Cursor) -> None:
        self._watch.seen(batch, cursor)
        self.plan.check(self._watch.rows)  # of one output at least; of all of them once they are known

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
            "method": "fgm",
            **self.settings.to_dict(),
            "family": "linear" if self._structure is None else self._structure.fingerprint(),
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
        log.info("resumed from %s after %d iterations", os.fspath(path), self.engine.loop.rounds)
