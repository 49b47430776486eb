"""Vowpal Wabbit text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from thresher import _native
from thresher.core.feature_space import FeatureSpace
from thresher.sources.files.paths import PathLike, find_parts
from thresher.sources.text.line_source import LineSource
from thresher.sources.text.parse_errors import OnError


@dataclass(frozen=True)
class VwSource(LineSource):
    """Rows ``label importance 'tag|namespace:scale name:value …``. Names come out as ``namespace^name``."""

    space = FeatureSpace("token")

    @property
    def format(self) -> str:
        return "vw"

    @property
    def _parse(self) -> Callable[..., dict[str, Any]]:
        return _native.parse_vw


def scan_vw(paths: PathLike | Iterable[PathLike], *, on_error: OnError = "stop") -> VwSource:
    """Read Vowpal Wabbit text files with simple labels, plain or compressed.

    Parameters
    ----------
    paths : path, glob, folder, "-" for standard input, or several of these
    on_error : {"stop", "skip"}
        What to do about a malformed line: raise `DataError`, or count it and go on.
    """
    return VwSource(tuple(find_parts(paths)), on_error)
