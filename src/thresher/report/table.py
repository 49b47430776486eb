"""The named features and the plan as tables."""

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
    """The strongest features, and what there is to say about the whole; ``run`` is where its fit ended."""
    columns = selection.columns()
    shown = len(selection) if top is None else min(top, len(selection))
    rows = [[_cell(name, values[row]) for name, values in columns.items()] for row in range(shown)]
    more = [f"… and {len(selection) - shown} more"] if shown < len(selection) else []
    told = facts(selection, run, saved)
    if sys.stdout.isatty():
        _print_styled(list(columns), rows, more, told)
    else:  # into a file or a pipe: nothing is folded, and what makes it pretty is not even loaded
        print("\n".join([*_aligned(list(columns), rows), *more, "", *(f"{what:<12} {value}" for what, value in told)]))


def _print_styled(header: list[str], rows: list[list[str]], more: list[str], told: list[tuple[str, str]]) -> None:
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
    for what, value in told:
        console.print(f"[bold]{what:<12}[/bold] {escape(value)}", soft_wrap=True, highlight=False)


def _aligned(header: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of columns, names to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    sides = ["<" if name == "name" else ">" for name in header]
    shape = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    return [shape.format(*row).rstrip() for row in [header, *rows]]


def facts(selection: Selection, run: Progress | None, saved: str | None) -> list[tuple[str, str]]:
    """What is said below the table: (what, value)."""
    provenance, plan = selection.provenance, selection.provenance.get("plan", {})
    asked = selection.settings.get("k", len(selection))
    told = [("features", f"{_found(selection, asked)}, {selection.named} of {len(selection)} named")]
    if "groups" in provenance:
        kept = provenance["groups"]
        told.append(("groups", ", ".join(map(str, kept[:_GROUPS_SHOWN])) + (" …" if len(kept) > _GROUPS_SHOWN else "")))
    if provenance.get("approximate"):
        since = provenance.get("exact_steps")
        told.append(
            (
                "approximate",
                "features that are not kept share cells of a sketch"
                + (f" since {since:,} steps, when the memory was full: more memory keeps it exact" if since else ""),
            )
        )
    if selection.classes is not None:
        labels = [f"{label:g}" if isinstance(label, float) else label for label in selection.classes]
        told.append(("classes", f"a positive weight speaks for {labels[-1]}, not {labels[0]}"))
    if "rows" in provenance:
        told.append(("learned", f"{provenance['rows']:,} rows of {provenance.get('data')}{_skipped(provenance)}"))
    if "search" in provenance:
        told.append(("searched", format_search_stats(provenance["search"])))
    for name, key in (("progressive", "progressive"), ("held out", "test")):
        if provenance.get(key):
            told.append((name, show_scores(provenance[key])))
    if run is not None:
        allowed = show_size(plan["memory"]) if plan["memory"] else "any"
        planned = show_size(plan["total"])
        if "seen" in provenance and not plan["seen"]:
            seen = provenance["seen"]
            planned += f" and {show_size(seen['bytes'])} for the {seen['features']:,} features seen"
        told.append(("memory", f"{allowed} allowed, {planned} planned, {show_size(run.grown)} taken"))
        told.append(("time", f"{run.seconds:.2f} s, {run.rows / max(run.seconds, 1e-9):,.0f} {run.unit}/s"))
    if saved is not None:
        told.append(("saved", saved))
    return told


#: Groups that are named.
_GROUPS_SHOWN = 20


def _found(selection: Selection, asked: int | None) -> str:
    """How many features there are, of how many of what was asked for."""
    n = len(selection)
    if asked is None:
        return f"{n}"
    if "groups" in selection.provenance:
        return f"{n} in {len(selection.provenance['groups'])} of {asked} groups asked for"
    if n <= asked:
        return f"{n} of {asked} asked for"
    each = selection.settings.get("per_class")
    return f"{n}, {asked} asked for each class" if each else f"{n} in the {asked} groups asked for"


#: Scores whose names people write otherwise.
_WRITTEN = {"auc": "AUC", "rmse": "RMSE", "r2": "R²", "micro_f1": "micro F1", "macro_f1": "macro F1"}


def show_scores(scores: dict[str, float | None]) -> str:
    """Scores as a line: ``accuracy 0.9120, AUC 0.9610, log loss 0.2100 (2,027 rows)``."""
    told = [
        f"{_WRITTEN.get(name, name.replace('_', ' '))} {_number(scores[name])}" for name in scores if name != "rows"
    ]
    return ", ".join(told) + (f" ({scores['rows']:,} rows)" if "rows" in scores else "")


def _cell(column: str, value: object) -> str:
    if column.startswith(("weight", "bound")):
        return f"{value:.6g}"
    return str(value)


def _number(value: float | None) -> str:
    if value is None:  # what a file has in its place
        return "not finite"
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


#: Files with bad lines that are named.
_FILES_SHOWN = 5


def _skipped(provenance: dict[str, Any]) -> str:
    if not provenance.get("skipped"):
        return ""
    files: dict[str, int] = provenance.get("skipped_files", {})
    most = sorted(files.items(), key=lambda file: -file[1])
    shown = ", ".join(f"{count} of {name}" for name, count in most[:_FILES_SHOWN]) if len(files) > 1 else ""
    more = f" and {len(files) - _FILES_SHOWN} files more" if len(files) > _FILES_SHOWN else ""
    return f" ({provenance['skipped']} bad lines skipped{': ' if shown else ''}{shown}{more})"
