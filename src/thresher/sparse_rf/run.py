"""A fit of Sparse Random Features: from a source to the selected random features."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from thresher.columns.kernels import check_kernel
from thresher.columns.random_features import RandomFeatureMap
from thresher.columns.row_store import OutOfCoreRows, Rows, RowStore
from thresher.columns.types import Ids
from thresher.core.feature_space import FeatureSpace, RandomFeatureSpec
from thresher.errors import SettingsError
from thresher.run import Origin, RunOptions
from thresher.selection.names import names_of
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sparse_rf.engine import SparseRFEngine
from thresher.sparse_rf.feature_columns import RandomFeatureColumns
from thresher.sparse_rf.memory_plan import SparseRFPlan
from thresher.sparse_rf.settings import METHOD, SparseRFSettings
from thresher.working_set.dataset import Examples
from thresher.working_set.result import Found
from thresher.working_set.run import WorkingSetRun, with_interactions

log = logging.getLogger(__name__)

#: The most inputs for which names are formulas: a formula has one coefficient per input.
_NAMED_INPUTS = 4096


class SparseRFRun(WorkingSetRun[SparseRFEngine]):
    """A fit of Sparse Random Features."""

    settings: SparseRFSettings
    _wants_rows = True

    def __init__(self, source: Source, settings: SparseRFSettings, options: RunOptions) -> None:
        if len(settings.path) > 1 and options.validation is None:
            raise SettingsError("several values of `lam` require validation data: pass `validation`, or one `lam`")
        source = with_interactions(source, options)
        if isinstance(settings.gamma, float | int):
            check_kernel(_feature_spec(settings, float(settings.gamma)), source.space.size)
        self.plan = SparseRFPlan.of(settings, options.memory)
        if source.total_rows is not None:
            self.plan.check(source.total_rows)
        source = source.limited(self.plan.limits)
        super().__init__(source, settings, options, settings.max_iter * len(settings.path))
        self.space = source.space
        self._rows_of_data: Rows | None = None

    def _make_engine(self, examples: Examples) -> SparseRFEngine:
        self.plan = SparseRFPlan.of(self.settings, self.options.memory, len(examples.y))
        self.plan.check(examples.rows)
        store = examples.store
        rows = (
            store if isinstance(store, RowStore) else OutOfCoreRows(self.source, examples.rows, self.options.batch_rows)
        )
        self._rows_of_data = rows
        self.space = self._feature_space(rows)
        limited = bool(self.plan.memory)
        family = RandomFeatureColumns(
            self.space,
            rows,
            self.pool,
            room=self.plan.columns(examples.rows, rows.bytes) if limited else None,
            part=self.plan.making(examples.rows) if limited else None,
        )
        return SparseRFEngine(family, self.settings, examples.y, examples.weight, self.pool)

    def _feature_space(self, rows: Rows) -> FeatureSpace:
        gamma = self.settings.gamma
        if isinstance(gamma, str):
            inputs = self.source.space.size or len(rows.inputs())
            gamma = 1.0 / max(inputs * rows.variance(), 1e-300)
        return self.source.space.with_random_features(_feature_spec(self.settings, float(gamma)))

    def _room(self) -> Callable[[int], int] | None:
        return self.plan.inputs if self.plan.memory else None

    def _check_rows(self, rows: int) -> None:
        self.plan.check(rows)  # for one output; _make_engine checks all outputs

    def _check_round(self) -> None:
        assert self.engine is not None
        problems = self.engine.problems
        kept = max(len(problem.ids) for problem in problems)
        products = sum(problem.product_bytes for problem in problems)
        self.plan.check_kept(self.engine.targets.shape[1], kept, products)

    def _may_refit(self) -> bool:
        assert self.engine is not None
        assert self._rows_of_data is not None
        if not self.plan.memory:
            return True
        # A second solver holds the columns and products of one output, besides those of all.
        rows, problems = self.engine.targets.shape[1], self.engine.problems
        columns, products = ([getattr(p, name) for p in problems] for name in ("column_bytes", "product_bytes"))
        fits: bool = sum(columns) + max(columns) <= self.plan.columns(rows, self._rows_of_data.bytes)
        fits = fits and sum(products) + max(products) <= self.plan.products(rows)
        if not fits:
            log.info("probabilities are not calibrated: `memory` has no room for a second fit; increase `memory`")
        return fits

    def _selection(self, found: Found, *, final: bool = True) -> Selection:
        assert self.examples is not None
        return found.selection(
            self._names(found.keys) if final else None,
            classes=self.examples.classes,
            multilabel=self.source.multilabel,
            space=self.space,
            settings={"method": METHOD, **self.settings.to_dict()},
            origin=Origin.of(self.source, fingerprint=final and not self.options.from_estimator),
            facts={
                "rows": self.examples.rows,
                "iterations": self.rounds,
                "skipped": self.examples.skipped,
                "plan": self._memory_held(),
            },
        )

    def _names(self, keys: Ids) -> list[str]:
        assert self._rows_of_data is not None
        size = self.space.size or 0
        if self.space.kind == "column" and 0 < size <= _NAMED_INPUTS:
            inputs = np.arange(size, dtype=np.uint64)
        else:
            inputs = self._rows_of_data.inputs()
        if len(inputs) > _NAMED_INPUTS:
            assert self.space.random_features is not None
            return [f"{self.space.random_features.kernel} {key}" for key in keys.tolist()]
        return RandomFeatureMap(self.space, keys, self.pool).names(
            inputs, names_of(self.watched(self.source, "naming features"), inputs)
        )

    def _memory_held(self) -> dict[str, int]:
        """The bytes that each part holds."""
        assert self.engine is not None
        assert self._rows_of_data is not None
        problems = self.engine.problems
        parts = {
            "inputs": self._rows_of_data.bytes,
            "rows": self._rows_of_data.rows * self.plan.row_bytes,
            "columns": sum(problem.column_bytes for problem in problems),
            "products": sum(problem.product_bytes for problem in problems),
            "buffers": self.plan.buffers,
        }
        return {"memory": self.plan.memory, **parts, "total": sum(parts.values())}

    def _method_identity(self) -> dict[str, Any]:
        own = None if isinstance(self.settings.kernel, str) else self.settings.kernel.name
        return {"method": METHOD, "functions": own}

    def _scored(self) -> bool:
        assert self.engine is not None
        return self.engine.stage_done


def _feature_spec(settings: SparseRFSettings, gamma: float) -> RandomFeatureSpec:
    """The random features of the settings, with this width of the kernel."""
    if isinstance(settings.kernel, str):
        return RandomFeatureSpec(settings.kernel, gamma, settings.seed, settings.q)
    return settings.kernel.spec(settings.seed)
