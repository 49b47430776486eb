"""Whether the files of a source change while they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable

from thresher.errors import DataError
from thresher.sources.base import Source, Wrapped
from thresher.sources.files.paths import Part, is_remote


def file_states(parts: Iterable[Part]) -> tuple[object, ...]:
    """The sizes and modification times of files, which change if a file is written to."""
    found: list[object] = []
    for part in parts:
        if is_remote(part.path):
            from thresher.sources.files.remote import version

            found.append((part, version(part.path)))
            continue
        try:
            status = os.stat(part.path)
            found.append((part, status.st_size, status.st_mtime_ns))
        except OSError:
            found.append((part, None))
    return tuple(found)


class FilesAtStart:
    """The sizes and modification times of the files of a source, as they are now.

    Pipes have neither, and asking for those of remote files would take a request each: both are left out.
    """

    def __init__(self, source: Source) -> None:
        while isinstance(source, Wrapped):
            source = source.source
        parts: tuple[Part, ...] = getattr(source, "parts", ())
        self._parts = [part for part in parts if not is_remote(part.path) and not part.once]
        self._states = file_states(self._parts)

    @property
    def paths(self) -> list[str]:
        """The paths of the files."""
        return [part.path for part in self._parts]

    def changed(self) -> list[str]:
        """The names of the files that have another size or time now."""
        now = file_states(self._parts)
        pairs = zip(self._parts, self._states, now, strict=True)
        return list(dict.fromkeys(part.name for part, before, after in pairs if before != after))

    def warnings(self) -> list[str]:
        """A sentence about each file that has changed."""
        return [
            f"{name}: the file changed while it was read, so the answer mixes old and new rows. Fit again when the "
            "file is complete."
            for name in self.changed()
        ]

    def check(self) -> None:
        """Raise if a file has changed."""
        if names := self.changed():
            raise DataError(f"{names[0]}: the data changed while it was read. Run again when it is complete.")
