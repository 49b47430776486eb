"""The front door: from data to named features in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from thresher.errors import SettingsError
from thresher.losses import get_loss
from thresher.memory import DEFAULT_MEMORY, Plan, make_plan
from thresher.online.engine import OnlineSettings, Selected
from thresher.online.run import OnlineRun, Progress, RunSettings
from thresher.selection import Selection, evaluate
from thresher.sources.combine import Weighted, balanced_weights, hold_out
from thresher.sources.scan import as_source
from thresher.sources.source import DEFAULT_ROWS, Source
from thresher.version import __version__


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a fit; ``selection`` is what had been found by then (None before two classes were seen)."""

    selection: Selection | None = None


def select(
    data: Any,
    y: Any = None,
    *,
    k: int,
    method: str = "mission",
    loss: str = "logistic",
    step: str | float = "auto",
    memory: str | int = DEFAULT_MEMORY,
    sketch: tuple[int, int] | None = None,
    active: str = "exact",
    passes: int = 1,
    shuffle: str | bool = "auto",
    intercept: bool = True,
    random_state: int = 0,
    sample_weight: Any = None,
    class_weight: Mapping[Any, float] | str | None = None,
    target: str | None = None,
    test: Any = None,
    holdout: float | None = None,
    format: str | None = None,
    on_error: str = "stop",
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 30.0,
    restart: bool = False,
    batch_rows: int = DEFAULT_ROWS,
    progress: Callable[[Progress], None] | None = None,
    **sequences: Any,
) -> Selection:
    """Find the ``k`` features that matter most, and name them.

    Parameters
    ----------
    data : path, Source, ndarray, SciPy matrix or DataFrame
        The examples. Paths may be globs, folders, compressed, several, or ``"-"``.
    y : array-like, optional
        Labels, for data in memory; files bring their own.
    k : int
        Features to keep. Fewer are returned where fewer are found.
    method : {"mission", "iht"}
        How to find them, see `thresher.online.engine.OnlineSettings`.
    loss : str
        ``logistic``, ``hinge``, ``squared_hinge`` for two classes, ``squared``, ``huber:delta`` for numbers.
    step : "auto" or float
        The step along each example's gradient.
    memory : str or int
        What may be held, planned before the first row and kept: ``"64MB"``.
    sketch : (rows, width), optional
        The shape of mission's count-sketch, instead of what the memory leaves for it.
    active : {"exact", "sketch"}
        ``exact`` keeps the exact weights of the features in the table; ``sketch`` is the paper's MISSION.
    passes : int
        How often to go through the data.
    shuffle : "auto" or bool
        Mix the rows: those in memory all, those of files through a buffer. ``auto`` does.
    intercept : bool
        Learn a constant too.
    random_state : int
        Where all randomness comes from: same data, settings and seed give the same bits.
    sample_weight : array-like, optional
        Importance of each row, for data in memory.
    class_weight : mapping or "balanced", optional
        Importance of each class; ``balanced`` reads the labels once to count them.
    target : str, optional
        The column of a DataFrame that holds the labels.
    test : like data (or a pair X, y), optional
        Data to score on at the end; the scores are in ``selection.provenance["test"]``.
    holdout : float, optional
        Instead of ``test``: hold out this fraction of the rows, chosen by a hash of their content.
    format, on_error
        How to read files, see `thresher.scan`.
    checkpoint : path, optional
        Written every ``every`` seconds and on Ctrl-C, resumed from if it is there, removed at the end.
    restart : bool
        Discard a checkpoint that is there.
    batch_rows : int
        Rows a batch; the answer does not depend on it.
    progress : callable, optional
        Called with a `Progress` after every batch.
    sequences
        ``kmer``, ``canonical``, ``fragments`` and the other options of `thresher.scan_fasta`, for FASTA and FASTQ.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 50))
    >>> y = X[:, 7] - X[:, 31] > 0
    >>> sorted(th.select(X, y, k=2).names)
    ['x31', 'x7']
    """
    settings = OnlineSettings(
        k=k,
        method=method,
        loss=loss,
        step=step,
        intercept=intercept,
        sketch=None if sketch is None else (int(sketch[0]), int(sketch[1])),
        active=active,
        seed=int(random_state),
    )
    mixed = _shuffles(shuffle)
    plan = plan_for(settings, memory, shuffle=mixed)
    shape = (plan.sketch_rows, plan.sketch_width) if plan.sketch else None
    settings = replace(settings, name_cap=plan.name_cap, sketch=shape)
    how = RunSettings(
        passes=passes,
        shuffle=mixed,
        seed=int(random_state),
        checkpoint=checkpoint,
        every=every,
        restart=restart,
        batch_rows=batch_rows,
    )
    reading: dict[str, Any] = {"format": format, "on_error": on_error, **sequences}
    if sequences and isinstance(data, Source):
        raise SettingsError(f"a source says itself how it is read: leave out {', '.join(sequences)}")
    if reading.get("fragments") is not None:
        reading.setdefault("seed", how.seed)
    source = as_source(data, y, weight=sample_weight, target=target, **reading).limited(plan.limits)
    held: Source | None = None
    if holdout is not None:
        if test is not None:
            raise SettingsError("pass test or holdout, not both")
        source, held = hold_out(source, holdout, seed=how.seed)
    elif test is not None:
        if reading.get("fragments") is not None:
            reading["seed"] += 1  # not the fragments that were learned from, should the genomes be the same
        held = as_source(*test, **reading) if isinstance(test, tuple) else as_source(test, target=target, **reading)
        held = held.limited(plan.limits)
    if class_weight is not None:
        source = Weighted(source, balanced_weights(source) if class_weight == "balanced" else _mapping(class_weight))
    run = OnlineRun(source, settings, how, plan)
    try:
        run.run(progress)
    except KeyboardInterrupt:
        interrupted = Interrupted(f"stopped after {run.engine.rows} rows")
        if run.engine.rows and (run.targets.loss.task != "binary" or len(run.targets.seen) == 2):
            interrupted.selection = make_selection(run)
        raise interrupted from None
    selection = make_selection(run)
    if held is not None:
        selection.provenance["test"] = evaluate(selection, held)
    if checkpoint is not None and os.path.exists(checkpoint):
        os.unlink(checkpoint)
    return selection


def plan_for(settings: OnlineSettings, memory: str | int, *, shuffle: bool = True) -> Plan:
    """The memory plan of a method.

    Unasked, mission's sketch gets one row where the table is exact (that found the most true features
    in the same number of cells when measured) and three, as in the paper, where it is not.
    """
    if settings.method == "iht":
        if settings.sketch is not None:
            raise SettingsError("iht has no sketch: leave sketch out, or choose mission")
        return make_plan(settings.k, memory, shuffle=shuffle)
    rows = 1 if settings.active == "exact" else 3
    return make_plan(settings.k, memory, shuffle=shuffle, sketch=settings.sketch, sketch_rows=rows)


def make_selection(run: OnlineRun) -> Selection:
    """What a run has found so far."""
    found: Selected = run.engine.selected()
    turn = run.targets.orientation
    space = run.source.space
    if space.invertible:
        names = space.decode(found.keys)
    else:
        spelled = [name.decode("utf-8", "surrogateescape") for name in found.names]
        names = [name or f"#{key}" for name, key in zip(spelled, found.keys.tolist(), strict=True)]
    return Selection(
        names,
        found.keys,
        # + 0.0 so that turning round leaves no negative zero behind
        turn * found.weights + 0.0,
        found.bounds,
        found.counts,
        np.array([turn * found.intercept + 0.0]),
        get_loss(run.settings.loss),
        run.targets.classes,
        space,
        {**run.settings.to_dict(), "passes": run.how.passes, "shuffle": run.how.shuffle, "seed": run.how.seed},
        {
            "thresher": __version__,
            "data": run.source.describe(),
            "fingerprint": run.source.fingerprint(),
            "rows": run.engine.rows,
            "passes_done": run.passes_done,
            "skipped": run.skipped,
            "progressive": run.engine.progressive(),
            "plan": run.plan.to_dict(),
        },
    )


def _shuffles(shuffle: str | bool) -> bool:
    if shuffle not in ("auto", True, False):
        raise SettingsError(f'shuffle is "auto", True or False, not {shuffle!r}')
    return shuffle is not False


def _mapping(class_weight: Mapping[Any, float] | str) -> Mapping[Any, float]:
    if isinstance(class_weight, str):
        raise SettingsError(f'class_weight is "balanced" or a mapping from label to weight, not {class_weight!r}')
    return class_weight
