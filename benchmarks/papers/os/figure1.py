"""Figure 1: linear regression."""

from benchmarks.papers.os.synthetic import columns

PS = (2000, 3000, 4000, 5000, 6000)


def run() -> str:
    """p from 2,000 to 6,000."""
    claim = (
        "The paper: OS has almost the recall of the batch method Proj-GD, above the l1 methods; 2 or 3 scans are "
        "enough; recall falls with the number of workers."
    )
    return columns(1, PS, claim, classes=False)
