"""What a working-set method has found, before it has names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Floats, Ids


class Found(NamedTuple):
    """The features of an engine, strongest first; ``weights`` is outputs x features."""

    keys: Ids
    weights: Floats
    counts: NDArray[np.uint64]
    shifts: Floats
