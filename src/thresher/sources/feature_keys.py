"""The keys of features that are known by name before any row is read."""

from __future__ import annotations

from collections.abc import Iterator

from thresher import _native
from thresher.core.feature_space import FeatureSpace
from thresher.sources.base import Source, Wrapped
from thresher.sources.documents.ngram_encoder import CHARS, NgramEncoder
from thresher.sources.files.name_list import as_bytes

#: The signs that end the prefix of a name: of a column or a namespace.
_PREFIX_ENDS = b"=^"


def keys_of(space: FeatureSpace, name: str) -> list[int]:
    """The keys that a feature of this name may have; none if no feature can have it.

    The key of a hashed name depends on where its prefix ends, which the name alone does not tell. All possible keys are
    returned: that one of them is the key of another feature is as improbable as any collision of 64 bits.
    """
    if space.kmers is not None:
        return space.kmers.keys_of(name)
    if space.kind == "token":
        return list(dict.fromkeys(_hashes(as_bytes(name))))
    digits = name.removeprefix("x") if space.kind == "column" else name
    number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 20 else -1
    return [number] if 0 <= number < (2**64 if space.size is None else space.size) else []


def _hashes(name: bytes) -> Iterator[int]:
    yield _native.hash_bytes(name, 0)
    for end, sign in enumerate(name, 1):
        if sign in _PREFIX_ENDS:
            yield _native.hash_bytes(name[end:], _native.hash_bytes(name[:end], 0))


def key_of(source: Source, name: str) -> int | None:
    """The key of the feature of this name in a source; None if no feature can have it."""
    space = source.space
    if any((space.products, space.hashing, space.random_features, space.expansion)):
        return None
    keys = keys_of(space, name)
    if space.kind != "token" or len(keys) < 2:
        return min(keys, default=None)
    end = _prefix_end(source, name)
    prefix, rest = as_bytes(name[:end]), as_bytes(name[end:])
    return _native.hash_bytes(rest, _native.hash_bytes(prefix, 0) if prefix else 0)


def _prefix_end(source: Source, name: str) -> int:
    """The number of characters of the prefix of a name: a column and its sign, or a namespace."""
    inner: Source = source
    while isinstance(inner, Wrapped):
        inner = inner.source
    encoder = getattr(inner, "encoder", None)
    if isinstance(encoder, NgramEncoder):
        both = encoder.words != (0, 0) and encoder.chars != (0, 0)
        return len(CHARS) if both and name.startswith(CHARS) else 0
    if columns := source.feature_columns:
        if name in columns:
            return 0
        behind = (column for column in columns if name.startswith((f"{column}=", f"{column}.")))
        column = max(behind, key=len, default=None)
        return 0 if column is None else name.find("=", len(column)) + 1
    return name.find("^") + 1 or name.find("=") + 1
