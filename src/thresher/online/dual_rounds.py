"""What workers of b-arda exchange in a round: the sums of the features that they touched, not those of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.online.dual_state import memory_message
from thresher.online.merge import RoundEnd, mean_numbers

if TYPE_CHECKING:
    from thresher.online.engine import OnlineEngine

State = dict[str, NDArray[Any]]
Touched = tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.float64]]

_PARTS = ("touched_keys", "touched_counts", "touched_numbers")


def changes(engine: OnlineEngine, loop: _native.OnlineLoop) -> State:
    """The features touched since the last call, by key, and the scalars of the model."""
    state: State = dict(zip(_PARTS, _native.dual_touched(loop), strict=True))
    state |= {"step": np.array(loop.step), "bias": np.array(loop.bias), "loop": np.array([engine.rows, 1.0, 0.0])}
    return state | {"dual_singles": np.array(_native.dual_state_singles(loop))}


def apply_changes(engine: OnlineEngine, loop: _native.OnlineLoop, state: State) -> None:
    """Set the features and scalars of `changes` or `merge_duals`."""
    from thresher.online.engine import StateFullError

    try:
        _native.set_duals(loop, _touched(state), state["dual_singles"].tolist())
    except OverflowError:
        raise StateFullError(memory_message(engine.settings, int(state["loop"][0]))) from None
    loop.step, loop.bias = state["step"].tolist(), state["bias"].tolist()
    loop.rows_seen = int(state["loop"][0])


def merge_duals(engine: OnlineEngine, ends: list[RoundEnd]) -> State:
    """Replace the model of ``engine``, from which all workers started, by the mean of theirs, weighted by rows.

    Sums are the base and the mean of the differences to it; rows, steps and occurrences are added. Returns the
    changes, from which the workers continue. Workers without rows do not count.
    """
    ends = [end for end in ends if end.rows]
    total = sum(end.rows for end in ends)
    base = engine.changes()
    if total:
        shares = [end.rows / total for end in ends]
        mean = engine.mean_of_duals([_touched(end.state) for end in ends], shares)
        steps = base["dual_singles"] + sum(end.state["dual_singles"] - base["dual_singles"] for end in ends)
        base = dict(zip(_PARTS, mean, strict=True)) | mean_numbers(ends, shares) | {"dual_singles": steps}
        base["loop"] = np.array([engine.rows + total, 1.0, 0.0])
        engine.apply_changes(base)
    return base


def _touched(state: State) -> Touched:
    keys, counts, numbers = (np.ascontiguousarray(state[part]) for part in _PARTS)
    return keys, counts, numbers
