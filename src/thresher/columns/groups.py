"""Groups of columns, and the text file that lists them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Ids
from thresher.errors import SettingsError


class Groups:
    """Groups of columns. A method selects or rejects a group as a whole, so ``k`` and ``B`` count groups.

    Parameters
    ----------
    groups : sequence of sequences of int, array, or path
        The members of each group, as column positions (in general: keys); or an array with the group number of each
        column; or the path of a text file with one group per line. A group's number is its position in this list.
    overlap : bool
        Allow a column in several groups. It then counts as if it were repeated in the data (without copying it), and
        the model has the sum of its weights.
    by_size : bool
        Divide the score of a group by its number of columns, so that large groups are not favoured.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40))
    >>> y = X[:, 8:12].sum(axis=1) > 0
    >>> found = th.select(X, y, k=1, method="fgm", family=th.Groups(np.arange(40) // 4))
    >>> sorted(found.names)
    ['x10', 'x11', 'x8', 'x9']
    """

    #: The members of group g are ``keys[indptr[g]:indptr[g + 1]]``.
    indptr: NDArray[np.int64]
    keys: Ids

    def __init__(self, groups: Any, *, overlap: bool = False, by_size: bool = False) -> None:
        self.indptr, self.keys = _members(groups)
        self.overlap = overlap
        self.by_size = by_size
        empty = np.flatnonzero(np.diff(self.indptr) == 0)
        if len(self.indptr) == 1:
            raise SettingsError("there are no groups")
        if len(empty):
            raise SettingsError(f"group {empty[0]} is empty")
        owner = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        order = np.lexsort((owner, self.keys))
        same = self.keys[order][1:] == self.keys[order][:-1]
        within = same & (owner[order][1:] == owner[order][:-1])
        if within.any():
            at = int(np.argmax(within))
            raise SettingsError(f"column {self.keys[order][at]} is listed twice in group {owner[order][at]}")
        if same.any() and not overlap:
            at = int(np.argmax(same))
            raise SettingsError(
                f"column {self.keys[order][at]} is in group {owner[order][at]} and in group {owner[order][at + 1]}; "
                "pass overlap=True to allow this"
            )

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def fingerprint(self) -> str:
        """A text that identifies the groups in checkpoints."""
        digest = hashlib.blake2b(self.indptr.tobytes() + self.keys.tobytes(), digest_size=16)
        return f"{type(self).__name__}:{digest.hexdigest()}{':by_size' * self.by_size}"

    def check(self, size: int | None, k: int) -> None:
        """Raise if a member is not one of the ``size`` columns (None: unknown), or if there are fewer than ``k``
        groups."""
        if size is not None and int(self.keys.max()) >= size:
            group = int(np.searchsorted(self.indptr, int(self.keys.argmax()), side="right")) - 1
            raise SettingsError(
                f"group {group} contains column {self.keys.max()}, but the data has columns 0 to {size - 1}"
            )
        if k > len(self):
            raise SettingsError(f"`k={k}` exceeds the number of groups, {len(self)}; choose a smaller `k`")


def as_groups(groups: Any) -> Groups:
    """Make `Groups` from anything that its constructor accepts; return `Groups` unchanged."""
    return groups if isinstance(groups, Groups) else Groups(groups)


def read_groups(path: str | os.PathLike[str]) -> list[list[int]]:
    """Read groups from a text file: one group per line, its column positions (or keys) separated by blanks or commas.

    Blank lines and text after a ``#`` are ignored.
    """
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise SettingsError(f"{name}: cannot read the groups ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{name}: not a text file with one group per line.") from None
    groups = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].replace(",", " ").split()
        for word in words:
            if not (word.isascii() and word.isdigit()) or int(word) >= 2**64:
                raise SettingsError(
                    f"{name}, line {number}: {word!r} is not a column position; write one group per line, for example "
                    "0 1 2"
                )
        if words:
            groups.append([int(word) for word in words])
    return groups


def _members(groups: Any) -> tuple[NDArray[np.int64], Ids]:
    """Convert any accepted form of groups to ``indptr`` and ``keys``."""
    if isinstance(groups, Mapping):
        raise SettingsError("groups must be a sequence of groups or the group number of each column, not a mapping")
    if isinstance(groups, (str, os.PathLike)):
        groups = read_groups(groups)
    if isinstance(groups, np.ndarray) and groups.ndim == 1 and groups.dtype.kind in "iu":
        if len(groups) and groups.min() < 0:
            raise SettingsError(f"group numbers must not be negative, got {groups.min()}")
        order = np.argsort(groups, kind="stable")
        counts = np.bincount(groups) if len(groups) else np.empty(0, np.int64)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), order.astype(np.uint64)
    if not isinstance(groups, (Sequence, np.ndarray)):
        raise SettingsError(f"groups must be a sequence of groups of columns, not {type(groups).__name__}")
    parts = [np.array(group, np.uint64) if _is_key_list(group) else np.asarray(group) for group in groups]
    for number, part in enumerate(parts):
        if part.ndim != 1 or (len(part) and part.dtype.kind not in "iu") or (part.size and int(part.min()) < 0):
            raise SettingsError(f"group {number} is not a list of column positions: {part.tolist()!r}")
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return indptr, np.concatenate([*parts, np.empty(0, np.uint64)]).astype(np.uint64)


def _is_key_list(group: Any) -> bool:
    """Whether ``group`` is a list of 64-bit keys. NumPy would convert keys above 2**63 to floats."""
    return isinstance(group, list) and all(isinstance(key, int) and 0 <= key < 2**64 for key in group)
