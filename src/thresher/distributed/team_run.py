"""A fit of a working-set method whose workers read the data together: how it begins, ends and reads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from thresher.columns.types import Floats
from thresher.distributed.ray_actors import MOST_LOSSES
from thresher.distributed.ray_shards import RayShards
from thresher.distributed.shard import ReadRows, ShardSpec
from thresher.distributed.shard_teams import ShardTeam, ThreadShards, WorkerLost
from thresher.errors import SettingsError, ThresherError
from thresher.run import RunOptions
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.working_set.dataset import Reader
from thresher.working_set.run import WorkingSetRun

log = logging.getLogger(__name__)


def check_workers(options: RunOptions) -> None:
    """Raise unless the number of workers is valid, and there are several if they run on a cluster."""
    if type(options.workers) is not int or options.workers < 1:
        raise SettingsError(f"workers must be an integer of at least 1, got {options.workers!r}")
    if options.workers == 1 and options.cluster is not None:
        raise SettingsError("`cluster` is where workers run: pass their number, `workers=N`")


def check_readable(source: Source, options: RunOptions) -> None:
    """Raise if workers on Ray cannot read the data."""
    if options.cluster is not None and not source.rewindable:
        raise SettingsError(
            f"{source.describe()} can be read only once, but workers on Ray read it themselves: save it to a file "
            "that every node can read"
        )


class TeamRun(WorkingSetRun[Any]):
    """What the fits have in common whose workers hold parts of the data; a method's run comes behind it."""

    _team: ShardTeam | None = None

    def _make_team(self, share: ShardSpec, memory: int) -> ShardTeam:
        """The workers; ``memory`` is the bytes of each, 0 if there is no limit."""
        options = self.options
        if options.cluster is None:
            return ThreadShards(share, self.source, self.pool)
        return RayShards(share, self.source, self.pool, options.cluster, memory)

    def _make_sharded_reader(
        self, loss: Any, want_parts: bool, on_step: Callable[[int, int, int, int], None]
    ) -> ShardedReader:
        assert self._team is not None
        return ShardedReader(
            self.source,
            loss,
            self.pool,
            self.watch,
            team=self._team,
            on_step=on_step,
            multilabel=self.options.multilabel,
            may_be_numbers=self.options.may_be_numbers,
            keep_rows=self._wants_rows,
            want_parts=want_parts,
        )

    def _show_read(self, rows: int, features: int, read: int) -> None:
        """Show the progress of reading, and check that this process has memory for the rows."""
        self._rows, self._features, self._read = rows, features, read
        self._show_progress()
        self._check_rows(rows)

    def _steps(self) -> Iterator[None]:
        try:
            yield from super()._steps()
        except BaseException as error:
            if not (self.usable and isinstance(error, (KeyboardInterrupt, GeneratorExit))):
                self._close()
            raise

    def _close(self) -> None:
        if self._team is not None:
            self._team.close()

    def _counts(self) -> dict[str, Any]:
        working, count = 0 if self._team is None else self._team.working, self.options.workers
        return {
            **super()._counts(),
            "detail": f"{working} of {count} workers" if working < count else f"{count} workers",
        }

    def selection(self) -> Selection:
        try:
            return super().selection()
        finally:
            self._close()

    def model(self) -> Selection:
        try:
            return super().model()
        finally:
            self._close()


class ShardedReader(Reader):
    """Reads the labels of a source, and lets workers read its columns.

    Parameters
    ----------
    team : ShardTeam
        The workers.
    on_step : callable
        Called after a step with the rows, the features and the stored bytes read so far, and the most bytes that a
        worker holds.
    """

    def __init__(
        self, *given: Any, team: ShardTeam, on_step: Callable[[int, int, int, int], None], **options: Any
    ) -> None:
        super().__init__(*given, **options)
        self._team = team
        self._on_step = on_step

    def _read_batches(self) -> tuple[Any, int]:
        found = self._exchanged()
        skipped = 0
        for shard, rows in zip(self.source.shards(self._team.count), found, strict=False):
            for one in rows:
                if self._parts is not None and one.parts is not None:
                    self._parts.append(one.parts)
                self._add_labels(one.labels, one.cursor, shard)
            skipped += rows[-1].cursor.skipped if rows else 0
        if skipped:
            log.warning("%s: skipped %d malformed lines", self.source.describe(), skipped)
        return self._team, skipped

    def _exchanged(self) -> list[list[ReadRows]]:
        """The rows of every part, after all workers have parsed theirs."""
        for _ in range(MOST_LOSSES):
            try:
                return self._exchange()
            except WorkerLost:
                log.warning("the rows are read from the beginning")
        raise ThresherError(f"workers were lost {MOST_LOSSES} times while rows were read: see the logs of Ray")

    def _exchange(self) -> list[list[ReadRows]]:
        self._team.start()
        found: list[list[ReadRows]] = [[] for _ in range(self._team.count)]
        rows = features = 0
        ended = False
        while not ended:
            step = self._team.step()
            for all_rows, new in zip(found, step.rows, strict=True):
                all_rows += new
                rows += sum(len(one.labels) for one in new)
                features += sum(one.features for one in new)
            read = sum(all_rows[-1].cursor.read for all_rows in found if all_rows)
            self._on_step(rows, features, read, step.held)
            ended = all(step.ended)
        return found

    def _finish(self, store: Any, weight: Floats) -> Any:
        self._team.finish(weight)
        return self._team
