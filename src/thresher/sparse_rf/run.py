"""A fit of Sparse Random Features: from a source to the functions that are kept."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from thresher.columns.kernels import check_kernel
from thresher.columns.random_features import RandomFeatureMap, RandomFeatures
from thresher.columns.row_store import OutOfCoreRows, Rows, RowStore
from thresher.columns.types import Ids
from thresher.core.feature_space import FeatureSpace, RandomFeatureSpec
from thresher.errors import SettingsError
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sparse_rf.engine import SparseRFEngine
from thresher.sparse_rf.feature_columns import RandomFeatureColumns
from thresher.sparse_rf.memory_plan import SparseRFPlan
from thresher.sparse_rf.settings import METHOD, SparseRFSettings
from thresher.working_set.answer import make_selection, names_of
from thresher.working_set.dataset import Examples
from thresher.working_set.result import Found
from thresher.working_set.run import WorkingSetRun
from thresher.working_set.run_settings import RunSettings

log = logging.getLogger(__name__)

#: Inputs up to which the names of functions are spelled out: beyond, naming would draw a coefficient for each.
_NAMED_INPUTS = 4096


class SparseRFRun(WorkingSetRun[SparseRFEngine]):
    """A fit of Sparse Random Features.

    ``functions`` are drawn in place of a kernel's, where given.
    """

    settings: SparseRFSettings
    _wants_rows = True

    def __init__(
        self,
        source: Source,
        settings: SparseRFSettings,
        how: RunSettings,
        functions: RandomFeatures | None = None,
    ) -> None:
        if len(settings.path) > 1 and how.validation is None:
            raise SettingsError("several lam need a validation to choose by: give validation, or one lam")
        self._functions = functions
        if isinstance(settings.gamma, float | int):
            check_kernel(self._drawn(settings, float(settings.gamma)), source.space.size)
        self.shares = SparseRFPlan.of(settings.draws, how.memory)
        if source.total_rows is not None:
            self.shares.check(source.total_rows)
        source = source.limited(self.shares.limits)
        super().__init__(source, settings, how, settings.rounds * len(settings.path))
        self.space = source.space
        self._rows: Rows | None = None

    def _drawn(self, settings: SparseRFSettings, gamma: float) -> RandomFeatureSpec:
        if self._functions is not None:
            return self._functions.spec(settings.seed)
        return RandomFeatureSpec(settings.kernel, gamma, settings.seed, settings.q)

    def _make_engine(self, examples: Examples) -> SparseRFEngine:
        self.shares = SparseRFPlan.of(self.settings.draws, self.how.memory, len(examples.y))
        self.shares.check(examples.rows)
        store = examples.store
        rows = store if isinstance(store, RowStore) else OutOfCoreRows(self.source, examples.rows, self.how.batch_rows)
        self._rows = rows
        self.space = self._drawn_space(rows)
        limited = bool(self.shares.memory)
        family = RandomFeatureColumns(
            self.space,
            rows,
            self.team,
            room=self.shares.columns(examples.rows, rows.bytes) if limited else None,
            part=self.shares.making(examples.rows) if limited else None,
        )
        return SparseRFEngine(family, self.settings, examples.y, examples.weight, self.team)

    def _drawn_space(self, rows: Rows) -> FeatureSpace:
        gamma = self.settings.gamma
        if isinstance(gamma, str):
            inputs = self.source.space.size or len(rows.inputs())
            gamma = 1.0 / max(inputs * rows.variance(), 1e-300)
        return self.source.space.with_random_features(self._drawn(self.settings, float(gamma)))

    def _room(self) -> Callable[[int], int] | None:
        return self.shares.inputs if self.shares.memory else None

    def _check_rows(self, rows: int) -> None:
        self.shares.check(rows)  # of one output at least; of all of them once they are known

    def _check_round(self) -> None:
        assert self.engine is not None
        problems = self.engine.problems
        kept = max(len(problem.ids) for problem in problems)
        products = sum(problem.product_bytes for problem in problems)
        self.shares.check_kept(self.engine.targets.shape[1], kept, products)

    def _selection(self, found: Found, *, told: bool = True) -> Selection:
        assert self.examples is not None
        settings = self.settings
        if told and not len(found.keys):
            log.warning("lam = %s is so large that no function is kept: the model is a constant", settings.lam)
        return make_selection(
            found,
            self.examples,
            self.source,
            {"method": METHOD, **settings.to_dict()},
            names=self._names(found.keys) if told else None,
            rounds=self.rounds,
            plan=self.plan(),
            space=self.space,
            fingerprint=told and not self.how.lenient,
        )

    def _names(self, keys: Ids) -> list[str]:
        assert self._rows is not None
        inputs = np.arange(self.space.size or 0, dtype=np.uint64) if self._small else self._rows.inputs()
        functions = RandomFeatureMap(self.space, keys, self.team)
        if len(inputs) > _NAMED_INPUTS:
            return (
                [f"{self.space.random_features.kernel} {key}" for key in keys.tolist()]
                if self.space.random_features
                else []
            )
        return functions.names(inputs, names_of(self.source, inputs))

    @property
    def _small(self) -> bool:
        return self.space.kind == "column" and 0 < (self.space.size or 0) <= _NAMED_INPUTS

    def plan(self) -> dict[str, int]:
        """Where the memory goes, in bytes."""
        assert self.engine is not None
        assert self._rows is not None
        problems = self.engine.problems
        parts = {
            "inputs": self._rows.bytes,
            "rows": self._rows.rows * self.shares.row_bytes,
            "columns": sum(problem.column_bytes for problem in problems),
            "products": sum(problem.product_bytes for problem in problems),
            "buffers": self.shares.buffers,
        }
        return {"memory": self.shares.memory, **parts, "total": sum(parts.values())}

    def _method(self) -> dict[str, Any]:
        return {"method": METHOD, "functions": None if self._functions is None else self._functions.name}

    def _scored(self) -> bool:
        assert self.engine is not None
        return self.engine.stage_done


def sparse_rf_run(source: Source, how: RunSettings, kernel: str | RandomFeatures, **settings: Any) -> SparseRFRun:
    """A run with the functions of a kernel, or with functions of the user's own."""
    if isinstance(kernel, RandomFeatures):
        return SparseRFRun(source, SparseRFSettings(kernel=kernel.name, **settings), how, kernel)
    if not isinstance(kernel, str):
        raise SettingsError(f"kernel is the name of one, or thresher.RandomFeatures, not {kernel!r}")
    return SparseRFRun(source, SparseRFSettings(kernel=kernel, **settings), how)
