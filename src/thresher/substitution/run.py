"""Driving a method over features that arrive: labels, memory, checkpoints, progress, and the answer."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from thresher import _native
from thresher.core.batch import Cursor
from thresher.core.checkpoint import Checkpoint
from thresher.core.container import check_folder
from thresher.core.feature_space import FeatureSpace
from thresher.core.losses import get_loss
from thresher.core.memory import parse_size, resident
from thresher.core.progress import Progress
from thresher.errors import DataError, FileFormatError, SettingsError
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.substitution.arriving.column_reader import IndexedReader
from thresher.substitution.arriving.feature_stream import FeatureStream
from thresher.substitution.dataset import read_features
from thresher.substitution.engine import StreamEngine
from thresher.substitution.factory import make_problem
from thresher.substitution.memory_plan import StreamPlan
from thresher.substitution.problem import Targets
from thresher.substitution.proposer import StreamProposer
from thresher.substitution.settings import SubstitutionSettings
from thresher.version import __version__
from thresher.working_set.answer import names_of
from thresher.working_set.run_settings import RunSettings

log = logging.getLogger(__name__)


class BrokenStream(DataError):
    """A stream that failed midway; ``selection`` is what had been found by then (None before the first block)."""

    selection: Selection | None = None


class StreamRun:
    """One fit: made, then `run` to the end or to an interrupt; usable either way once a block has arrived.

    Parameters
    ----------
    data : FeatureStream or Source
        A source's rows are read first; its columns then arrive in the order of their keys.
    y, sample_weight : array-like, optional
        Labels and importance of the rows, for a stream. (A source brings its own.)
    """

    def __init__(
        self,
        data: FeatureStream | Source,
        settings: SubstitutionSettings,
        how: RunSettings,
        y: Any = None,
        sample_weight: Any = None,
    ) -> None:
        self.settings = settings
        self.how = how
        self.team = _native.Team(how.threads)
        self.source = data if isinstance(data, Source) else None
        memory = None if how.memory is None else parse_size(how.memory)
        self._data = read_features(data, settings, how, self.team, memory, y, sample_weight)
        self.examples, self.stream = self._data.examples, self._data.stream
        self._before = 0  # features of streams before this one
        self._plan = StreamPlan(settings, self.examples, sparse=self.stream.sparse, memory=memory)
        self._block = self._plan.block(self.stream)
        self.proposer = self._proposer(self.stream, settings.scans, settings.order)
        even = bool((self.examples.weight == self.examples.weight[0]).all())
        targets = Targets(np.ascontiguousarray(self.examples.y), None if even else self.examples.weight)
        self.engine = StreamEngine(
            self.proposer,
            settings,
            targets,
            self.team,
            lambda part: make_problem(settings, part, self.stream, self.team),
        )
        self._started = self._saved = time.monotonic()
        self._resident = self._most_resident = resident()
        if how.checkpoint is not None:
            check_folder(how.checkpoint)
            if os.path.exists(how.checkpoint) and not how.restart:
                self._resume(how.checkpoint)

    def _proposer(self, stream: FeatureStream, scans: int, order: str) -> StreamProposer:
        return StreamProposer(
            stream,
            self._data.column_rows,
            scans=scans,
            order=order,
            seed=self.settings.seed,
            keep=self._data.keep,
            block=self._block,
            wide=self.settings.by_numbers,
        )

    @property
    def space(self) -> FeatureSpace:
        """What the keys mean."""
        if self.source is not None:
            return self.source.space
        space = self.stream.space
        return space if space.size is None else replace(space, size=self._before + space.size)

    # ── on the way ───────────────────────────────────────────────────────────────────────────────

    def run(self, progress: Callable[[Progress], None] | None = None) -> None:
        """Take what arrives until the end. Ctrl-C saves the checkpoint, if there is one, and comes out again."""
        try:
            while self.engine.step():
                self._most_resident = max(self._most_resident, resident())
                if progress is not None:
                    progress(self.progress())
                if self.how.checkpoint is not None and time.monotonic() - self._saved >= self.how.every:
                    self.save()
        except KeyboardInterrupt:
            self.save()
            raise
        except Exception as error:
            broken = BrokenStream(str(error) if isinstance(error, DataError) else f"the stream failed: {error!r}")
            broken.selection = self.selection() if self.usable else None
            self.save()
            raise broken from error
        if self.stream.skipped:
            told = "; ".join(f"{count} {fault}" for fault, count in self.stream.skipped.items())
            log.warning("%s: columns were passed over: %s", self.stream.describe(), told)

    @property
    def usable(self) -> bool:
        """Whether there is something to select from."""
        return any(len(problem.kept_ids()) for problem in self.engine.problems)

    @property
    def arrived(self) -> int:
        """Features so far, of all scans."""
        return self.proposer.arrived

    def progress(self) -> Progress:
        """How far it has come: the rows of a run of features are its features."""
        return Progress(
            rows=self.arrived,
            features=self.arrived,
            passes=self.settings.scans,
            passes_done=min(self.proposer.scan, self.settings.scans - 1),
            read=0,
            total_bytes=None,
            rows_in_pass=self.proposer.reached,
            total_rows=self.stream.size,
            seconds=time.monotonic() - self._started,
            grown=self._most_resident - self._resident,
            unit="features",
        )

    def plan(self) -> dict[str, int]:
        """Where the memory goes, in bytes."""
        return self._plan.parts(self._block)

    def selection(self) -> Selection:
        """What was found."""
        engine = self.engine
        found = engine.found()
        several = len(found.weights) > 1
        known = engine.names
        if self.source is not None:
            names = names_of(self.source, found.keys)
        elif self.space.invertible:
            names = self.space.decode(found.keys)
        else:
            names = [known.get(key) or f"#{key}" for key in found.keys.tolist()]
        of = self.stream if self.source is None else self.source
        return Selection(
            names,
            found.keys,
            found.weights if several else found.weights[0],
            np.zeros(len(found.keys)),
            found.counts,
            found.shifts + 0.0,
            get_loss(f"rest:{self.settings.loss}" if several and not self.how.multilabel else self.settings.loss),
            self.examples.classes,
            self.space,
            self.settings.to_dict(),
            {
                "thresher": __version__,
                "data": of.describe(),
                "fingerprint": None if self.how.lenient else of.fingerprint(),
                "rows": self.examples.rows,
                "arrived": self.arrived,
                "skipped": self.examples.skipped,
                "skipped_columns": dict(self.stream.skipped),
                "found_by": [problem.summary() for problem in engine.problems],
                "plan": self.plan(),
                **({} if self.source is None or self.source.reading() is None else {"reading": self.source.reading()}),
            },
        )

    # ── put aside ────────────────────────────────────────────────────────────────────────────────

    def save(self) -> None:
        """Write the checkpoint, if one was asked for."""
        if self.how.checkpoint is None:
            return
        Checkpoint(
            identity=self._identity(),
            passes_done=self.proposer.scan,
            cursor=Cursor(),
            labels=list(self.examples.classes or []),
            engine=self.engine.state(),
        ).save(self.how.checkpoint)
        self._saved = time.monotonic()

    def _identity(self) -> dict[str, Any]:
        weights = self.how.class_weight
        of = self.stream if self.source is None else self.source
        return {
            "data": of.fingerprint(),
            "labels": _native.hash_bytes(self.examples.y.tobytes() + self.examples.weight.tobytes()),
            **self.settings.to_dict(),
            "class_weight": sorted(map(str, weights.items())) if isinstance(weights, Mapping) else weights,
        }

    def _resume(self, path: str | os.PathLike[str]) -> None:
        saved = Checkpoint.load(path, self._identity())
        if not self.stream.rewindable:
            raise SettingsError(f"{self.stream.describe()} cannot be gone through again to where the checkpoint stands")
        try:
            self.engine.restore(saved.engine)
        except (KeyError, ValueError, IndexError) as error:
            raise FileFormatError(f"{os.fspath(path)}: not a checkpoint in order ({error}).") from None
        log.info("resumed from %s after %d features", os.fspath(path), self.arrived)

    def go_on(self, stream: FeatureStream) -> None:
        """Let further features arrive after those so far, once. Those of a matrix are numbered on."""
        if stream.space.kind != self.space.kind:
            raise DataError("features with names after such without, or the reverse: they would not be told apart.")
        self._before += self.stream.size or 0
        if isinstance(stream.reader, IndexedReader):
            stream.reader.first = self._before
        self.stream = stream
        last = self.proposer
        self.settings = replace(self.settings, scans=1)
        self.proposer = self._proposer(stream, 1, "given")
        self.proposer.arrived = last.arrived
        self.engine.proposer = self.engine.loop.proposer = self.proposer
