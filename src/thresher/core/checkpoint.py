"""A run put aside: the engine, where it stood in the data, and what data and settings it belongs to."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from thresher.core import container
from thresher.core.batch import Cursor
from thresher.errors import FileFormatError, ResumeError

KIND = "checkpoint"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """All that a run needs to go on as if nothing had happened.

    ``identity`` holds whatever must be the same when it goes on (the data's fingerprint and every
    setting of the answer); ``labels`` are the classes met so far, in order; ``skips`` the bad lines
    passed over in each file.
    """

    identity: dict[str, Any]
    passes_done: int
    cursor: Cursor
    labels: list[Any]
    engine: dict[str, NDArray[Any]]
    skips: dict[str, int] = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it atomically: after a crash at any moment there is an old one or this one."""
        meta = {
            "identity": self.identity,
            "passes_done": self.passes_done,
            "cursor": self.cursor.to_dict(),
            "labels": self.labels,
            "skips": self.skips,
        }
        container.write(path, container.Content(KIND, meta, self.engine))

    @classmethod
    def load(cls, path: str | os.PathLike[str], identity: dict[str, Any]) -> Checkpoint:
        """Read it back for a run of the same ``identity``, or say what differs."""
        _, meta, arrays = container.read(path, KIND)
        try:
            saved = dict(meta["identity"])
            checkpoint = cls(
                identity=saved,
                passes_done=_whole(meta["passes_done"]),
                cursor=_cursor(meta["cursor"]),
                labels=_labels(meta["labels"]),
                engine=arrays,
                skips={str(name): _whole(count) for name, count in meta.get("skips", {}).items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"{os.fspath(path)}: not a checkpoint in order ({error}).") from None
        identity = container.plain(identity)  # a tuple comes back from the file as a list
        differing = [name for name in sorted({*saved, *identity}) if saved.get(name) != identity.get(name)]
        if differing:
            told = "; ".join(f"{name}: {saved.get(name)!r} there, {identity.get(name)!r} now" for name in differing)
            raise ResumeError(
                f"{os.fspath(path)} belongs to another run ({told}). Go on with the same data and settings, "
                "or start anew with restart=True (--restart)."
            )
        return checkpoint


def _whole(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"{number!r} where a whole number is needed")
    return number


def _cursor(fields: Any, deepest: int = 16) -> Cursor:
    if not isinstance(fields, dict) or not deepest:
        raise ValueError("a cursor that is none")
    for name, number in fields.items():
        if name != "inner":
            _whole(number)
    if fields["inner"] is not None:
        _cursor(fields["inner"], deepest - 1)
    return Cursor.from_dict(fields)


def _labels(labels: Any) -> list[Any]:
    if not isinstance(labels, list) or not all(isinstance(label, (str, float, int)) for label in labels):
        raise ValueError("labels that are neither numbers nor text")
    return labels
