"""The last part of a report: settings, data, versions, and how to make the selection again."""

from __future__ import annotations

import json
from typing import Any

from thresher.selection.report.json_values import shown
from thresher.selection.selection import Selection

#: Settings that follow from the data or the memory plan.
_PLANNED = {"sketch", "name_cap", "room", "name_room", "outputs", "identity", "keep_names", "multilabel"}


def how_made(selection: Selection, command: str | None) -> dict[str, Any]:
    """Facts of the fit as pairs; ``command`` is the command line that made it, if it is known."""
    provenance = selection.provenance
    passes = provenance.get("passes")
    facts: list[tuple[str, Any]] = [
        ("Thresher", provenance.get("thresher")),
        ("Data", provenance.get("data")),
        ("Data fingerprint", provenance.get("fingerprint")),
        ("Rows learned", _number(provenance.get("rows"))),
        ("Rows skipped", _number(provenance.get("skipped")) if provenance.get("skipped") else None),
        ("Loss", str(selection.loss)),
        ("Calibration", None if selection.calibration is None else str(selection.calibration)),
        ("Passes", passes.get("best") if isinstance(passes, dict) else None),
    ]
    return {
        "facts": [[name, shown(value)] for name, value in facts if value is not None],
        "settings": [
            [shown(name, 60), shown(json.dumps(value, ensure_ascii=False, default=str))]
            for name, value in selection.settings.items()
        ],
        "command": shown(command, 4000) if command else _call(selection),
    }


def _number(value: Any) -> str | None:
    return f"{value:,}" if isinstance(value, int) else None


def _call(selection: Selection) -> str:
    """The call of `thresher.select` with the settings that are switched on."""
    own = {
        ("random_state" if name == "seed" else name): value
        for name, value in selection.settings.items()
        if name not in _PLANNED and value is not None and value is not False and value != "auto"
    }
    data = shown(selection.provenance.get("data", "data"))
    return f"th.select({', '.join([repr(data), *(f'{shown(n, 60)}={shown(repr(v))}' for n, v in own.items())])})"
