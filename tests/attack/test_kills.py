"""A small fixed share of the kills of `tests.attack.kills`."""

from __future__ import annotations

import signal

import pytest

from tests.attack.kills import METHODS, attack
from thresher.methods import method_names


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9")
def test_a_killed_run_ends_with_the_same_bytes_and_leaves_nothing() -> None:
    assert attack(kills=2, seed=3, methods=["b-arda"], rows=2000) == 0


def test_every_method_is_attacked() -> None:
    assert sorted(METHODS) == sorted(method_names())
