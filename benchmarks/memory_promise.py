"""Peak resident memory of fits that strain the plan: long names, wide tables, long rows, many classes, every method."""

from __future__ import annotations

import itertools
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import python, table
from thresher.methods import get_method, method_names

MEMORIES = (16, 32, 64, 256)
#: How rows are read: in order, shuffled (default), from a cache that this fit writes, and from one that it finds.
WAYS: dict[str, dict[str, Any]] = {
    "in order": {"shuffle": False},
    "shuffled": {},
    "writes a cache": {"cache": True},
    "reads a cache": {"cache": True},
    "as columns": {},
}
#: The small fit loads every package; it takes little, so that it leaves nothing behind for the large one.
CHILD = """
import json, logging, sys, thresher as th
from thresher.core.memory import peak_resident, resident
from thresher.errors import DataError, SettingsError
small, large, options, memory = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]
logging.disable()
try:
    th.select(small, **{**options, "k": 2, "memory": "12MB"})
except SettingsError:  # some methods need more for any data
    th.select(small, **{**options, "k": 2})
before = resident()
try:
    selection = th.select(large, **options, memory=memory)
    plan = selection.provenance["plan"]
    print(json.dumps([peak_resident() - before, plan["total"]]))
except (DataError, SettingsError) as error:
    print(json.dumps([str(error), peak_resident() - before]))
"""
#: Why a case is over the plan.
_LONG_ROWS = "a batch of one such row is larger than the plan's share of buffers, and several are alive at once."
_TUNED = "several settings are tuned side by side, and what they hold is checked after each batch, not each feature."
REASONS = {
    "100,000 features a row": _LONG_ROWS,
    "100,000 named features a row": _LONG_ROWS,
    "names of 10 kB": "a block of the cache is joined, compacted and written, three copies of its text.",
    "10^6 strings": "up to 32 freed blocks of each size are kept for the next batch; with 6 it took 5 to 9 MB less.",
    "200 classes": "the answer is one matrix of all classes and all features found by any of them, beside the tables.",
    "`l1-arda`": _TUNED,
    "`ada-fobos`": _TUNED,
    "`sparse-rf`": "its plan lists what is held at the end. The limit is `memory`, which the columns of an iteration "
    "share with the arrays that find the inputs of the rows.",
}
START_UP = """
from thresher.core.memory import resident
import thresher, numpy
before = resident()
import pyarrow, pyarrow.csv
print(resident() - before)
"""


class Case(NamedTuple):
    """A file, a small file of its format, and the options of the fit."""

    small: Path
    large: Path
    options: dict[str, Any]


def run(workers: int = 2) -> str:
    """Fit every case in a fresh process. Memory is measured, not time, so that two run at once."""
    rows: dict[tuple[str, str], list[str]] = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        settings = list(_settings(Path(folder)))
        # A cache is written in one way of reading and read in the next one, so that these take turns.
        by_memory = [
            pool.submit(_fits, [pair for pair in settings if pair[0][0] == title], memory, Path(folder))
            for title in dict.fromkeys(title for (title, _), _ in settings)
            for memory in MEMORIES
        ]
        for future in by_memory:
            for (title, way), cell in future.result():
                rows.setdefault((title, way), []).append(cell)
                print(f"{title} | {way} | {cell}", file=sys.stderr, flush=True)
    return section(rows)


def section(rows: dict[tuple[str, str], list[str]]) -> str:
    """The section of the page, from the cells of each line of the table."""
    over = [title for (title, _), cells in rows.items() for cell in cells if cell.startswith("**")]
    fits = [cell for cells in rows.values() for cell in cells if cell != "not measured"]
    reasons = [f"- {title}: {REASONS.get(title, 'not known')}" for title in dict.fromkeys(over)]
    return "\n".join(
        [
            "## The memory promise under strain",
            "",
            "Growth of the peak resident memory in MB during a fit, and what was planned, relative to the same process "
            "after a fit of a few rows. A figure over 1.1 times the plan and 2 MB is bold: "
            f"{len(over)} of {len(fits)}. Refused before the first row is learned: {fits.count('refused')}, each with "
            "the memory that it would take. Methods that hold every feature seen or every column cannot know their "
            "number before: they are refused in the run "
            f"({sum('in the run' in cell for cell in fits)}, with the growth up to then, bold over 1.1 times "
            "the memory and 2 MB). Loading pyarrow takes "
            f"{_mb(int(python(START_UP)))} MB, which is not part of the plan. Files: rows of five names of "
            "10 kB; a CSV of 20,000 columns; rows of "
            "100,000 features (LIBSVM and named); 200 classes with a table each; a column of a million distinct "
            "strings; all products of two features. Online methods make two passes and the final fit.",
            "",
            table(
                ["data", "rows", *(f"`--memory {memory}MB`" for memory in MEMORIES)],
                [[*which, *cells] for which, cells in rows.items()],
            ),
            *(["", "Over the plan, and why:", "", *reasons] if reasons else []),
        ]
    )


def _fits(settings: list[tuple[tuple[str, Case], str]], memory: int, folder: Path) -> list[tuple[tuple[str, str], str]]:
    """Fit one kind of data in every way of reading, within a memory."""
    cells = []
    for (title, case), way in settings:
        cache = folder / f"cache-{title}-{memory}"
        more = {**WAYS[way], **({"cache": str(cache)} if "cache" in WAYS[way] else {})}
        grown, planned = _fit(case, more, memory)
        if isinstance(grown, str):
            within = re.search(r"^after \d+ rows|side by side|take about|all that memory holds", grown) is not None
            beyond = "**" * (planned > 1.1 * memory * 2**20 + 2 * 2**20)
            cell = f"{beyond}refused in the run ({_mb(planned)}){beyond}" if within else "refused"
        else:
            beyond = "**" * (grown > 1.1 * planned + 2 * 2**20)
            cell = f"{beyond}{_mb(grown)}{beyond} of {_mb(planned)}"
        cells.append(((title, way), cell))
    return cells


def _settings(folder: Path) -> Iterator[tuple[tuple[str, Case], str]]:
    """Every case in every way of reading, and every method on ordinary rows."""
    strained = {title: _two_passes(case) for title, case in cases(folder).items()}
    yield from itertools.product(strained.items(), [way for way in WAYS if way != "as columns"])
    ordinary = Case(_ordinary(folder / "few.vw", 20), _ordinary(folder / "rows.vw", 10_000), {"k": 100})
    for method in method_names():
        case, online = ordinary._replace(options={**ordinary.options, "method": method}), get_method(method).online
        for way in ("in order", "shuffled") if online else ("as columns",):
            yield (f"`{method}`", _two_passes(case) if online else case), way


def _two_passes(case: Case) -> Case:
    """Two passes have every phase that twenty have, and take a tenth of the time."""
    return case._replace(options={**case.options, "passes": 2})


def cases(folder: Path) -> dict[str, Case]:
    """Files that strain the plan, each with a small file of the same format."""
    few = _ordinary(folder / "small.vw", 20)
    svm = folder / "small.svm"
    svm.write_text("1 1:1 2:1\n0 2:1\n" * 10)
    csv = folder / "small.csv"
    csv.write_text("y,a,b\n" + "1,2,x\n0,3,y\n" * 10)
    classes = folder / "small-classes.vw"
    classes.write_text("".join(f"{1 + i % 3} | a{i} b\n" for i in range(30)))
    target = {"target": "y"}
    return {
        "names of 10 kB": Case(few, _long_names(folder / "names.vw"), {"k": 100}),
        "20,000 columns": Case(csv, _wide(folder / "wide.csv"), {"k": 100, **target}),
        "100,000 features a row": Case(svm, _long_rows(folder / "long.svm", ""), {"k": 100}),
        "100,000 named features a row": Case(few, _long_rows(folder / "long.vw", "| "), {"k": 100}),
        "200 classes": Case(classes, _classes(folder / "classes.vw"), {"k": 20, "loss": "softmax", "per_class": True}),
        "10^6 strings": Case(csv, _strings(folder / "strings.csv"), {"k": 100, **target}),
        "products of two": Case(few, _ordinary(folder / "pairs.vw", 3000), {"k": 100, "interactions": 2}),
    }


def _ordinary(path: Path, rows: int) -> Path:
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        for i in range(rows):
            file.write(f"{i % 2} | {' '.join(f'w{key}' for key in rng.integers(0, 1 << 20, 30))}\n")
    return path


def _long_names(path: Path, rows: int = 1500) -> Path:
    with open(path, "w") as file:
        for i in range(rows):
            file.write(f"{i % 2} | {' '.join(f'{i}_{j}'.ljust(10_000, 'x') for j in range(5))}\n")
    return path


def _wide(path: Path, rows: int = 240, columns: int = 20_000) -> Path:
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        file.write("y," + ",".join(f"x{i}" for i in range(columns)) + "\n")
        for i in range(rows):
            file.write(f"{i % 2}," + ",".join(f"{value:.3f}" for value in rng.normal(size=columns)) + "\n")
    return path


def _long_rows(path: Path, bar: str, rows: int = 60, features: int = 100_000) -> Path:
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        for i in range(rows):
            keys = np.unique(rng.integers(1, 1 << 30, features)).tolist()
            file.write(f"{i % 2} {bar}{' '.join(f'{key}:{1 + key % 7}' for key in keys)}\n")
    return path


def _classes(path: Path, rows: int = 5_000) -> Path:
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        for i in range(rows):
            file.write(f"{1 + i % 200} | {' '.join(f'w{key}' for key in rng.integers(0, 100_000, 20))}\n")
    return path


def _strings(path: Path, rows: int = 1_000_000) -> Path:
    with open(path, "w") as file:
        file.write("y,s\n")
        for i in range(rows):
            file.write(f"{i % 2},user-{i * 2654435761 % 2**32:010d}\n")
    return path


def _fit(case: Case, more: dict[str, Any], memory: int) -> tuple[int | str, int]:
    options = json.dumps({**case.options, **more})
    grown, planned = json.loads(python(CHILD, str(case.small), str(case.large), options, f"{memory}MB"))
    return grown, planned


def _mb(size: int) -> str:
    return f"{size / 2**20:.1f}"
