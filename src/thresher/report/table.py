"""The report of a selection: the table of features, and a summary below it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from thresher.columns.types import format_search_stats
from thresher.core.memory import show_size
from thresher.core.progress import Progress
from thresher.display import cut, redact, visible

if TYPE_CHECKING:
    from thresher.selection.selection import Selection

#: A table: the header and the cells of each column.
Columns = Sequence[tuple[str, list[str]]]
#: Characters between two columns, the least width of the names, and the most of the name of a class.
_GAP, _MIN_NAME, _MAX_LABEL = 2, 16, 16


def print_selection(
    selection: Selection,
    *,
    top: int | None = None,
    keys: bool = False,
    run: Progress | None = None,
    saved: str | None = None,
) -> None:
    """Print the strongest features and a summary; ``run`` is the last progress of the fit.

    On a terminal the table fits its width: long names are cut, and classes that do not fit are left out. Elsewhere
    names are complete. ``keys`` adds the 64-bit keys.
    """
    shown = len(selection) if top is None else min(top, len(selection))
    columns = [(name, values) for name, values in selection.columns().items() if keys or name != "key"]
    table = [(cut(visible(name)), _cells(name, values[:shown])) for name, values in columns]
    more = [f"… and {len(selection) - shown} more"] if shown < len(selection) else []
    lines = summary(selection, run, saved)
    if sys.stdout.isatty():
        _print_styled(table, more, lines)
    else:  # into a file or a pipe: lines are not folded, and rich is not imported
        print("\n".join([*aligned(table), *more, "", *(f"{name:<12} {value}" for name, value in lines)]))


def _print_styled(table: Columns, more: list[str], lines: list[tuple[str, str]]) -> None:
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console
    from rich.markup import escape

    console = Console(emoji=False)
    fitted, left_out = fit(table, console.width, cell_len)
    if left_out:
        more = [*more, f"{left_out} columns do not fit: inspect --format tsv has them all"]
    header, *rows = aligned(fitted, cell_len, set_cell_size)
    console.print(f"[bold]{escape(header)}[/bold]", soft_wrap=True, highlight=False)
    for line in (*rows, *more, ""):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    for name, value in lines:
        console.print(f"[bold]{name:<12}[/bold] {escape(value)}", soft_wrap=True, highlight=False)


def fit(table: Columns, width: int, length: Callable[[str], int] = len) -> tuple[Columns, int]:
    """The table cut to a width, and the number of columns left out: those of the last classes."""
    fitted = [(cut(name, len("weight_") + _MAX_LABEL), cells) for name, cells in table]

    def room() -> int:
        """The width that the other columns leave for the names."""
        others = [max(map(length, [name, *cells])) for name, cells in fitted if name != "name"]
        return width - sum(others) - _GAP * len(others)

    classes = [at for at, (name, _) in enumerate(fitted) if name.startswith("weight_")]
    while room() < _MIN_NAME and len(classes) > 1:
        del fitted[classes.pop()]
    left = max(_MIN_NAME, room())
    cut_names = [
        (name, [_cut_cells(cell, left, length) for cell in cells] if name == "name" else cells)
        for name, cells in fitted
    ]
    return cut_names, len(table) - len(fitted)


def _cut_cells(name: str, width: int, length: Callable[[str], int]) -> str:
    """A name cut to a number of cells of the terminal; some characters take two, some none."""
    if length(name) <= width:
        return name
    kept = name[: width - 1]
    while length(kept) > width - 1:
        kept = kept[:-1]
    return kept + "…"


def aligned(
    table: Columns, length: Callable[[str], int] = len, pad: Callable[[str, int], str] = str.ljust
) -> list[str]:
    """The table as lines, the header first: names are aligned left, other columns right."""
    columns = []
    for name, cells in table:
        width = max(map(length, [name, *cells]))
        texts = [name, *cells]
        columns.append([pad(s, width) if name == "name" else " " * (width - length(s)) + s for s in texts])
    return [(" " * _GAP).join(row).rstrip() for row in zip(*columns, strict=True)]


def _cells(name: str, values: Any) -> list[str]:
    """A column as text: names without control characters, numbers with their decimal points below each other."""
    if name == "name":
        return [visible(text) for text in values]
    if not name.startswith(("weight", "bound")):
        return [str(value) for value in values]
    texts = [f"{value:.6g}" for value in values]
    behind = [len(text) - len(text.partition(".")[0]) for text in texts]
    most = max(behind, default=0)
    return [text + " " * (most - n) for text, n in zip(texts, behind, strict=True)]


def summary(selection: Selection, run: Progress | None, saved: str | None) -> list[tuple[str, str]]:
    """The lines below the table, as pairs of a name and a value."""
    provenance = selection.provenance
    lines = [("features", _found(selection))]
    if "groups" in provenance:
        kept = provenance["groups"]
        more = " …" if len(kept) > _GROUPS_SHOWN else ""
        lines.append(("groups", ", ".join(map(_short, kept[:_GROUPS_SHOWN])) + more))
    if provenance.get("approximate"):
        since = provenance.get("exact_steps")
        when = f" since step {since:,}, when the memory was full: with more memory the fit is exact" if since else ""
        lines.append(("approximate", f"features outside the table share cells of a sketch{when}"))
    if selection.classes is not None:
        lines.append(("classes", _classes(selection)))
    if "rows" in provenance:
        lines.append(
            ("learned", f"{provenance['rows']:,} rows of {_path(provenance.get('data'))}{_skipped(provenance)}")
        )
    if "search" in provenance:
        lines.append(("searched", format_search_stats(provenance["search"])))
    for name, key in (("progressive", "progressive"), ("held out", "test")):
        if provenance.get(key):
            lines.append((name, show_scores(provenance[key])))
    if provenance.get("progressive") == {}:
        lines.append(("progressive", "no scores: the rows were not in random order"))
    if run is not None:
        lines.append(("memory", memory_line(provenance, run)))
        lines.append(("time", f"{run.seconds:.2f} s, {run.rows / max(run.seconds, 1e-9):,.0f} {run.unit}/s"))
    if saved is not None:
        lines.append(("saved", _path(saved)))
    return lines


def memory_line(provenance: dict[str, Any], run: Progress) -> str:
    """The memory that was allowed, planned and used; where more was used than planned, what for."""
    plan = provenance["plan"]
    allowed = f"{show_size(plan['memory'])} allowed" if plan["memory"] else "no limit set"
    planned, shown = plan["total"], f"{show_size(plan['total'])} planned"
    if "seen" in provenance and not plan["seen"]:
        seen = provenance["seen"]
        planned += seen["bytes"]
        shown += f" and {show_size(seen['bytes'])} for the {seen['features']:,} features seen"
    line = f"{allowed}, {shown}, {show_size(run.grown)} used"
    over = run.grown - planned
    if over <= 0:
        return line
    causes = [f"{show_size(run.mapped)} of program code and mapped files"] if run.mapped else []
    if run.mapped < over:
        causes.append("Python's own objects, and rows larger than a buffer")
    return f"{line}; {show_size(over)} more than planned: {', and '.join(causes)}"


#: The most groups and classes to list.
_GROUPS_SHOWN, _CLASSES_SHOWN = 20, 8


def _found(selection: Selection) -> str:
    """The number of features found, of features or groups requested, and of names."""
    n, requested = len(selection), selection.settings.get("k")
    if n == 0:
        asked = "" if requested is None else f" of {requested} requested"
        return f"none{asked}: every prediction is the intercept alone"
    if (hashing := selection.space.hashing) is not None:
        return f"{n} of {hashing.width} buckets have a weight (k does not limit them); buckets have no names"
    named = f"{selection.named} of {n} named"
    if requested is None:
        return f"{n}, {named}"
    if "groups" in selection.provenance:
        return f"{n} in {len(selection.provenance['groups'])} of {requested} groups requested, {named}"
    if n <= requested:
        return f"{n} of {requested} requested, {named}"
    if selection.settings.get("per_class"):
        return f"{n}, {requested} requested for each class, {named}"
    return f"{n} in the {requested} groups requested, {named}"


def _classes(selection: Selection) -> str:
    """What the sign of a weight means."""
    labels = [_short(label) for label in selection.labels]
    if selection.weights.ndim == 1:
        return f"a positive weight is evidence for {labels[-1]}, against {labels[0]}"
    more = f" and {len(labels) - _CLASSES_SHOWN} more" if len(labels) > _CLASSES_SHOWN else ""
    listed = ", ".join(labels[:_CLASSES_SHOWN]) + more
    return f"{listed}; a positive weight_… is evidence for the class in its name"


def _short(label: object) -> str:
    """A class or group as text, cut."""
    return cut(visible(f"{label:g}" if isinstance(label, float) else str(label)))


def _path(path: object) -> str:
    return visible(redact(str(path)))


#: Scores whose names are usually written otherwise.
_DISPLAY_NAMES = {"auc": "AUC", "rmse": "RMSE", "r2": "R²", "micro_f1": "micro F1", "macro_f1": "macro F1"}


def show_scores(scores: dict[str, float | None]) -> str:
    """Scores as a line: ``accuracy 0.9120, AUC 0.9610, log loss 0.2100 (2,027 rows)``."""
    names = [name for name in scores if name != "rows"]
    parts = [f"{_DISPLAY_NAMES.get(name, name.replace('_', ' '))} {_number(scores[name])}" for name in names]
    return ", ".join(parts) + (f" ({scores['rows']:,} rows)" if "rows" in scores else "")


def _number(value: float | None) -> str:
    if value is None:  # files hold None in place of NaN and infinity
        return "not finite"
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


#: The most files with malformed lines to list.
_FILES_SHOWN = 5


def _skipped(provenance: dict[str, Any]) -> str:
    if not provenance.get("skipped"):
        return ""
    files: dict[str, int] = provenance.get("skipped_files", {})
    by_count = sorted(files.items(), key=lambda file: -file[1])
    shown = ", ".join(f"{count} of {_path(name)}" for name, count in by_count[:_FILES_SHOWN]) if len(files) > 1 else ""
    more = f" and {len(files) - _FILES_SHOWN} files more" if len(files) > _FILES_SHOWN else ""
    return f" ({provenance['skipped']} malformed lines skipped{': ' if shown else ''}{shown}{more})"
