"""The folder of a cache, and its size limit."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from dataclasses import dataclass
from typing import Self

from thresher.core.memory import show_size
from thresher.display import shown_path
from thresher.errors import SettingsError
from thresher.sources.files.paths import is_remote
from thresher.sources.registry import FORMATS

log = logging.getLogger("thresher.sources")

#: The ending of files of parsed rows.
_ENDING = FORMATS["cache"].endings[0]


def user_folder() -> str:
    """The cache folder of the user on this system."""
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
    """A folder of cache files with a total of at most ``size`` bytes."""

    folder: str
    size: int

    @classmethod
    def at(cls, folder: str | os.PathLike[str] | bool, size: int) -> Self:
        """The folder of the option ``cache=``."""
        if folder is False or folder == "":
            raise SettingsError("cache must be a folder, or True for the user's cache folder")
        if not isinstance(folder, bool) and is_remote(os.fspath(folder)):
            raise SettingsError(f"cache must be a folder of this computer, not {shown_path(os.fspath(folder))}")
        return cls(user_folder() if folder is True else os.path.abspath(os.fspath(folder)), size)

    def path(self, name: str) -> str:
        """The path of a file of this name."""
        return os.path.join(self.folder, f"{name}.{_ENDING}")

    def prepare(self) -> None:
        """Make the folder."""
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError as error:
            raise SettingsError(
                f"{self.folder}: cannot be a cache folder ({error.strerror}). Choose another one (`cache=FOLDER`)."
            ) from None

    def touch(self, path: str) -> None:
        """Mark a file as used now."""
        with contextlib.suppress(OSError):  # the folder may belong to another user
            os.utime(path)

    def make_room(self, written: int) -> None:
        """Remove the least recently used files until ``written`` more bytes fit, or raise if they cannot."""
        if written > self.size:
            raise SettingsError(
                f"{self.folder}: the rows take more than the {show_size(self.size)} that the cache may use. Raise "
                "`cache_size`, or do not use a cache."
            )
        files = self._files()
        total = written + sum(size for _, size, _ in files)
        for _, size, path in files:
            if total <= self.size:
                return
            self.remove(path)
            log.info("%s: removed from the cache to make room", path)
            total -= size

    def remove(self, path: str) -> None:
        """Remove a file. A process that has mapped it can still read it."""
        with contextlib.suppress(OSError):
            os.unlink(path)

    def _files(self) -> list[tuple[float, int, str]]:
        """The last use, the size and the path of each file, least recently used first."""
        files = []
        for entry in os.scandir(self.folder):
            if entry.name.endswith(f".{_ENDING}"):
                with contextlib.suppress(OSError):  # removed in the meantime
                    status = entry.stat()
                    files.append((status.st_mtime, status.st_size, entry.path))
        return sorted(files)
