"""Driving the Feature Generating Machine over a source: reading, rounds, checkpoints, validation, progress."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher import _native
from thresher.batch import Batch, Cursor
from thresher.checkpoint import Checkpoint
from thresher.container import check_folder
from thresher.errors import FileFormatError, SettingsError
from thresher.families.blocked import ColumnBlocks
from thresher.families.family import Family
from thresher.families.named import structure_of
from thresher.families.stored import StoredColumns
from thresher.families.streamed import StreamedColumns
from thresher.families.structure import Structure
from thresher.losses import get_loss
from thresher.memory import parse_size, resident, show_size
from thresher.online.run import Progress
from thresher.selection import Selection, evaluate
from thresher.sources.source import DEFAULT_ROWS, Source
from thresher.working_set.answer import make_selection
from thresher.working_set.fgm import FGMEngine
from thresher.working_set.reading import Examples, Reader
from thresher.working_set.settings import FGMSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How the data is gone through; nothing here but ``validation`` changes the answer.

    Parameters
    ----------
    memory : str or int, optional
        What the columns may take; where they take more, every analysis is a pass over the data. None: no limit.
    threads : int
        0: as many as there are cores.
    validation : Source, optional
        Scored after every iteration: the best one is the answer.
    patience : int
        End after so many iterations without a better score.
    checkpoint, restart
        Written after every iteration that ends ``every`` seconds after the last, and resumed from.
    """

    memory: str | int | None = None
    threads: int = 0
    multilabel: bool = False
    class_weight: Mapping[Any, float] | str | None = None
    validation: Source | None = None
    patience: int = 3
    checkpoint: str | os.PathLike[str] | None = None
    every: float = 30.0
    restart: bool = False
    batch_rows: int = DEFAULT_ROWS
    #: As estimators want it: a k above the number of columns means all of them, and the data is not fingerprinted.
    lenient: bool = False


class FGMRun:
    """One fit: made, then `run` to the end or to an interrupt; usable either way once a round is done."""

    def __init__(
        self, source: Source, settings: FGMSettings, how: RunSettings, family: str | Structure = "linear"
    ) -> None:
        structure = structure_of(family)
        if structure is not None:
            structure = structure.at(source.space)
            structure.check(source.space.size, settings)
        elif source.space.size is not None and settings.k > source.space.size and not how.lenient:
            raise SettingsError(f"k = {settings.k} of {source.space.size} columns: ask for no more than there are")
        self.source = source
        self.settings = settings
        self.how = how
        self.team = _native.Team(how.threads)
        self.engine: FGMEngine | None = None
        self.examples: Examples | None = None
        self.best: Selection | None = None
        self._structure = structure
        self._best_score = -np.inf
        self._since_best = 0
        self._scores: list[float] = []
        self._progress: Callable[[Progress], None] = lambda progress: None
        self._memory = None if how.memory is None else parse_size(how.memory)
        self._read_rows = self._features = self._read = 0
        self._complete: dict[str, Any] | None = None  # the engine's state after the last whole iteration
        self._started = self._saved = time.monotonic()
        self._resident = self._most_resident = resident()
        if how.checkpoint is not None:
            check_folder(how.checkpoint)
        if not source.rewindable and (how.checkpoint is not None or not source.space.invertible):
            raise SettingsError(
                f"{source.describe()} can be read once: for a checkpoint, or for names that are read at the end, save "
                "it to a file first"
            )

    def run(self, progress: Callable[[Progress], None] | None = None) -> None:
        """Read, then go round until the end. Ctrl-C saves the checkpoint, if there is one, and comes out again."""
        self._progress = progress or self._progress
        self._prepare()
        assert self.engine is not None
        try:
            while not self._enough() and self.engine.step():
                self._complete = self.engine.state()
                self._validate()
                self._tell()
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
        found = self.best if self.best is not None else self._selection()
        found.provenance["path"] = self.path
        if looked_at := self.engine.family.report():
            found.provenance["search"] = looked_at
        return found

    @property
    def path(self) -> list[dict[str, float]]:
        """What each iteration came to."""
        assert self.engine is not None
        if not self._scores:
            return self.engine.path
        return [{**entry, "score": score} for entry, score in zip(self.engine.path, self._scores, strict=True)]

    # ── on the way ───────────────────────────────────────────────────────────────────────────────

    def _prepare(self) -> None:
        if self.engine is not None:
            return
        reader = Reader(
            self.source,
            get_loss(self.settings.loss),
            self.team,
            multilabel=self.how.multilabel,
            memory=None if self._memory is None else self._memory // 2,
            batch_rows=self.how.batch_rows,
            tell=self._seen,
        )
        self.examples = examples = reader.read(self.how.class_weight)
        self._check_memory(examples)
        self.engine = FGMEngine(self._family(examples), self.settings, examples.y, examples.weight, self.team)
        if self.how.checkpoint is not None and os.path.exists(self.how.checkpoint) and not self.how.restart:
            self._resume(self.how.checkpoint)

    def _family(self, examples: Examples) -> Family:
        unit = self.settings.scale == "norm"
        if examples.store is not None:
            total = float(examples.weight.sum())
            stored = StoredColumns(examples.store, self.team, unit=unit, total=total, weights=examples.weight)
            return stored if self._structure is None else self._structure.over(stored)
        assert self._memory is not None
        if self._structure is not None:
            return self._structure.streamed(self._blocks(examples))
        return StreamedColumns(
            self.source,
            examples.rows,
            memory=self._memory // 2,
            unit=unit,
            weights=examples.weight,
            batch_rows=self.how.batch_rows,
            tell=lambda batch: self._tell(),
        )

    def _blocks(self, examples: Examples) -> ColumnBlocks:
        assert self._memory is not None
        return ColumnBlocks(
            self.source,
            self._features,
            self.team,
            memory=self._memory // 2,
            unit=self.settings.scale == "norm",
            weights=examples.weight,
            batch_rows=self.how.batch_rows,
            tell=lambda batch: self._tell(),
        )

    def _check_memory(self, examples: Examples) -> None:
        """The part that goes with the rows: residuals, and the solver's products of every block."""
        if self._memory is None:
            return
        outputs = len(examples.y)
        blocks = -(-self.settings.k // self.settings.proposed(outputs))
        needed = examples.rows * outputs * (40 + 24 * blocks)
        if needed > self._memory // 2:
            raise SettingsError(
                f"{examples.rows} rows and {blocks} blocks take {show_size(needed)} besides the columns: give about "
                f"{show_size(2 * needed)} of memory, or propose more features at a time (B)"
            )

    def _enough(self) -> bool:
        return self.how.validation is not None and self._since_best > self.how.patience

    def _validate(self) -> None:
        if self.how.validation is None:
            return
        found = self._selection()
        scores = evaluate(found, self.how.validation)
        score = float(scores.get("accuracy", scores.get("r2", scores.get("micro_f1", -np.inf))))
        self._scores.append(score)
        self._since_best += 1
        if score > self._best_score:
            self.best, self._best_score, self._since_best = found, score, 0

    def _selection(self) -> Selection:
        assert self.engine is not None
        assert self.examples is not None
        return make_selection(self.engine, self.examples, self.source, self.plan(), fingerprint=not self.how.lenient)

    def plan(self) -> dict[str, int]:
        """Where the memory goes, in bytes."""
        assert self.engine is not None
        rows, outputs = self.engine.targets.shape[1], len(self.engine.targets)
        blocks = sum(len(problem.blocks) for problem in self.engine.problems)
        parts = {
            "memory": self._memory or 0,
            "columns": self.engine.family.bytes,
            "rows": 8 * rows * (1 + 4 * outputs),
            "products": 24 * rows * blocks,
        }
        return {**parts, "total": sum(parts.values()) - parts["memory"]}

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
        }

    def _resume(self, path: str | os.PathLike[str]) -> None:
        assert self.engine is not None
        saved = Checkpoint.load(path, self._identity())
        if self.how.validation is not None:
            raise SettingsError("a run with validation cannot be resumed: pass restart=True (--restart)")
        try:
            self.engine.restore(saved.engine)
            self._complete = saved.engine
        except (KeyError, ValueError, IndexError) as error:
            raise FileFormatError(f"{os.fspath(path)}: not a checkpoint in order ({error}).") from None
        log.info("resumed from %s after %d iterations", os.fspath(path), self.engine.loop.rounds)

    # ── progress ─────────────────────────────────────────────────────────────────────────────────

    def _seen(self, batch: Batch, cursor: Cursor) -> None:
        self._read_rows += len(batch)
        self._features += batch.nnz
        self._read = cursor.read
        self._tell()

    def _tell(self) -> None:
        self._most_resident = max(self._most_resident, resident())
        rounds = self.rounds
        expected = max(rounds, -(-self.settings.k // self.settings.proposed(1)))
        reading = self.engine is None
        self._progress(
            Progress(
                rows=self._read_rows,
                features=self._features,
                passes=expected + 1,
                passes_done=0 if reading else rounds + 1,
                read=self._read if reading else 0,
                total_bytes=self.source.total_bytes,
                rows_in_pass=self._read_rows if reading else 0,
                total_rows=self.source.total_rows,
                seconds=time.monotonic() - self._started,
                grown=self._most_resident - self._resident,
            )
        )
