"""The report of a selection that exists: `Selection.report` and ``thresher report``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from thresher.core.memory import Watch
from thresher.core.storage.atomic import check_not_read, check_writable
from thresher.display import shown_path
from thresher.selection.export.bed import kmers_of
from thresher.selection.report.genome import located
from thresher.selection.report.library import check_library, prepare_library
from thresher.selection.report.page import report_data, write_report
from thresher.selection.report.rows import RowViews
from thresher.selection.scoring import evaluate
from thresher.selection.selection import Selection
from thresher.sources.files.paths import PathLike, find_parts
from thresher.sources.registry import as_source
from thresher.sources.transforms.watched import Watched


def make_report(
    selection: Selection,
    data: Any = None,
    y: Any = None,
    *,
    path: str | os.PathLike[str],
    genome: PathLike | Iterable[PathLike] | None = None,
    watch: Watch | None = None,
    **reading: Any,
) -> None:
    """Write the report of a selection; labelled ``data`` adds the views that need rows. See `Selection.report`."""
    check_writable(path)
    check_library()
    if genome is not None:
        kmers_of(selection)  # an error before the data is read
        check_not_read(path, [part.path for part in find_parts(genome)])
    rows, scores, of = None, None, ""
    if data is not None:
        rows = RowViews(selection)
        source = as_source(data, y, like=selection.like, **reading)
        check_not_read(path, source.files())
        prepare_library()
        same = source.describe() == selection.provenance.get("data")
        of = "rows of the data that it was learned from" if same else f"rows of {shown_path(source.describe())}"
        source = source if watch is None else Watched(source, watch, "scoring")
        scores = evaluate(selection, source, observer=rows.add)
        rows.read_again(source)
    places = None if genome is None else located(selection, genome, reading.get("on_error", "stop"))
    write_report(path, report_data(selection, rows=rows, scores=scores, scored_on=of, genome=places))
