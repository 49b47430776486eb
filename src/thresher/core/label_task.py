"""What labels are: classes or numbers. ``docs/sources.md`` states the rule."""

from __future__ import annotations

from collections.abc import Collection

from thresher.core.labels import Label, ThirdLabel, listed

#: The values of ``task``.
TASKS = ("auto", "classes", "numbers")
#: Whole numbers of at most so many values are classes.
FEW_VALUES = 20


class NumericLabels(ThirdLabel):
    """Labels that look like numbers, for a loss of classes."""


def are_numbers(labels: Collection[Label]) -> bool:
    """Whether more than two distinct labels are numbers: not text, and fractional or of many values.

    Further labels never change the answer from True to False, unless they are text; so a pass over labels may stop.
    """
    if len(labels) <= 2 or any(isinstance(label, str) for label in labels):
        return False
    return len(labels) > FEW_VALUES or any(not float(label).is_integer() for label in labels)


def check_classes(labels: Collection[Label], data: str) -> None:
    """Raise `NumericLabels` if the distinct labels of data that may be of either kind are numbers."""
    if are_numbers(labels):
        advice = '. Pass `task="numbers"`, or `task="classes"` if each value is a class.'
        raise NumericLabels(f"{data}: {_numbers(labels)}", advice)


def numbers_found(labels: Collection[Label]) -> str:
    """The guess that labels are numbers, in words."""
    return f'{_numbers(labels)}; for classes pass `task="classes"`'


def classes_found(classes: list[Label]) -> str:
    """The guess that labels are several classes, in words."""
    other = "" if isinstance(classes[0], str) else '; for numbers pass `task="numbers"`'
    return f"{len(classes)} classes: {listed(classes)}{other}"


def _numbers(labels: Collection[Label]) -> str:
    return f"the labels are numbers, such as {listed(sorted(labels)[:3])}"
