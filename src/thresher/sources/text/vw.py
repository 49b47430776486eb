"""Vowpal Wabbit text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from thresher import _native
from thresher.core.feature_space import FeatureSpace
from thresher.sources.base import OnError
from thresher.sources.files.paths import PathLike, find_parts
from thresher.sources.text.line_source import LineSource


@dataclass(frozen=True)
class VwSource(LineSource):
    """Rows ``label importance 'tag|namespace:scale name:value …``. Feature names are ``namespace^name``."""

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
        Whether a malformed line raises `DataError` or is counted and skipped.
    """
    return VwSource(tuple(find_parts(paths)), on_error)
