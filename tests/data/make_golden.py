"""Writes ``selection_v1.thr``, the file every later Thresher must read and, for format 1, write again.

It was run once, when format 1 was settled: ``python tests/data/make_golden.py`` from the project's root.
"""

from pathlib import Path

import numpy as np

from thresher.core.feature_space import FeatureSpace
from thresher.core.losses import get_loss
from thresher.selection.selection import Selection

PATH = Path(__file__).with_name("selection_v1.thr")


def golden() -> Selection:
    """What the file holds: a plain name, others of two and three bytes a letter, bytes that are not UTF-8, none."""
    return Selection(
        names=["site^example", "größe=鳥", b"cut\xe2\x82".decode("utf-8", "surrogateescape"), ""],
        keys=np.array([3, 2**64 - 1, 2**63, 17], np.uint64),
        weights=np.array([1.5, -0.1, 2.0**-1074, 0.0]),
        bounds=np.array([0.0, 0.25, 0.5, 1e300]),
        counts=np.array([1, 2**40, 2**64 - 1, 0], np.uint64),
        intercept=np.array([-1 / 3]),
        loss=get_loss("logistic"),
        classes=["ham", "späm"],
        space=FeatureSpace("token"),
        settings={"k": 4, "step": "auto", "passes": 2, "shuffle": True},
        provenance={"thresher": "0.1.0", "rows": 1000, "test": {"accuracy": 0.875, "loss": 1 / 3}},
    )


if __name__ == "__main__":
    golden().save(PATH)
