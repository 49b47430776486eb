"""Say where the memory would go, without learning anything.

Example: `thresher plan clicks.vw.gz -k 100000 --memory 64MB`
"""

from __future__ import annotations

from typing import Any

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
    *,
    sequences: dict[str, Any],
) -> None:
    from thresher.fitting import plan_for
    from thresher.online.settings import OnlineSettings
    from thresher.report.table import print_plan
    from thresher.sources.interactions import Interactions as Formed
    from thresher.sources.scan import as_source
    from thresher.space import Products

    settings = OnlineSettings(k=k, method=method, sketch=sketch_shape(sketch), active=active)
    products = Products.of(which_interactions(interactions))
    made = plan_for(settings, memory, products=products is not None)
    source = as_source(one_or_many(data), format=format, **sequences).limited(made.limits)
    if products is not None:
        source = Formed.over(source, products).limited(made.limits)
    for _ in source.batches(1, want_labels=False):
        break  # the first row shows that the files open and that a decompressor fits
    print_plan(made, k, source)
