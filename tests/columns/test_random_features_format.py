"""Random features as docs/format.md specifies them: a reimplementation from that page alone, compared bit by bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import thresher as th

MASK = 2**64 - 1
S0, S1, S2, S3 = 0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1
Pair = tuple[float, float]
Row = list[tuple[int, float]]


def f(a: int, b: int) -> int:
    product = a * b
    return (product & MASK) ^ (product >> 64)


def u(n: int) -> int:
    return f(n ^ S0, S3)


def h(key: int, s: int) -> int:
    return f(f(key ^ s, S1) ^ s, S2)


def ln(x: float) -> float:
    m, e = math.frexp(x)
    if m < 0.70710678118654752440:
        m, e = 2.0 * m, e - 1
    z = (m - 1.0) / (m + 1.0)
    total = 0.0
    for j in range(21, 0, -2):
        total = total * (z * z) + 1.0 / j
    return 2.0 * z * total + e * 0.69314718055994530942


def uniform(bits: int) -> float:
    return (float(bits >> 11) + 0.5) * 2.0**-53


def polar(draw: Callable[[int], float]) -> Pair:
    t = 0
    while True:
        a, b = 2.0 * draw(t) - 1.0, 2.0 * draw(t + 1) - 1.0
        r = a * a + b * b
        if 0.0 < r < 1.0:
            q = math.sqrt(-2.0 * ln(r) / r)
            return a * q, b * q
        t += 2


class Generator:
    def __init__(self, seed: int, number: int) -> None:
        self.inputs, self.own = u(h(number, u(seed))), u(h(number, u(~seed & MASK)))

    def bits(self, key: int, c: int) -> int:
        return h((h(key, self.inputs) + c) & MASK, self.inputs)

    def own_bits(self, c: int) -> int:
        return h(c, self.own)

    def normal(self, key: int, c: int) -> Pair:
        return polar(lambda t: uniform(self.bits(key, (c << 16) + t)))

    def own_normal(self, c: int) -> Pair:
        return polar(lambda t: uniform(self.own_bits((c << 16) + t)))


def cosine(v: float) -> np.float32:
    pi = math.pi
    c = [(-1) ** j * pi ** (2 * j) / math.factorial(2 * j + 1) for j in range(1, 7)]
    part = v - round(v)
    g = part * part
    series = 1.0 + g * (c[0] + g * (c[1] + g * (c[2] + g * (c[3] + g * (c[4] + g * c[5])))))
    s = pi * part * series
    return np.float32(math.sqrt(2.0) * (1.0 - 2.0 * s * s))


def binned(stream: Generator, gamma: float, row: Row) -> float:
    cell = 0
    for key, x in row:
        width = -ln(uniform(stream.bits(key, 0)) * uniform(stream.bits(key, 1))) / gamma
        start, salt = uniform(stream.bits(key, 2)) * width, u(stream.bits(key, 3))
        number, zero = (int(min(max(math.floor((at + start) / width), -9e18), 9e18)) & MASK for at in (x, 0.0))
        cell = (cell + h(number, salt) - h(zero, salt)) & MASK
    return 1.0 if h(cell, u(stream.own_bits(0))) & 1 else -1.0


def chosen(stream: Generator, few: int, size: int) -> set[int]:
    found: set[int] = set()
    c = 1024
    while len(found) < min(few, size):
        found.add(math.floor(uniform(stream.own_bits(c)) * size))
        c += 1
    return found


def student(stream: Generator, degrees: int) -> float:
    pairs = [stream.own_normal(2 + i) for i in range(0, degrees, 2)]
    numbers = [number for pair in pairs for number in pair][:degrees]
    total = 0.0
    for number in numbers:
        total += number * number
    return math.sqrt(degrees / total)


def series(name: str, argument: str, gamma: float) -> list[float]:
    if name == "maclaurin":
        return [gamma**n / math.factorial(n) for n in range(17)]
    m = int(argument or 2)
    return [math.comb(m, n) * gamma**n for n in range(m + 1)]


def value(kernel: str, gamma: float, seed: int, number: int, row: Row, few: int | None, size: int) -> Any:
    """The value of one random feature on one row, by the page."""
    stream = Generator(seed, number)
    name, _, argument = kernel.partition(":")
    if name == "binning":
        return binned(stream, gamma, row)
    allowed = None if few is None else chosen(stream, few, size)

    def projection(coefficient: Callable[[int], float], offset: float) -> float:
        v = offset
        for key, x in row:
            v += x * (coefficient(key) if allowed is None or key in allowed else 0.0)
        return v

    if name in ("maclaurin", "polynomial"):
        a = series(name, argument, gamma)
        chances = np.array([2.0 ** -(n + 1) for n in range(len(a))])
        chances /= chances.sum()
        n = min(int((np.cumsum(chances) <= uniform(stream.own_bits(1))).sum()), len(a) - 1)
        product = math.sqrt(a[n] / chances[n])
        for p in range(n):
            product *= projection(lambda key, p=p: 1.0 if stream.bits(key, p) & 1 else -1.0, 0.0)  # type: ignore[misc]
        return np.float32(product)
    if name in ("perceptron", "arc-cosine"):
        scale = math.sqrt(gamma)
        v = projection(lambda key: scale * stream.normal(key, 0)[0], stream.own_normal(1)[0])
        step = name == "perceptron" or argument == "0"
        return np.float32(math.sqrt(2.0) * (1.0 if step else v)) if v > 0 else np.float32(0.0)
    offset = uniform(stream.own_bits(0))
    if name == "laplacian":
        scale = gamma / (2.0 * math.pi)
        return cosine(projection(lambda key: scale * (stream.normal(key, 0)[0] / stream.normal(key, 0)[1]), offset))
    scale = math.sqrt(2.0 * gamma) / (2.0 * math.pi)
    if name == "matern":
        scale *= student(stream, int(2 * float(argument or 1.5)))
    return cosine(projection(lambda key: scale * stream.normal(key, 0)[0], offset))


KERNELS = (
    "gaussian", "laplacian", "matern", "matern:0.5", "matern:2", "perceptron", "arc-cosine", "arc-cosine:0",
    "arc-cosine:1", "maclaurin", "polynomial", "polynomial:3", "binning",
)  # fmt: skip


@pytest.mark.parametrize("few", [None, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_page_specifies_random_features_to_the_bit(kernel: str, few: int | None) -> None:
    if kernel == "binning" and few is not None:
        pytest.skip("random binning uses all inputs")
    rng = np.random.default_rng(7)
    x = np.where(rng.random((40, 9)) < 0.6, rng.normal(size=(40, 9)), 0.0).astype(np.float32)
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]
    selection = th.select(
        x, y, k=8, method="sparse-rf", loss="squared", kernel=kernel, gamma=0.8, q=few, random_state=2**40 + 7
    )
    space = selection.space.to_dict()
    assert (space["kind"], space["kernel"], space["few"], space["of"]["size"]) == ("drawn", kernel, few, 9)
    assert len(selection) >= 3
    by_page = [
        [value(kernel, space["gamma"], space["seed"], number, row, few, 9) for number in selection.keys.tolist()]
        for row in ([(int(j), float(line[j])) for j in np.flatnonzero(line)] for line in x)
    ]
    np.testing.assert_array_equal(selection.transform(x).toarray(), np.array(by_page, np.float32))
