"""Show how a fit would use its memory, without learning.

Example: `thresher plan clicks.vw.gz -k 100000 --memory 64MB`
"""

from __future__ import annotations

from typing import Any

from thresher.cli.main import one_or_many
from thresher.cli.method_options import with_method_options
from thresher.cli.options import (
    Data,
    Fdr,
    Features,
    Format,
    Interactions,
    Memory,
    Method,
    Pairs,
    Splits,
    StandIns,
    which_interactions,
    whole_or_word,
)
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
    fdr: Fdr = None,
    splits: Splits = None,
    stand_ins: StandIns = None,
    stability: Pairs = None,
    *,
    settings: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    from thresher.choose_k import check_k_max
    from thresher.methods import get_method, split_settings
    from thresher.report.plans import print_plan
    from thresher.run import RunOptions
    from thresher.sources.registry import as_source
    from thresher.trust.memory_plan import with_tests
    from thresher.trust.settings import ErrorControl
    from thresher.trust.stability.memory_plan import with_halves
    from thresher.trust.stability.settings import Stability
    from thresher.trust.stand_ins import StandInSearch, with_search
    from thresher.working_set.run import with_interactions

    spec = get_method(method)
    own, _ = split_settings(method, settings)
    most = check_k_max(None if k is None else whole_or_word(k), own.pop("k_max", None))
    method_settings = spec.make_settings(method=method, k=most, loss=spec.loss, **own)
    options = RunOptions(
        memory=memory,
        workers=own.get("workers", 1),
        interactions=which_interactions(interactions) if interactions else 1,
    )
    source = as_source(one_or_many(data), format=format, **reading)
    made = spec.make_plan(method_settings, options, source)
    made = with_tests(made, ErrorControl.of(fdr, splits, method), spec, method_settings, options)
    made = with_search(made, StandInSearch.of(stand_ins, False, method), memory)
    made = with_halves(made, Stability.of(stability, None, method, fdr=fdr), spec, method_settings, options)
    source = with_interactions(source.limited(made.limits), options).limited(made.limits)
    for _ in source.batches(1, want_labels=False):
        break  # checks that the files can be opened and that a decompressor fits
    print_plan(made, source)
