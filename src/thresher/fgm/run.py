"""A fit of the Feature Generating Machine: from a source to the selected features."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.out_of_core import OutOfCoreColumns
from thresher.columns.row_store import RowStore
from thresher.columns.sharded import ShardedColumns, Shards
from thresher.columns.types import Family, Floats, Ids, format_search_stats
from thresher.errors import SettingsError
from thresher.fgm.choice import LEAST_ROWS, MOST_ROWS, Choice, choose
from thresher.fgm.engine import FGMEngine
from thresher.fgm.families.column_selector import check_names
from thresher.fgm.families.parse import as_family_spec
from thresher.fgm.memory_plan import FGMPlan
from thresher.fgm.settings import FGMSettings
from thresher.run import Origin, RunOptions
from thresher.selection.names import names_of_terms
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.cache.cached import Cached
from thresher.sources.registry import is_file_source
from thresher.working_set.dataset import Examples
from thresher.working_set.result import Found
from thresher.working_set.run import WorkingSetRun, with_interactions

log = logging.getLogger(__name__)


class FGMRun(WorkingSetRun[FGMEngine]):
    """A fit of the Feature Generating Machine over a family of features."""

    settings: FGMSettings

    def __init__(self, source: Source, settings: FGMSettings, options: RunOptions) -> None:
        source = with_interactions(source, options)
        spec = as_family_spec(settings.family)
        self._names = () if spec is None else spec.column_names()
        self._searched: dict[str, int] = {}
        if spec is not None:
            spec = spec.resolve(source.space)
            spec.check(source.space.size, settings.k)
        elif source.space.size is not None and settings.k > source.space.size and not options.from_estimator:
            raise SettingsError(f"k must be at most {source.space.size}, the number of columns, got {settings.k}")
        self.plan = FGMPlan.of(settings, options.memory)
        if source.total_rows is not None:
            self.plan.check(source.total_rows)
        self._spec = spec
        self.choice: Choice | None = None
        super().__init__(source.limited(self.plan.limits), settings, options, -(-settings.k // settings.proposed(1)))

    def _make_engine(self, examples: Examples) -> FGMEngine:
        self.plan = FGMPlan.of(self.settings, self.options.memory, len(examples.y))
        self.plan.check(examples.rows)
        check_names(self._names, self.source)
        self._choose(examples)
        return self._engine(self._family(examples), self.settings, examples.weight)

    def _engine(self, family: Family, settings: FGMSettings, weights: Floats) -> FGMEngine:
        assert self.examples is not None
        multilabel = self.source.multilabel
        keep = np.array(sorted(self.options.keep.values()), np.uint64)
        return FGMEngine(family, settings, self.examples.y, weights, self.pool, multilabel=multilabel, keep=keep)

    def _choose(self, examples: Examples) -> None:
        """Choose the settings that are ``auto``: on held-out rows, if the columns are in memory and not too many."""
        if not self.settings.chooses:
            return
        linear = self._spec is None and self.settings.solver == "apg"
        if linear and examples.store is not None and LEAST_ROWS <= examples.rows <= MOST_ROWS:
            self.watch.show(phase="choosing C, scale and refit")
            self.choice = choose(
                self.settings,
                examples,
                family=lambda settings: self._family(examples, settings),
                engine=self._engine,
                may_refit=self._fits_refit,
                # Workers have a scan for each engine, and remember what one of them loaded.
                together=1 if isinstance(examples.store, Shards) else self.plan.engines(examples.rows),
            )
            self._calibrated_before = None if self.choice is None else self.choice.calibration
        self.settings = self.settings.fixed() if self.choice is None else self.choice.settings
        log.info("%s", self.settings.describe())

    def _family(self, examples: Examples, settings: FGMSettings | None = None) -> Family:
        power = (settings or self.settings).power
        if isinstance(examples.store, Shards):
            shards = examples.store
            return ShardedColumns(shards, power) if self._spec is None else self._spec.build_sharded(shards, power)
        if examples.store is not None:
            assert not isinstance(examples.store, RowStore)
            total = float(examples.weight.sum())
            stored = InMemoryColumns(
                examples.store, self.pool, power=power, total=total, weights=examples.weight, source=self.source
            )
            return stored if self._spec is None else self._spec.build(stored)
        if _parsed_again(self.source):
            log.warning(
                "the columns do not fit into memory, so every iteration parses %s again: pass `cache=True` to "
                "parse it only once",
                self.source.describe(),
            )
        memory = self.plan.columns(examples.rows)
        if self._spec is not None:
            blocks = ColumnBlocks(
                self.source,
                self._features,
                self.pool,
                memory=memory,
                power=power,
                weights=examples.weight,
                batch_rows=self.options.batch_rows,
                on_batch=lambda batch: self._show_progress(),
            )
            return self._spec.build_blocked(blocks)
        return OutOfCoreColumns(
            self.source,
            examples.rows,
            memory=memory,
            power=power,
            weights=examples.weight,
            batch_rows=self.options.batch_rows,
            on_batch=lambda batch: self._show_progress(),
        )

    def part_fits(self, show: Callable[[], None]) -> Callable[[NDArray[np.bool_]], NDArray[np.uint64]]:
        """What selects features from some rows alone: over the same columns, with the settings of the fit of all rows.

        Other rows weigh nothing. C is divided by the share of the rows, so that each weighs the same as before. The
        engine of this run is given up, since the memory need not hold two. ``show`` is called after each iteration.
        """
        assert self.engine is not None
        assert self.examples is not None
        family, weight, self.engine = self.engine.family, self.examples.weight, None
        filled = self.settings.penalty is not None  # a refit has a use for features without a weight

        def fit(rows: NDArray[np.bool_]) -> NDArray[np.uint64]:
            of_part = np.where(rows, weight, 0.0)
            loss_weight = self.settings.loss_weight * float(weight.sum() / of_part.sum())
            # The dual solver of `mkl` divides by the weights, and has the same solutions.
            settings = replace(self.settings, C=loss_weight, refit=False, solver="apg", repeat=self.settings.repeat)
            engine = self._engine(family, settings, of_part)
            while engine.step():
                show()
            keys = engine.found().keys
            if not filled:
                return keys
            more = family.features(engine.filled())[1]
            return np.concatenate([keys, np.sort(more[~np.isin(more, keys)])])[: max(self.settings.k, len(keys))]

        return fit

    def _room(self) -> Callable[[int], int] | None:
        return self.plan.columns if self.plan.memory else None

    def _check_rows(self, rows: int) -> None:
        self.plan.check(rows)  # for one output; _make_engine checks all outputs

    def _check_round(self) -> None:
        assert self.engine is not None
        assert self.examples is not None
        if self.examples.store is None:
            self.release_buffers()  # the sums of this round's passes, before those of the next
        self.plan.check_selected(self.engine.targets.shape[1], self.engine.bytes)
        searched = self.engine.family.search_stats()
        if searched:
            before, self._searched = self._searched, searched
            new = {name: count - before.get(name, 0) for name, count in searched.items()}
            log.info("iteration %d: %s", self.rounds, format_search_stats(new))

    def _fits_refit(self, engine: FGMEngine) -> bool:
        """Whether the memory allows a second fit of an engine's features."""
        # A second solver holds the columns and products of one output, besides those of all.
        rows, outputs = engine.targets.shape[1], self.plan.outputs
        taken = engine.bytes + (engine.bytes + rows * self.plan.product_bytes) // outputs
        return not self.plan.memory or taken <= self.plan.selected(rows)

    def _may_refit(self) -> bool:
        assert self.engine is not None
        fits = self._fits_refit(self.engine)
        if not fits:
            log.info("probabilities are not calibrated: `memory` has no room for a second fit; increase `memory`")
        return fits

    def _selection(self, found: Found, *, final: bool = True) -> Selection:
        assert self.engine is not None
        assert self.examples is not None
        family = self.engine.family
        expansion = family.expansion(found.keys)
        searched = family.search_stats()
        return found.selection(
            self._names_of(found.keys) if final else None,
            classes=self.examples.classes,
            multilabel=self.source.multilabel,
            space=self.source.space if expansion is None else self.source.space.expanded(expansion),
            settings={
                "method": "fgm",
                **self.settings.to_dict(),
                **({"keep": list(self.options.keep)} if self.options.keep else {}),
            },
            origin=Origin.of(self.source, fingerprint=final and not self.options.from_estimator),
            facts={
                "rows": self.examples.rows,
                "iterations": self.rounds,
                "skipped": self.examples.skipped,
                "plan": self.plan.to_dict(self.examples.rows, family.bytes, self.engine.bytes),
                **({"search": searched} if searched else {}),
                **({} if self.choice is None else {"choice": self.choice.facts}),
                **self.options.facts,
            },
        )

    def _names_of(self, keys: Ids) -> list[str]:
        assert self.engine is not None
        expansion = self.engine.family.expansion(keys)
        names = names_of_terms(self.watched(self.source, "naming features"), keys, expansion)
        unseen = {f"#{key}": name for name, key in self.options.keep.items()}  # no row gave their names
        return [unseen.get(name, name) for name in names]

    def _method_identity(self) -> dict[str, Any]:
        keep = {"keep": sorted(self.options.keep)} if self.options.keep else {}
        return {**keep, "method": "fgm", "family": "linear" if self._spec is None else self._spec.fingerprint()}


def _parsed_again(source: Source) -> bool:
    """Whether every pass over the source parses text, so that a cache would pay."""
    inner: Any = source
    while not isinstance(inner, Cached) and hasattr(inner, "source"):
        inner = inner.source
    return not isinstance(inner, Cached) and is_file_source(source)
