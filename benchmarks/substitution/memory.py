"""Online Substitution: memory over columns that are generated one by one, up to a million."""

from __future__ import annotations

from benchmarks.harness import python, table

GENERATED = """
import sys, numpy as np
from thresher import FeatureStream, select
from thresher.core.memory import resident
rows, p = int(sys.argv[1]), int(sys.argv[2])
y = np.random.default_rng(0).normal(size=rows)
base = np.random.default_rng(1).standard_normal((rows, 64), dtype=np.float32)
def columns():
    rng = np.random.default_rng(2)
    for j in range(p):
        column = base[:, j % 64] * np.float32(rng.random()) + base[:, (7 * j + 1) % 64]
        yield column + y.astype(np.float32) if j % 1000 == 5 else column
def fit(count):
    import itertools
    select(FeatureStream(lambda: itertools.islice(columns(), count)), y, k=100, method="os", loss="squared", scans=1)
fit(10)
before, most = resident(), [0]
found = select(FeatureStream(columns), y, k=100, method="os", loss="squared", scans=1,
               progress=lambda _: most.__setitem__(0, max(most[0], resident())))
print(most[0] - before, found.provenance["plan"]["total"])
"""


def run(rows: int = 1000) -> str:
    """Growth by features."""
    lines = []
    for p in (10**4, 10**5, 10**6):
        grown, planned = python(GENERATED, str(rows), str(p)).split()
        lines.append([f"{p:,}", f"{int(grown) / 2**20:.1f} MB", f"{int(planned) / 2**20:.1f} MB"])
    return (
        f"## Online Substitution: memory\n\nGenerated columns of {rows:,} rows, 100 kept: growth of the process "
        "relative to one that has seen 10 columns, and the plan (100 columns and a block, with their products).\n\n"
        + table(["features", "grown", "planned"], lines)
    )
