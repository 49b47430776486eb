"""Figure 2: classification with the squared hinge loss."""

from benchmarks.papers.os.synthetic import columns

PS = (1000, 2000, 3000, 4000, 5000)


def run() -> str:
    """p from 1,000 to 5,000."""
    claim = (
        "The paper: OS and Proj-GD have the higher recall, while errors after the refit do not follow recall (its text "
        "names no order of the methods by error); 2 or 3 scans are enough; classification suffers less from stale "
        "states than regression does."
    )
    return columns(2, PS, claim, classes=True)
