"""Names of features that were not at hand when a feature was selected: another look at the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher.sources.base import Source


def find_names(source: Source, keys: NDArray[np.uint64]) -> dict[int, bytes]:
    """The names of these keys, as far as the data has them; it is read until all are found.

    A dual method may select a feature long after its bytes have passed, and keeping the names of everything seen would
    take more room than everything else.
    """
    missing = set(keys.tolist())
    found: dict[int, bytes] = {}
    if not missing or not source.rewindable:
        return found
    wanted = np.array(sorted(missing), np.uint64)
    for batch, _ in source.batches(keys=wanted, want_names=True, want_labels=False):
        if batch.names is None:
            continue
        distinct, first = np.unique(batch.keys, return_index=True)
        for key, i in zip(distinct.tolist(), first.tolist(), strict=True):
            if key in missing:
                found[key] = batch.names[i]
                missing.discard(key)
        if not missing:
            break
    return found
