"""Plans as tables: where the memory would go."""

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
    """Where the memory would go."""
    console = Console()
    mixed = plan.shuffle_features(not source.space.invertible)
    parts = [
        ("table", plan.table, f"{k} features, names of up to {plan.name_cap} bytes"),
        ("sketch", plan.sketch, f"{plan.sketch_rows} x {plan.sketch_width} cells for everything else"),
        (
            "seen",
            plan.seen,
            "what a budgeted method knows of every feature seen, at most; b-arda then goes over to a sketch",
        ),
        (
            "names",
            plan.names,
            "what these features are called, at most; those that do not fit are looked for at the end",
        ),
        ("groups", plan.groups, "which feature is in which group"),
        ("scores", plan.scores, "the histogram behind AUC and average precision"),
        ("buffers", plan.buffers, f"blocks of {show_size(plan.block)} and their batches, on two threads"),
        ("shuffle", plan.shuffle, f"up to {plan.shuffle_rows} rows or {mixed} features to mix"),
        (
            "products",
            plan.products,
            f"rows of up to {plan.limits.products} features, products included",
        ),
        ("total", plan.total, f"of {show_size(plan.memory)} allowed"),
    ]
    _print_parts(console, parts, source)
    if source.held_bytes:
        console.print(
            f"held         {show_size(source.held_bytes)} of sequences to draw fragments from, out of what is left"
        )
    console.print(
        f"left         {show_size(plan.window)} for a decompressor; lines of up to {show_size(plan.line_cap)}"
    )
    if plan.sketch:
        console.print(f"error        about {plan.sketch_width**-0.5:.2g} of the norm of the weights left in the sketch")
    else:
        console.print("error        none: weights are exact")


def print_fgm_plan(plan: FGMPlan, k: int, source: Source) -> None:
    """Where the memory of the Feature Generating Machine would go, as far as the data says how many rows there are."""
    console = Console()
    rows = source.total_rows
    told = "a row, of an unknown number" if rows is None else f"for {rows} rows"
    count = 1 if rows is None else rows
    parts = [
        ("rows", count * (plan.row_bytes - plan.product_bytes), f"weights, targets and slopes {told}"),
        ("products", count * plan.product_bytes, f"of {plan.blocks} blocks {told}"),
        ("buffers", plan.buffers, f"blocks of {show_size(plan.block)} and their batches"),
    ]
    if plan.memory:
        plan.check(count)
        parts += [
            ("columns", plan.columns(count), "at most; where they take more, every iteration goes through the data"),
            ("selected", plan.selected(count), f"at most, for the {k} features that are found"),
            ("slack", plan.slack, "what a heap keeps to itself"),
            ("total", plan.memory, "allowed"),
        ]
    _print_parts(console, parts, source)
    if not plan.memory:
        console.print("columns      what they take, since no memory is given")


def print_rf_plan(plan: SparseRFPlan, source: Source) -> None:
    """Where the memory of Sparse Random Features would go, as far as the data says how many rows there are."""
    console = Console()
    rows = source.total_rows
    told = "a row, of an unknown number" if rows is None else f"for {rows} rows"
    count = 1 if rows is None else rows
    parts = [
        ("rows", count * plan.row_bytes, f"weights, targets, margins and slopes {told}"),
        ("buffers", plan.buffers, f"blocks of {show_size(plan.block)} and their batches"),
    ]
    if plan.memory:
        plan.check(count)
        parts += [
            ("slack", plan.slack, "what a heap keeps to itself"),
            ("making", plan.making(count), f"at most, for making functions, {plan.draws} at a time"),
            ("products", plan.products(count), "at most, of the functions kept with each other"),
            ("inputs", plan.inputs(count), "at most; rows that take more are read again"),
            ("columns", plan.columns(count, plan.inputs(count)), "at least; those that take more are made again"),
            ("total", plan.memory, "allowed"),
        ]
    _print_parts(console, parts, source)
    if not plan.memory:
        console.print("columns      4 bytes for each row and function, since no memory is given; the rows besides")


def _print_parts(console: Console, parts: list[tuple[str, int, str]], source: Source) -> None:
    """The parts that take anything, and what the data is."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("part")
    table.add_column("memory", justify="right")
    table.add_column("what it is")
    for name, size, what in parts:
        if size:
            table.add_row(name, show_size(size), what)
    console.print(table)
    stored = source.total_bytes
    console.print()
    console.print(f"data         {escape(source.describe())}" + (f", {show_size(stored)} stored" if stored else ""))
    console.print(f"features     {source.space}")
