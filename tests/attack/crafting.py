"""Files of our own formats with false content and true checksums."""

from __future__ import annotations

import copy
import hashlib
import random
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.attack.mutations import EDGES, damaged, damaged_in_place
from tests.core.storage.test_container import forge
from thresher.core.storage import container

_HEAD = struct.calcsize("<8sIIQ")
_CHECKSUM = 32
#: Values that JSON can hold where another was.
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    0.5,
    1e308,
    1 << 31,
    1 << 63,
    1 << 64,
    10**30,
    -(1 << 63),
    "",
    "a",
    "x" * 300,
    "\ud800",
    [],
    [[]],
    {},
    {"a": 1},
    [None],
    [1, 2, 3],
    "nan",
)
_DTYPES = ("<f4", "<f8", "<i8", "<u2", "<u4", "<u8", "|u1")


def crafted(rng: random.Random, files: list[bytes]) -> bytes:
    """One of these containers with something else in it, and a checksum that is right."""
    raw = rng.choice(files)
    style = rng.randrange(4)
    if style == 0:
        body = damaged_in_place(rng, raw[:-_CHECKSUM])
    elif style == 1:
        body = damaged(rng, [file[:-_CHECKSUM] for file in files])
        body = body[:16] + struct.pack("<Q", len(body) + _CHECKSUM) + body[24:]
    else:
        content = container.decode(raw)
        meta, arrays = copy.deepcopy(content.meta), dict(content.arrays)
        if style == 2:
            meta = odd_json(rng, meta)
        else:
            name = rng.choice(sorted(arrays))
            arrays[name] = odd_array(rng, arrays[name])
        return _forged(content.kind, meta, arrays)
    return body + hashlib.blake2b(body, digest_size=_CHECKSUM).digest()


def _forged(kind: str, meta: Any, arrays: dict[str, NDArray[Any]]) -> bytes:
    """A container as the arguments are, even where our writer would refuse them."""
    sections, data = {}, b""
    for name, array in arrays.items():
        sections[name] = {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "offset": len(data),
            "bytes": array.nbytes,
        }
        data += array.tobytes() + bytes(-array.nbytes % 8)
    return forge({"kind": kind, "meta": meta, "arrays": sections}, data)


def odd_json(rng: random.Random, value: Any) -> Any:
    """The value with an odd one somewhere in it, or with a part missing or repeated."""
    places: list[tuple[Any, Any]] = []

    def walk(inner: Any) -> None:
        items = inner.items() if isinstance(inner, dict) else enumerate(inner) if isinstance(inner, list) else ()
        for key, part in items:
            places.append((inner, key))
            walk(part)

    walk(value)
    if not places or rng.random() < 0.02:
        return rng.choice(ODD)
    holder, key = rng.choice(places)
    style = rng.random()
    if style < 0.15:
        del holder[key]
    elif style < 0.25 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif style < 0.45 and type(holder[key]) in (int, float):
        holder[key] += rng.choice((-1, 1, 1000, -1000, 1 << 40))
    else:
        holder[key] = copy.deepcopy(rng.choice(ODD))
    return value


def odd_array(rng: random.Random, array: NDArray[Any]) -> NDArray[Any]:
    """The array with other numbers, or of another length, type or shape."""
    style = rng.random()
    flat = array.ravel().copy()
    if style < 0.1:
        return flat[: rng.randrange(len(flat) + 1)]
    if style < 0.2:
        return np.concatenate([flat, flat[: rng.choice((1, 2, 100))]])
    if style < 0.25:
        return flat.astype(rng.choice(_DTYPES), casting="unsafe")
    if style < 0.3:
        return flat.reshape(rng.choice(((1, -1), (-1, 1), (-1,))))
    if style < 0.33 or not len(flat):
        return np.zeros(rng.choice((0, 1, 2, 1000)), array.dtype)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(flat))
        if style < 0.5:
            flat[at] = flat[rng.randrange(len(flat))]
        elif array.dtype.kind == "f":
            flat[at] = rng.choice((np.nan, np.inf, -np.inf, 0.0, -1.0, 1e30, -1e30, 1e-30, -0.0))
        else:
            number = rng.choice(EDGES) * rng.choice((1, -1)) + rng.choice((0, 0, int(flat[at])))
            flat[at] = np.array(number & (2**64 - 1), np.uint64).astype(array.dtype)
    return flat.reshape(array.shape)
