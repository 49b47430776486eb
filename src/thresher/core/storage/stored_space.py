"""Feature spaces that files describe: checked, since a file may say anything."""

from __future__ import annotations

from typing import Any

from thresher.core.feature_space import FeatureSpace


def read_space(fields: Any) -> FeatureSpace:
    """The feature space that a file describes; KeyError, TypeError or ValueError if there is no such space."""
    try:
        space = FeatureSpace.from_dict(fields)
    except RecursionError:
        raise ValueError("a feature space within too many others") from None
    size = space.size
    if (
        space.kind not in ("column", "index", "token", "kmer")
        or (space.kind == "kmer") != (space.kmers is not None)
        or not (size is None or (type(size) is int and 0 <= size <= 1 << 64))
    ):
        raise ValueError("an unknown feature space")
    return space


def key_limit(space: FeatureSpace) -> int:
    """The number that all keys of a space are below."""
    everything = 1 << 64
    if space.random_features is not None:
        return everything
    if space.hashing is not None:
        return space.hashing.width
    formed = space.products is not None or space.expansion is not None
    return everything if formed or space.size is None else space.size
