"""A fit of the Feature Generating Machine whose columns are divided among workers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from thresher.columns.sharded import Shards
from thresher.columns.types import Family, Floats
from thresher.core.losses import Loss
from thresher.core.memory import show_size
from thresher.distributed.column_shard import ColumnShare, ReadRows
from thresher.distributed.ray_actors import MOST_LOSSES
from thresher.distributed.ray_shards import RayShards
from thresher.distributed.shard_teams import ShardTeam, ThreadShards, WorkerLost
from thresher.errors import SettingsError, ThresherError
from thresher.fgm.families.parse import as_family_spec
from thresher.fgm.run import FGMRun
from thresher.fgm.settings import FGMSettings
from thresher.run import RunOptions
from thresher.selection.selection import Selection
from thresher.sources.arrays import DenseSource
from thresher.sources.base import Source
from thresher.working_set.dataset import Examples, Reader
from thresher.working_set.result import Found
from thresher.working_set.run import with_interactions

log = logging.getLogger(__name__)


def fgm_run(source: Source, settings: FGMSettings, options: RunOptions) -> FGMRun:
    """The run of ``fgm``: by several workers, if the options say so."""
    workers = options.workers
    if type(workers) is not int or workers < 1:
        raise SettingsError(f"workers must be an integer of at least 1, got {workers!r}")
    if workers == 1:
        if options.cluster is not None:
            raise SettingsError("`cluster` is where workers run: pass their number, `workers=N`")
        return FGMRun(source, settings, options)
    spec = as_family_spec(settings.family)
    if spec is not None and spec.no_workers:
        raise SettingsError(
            f"fgm has no `workers` for this family, since {spec.no_workers}. Leave out `workers`, or choose another "
            "family"
        )
    if type(with_interactions(source, options)) is DenseSource:
        log.warning(
            "%s: 1 of %d workers is used: the matrix is in memory, where threads (`n_jobs`) share its columns",
            source.describe(),
            workers,
        )
        return FGMRun(source, settings, options)
    return FGMWorkersRun(source, settings, options)


class FGMWorkersRun(FGMRun):
    """One fit of the Feature Generating Machine by several workers, with the bits of one process.

    Each worker holds the columns of a range of hashed keys, and answers with the best of them. This process solves the
    problems. Checkpoints are those of one process.
    """

    def __init__(self, source: Source, settings: FGMSettings, options: RunOptions) -> None:
        if options.cluster is not None and not source.rewindable:
            raise SettingsError(
                f"{source.describe()} can be read only once, but workers on Ray read it themselves: save it to a file "
                "that every node can read"
            )
        super().__init__(source, settings, options)
        self._team: ShardTeam | None = None

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

    # ── reading ──────────────────────────────────────────────────────────────────────────────────

    def _make_reader(self, loss: Loss) -> Reader:
        options = self.options
        share = ColumnShare(
            number=0,
            of=options.workers,
            batch_rows=options.batch_rows,
            entries=self.plan.step_entries,
            want_parts=self._wants_parts(loss),
            threads=max(1, self.pool.threads // options.workers),
        )
        if options.cluster is None:
            self._team = ThreadShards(share, self.source, self.pool)
        else:
            self._team = RayShards(share, self.source, self.pool, options.cluster, self.plan.memory)
        if self.plan.memory:
            each, count = self.plan.memory, options.workers
            total = show_size((count + 1) * each)
            log.info("%d workers and this process, of %s each, %s in all", count, show_size(each), total)
        return ShardedReader(
            self.source,
            loss,
            self.pool,
            self.watch,
            team=self._team,
            on_step=self._rows_read,
            multilabel=options.multilabel,
            may_be_numbers=options.may_be_numbers,
            want_parts=share.want_parts,
        )

    def _rows_read(self, rows: int, features: int, read: int, held: int) -> None:
        """Show the progress, and check that a worker has memory for its columns."""
        self._rows, self._features, self._read = rows, features, read
        self._show_progress()
        self._check_rows(rows)
        room = self.plan.share(rows)
        if self.plan.memory and held > room:
            raise SettingsError(
                f"{self.source.describe()}: the columns of the first {rows} rows need {show_size(held)} in one of "
                f"{self.options.workers} workers, and `memory={show_size(self.plan.memory)}` leaves {show_size(room)} "
                "for them: pass more `workers` or more `memory`, or leave out `workers`, and every iteration reads the "
                "data again"
            )

    def _family(self, examples: Examples, settings: FGMSettings | None = None) -> Family:
        if isinstance(examples.store, Shards) and self.plan.memory:
            examples.store.memory = self.plan.columns(examples.rows)
        return super()._family(examples, settings)

    def _selection(self, found: Found, *, final: bool = True) -> Selection:
        selection = super()._selection(found, final=final)
        count, plan = self.options.workers, selection.provenance["plan"]
        assert self._team is not None
        selection.provenance["workers"] = {"count": count, "asked": count, "largest": self._team.largest}
        # The columns are those of all workers already.
        plan["workers"] = count * (self.plan.worker_bytes(self._rows) + self.plan.buffers) if self.plan.memory else 0
        plan["total"] += plan["workers"]
        return selection


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
