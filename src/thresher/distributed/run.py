"""A fit of an online method by several workers, whose models are merged in rounds."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from thresher.core.batch import Cursor
from thresher.core.labels import Label
from thresher.core.memory import show_size
from thresher.core.scores.metrics import Scores
from thresher.core.storage.checkpoint import Checkpoint
from thresher.distributed.rounds import rows_of_round, useful_workers
from thresher.distributed.threads import ThreadTeam, undisturbed
from thresher.distributed.worker import Base, Round, Share, State
from thresher.errors import FileFormatError, SettingsError
from thresher.online.dual_rounds import merge_duals
from thresher.online.engine import OnlineEngine
from thresher.online.merge import RoundEnd, merge_rounds
from thresher.online.run import OnlineRun
from thresher.online.settings import OnlineSettings
from thresher.run import RunOptions, check_readable_again
from thresher.sources.base import Source

log = logging.getLogger(__name__)


class Team(Protocol):
    """Workers behind a transport."""

    def begin(self, shares: list[Share]) -> None:
        """Begin a pass; each worker gets its share of the rows."""

    def round(self, base: Base, starts: list[Cursor], rows: int) -> list[Round]:
        """Let every worker learn ``rows`` rows; the results are in the order of the shares."""

    def close(self) -> None:
        """End the workers."""


def workers_run(
    source: Source, settings: OnlineSettings, options: RunOptions, classes: list[Label] | None = None
) -> WorkersRun:
    """The run of an online method by several workers."""
    if settings.workers == 1:
        raise SettingsError("`cluster` is where workers run: pass their number, `workers=N`")
    return WorkersRun(source, settings, options, classes)


class WorkersRun(OnlineRun):
    """One fit of an online method by several workers.

    Each worker learns its share of the rows: every N-th block of the shuffled order of a pass. After a number of rows
    their models are averaged, and the next round starts from the mean. The held-out rows, the number of passes and
    the final fit are as without workers: passes are scored by the merged model, and this process fits.
    """

    def __init__(
        self,
        source: Source,
        settings: OnlineSettings,
        options: RunOptions,
        classes: list[Label] | None = None,
    ) -> None:
        check_readable_again(source, needed=True, why="workers that share its rows")
        source = source.in_ranges()
        self._places: list[Cursor] = []
        self._asked = settings.workers
        super().__init__(source, settings, options, classes)
        self.workers = self.settings.workers
        if self._places and len(self._places) != self.workers:
            raise FileFormatError(f"{options.checkpoint}: invalid checkpoint (positions of other workers).")
        self._team: Team | None = None
        self._order = None  # the rows of a worker are as mixed as all rows
        self._rounds = 0
        self._changed: tuple[OnlineEngine, State] | None = None  # what the last round changed in this engine
        self.facts["workers"] = {"count": self.workers, "asked": settings.workers}

    def _settled(self, settings: OnlineSettings) -> OnlineSettings:
        asked, source = settings.workers, self.source
        source.prepare()
        given = self.settings.sync is not None
        parts = self._mixed(0).most_parts
        found, why = useful_workers(asked, parts, source.total_rows, source.total_bytes, rounds_set=given)
        if why:
            alone = ". The fit runs in this process, not on the cluster" if found == 1 and self.options.cluster else ""
            log.warning("%s: %d of %d workers are used: %s%s", self.source.describe(), found, asked, why, alone)
        elif found > 1:
            memory = self.plan.memory
            log.info("%d workers of %s each, %s in all", found, show_size(memory), show_size(found * memory))
        # A third of the features seen: what workers send and receive takes up to two thirds.
        return replace(settings, workers=found, room=settings.room // 3 if found > 1 else settings.room)

    def _steps(self) -> Iterator[None]:
        try:
            yield from super()._steps()
        finally:
            if self._team is not None:
                self._team.close()
                self._team = None

    def _learn_pass(self) -> Iterator[None]:
        if self.workers == 1:
            yield from super()._learn_pass()
            return
        self._settle_labels()
        team = self._team = self._team or self._make_team()
        self._reading = self._source_of_pass()
        shares = [
            Share(
                number=number,
                of=self.workers,
                source=self._reading,
                labels=self.targets.seen,
                batch_rows=self.options.batch_rows,
            )
            for number in range(self.workers)
        ]
        team.begin(shares)
        places, ended = self._places or [Cursor()] * self.workers, False
        while not (ended or self.stopped):
            rows = rows_of_round(self.settings.sync, self.engine.rows // self.workers)
            found = team.round(self._base(), places, rows)
            undisturbed(partial(self._merge, found))
            places, ended = self._places, all(one.ended for one in found)
            yield

    def _base(self) -> Base:
        assert isinstance(self.engine, OnlineEngine)
        changes = self._changed[1] if self._changed is not None and self._changed[0] is self.engine else None
        self._rounds += 1
        return Base(self.engine, self._rounds, changes)

    def _make_team(self) -> Team:
        if self.options.cluster is None:
            return ThreadTeam(self.settings, self.workers)
        from thresher.distributed.ray_team import RayTeam

        return RayTeam(self.settings, self.workers, self.options.cluster, self.plan)

    def _settle_labels(self) -> None:
        """Read labels until both classes are known: the first one is encoded as +1, and must be the same for all."""
        if not self._labels_known():
            rows = self.watched(self._mixed(0), "reading labels")
            for batch, cursor in rows.batches(self.options.batch_rows):
                self.targets.encode(batch, partial(rows.where, cursor, batch))
                if self._labels_known():
                    break
            self.targets.check_complete()
        self._check_class_weights()

    def _labels_known(self) -> bool:
        return self.targets.complete

    def _merge(self, found: list[Round]) -> None:
        """Take the mean of the models, and add rows and scores."""
        engine = self.engine
        assert isinstance(engine, OnlineEngine)
        ends = [RoundEnd(one.state, one.rows) for one in found]
        if self.settings.budgeted:
            self._changed = engine, merge_duals(engine, ends)
        else:
            merge_rounds(engine, ends)
        for one in found:
            self._add_scores(engine, one)
            self._features += one.features
        engine.note_moment(sum(one.features for one in found), round_end=True)
        self._places = [one.cursor for one in found]
        self._rows_at_cursor = engine.rows
        self.cursor = Cursor(
            row=sum(place.row + place.skip for place in self._places),
            read=sum(place.read for place in self._places),
            skipped=sum(place.skipped for place in self._places),
        )

    def _add_scores(self, engine: OnlineEngine, one: Round) -> None:
        scores, recent = Scores(engine.scores.loss, engine.scores.classes), engine.recent.empty()
        scores.restore(one.state)
        recent.restore(one.state)
        engine.scores.merge(scores)
        engine.recent.extend(recent)

    def _end_pass(self) -> None:
        self._places = []
        super()._end_pass()

    # ── checkpoints ──────────────────────────────────────────────────────────────────────────────

    def _identity(self) -> dict[str, Any]:
        return {**super()._identity(), "workers": self._asked, "sync": self.settings.sync}

    def _snapshot(self) -> Checkpoint:
        saved = super()._snapshot()
        return saved if self.workers == 1 else replace(saved, cursor=Cursor(), shards=self._places)

    def _restore(self, saved: Checkpoint) -> None:
        super()._restore(saved)
        self._places = saved.shards
