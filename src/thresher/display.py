"""Text as it is shown: without credentials, without control characters, and cut to a length.

Messages, tables and files for other programs use these functions for every text that comes from data, a path or a
URL.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

#: What stands in place of a secret.
HIDDEN = "***"
#: The most characters of a name or label in a message.
MAX_SHOWN = 60

# ── credentials ──────────────────────────────────────────────────────────────────────────────────

#: Protocols whose URLs may have a query, and a token in place of a user name.
_WEB = {"http", "https", "ftp", "ftps", "webdav", "webdavs"}
#: A URL within other text. The punctuation of the sentence is not part of it.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]*[^\s'\"<>.,:;!?)\]}]")
#: The places where fsspec chains URLs, as in ``zip://a.csv::https://host/b.zip``.
_LINKS = re.compile(r"::(?=[A-Za-z][A-Za-z0-9+.-]*(?:://|::|$))")
_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:\d*)?")
_PARAMETER = re.compile(r"[^&;#]+")
#: Shorter secrets are hidden in URLs only: elsewhere they may be any part of a word.
_LEAST_SECRET = 4


def redact_url(url: str) -> str:
    """A URL without user names, passwords and the values of its query."""
    return "::".join(_redacted(link, []) for link in _LINKS.split(url))


def redact(text: str, url: str = "") -> str:
    """Text with every URL in it redacted, and with the secrets of ``url`` hidden wherever they are quoted."""
    secrets: list[str] = []
    for link in _LINKS.split(url):
        _redacted(link, secrets)
    if url:
        text = text.replace(url, redact_url(url))
    text = _URL.sub(lambda found: redact_url(found[0]), text)
    forms = {form for secret in secrets for form in (secret, unquote(secret)) if len(form) >= _LEAST_SECRET}
    for form in sorted(forms - {HIDDEN}, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def _redacted(url: str, secrets: list[str]) -> str:
    """Redact one link, and collect its secrets."""
    protocol, separator, rest = url.partition("://")
    if not separator:
        return url
    web = protocol.lower() in _WEB
    login, rest = _split_login(rest)
    if login is not None:
        if web or ":" in login:
            secrets += [login, *login.split(":", 1)]
            login = HIDDEN
        rest = f"{login}@{rest}"
    start = re.search(r"[?#]" if web else r"\?(?=[^/?*=&]+=)", rest)  # elsewhere ? and # may be part of a path
    if start is not None:
        rest = rest[: start.end()] + _PARAMETER.sub(lambda found: _hide_value(found[0], secrets), rest[start.end() :])
    return f"{protocol}://{rest}"


def _split_login(rest: str) -> tuple[str | None, str]:
    """What stands before the ``@`` of a URL, None if it has none, and the rest."""
    authority = re.match(r"[^/?#]*", rest)
    login, at, host = authority[0].rpartition("@") if authority else ("", "", "")
    if at:
        return login, host + rest[len(login) + 1 + len(host) :]
    if authority is not None and not _PORT.fullmatch(authority[0]) and "@" in rest:
        login, _, rest = rest.rpartition("@")  # a password with a / or ? in it
        return login, rest
    return None, rest


def _hide_value(parameter: str, secrets: list[str]) -> str:
    name, equals, value = parameter.partition("=")
    secrets.append(value if equals else name)
    return f"{name}={HIDDEN}" if equals else HIDDEN


# ── control characters ───────────────────────────────────────────────────────────────────────────


def is_safe(character: str) -> bool:
    """Whether a character is shown as it is: no control or format character, line separator or unassigned code."""
    return character.isprintable() or (character.isspace() and character > "\x9f" and character not in "\u2028\u2029")


def visible(text: str) -> str:
    r"""Text for a terminal: control and format characters are escaped, as ``\n``, ``\x1b`` and ``\u202e``.

    A byte that is not UTF-8 (a surrogate) is escaped as ``\xff``. Backslashes stay, so escaping twice changes nothing.
    """
    return text if text.isprintable() else "".join(c if is_safe(c) else _python_escape(c) for c in text)


def visible_lines(text: str) -> str:
    """Text of several lines for a terminal: `visible`, but lines stay lines."""
    return "\n".join(map(visible, text.split("\n")))


def _python_escape(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def shown_path(path: str) -> str:
    """A path or URL as messages, reports and files show it."""
    return visible(redact_url(path))


def cut(text: str, most: int = MAX_SHOWN) -> str:
    """Text of at most ``most`` characters; an ellipsis marks what was cut."""
    return text if len(text) <= most else text[: max(0, most - 1)] + "…"


def quoted(value: Any) -> str:
    """A value of the data in a message: as Python writes it, and cut."""
    if isinstance(value, (str, bytes)) and len(value) > MAX_SHOWN:
        return f"{value[:MAX_SHOWN]!r}…"
    return cut(repr(value), 2 * MAX_SHOWN)


# ── cells of tables for other programs ───────────────────────────────────────────────────────────

_TSV = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def tsv_cell(text: str) -> str:
    r"""Text as a cell of a TSV file; ``docs/format.md`` says how to read it back.

    A backslash, tab, newline and carriage return are escaped as ``\\``, ``\t``, ``\n`` and ``\r``, a byte that is not
    UTF-8 and an ASCII control character as ``\x1b``, other control and format characters as ``\u202e`` or
    ``\U000e0001``. A first ``=``, ``+``, ``-`` or ``@``, by which spreadsheets recognise a formula, is escaped as
    ``\x3d``, unless the text is a number.
    """
    simple = text.isprintable() and "\\" not in text
    escaped = text if simple else "".join(_TSV.get(c) or (c if is_safe(c) else _code_escape(c)) for c in text)
    if escaped[:1] in ("=", "+", "-", "@") and not _NUMBER.fullmatch(escaped):
        return f"\\x{ord(escaped[0]):02x}{escaped[1:]}"
    return escaped


def _code_escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# ── advice ───────────────────────────────────────────────────────────────────────────────────────


def similar(name: str, names: Sequence[str]) -> list[str]:
    """The names most similar to an unknown one, upper and lower case aside."""
    by_lower: dict[str, str] = {}
    for known in names:
        by_lower.setdefault(known.lower(), known)
    close = difflib.get_close_matches(name, names, 3, 0.6)
    return close or [by_lower[lower] for lower in difflib.get_close_matches(name.lower(), by_lower, 3, 0.6)]


def listed(names: Sequence[Any], most: int = 10) -> str:
    """The first names, and the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(quoted, names[:most])) + more


def did_you_mean(name: str, names: Sequence[str], most: int = 10) -> str:
    """The end of a message about an unknown name: the names most similar to it, else the first ``most`` names."""
    if close := similar(name, names):
        return f": did you mean {' or '.join(map(quoted, close))}?"
    return f": choose one of {listed(names, most)}."
