"""Peak resident memory of a fit, by rows and by possible features: flat in both, and within the plan."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path

from benchmarks.hard import IDS, ROWS, HardStream, hard_stream, write_hard
from benchmarks.harness import python, table

K, SKETCH = 16_383, (3, 1 << 18)
POSSIBLE = {10**4: "10^4", IDS: "10^7", 2**62: "2^62"}
#: Titles, memory allowed, and whether rows are shuffled.
WAYS = (
    ("`--memory 64MB` (default)", "64MB", True),
    ("`--memory 64MB --no-shuffle`", "64MB", False),
    ("`--memory 32MB`", "32MB", True),
)
FORMS = {"svm": "LIBSVM", "vw": "VW text"}
#: The ten rows warm everything up; their own fit is small, so that it leaves no memory behind for the large one.
CHILD = """
import json, sys, thresher as th
from thresher.core.memory import peak_resident, resident
ten, data, memory, shuffle, k, rows, width = sys.argv[1:]
once = {"passes": 1, "refit": False}
th.select(ten, k=10, memory="4MB", sketch=(1, 1024), **once)
before = resident()
selection = th.select(data, k=int(k), memory=memory, sketch=(int(rows), int(width)), shuffle=shuffle == "yes", **once)
print(json.dumps([peak_resident() - before, selection.provenance["plan"]["total"], selection.provenance["rows"]]))
"""


def run(rows: int = ROWS, repeats: int = 2) -> str:
    """Fit every file in a fresh process, and again: threads meet differently; the most counts."""
    lines = []
    planned: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        streams = _streams(rows, folder)
        ten = hard_stream().head(10, folder, test_rows=1)
        for form, (title, n) in itertools.product(FORMS, streams):
            most = []
            for way, memory, shuffle in WAYS:
                fits = [_fit(ten, streams[title, n], form, memory, shuffle) for _ in range(repeats)]
                assert all(seen == n for _, _, seen in fits)
                planned[way] = fits[0][1]
                most.append(max(grown for grown, _, _ in fits))
            lines.append([FORMS[form], title, n, *map(_mb, most)])
    lines.append(["planned", "any", "any", *map(_mb, planned.values())])
    return "\n".join(
        [
            "## Memory of a fit",
            "",
            f"Growth of the peak resident memory in MB during a fit with k = {K} and a sketch of {SKETCH[0]} x "
            f"{SKETCH[1]} cells ({_mb(SKETCH[0] * SKETCH[1] * 4)} MB), relative to the same process after a fit of "
            "ten rows. The hard stream (benchmarks/hard.py) with several numbers of possible features; the maximum "
            f"of {repeats} fits. Memory that is allowed but not planned is reserved for a decompressor.",
            "",
            table(["file", "possible features", "rows", *(title for title, _, _ in WAYS)], lines),
        ]
    )


def _streams(rows: int, folder: str) -> dict[tuple[str, int], HardStream]:
    """A quarter of the rows and all of them, for every number of possible features."""
    streams = {}
    for ids, title in POSSIBLE.items():
        if ids == IDS:
            whole = hard_stream()
        else:
            whole = write_hard(Path(folder) / f"ids-{title}", rows=rows, test_rows=1, ids=ids)
        for n in (rows // 4, rows):
            inside = Path(folder) / f"{title}-{n}"
            inside.mkdir()
            streams[title, n] = whole if n == ROWS else whole.head(n, inside, test_rows=1)
    return streams


def _fit(ten: HardStream, stream: HardStream, form: str, memory: str, shuffle: bool) -> tuple[int, int, int]:
    paths = [str(part.path("train", form)) for part in (ten, stream)]
    how = [memory, "yes" if shuffle else "no", *map(str, (K, *SKETCH))]
    grown, planned, seen = json.loads(python(CHILD, *paths, *how))
    return grown, planned, seen


def _mb(size: int) -> str:
    return f"{size / 2**20:.1f}"
