"""The errors that Thresher raises; each is also the built-in error that a caller would expect."""

from __future__ import annotations

from typing import Any

from thresher.display import redact, visible_lines


class ThresherError(Exception):
    """Base class of all errors of Thresher. Their messages hold no credentials and no control characters."""

    def __init__(self, message: str = "", *details: Any) -> None:
        super().__init__(visible_lines(redact(str(message))), *details)


class DataError(ThresherError, ValueError):
    """The data cannot be used; the message says where, and what to do."""


class UnreadableError(DataError, OSError):
    """A file does not exist or cannot be read."""


class UnwritableError(ThresherError, OSError):
    """A file cannot be written; the message names it, and ``why`` is the system's reason.

    ``selection`` is the result that was to be saved, if any.
    """

    why = ""
    selection: Any = None


class SettingsError(ThresherError, ValueError):
    """A setting is unknown, out of range, or incompatible with another."""


class SpaceError(ThresherError, ValueError):
    """The data has other features than the data of the fit."""


class FileFormatError(ThresherError, ValueError):
    """A file is damaged, of a later version, or not a Thresher file."""


class ResumeError(ThresherError, ValueError):
    """A checkpoint belongs to other data or other settings."""


class MissingExtraError(ThresherError, ImportError):
    """An optional package is missing; the message names the extra to install."""
