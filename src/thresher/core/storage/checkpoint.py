"""Checkpoints: the state of a run, its position in the data, and the data and settings it belongs to."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Cursor
from thresher.core.storage import container
from thresher.core.storage.container import checked_count
from thresher.errors import FileFormatError, ResumeError

KIND = "checkpoint"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Everything that a run needs to continue exactly.

    Attributes
    ----------
    identity : dict
        What the resumed run must have in common: the fingerprint of the data, and all settings that affect the answer.
    labels : list
        The classes found so far, in order of appearance.
    skips : dict
        The number of malformed lines skipped in each file.
    shards : list of Cursor
        The position of each worker, if several share the rows.
    """

    identity: dict[str, Any]
    passes_done: int
    cursor: Cursor
    labels: list[Any]
    engine: dict[str, NDArray[Any]]
    skips: dict[str, int] = field(default_factory=dict)
    shards: list[Cursor] = field(default_factory=list)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the checkpoint atomically: a crash leaves either the old one or this one."""
        meta = {
            "identity": self.identity,
            "passes_done": self.passes_done,
            "cursor": self.cursor.to_dict(),
            "labels": self.labels,
            "skips": self.skips,
        }
        if self.shards:
            meta["shards"] = [cursor.to_dict() for cursor in self.shards]
        container.write(path, container.Content(KIND, meta, self.engine))

    @classmethod
    def load(cls, path: str | os.PathLike[str], identity: dict[str, Any]) -> Checkpoint:
        """Read a checkpoint; raises `ResumeError` if it belongs to a run of another ``identity``."""
        _, meta, arrays = container.read(path, KIND)
        try:
            saved = dict(meta["identity"])
            checkpoint = cls(
                identity=saved,
                passes_done=checked_count(meta["passes_done"]),
                cursor=Cursor.from_dict(meta["cursor"]),
                labels=_labels(meta["labels"]),
                engine=_numbers(arrays),
                skips={str(name): checked_count(count) for name, count in meta.get("skips", {}).items()},
                shards=[Cursor.from_dict(cursor) for cursor in meta.get("shards", [])],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"{os.fspath(path)}: not a valid checkpoint ({error}).") from None
        identity = container.plain(identity)  # as it is read from a file: tuples as lists
        differing = [name for name in sorted({*saved, *identity}) if saved.get(name) != identity.get(name)]
        if differing:
            changes = "; ".join(f"{name}: {saved.get(name)!r} there, {identity.get(name)!r} now" for name in differing)
            raise ResumeError(
                f"{os.fspath(path)} belongs to another run ({changes}). Resume with the same data and settings, "
                "or start anew with `restart=True`."
            )
        return checkpoint


def _numbers(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    for name, array in arrays.items():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ValueError(f"{name} holds a value that is not a number")
    return arrays


def _labels(labels: Any) -> list[Any]:
    if not isinstance(labels, list) or not all(isinstance(label, (str, float, int)) for label in labels):
        raise ValueError("labels are neither numbers nor text")
    return labels
