"""A fit of Sparse Random Features whose rows are divided among workers."""

from __future__ import annotations

import logging

from thresher.columns.row_store import Rows
from thresher.columns.sharded import Shards
from thresher.columns.shared_rows import SharedRows
from thresher.core.losses import Loss
from thresher.core.memory import show_size
from thresher.distributed.row_shard import RowShare
from thresher.distributed.team_run import TeamRun, check_readable, check_workers
from thresher.run import RunOptions
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sparse_rf.feature_columns import RandomFeatureColumns
from thresher.sparse_rf.run import SparseRFRun
from thresher.sparse_rf.settings import SparseRFSettings
from thresher.sparse_rf.shared_columns import SharedFeatureColumns
from thresher.working_set.dataset import Examples, Reader
from thresher.working_set.result import Found

log = logging.getLogger(__name__)

#: Features that a worker reads in a step.
_STEP = 1 << 18


def sparse_rf_run(source: Source, settings: SparseRFSettings, options: RunOptions) -> SparseRFRun:
    """The run of ``sparse-rf``: by several workers, if the options say so."""
    check_workers(options)
    if options.workers == 1:
        return SparseRFRun(source, settings, options)
    return SparseRFWorkersRun(source, settings, options)


class SparseRFWorkersRun(TeamRun, SparseRFRun):
    """One fit of Sparse Random Features by several workers, with the bits of one process.

    Each worker holds consecutive rows, and computes the values of random features at them. This process solves the
    problems. Checkpoints are those of one process.
    """

    def __init__(self, source: Source, settings: SparseRFSettings, options: RunOptions) -> None:
        check_readable(source, options)
        super().__init__(source.in_ranges(), settings, options)

    def _make_reader(self, loss: Loss) -> Reader:
        options, plan = self.options, self.plan
        share = RowShare(
            number=0,
            of=options.workers,
            batch_rows=options.batch_rows,
            entries=min(_STEP, plan.worker_rows // 16) if plan.memory else _STEP,
            want_parts=self._wants_parts(loss),
            threads=max(1, self.pool.threads // options.workers),
            room=plan.worker_rows if plan.memory else None,
        )
        parts, count = len(self.source.shards(options.workers)), options.workers
        if parts < count:
            more = "write it as Parquet files" if self.source.reads_by_ray else "uncompressed text and files have more"
            log.warning(
                "%s: %d of %d workers have no rows, since the data has %d %s that can be read separately: %s",
                self.source.describe(),
                count - parts,
                count,
                parts,
                "part" if parts == 1 else "parts",
                more,
            )
        self._team = self._make_team(share, plan.memory)
        if plan.memory:
            total = show_size((count + 1) * plan.memory)
            log.info("%d workers and this process, of %s each, %s in all", count, show_size(plan.memory), total)
        return self._make_sharded_reader(loss, share.want_parts, lambda *read: self._show_read(*read[:3]))

    def _make_rows(self, examples: Examples) -> Rows:
        assert isinstance(examples.store, Shards)
        return SharedRows(examples.store)

    def _make_family(self, rows: Rows, room: int | None, part: int | None) -> RandomFeatureColumns:
        assert isinstance(rows, SharedRows)
        if part is not None:
            part = min(part, self.plan.worker_making)
        return SharedFeatureColumns(self.space, rows, self.pool, room=room, part=part)

    def _selection(self, found: Found, *, final: bool = True) -> Selection:
        selection = super()._selection(found, final=final)
        count, plan = self.options.workers, selection.provenance["plan"]
        assert self._team is not None
        selection.provenance["workers"] = {"count": count, "asked": count, "largest": self._team.largest}
        plan["workers"] = self._team.bytes + (
            count * (plan["buffers"] + self.plan.worker_making) if plan["memory"] else 0
        )
        plan["total"] += plan["workers"]
        return selection
