"""A fit of the Feature Generating Machine: from a source to the features that are kept."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.out_of_core import OutOfCoreColumns
from thresher.columns.row_store import RowStore
from thresher.columns.types import Family, format_search_stats
from thresher.errors import SettingsError
from thresher.fgm.engine import FGMEngine
from thresher.fgm.families.column_selector import check_names
from thresher.fgm.families.parse import as_family_spec
from thresher.fgm.families.spec import FamilyLike
from thresher.fgm.memory_plan import FGMPlan
from thresher.fgm.settings import FGMSettings
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.cache.cached import Cached
from thresher.sources.registry import is_file_source
from thresher.working_set.answer import make_selection, names_made_of
from thresher.working_set.dataset import Examples
from thresher.working_set.result import Found
from thresher.working_set.run import WorkingSetRun
from thresher.working_set.run_settings import RunSettings

log = logging.getLogger(__name__)


class FGMRun(WorkingSetRun[FGMEngine]):
    """A fit of the Feature Generating Machine, over a family of features."""

    settings: FGMSettings

    def __init__(self, source: Source, settings: FGMSettings, how: RunSettings, family: FamilyLike = "linear") -> None:
        structure = as_family_spec(family)
        self._names = () if structure is None else structure.column_names()
        self._looked_at: dict[str, int] = {}
        if structure is not None:
            structure = structure.resolve(source.space)
            structure.check(source.space.size, settings.k)
        elif source.space.size is not None and settings.k > source.space.size and not how.lenient:
            raise SettingsError(f"k = {settings.k} of {source.space.size} columns: ask for no more than there are")
        self.plan = FGMPlan.of(settings, how.memory)
        if source.total_rows is not None:
            self.plan.check(source.total_rows)
        self._structure = structure
        super().__init__(source.limited(self.plan.limits), settings, how, -(-settings.k // settings.proposed(1)))

    def _make_engine(self, examples: Examples) -> FGMEngine:
        self.plan = FGMPlan.of(self.settings, self.how.memory, len(examples.y))
        self.plan.check(examples.rows)
        check_names(self._names, self.source)
        return FGMEngine(self._family(examples), self.settings, examples.y, examples.weight, self.team)

    def _family(self, examples: Examples) -> Family:
        power = self.settings.power
        if examples.store is not None:
            assert not isinstance(examples.store, RowStore)
            total = float(examples.weight.sum())
            stored = InMemoryColumns(
                examples.store, self.team, power=power, total=total, weights=examples.weight, source=self.source
            )
            return stored if self._structure is None else self._structure.build(stored)
        if _parsed_again(self.source):
            log.warning(
                "the columns do not fit into the memory: every analysis parses %s again. cache=True (--cache) parses "
                "it once and keeps the rows",
                self.source.describe(),
            )
        if self._structure is not None:
            return self._structure.build_blocked(self._blocks(examples))
        return OutOfCoreColumns(
            self.source,
            examples.rows,
            memory=self.plan.columns(examples.rows),
            power=power,
            weights=examples.weight,
            batch_rows=self.how.batch_rows,
            on_batch=lambda batch: self._watch.at(self.rounds),
        )

    def _blocks(self, examples: Examples) -> ColumnBlocks:
        return ColumnBlocks(
            self.source,
            self._watch.features,
            self.team,
            memory=self.plan.columns(examples.rows),
            power=self.settings.power,
            weights=examples.weight,
            batch_rows=self.how.batch_rows,
            on_batch=lambda batch: self._watch.at(self.rounds),
        )

    def _room(self) -> Callable[[int], int] | None:
        return self.plan.columns if self.plan.memory else None

    def _check_rows(self, rows: int) -> None:
        self.plan.check(rows)  # of one output at least; of all of them once they are known

    def _check_round(self) -> None:
        assert self.engine is not None
        self.plan.check_selected(self.engine.targets.shape[1], self.engine.bytes)
        self._log_search(self.engine.family.search_stats())

    def _log_search(self, looked_at: dict[str, int]) -> None:
        """How much of a family an iteration could pass over."""
        if looked_at:
            before, self._looked_at = self._looked_at, looked_at
            new = {name: count - before.get(name, 0) for name, count in looked_at.items()}
            log.info("iteration %d: %s", self.rounds, format_search_stats(new))

    def _selection(self, found: Found, *, told: bool = True) -> Selection:
        assert self.engine is not None
        assert self.examples is not None
        family = self.engine.family
        expansion = family.expansion(found.keys)
        selection = make_selection(
            found,
            self.examples,
            self.source,
            {"method": "fgm", **self.settings.to_dict()},
            names=names_made_of(self.source, found.keys, expansion) if told else None,
            space=None if expansion is None else self.source.space.expanded(expansion),
            rounds=self.rounds,
            plan=self.plan.to_dict(self.examples.rows, family.bytes, self.engine.bytes),
            fingerprint=told and not self.how.lenient,
        )
        if looked_at := family.search_stats():
            selection.provenance["search"] = looked_at
        return selection

    def _method(self) -> dict[str, Any]:
        return {"method": "fgm", "family": "linear" if self._structure is None else self._structure.fingerprint()}


def _parsed_again(source: Source) -> bool:
    """Whether every pass over the source parses it, so that a cache would pay."""
    inner: Any = source
    while not isinstance(inner, Cached) and hasattr(inner, "source"):
        inner = inner.source
    return not isinstance(inner, Cached) and is_file_source(source)
