"""Table 2: classification."""

from __future__ import annotations

from benchmarks.papers.sparse_rf.tables import Paper, section
from benchmarks.sparse_rf import CLASSES, Case

PAPER = {
    "cod_rna": Paper((14762, 0.966, 95, 15), (10000, 0.964, 214, 56), (180, 0.964, 180, 0.61)),
    "ijcnn1": Paper((16888, 0.991, 636, 34), (10000, 0.989, 601, 88), (1392, 0.989, 292, 11)),
}


def run(cases: tuple[Case, ...] = CLASSES) -> str:
    """The Gaussian kernel; SVC with a kernel by its formula would take hours."""
    parts = [
        "## Table 2: classification",
        "The paper: the accuracy of all random features with a fraction of the functions, and less memory. It has more "
        "rows of both sets.",
        *(section(case.name, {case.kernel: (case, PAPER[case.name])}, classes=True) for case in cases),
    ]
    return "\n\n".join(parts)
