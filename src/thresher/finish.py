"""The end of a run: its selection, scores and warnings, the file it is saved to, and what an interrupt leaves."""

from __future__ import annotations

import logging
import os

from thresher.errors import UnwritableError
from thresher.run import Run
from thresher.selection.data_warnings import WarningList, leak_warnings
from thresher.selection.scoring import evaluate
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.files.changes import FilesAtStart

log = logging.getLogger(__name__)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a fit; ``selection`` is the result up to then (None before two classes were seen).

    ``saved`` is the path of the checkpoint, if it was written.
    """

    selection: Selection | None = None
    saved: str | None = None


def finish(
    run: Run,
    held: Source | None,
    output: str | os.PathLike[str] | None,
    warnings: WarningList | None = None,
    rows: Source | None = None,
    files: FilesAtStart | None = None,
) -> Selection:
    """Run to the end, score on the held-out rows, look for leaks in ``rows``, save, and remove the checkpoint.

    Files that have changed since the start are a warning: they do not undo a fit of hours.
    """
    checkpoint = run.options.checkpoint
    try:
        run.run()
    except KeyboardInterrupt:
        raise _interrupted(run, run.selection() if run.usable else None) from None
    try:
        selection = run.selection()
        if held is not None:
            scored = run.watched(run.limited(held), "scoring held-out rows")
            selection.provenance["test"] = evaluate(selection, scored)
        if warnings is not None and rows is not None:
            warnings.add(leak_warnings(selection, run.limited(rows), run.watch))
            warnings.add(files.warnings() if files is not None else ())
            warnings.keep(selection)
    except KeyboardInterrupt:  # in a refit, or in a pass over the data for names, scores or leaks
        run.save()
        raise _interrupted(run, None) from None
    if output is not None:
        try:
            selection.save(output)
        except UnwritableError as error:
            error.selection = selection
            run.save()  # repeating the fit with another output then starts from here
            raise
    if run.unsaved is not None:
        log.warning("The fit is complete, but its last checkpoint was not written: %s", run.unsaved)
    if checkpoint is not None and os.path.exists(checkpoint):
        os.unlink(checkpoint)
    return selection


def _interrupted(run: Run, selection: Selection | None) -> Interrupted:
    interrupted = Interrupted(f"stopped after {run.amount}")
    interrupted.selection = selection
    checkpoint = run.options.checkpoint
    if checkpoint is not None and run.unsaved is None and os.path.exists(checkpoint):
        interrupted.saved = os.fspath(checkpoint)
    return interrupted
