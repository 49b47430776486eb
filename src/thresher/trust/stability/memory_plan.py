"""What the fits of halves take, for people to read before the first row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from thresher.core.memory import DEFAULT_MEMORY, PlanReport, parse_size, show_size
from thresher.methods import MethodSpec
from thresher.run import RunOptions
from thresher.trust.stability.settings import Stability, check_settings


def with_halves(
    report: PlanReport, stability: Stability | None, spec: MethodSpec, settings: Any, options: RunOptions
) -> PlanReport:
    """The plan of a fit with that of the fits of halves; raises `SettingsError` if the memory does not hold them."""
    if stability is None:
        return report
    check_settings(settings)
    fits = stability.fits
    if not spec.online:
        note = f"{fits} further fits of the same columns, one after the other, and 8 bytes for each row"
        return report._replace(notes=[*report.notes, ("stability", note)])
    from thresher.online.several_engines import engine_bytes, engine_settings, sketch_in

    parts = {name: size for name, size, _ in report.parts}
    limited = options.memory is not None or not settings.budgeted or settings.approximate
    memory = parse_size(DEFAULT_MEMORY if options.memory is None else options.memory)
    planned = replace(settings, sketch=sketch_in(parts["sketch"], settings))
    each = engine_settings(planned, parts, fits, memory, limited=limited)
    note = (
        f"{fits} engines of {show_size(engine_bytes(each))} learn halves of the rows, when that of all rows has ended: "
        f"{show_size(fits * engine_bytes(each))} in all" + ("" if limited else ", and the features that each has seen")
    )
    return report._replace(notes=[*report.notes, ("stability", note)])
