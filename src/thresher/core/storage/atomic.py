"""Files that appear complete or not at all, and what a killed process left unfinished.

A file is written under a temporary name beside its destination and renamed at the end. Its writer holds a lock on it,
which the system releases when the process dies: an unfinished file without a lock is stale.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from thresher.errors import SettingsError, ThresherError, UnwritableError

#: Whether files can be locked. Windows does not remove a file that is open, which serves as well.
_LOCKS = os.name != "nt"
if _LOCKS:
    import fcntl

#: The prefix of the names of unfinished files.
TEMPORARY = ".thresher-"
#: Seconds after which an unfinished file counts as abandoned where files cannot be locked.
_ABANDONED = 86400.0

Path = str | os.PathLike[str]


class Unfinished:
    """A file that is being written; `publish` renames it."""

    def __init__(self, file: Any, name: str) -> None:
        self.file = file
        self._name = name
        self._published = False

    def publish(self, path: str) -> None:
        """Give the complete file its name; an existing file of that name is replaced."""
        self.file.flush()
        os.fsync(self.file.fileno())
        if not _LOCKS:
            self.file.close()  # Windows renames only closed files; elsewhere the lock is held until the end
        os.replace(self._name, path)
        self._published = True

    def discard(self) -> None:
        """Remove the file unless it was published."""
        with contextlib.suppress(OSError):  # closing flushes the buffer, and the disk may be full
            self.file.close()
        if not self._published:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._name)


@contextlib.contextmanager
def unfinished(folder: str) -> Iterator[Unfinished]:
    """A new file in ``folder``, removed at the end unless it was published. Removes stale unfinished files first."""
    remove_stale(folder)
    made = Unfinished(*_create(folder))
    try:
        yield made
    finally:
        made.discard()


def _create(folder: str) -> tuple[Any, str]:
    while True:
        name = os.path.join(folder, f"{TEMPORARY}{secrets.token_hex(8)}")
        # open() gives the usual permissions, unlike tempfile; "x" never overwrites a file.
        file = open(name, "xb")  # noqa: SIM115
        try:
            if not _LOCKS or not _lock(file.fileno(), wait=True) or os.fstat(file.fileno()).st_nlink:
                return file, name
        except BaseException:
            file.close()
            os.unlink(name)
            raise
        file.close()  # another process took it for stale before it was locked


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file; False if another process has, or if its file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def remove_stale(folder: str) -> None:
    """Remove the unfinished files of processes that no longer run."""
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if entry.name.startswith(TEMPORARY):
                with contextlib.suppress(OSError):  # removed in the meantime, or of another user
                    _remove_if_stale(entry)


def _remove_if_stale(entry: os.DirEntry[str]) -> None:
    if not entry.is_file(follow_symlinks=False):
        return
    if not _LOCKS or time.time() - entry.stat().st_mtime > _ABANDONED:
        os.unlink(entry.path)
        return
    descriptor = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if _lock(descriptor, wait=False):
            os.unlink(entry.path)
    finally:
        os.close(descriptor)


def check_writable(path: Path) -> None:
    """Raise unless a file can be written to ``path``: better before a long fit than after it.

    An existing file is not touched. A device or pipe is not opened.
    """
    path = os.fspath(path)
    folder = os.path.dirname(os.path.realpath(path))
    if not path:
        raise SettingsError("the path of the output is empty: name a file")
    if os.path.isdir(path):
        raise SettingsError(f"{path} is a folder: name a file in it")
    if not os.path.isdir(folder):
        shown = os.path.dirname(path) or folder
        raise SettingsError(f"{path}: there is no folder {shown}: create it first")
    if os.path.exists(path) and not os.path.isfile(path):
        if not os.access(path, os.W_OK):
            raise SettingsError(_reason(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES))))
        return
    try:
        with contextlib.suppress(FileNotFoundError):
            os.lstat(path)  # a name that is too long is an error here
        with unfinished(folder):
            pass
    except OSError as error:
        raise SettingsError(_reason(path, error)) from None


def check_not_read(path: Path, inputs: Iterable[Path]) -> None:
    """Raise if the output is one of the files that are read, which it would replace."""
    for name in inputs:
        if os.path.isfile(path) and os.path.isfile(name) and os.path.samefile(path, name):
            raise SettingsError(f"{os.fspath(path)}: the output would replace a file that is read: name another one")


def write_atomically(path: Path, write_to: Callable[[Any], object]) -> None:
    """Let ``write_to`` fill a temporary file beside ``path``, then rename it.

    After a failure (a full disk, an interrupt) an existing file is unchanged. The target of a link is replaced, not
    the link. Devices and pipes are written to directly. Raises `UnwritableError` if the file cannot be written.
    """
    name = os.fspath(path)
    target = os.path.realpath(name)
    with writing(name):
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "wb") as file:
                write_to(file)
            return
        with unfinished(os.path.dirname(target)) as made:
            write_to(made.file)
            made.publish(target)


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """Turn the system's errors while ``path`` is written into an `UnwritableError` that names it."""
    folder = os.path.dirname(os.path.realpath(path))
    try:
        yield
    except OSError as error:
        # An error that names a file elsewhere comes from reading.
        foreign = error.filename is not None and os.path.dirname(os.path.realpath(error.filename)) != folder
        if isinstance(error, (ThresherError, BrokenPipeError)) or foreign:
            raise
        failure = UnwritableError(_reason(path, error))
        failure.why = error.strerror or str(error)
        raise failure from None


def _reason(path: str, error: OSError) -> str:
    kept = "; the file that was there is unchanged" if os.path.isfile(path) else ""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    advice = "Free some space, or choose another place" if full else "Choose another place"
    return f"{path}: cannot be written ({error.strerror or error}){kept}. {advice}."
