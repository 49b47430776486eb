"""Synthetic data with planted features, for the demo."""

from __future__ import annotations

import gzip
import json
import os
from functools import partial
from typing import IO

import numpy as np

from thresher.core.storage.atomic import write_atomically

PLANTED = 20
_WORDS = 1_000_000


def write_stream(path: str, *, rows: int, seed: int = 0, per_row: int = 60) -> set[str]:
    """Write VW text of Zipf-distributed words, and return the names of the few words that the labels depend on.

    The word of rank r has a probability of about 1/r. The planted words ``signal-01`` … have ranks 10 … 600, evenly
    spaced in the logarithm. Labels follow the logistic model of four times the sum of their signs.
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
    """Write two random genomes as FASTA, and return the ten k-mers planted in each, one every 150 letters."""
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


def write_tables(folder: str, *, rows: int = 5000, seed: int = 0) -> set[str]:
    """Write a table of people, a click log in the Criteo format, and reviews as JSON lines; return the planted phrases.

    The label depends on age, income and two of forty cities in ``people.csv``, on C1 and I1 in ``clicks.tsv.zst``, and
    on ten phrases in ``reviews.jsonl``.
    """
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(seed)
    contents = {"people.csv": _people(rng, rows), "clicks.tsv.zst": _clicks(rng, rows)}
    phrases = [
        f"{how} {what}" for how in ("rather", "simply") for what in ("dull", "grand", "broken", "lovely", "flat")
    ]
    contents["reviews.jsonl"] = _reviews(rng, rows, phrases)
    for name, content in contents.items():
        write_atomically(os.path.join(folder, name), partial(_write, content=content))
    return set(phrases)


def _people(rng: np.random.Generator, rows: int) -> bytes:
    age, income = rng.integers(18, 90, rows), np.exp(rng.normal(10, 0.6, rows)).round(2)
    city = np.array([f"city-{i:02d}" for i in range(40)])[rng.integers(0, 40, rows)]
    margin = (age - 50) / 10 + 2 * (np.log(income) - 10) + 3 * (city == "city-07") - 3 * (city == "city-31")
    label = (rng.random(rows) < 1 / (1 + np.exp(-margin))).astype(int)
    wealth = np.where(rng.random(rows) < 0.05, "", income.astype(str))
    lines = zip(label, age, wealth, city, strict=True)
    return ("y,age,income,city\n" + "".join(f"{y},{a},{i},{c}\n" for y, a, i, c in lines)).encode()


def _clicks(rng: np.random.Generator, rows: int) -> bytes:
    import zstandard

    counts = (rng.pareto(0.8, (rows, 13)) * 3).astype(np.int64)
    values = np.exp(rng.random((rows, 26)) * np.log(np.geomspace(10, 100_000, 26))).astype(np.int64)
    margin = np.where(values[:, 0] <= 2, 2.0, -2.0) + np.where(counts[:, 0] >= 4, 1.5, -1.0)
    label = (rng.random(rows) < 1 / (1 + np.exp(-margin))).astype(int)
    missing = rng.random((rows, 39)) < 0.1
    lines = []
    for i in range(rows):
        cells = [*map(str, counts[i]), *(f"{value * 2654435761 % 2**32:08x}" for value in values[i].tolist())]
        kept = ["" if gone else cell for cell, gone in zip(cells, missing[i], strict=True)]
        lines.append("\t".join([str(label[i]), *kept]) + "\n")
    return zstandard.ZstdCompressor().compress("".join(lines).encode())


def _reviews(rng: np.random.Generator, rows: int, phrases: list[str]) -> bytes:
    lines = []
    for _ in range(rows):
        stars = 5 if rng.random() < 0.5 else 1
        said = phrases[int(rng.integers(0, len(phrases) // 2)) * 2 + (stars == 5)]
        words = [f"word{int(word)}" for word in np.exp(rng.random(20) * np.log(20_000))]
        at = int(rng.integers(0, len(words)))
        body = " ".join([*words[:at], f"{said.capitalize()}!", *words[at:]])
        lines.append(json.dumps({"stars": stars, "body": body}) + "\n")
    return "".join(lines).encode()


def _write(file: IO[bytes], content: bytes) -> None:
    file.write(content)
