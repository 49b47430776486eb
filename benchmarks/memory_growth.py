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
MEMORIES = ("64MB", "32MB")
FORMS = {"svm": "LIBSVM", "vw": "VW text"}
#: The ten rows warm everything up; their own fit is small, so that it leaves no memory behind for the large one.
CHILD = """
import json, sys, thresher as th
from thresher.memory import peak_resident, resident
ten, data, memory, k, rows, width = sys.argv[1:]
th.select(ten, k=10, memory="4MB", sketch=(1, 1024))
before = resident()
selection = th.select(data, k=int(k), memory=memory, sketch=(int(rows), int(width)))
print(json.dumps([peak_resident() - before, selection.provenance["plan"]["total"], selection.provenance["rows"]]))
"""


def run(rows: int = ROWS) -> str:
    """Fit every file in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
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
        ten = hard_stream().head(10, folder, test_rows=1)
        lines = []
        for form, (title, n) in itertools.product(FORMS, streams):
            fits = [_fit(ten, streams[title, n], form, memory) for memory in MEMORIES]
            assert all(seen == n for _, _, seen in fits)
            lines.append([FORMS[form], title, n, *(f"{grown / 2**20:.1f}" for grown, _, _ in fits)])
            planned = [plan for _, plan, _ in fits]
    plans = ", ".join(f"{plan / 2**20:.1f} MB of {memory}" for memory, plan in zip(MEMORIES, planned, strict=True))
    return "\n".join(
        [
            "## Memory of a fit",
            "",
            f"Peak resident memory of `thresher.select` over what the process held after a small fit of ten rows, with "
            f"k = {K} and a sketch of {SKETCH[0]} x {SKETCH[1]} cells ({SKETCH[0] * SKETCH[1] * 4 / 2**20:.0f} MB), "
            f"shuffling; the hard stream over several numbers of possible features. Planned: {plans} allowed (the rest "
            "is for a decompressor).",
            "",
            table(["file", "possible features", "rows", *(f"grown, MB, `memory={m}`" for m in MEMORIES)], lines),
        ]
    )


def _fit(ten: HardStream, stream: HardStream, form: str, memory: str) -> tuple[int, int, int]:
    paths = [str(part.path("train", form)) for part in (ten, stream)]
    grown, planned, seen = json.loads(python(CHILD, *paths, memory, str(K), *map(str, SKETCH)))
    return grown, planned, seen
