"""Decoys: how many features that cannot matter the same fit selects, if each feature has one beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.core.feature_space import Products
from thresher.core.memory import DEFAULT_MEMORY, parse_size
from thresher.errors import SettingsError
from thresher.methods import Data
from thresher.run import Run, RunOptions
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.transforms.decoys import FEATURE_BYTES, RowSample, WithDecoys, are_decoys, real_keys
from thresher.sources.transforms.interactions import Interactions
from thresher.trust.repeats import Repeats

#: The share of the memory for the rows that decoys are drawn from, what they take without a limit, and how many there
#: must be.
_SHARE, _ROOM, _LEAST_ROWS = 8, 64 << 20, 100
#: Methods whose features are no columns, and why.
_REFUSED = {
    "sparse-rf": "random features have no copies that cannot matter",
    "hashing": "it selects no features",
}


class Decoys(Repeats):
    """Repeats a fit with a decoy beside each feature, and counts those that are selected.

    Raises
    ------
    SettingsError
        For methods without features that decoys could stand beside, and together with ``fdr``.
    """

    setting = "decoys"
    provenance = "decoys"
    does = "draws features of other rows"
    phase = "fitting features and decoys"

    @classmethod
    def check(cls, method: str, fdr: float | None) -> None:
        """Raise if a method has no use for decoys."""
        if method in _REFUSED:
            raise SettingsError(f"{method} has no `decoys`: {_REFUSED[method]}. Choose another method")
        if fdr is not None:
            raise SettingsError("`decoys` is a diagnostic of a fit without error control: leave out `fdr` or `decoys`")

    def make_run(self, data: Data, settings: Any, options: RunOptions) -> Run:
        reason = None
        if getattr(settings, "groups", None) is not None:
            reason = "`groups` selects whole groups, and decoys are single features"
        elif getattr(settings, "family", "linear") != "linear":
            reason = "decoys stand beside columns, the linear `family`"
        if reason is not None:
            raise SettingsError(f"`decoys` is not possible here: {reason}. Leave out `decoys`")
        return super().make_run(data, settings, options)

    def facts(self, selection: Selection, run: Run, held: Source | None = None) -> dict[str, Any]:
        """How many decoys are selected, the rank of the first, and from how many rows they were drawn."""
        run.release()
        run.release_buffers()
        options, rows = self._options, self._rows
        limited = options.memory is not None or self._spec.online
        memory = parse_size(DEFAULT_MEMORY if options.memory is None else options.memory)
        room = memory // _SHARE if limited else _ROOM
        products = Products.of(options.interactions)
        if products is not None:
            rows = Interactions.over(rows, products)
        sample = RowSample(run.watched(run.limited(rows), "drawing decoys"), self._seed, room // FEATURE_BYTES)
        if not sample.complete and len(sample.words) < _LEAST_ROWS:
            raise SettingsError(
                f"`decoys` are drawn from at least {_LEAST_ROWS} rows, and an eighth of the memory holds "
                f"{len(sample.words)}: pass a larger `memory`, or leave out `decoys`"
            )
        keep = {name: int(real_keys(np.array([key], np.uint64))[0]) for name, key in options.keep.items()}
        counts: list[int] = []
        decoys: list[int] = []
        first: list[int | None] = []
        for number in range(self.times):
            beside = WithDecoys(rows, sample, number)
            found = self._fitted(
                beside,
                number,
                run,
                self._spec.make_run,
                memory=memory - room if limited else options.memory,
                interactions=1,
                keep=keep,
            )
            which = np.flatnonzero(are_decoys(found.keys))
            counts.append(len(found))
            decoys.append(len(which))
            first.append(int(which[0]) + 1 if len(which) else None)
        return {
            "n": self.times,
            "selected": counts,
            "decoys": decoys,
            "first": first,
            "rows": len(sample.words),
            "all_rows": sample.complete,
        }
