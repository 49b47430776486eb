"""Groups of columns: invalid groups, and the file that lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from thresher.columns.groups import as_groups, read_groups


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: th.Groups([[0, 1], [1, 2]]), "column 1 is in group 0 and in group 1"),
        (lambda: th.Groups([[0, 0]]), "column 0 is listed twice in group 0"),
        (lambda: th.Groups([[0], []]), "group 1 is empty"),
        (lambda: th.Groups([]), "no groups"),
        (lambda: th.Groups([[0], [-1]]), "group 1 is not a list"),
        (lambda: th.Groups([[0.5]]), "group 0 is not a list"),
        (lambda: th.Groups(np.array([0, 1, -1])), "negative"),
        (lambda: th.Groups({"a": [1]}), "not a mapping"),
        (lambda: th.Groups("abc"), "cannot read"),
        (lambda: th.Tree([[0, 1, 2], [2, 3]]), "neither contains the other"),
        (lambda: th.Tree([[0, 1], [1, 0]]), "the same members"),
        (lambda: th.Tree([[0, 1], [0]], by_size=True), "by size"),
    ],
)
def test_invalid_groups_are_refused(make: Any, message: str) -> None:
    with pytest.raises(th.SettingsError, match=message):
        make()


def test_groups_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "groups.txt"
    path.write_text("0, 1 2  # the first\n\n# none\n18446744073709551615\n")
    assert read_groups(path) == [[0, 1, 2], [2**64 - 1]]
    groups = as_groups(path)
    assert groups.indptr.tolist() == [0, 3, 4]
    assert as_groups(groups) is groups
    path.write_text("0 1\n2 x\n")
    with pytest.raises(th.SettingsError, match="line 2: 'x' is not a column position"):
        read_groups(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(th.SettingsError, match="one group per line"):
        read_groups(path)
