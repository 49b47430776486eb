"""Vowpal Wabbit as its own process: the commands, and what its files say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

#: A logistic learner with a weight for each of 2^24 hashes: ids below that are their own hash.
LEARN = ("-b", "24", "--loss_function", "logistic")
_CONSTANT = 11_650_396


def vw(*arguments: str | Path) -> str:
    """Run it to the end; its output."""
    command = [sys.executable, "-m", "vowpalwabbit", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    return done.stderr + done.stdout


def weights_of(readable: Path) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Ids and weights of a model written by ``--readable_model``, the constant apart, strongest first."""
    with open(readable) as file:
        for line in file:
            if line.startswith(":"):  # the last line of the head, before the sums and the weights
                break
        pairs = [line.split()[0].split(":") for line in file if line[0].isdigit() and ":" in line]
    keys = np.array([int(pair[0]) for pair in pairs], np.uint64)
    weights = np.array([float(pair[1]) for pair in pairs])
    keys, weights = keys[keys != _CONSTANT], weights[keys != _CONSTANT]
    order = np.argsort(-np.abs(weights), kind="stable")
    return keys[order], weights[order]
