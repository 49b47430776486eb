"""The errors users meet. Each also is the built-in error they would expect."""

from __future__ import annotations


class ThresherError(Exception):
    """Base of everything Thresher raises on purpose."""


class DataError(ThresherError, ValueError):
    """The data cannot be used as it is; the message says where and what to do."""


class UnreadableError(DataError, OSError):
    """A file is not there or may not be read."""


class SettingsError(ThresherError, ValueError):
    """A setting is out of range, unknown, or does not go with another."""


class SpaceError(ThresherError, ValueError):
    """The data's features are not the features the model was made from."""


class FileFormatError(ThresherError, ValueError):
    """A file of ours is damaged, of a later version, or not ours."""


class ResumeError(ThresherError, ValueError):
    """A checkpoint belongs to other data or other settings."""


class MissingExtraError(ThresherError, ImportError):
    """An optional package is needed for this; the message says which extra brings it."""
