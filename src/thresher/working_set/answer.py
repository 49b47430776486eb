"""From an engine to the selection: names, classes, and where it came from."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.columns.types import Ids
from thresher.core.feature_space import FeatureSpace
from thresher.core.losses import get_loss
from thresher.core.terms import Expansion
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.version import __version__
from thresher.working_set.dataset import Examples
from thresher.working_set.result import Found


def make_selection(
    found: Found,
    examples: Examples,
    source: Source,
    settings: dict[str, Any],
    *,
    rounds: int,
    plan: dict[str, Any],
    names: list[str] | None = None,
    space: FeatureSpace | None = None,
    fingerprint: bool = True,
) -> Selection:
    """What a method has found, as everybody sees it; a fingerprint of the data may take a reading of it.

    ``space`` says what the keys mean, where that is not what the source's keys do.
    """
    several = len(found.weights) > 1
    loss = settings["loss"]
    reading = source.reading()
    return Selection(
        [f"#{key}" for key in found.keys.tolist()] if names is None else names,
        found.keys,
        found.weights if several else found.weights[0],
        np.zeros(len(found.keys)),
        found.counts,
        found.shifts + 0.0,
        get_loss(f"rest:{loss}" if several and not source.multilabel else loss),
        examples.classes,
        source.space if space is None else space,
        settings,
        {
            "thresher": __version__,
            "data": source.describe(),
            "fingerprint": source.fingerprint() if fingerprint else None,
            "rows": examples.rows,
            "iterations": rounds,
            "skipped": examples.skipped,
            "plan": plan,
            **({} if reading is None else {"reading": reading}),
        },
    )


def names_made_of(source: Source, keys: Ids, expansion: Expansion | None) -> list[str]:
    """The names of features, by those of others where they are made of these."""
    if expansion is None:
        return names_of(source, keys)
    parts = np.unique(np.array([part for term in expansion.terms for part in term.parts], np.uint64))
    names = dict(zip(parts.tolist(), names_of(source, parts), strict=True))
    return [term.name(names) for term in expansion.terms]


def names_of(source: Source, keys: Ids) -> list[str]:
    """The names of these features; hashed ones are read where they stand, up to the last that is missing."""
    if source.space.invertible:
        return source.space.decode(keys)
    names: dict[int, str] = {}
    for batch, _ in source.batches(keys=keys, want_names=True, want_labels=False):
        if batch.names is not None:
            for i in np.unique(batch.keys, return_index=True)[1].tolist():
                key = int(batch.keys[i])
                if key not in names:
                    names[key] = batch.names[i].decode("utf-8", "surrogateescape")
        if len(names) == len(keys):
            break
    return [names.get(key) or f"#{key}" for key in keys.tolist()]
