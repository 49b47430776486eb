"""The report on a terminal, with rich: a bar of progress, and a table that fits the width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from thresher.core.memory import Progress
from thresher.core.progress_text import in_file, rates, step_name
from thresher.display import cut
from thresher.report.text import GAP, Columns, aligned

#: The least width of the names, and the most of the name of a class.
_MIN_NAME, _MAX_LABEL = 16, 16


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


def print_styled(table: Columns, more: list[str], lines: list[tuple[str, str]]) -> None:
    """Print the table of a selection and its summary, cut to the width of the terminal."""
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
        return width - sum(others) - GAP * len(others)

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
