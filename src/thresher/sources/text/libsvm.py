"""LIBSVM / SVMlight text."""

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
class LibsvmSource(LineSource):
    """Rows ``label [qid:n] index:value …  # comment``. The key of a feature is its index."""

    space = FeatureSpace("index")

    @property
    def format(self) -> str:
        return "libsvm"

    @property
    def _parse(self) -> Callable[..., dict[str, Any]]:
        return _native.parse_libsvm


def scan_libsvm(
    paths: PathLike | Iterable[PathLike], *, on_error: OnError = "stop", multilabel: bool = False
) -> LibsvmSource:
    """Read LIBSVM or SVMlight files, plain or compressed.

    Parameters
    ----------
    paths : path, glob, folder, "-" for standard input, or several of these
    on_error : {"stop", "skip"}
        Whether a malformed line raises `DataError` or is counted and skipped.
    multilabel : bool
        Rows start with several labels, ``1,3,7 index:value …``, or none.

    Examples
    --------
    >>> source = th.scan_libsvm("clicks/*.svm.gz")              # doctest: +SKIP
    """
    return LibsvmSource(tuple(find_parts(paths)), on_error, multilabel)
