"""A fit of the Feature Generating Machine whose columns are divided among workers."""

from __future__ import annotations

import logging

from thresher.columns.sharded import Shards
from thresher.columns.types import Family
from thresher.core.losses import Loss
from thresher.core.memory import show_size
from thresher.distributed.column_shard import ColumnShare
from thresher.distributed.team_run import TeamRun, check_readable, check_workers
from thresher.errors import SettingsError
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
    check_workers(options)
    workers = options.workers
    if workers == 1:
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


class FGMWorkersRun(TeamRun, FGMRun):
    """One fit of the Feature Generating Machine by several workers, with the bits of one process.

    Each worker holds the columns of a range of hashed keys, and answers with the best of them. This process solves the
    problems. Checkpoints are those of one process.
    """

    def __init__(self, source: Source, settings: FGMSettings, options: RunOptions) -> None:
        check_readable(source, options)
        super().__init__(source.in_ranges(), settings, options)

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
        self._team = self._make_team(share, self.plan.memory)
        if self.plan.memory:
            each, count = self.plan.memory, options.workers
            total = show_size((count + 1) * each)
            log.info("%d workers and this process, of %s each, %s in all", count, show_size(each), total)
        return self._make_sharded_reader(loss, share.want_parts, self._rows_read)

    def _rows_read(self, rows: int, features: int, read: int, held: int) -> None:
        """Show the progress, and check that a worker has memory for its columns."""
        self._show_read(rows, features, read)
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
