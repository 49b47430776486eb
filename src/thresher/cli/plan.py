"""Show how a fit would use its memory, without learning.

Example: `thresher plan clicks.vw.gz -k 100000 --memory 64MB`
"""

from __future__ import annotations

from typing import Any

from thresher.cli.main import one_or_many
from thresher.cli.method_options import with_method_options
from thresher.cli.options import Data, Features, Format, Interactions, Memory, Method, which_interactions
from thresher.cli.reading_options import with_reading_options


@with_reading_options
@with_method_options
def plan(
    data: Data,
    k: Features = None,
    method: Method = "mission",
    memory: Memory = None,
    interactions: Interactions = None,
    format: Format = None,
    *,
    settings: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    from thresher.methods import get_method, split_settings
    from thresher.report.plans import print_plan
    from thresher.run import RunOptions
    from thresher.sources.registry import as_source
    from thresher.working_set.run import with_interactions

    spec = get_method(method)
    own, _ = split_settings(method, settings)
    method_settings = spec.make_settings(method=method, k=k, loss=spec.loss, **own)
    options = RunOptions(memory=memory, interactions=which_interactions(interactions) if interactions else 1)
    source = as_source(one_or_many(data), format=format, **reading)
    made = spec.make_plan(method_settings, options, source)
    source = with_interactions(source.limited(made.limits), options).limited(made.limits)
    for _ in source.batches(1, want_labels=False):
        break  # checks that the files can be opened and that a decompressor fits
    print_plan(made, source)
