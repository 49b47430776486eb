"""Fragments of genomes to rows of k-mers, against a plain Python loop and the fastest package at hand, on one core.

The genomes are those of the folder named by the environment variable THRESHER_GENOMES: FASTA files, plain or
compressed. Without it there is nothing to run.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import tempfile
from pathlib import Path

from benchmarks.harness import python, ratios, spread, table

FRAGMENT = 200

OURS = """
import sys, time, thresher as th
folder, k, canonical = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
source = th.scan_fasta(folder, kmer=k, canonical=canonical, fragments=200, coverage=1.0)
rows = source.total_rows  # reads the genomes
started = time.process_time()
for batch, _ in source.batches():
    pass
print(rows * (201 - k) / (time.process_time() - started))
"""
LOOP = """
import random, sys, time
path, k, canonical = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
genome = open(path).read()
turn = str.maketrans("ACGT", "TGCA")
rng, n = random.Random(0), 3000
started = time.process_time()
for _ in range(n):
    at = rng.randrange(len(genome) - 199)
    letters = genome[at : at + 200]
    row = set()
    if canonical:
        other = letters.translate(turn)[::-1]
        for i in range(201 - k):
            one, two = letters[i : i + k], other[200 - i - k : 200 - i]
            row.add(one if one < two else two)
    else:
        for i in range(201 - k):
            row.add(letters[i : i + k])
print(n * (201 - k) / (time.process_time() - started))
"""
BIOTITE = """
import random, sys, time
import numpy as np
from biotite.sequence import NucleotideSequence
from biotite.sequence.align import KmerAlphabet
path, k, canonical = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
codes = NucleotideSequence(open(path).read(), ambiguous=False).code
kmers = KmerAlphabet(NucleotideSequence.alphabet_unamb, k)
rng, n = random.Random(0), 5000
started = time.process_time()
for _ in range(n):
    at = rng.randrange(len(codes) - 199)
    letters = codes[at : at + 200]
    row = kmers.create_kmers(letters)
    if canonical:
        row = np.minimum(row, kmers.create_kmers(3 - letters[::-1])[::-1])
    row = np.unique(row)
print(n * (201 - k) / (time.process_time() - started))
"""
WHOLE = """
import sys, time, thresher as th
from thresher.core.memory import peak_resident
folder, k, canonical = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
source = th.scan_fasta(folder, kmer=k, canonical=canonical)
started = time.process_time()
features = sum(batch.nnz for batch, _ in source.batches())
print(time.process_time() - started, features, peak_resident() / 2**20)
"""


def run(repeats: int = 5) -> str:
    """Time the contenders in turns, each in a fresh process pinned to one core."""
    title = "## Fragments of genomes to rows of k-mers, one core"
    genomes = os.environ.get("THRESHER_GENOMES")
    if genomes is None or not os.path.isdir(genomes):
        return f"{title}\n\nNot run: THRESHER_GENOMES names no folder of genomes."
    contenders = {"thresher `scan_fasta`": OURS, "Python loop, `set` of slices": LOOP}
    if importlib.util.find_spec("biotite") is not None:
        contenders["biotite `KmerAlphabet`, `numpy.unique`"] = BIOTITE
    forms = {"k = 12": ("12", "False"), "k = 12, canonical": ("12", "True"), "k = 31, canonical": ("31", "True")}
    with tempfile.TemporaryDirectory() as folder:
        letters, longest = _plain(Path(genomes), Path(folder) / "genomes", Path(folder) / "longest.txt")
        rows, whole = [], []
        for form, options in forms.items():
            rates: dict[str, list[float]] = {name: [] for name in contenders}
            for _ in range(repeats):
                for name, code in contenders.items():
                    data = genomes if code is OURS else str(longest)
                    rates[name].append(float(python(code, data, *options, pinned=True)))
            loop = rates["Python loop, `set` of slices"]
            for name, values in rates.items():
                million = [value / 1e6 for value in values]
                rows.append([form, name, spread(million, 1), spread(ratios(values, loop), 1)])
            taken = [python(WHOLE, str(Path(folder) / "genomes"), *options, pinned=True).split() for _ in range(3)]
            seconds = statistics.median(float(took) for took, _, _ in taken)
            whole.append(f"{form}: {letters / seconds / 1e6:.0f} ({taken[0][2].split('.')[0]} MB peak resident memory)")
    return "\n".join(
        [
            title,
            "",
            f"Fragments of {FRAGMENT} letters from genomes of {letters / 1e6:.1f} million letters, repeats within a "
            "row merged. Millions of k-mers per second of processor time, without reading the genomes; medians "
            f"[least - most] of {repeats} runs.",
            "",
            table(["k-mers", "by", "million a second", "times the loop"], rows),
            "",
            "The same genomes with every record as one row, including reading plain FASTA, in million letters per "
            f"second: {'; '.join(whole)}.",
        ]
    )


def _plain(genomes: Path, folder: Path, longest: Path) -> tuple[int, Path]:
    """Copy genomes as plain FASTA, and the letters of the longest record alone; how many letters there are."""
    from thresher.sources.files.paths import Stream, find_parts

    folder.mkdir()
    total, best = 0, b""
    for part in find_parts(str(genomes)):
        with Stream(part.path, window_limit=1 << 30) as stream:
            text = bytearray()
            piece = bytearray(1 << 20)
            while n := stream.readinto(memoryview(piece)):
                text += piece[:n]
        (folder / f"{Path(part.path).name.split('.')[0]}.fa").write_bytes(text)
        for record in bytes(text).split(b">")[1:]:
            letters = record.partition(b"\n")[2].replace(b"\n", b"").upper()
            total += len(letters)
            best = max(best, letters, key=len)
    longest.write_bytes(bytes(c for c in best if c in b"ACGT"))
    return total, longest
