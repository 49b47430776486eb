"""Say where the memory would go, without learning anything.

Example: `thresher plan clicks.vw.gz -k 100000 --memory 64MB`
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.common import (
    Active,
    Data,
    Features,
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


@with_sequences
def plan(
    data: Data,
    k: Features,
    method: Method = "mission",
    memory: Memory = None,
    sketch: Sketch = None,
    active: Active = "exact",
    interactions: Interactions = None,
    format: Format = None,
    B: Annotated[
        int | None, typer.Option("--B", help="fgm: features proposed at a time; a tenth of k unless given.")
    ] = None,
    *,
    sequences: dict[str, Any],
) -> None:
    from thresher.errors import SettingsError
    from thresher.fitting import plan_for
    from thresher.memory import Plan
    from thresher.online.settings import OnlineSettings
    from thresher.report.table import print_fgm_plan, print_plan
    from thresher.sources.interactions import Interactions as Formed
    from thresher.sources.scan import as_source
    from thresher.space import Products
    from thresher.working_set.plan import FGMPlan
    from thresher.working_set.rf_settings import METHOD as SPARSE_RF
    from thresher.working_set.settings import METHODS, FGMSettings

    products = Products.of(which_interactions(interactions))
    made: Plan | FGMPlan
    if method in METHODS:
        if sketch is not None:
            raise SettingsError("fgm has no sketch: leave out --sketch")
        made = FGMPlan.of(FGMSettings(k=k, B=B), memory)
    elif method == SPARSE_RF:
        raise SettingsError("sparse-rf plans once it knows the rows: thresher select --memory says what they need")
    elif B is not None:
        raise SettingsError(f"{method} proposes nothing: leave out --B")
    else:
        settings = OnlineSettings(k=k, method=method, sketch=sketch_shape(sketch), active=active)
        made = plan_for(settings, memory, products=products is not None)
    source = as_source(one_or_many(data), format=format, **sequences).limited(made.limits)
    if products is not None:
        source = Formed.over(source, products).limited(made.limits)
    for _ in source.batches(1, want_labels=False):
        break  # the first row shows that the files open and that a decompressor fits
    if isinstance(made, Plan):
        print_plan(made, k, source)
    else:
        print_fgm_plan(made, k, source)
