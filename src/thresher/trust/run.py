"""A fit with error control: candidates on halves of the rows, the cut, and the fit of the features that stay."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Cursor
from thresher.core.memory import Watch
from thresher.core.storage.checkpoint import Checkpoint
from thresher.errors import DataError, SettingsError
from thresher.methods import Data, MethodSpec
from thresher.refit import Columns
from thresher.run import Origin, Run, RunOptions, check_readable_again
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.trust.counted_units import Units
from thresher.trust.final_fit import arrays_of, final_fit, some_columns, some_features
from thresher.trust.memory_plan import Room
from thresher.trust.mirror import combined_q_values, mirror_histogram, most_false, split_q_values
from thresher.trust.saved import restored_splits, saved_splits
from thresher.trust.settings import ErrorControl
from thresher.trust.split import Halves, Split, columns_of, mirror_of
from thresher.trust.wald import RIDGE

log = logging.getLogger(__name__)


def with_error_control(spec: MethodSpec, control: ErrorControl | None) -> Callable[[Data, Any, RunOptions], Run]:
    """What makes the run of a method: its own, or one with error control around it."""
    if control is None:
        return spec.make_run

    def make_run(data: Data, settings: Any, options: RunOptions) -> Run:
        return ControlledRun(spec, data, settings, options, control)

    return make_run


class InnerWatch(Watch):
    """The watch of a fit within another: its progress is a phase of the whole, whose time goes on."""

    def __init__(self, whole: Watch, name: str) -> None:
        self._whole, self._name = whole, name

    def restart(self) -> None:
        """Time and memory count from the start of the whole."""

    def show(self, **counts: Any) -> None:
        self._whole.show(**{**counts, "phase": counts.get("phase") or self._name})


class ControlledRun(Run):
    """A fit whose features are expected to hold at most a share ``control.fdr`` of false ones.

    A checkpoint has the splits that are complete; the fit of the split under way has one of its own beside it.

    Parameters
    ----------
    spec, data, settings, options
        Those of the method that finds the candidates.
    control : ErrorControl
        The share, and the number of splits.
    """

    def __init__(self, spec: MethodSpec, data: Data, settings: Any, options: RunOptions, control: ErrorControl) -> None:
        if not isinstance(data.rows, Source):
            raise SettingsError("`fdr` divides the rows, and the data is a stream of features: leave out `fdr`")
        self.units = Units(settings)
        super().__init__(options)
        check_readable_again(data.rows, needed=True, why="`fdr`")
        self.source: Source = data.rows
        self.splits: list[Split] = []
        self._spec, self._data, self._settings, self._control = spec, data, settings, control
        self._seed = control.seed
        self._room = Room.of(spec, options)
        self._room.check(settings.k)
        self._columns: tuple[Columns, Columns] | None = None  # those of the last split's candidates
        self._final: Selection | None = None
        if options.restart:
            self._remove_inner_checkpoint()
        self.resume()

    # ── the loop ─────────────────────────────────────────────────────────────────────────────────

    def _steps(self) -> Iterator[None]:
        while len(self.splits) < self._control.splits and not (self.stopped and self.splits):
            self._columns = None
            self._add_split(f"split {len(self.splits) + 1} of {self._control.splits}")
            yield
        self._final = self._finished()
        yield

    def _add_split(self, name: str) -> None:
        halves = Halves.of(self.source, self._seed, len(self.splits))
        options = replace(
            self.options,
            watch=InnerWatch(self.watch, name),
            calibrate=False,
            checkpoint=self._inner_checkpoint,
            restart=False,
            callback=None,
        )
        run = self._spec.make_run(self._data._replace(rows=halves.first), self._settings, options)
        try:
            run.run()
        except DataError as error:
            if type(error) is DataError:
                raise DataError(f"in one half of the rows, as `fdr` divides them: {error}") from None
            raise
        candidates = run.selection()
        if candidates.space.expansion is not None and self._control.splits > 1:
            raise SettingsError("`splits` of products that a family forms cannot be compared: pass `splits=1`")
        tested = [self.watched(run.limited(half), f"{name}: testing candidates") for half in halves]
        del run
        self.release_buffers()
        found, self._columns = mirror_of(candidates, (tested[0], tested[1]), self._room, self.units)
        self.splits.append(found)
        self._remove_inner_checkpoint()

    def _finished(self) -> Selection:
        """The features that stay, fitted to all rows."""
        units = np.unique(np.concatenate([split.units for split in self.splits]))
        q_values = np.full((len(self.splits), len(units)), np.inf)
        strength = np.zeros(len(units))
        for mine, split in zip(q_values, self.splits, strict=True):
            where = np.searchsorted(units, split.units)
            mine[where] = split_q_values(split.mirror)
            strength[where] += split.mirror
        found = combined_q_values(list(q_values), strength, self._control.fdr) if len(units) else np.empty(0)
        candidates = self._candidates()
        of_features = found[np.searchsorted(units, self.units.of(candidates.keys))]
        stays = of_features <= self._control.fdr
        final = final_fit(
            _some(candidates, stays, of_features),
            self._columns_of(_some(candidates, stays, of_features)),
            fit_intercept=bool(getattr(self._settings, "fit_intercept", True)),
            calibrate=self.options.calibrate,
        )
        kept = int((found <= self._control.fdr).sum())
        if not kept:
            log.warning(
                "No feature stays at fdr = %g: either none has an effect, or the rows or candidates are too few to "
                "tell. At least %d %s must stay for any to.",
                self._control.fdr,
                int(np.ceil(1 / self._control.fdr)),
                self.units.word,
            )
        final.provenance.update(self.stop_facts)
        final.provenance["rows"] = max(sum(split.seen) for split in self.splits)
        final.provenance["fdr"] = {
            "q": self._control.fdr,
            "splits": len(self.splits),
            "unit": self.units.word,
            "candidates": len(units),
            "kept": kept,
            "expected_false": most_false(kept, self._control.fdr),
            "rows": [list(split.rows) for split in self.splits],
            "sampled": any(split.rows != split.seen for split in self.splits),
            "ridge": {"value": RIDGE, "features": [split.ridged for split in self.splits]},
            "cut": _cut(candidates, stays, of_features),
            "mirror": self._mirror(units, found <= self._control.fdr),
        }
        return final

    def _mirror(self, units: NDArray[Any], stays: NDArray[np.bool_]) -> dict[str, Any]:
        """The mirror statistics of the first split, in a histogram."""
        first = self.splits[0]
        return mirror_histogram(first.mirror, stays[np.searchsorted(units, first.units)])

    def _candidates(self) -> Selection:
        """All candidates as a selection, in the order of their keys: each as in the first split that has it."""
        keys = np.unique(np.concatenate([split.candidates.keys for split in self.splits]))
        first = self.splits[0].candidates
        whole: dict[str, Any] = {
            name: np.empty(first_of.shape[:-1] + keys.shape, first_of.dtype) for name, first_of in arrays_of(first)
        }
        names = [""] * len(keys)
        for split in reversed(self.splits):
            where = np.searchsorted(keys, split.candidates.keys)
            for name, array in arrays_of(split.candidates):
                whole[name][..., where] = array
            for place, name in zip(where.tolist(), split.candidates.names, strict=True):
                names[place] = name
        facts: dict[str, Any] = {
            name: first.provenance[name] for name in ("thresher", "plan", "reading") if name in first.provenance
        }
        if "plan" in facts:  # the tests begin when the fit has ended
            tests = max(split.taken for split in self.splits)
            facts["plan"] = {**facts["plan"], "tests": tests, "total": max(facts["plan"]["total"], tests)}
        origin = Origin.of(self.source, fingerprint=not self.options.from_estimator)
        facts |= {"data": origin.data, "fingerprint": origin.fingerprint}
        return replace(first, names=names, keys=keys, provenance=facts, calibration=None, **whole)

    def _columns_of(self, chosen: Selection) -> tuple[Columns, Columns]:
        """The columns of the features that stay: those of the last split, if they are all there, or read again."""
        last = {key: place for place, key in enumerate(self.splits[-1].candidates.keys.tolist())}
        held, self._columns = self._columns, None
        if held is not None and all(key in last for key in chosen.keys.tolist()):
            places = np.array([last[key] for key in chosen.keys.tolist()], np.intp)
            return some_columns(held[0], places), some_columns(held[1], places)
        del held
        halves = Halves.of(self.source, self._seed, len(self.splits) - 1)
        name = "fitting the features that stay"
        first, second = (columns_of(chosen, self.watched(half, name), self._room.both)[0] for half in halves)
        return first, second

    # ── checkpoints, progress and the result ─────────────────────────────────────────────────────

    @property
    def _inner_checkpoint(self) -> str | None:
        """The checkpoint of the fit of the split under way."""
        return None if self.options.checkpoint is None else f"{os.fspath(self.options.checkpoint)}.split"

    def _remove_inner_checkpoint(self) -> None:
        if self._inner_checkpoint is not None and os.path.exists(self._inner_checkpoint):
            os.unlink(self._inner_checkpoint)

    def _counts(self) -> dict[str, Any]:
        rows = sum(sum(split.rows) for split in self.splits)
        return {"rows": rows, "passes": self._control.splits, "passes_done": len(self.splits)}

    def _identity(self) -> dict[str, Any]:
        return {
            "data": self.source.fingerprint(),
            **self._settings.to_dict(),
            "class_weight": self.options.class_weight_identity(),
            "memory": self._room.allowed,
            "fdr": self._control.fdr,
            "splits": self._control.splits,
            "seed": self._seed,
        }

    def _snapshot(self) -> Checkpoint | None:
        return Checkpoint(
            identity=self._identity(),
            passes_done=len(self.splits),
            cursor=Cursor(),
            labels=list(self._data.classes or []),
            engine=saved_splits(self.splits),
        )

    def _restore(self, saved: Checkpoint) -> None:
        self.splits = restored_splits(saved.engine, saved.passes_done)

    @property
    def amount(self) -> str:
        return f"{len(self.splits)} splits"

    @property
    def usable(self) -> bool:
        return self._final is not None

    @property
    def _has_interim(self) -> bool:
        return bool(self.splits) and self._final is None

    def interim_selection(self) -> Selection:
        return self._candidates()

    def selection(self) -> Selection:
        assert self._final is not None
        return self._final


def _some(selection: Selection, which: NDArray[np.bool_], q_values: NDArray[np.float64]) -> Selection:
    """Some features of a selection, with their q-values."""
    return some_features(replace(selection, q_values=q_values), which)


def _cut(candidates: Selection, stays: NDArray[np.bool_], q_values: NDArray[np.float64]) -> dict[str, list[Any]]:
    """The candidates that do not stay, those with the least q-values first; None: they stay at no level."""
    cut = np.flatnonzero(~stays)
    cut = cut[np.argsort(q_values[cut], kind="stable")]
    return {
        "names": [candidates.names[at] for at in cut],
        "keys": candidates.keys[cut].tolist(),
        "q_values": [value if np.isfinite(value) else None for value in q_values[cut].tolist()],
    }
