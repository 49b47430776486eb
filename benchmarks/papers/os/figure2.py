"""Figure 2: classification with the squared hinge loss."""

from benchmarks.papers.os.synthetic import columns


def run() -> str:
    """p from 1,000 to 5,000."""
    claim = (
        "The paper: OS and Proj-GD have the higher recall; 2 or 3 scans are enough; classification suffers less from "
        "stale states than regression does. (OS runs with m = s here, which measures better than m = 1: kept weights "
        "then move as slowly as if only the newcomer moved.)"
    )
    return columns(2, (1000, 2000, 3000, 4000, 5000), claim, classes=True)
