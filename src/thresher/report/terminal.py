"""The report on a terminal, with rich: a bar of progress, and a table that fits the width."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from thresher.core.memory import Progress
from thresher.core.progress_text import in_file, rates, step_name
from thresher.report.text import GAP, Columns, aligned

#: The least width of the names, and the width of the titles of the summary.
_MIN_NAME, _TITLE = 16, 13


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None]]:
    """Show progress as a bar; yields the function that updates it."""
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TextColumn("{task.fields[rates]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=5,
    )
    with bar:
        task = bar.add_task("reading", total=None, rates="")
        phase = ""

        def show(progress: Progress) -> None:
            nonlocal phase
            if progress.phase != phase:
                phase = progress.phase
                bar.reset(task, total=None, rates="")  # time and share are those of the phase
            fraction = progress.fraction
            bar.update(
                task,
                description=escape(step_name(progress) + in_file(progress)),
                total=None if fraction is None else 1.0,
                completed=fraction or 0.0,
                rates=rates(progress),
            )

        yield show


def print_styled(table: Columns, more: list[str], lines: list[tuple[str, str]], narrow: Columns) -> None:
    """Print the table of a selection and its summary, cut to the width of the terminal.

    ``narrow`` is the table if not all of its columns fit.
    """
    console = Console(emoji=False)
    if not fits(table, console.width, cell_len) and len(narrow) < len(table):
        table, more = narrow, [*more, "class: that of the largest weight; inspect --format tsv has the weights of all"]
    header, *rows = aligned(fit(table, console.width, cell_len), cell_len, set_cell_size)
    console.print(f"[bold]{escape(header)}[/bold]", soft_wrap=True, highlight=False)
    for line in (*rows, *more, ""):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    for name, value in lines:
        first, *others = folded(value, console.width - _TITLE)
        console.print(f"[bold]{name:<{_TITLE}}[/bold]{escape(first)}", soft_wrap=True, highlight=False)
        for line in others:
            console.print(" " * _TITLE + line, soft_wrap=True, highlight=False, markup=False)


def folded(text: str, width: int) -> list[str]:
    """A sentence in lines of at most ``width`` characters; words that are longer, such as paths, stay whole."""
    return textwrap.wrap(text, max(20, width), break_long_words=False, break_on_hyphens=False) or [text]


def _room(table: Columns, width: int, length: Callable[[str], int]) -> int:
    """The width that the other columns leave for the names."""
    others = [max(map(length, [name, *cells])) for name, cells in table if name != "name"]
    return width - sum(others) - GAP * len(others)


def fits(table: Columns, width: int, length: Callable[[str], int] = len) -> bool:
    """Whether all columns fit, with names of a readable length."""
    return _room(table, width, length) >= _MIN_NAME


def fit(table: Columns, width: int, length: Callable[[str], int] = len) -> Columns:
    """The table with names cut to a width."""
    left = max(_MIN_NAME, _room(table, width, length))
    return [
        (name, [_cut_cells(cell, left, length) for cell in cells] if name == "name" else cells) for name, cells in table
    ]


def _cut_cells(name: str, width: int, length: Callable[[str], int]) -> str:
    """A name cut to a number of cells of the terminal; some characters take two, some none."""
    if length(name) <= width:
        return name
    kept = name[: width - 1]
    while length(kept) > width - 1:
        kept = kept[:-1]
    return kept + "…"
