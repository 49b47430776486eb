"""Engines that share the memory of one, and that are asked for nothing but the features they keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from thresher import _native
from thresher.core.losses import get_loss
from thresher.core.memory import MB, show_size
from thresher.core.scores.metrics import Scores
from thresher.core.scores.recent_margins import RecentMargins
from thresher.errors import SettingsError
from thresher.online.engine import OnlineEngine
from thresher.online.memory_plan import gathered_bytes, sketch_rows, table_numbers
from thresher.online.settings import THRESHOLDED, OnlineSettings

#: The parts of a plan that belong to the learner: they are free when it has ended.
LEARNER_PARTS = ("table", "sketch", "scores", "seen", "names", "margins", "held")
#: Bytes of an engine besides its table and its sketch.
_ENGINE = 16 << 10
#: Bytes of a feature seen by a budgeted method, for the least that an engine may have.
_SEEN = 96
#: The longest name that a table without names is planned for.
_NO_NAMES = 0


def engine_settings(
    settings: OnlineSettings, parts: Mapping[str, int], engines: int, memory: int, *, limited: bool
) -> OnlineSettings:
    """The settings of one of several engines that share the bytes of one learner.

    Raises `SettingsError` if they do not fit.

    Parameters
    ----------
    parts : mapping
        The bytes of the parts of the plan of one learner.
    memory : int
        The limit that this plan keeps to, for the message.
    limited : bool
        Whether the memory is a limit. A budgeted method without one holds the sums of every feature seen, in each
        engine.
    """
    found = replace(settings, keep_names=False, name_room=0, name_cap=32, passes=1, refit=False)
    room = sum(parts.get(name, 0) for name in LEARNER_PARTS)
    answers = 8 * settings.k * settings.tables  # the keys that an engine has selected, until all have
    fixed = _table_bytes(settings) + _ENGINE + answers
    left = room // engines - fixed
    cell = 0
    if settings.sketch is not None:
        rows, width = settings.sketch
        cell = rows * _cell_bytes(settings)
        found = replace(found, sketch=(rows, max(1, min(width, left // cell))))
        least = fixed + cell * settings.k
    elif settings.budgeted and limited:
        found = replace(found, room=max(1, left))
        least = fixed + _SEEN * settings.k
    else:
        least = fixed
    if room // engines < least and limited:
        advised = memory + 5 * (engines * least - room) // 2 + MB
        raise SettingsError(
            f"`stability` learns {engines} models side by side, each of at least {show_size(least)}, and "
            f"`memory={show_size(memory)}` leaves {show_size(room)} for all of them: pass about {show_size(advised)} "
            "of `memory`, a smaller `k`, or fewer pairs"
        )
    return found


def sketch_in(size: int, settings: OnlineSettings) -> tuple[int, int] | None:
    """The shape of the sketch of so many bytes; None: there is none."""
    rows = sketch_rows(settings)
    return (rows, size // (rows * _cell_bytes(settings))) if size else None


def engine_bytes(settings: OnlineSettings) -> int:
    """The bytes of an engine with these settings; without a limit of memory, the features seen come on top."""
    rows, width = settings.sketch or (0, 0)
    return _table_bytes(settings) + _ENGINE + rows * width * _cell_bytes(settings) + settings.room


def _table_bytes(settings: OnlineSettings) -> int:
    tables = 0 if settings.method in THRESHOLDED else settings.tables
    return tables * _native.TopK.planned_bytes(settings.k, _NO_NAMES, table_numbers(settings))


def _cell_bytes(settings: OnlineSettings) -> int:
    return gathered_bytes(settings) if settings.method == "batch-iht" else settings.cell_bytes


class BareEngine(OnlineEngine):
    """An engine without scores, margins and moments, which would take more than the model."""

    def forget_scores(self) -> None:
        self.scores = _NoScores(get_loss(self.settings.loss), self.settings.outputs)
        self.recent = _NoMargins(get_loss(self.settings.loss), 1)
        self.moments = None

    @property
    def spilled_at(self) -> int:
        """0: a switch to a sketch is no news, since these engines have little memory by design."""
        return 0


class _NoScores(Scores):
    def __init__(self, *of: Any) -> None:
        """Nothing is scored."""

    def add(self, *rows: Any) -> None:
        """Nothing is scored."""

    def state(self) -> dict[str, NDArray[Any]]:
        return {}


class _NoMargins(RecentMargins):
    def __init__(self, *of: Any) -> None:
        """Nothing is kept."""

    def add(self, *rows: Any) -> None:
        """Nothing is kept."""

    def state(self) -> dict[str, NDArray[Any]]:
        return {}
