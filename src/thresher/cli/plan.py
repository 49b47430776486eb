"""Say where the memory would go, without learning anything.

Example: `thresher plan clicks.vw.gz -k 100000 --memory 64MB`
"""

from __future__ import annotations

from thresher.cli.common import Data, Features, Format, Memory, one_or_many


def plan(data: Data, k: Features, memory: Memory = "64MB", format: Format = None) -> None:
    from thresher.memory import make_plan
    from thresher.report.table import print_plan
    from thresher.sources.scan import as_source

    made = make_plan(k, memory)
    source = as_source(one_or_many(data), format=format).limited(made.limits)
    for _ in source.batches(1, want_labels=False):
        break  # the first row shows that the files open and that a decompressor fits
    print_plan(made, k, source)
