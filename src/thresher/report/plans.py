"""Memory plans as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thresher.core.memory import show_size
from thresher.online.memory_plan import Plan
from thresher.sources.base import Source

if TYPE_CHECKING:
    from thresher.fgm.memory_plan import FGMPlan
    from thresher.sparse_rf.memory_plan import SparseRFPlan


def print_plan(plan: Plan, k: int, source: Source) -> None:
    """Print the memory plan of an online method."""
    console = Console()
    buffered = plan.shuffle_features(not source.space.invertible)
    parts = [
        ("table", plan.table, f"{k} features, names of up to {plan.name_cap} bytes"),
        ("sketch", plan.sketch, f"{plan.sketch_rows} x {plan.sketch_width} cells for all other features"),
        ("seen", plan.seen, "at most, for the state of every feature seen; b-arda then switches to a sketch"),
        ("names", plan.names, "at most, for the names of these features; the others are read again at the end"),
        ("groups", plan.groups, "the group of each feature"),
        ("scores", plan.scores, "the histogram behind AUC and average precision"),
        ("buffers", plan.buffers, f"blocks of {show_size(plan.block)} and their batches, on two threads"),
        ("shuffle", plan.shuffle, f"up to {plan.shuffle_rows} rows or {buffered} features in the shuffle buffer"),
        ("products", plan.products, f"rows of up to {plan.limits.products} features, products included"),
        ("total", plan.total, f"of {show_size(plan.memory)} allowed"),
    ]
    _print_parts(console, parts, source)
    if source.held_bytes:
        console.print(f"held         {show_size(source.held_bytes)} of the rest for sequences to sample fragments from")
    console.print(
        f"left         {show_size(plan.window)} for a decompressor; lines of up to {show_size(plan.line_cap)}"
    )
    if plan.sketch:
        console.print(f"error        about {plan.sketch_width**-0.5:.2g} of the norm of the weights in the sketch")
    else:
        console.print("error        none: weights are exact")


def print_fgm_plan(plan: FGMPlan, k: int, source: Source) -> None:
    """Print the memory plan of the Feature Generating Machine; for one row if the number of rows is unknown."""
    console = Console()
    rows, per = _known_rows(source)
    parts = [
        ("rows", rows * (plan.row_bytes - plan.product_bytes), f"weights, targets and derivatives {per}"),
        ("products", rows * plan.product_bytes, f"of {plan.blocks} blocks {per}"),
        ("buffers", plan.buffers, f"blocks of {show_size(plan.block)} and their batches"),
    ]
    if plan.memory:
        plan.check(rows)
        parts += [
            ("columns", plan.columns(rows), "at most; if they need more, every iteration is a pass over the data"),
            ("selected", plan.selected(rows), f"at most, for the {k} selected features"),
            ("slack", plan.slack, "overhead of the heap"),
            ("total", plan.memory, "allowed"),
        ]
    _print_parts(console, parts, source)
    if not plan.memory:
        console.print("columns      as much as they need, since no memory limit is set")


def print_rf_plan(plan: SparseRFPlan, source: Source) -> None:
    """Print the memory plan of Sparse Random Features; for one row if the number of rows is unknown."""
    console = Console()
    rows, per = _known_rows(source)
    parts = [
        ("rows", rows * plan.row_bytes, f"weights, targets, margins and derivatives {per}"),
        ("buffers", plan.buffers, f"blocks of {show_size(plan.block)} and their batches"),
    ]
    if plan.memory:
        plan.check(rows)
        parts += [
            ("slack", plan.slack, "overhead of the heap"),
            ("making", plan.making(rows), f"at most, to evaluate random features, {plan.draws} at a time"),
            ("products", plan.products(rows), "at most, for the inner products of the kept features"),
            ("inputs", plan.inputs(rows), "at most; if the rows need more, they are read again"),
            (
                "columns",
                plan.columns(rows, plan.inputs(rows)),
                "at least; if they need more, they are evaluated again",
            ),
            ("total", plan.memory, "allowed"),
        ]
    _print_parts(console, parts, source)
    if not plan.memory:
        console.print("columns      4 bytes for each row and random feature, and the rows: no memory limit is set")


def _known_rows(source: Source) -> tuple[int, str]:
    """The number of rows to plan for, and how to say so."""
    rows = source.total_rows
    return (1, "for one row of an unknown number") if rows is None else (rows, f"for {rows} rows")


def _print_parts(console: Console, parts: list[tuple[str, int, str]], source: Source) -> None:
    """Print the parts of a plan that are not empty, and a description of the data."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("part")
    table.add_column("memory", justify="right")
    table.add_column("what it is")
    for name, size, description in parts:
        if size:
            table.add_row(name, show_size(size), description)
    console.print(table)
    stored_bytes = source.total_bytes
    stored = f", {show_size(stored_bytes)} stored" if stored_bytes else ""
    console.print()
    console.print(f"data         {escape(source.describe())}{stored}")
    console.print(f"features     {source.space}")
