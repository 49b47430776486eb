"""Answers that must stay as they were recorded, see `tests.golden.record`.

Names, keys and counts must be equal. Floats may differ by one part in 10⁹, since mathematical libraries differ between
machines; with ``THRESHER_GOLDEN_EXACT=1`` they must be equal to the bit.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden.cases import CASES
from tests.golden.record import ANSWERS, answer

RECORDED = json.loads(ANSWERS.read_text("utf-8"))
EXACT = os.environ.get("THRESHER_GOLDEN_EXACT") == "1"


def same(one: Any, other: Any) -> bool:
    """Whether two leaves of answers are equal; floats within the tolerance."""
    if EXACT or not (is_float(one) and is_float(other)):
        return bool(one == other)
    return math.isclose(float.fromhex(one), float.fromhex(other), rel_tol=1e-9, abs_tol=1e-15)


def is_float(value: Any) -> bool:
    """Whether this is the hexadecimal form of a float."""
    return isinstance(value, str) and value.removeprefix("-").startswith("0x")


def differences(want: Any, got: Any, where: str = "") -> Iterator[str]:
    """Where two answers differ, and how."""
    if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        for key in want:
            yield from differences(want[key], got[key], f"{where}.{key}")
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, (one, other) in enumerate(zip(want, got, strict=True)):
            yield from differences(one, other, f"{where}[{i}]")
    elif not same(want, got):
        yield f"{where}: {want!r} was recorded, now it is {got!r}"


def test_every_case_is_recorded() -> None:
    assert list(RECORDED) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_the_recorded_one(name: str, tmp_path: Path) -> None:
    assert list(differences(RECORDED[name], answer(name, tmp_path))) == []


def test_a_difference_is_found() -> None:
    want = {"names": ["a"], "weights": [(1.0).hex(), (2.0).hex()]}
    assert list(differences(want, want)) == []
    assert len(list(differences(want, {**want, "weights": [(1.0).hex(), (2.0 + 1e-7).hex()]}))) == 1
    assert len(list(differences(want, {**want, "weights": [(1.0).hex(), (2.0 + 1e-13).hex()]}))) == EXACT
    assert len(list(differences(want, {**want, "names": ["b"]}))) == 1
    assert len(list(differences(want, {**want, "names": ["a", "b"]}))) == 1
