"""The folder that a cache is kept in, and how it stays within bounds."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from dataclasses import dataclass
from typing import Self

from thresher.core.container import TEMPORARY
from thresher.core.memory import show_size
from thresher.errors import SettingsError
from thresher.sources.endings import STORED

log = logging.getLogger("thresher.sources")

#: Seconds after which a file that nobody finished writing is taken for left behind.
_ABANDONED = 86400.0


def user_folder() -> str:
    """Where programs keep what they can make again, on this system."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(base, "thresher")


@dataclass(frozen=True)
class CacheFolder:
    """A folder of files of rows that together take at most ``size`` bytes."""

    folder: str
    size: int

    @classmethod
    def at(cls, folder: str | os.PathLike[str] | bool, size: int) -> Self:
        """The folder that ``cache=`` means."""
        if folder is False or folder == "":
            raise SettingsError("cache is a folder, or True for the usual one")
        return cls(user_folder() if folder is True else os.path.abspath(os.fspath(folder)), size)

    def path(self, name: str) -> str:
        """Where a file of this name goes."""
        return os.path.join(self.folder, f"{name}.{STORED}")

    def prepare(self) -> None:
        """Make the folder, and remove what was left behind half written."""
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{self.folder}: not a folder to keep a cache in ({error.strerror}).") from None
        for entry in os.scandir(self.folder):
            if entry.name.startswith(TEMPORARY):
                with contextlib.suppress(OSError):
                    if time.time() - entry.stat().st_mtime > _ABANDONED:
                        os.unlink(entry.path)

    def touch(self, path: str) -> None:
        """Note that a file was used."""
        with contextlib.suppress(OSError):  # another one's folder, perhaps
            os.utime(path)

    def make_room(self, written: int) -> None:
        """Keep the folder within its size with ``written`` bytes more, or say that it cannot be."""
        if written > self.size:
            raise SettingsError(
                f"{self.folder}: the rows take more than the {show_size(self.size)} that the cache may take. Raise "
                "cache_size (--cache-size), or go without."
            )
        held = self._held()
        taken = written + sum(size for _, size, _ in held)
        for _, size, path in held:
            if taken <= self.size:
                return
            self.remove(path)
            log.info("%s was removed from the cache to make room", path)
            taken -= size

    def remove(self, path: str) -> None:
        """Take a file away. Whoever has it mapped keeps it."""
        with contextlib.suppress(OSError):
            os.unlink(path)

    def _held(self) -> list[tuple[float, int, str]]:
        """When each file was last used, its size and path; the oldest first."""
        held = []
        for entry in os.scandir(self.folder):
            if entry.name.endswith(f".{STORED}"):
                with contextlib.suppress(OSError):  # gone by now
                    status = entry.stat()
                    held.append((status.st_mtime, status.st_size, entry.path))
        return sorted(held)
