"""The message about a half of the rows that lacks a class."""

from __future__ import annotations

from collections.abc import Sequence

from thresher.core.labels import Label, listed


def one_class_in_a_half(data: str, pair: int, missing: Sequence[Label]) -> str:
    """What is wrong, where, and what to do."""
    return (
        f"{data}: one half of pair {pair + 1} has no rows of the class {listed(list(missing))}. `stability` needs rows "
        "of every class in both halves of each pair: leave out rare classes, use more rows or fewer pairs, or set "
        "another `random_state`."
    )
