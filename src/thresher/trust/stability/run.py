"""A fit with selection frequencies: the ordinary fit of all rows, and two fits for each pair of halves."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np

from thresher.core.batch import Cursor
from thresher.core.storage.checkpoint import Checkpoint
from thresher.errors import SettingsError
from thresher.methods import Data, MakeRun, MethodSpec
from thresher.online.run import OnlineRun
from thresher.run import Run, RunOptions, check_readable_again
from thresher.selection.names import find_names
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.trust.stability.column_fits import ColumnFits, ColumnRun
from thresher.trust.stability.frequencies import (
    Frequencies,
    Keys,
    by_k,
    expected_false,
    mean_size,
    threshold_for,
)
from thresher.trust.stability.online_fits import OnlineFits
from thresher.trust.stability.settings import Stability, check_settings

log = logging.getLogger(__name__)


def with_stability(make_run: MakeRun, spec: MethodSpec, stability: Stability | None) -> MakeRun:
    """What makes the run of a method: its own, or one with selection frequencies around it."""
    if stability is None:
        return make_run

    def make_stable_run(data: Data, settings: Any, options: RunOptions) -> Run:
        return StableRun(spec, data, settings, options, stability)

    return make_stable_run


class StableRun(Run):
    """The ordinary fit of all rows, with the share of fits of halves that select each of its features.

    A checkpoint has the fits of halves that are complete; the ordinary fit has one of its own beside it. The engines of
    an online method learn the halves side by side: an interrupted reading of these begins again.

    Parameters
    ----------
    spec, data, settings, options
        Those of the method.
    stability : Stability
        The number of pairs, and the expected number of false features that sets the threshold.
    """

    def __init__(self, spec: MethodSpec, data: Data, settings: Any, options: RunOptions, stability: Stability) -> None:
        if not isinstance(data.rows, Source):
            raise SettingsError(
                "`stability` divides the rows, and the data is a stream of features: leave out `stability`"
            )
        check_settings(settings)
        super().__init__(replace(options, callback=None))  # the ordinary fit calls it
        check_readable_again(data.rows, needed=True, why="`stability`")
        self.source: Source = data.rows
        self._settings, self._stability = settings, stability
        self._classes = list(data.classes or [])
        self._inner_checkpoint = None if options.checkpoint is None else f"{os.fspath(options.checkpoint)}.fit"
        self._inner = spec.make_run(data, settings, replace(options, checkpoint=self._inner_checkpoint))
        self._halves: OnlineFits | ColumnFits
        if isinstance(self._inner, OnlineRun):
            self._halves = OnlineFits(self._inner, stability)
        else:
            self._halves = ColumnFits(cast(ColumnRun, self._inner), stability)
        self._fits: list[Keys] = []
        self._selection: Selection | None = None
        self._learned: dict[str, Any] = {}  # the progress of the ordinary fit at its end
        self.resume()

    # ── the loop ─────────────────────────────────────────────────────────────────────────────────

    def _steps(self) -> Iterator[None]:
        self.save()  # says which loss the labels asked for, before the ordinary fit saves anything
        self._inner.run()
        self._selection, self._learned = self._inner.selection(), self._inner._counts()
        yield
        if len(self._fits) < self._stability.fits:
            for keys in self._halves.fits(len(self._fits)):
                self._fits.append(keys)
                yield
        self._selection = self._judged(self._selection)
        if self._inner_checkpoint is not None and os.path.exists(self._inner_checkpoint):
            os.unlink(self._inner_checkpoint)

    @property
    def frequencies(self) -> Frequencies:
        """The frequencies of all features that any fit of a half selected so far."""
        return Frequencies.of(self._fits)

    def _judged(self, selection: Selection) -> Selection:
        """The selection with the frequencies of its features, and the facts about those of all."""
        most, fits = self._stability.expected_false, self._fits
        found = self.frequencies
        p = max(1, self._halves.distinct.count())
        q = mean_size(fits)
        threshold = threshold_for(q, p, most, len(fits))
        stable = 0 if threshold is None else int((found.frequency >= threshold).sum())
        listed = max(stable, min(len(found.keys), self._settings.k))
        facts: dict[str, Any] = {
            "B": self._stability.pairs,
            "names": self._names(selection, found.keys[:listed]),
            "keys": found.keys[:listed].tolist(),
            "frequency": found.frequency[:listed].tolist(),
            "threshold": threshold,
            "stable": stable,
            "expected_false": most,
            "features_seen": p,
            "selected_per_fit": q,
            "bound": None if threshold is None else expected_false(q, p, threshold),
            "by_k": by_k(fits, self._settings.k, p, most),
        }
        if isinstance(self._halves, OnlineFits) and "plan" in selection.provenance:
            plan, halves = selection.provenance["plan"], self._halves_bytes
            selection.provenance["plan"] = {**plan, "halves": halves, "total": max(plan["total"], halves)}
        if threshold is None:
            log.warning(
                "No frequency bounds the expected number of false features by %g: a fit selects %g of %d features. "
                "Pass `k=%d`, or a larger `expected_false`.",
                most,
                q,
                p,
                max(1, int(np.sqrt(most * p))),
            )
        judged = replace(selection, frequencies=found.of_keys(selection.keys))
        judged.provenance["stability"] = facts
        return judged

    def _names(self, selection: Selection, keys: Keys) -> list[str]:
        """The names of these features: those of the selection, and others read from the data."""
        known = dict(zip(selection.keys.tolist(), selection.names, strict=True))
        others = np.array([key for key in keys.tolist() if key not in known], np.uint64)
        if len(others):
            source, space = self._named_source, selection.space
            found = {} if space.invertible else find_names(self.watched(source, "naming features"), others)
            known |= dict(zip(others.tolist(), space.names(others, found), strict=True))
        return [known[key] for key in keys.tolist()]

    @property
    def _named_source(self) -> Source:
        """The rows as the method sees them, products included."""
        found: Source = cast(Any, self._inner).source
        return found

    @property
    def _halves_bytes(self) -> int:
        """The bytes of the engines of an online method, with what else of its plan is there meanwhile."""
        assert isinstance(self._halves, OnlineFits)
        plan = cast(OnlineRun, self._inner).plan
        return self._halves.bytes + plan.buffers + plan.shuffle + plan.products + plan.columns

    # ── checkpoints, progress and the result ─────────────────────────────────────────────────────

    def _counts(self) -> dict[str, Any]:
        phase = f"{len(self._fits)} of {self._stability.fits} halves are fitted"
        return {**self._learned, "phase": phase}

    def _identity(self) -> dict[str, Any]:
        return {
            "data": self.source.fingerprint(),
            **self._settings.to_dict(),
            "class_weight": self.options.class_weight_identity(),
            "memory": self.options.memory,
            "stability": [self._stability.pairs, self._stability.seed],
        }

    def _snapshot(self) -> Checkpoint | None:
        lengths = np.array([len(keys) for keys in self._fits], np.int64)
        return Checkpoint(
            identity=self._identity(),
            passes_done=len(self._fits),
            cursor=Cursor(),
            labels=self._classes,
            engine={
                "keys": np.concatenate([np.empty(0, np.uint64), *self._fits]),
                "lengths": lengths,
                "distinct": self._halves.distinct.state(),
            },
        )

    def _restore(self, saved: Checkpoint) -> None:
        keys, lengths = saved.engine["keys"], saved.engine["lengths"]
        sound = keys.dtype == np.uint64 and keys.ndim == 1 and lengths.dtype == np.int64 and lengths.ndim == 1
        if not sound or len(lengths) > self._stability.fits or (lengths < 0).any() or lengths.sum() != len(keys):
            raise ValueError("the fits of halves are damaged")
        self._halves.distinct.restore(saved.engine["distinct"])
        self._fits = np.split(keys, np.cumsum(lengths)[:-1]) if len(lengths) else []

    @property
    def amount(self) -> str:
        if self._selection is None:
            return self._inner.amount
        return f"{len(self._fits)} of {self._stability.fits} fits of halves"

    @property
    def usable(self) -> bool:
        return self._selection is not None or self._inner.usable

    def selection(self) -> Selection:
        """The selection; after an interrupt, the ordinary one, without frequencies if not all fits are complete."""
        return self._inner.selection() if self._selection is None else self._selection

    def release(self) -> None:
        super().release()
        self._inner.release()

    def limited(self, source: Source) -> Source:
        return self._inner.limited(source)
