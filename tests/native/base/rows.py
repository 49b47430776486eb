"""Random small rows, and the compressed arrays that the kernels take."""

import numpy as np
from hypothesis import strategies as st

# Few enough to meet again, with the ends of the range among them.
KEYS = st.sampled_from([*range(12), 2**32, 2**63, 2**64 - 2, 2**64 - 1])
VALUES = st.sampled_from([0.0, 1.0, 1.0, -1.0, 0.5, -0.25, 2.0, float(np.float32(0.1)), float(np.float32(-1.7))])


@st.composite
def rows(draw, most: int = 12, longest: int = 6, values=VALUES):
    """A list of (keys, values)."""
    lengths = draw(st.lists(st.integers(0, longest), max_size=most))
    return [
        (draw(st.lists(KEYS, min_size=n, max_size=n)), draw(st.lists(values, min_size=n, max_size=n))) for n in lengths
    ]


def compressed(some) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A list of (keys, values) as (indptr, keys, values)."""
    indptr = np.cumsum([0] + [len(keys) for keys, _ in some], dtype=np.int64)
    keys = np.array([key for keys, _ in some for key in keys], dtype=np.uint64)
    values = np.array([value for _, values in some for value in values], dtype=np.float32)
    return indptr, keys, values
