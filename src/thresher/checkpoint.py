"""A run put aside: the engine, where it stood in the data, and what data and settings it belongs to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from thresher import container
from thresher.batch import Cursor
from thresher.errors import FileFormatError, ResumeError

KIND = "checkpoint"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """All that a run needs to go on as if nothing had happened.

    ``identity`` holds whatever must be the same when it goes on (the data's fingerprint and every
    setting of the answer); ``labels`` are the classes met so far, in order.
    """

    identity: dict[str, Any]
    passes_done: int
    cursor: Cursor
    labels: list[Any]
    engine: dict[str, NDArray[Any]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it atomically: after a crash at any moment there is an old one or this one."""
        meta = {
            "identity": self.identity,
            "passes_done": self.passes_done,
            "cursor": self.cursor.to_dict(),
            "labels": self.labels,
        }
        container.write(path, container.Content(KIND, meta, self.engine))

    @classmethod
    def load(cls, path: str | os.PathLike[str], identity: dict[str, Any]) -> Checkpoint:
        """Read it back for a run of the same ``identity``, or say what differs."""
        _, meta, arrays = container.read(path, KIND)
        try:
            saved = meta["identity"]
            checkpoint = cls(
                identity=saved,
                passes_done=meta["passes_done"],
                cursor=Cursor.from_dict(meta["cursor"]),
                labels=meta["labels"],
                engine=arrays,
            )
        except (KeyError, TypeError) as error:
            raise FileFormatError(f"{os.fspath(path)}: not a checkpoint in order ({error}).") from None
        differing = [name for name in sorted({*saved, *identity}) if saved.get(name) != identity.get(name)]
        if differing:
            told = "; ".join(f"{name}: {saved.get(name)!r} there, {identity.get(name)!r} now" for name in differing)
            raise ResumeError(
                f"{os.fspath(path)} belongs to another run ({told}). Go on with the same data and settings, "
                "or start anew with restart=True (--restart)."
            )
        return checkpoint
