"""Text as it is shown: no credentials, no control characters, nothing endless; and cells that read back."""

from __future__ import annotations

import pickle
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.display import cut, did_you_mean, quoted, redact, redact_url, shown_path, tsv_cell, visible
from thresher.errors import DataError, MissingExtraError, SettingsError, UnreadableError

NASTY = "a\x1b[31m\x9b1m\x1b]0;title\x07\u202eb\x00\x7f\u2028\u2029\x85\r\n\t\u200b\ufeff\udcff"
WORDS = st.text("abcXYZ0189-._~%", min_size=5, max_size=12)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:password@host/f.vw?token=abc", "http://***@host/f.vw?token=***"),
        ("https://TOKEN@host:8080/a/b.csv", "https://***@host:8080/a/b.csv"),
        ("https://host/f?a=1&b=2;c=3#frag", "https://host/f?a=***&b=***;c=***#***"),
        ("https://host/f?secret", "https://host/f?***"),
        ("http://user:pa/ss?w@host/f", "http://***@host/f"),
        ("http://u:a@b@host/f", "http://***@host/f"),
        ("s3://key:secret@bucket/k.vw", "s3://***@bucket/k.vw"),
        ("abfs://container@account/k.vw?sig=x", "abfs://container@account/k.vw?sig=***"),
        ("zip://a.csv::https://u:p@host/b.zip?x=1", "zip://a.csv::https://***@host/b.zip?x=***"),
        ("simplecache::http://u:a::b@host/f", "simplecache::http://***@host/f"),
        ("HTTPS://u:p@host", "HTTPS://***@host"),
        # what is no secret stays
        ("s3://bucket/year=202?/part-*.vw", "s3://bucket/year=202?/part-*.vw"),
        ("s3://bucket/me@home.csv", "s3://bucket/me@home.csv"),
        ("https://host:80/me@home.csv", "https://host:80/me@home.csv"),
        ("http://[::1]:80/f", "http://[::1]:80/f"),
        ("file.csv?x=1", "file.csv?x=1"),
        ("C:\\a\\b", "C:\\a\\b"),
    ],
)
def test_addresses_lose_their_secrets_and_nothing_else(url: str, shown: str) -> None:
    assert redact_url(url) == shown
    assert redact_url(shown) == shown
    assert redact(f"{url}: cannot be read ({url}).", url) == f"{shown}: cannot be read ({shown})."


@given(WORDS, WORDS, WORDS, st.sampled_from(["http", "https", "s3", "ftp", "gs"]))
def test_no_secret_of_an_address_is_shown(user: str, password: str, token: str, protocol: str) -> None:
    user, password, token = f"U{user}", f"P{password}", f"T{token}"
    url = f"{protocol}://{user}:{password}@host/file.csv?token={token}&x=1"
    # As fsspec and aiohttp quote it: whole, in quotes, without the host, or only the secret.
    texts = [
        url,
        f"404, url='{url}'",
        f"no such key: /file.csv?token={token}",
        f"login {user}:{password} refused",
        token,
    ]
    for text in texts:
        shown = redact(text, url)
        assert not {password, token} & set(re.findall(r"[\w.~%-]+", shown)), shown
    assert redact(shown_path(url), url) == shown_path(url)


def test_errors_of_every_kind_are_clean() -> None:
    for kind in (DataError, UnreadableError, MissingExtraError, SettingsError):
        error = kind(f"http://u:secret@h/f?t=secret: {NASTY}")
        for text in (str(error), str(pickle.loads(pickle.dumps(error)))):
            assert "secret" not in text
            assert "http://***@h/f?t=***: a\\x1b[31m" in text
            assert all(c == "\n" or c.isprintable() for c in text)
    assert DataError("a", 3).args == ("a", 3)


@given(st.text())
def test_visible_text_has_no_control_characters(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert visible(shown) == shown


def test_what_can_be_seen_stays() -> None:
    for text in ("naïve café", "日本語\u3000x", "1\u00a0000", "back\\slash", "=1+1", "🧬"):
        assert visible(text) == text
    assert visible("\x1b\x9b\n\u202e\U000e0001\udcff") == "\\x1b\\x9b\\n\\u202e\\U000e0001\\xff"


def test_long_values_are_cut() -> None:
    review = "word " * 1000
    assert cut(review) == review[:59] + "…"
    assert cut("short") == "short"
    assert quoted(review) == repr(review[:60]) + "…"
    assert quoted("it's") == '"it\'s"'
    assert len(quoted(list(range(1000)))) <= 120


def read_back(cell: str) -> bytes:
    """A cell as docs/format.md says to read it."""
    short = {"\\": b"\\", "t": b"\t", "n": b"\n", "r": b"\r"}

    def one(found: re.Match[str]) -> str:
        if (letter := found[1][0]) in short:
            return short[letter].decode()
        code = int(found[1][1:], 16)
        return chr(0xDC00 + code) if letter == "x" and code >= 0x80 else chr(code)

    text = re.sub(r"\\([\\tnr]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})", one, cell)
    return text.encode("utf-8", "surrogateescape")


NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary().map(lambda b: b.decode("utf-8", "surrogateescape")),
    st.text(r"=+-@\xtnru0189abcdefU" + NASTY),
)


@given(NAMES)
def test_a_cell_of_tsv_reads_back(name: str) -> None:
    cell = tsv_cell(name)
    assert read_back(cell) == name.encode("utf-8", "surrogateescape")
    assert not {unicodedata.category(c) for c in cell} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert cell[:1] not in ("=", "+", "-", "@") or float(cell) == float(name)


def test_cells_of_tsv() -> None:
    assert [tsv_cell(name) for name in ("-1.5e3", "+2", "-", "=1+1", "@x", "-a", "a=1")] == [
        "-1.5e3", "+2", "\\x2d", "\\x3d1+1", "\\x40x", "\\x2da", "a=1",
    ]  # fmt: skip
    assert tsv_cell("\x1b\x00\x85\u2028\udcff\\") == "\\x1b\\x00\\u0085\\u2028\\xff\\\\"


def test_similar_names() -> None:
    names = ["mission", "Age", "b-arda"]
    assert did_you_mean("misson", names) == ": did you mean 'mission'?"
    assert did_you_mean("AGE", names) == ": did you mean 'Age'?"
    assert did_you_mean("zzz", names) == ": choose one of 'mission', 'Age', 'b-arda'."
    assert did_you_mean("zzz", [f"column {i}" for i in range(30)]).endswith("'column 9' and 20 more.")
    assert len(did_you_mean("word " * 1000, ["word " * 1001])) < 100
