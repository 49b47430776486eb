"""Driving an online engine over a source: passes, shuffling, checkpoints, progress."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from thresher.core.auc_histogram import AucHistogram
from thresher.core.batch import Batch, Cursor
from thresher.core.checkpoint import Checkpoint
from thresher.core.container import check_folder
from thresher.core.labels import Label, Targets
from thresher.core.losses import get_loss
from thresher.core.memory import resident
from thresher.core.progress import Progress
from thresher.errors import DataError, FileFormatError, SettingsError
from thresher.online.engine import OnlineEngine
from thresher.online.intercept_refit import add_margins, best_offset
from thresher.online.label_order import LabelOrder
from thresher.online.memory_plan import Plan
from thresher.online.settings import OnlineSettings
from thresher.online.tuning import Race, engine_from_state, make_engine
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.registry import is_file_source
from thresher.sources.transforms.prefetch import ReadAhead

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How the data is gone through.

    ``checkpoint`` is written every ``every`` seconds and when the run is interrupted, and resumed
    from if it is there (unless ``restart``). ``batch_rows`` never changes the answer. ``refit_intercept``: at the end
    the data is gone through once more, for the intercept.
    """

    passes: int = 1
    shuffle: bool = True
    seed: int = 0
    checkpoint: str | os.PathLike[str] | None = None
    every: float = 30.0
    restart: bool = False
    batch_rows: int = DEFAULT_ROWS
    refit_intercept: bool = False

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise SettingsError(f"passes is the number of times to go through the data: at least 1, not {self.passes}")


class OnlineRun:
    """One fit: made, then `run` to the end or to an interrupt; usable either way."""

    def __init__(
        self,
        source: Source,
        settings: OnlineSettings,
        run: RunSettings,
        plan: Plan,
        classes: list[Label] | None = None,
        *,
        engine: OnlineEngine | Race | None = None,
    ) -> None:
        self.source = source.limited(plan.limits)
        self.settings = settings
        self.how = run
        self.plan = plan
        self.engine = make_engine(settings) if engine is None else engine
        self.targets = Targets(get_loss(settings.loss), classes, multilabel=settings.multilabel)
        self.passes_done = 0
        self.offset = 0.0  # what to add to all margins
        self.cursor = Cursor()
        self.skipped = 0
        self._skips: dict[str, int] = {}
        self._files = self.source.files()
        self._order = LabelOrder(get_loss(settings.loss).task != "real" and not settings.multilabel)
        self._rows_at_cursor = self.engine.rows
        self._features = 0
        self._started = self._saved = time.monotonic()
        self._resident = self._most_resident = resident()
        if run.checkpoint is not None:
            check_folder(run.checkpoint)
        if not source.rewindable and (run.passes > 1 or run.checkpoint is not None):
            raise SettingsError(
                f"{source.describe()} can be read once: for several passes or a checkpoint pass cache=True (--cache), "
                "or save it to a file first"
            )
        self.source.prepare()
        if run.checkpoint is not None and os.path.exists(run.checkpoint) and not run.restart:
            self._resume(run.checkpoint)

    def run(self, progress: Callable[[Progress], None] | None = None) -> None:
        """Learn until the end. Ctrl-C saves the checkpoint, if there is one, and comes out again."""
        try:
            while self.passes_done < self.how.passes:
                for batch, cursor in self._batches():
                    self._learn(batch, cursor)
                    if progress is not None:
                        progress(self.progress())
                    if self.how.checkpoint is not None and time.monotonic() - self._saved >= self.how.every:
                        self.save()
                self._end_pass()
            if self.how.refit_intercept:
                self.offset = self._best_offset()
        except KeyboardInterrupt:
            self.save()
            raise

    def feed(self) -> None:
        """Learn from the rows as one stretch of a longer stream: no end of a pass, the last mini-batch may wait."""
        for batch, cursor in self._batches():
            self._learn(batch, cursor)

    def save(self) -> None:
        """Write the checkpoint, if one was asked for."""
        if self.how.checkpoint is None:
            return
        # An interrupt may have come between two rows of a batch: the rows learned since the cursor are passed over.
        learned = self.engine.rows - self._rows_at_cursor
        Checkpoint(
            identity=self._identity(),
            passes_done=self.passes_done,
            cursor=replace(self.cursor, skip=self.cursor.skip + learned),
            labels=self.targets.seen,
            engine=self.engine.state(),
            skips=self.skipped_files,
        ).save(self.how.checkpoint)
        self._saved = time.monotonic()

    def progress(self) -> Progress:
        """How far it has come."""
        part = min(self.cursor.part, max(0, len(self._files) - 1))
        return Progress(
            rows=self.engine.rows,
            features=self._features,
            passes=self.how.passes,
            passes_done=self.passes_done,
            read=self.cursor.read,
            total_bytes=self.source.total_bytes,
            rows_in_pass=self.cursor.row,
            total_rows=self.source.total_rows,
            seconds=time.monotonic() - self._started,
            grown=self._most_resident - self._resident,
            file=self._files[part] if self._files else None,
            file_number=part + 1,
            files=len(self._files),
        )

    @property
    def skipped_files(self) -> dict[str, int]:
        """The bad lines passed over in each file that had some, in their order."""
        found = {**self._skips, **self.source.skipped_files()}
        return {name: found[name] for name in sorted(found)}

    def _batches(self) -> Iterator[tuple[Batch, Cursor]]:
        self._reading = source = self._source_of_pass()
        return source.batches(
            self.how.batch_rows,
            start=self.cursor,
            want_names=not source.space.invertible,
        )

    def _best_offset(self) -> float:
        """The offset that suits the rows best, with the weights as they are."""
        found = AucHistogram()
        source = ReadAhead(self.source) if is_file_source(self.source) else self.source
        for batch, _ in source.batches(self.how.batch_rows, keys=np.sort(self.engine.selected().keys)):
            y = self.targets.encode(batch, lambda row: source.describe())
            add_margins(found, self.engine.margins(batch), y, batch.weight)
        return best_offset(get_loss(self.settings.loss), found)

    def _source_of_pass(self) -> Source:
        source = self.source
        if self.how.shuffle:
            # Each pass in an order of its own, which follows from the seed and the number of the pass.
            seed = self.how.seed * 1_000_003 + self.passes_done
            features = self.plan.shuffle_features(not source.space.invertible)
            source = source.shuffled(seed, rows=self.plan.shuffle_rows, features=features)
        # A shuffled batch holds on to its whole buffer: one waiting is enough.
        # A pipe is not read ahead: nothing could call a thread back that waits for an idle one.
        if not (is_file_source(source) and source.rewindable):
            return source
        return ReadAhead(source, depth=1 if self.how.shuffle else 2)

    def _learn(self, batch: Batch, cursor: Cursor) -> None:
        def where(row: int) -> str:
            return self._reading.where(cursor, batch, row)

        targets = self.targets.encode(batch, where)
        self._order.add(targets)
        try:
            self.engine.step(replace(batch, y=targets))
        except DataError as error:
            if len(error.args) == 2:  # the engine says which row; only the source knows where that is
                raise DataError(f"{where(error.args[1])}: {error.args[0]}") from None
            raise
        self.cursor = cursor
        self._rows_at_cursor = self.engine.rows
        self._features += batch.nnz
        self._most_resident = max(self._most_resident, resident())

    def _end_pass(self) -> None:
        self.engine.flush()
        if self.engine.rows == 0:
            raise DataError(f"{self.source.describe()}: there is no row to learn from.")
        if self.passes_done == 0:
            self.targets.check_complete()
            if self._order.sorted:
                log.warning(
                    "%s: rows of the same class come in long runs, and what comes last is remembered best. Mix the "
                    "lines first (as `shuf` does), go through the data several times, or give more memory to mix in.",
                    self.source.describe(),
                )
            self.skipped = self.cursor.skipped
            if self.skipped:
                log.warning("%s: %d bad lines were skipped", self.source.describe(), self.skipped)
        self.passes_done += 1
        self.cursor = Cursor()

    def _identity(self) -> dict[str, object]:
        return {
            "data": self.source.fingerprint(),
            **self.settings.to_dict(),
            "memory": self.plan.memory,
            "passes": self.how.passes,
            "shuffle": self.how.shuffle,
            "seed": self.how.seed,
        }

    def _resume(self, path: str | os.PathLike[str]) -> None:
        saved = Checkpoint.load(path, self._identity())
        try:
            self.engine = engine_from_state(self.settings, saved.engine)
        except (KeyError, ValueError) as error:
            raise FileFormatError(f"{os.fspath(path)}: not a checkpoint in order ({error}).") from None
        self.targets = Targets(self.targets.loss, saved.labels, multilabel=self.settings.multilabel)
        self.passes_done = saved.passes_done
        self._skips = saved.skips
        self.cursor = saved.cursor
        self._rows_at_cursor = self.engine.rows
        log.info("resumed from %s after %d rows", os.fspath(path), self.engine.rows)
