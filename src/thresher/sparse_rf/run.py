"""A fit of Sparse Random Features: from a source to the selected random features."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from thresher.columns.kernels import check_kernel
from thresher.columns.random_features import RandomFeatureMap
from thresher.columns.row_store import OutOfCoreRows, Rows, RowStore
from thresher.columns.types import Floats, Ids
from thresher.core.feature_space import RandomFeatureSpec
from thresher.core.losses import Loss
from thresher.errors import SettingsError
from thresher.run import Origin, RunOptions
from thresher.selection.names import names_of
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sparse_rf.auto_engine import STAGES, AutoEngine, lam_path
from thresher.sparse_rf.engine import SparseRFEngine
from thresher.sparse_rf.feature_columns import RandomFeatureColumns, check_rows_differ
from thresher.sparse_rf.held_out import HeldOut
from thresher.sparse_rf.kernel_choice import (
    InputScales,
    KernelChoice,
    comparable,
    only_these,
    report_constant,
    variance_rule,
)
from thresher.sparse_rf.memory_plan import SparseRFPlan
from thresher.sparse_rf.settings import METHOD, SparseRFSettings
from thresher.working_set.dataset import Examples
from thresher.working_set.result import Found
from thresher.working_set.run import WorkingSetRun, with_interactions

log = logging.getLogger(__name__)

#: The most inputs for which names are formulas: a formula has one coefficient per input.
_NAMED_INPUTS = 4096


class SparseRFRun(WorkingSetRun[SparseRFEngine | AutoEngine]):
    """A fit of Sparse Random Features."""

    settings: SparseRFSettings
    _wants_rows = True

    def __init__(self, source: Source, settings: SparseRFSettings, options: RunOptions) -> None:
        if not settings.auto_lam and len(settings.path) > 1 and options.validation is None:
            raise SettingsError("several values of `lam` require validation data: pass `validation`, or one `lam`")
        source = with_interactions(source, options)
        if isinstance(settings.gamma, float | int):
            check_kernel(_feature_spec(settings, float(settings.gamma)), source.space.size)
        self.plan = SparseRFPlan.of(settings, options.memory)
        if source.total_rows is not None:
            self.plan.check(source.total_rows)
        source = source.limited(self.plan.limits)
        stages = STAGES if settings.auto_lam else len(settings.path)
        super().__init__(source, settings, options, settings.iterations * stages)
        self.space = source.space
        self._rows_of_data: Rows | None = None

    def _make_engine(self, examples: Examples) -> SparseRFEngine | AutoEngine:
        self.plan = SparseRFPlan.of(self.settings, self.options.memory, len(examples.y))
        self.plan.check(examples.rows)
        rows = self._rows_of_data = self._make_rows(examples)
        check_rows_differ(rows)
        targets, loss = np.atleast_2d(examples.y), self.settings.loss
        held = None
        if self.validation is None:
            held = HeldOut.of(loss, examples.parts, targets, examples.weight)
        spec = self._chosen_features(rows, held, examples.weight)
        if self.options.dropped and spec.factors is None:
            spec = replace(spec, factors=only_these(rows, spec))
        self.space = self.source.space.with_random_features(spec)
        limited = bool(self.plan.memory)
        room = self.plan.columns(examples.rows, rows.bytes) if limited else None
        chooses = self.settings.auto_lam and held is not None
        # The fits that choose have their own columns: half of the room.
        half = None if room is None or not chooses else room // 2
        making = self.plan.making(examples.rows) if limited else None
        family = self._make_family(rows, room if half is None else half, making)
        settings = self.settings
        if settings.auto_lam and held is not None:
            most = self.plan.most_refitted(examples.rows) if limited else None
            return AutoEngine(family, settings, held, self.pool, room=half, most=most)
        if settings.auto_lam and self.validation is not None:
            weights = examples.weight
            settings = replace(settings, lam=lam_path(family, settings, targets, weights, self.pool))
        return SparseRFEngine(family, settings, examples.y, examples.weight, self.pool)

    def _make_rows(self, examples: Examples) -> Rows:
        """The rows, which are read again whenever they are needed if they do not fit in memory."""
        store = examples.store
        if isinstance(store, RowStore):
            return store
        return OutOfCoreRows(self.source, examples.rows, self.options.batch_rows)

    def _make_family(self, rows: Rows, room: int | None, part: int | None) -> RandomFeatureColumns:
        """The columns of random features, see `RandomFeatureColumns`."""
        return RandomFeatureColumns(self.space, rows, self.pool, room=room, part=part)

    def _chosen_features(self, rows: Rows, held: HeldOut | None, weights: Floats) -> RandomFeatureSpec:
        """The random features: their width, and the factors of their inputs."""
        settings, size = self.settings, self.source.space.size
        spec = _feature_spec(settings, 1.0)
        if spec.function is not None:
            return spec
        auto, scale = settings.gamma == "auto", settings.scale
        tails = scale == "log" or (scale == "auto" and auto)
        scales = InputScales.of(rows, weights, tails=tails) if tails or scale == "std" else None
        bases: list[RandomFeatureSpec] = []
        if scales is not None:
            report_constant(self.source.space, scales.factors)
            bases = [scales.spec(spec, rows, weights, logs=logs) for logs in ((True, False) if tails else (False,))]
            if scale == "log" or not scales.heavy:
                del bases[1:]
        if scales is None or (scale == "auto" and comparable(scales.factors)):
            bases.append(replace(spec, gamma=variance_rule(rows, size, weights if auto else None)))
        if not auto:
            number = isinstance(settings.gamma, float | int)
            return replace(bases[0], gamma=float(settings.gamma)) if number else bases[0]
        if held is None:
            return bases[0]
        self.watch.show(phase="choosing gamma")
        return KernelChoice(self.source.space, rows, held, self.pool).best(bases)

    def _wants_parts(self, loss: Loss) -> bool:
        chooses = self.settings.auto_lam or self.settings.gamma == "auto"
        return super()._wants_parts(loss) or (chooses and self.validation is None)

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
        if isinstance(self.engine, AutoEngine):
            return self.engine.fits_all_rows
        # A second solver holds the columns and products of one output, besides those of all.
        rows, problems = self.engine.targets.shape[1], self.engine.problems
        columns, products = ([getattr(p, name) for p in problems] for name in ("column_bytes", "product_bytes"))
        fits = bool(sum(columns) + max(columns) <= self.plan.columns(rows, self._rows_of_data.bytes))
        fits = fits and bool(sum(products) + max(products) <= self.plan.products(rows))
        if not fits:
            log.info("probabilities are not calibrated: `memory` has no room for a second fit; increase `memory`")
        return fits

    def _selection(self, found: Found, *, final: bool = True) -> Selection:
        assert self.examples is not None
        return found.selection(
            self._names_of(found.keys) if final else None,
            classes=self.examples.classes,
            multilabel=self.source.multilabel,
            space=self.space,
            settings={"method": METHOD, **self.settings.to_dict(), **self._chosen()},
            origin=Origin.of(self.source, fingerprint=final and not self.options.from_estimator),
            facts={
                "rows": self.examples.rows,
                "iterations": self.rounds,
                "skipped": self.examples.skipped,
                "plan": self._memory_held(),
            },
        )

    def _chosen(self) -> dict[str, Any]:
        """What the held-out rows chose."""
        spec, settings = self.space.random_features, self.settings
        assert spec is not None
        chosen: dict[str, Any] = dict(getattr(self.engine, "chosen", {}))
        if settings.gamma == "auto" and spec.function is None:
            chosen |= {"gamma": spec.gamma, "scale": "log" if spec.logs else None if spec.factors is None else "std"}
        return {"chosen": chosen} if chosen else {}

    def _names_of(self, keys: Ids) -> list[str]:
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
        """The bytes that each part holds; ``working`` is the rest of a limited memory, which an iteration may use."""
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
        if self.plan.memory:
            parts["working"] = max(0, self.plan.memory - sum(parts.values()))
        return {"memory": self.plan.memory, **parts, "total": sum(parts.values())}

    def _method_identity(self) -> dict[str, Any]:
        own = None if isinstance(self.settings.kernel, str) else self.settings.kernel.name
        return {"method": METHOD, "functions": own}

    def _counts(self) -> dict[str, Any]:
        counts = super()._counts()
        if self.engine is None or not self.engine.path:
            return counts
        last = self.engine.path[-1]
        score = f", held-out score {last['score']:.4g}" if "score" in last else ""
        return {**counts, "detail": f"round {self.rounds}, {last['features']:.0f} functions{score}"}

    def _scored(self) -> bool:
        assert self.engine is not None
        return self.engine.stage_done


def _feature_spec(settings: SparseRFSettings, gamma: float) -> RandomFeatureSpec:
    """The random features of the settings, with this width of the kernel."""
    if isinstance(settings.kernel, str):
        return RandomFeatureSpec(settings.kernel, gamma, settings.seed, settings.q)
    return settings.kernel.spec(settings.seed)
