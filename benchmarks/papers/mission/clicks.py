"""A click log made up: columns of tokens that are few and frequent or many and rare, some of which matter."""

from __future__ import annotations

from pathlib import Path

import numpy as np

COLUMNS = 39
VOCABULARIES = (10, 100, 1_000, 10_000, 100_000)  # in turns, column after column
INFORMATIVE = 100  # tokens of each column, at most
RATE = 0.04


def write(path: Path, rows: int, seed: int = 0) -> float:
    """Write rows as Vowpal Wabbit text; the AUC of the probabilities that they were drawn with."""
    rng = np.random.default_rng(seed)
    tokens, logits = [], np.zeros(rows)
    truth = np.random.default_rng(7)  # the same for all seeds
    for column in range(COLUMNS):
        size = VOCABULARIES[column % len(VOCABULARIES)]
        chances = np.cumsum(1.0 / np.arange(1, size + 1) ** 1.1)
        drawn = np.searchsorted(chances / chances[-1], rng.random(rows))
        weights = np.zeros(size)
        # Among the most frequent thousand, where a few hundred thousand rows can tell.
        chosen = truth.permutation(min(size, 1000))[: min(size, INFORMATIVE)]
        weights[chosen] = truth.normal(scale=0.35, size=len(chosen))
        logits += weights[drawn]
        tokens.append(drawn)
    logits += np.log(RATE / (1 - RATE)) - 0.5 * np.var(logits) - np.mean(logits)
    clicks = rng.random(rows) < 1 / (1 + np.exp(-logits))
    with path.open("w") as out:
        for row, click in zip(np.stack(tokens, axis=1).tolist(), clicks.tolist(), strict=True):
            out.write(f"{1 if click else -1} | " + " ".join(f"c{c}={token}" for c, token in enumerate(row)) + "\n")
    order = np.argsort(np.argsort(logits)) + 1
    hits = int(clicks.sum())
    return float((order[clicks].sum() - hits * (hits + 1) / 2) / (hits * (rows - hits)))


def informative() -> int:
    """How many tokens matter."""
    return sum(min(INFORMATIVE, VOCABULARIES[column % len(VOCABULARIES)]) for column in range(COLUMNS))
