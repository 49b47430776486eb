"""Made-up data with planted features, for the demonstration."""

from __future__ import annotations

import gzip
import os
from functools import partial
from typing import IO

import numpy as np

from thresher.container import write_atomically

PLANTED = 20
_WORDS = 1_000_000


def write_stream(path: str, *, rows: int, seed: int = 0, per_row: int = 60) -> set[str]:
    """Write VW text of Zipf-distributed words whose labels depend on a few of them; the names of those few.

    Words number r is drawn with probability about 1/r. The planted ones stand at ranks 10 … 600,
    evenly in the logarithm, and are called ``signal-01`` …; labels follow the logistic model of four
    times the sum of their signs.
    """
    rng = np.random.default_rng(seed)
    ranks = np.unique(np.geomspace(10, 600, PLANTED).astype(np.int64))
    signs = np.where(np.arange(len(ranks)) % 2 == 0, 1.0, -1.0)
    names = {int(rank): f"signal-{i + 1:02d}" for i, rank in enumerate(ranks)}

    def write(file: IO[bytes]) -> None:
        for start in range(0, rows, 10_000):
            n = min(10_000, rows - start)
            words = np.exp(rng.random((n, per_row)) * np.log(_WORDS)).astype(np.int64)
            at = np.searchsorted(ranks, words).clip(0, len(ranks) - 1)
            margin = np.where(ranks[at] == words, signs[at], 0.0).sum(axis=1)
            labels = np.where(rng.random(n) < 1 / (1 + np.exp(-4 * margin)), "1", "-1")
            lines = (
                f"{label} | {' '.join(names.get(word) or f'word-{word}' for word in sorted(set(row)))}\n"
                for label, row in zip(labels.tolist(), words.tolist(), strict=True)
            )
            file.write("".join(lines).encode())

    write_atomically(path, write)
    return set(names.values())


def write_genomes(folder: str, *, letters: int = 60_000, k: int = 12, seed: int = 0) -> dict[str, set[str]]:
    """Write two genomes as FASTA, random but for ten k-mers in each that stand there every 150 letters; those."""
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(seed)
    planted: dict[str, set[str]] = {}
    for name in ("alpha", "beta"):
        genome = rng.choice(np.frombuffer(b"ACGT", np.uint8), letters)
        motifs = rng.choice(np.frombuffer(b"ACGT", np.uint8), (PLANTED // 2, k))
        for i, at in enumerate(range(0, letters - k, 150)):
            genome[at : at + k] = motifs[i % len(motifs)]
        text = genome.tobytes()
        lines = [text[at : at + 70] + b"\n" for at in range(0, letters, 70)]
        fasta = b"".join([f">{name} made up by seed {seed}\n".encode(), *lines])
        path = os.path.join(folder, f"{name}.fa.gz")
        write_atomically(path, partial(_write, content=gzip.compress(fasta, mtime=0)))
        planted[name] = {motif.tobytes().decode() for motif in motifs}
    return planted


def _write(file: IO[bytes], content: bytes) -> None:
    file.write(content)
