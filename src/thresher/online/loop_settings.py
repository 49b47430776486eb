"""The settings of an online method as the keyword arguments of the native loop."""

from __future__ import annotations

from typing import Any

from thresher.core.losses import get_loss
from thresher.errors import SettingsError
from thresher.online.settings import OnlineSettings

#: More rows than any stream has: batch-iht then ends a mini-batch by its number of features.
_NO_ROW_LIMIT = 2**62


def loop_settings(settings: OnlineSettings) -> dict[str, Any]:
    """The keyword arguments of the native loop."""
    loss = get_loss(settings.loss)
    step = settings.step_rule
    if settings.sketch is None and settings.method != "iht" and not settings.budgeted:
        raise SettingsError(f"{settings.method} needs a sketch: pass `sketch`, its rows and its width")
    rows, width = settings.sketch or (1, settings.spill_width if settings.spills else 1)
    gathers = settings.method == "batch-iht"
    return settings.by_name() | {
        "store": _store(settings),
        "outputs": _outputs(settings),
        "lanes": settings.outputs,
        "split": settings.per_class and settings.outputs > 1,
        "loss": loss.part,
        "delta": loss.delta,
        "rule": step.rule,
        "rate": step.rate,
        "intercept": settings.fit_intercept,
        "minibatch": _NO_ROW_LIMIT if gathers and settings.minibatch == 1 else settings.minibatch,
        "gather": rows * width if gathers else 0,
        "fade": settings.decay,
        "rows": rows,
        "width": width,
        "eta": settings.native_eta,
        "lam": settings.lam or 0.0,
        "smoothing": settings.delta,
        "naive": settings.truncation == "naive",
        "factor": settings.loss_factor,
        "most_bytes": settings.room,
        "keep_names": settings.names_seen,
        "most_name_bytes": settings.name_room,
        "groups": settings.native_groups,
    }


def _outputs(settings: OnlineSettings) -> str:
    loss = get_loss(settings.loss)
    if loss.task == "classes":
        return "rest" if loss.rest else "softmax"
    return "many" if settings.multilabel else "one"


def _store(settings: OnlineSettings) -> str:
    if settings.budgeted:
        return settings.method + ("-sketch" if settings.approximate else "-spill" if settings.spills else "")
    if settings.method == "hashing":
        return "hashed"
    if settings.method != "mission":
        return "forget"
    return "exact" if settings.active == "exact" else "estimates"
