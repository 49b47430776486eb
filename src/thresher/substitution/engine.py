"""The engine of a run over a stream: the loop in steps, its result and its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats, Ids
from thresher.core.losses import get_loss
from thresher.core.storage import container
from thresher.substitution.problem import Kept, StreamProblem, Targets
from thresher.substitution.proposer import StreamProposer
from thresher.substitution.settings import SubstitutionSettings
from thresher.working_set.loop import WorkingSetLoop
from thresher.working_set.result import Found


def _strongest(ids: Ids, norms: Floats, k: int) -> NDArray[np.intp]:
    """The positions of the k largest norms; ties go to the smaller id."""
    return np.lexsort((ids, -norms))[:k]


class StreamEngine:
    """Runs the loop over a stream, one block a `step`.

    Parameters
    ----------
    proposer : StreamProposer
    targets : Targets
        The targets of all outputs. If ``settings.apart``, each output gets a problem of its own.
    make_problem : callable
        Makes the problem for the targets of some outputs.
    keep : array, optional
        Features that are in the answer whatever their weights are.
    """

    def __init__(
        self,
        proposer: StreamProposer,
        settings: SubstitutionSettings,
        targets: Targets,
        pool: _native.ThreadPool,
        make_problem: Callable[[Targets], StreamProblem],
        keep: Ids | None = None,
    ) -> None:
        self.keep = np.empty(0, np.uint64) if keep is None else keep
        self.settings = settings
        self.targets = targets
        self.pool = pool
        self.proposer = proposer
        parts = [targets.y[o : o + 1] for o in range(len(targets.y))] if settings.apart else [targets.y]
        self.problems = [make_problem(Targets(np.ascontiguousarray(y), targets.weights)) for y in parts]
        self.loop: WorkingSetLoop[StreamProblem] = WorkingSetLoop(self.problems, proposer)
        self.names: dict[int, str] = {}
        #: Fits the selected features of all outputs at once, instead of `_refit`: weights and intercepts.
        self.final_fit: Callable[[Kept], tuple[Floats, Floats]] | None = None
        self._final: list[Kept] = []

    def step(self) -> bool:
        """Process one block; False at the end."""
        try:
            more = self.loop.step()
        finally:
            self._update_names()
        self.proposer.finish_block()
        return more

    def _update_names(self) -> None:
        """Record the names of the kept features, unless keys are enough."""
        block = self.proposer.offered
        if block is None or block.names is None:
            return
        self.names |= dict(zip(block.ids.tolist(), block.names, strict=True))
        kept = {int(id) for problem in self.problems for id in problem.kept_ids()}
        self.names = {id: name for id, name in self.names.items() if id in kept}

    def found(self) -> Found:
        """The features so far, at most ``k``, refitted if the settings say so."""
        with np.errstate(over="ignore", invalid="ignore"):  # an answer that is not finite is refused as a whole
            return self._found()

    def _found(self) -> Found:
        self._final = parts = self._strongest_of([problem.kept() for problem in self.problems])
        outputs = len(self.targets.y)
        keys = np.unique(np.concatenate([*(part.ids for part in parts), self.keep]))
        raw = np.zeros((outputs, len(keys)))
        intercepts = np.zeros(outputs)
        counts = np.zeros(len(keys), np.uint64)
        for p, part in enumerate(parts):
            at = np.searchsorted(keys, part.ids)
            counts[at] = [np.count_nonzero(column) for column in part.columns]
            if self.final_fit is not None:
                raw[:, at], intercepts = self.final_fit(part)
                continue
            for i in range(part.weights.shape[1]):
                o = p if self.settings.apart else i
                weights, intercepts[o] = self._refit(part, i, self.targets.y[o], self.targets.shares)
                raw[o, at] = weights * part.scales
        norms = np.sqrt((raw**2).sum(axis=0))
        order = np.lexsort((keys, -norms))
        order = order[
            (norms[order] != 0) | np.isin(keys[order], self.keep)
        ]  # those that are not finite stay, and are refused with the answer
        return Found(keys[order], raw[:, order], counts[order], intercepts)

    def held_out_margins(self, held: NDArray[np.bool_]) -> Floats:
        """Refit the features of the last `found` without the rows of a mask; the margins of these, outputs x rows."""
        weights = np.ones(len(held)) if self.targets.weights is None else self.targets.weights
        shares = np.where(held, 0.0, weights)
        shares /= shares.sum()
        margins = np.zeros((len(self.targets.y), int(held.sum())))
        for p, part in enumerate(self._final):
            columns = part.columns[:, held]
            for i in range(part.weights.shape[1]):
                o = p if self.settings.apart else i
                found, intercept = self._refit(part, i, self.targets.y[o], shares)
                margins[o] = _native.weighted_sum(columns, np.ascontiguousarray(found * part.scales), intercept)
        return margins

    def _strongest_of(self, parts: list[Kept]) -> list[Kept]:
        """At most k features of each output, or of all by the norm across outputs: some methods keep more than k."""
        if self.settings.per_class:
            return [part.subset(_strongest(part.ids, part.norms, self.settings.k)) for part in parts]
        ids, at = np.unique(np.concatenate([part.ids for part in parts]), return_inverse=True)
        squares = np.zeros(len(ids))
        np.add.at(squares, at, np.concatenate([part.norms**2 for part in parts]))
        squares[np.isin(ids, self.keep)] = np.inf
        absent = len(self.keep) - int(np.isin(self.keep, ids).sum())  # in the answer with no weight
        chosen = ids[_strongest(ids, np.sqrt(squares), self.settings.k - absent)]
        return [part.subset(np.flatnonzero(np.isin(part.ids, chosen))) for part in parts]

    def _refit(self, kept: Kept, output: int, y: Floats, shares: Floats) -> tuple[Floats, float]:
        """The weights of an output, refitted if requested, and its intercept."""
        loss = get_loss(self.settings.loss)
        ridge = self.settings.refit_ridge
        weights, intercept, _, _ = _native.refit(
            loss.name,
            loss.delta,
            np.ascontiguousarray(y[None]),
            shares,
            self.settings.fit_intercept,
            np.ascontiguousarray(kept.columns),
            np.ascontiguousarray(kept.scales),
            np.ascontiguousarray(kept.weights[:, output]),
            ridge or 0.0,
            0 if ridge is None else 200,
            self.pool,
        )
        return weights, intercept

    def state(self) -> dict[str, NDArray[Any]]:
        """The state as arrays, the kept columns included, since the stream may not yield them again."""
        offsets, text = _pack_names(self.names)
        state = {"rounds": np.array([self.loop.rounds], np.int64), **self.proposer.state()}
        state |= {"name_ids": np.array(sorted(self.names), np.uint64), "name_offsets": offsets, "name_text": text}
        for i, problem in enumerate(self.problems):
            state |= {f"{name}_{i}": array for name, array in problem.state().items()}
        ahead = [problem.ahead + problem.done * (self.proposer.offered is not None) for problem in self.problems]
        return {**state, "ahead": np.array(ahead, np.int64)}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue exactly from a `state`; KeyError or ValueError if it does not fit."""
        self.proposer.restore(state)
        self.loop.rounds = int(state["rounds"][0])
        self.names = _unpack_names(state)
        for i, problem in enumerate(self.problems):
            ending = f"_{i}"
            problem.ahead = int(state["ahead"][i])
            problem.restore({name.removesuffix(ending): a for name, a in state.items() if name.endswith(ending)})


def _pack_names(names: dict[int, str]) -> tuple[NDArray[Any], NDArray[Any]]:
    return container.pack_strings([names[id].encode("utf-8", "surrogateescape") for id in sorted(names)])


def _unpack_names(state: dict[str, NDArray[Any]]) -> dict[int, str]:
    texts = container.unpack_strings(state["name_offsets"], state["name_text"])
    pairs = zip(state["name_ids"].tolist(), texts, strict=True)
    return {id: text.decode("utf-8", "surrogateescape") for id, text in pairs}
