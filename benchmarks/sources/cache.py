"""A pass over rows that were parsed before, from the cache, against the first pass over gzip text."""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import tempfile
from pathlib import Path

from benchmarks.data import write_zipf
from benchmarks.harness import python, ratios, spread, table

FORMS = {"svm": "LIBSVM", "vw": "VW, with names"}
#: What is timed, as its title and the ways of `CHILD`.
WAYS = {
    "text": "gzip text",
    "write": "gzip text, and writing the cache",
    "cache": "from the cache",
    "learn-text": "learning from gzip text",
    "learn-cache": "learning from the cache",
}
#: One pass in a process of its own, timed without what a ten-row file takes to import and open.
CHILD = """
import json, shutil, sys, time
import thresher as th
way, path, ten, folder = sys.argv[1:]
def source(path):
    return th.scan(path) if way.endswith("text") else th.scan(path, cache=folder)
def go(path):
    if way.startswith("learn"):
        return th.select(source(path), k=1000, passes=1, refit=False).provenance["rows"]
    return sum(len(batch) for batch, _ in source(path).batches(want_names=True))
go(ten)
if way == "write":
    shutil.rmtree(folder)
started = time.perf_counter()
rows = go(path)
print(json.dumps([time.perf_counter() - started, rows]))
"""


def run(rows: int = 100_000, repeats: int = 5) -> str:
    """Time every way in turns: reading on one core, learning on all."""
    lines, shown = [], []
    with tempfile.TemporaryDirectory() as folder:
        large, ten = (_packed(Path(folder), n) for n in (rows, 10))
        for form, title in FORMS.items():
            text, kept = large[form]
            seconds: dict[str, list[float]] = {way: [] for way in WAYS}
            for _ in range(repeats):
                for way in WAYS:
                    arguments = (way, str(kept), str(ten[form][1]), str(Path(folder) / f"cache-{form}"))
                    took, seen = json.loads(python(CHILD, *arguments, pinned=not way.startswith("learn")))
                    assert seen == rows
                    seconds[way].append(took)
            written = sum(file.stat().st_size for file in Path(folder, f"cache-{form}").iterdir())
            for way, what in WAYS.items():
                base = "learn-text" if way.startswith("learn") else "text"
                times = "1" if way == base else spread(ratios(seconds[base], seconds[way]), 1)
                rate = text / 2**20 / statistics.median(seconds[way])
                lines.append([title, what, spread(seconds[way], 3), f"{rate:.0f}", times])
            sizes = (text, kept.stat().st_size, written)
            shown.append("{}: {:.0f} MB of text, {:.0f} MB as gzip, {:.0f} MB in the cache".format(title, *_mb(*sizes)))
    return "\n".join(
        [
            "## A pass from the cache",
            "",
            f"{rows} rows of about 90 non-zeros. {'; '.join(shown)}. Reading produces every batch on one core; "
            "learning is `th.select` with k = 1000, one shuffled pass, reading on a second core. All files are in "
            f"the operating system's page cache. Medians [least - most] of {repeats} runs.",
            "",
            table(["rows", "pass", "seconds", "MB of text/s", "times as fast"], lines),
        ]
    )


def _packed(folder: Path, rows: int) -> dict[str, tuple[int, Path]]:
    """By form: the size of the text, and the file that holds it compressed."""
    found = {}
    for path in write_zipf(folder, rows):
        packed = path.with_name(f"{path.name}.gz")
        with open(path, "rb") as text, gzip.open(packed, "wb", compresslevel=6) as out:
            shutil.copyfileobj(text, out)
        found[path.suffix[1:]] = (path.stat().st_size, packed)
        path.unlink()
    return found


def _mb(*sizes: int) -> list[float]:
    return [size / 2**20 for size in sizes]
