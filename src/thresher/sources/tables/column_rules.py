"""The rules by which a column of a table is an identifier, or holds the target."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher.core.scores.correlation import correlation
from thresher.sources.tables.column_values import Numbers, Texts

#: The fewest rows on which a rule decides.
MIN_ROWS = 50
#: The first rows, which show whether a rule can apply to a column at all.
_GLANCE = 100
#: One row in so many may repeat a value of an identifier, or lack one.
_REPEATED = 1000
#: One row in so many, of those outside the most frequent value of the target, may contradict a copy of it.
_CONTRADICTED = 100
#: The fewest rows outside the most frequent value of the target, and the fewest rows per class on average.
_MIN_MINORITY = 5
#: The least correlation of the target with the same quantity in another unit (rounding makes it less than 1): over all
#: rows, and over those without the largest and smallest twentieth, lest a few extreme rows decide.
_SAME_QUANTITY, _SAME_IN_THE_MIDDLE = 0.9999, 0.999
#: The share of the steps from row to row in which the same quantity moves in the same direction, and how many tell.
_TOGETHER, _FEW_STEPS = 0.75, 20
#: Names of columns of identifiers.
_ID_NAME = re.compile(r"(?i:(^|[\W_])(id|idx|uuid|guid)$)|[a-z]I[dD]$")
#: Whole numbers that may be years.
_FIRST_YEAR, _LAST_YEAR = 1500, 2200
#: The average number of words and of characters from which texts are sentences, and the longest codes (SHA-256 in hex).
_WORDS, _LENGTH, _LONGEST_CODE = 3, 30, 64

Holding = Literal["copy", "names", "unit", "order"]


# ── identifiers ──────────────────────────────────────────────────────────────────────────────────


def is_identifier(name: str, column: Numbers | Texts, rows: int) -> bool:
    """Whether a column has another value in (nearly) every row: texts, or whole numbers that count up."""
    if isinstance(column, Numbers) and not _are_whole(column.values[:_GLANCE]):  # quickly, for most columns
        return False
    if column.missing * _REPEATED > rows or column.distinct(_GLANCE) < min(rows, _GLANCE) - 1:
        return False
    if not (_counts_up(name, column.present) if isinstance(column, Numbers) else _are_codes(column.first(_GLANCE))):
        return False
    present = rows - column.missing
    return column.distinct() >= present - present // _REPEATED


def _counts_up(name: str, numbers: NDArray[np.float64]) -> bool:
    """Whether whole numbers fill at least half of their range, in any order, or have the name of an identifier."""
    if not np.isfinite(numbers).all() or not _are_whole(numbers):
        return False
    if _ID_NAME.search(name):
        return True
    low, high = float(numbers.min()), float(numbers.max())
    years = low >= _FIRST_YEAR and high <= _LAST_YEAR
    return high - low + 1 <= 2 * len(numbers) and not years


def _are_whole(numbers: NDArray[np.float64]) -> bool:
    """Whether numbers are whole or missing."""
    return not (np.floor(numbers) < numbers).any()


def _are_codes(texts: list[str]) -> bool:
    """Whether texts are no sentences, no sequences, and no numbers with a fraction in a column with other texts."""
    n, words, length = len(texts), sum(len(text.split()) for text in texts), sum(map(len, texts))
    sentences = words >= _WORDS * n and length >= _LENGTH * n
    return not sentences and length <= _LONGEST_CODE * n and 2 * sum(map(_is_measurement, texts)) <= n


def _is_measurement(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text))) and "." in text
    except ValueError:
        return False


# ── columns that hold the target ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class TargetColumn:
    """The target in the first rows: its values, their codes, and the values that the codes mean."""

    values: Numbers | Texts
    codes: NDArray[np.int64]
    meaning: list[Any]
    #: The number of rows outside the most frequent value.
    minority: int

    @classmethod
    def of(cls, values: Numbers | Texts) -> TargetColumn | None:
        """The target, if it has enough rows and values to compare columns with."""
        codes, meaning = values.codes()
        known = codes[codes >= 0]
        if len(known) < MIN_ROWS:
            return None
        minority = len(known) - int(np.bincount(known).max())
        return cls(values, codes, meaning, minority) if minority >= _MIN_MINORITY else None

    def relation(self, column: Numbers | Texts) -> Holding | None:
        """How a column holds the target, if it does."""
        several = len(self.meaning) > 2
        if several and isinstance(column, Numbers) and isinstance(self.values, Numbers):
            found = self._same_quantity(column.values, self.values.values)
            if found is not None:
                return found
        repeats = len(self.meaning) * _MIN_MINORITY <= len(self.codes)
        return self._same_classes(column) if repeats else None

    def _same_classes(self, column: Numbers | Texts) -> Holding | None:
        """Whether each value of a column, missing included, stands for one value of the target, and the reverse."""
        many = len(self.meaning)
        if column.distinct(_GLANCE) > many + 1:  # quickly, for most columns
            return None
        codes, meaning = column.codes()
        if len(meaning) > 2 * many:
            return None
        known = self.codes >= 0
        pairs = (codes[known] + 1) * many + self.codes[known]
        counts = np.bincount(pairs, minlength=(len(meaning) + 1) * many).reshape(-1, many)
        wrong = len(pairs) - min(counts.max(axis=1).sum(), counts.max(axis=0).sum())
        if wrong * _CONTRADICTED > self.minority:
            return None
        used = np.flatnonzero(counts.any(axis=1))
        same = all(i > 0 and meaning[i - 1] == self.meaning[counts[i].argmax()] for i in used)
        return "copy" if same else "names"

    def _same_quantity(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> Holding | None:
        if not _move_together(x[:_GLANCE], y[:_GLANCE]):  # quickly, for most columns
            return None
        both = np.isfinite(x) & np.isfinite(y)
        x, y = x[both], y[both]
        if len(x) < MIN_ROWS:
            return None
        if int((x != y).sum()) * _CONTRADICTED <= self.minority:
            return "copy"
        if correlation(x, y) >= _SAME_QUANTITY:
            low, high = np.quantile(x, [0.05, 0.95])
            middle = (x >= low) & (x <= high)
            if correlation(x[middle], y[middle]) >= _SAME_IN_THE_MIDDLE:
                return "unit"
        if len(self.meaning) < MIN_ROWS // 2 or not _monotone(x[:_GLANCE], y[:_GLANCE]):  # quickly, for most columns
            return None
        steps = np.diff(y)
        trend = (steps >= 0).all() or (steps <= 0).all()  # rows in the order of time, with which much else may grow
        return "order" if not trend and _monotone(x, y) else None


def _move_together(x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    """Whether two quantities mostly rise and fall together (or against each other), or too seldom to tell."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = (x[1:] - x[:-1]) * (y[1:] - y[:-1])
    up, down = int((steps > 0).sum()), int((steps < 0).sum())
    return up + down < _FEW_STEPS or max(up, down) >= _TOGETHER * (up + down)


def _monotone(x: NDArray[Any], y: NDArray[np.float64]) -> bool:
    """Whether x is a strictly monotone function of y."""
    order = np.argsort(y, kind="stable")
    x_steps, y_steps = np.diff(x[order]), np.diff(y[order]) > 0
    ties = not x_steps[~y_steps].any()
    return ties and bool((x_steps[y_steps] > 0).all() or (x_steps[y_steps] < 0).all())
