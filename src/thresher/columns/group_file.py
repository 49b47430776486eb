"""Groups in a file of text: a line a group, its columns by position (or keys), blanks or commas between them."""

from __future__ import annotations

import os

from thresher.errors import SettingsError


def read_groups(path: str | os.PathLike[str]) -> list[list[int]]:
    """The groups in the order of the lines; blank lines, and what stands behind a ``#``, do not count."""
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise SettingsError(f"{name}: the groups cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{name}: not a text of groups, a line a group.") from None
    groups = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].replace(",", " ").split()
        for word in words:
            if not (word.isascii() and word.isdigit()) or int(word) >= 2**64:
                raise SettingsError(
                    f"{name}, line {number}: {word!r} is no column by position; write a line a group, like 0 1 2"
                )
        if words:
            groups.append([int(word) for word in words])
    return groups
