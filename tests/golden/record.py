"""Answers as JSON: ``python -m tests.golden.record`` computes those of all cases anew, and writes them.

With names of cases it replaces these only. Record a case again only where its answer is meant to change. Files in
``stored`` that are there are never replaced.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import thresher as th
from tests.golden.cases import CASES, STORED, stored_path

ANSWERS = Path(__file__).with_name("answers.json")


def answer(name: str, folder: Path) -> Any:
    """The answer of a case as JSON has it."""
    return plain(CASES[name](folder))


def plain(value: Any) -> Any:
    """A result in lists, dictionaries and strings; floats become their hexadecimal form, which is exact."""
    if isinstance(value, th.Selection):
        return _selection(value)
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return value.hex() if isinstance(value, float) else value


def _selection(found: th.Selection) -> dict[str, Any]:
    """What a selection has found, and how good it says that is."""
    scores = {name: found.provenance[name] for name in ("progressive", "test") if name in found.provenance}
    return plain(
        {
            "names": found.names,
            "keys": found.keys,
            "weights": found.weights,
            "intercept": found.intercept,
            "bounds": found.bounds,
            "counts": found.counts,
            "loss": str(found.loss),
            "classes": found.classes,
            "scores": scores,
        }
    )


def store() -> None:
    """Save the selections that are not stored yet, from relative paths: a file keeps the path of its data."""
    for name in STORED:
        if not stored_path(name).exists():
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                STORED[name].make(Path()).save(stored_path(name))


def main(names: list[str]) -> None:
    """Record the answers of these cases; of all without any."""
    store()
    answers = json.loads(ANSWERS.read_text("utf-8")) if names else {}
    for name in names or CASES:
        with tempfile.TemporaryDirectory() as folder:
            answers[name] = answer(name, Path(folder))
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name], ensure_ascii=False)}" for name in CASES]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
