"""Which settings each method has, and that the command line has them all."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import thresher as th
from thresher.cli.select import select as command
from thresher.methods import KINDS, divided, kind_of

ROWS = np.eye(4)
LABELS = np.array([0, 1, 0, 1])
EVERY_SETTING = sorted(frozenset().union(*(kind.own for kind in KINDS)))


@pytest.mark.parametrize("name", EVERY_SETTING)
def test_every_setting_is_an_option_of_the_command_line(name: str) -> None:
    assert name in inspect.signature(command).parameters


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.methods[0])
def test_a_setting_of_another_method_is_refused_before_any_data_is_read(kind: object) -> None:
    method = kind.methods[0]  # type: ignore[attr-defined]
    other = next(name for name in EVERY_SETTING if name not in kind.own)  # type: ignore[attr-defined]
    with pytest.raises(th.ThresherError, match=f"{method} has no {other}"):
        th.select("no such file", k=2, method=method, **{other: 1})


def test_none_stands_for_what_was_not_given() -> None:
    assert divided("mission", {"step": None, "C": None, "kmer": None}) == ({}, {"kmer": None})
    assert divided("fgm", {"scale": None, "B": None}) == ({"scale": None}, {})


def test_an_unknown_method_is_told_which_there_are() -> None:
    with pytest.raises(
        th.ThresherError, match=r"unknown method 'missoin': one of mission, .*b-arda.*fgm.*sparse-rf.*os"
    ):
        th.select(ROWS, LABELS, k=2, method="missoin")


def test_settings_are_checked_before_data_is_opened() -> None:
    for method, wrong in (
        ("mission", {"decay": 2.0}),
        ("fgm", {"C": -1.0}),
        ("sparse-rf", {"gamma": 0.0}),
        ("os", {"c": 2.0}),
    ):
        with pytest.raises(th.ThresherError, match=next(iter(wrong))):
            th.select("no such file", k=2, method=method, **wrong)


def test_every_method_has_one_kind() -> None:
    names = [name for kind in KINDS for name in kind.methods]
    assert len(names) == len(set(names))
    assert all(name in kind_of(name).methods for name in names)
