"""Which method suits the data: several learn a sample, and are scored on the same held-out rows."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from thresher.core.logs import quiet
from thresher.core.memory import Progress, Report, Watch, parse_size
from thresher.core.storage.atomic import check_writable
from thresher.errors import DataError, SettingsError, ThresherError
from thresher.methods import split_settings
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.registry import as_source
from thresher.sources.transforms.holdout import Split, hold_out
from thresher.sources.transforms.sample import take_sample
from thresher.sources.transforms.shuffle import FEATURE_BYTES
from thresher.training_rows import TrainingRows, held_rows, named_features, reading_options

log = logging.getLogger("thresher")

#: The methods that may win, the cheapest first: of equal scores the first one counts.
CONTENDERS = ("mission", "b-arda", "os", "fgm")
#: Shown beside them for tables of up to so many columns. It cannot win: its features are functions of all columns.
FUNCTIONS, _FUNCTION_COLUMNS = "sparse-rf", 200
#: The rows of the sample, its bytes (at most a quarter of the memory), and the share of its rows that scores.
_ROWS, _BYTES, _SHARE = 10_000, 64 << 20, 0.25


def select_best(
    select: Callable[..., Selection], data: Any, y: Any, *, settings: dict[str, Any], **arguments: Any
) -> Selection:
    """The selection of the method that is best on a sample of the training rows.

    ``select`` is `thresher.select`, and the other arguments are its own.
    """
    own, reading = split_settings("mission", settings)
    if own:
        raise SettingsError(f"methods race with their default settings: leave out `{min(own)}`, or choose a method")
    if arguments["output"] is not None:
        check_writable(arguments["output"])
    seed, of_source = int(arguments["random_state"]), ("format", "on_error", "multilabel", "sample_weight")
    reading = reading_options(data, reading, seed=seed, **{name: arguments[name] for name in of_source})
    source = as_source(data, y, target=arguments["target"], **reading)
    if (named := named_features(arguments["keep"], arguments["drop"])) is not None:
        source = named.of_source(source, arguments["k"])
    held = held_rows(*(arguments[name] for name in ("holdout", "holdout_by", "holdout_last")))
    rows = TrainingRows.of(source).grouped(held, reading, Watch(arguments["progress"])).divided(seed)
    alike = ["k", "loss", "task", "memory", "interactions", "fit_intercept", "per_class", "multilabel", "classes"]
    alike += ["class_weight", "keep", "progress"]
    facts = race(rows.source, select, seed=seed, **{name: arguments[name] for name in alike})
    log.info("%s: the best of %d methods on a sample", facts["chosen"], len(facts["methods"]))
    output = arguments.pop("output")
    if arguments["report"] is not None:
        arguments["report"].facts["race"] = facts
    selection = select(data, y, **{**arguments, "method": facts["chosen"]}, **settings)
    selection.provenance["race"] = facts
    if output is not None:
        selection.save(output)
    return selection


def race(
    source: Source,
    fit: Callable[..., Selection],
    *,
    seed: int,
    memory: str | int | None,
    progress: Report | None,
    **options: Any,
) -> dict[str, Any]:
    """Fit each contender on a sample of ``source``, and score it on the same rows of the sample, which it never saw.

    Parameters
    ----------
    source : Source
        The training rows; the user's test rows are no part of it.
    fit : callable
        `thresher.select`.
    options : dict
        Further arguments of ``fit``.

    Returns
    -------
    dict
        ``chosen``, the method of the best score; ``rows`` and ``scored``, the numbers of rows; ``methods``, for each
        contender its name, features, scores, seconds and planned bytes, or why it could not learn.
    """
    if not source.rewindable:
        raise SettingsError(
            f"{source.describe()} can be read only once, and a race of methods reads it first: write it to a file, or "
            "choose a method"
        )
    room = _BYTES if memory is None else min(_BYTES, parse_size(memory) // 4)
    sample = take_sample(source, seed, rows=_ROWS, values=room // FEATURE_BYTES)
    training, held = hold_out(sample, _SHARE, seed=seed, split=Split.RACE)
    columns = source.dense_columns
    extra = (FUNCTIONS,) if columns is not None and len(columns.keys) <= _FUNCTION_COLUMNS else ()
    entries = []
    for method in (*CONTENDERS, *extra):
        begin = time.perf_counter()
        entry: dict[str, Any] = {"method": method}
        try:
            with quiet():
                found = fit(
                    training,
                    method=method,
                    test=held,
                    random_state=seed,
                    memory=memory,
                    progress=_named(progress, method),
                    **options,
                )
        except ThresherError as error:
            entries.append({**entry, "failed": str(error)})
            continue
        scores = found.provenance["test"]
        if not scores:
            raise DataError(f"{source.describe()}: too few rows to compare methods: choose a method")
        entry |= {"features": len(found), "scores": scores, "seconds": time.perf_counter() - begin}
        entries.append(entry | {"bytes": found.provenance["plan"]["total"]})
    able = [entry for entry in entries if "scores" in entry and entry["method"] in CONTENDERS]
    if not able:
        raise DataError(
            f"no method can learn from a sample of the data. {entries[0]['method']}: {entries[0]['failed']}"
        )
    chosen = min(able, key=lambda entry: cost(entry["scores"])[1])["method"]
    return {
        "chosen": chosen,
        "rows": len(sample.order),
        "scored": int(able[0]["scores"]["rows"]),
        "methods": entries,
    }


def cost(scores: dict[str, float]) -> tuple[str, float]:
    """The score by which methods are compared, the less the better: losses that do not depend on the method."""
    for name in ("micro_f1", "log_loss", "rmse"):
        if name in scores:
            return name, 1.0 - scores[name] if name == "micro_f1" else scores[name]
    return "accuracy", 1.0 - scores["accuracy"]


def _named(progress: Report | None, method: str) -> Report | None:
    """The same report, with the method in the name of the phase."""
    if progress is None:
        return None

    def report(now: Progress) -> None:
        progress(replace(now, phase=f"trying {method}"))

    return report
