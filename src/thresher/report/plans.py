"""Memory plans as tables."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thresher.core.memory import PlanReport, show_size
from thresher.sources.base import Source


def print_plan(plan: PlanReport, source: Source) -> None:
    """Print where the memory would go, and what the data is."""
    console = Console()
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("part")
    table.add_column("memory", justify="right")
    table.add_column("what it is")
    for name, size, what in plan.parts:
        if size:
            table.add_row(name, show_size(size), what)
    console.print(table)
    stored = source.total_bytes
    console.print()
    console.print(f"data         {escape(source.describe())}" + (f", {show_size(stored)} stored" if stored else ""))
    console.print(f"features     {source.space}", markup=False)
    if source.held_bytes:  # known once the first row was read
        console.print(f"held         {show_size(source.held_bytes)} of sequences to sample fragments from")
    for title, note in plan.notes:
        console.print(f"{title:<12} {note}")
