"""Say where the memory would go, without learning anything.

Example: `thresher plan clicks.vw.gz -k 100000 --memory 64MB`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.common import (
    Active,
    Data,
    Format,
    Interactions,
    Memory,
    Method,
    Sketch,
    one_or_many,
    sketch_shape,
    which_interactions,
)
from thresher.cli.sequences import with_sequences

if TYPE_CHECKING:
    from thresher.fgm.memory_plan import FGMPlan
    from thresher.online.memory_plan import Plan
    from thresher.sparse_rf.memory_plan import SparseRFPlan


@with_sequences
def plan(
    data: Data,
    k: Annotated[
        int | None, typer.Option("-k", "--features", help="How many features to keep; sparse-rf does without.")
    ] = None,
    method: Method = "mission",
    memory: Memory = None,
    sketch: Sketch = None,
    active: Active = "exact",
    interactions: Interactions = None,
    format: Format = None,
    B: Annotated[
        int | None, typer.Option("--B", help="fgm: features proposed at a time; a tenth of k unless given.")
    ] = None,
    draws: Annotated[int | None, typer.Option(help="sparse-rf: functions drawn at a time; 100 unless given.")] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="b-arda, b-amd: source, or a file with the indices of a group on each line.", metavar="source|PATH"
        ),
    ] = None,
    *,
    sequences: dict[str, Any],
) -> None:
    from thresher.core.feature_space import Products
    from thresher.fgm.memory_plan import FGMPlan
    from thresher.report.plans import print_fgm_plan, print_plan, print_rf_plan
    from thresher.sources.registry import as_source
    from thresher.sources.transforms.interactions import Interactions as Formed
    from thresher.sparse_rf.memory_plan import SparseRFPlan

    products = Products.of(which_interactions(interactions))
    own = {"sketch": sketch_shape(sketch), "B": B, "draws": draws, "groups": groups}
    source = as_source(one_or_many(data), format=format, **sequences)
    made = _planned(
        method,
        k,
        memory,
        active,
        {name: value for name, value in own.items() if value is not None},
        named=not source.space.invertible,
        products=products is not None,
    )
    source = source.limited(made.limits)
    if products is not None:
        source = Formed.over(source, products).limited(made.limits)
    for _ in source.batches(1, want_labels=False):
        break  # the first row shows that the files open and that a decompressor fits
    if isinstance(made, FGMPlan):
        print_fgm_plan(made, k or 0, source)
    elif isinstance(made, SparseRFPlan):
        print_rf_plan(made, source)
    else:
        print_plan(made, k or 0, source)


def _planned(
    method: str,
    k: int | None,
    memory: str | None,
    active: str,
    own: dict[str, Any],
    *,
    named: bool,
    products: bool,
) -> Plan | FGMPlan | SparseRFPlan:
    """The plan of a method, which may have been given ``own`` settings."""
    from thresher.errors import SettingsError
    from thresher.fgm.memory_plan import FGMPlan
    from thresher.fgm.settings import METHODS as FGM
    from thresher.fgm.settings import FGMSettings
    from thresher.online.fitted import Options
    from thresher.online.memory_plan import plan_for
    from thresher.sparse_rf.memory_plan import SparseRFPlan
    from thresher.sparse_rf.settings import METHOD as SPARSE_RF
    from thresher.sparse_rf.settings import SparseRFSettings

    known = {"B"} if method in FGM else {"draws"} if method == SPARSE_RF else {"sketch", "groups"}
    if strange := sorted(own.keys() - known):
        raise SettingsError(f"{method} has no {strange[0]}: leave out --{strange[0]}")
    if method == SPARSE_RF:
        return SparseRFPlan.of(SparseRFSettings(k=k, **own).draws, memory)
    if k is None:
        raise SettingsError("k is the number of features to keep: give one")
    if method in FGM:
        return FGMPlan.of(FGMSettings(k=k, **own), memory)
    settings = Options(k=k, method=method, active=active, keep_names=named, **own).settings()
    return plan_for(settings, memory, products=products)
