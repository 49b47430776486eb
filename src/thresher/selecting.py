"""The front door: from data to named features in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from thresher.errors import SettingsError
from thresher.fitting import Fitted, Options, make_run
from thresher.losses import get_loss
from thresher.online.run import OnlineRun, Progress
from thresher.online.settings import BUDGETED
from thresher.selection import Selection, evaluate
from thresher.sources.cache import DEFAULT_SIZE, cached
from thresher.sources.combine import hold_out
from thresher.sources.interactions import Interactions
from thresher.sources.scan import as_source, is_paths
from thresher.sources.source import DEFAULT_ROWS, Source
from thresher.space import Products
from thresher.targets import Label, label_classes, sort_labels
from thresher.working_set.fgm_run import FGMRun
from thresher.working_set.rf_run import SparseRFRun, sparse_rf_run
from thresher.working_set.rf_settings import METHOD as SPARSE_RF
from thresher.working_set.run_settings import RunSettings as WorkingSetRun
from thresher.working_set.settings import METHODS as WORKING_SET
from thresher.working_set.settings import FGMSettings
from thresher.working_set.stream_options import stream_of, streaming_settings, take_own
from thresher.working_set.stream_run import StreamRun
from thresher.working_set.substitution_settings import STREAMING


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a fit; ``selection`` is what had been found by then (None before two classes were seen)."""

    selection: Selection | None = None


def select(
    data: Any,
    y: Any = None,
    *,
    k: int | None = None,
    method: str = "mission",
    loss: str | None = None,
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
    lam: float | Sequence[float] | None = None,
    delta: float = 1e-2,
    truncation: str = "adaptive",
    tune: bool = False,
    B: int | None = None,
    C: float = 10.0,
    family: Any = "linear",
    scale: str | None = "norm",
    tol: float = 0.0,
    inner_tol: float = 1e-3,
    iterations: int | None = None,
    refit: bool | float | None = None,
    solver: str = "apg",
    kernel: Any = "gaussian",
    gamma: float | str = 1.0,
    draws: int = 100,
    rounds: int = 20,
    q: int | None = None,
    validation: Any = None,
    threads: int = 0,
    target: str | int | None = None,
    test: Any = None,
    holdout: float | None = None,
    format: str | None = None,
    on_error: str = "stop",
    cache: str | os.PathLike[str] | bool | None = None,
    cache_size: str | int = DEFAULT_SIZE,
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
    data : path, Source, ndarray, SciPy matrix, DataFrame or FeatureStream
        The examples. Paths may be globs, folders, compressed, several, or ``"-"``. For ``os`` and its rivals also a
        `thresher.FeatureStream`, or what makes one: a ``.npy`` or Parquet file, read column by column.
    y : array-like, optional
        Labels, for data in memory; files bring their own.
    k : int
        Features to keep. Fewer are returned where fewer are found. ``sparse-rf`` does without.
    method : str
        ``mission``, ``iht``, ``batch-iht``, ``hashing``; under a budget ``b-arda``, ``b-amd``, ``ofs``, ``sofs``,
        ``l1-arda``, ``ada-fobos`` (see `thresher.online.settings.OnlineSettings`); ``fgm``, the Feature Generating
        Machine (see `thresher.working_set.settings.FGMSettings`); ``sparse-rf``, functions of the features drawn at
        random (see `thresher.working_set.rf_settings.SparseRFSettings`); or for features that arrive one by one
        ``os``, Online Substitution, and its rivals ``grafting``, ``grafting-light``, ``naive-l0``, ``naive-l1`` and
        ``alpha-investing`` (see `thresher.working_set.substitution_settings.SubstitutionSettings`).
    loss : str, optional
        Unasked ``logistic``, and ``squared_hinge`` for fgm and the budgeted methods. ``logistic``, ``hinge``,
        ``squared_hinge`` for two classes, ``softmax`` for several (or ``rest:squared_hinge``, each against the rest),
        ``squared``, ``huber:delta`` for numbers.
    step : "auto", float, "adaptive:RATE" or "RATE/sqrt"
        The step along each example's gradient. ``auto`` adapts to every feature.
    memory : str or int
        What may be held, planned before the first row and kept: ``"64MB"``. Unasked 64 MB, and for fgm as much as
        the columns take; with less, fgm goes through the data again and again. The budgeted methods (``b-arda`` and
        after it) keep something of every feature seen: that comes on top unless memory is given.
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
    sample_weight : array-like or str, optional
        Importance of each row, for data in memory; or the column of a table in a file that holds it.
    class_weight : mapping or "balanced", optional
        Importance of each class; ``balanced`` reads the labels once to count them.
    eta, lam, delta, truncation
        Step, regulariser, smoothing and rank of the budgeted methods, see
        `thresher.online.settings.OnlineSettings`. Left out they follow the scale of the data; of ``l1-arda`` and
        ``ada-fobos`` the ``lam`` is searched that leaves about ``k`` features.
    tune : bool
        Let several ``eta`` and ``lam`` of a budgeted method learn side by side; the worse half leaves again and again.
    B, C, scale, tol, inner_tol, iterations, refit, solver
        Of fgm: features proposed at a time, weight of the loss, and more, see
        `thresher.working_set.settings.FGMSettings`. Its constant is ``intercept``, its classes are learned each
        against the rest.
    kernel, gamma, draws, rounds, q
        Of sparse-rf, with ``lam`` and ``tol``: whose random functions are drawn (a kernel by name, or
        `thresher.RandomFunctions`), its width, how many at a time and how often, and of how many inputs each, see
        `thresher.working_set.rf_settings.SparseRFSettings`.
    family : str or family
        Of fgm: where features come from, such as `thresher.Groups`, or ``"polynomial:2"`` for all products of two;
        ``linear`` are the features themselves.
    validation : like test, optional
        Of fgm: data to score on after every iteration; of sparse-rf: after every ``lam``. The best is the answer.
    threads : int
        Of fgm and sparse-rf: 0 takes all cores. The answer does not depend on it.
    target : str or int, optional
        The column of a DataFrame or of a table in a file that holds the labels.
    test : like data (or a pair X, y), optional
        Data to score on at the end; the scores, see `thresher.scores`, are in
        ``selection.provenance["test"]``.
    holdout : float, optional
        Instead of ``test``: hold out this fraction of the rows, chosen by a hash of their content.
    format, on_error
        How to read files, see `thresher.scan`.
    cache : path or True, optional
        Parse the data once and keep its rows in this folder (True: the user's cache folder): later passes and runs
        read them from there, and standard input can be gone through several times. The answer is the same.
    cache_size : str or int
        What the files in that folder may take together; those not used for longest are removed to make room.
    checkpoint : path, optional
        Written every ``every`` seconds and on Ctrl-C, resumed from if it is there, removed at the end.
    restart : bool
        Discard a checkpoint that is there.
    batch_rows : int
        Rows a batch; the answer does not depend on it.
    progress : callable, optional
        Called with a `Progress` after every batch.
    sequences
        ``kmer``, ``canonical``, ``fragments`` and the other options of `thresher.scan_fasta`, for FASTA and FASTQ;
        ``numeric``, ``schema`` and the others of `thresher.scan_csv`, for tables; ``text``, ``words`` and the
        others of `thresher.scan_text`, for texts. ``scans``, ``rate``, ``m``, ``c``, ``check``, ``workers``,
        ``staleness`` and ``order`` of ``os`` and its rivals go here too, and ``labels_file``, a file of labels for a
        stream of features.

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
    own = take_own(method, sequences)
    reading: dict[str, Any] = {"format": format, "on_error": on_error, **sequences}
    if is_paths(data):
        reading["multilabel"] = multilabel
    streaming = method in STREAMING
    working_set = method in WORKING_SET or method == SPARSE_RF or streaming
    given: dict[str, Any] = {
        "step": step,
        "sketch": sketch,
        "active": active,
        "passes": passes,
        "minibatch": minibatch,
        "l2": l2,
    }
    given |= {"decay": decay, "lazy": lazy, "eta": eta, "lam": lam, "delta": delta, "truncation": truncation}
    given |= {"tune": tune, "B": B, "C": C, "family": family, "scale": scale, "tol": tol, "inner_tol": inner_tol}
    given |= {"iterations": iterations, "refit": refit, "solver": solver, "validation": validation}
    given |= {"threads": threads, "kernel": kernel, "gamma": gamma, "draws": draws, "rounds": rounds, "q": q}
    _check_own(method, given)
    if k is None and method != SPARSE_RF:
        raise SettingsError("k is the number of features to keep: give one")
    if isinstance(lam, Sequence) and method != SPARSE_RF:
        raise SettingsError(f"{method} has one lam, not several")
    loss = loss or ("squared_hinge" if working_set or method in BUDGETED else "logistic")
    options = Options(
        k=1 if k is None else k,
        method="mission" if working_set else method,
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
        lam=None if isinstance(lam, Sequence) else lam,
        delta=delta,
        truncation=truncation,
        tune=tune,
    )
    if sequences and isinstance(data, Source):
        raise SettingsError(f"a source says itself how it is read: leave out {', '.join(sequences)}")
    if reading.get("fragments") is not None:
        reading.setdefault("seed", int(random_state))
    if sample_weight is not None:  # for a table in a file it is a column, which may be called weight too
        reading["weight"] = sample_weight
    held: Source | None
    how = WorkingSetRun(
        memory=memory,
        threads=threads,
        multilabel=multilabel,
        class_weight=class_weight,
        checkpoint=checkpoint,
        every=every,
        restart=restart,
        batch_rows=batch_rows,
    )
    if streaming:
        streamed = stream_of(data, target=target, on_error=on_error)
        arriving = streaming_settings(
            own,
            k=k,
            method=method,
            loss=loss,
            eta=eta,
            lam=lam,
            intercept=intercept,
            refit=True if refit is None else refit,
            per_class=per_class,
            seed=int(random_state),
        )
        if streamed is not None:
            if holdout is not None:
                raise SettingsError("rows are held out of examples, not of features that arrive: pass test")
            y = own.get("labels_file") if y is None else y
            pair = test if isinstance(test, tuple) else (test,)
            held = None if test is None else as_source(*pair, target=target)
            return _streamed(StreamRun(streamed, arriving, how, y, sample_weight), held, progress, checkpoint)
    source = as_source(data, y, target=target, **reading)
    if cache is not None and cache is not False:
        source = cached(source, cache, size=cache_size)
    labels = None if working_set else _classes_of(source, loss, classes, multilabel=multilabel)
    held = None
    if holdout is not None:
        if test is not None:
            raise SettingsError("pass test or holdout, not both")
        source, held = hold_out(source, holdout, seed=options.seed)
    elif test is not None:
        if reading.get("fragments") is not None:
            reading["seed"] += 1  # not the fragments that were learned from, should the genomes be the same
        held = _test_source(test, source, target, reading)
    if working_set:
        products = Products.of(interactions)
        source = source if products is None else Interactions.over(source, products)
        if streaming:
            return _streamed(StreamRun(source, arriving, how), held, progress, checkpoint)
        if validation is not None:
            how = replace(how, validation=_test_source(validation, source, target, reading))
        machine: FGMRun | SparseRFRun
        if method == SPARSE_RF:
            machine = sparse_rf_run(
                source,
                how,
                kernel,
                k=k,
                gamma=gamma,
                lam=1.0 if lam is None else lam,
                draws=draws,
                rounds=rounds,
                loss=loss,
                shift=intercept,
                q=q,
                seed=options.seed,
                per_class=per_class,
                **({"tol": tol} if tol else {}),
            )
        else:
            assert k is not None
            fgm = FGMSettings(
                k=k,
                B=B,
                C=C,
                loss=loss,
                scale=scale,
                shift=intercept,
                tol=tol,
                inner_tol=inner_tol,
                iterations=iterations,
                refit=False if refit is None else refit,
                solver=solver,
                per_class=per_class,
            )
            machine = FGMRun(source, fgm, how, family)
        work = _Work(machine.run, lambda: machine.usable, machine.selection, lambda: f"{machine.rounds} iterations")
        return _finished(work, held, progress, checkpoint)
    run = make_run(source, options, labels, checkpoint=checkpoint, every=every, restart=restart, batch_rows=batch_rows)
    work = _Work(
        run.run,
        lambda: bool(run.engine.rows and run.targets.complete),
        lambda: _named_selection(run),
        lambda: f"{run.engine.rows} rows",
    )
    return _finished(work, None if held is None else held.limited(run.plan.limits), progress, checkpoint)


def _streamed(
    run: StreamRun,
    held: Source | None,
    progress: Callable[[Progress], None] | None,
    checkpoint: str | os.PathLike[str] | None,
) -> Selection:
    """A run over features that arrive, to its end."""
    work = _Work(run.run, lambda: run.usable, run.selection, lambda: f"{run.arrived} features")
    return _finished(work, held, progress, checkpoint)


def _named_selection(run: OnlineRun) -> Selection:
    """What a run has found; names that are not at hand are looked for in the data."""
    fitted = Fitted.of(run)
    fitted.look_for_names(run.source)
    return fitted.selection


#: What the settings are that only some methods have, unless they are given.
_UNLESS_GIVEN: dict[str, Any] = {
    "step": "auto",
    "active": "exact",
    "passes": 1,
    "minibatch": 1,
    "l2": 0.0,
    "decay": 1.0,
    "lazy": 0.0,
    "delta": 1e-2,
    "truncation": "adaptive",
    "tune": False,
    "C": 10.0,
    "family": "linear",
    "scale": "norm",
    "tol": 0.0,
    "inner_tol": 1e-3,
    "solver": "apg",
    "threads": 0,
    "kernel": "gaussian",
    "gamma": 1.0,
    "draws": 100,
    "rounds": 20,
}


#: Which of them each kind of method has.
_FGM = {"B", "C", "family", "scale", "tol", "inner_tol", "iterations", "refit", "solver", "validation", "threads"}
_DRAWN = {"lam", "kernel", "gamma", "draws", "rounds", "q", "tol", "validation", "threads"}
_STREAMED = {"eta", "lam", "refit", "threads"}
_WORKING_SET_ONLY = (_FGM | _DRAWN) - {"lam"}


def _has(method: str, name: str) -> bool:
    """Whether a method has a setting."""
    if method in STREAMING:
        return name in _STREAMED
    if method == SPARSE_RF:
        return name in _DRAWN
    return name in _FGM if method in WORKING_SET else name not in _WORKING_SET_ONLY


def _check_own(method: str, given: dict[str, Any]) -> None:
    """Raise if a setting of other methods was given: it would do nothing."""
    for name, value in given.items():
        if _has(method, name) or value is _UNLESS_GIVEN.get(name):
            continue
        if isinstance(value, tuple) or value != _UNLESS_GIVEN.get(name):
            raise SettingsError(f"{method} has no {name}: leave it out, or choose another method")


class _Work(NamedTuple):
    """A run of either loop, as far as finishing goes."""

    run: Callable[[Callable[[Progress], None] | None], None]
    usable: Callable[[], bool]
    selection: Callable[[], Selection]
    so_far: Callable[[], str]


def _finished(
    work: _Work,
    held: Source | None,
    progress: Callable[[Progress], None] | None,
    checkpoint: str | os.PathLike[str] | None,
) -> Selection:
    """Run to the end, score, and take the checkpoint away."""
    try:
        work.run(progress)
    except KeyboardInterrupt:
        interrupted = Interrupted(f"stopped after {work.so_far()}")
        if work.usable():
            interrupted.selection = work.selection()
        raise interrupted from None
    selection = work.selection()
    if held is not None:
        selection.provenance["test"] = evaluate(selection, held)
    if checkpoint is not None and os.path.exists(checkpoint):
        os.unlink(checkpoint)
    return selection


def _test_source(test: Any, source: Source, target: Any, reading: dict[str, Any]) -> Source:
    """The data to score on, read as that to learn from was."""
    reading = {name: value for name, value in reading.items() if name != "weight" or is_paths(test)}
    if isinstance(test, tuple):
        return as_source(*test, **reading)
    recipe = source.reading()
    if recipe is not None and is_paths(test):
        return as_source(test, like=recipe, format=reading["format"], on_error=reading["on_error"])
    return as_source(test, target=target, **reading)


def _classes_of(source: Source, loss: str, classes: Sequence[Any] | None, *, multilabel: bool) -> list[Label] | None:
    """The classes, where they must be known before the first row."""
    if get_loss(loss).task != "classes" and not multilabel:
        return None
    return label_classes(source) if classes is None else sort_labels(classes)
