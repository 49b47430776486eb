"""The front door: from data to named features in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thresher.errors import SettingsError
from thresher.fitting import Fitted, Options, make_run, make_selection
from thresher.losses import get_loss
from thresher.online.run import Progress
from thresher.selection import Selection, evaluate
from thresher.sources.combine import hold_out
from thresher.sources.scan import as_source, is_paths
from thresher.sources.source import DEFAULT_ROWS, Source
from thresher.targets import Label, label_classes, sort_labels


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
    memory: str | int | None = None,
    sketch: tuple[int, int] | None = None,
    active: str = "exact",
    interactions: int | Sequence[Sequence[str | int]] = 1,
    passes: int = 1,
    minibatch: int = 1,
    shuffle: str | bool = "auto",
    intercept: bool = True,
    l2: float = 0.0,
    decay: float = 1.0,
    lazy: float = 0.0,
    per_class: bool = False,
    multilabel: bool = False,
    classes: Sequence[Any] | None = None,
    random_state: int = 0,
    sample_weight: Any = None,
    class_weight: Mapping[Any, float] | str | None = None,
    eta: float | None = None,
    lam: float | None = None,
    delta: float = 1e-2,
    truncation: str = "adaptive",
    tune: bool = False,
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
    method : {"mission", "iht", "batch-iht", "hashing", "b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"}
        How to find them, see `thresher.online.settings.OnlineSettings`.
    loss : str
        ``logistic``, ``hinge``, ``squared_hinge`` for two classes, ``softmax`` for several, ``squared``,
        ``huber:delta`` for numbers.
    step : "auto", float, "adaptive:RATE" or "RATE/sqrt"
        The step along each example's gradient. ``auto`` adapts to every feature.
    memory : str or int, optional
        What may be held, planned before the first row and kept; ``"64MB"`` unless given. The budgeted methods
        (``b-arda`` and after it) keep something of every feature seen: that comes on top unless memory is given.
    sketch : (rows, width), optional
        The shape of mission's count-sketch, instead of what the memory leaves for it.
    active : {"exact", "sketch"}
        ``exact`` keeps the exact weights of the features in the table; ``sketch`` is the paper's MISSION.
    interactions : {1, 2, 3} or list of tuples
        2: products of two features of a row are features too; 3: also of three. ``[("user", "ad")]``: only
        products of a feature of one of these groups and one of the other, see
        `thresher.sources.interactions.Interactions`. They are formed as the rows pass by, and named ``a × b``.
    passes : int
        How often to go through the data.
    minibatch : int
        Rows whose gradients are averaged before a step is taken.
    shuffle : "auto" or bool
        Mix the rows: those in memory all, those of files through a buffer. ``auto`` does.
    intercept : bool
        Learn a constant too.
    l2, decay, lazy : float
        Decay of all weights, decay of those not kept, and how lazily the table reorders; see
        `thresher.online.settings.OnlineSettings`.
    per_class : bool
        With several classes, ``k`` features for each rather than ``k`` by the norm across all.
    multilabel : bool
        Rows have any number of labels; each label is a yes-or-no question of its own.
    classes : sequence, optional
        The labels, where there may be more than two. Without it they are read from the data first.
    random_state : int
        Where all randomness comes from: same data, settings and seed give the same bits.
    sample_weight : array-like, optional
        Importance of each row, for data in memory.
    class_weight : mapping or "balanced", optional
        Importance of each class; ``balanced`` reads the labels once to count them.
    eta, lam, delta, truncation
        Step, regulariser, smoothing and rank of the budgeted methods, see
        `thresher.online.settings.OnlineSettings`. Left out they follow the scale of the data; of ``l1-arda`` and
        ``ada-fobos`` the ``lam`` is searched that leaves about ``k`` features.
    tune : bool
        Let several ``eta`` and ``lam`` of a budgeted method learn side by side; the worse half leaves again and again.
    target : str, optional
        The column of a DataFrame that holds the labels.
    test : like data (or a pair X, y), optional
        Data to score on at the end; the scores, see `thresher.scores`, are in
        ``selection.provenance["test"]``.
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
    reading: dict[str, Any] = {"format": format, "on_error": on_error, **sequences}
    if is_paths(data):
        reading["multilabel"] = multilabel
    options = Options(
        k=k,
        method=method,
        loss=loss,
        step=step,
        memory=memory,
        sketch=sketch,
        active=active,
        interactions=interactions,
        passes=passes,
        minibatch=minibatch,
        shuffle=shuffle,
        intercept=intercept,
        l2=l2,
        decay=decay,
        lazy=lazy,
        per_class=per_class,
        multilabel=multilabel,
        seed=int(random_state),
        class_weight=class_weight,
        eta=eta,
        lam=lam,
        delta=delta,
        truncation=truncation,
        tune=tune,
    )
    if sequences and isinstance(data, Source):
        raise SettingsError(f"a source says itself how it is read: leave out {', '.join(sequences)}")
    if reading.get("fragments") is not None:
        reading.setdefault("seed", int(random_state))
    source = as_source(data, y, weight=sample_weight, target=target, **reading)
    labels = _classes_of(source, loss, classes, multilabel=multilabel)
    held: Source | None = None
    if holdout is not None:
        if test is not None:
            raise SettingsError("pass test or holdout, not both")
        source, held = hold_out(source, holdout, seed=options.seed)
    elif test is not None:
        if reading.get("fragments") is not None:
            reading["seed"] += 1  # not the fragments that were learned from, should the genomes be the same
        held = as_source(*test, **reading) if isinstance(test, tuple) else as_source(test, target=target, **reading)
    run = make_run(source, options, labels, checkpoint=checkpoint, every=every, restart=restart, batch_rows=batch_rows)
    try:
        run.run(progress)
    except KeyboardInterrupt:
        interrupted = Interrupted(f"stopped after {run.engine.rows} rows")
        if run.engine.rows and run.targets.complete:
            interrupted.selection = make_selection(run)
        raise interrupted from None
    fitted = Fitted.of(run)
    fitted.look_for_names(run.source)
    selection = fitted.selection
    if held is not None:
        selection.provenance["test"] = evaluate(selection, held.limited(run.plan.limits))
    if checkpoint is not None and os.path.exists(checkpoint):
        os.unlink(checkpoint)
    return selection


def _classes_of(source: Source, loss: str, classes: Sequence[Any] | None, *, multilabel: bool) -> list[Label] | None:
    """The classes, where they must be known before the first row."""
    if get_loss(loss).task != "classes" and not multilabel:
        return None
    return label_classes(source) if classes is None else sort_labels(classes)
