"""The report of a selection: the table of features, and a summary below it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from thresher.columns.types import format_search_stats
from thresher.core.memory import show_size
from thresher.core.progress import Progress

if TYPE_CHECKING:
    from thresher.selection.selection import Selection


def print_selection(
    selection: Selection, *, top: int | None = None, run: Progress | None = None, saved: str | None = None
) -> None:
    """Print the strongest features and a summary; ``run`` is the last progress of the fit."""
    columns = selection.columns()
    shown = len(selection) if top is None else min(top, len(selection))
    rows = [[_cell(name, values[row]) for name, values in columns.items()] for row in range(shown)]
    more = [f"… and {len(selection) - shown} more"] if shown < len(selection) else []
    lines = summary(selection, run, saved)
    if sys.stdout.isatty():
        _print_styled(list(columns), rows, more, lines)
    else:  # into a file or a pipe: lines are not folded, and rich is not imported
        print("\n".join([*_aligned(list(columns), rows), *more, "", *(f"{name:<12} {value}" for name, value in lines)]))


def _print_styled(header: list[str], rows: list[list[str]], more: list[str], lines: list[tuple[str, str]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in header:
        table.add_column(name, justify="left" if name == "name" else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
    for line in more:
        console.print(line)
    console.print()
    for name, value in lines:
        console.print(f"[bold]{name:<12}[/bold] {escape(value)}", soft_wrap=True, highlight=False)


def _aligned(header: list[str], rows: list[list[str]]) -> list[str]:
    """The table as lines, with names aligned left and numbers right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    sides = ["<" if name == "name" else ">" for name in header]
    shape = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    return [shape.format(*row).rstrip() for row in [header, *rows]]


def summary(selection: Selection, run: Progress | None, saved: str | None) -> list[tuple[str, str]]:
    """The lines below the table, as pairs of a name and a value."""
    provenance, plan = selection.provenance, selection.provenance.get("plan", {})
    requested = selection.settings.get("k", len(selection))
    named = f", {selection.named} of {len(selection)} named" if len(selection) else ""
    lines = [("features", f"{_found(selection, requested)}{named}")]
    if "groups" in provenance:
        kept = provenance["groups"]
        more = " …" if len(kept) > _GROUPS_SHOWN else ""
        lines.append(("groups", ", ".join(map(str, kept[:_GROUPS_SHOWN])) + more))
    if provenance.get("approximate"):
        since = provenance.get("exact_steps")
        when = f" since step {since:,}, when the memory was full: with more memory the fit is exact" if since else ""
        lines.append(("approximate", f"features outside the table share cells of a sketch{when}"))
    if selection.classes is not None:
        labels = [f"{label:g}" if isinstance(label, float) else label for label in selection.classes]
        lines.append(("classes", f"a positive weight is evidence for {labels[-1]}, against {labels[0]}"))
    if "rows" in provenance:
        lines.append(("learned", f"{provenance['rows']:,} rows of {provenance.get('data')}{_skipped(provenance)}"))
    if "search" in provenance:
        lines.append(("searched", format_search_stats(provenance["search"])))
    for name, key in (("progressive", "progressive"), ("held out", "test")):
        if provenance.get(key):
            lines.append((name, show_scores(provenance[key])))
    if run is not None:
        allowed = show_size(plan["memory"]) if plan["memory"] else "any"
        planned = show_size(plan["total"])
        if "seen" in provenance and not plan["seen"]:
            seen = provenance["seen"]
            planned += f" and {show_size(seen['bytes'])} for the {seen['features']:,} features seen"
        lines.append(("memory", f"{allowed} allowed, {planned} planned, {show_size(run.grown)} used"))
        lines.append(("time", f"{run.seconds:.2f} s, {run.rows / max(run.seconds, 1e-9):,.0f} {run.unit}/s"))
    if saved is not None:
        lines.append(("saved", saved))
    return lines


#: The most groups to list.
_GROUPS_SHOWN = 20


def _found(selection: Selection, requested: int | None) -> str:
    """The number of features found, and of features or groups requested."""
    n = len(selection)
    if n == 0:
        asked = "" if requested is None else f" of {requested} requested"
        return f"none{asked}: every prediction is the intercept alone"
    if requested is None:
        return f"{n}"
    if "groups" in selection.provenance:
        return f"{n} in {len(selection.provenance['groups'])} of {requested} groups requested"
    if n <= requested:
        return f"{n} of {requested} requested"
    each = selection.settings.get("per_class")
    return f"{n}, {requested} requested for each class" if each else f"{n} in the {requested} groups requested"


#: Scores whose names are usually written otherwise.
_DISPLAY_NAMES = {"auc": "AUC", "rmse": "RMSE", "r2": "R²", "micro_f1": "micro F1", "macro_f1": "macro F1"}


def show_scores(scores: dict[str, float | None]) -> str:
    """Scores as a line: ``accuracy 0.9120, AUC 0.9610, log loss 0.2100 (2,027 rows)``."""
    names = [name for name in scores if name != "rows"]
    parts = [f"{_DISPLAY_NAMES.get(name, name.replace('_', ' '))} {_number(scores[name])}" for name in names]
    return ", ".join(parts) + (f" ({scores['rows']:,} rows)" if "rows" in scores else "")


def _cell(column: str, value: object) -> str:
    if column.startswith(("weight", "bound")):
        return f"{value:.6g}"
    return str(value)


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
    shown = ", ".join(f"{count} of {name}" for name, count in by_count[:_FILES_SHOWN]) if len(files) > 1 else ""
    more = f" and {len(files) - _FILES_SHOWN} files more" if len(files) > _FILES_SHOWN else ""
    return f" ({provenance['skipped']} malformed lines skipped{': ' if shown else ''}{shown}{more})"
