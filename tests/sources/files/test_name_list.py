"""Lists of feature names: names, patterns, files, escapes, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.reference.sources import patterns
from thresher.core.batch import Names
from thresher.errors import SettingsError
from thresher.sources.files.name_list import NameList, Pattern, check_apart
from thresher.sources.transforms.drop import match_names

TEXT = st.text(alphabet="ab*?\\@é𝄞=", min_size=1, max_size=6)


def read(entries: Any) -> NameList:
    found = NameList.of(entries, "drop")
    assert found is not None
    return found


@examples(80)
@given(TEXT, st.lists(TEXT, max_size=8))
def test_patterns_match_as_their_twin_does_in_python_and_natively(pattern: str, names: list[str]) -> None:
    if pattern.startswith("@"):
        pattern = "\\" + pattern
    wanted = [patterns.matches(pattern, name) for name in names]
    found = read([pattern])
    assert [found.matches(name) for name in names] == wanted
    if found.patterns and names:
        for cut in (0, 1):  # the first byte as a prefix, or none
            spelled = [name.encode() for name in names]
            heads = [name[:cut] for name in spelled]
            rests = Names.of_bytes([name[cut:] for name in spelled])
            prefixes = sorted({b"", *heads})
            numbers = [prefixes.index(head) for head in heads]
            words = Names.pack(rests.words & 0xFFFFFFFF, [len(name) - cut for name in spelled], numbers)
            flags, hits = match_names(Names(words, rests.text, prefixes), found.patterns)
            assert flags.astype(bool).tolist() == wanted
            assert bool(hits[0]) == any(wanted)


def test_a_file_has_an_entry_a_line_and_escapes_make_wildcards_ordinary(tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_bytes("\ufeffa\r\n\r\nuser_*\n5\\*\n@b\n# c\n".encode())
    found = read([f"@{file}", r"\@d", "a", 7])
    assert found.names == ("a", "5*", "@b", "# c", "@d", "7")
    assert [one.text for one in found.patterns] == ["user_*"]
    assert found.given == (f"@{file}", r"\@d", "a", "7")


def test_one_name_is_a_list_of_one() -> None:
    assert read("x7").names == ("x7",)
    assert NameList.of(None, "drop") is None


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], r"`drop` is empty: name features, or leave it out"),
        (["a", ""], r"`drop` has an empty name"),
        ([1.5], r"`drop` must be a list of feature names, but it has 1.5"),
        ([True], r"but it has True"),
        ({"a": 1}, r"`drop` must be a list of feature names"),
        (["@no such file"], r"cannot be read \(No such file or directory\).*write it as \\@no such file"),
    ],
)
def test_a_list_that_cannot_be_read_says_why(entries: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        read(entries)


def test_a_file_without_names_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n\n")
    with pytest.raises(SettingsError, match="which has no names"):
        read([f"@{tmp_path / 'empty'}"])


@pytest.mark.parametrize(("keep", "drop"), [(["a"], ["a"]), (["a1"], ["a*"]), (["a*"], ["a1"])])
def test_a_name_is_not_both_kept_and_dropped(keep: list[str], drop: list[str]) -> None:
    with pytest.raises(SettingsError, match=r"'a1?' is in both `keep` and `drop`"):
        check_apart(read(keep), read(drop))
    check_apart(read(keep), read(["b*", "c"]))


def test_the_head_of_a_pattern_is_what_every_match_begins_with() -> None:
    (pattern,) = read([r"us\*er_?b*"]).patterns
    assert isinstance(pattern, Pattern)
    assert pattern.head == b"us*er_"
