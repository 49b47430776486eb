"""Table 2: classification."""

from __future__ import annotations

from benchmarks.papers.sparse_rf.tables import Paper, section

PAPER = {
    "cod_rna": Paper((14762, 0.966, 95, 15), (10000, 0.964, 214, 56), (180, 0.964, 180, 0.61)),
    "ijcnn1": Paper((16888, 0.991, 636, 34), (10000, 0.989, 601, 88), (1392, 0.989, 292, 11)),
}


def run() -> str:
    """The Gaussian kernel; SVC with another kernel would need the products of all rows, 13 GB and more."""
    parts = [
        "## Table 2: classification",
        "The paper: the accuracy of all random features with a fraction of the features, and less memory. It has "
        "more rows of both sets. Gaussian kernel only: scikit-learn's SVC accepts the others only as a full kernel "
        "matrix, 13 GB or more here.",
        *(section(name, {"gaussian": paper}, classes=True) for name, paper in PAPER.items()),
    ]
    return "\n\n".join(parts)
