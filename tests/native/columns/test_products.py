"""Products of features equal their twin, are named in one way, and have keys that behave like random numbers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.native.base.rows import compressed, rows
from tests.native.base.test_hashing import chi_square, flips, halves, meetings
from tests.reference.sources import products
from thresher import _native

ALL = {2: [[0, 0]], 3: [[0, 0], [0, 0, 0]]}


def rows_of(indptr, *columns):
    """Columns of features cut into rows."""
    return [[column[a:b] for column in columns] for a, b in itertools.pairwise(indptr.tolist())]


def parts_of(word: int) -> tuple[int, ...]:
    """The parents in a word, counted from 0."""
    fields = [word >> 21 * place & 2**21 - 1 for place in range(3)]
    return tuple(field - 1 for field in fields if field)


def check_against_twin(some, combinations, squares, groups, only=None):
    indptr, keys, values = compressed(some)
    rule = _native.ProductRule(1 + max(map(max, combinations)), combinations, squares)
    flat = None if groups is None else np.array([g for row in groups for g in row], dtype=np.int64)
    index = None if only is None else _native.KeyIndex(np.array(only, dtype=np.uint64))
    got = rule.form(indptr, keys, values, flat, index, True)
    assert got[4] == -1
    counts = rule.count(indptr, flat).tolist()
    found = rows_of(got[0], got[1].tolist(), got[2].tolist(), [parts_of(word) for word in got[3].tolist()])
    for i, (row_keys, row_values) in enumerate(some):
        group = None if groups is None else groups[i]
        expected = products.expanded(row_keys, row_values, [sorted(c) for c in combinations], squares, group)
        assert len(expected) <= counts[i]
        first = int(indptr[i])
        expected = [(k, v, tuple(first + place for place in places)) for k, v, places in expected]
        if only is not None:
            expected = [row for row in expected if row[0] in only]
        assert repr(list(zip(*found[i], strict=True))) == repr(expected)


@examples(200)
@given(rows(), st.sampled_from([2, 3]), st.booleans())
def test_twin(some, degree, squares):
    """Keys, values and parents of all products, in their order, repeated keys and zeros among the features."""
    check_against_twin(some, ALL[degree], squares, None)


@examples(200)
@given(
    rows(),
    st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=3), min_size=1, max_size=4),
    st.booleans(),
    st.data(),
)
def test_twin_with_groups(some, combinations, squares, data):
    """Every feature in one of three groups or in none; the same key always in the same."""
    of_key = data.draw(st.fixed_dictionaries({key: st.integers(-1, 2) for keys, _ in some for key in keys}))
    top = max(map(max, combinations))
    groups = [[min(of_key[key], top) for key in keys] for keys, _ in some]
    check_against_twin(some, combinations, squares, groups)


@given(rows(), st.sampled_from([2, 3]), st.data())
def test_only_what_is_wanted(some, degree, data):
    """Pushing keys down is leaving out all others."""
    every = sorted({row[0] for keys, values in some for row in products.expanded(keys, values, ALL[degree])})
    only = data.draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    check_against_twin(some, ALL[degree], False, None, [*only, 2**64 - 3])


@given(rows(values=st.just(1.0)), st.sampled_from([2, 3]), st.booleans())
def test_values_left_out_are_ones(some, degree, squares):
    """Rows without values are rows of ones, also where a repeated key makes a sum of two."""
    indptr, keys, values = compressed(some)
    rule = _native.ProductRule(1, ALL[degree], squares)
    plain, valued = rule.form(indptr, keys, None, want_names=True), rule.form(indptr, keys, values, want_names=True)
    assert [plain[i].tolist() for i in (0, 1, 3)] == [valued[i].tolist() for i in (0, 1, 3)]
    assert (np.ones(len(plain[1])) if plain[2] is None else plain[2]).tolist() == valued[2].tolist()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=5, unique=True), st.randoms())
def test_the_order_of_the_parts_does_not_matter(keys, random):
    """The same products from the same features in any order, with the same values."""
    values = np.array([random.uniform(-9, 9) for _ in keys], dtype=np.float32)
    order = list(range(len(keys)))
    random.shuffle(order)
    rule = _native.ProductRule(1, ALL[3], True)
    indptr, keys = np.array([0, len(keys)]), np.array(keys, dtype=np.uint64)
    one = rule.form(indptr, keys, values)
    other = rule.form(indptr, keys[order], values[order])
    assert dict(zip(*map(np.ndarray.tolist, one[1:3]), strict=True)) == dict(
        zip(*map(np.ndarray.tolist, other[1:3]), strict=True)
    )


def test_known_keys():
    """Values written down once: they are part of the file format and must never change."""
    keys = _native.ProductRule(1, ALL[3]).form(np.array([0, 3]), np.array([1, 2, 3], np.uint64), None)[1]
    assert [hex(key) for key in keys.tolist()] == [
        "0x1",
        "0x2",
        "0x3",
        *(hex(products.product_key(parts)) for parts in ([1, 2], [1, 3], [2, 3], [1, 2, 3])),
    ]
    assert [hex(key) for key in keys[[3, 6]].tolist()] == ["0x9207e585c53931c6", "0xe79f0ab6eb20d1d"]


def keys_of_products(features: np.ndarray, degree: int) -> np.ndarray:
    """The keys of all products of ``degree`` of these features."""
    rule = _native.ProductRule(1, [[0] * degree])
    return rule.form(np.array([0, len(features)]), features, None)[1][len(features) :]


@pytest.mark.parametrize(("n", "degree"), [(1500, 2), (190, 3)])
@pytest.mark.parametrize("kind", ["columns", "tokens", "multiples"])
def test_keys_of_products_do_not_meet(n, degree, kind):
    """Of a million products none meet in 64 bits, and as many as chance brings together in either half."""
    features = np.arange(n, dtype=np.uint64)
    features = {
        "columns": features,
        "tokens": _native.hash_keys(features, 9),
        "multiples": features << np.uint64(40),
    }[kind]
    found = keys_of_products(features, degree)
    expected = len(found) ** 2 / 2**33
    assert len(found) > 10**6
    assert meetings(found) == 0
    assert all(0.6 * expected < meetings(half) < 1.4 * expected for half in halves(found))
    for shift in (0, 20, 54):  # low, middle and high bits
        assert abs(chi_square((found >> np.uint64(shift)).astype(np.int64) & 1023, 1024)) < 5


@pytest.mark.parametrize("degree", [2, 3])
def test_products_and_features_fill_buckets_evenly(degree):
    """What a sketch makes of the keys: buckets equally full, as many of one sign as of the other."""
    found = keys_of_products(np.arange(1500 if degree == 2 else 190, dtype=np.uint64), degree)
    buckets, signs = _native.buckets_and_signs(found, 3, 500)
    assert abs(chi_square(2 * buckets.astype(np.int64) + (signs > 0), 1000)) < 5


def test_every_bit_of_a_part_moves_every_bit_of_the_product():
    """Flip one bit of one part: each bit of the product's key flips in half of the cases."""
    keys = np.random.default_rng(1).integers(0, 2**64, (4096, 2), dtype=np.uint64)
    rule, indptr = _native.ProductRule(1, ALL[2]), np.arange(4097) * 2

    def pair_keys(pairs):
        return rule.form(indptr, pairs.ravel(), None)[1].reshape(-1, 3)[:, 2]

    before = pair_keys(keys)
    for bit in range(64):
        rates = flips(before, pair_keys(keys ^ np.array([1 << bit, 0], dtype=np.uint64)))
        assert np.abs(rates - 0.5).max() < 0.05, bit


@given(st.lists(st.text(alphabet="ab0129é^=", max_size=8), min_size=1, max_size=3, unique=True), st.data())
def test_names_are_spelled_as_the_twin_spells_them(names, data):
    """Any parents in any order, squares and cubes among them."""
    encoded = [name.encode() for name in names]
    starts = np.cumsum([0, *map(len, encoded)])
    packed = np.array([s | len(e) << 32 for s, e in zip(starts[:-1].tolist(), encoded, strict=True)], np.uint64)
    text = np.frombuffer(b"".join(encoded), np.uint8)
    parts = data.draw(st.lists(st.integers(0, len(names) - 1), min_size=1, max_size=3))
    word = sum(part + 1 << 21 * place for place, part in enumerate(parts))
    (got,) = _native.spelled_names(np.array([word], np.uint64), text, [b""], packed)
    assert got.decode() == products.product_name([names[part] for part in parts])
    cap = data.draw(st.integers(0, 40))
    (cut,) = _native.spelled_names(np.array([word], np.uint64), text, [b""], packed, cap)
    assert len(cut) <= cap
    assert cut.decode().count("×") == (got.decode().count("×") if cap >= 16 else cut.decode().count("×"))
    assert cut == got or len(got) > cap


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_keys_are_spelled_by_their_digits(keys):
    words, text = _native.spelled_keys(np.array(keys, np.uint64), 1)
    assert _native.spelled_names(words, text, [b"", b"x"]) == [f"x{key}".encode() for key in keys]


@pytest.mark.parametrize(
    ("words", "parents", "told"),
    [([1], [], "without parents"), ([0], [0], "without parents"), ([1], [5 << 32], "outside"), ([1], [1 << 44], "out")],
)
def test_words_are_checked_before_they_are_followed(words, parents, told):
    """No parent that is not there, no text that is not there."""
    with pytest.raises(ValueError, match=told):
        _native.spelled_names(np.array(words, np.uint64), np.zeros(3, np.uint8), [b""], np.array(parents, np.uint64))


def test_rules_and_groups_are_checked():
    """A group for each feature, and none that is not there."""
    for combinations in ([[0]], [[0, 0, 0, 0]], [[0, 2]], [[-1, 0]]):
        with pytest.raises(ValueError, match=r"two or three|no such group"):
            _native.ProductRule(2, combinations)
    rule = _native.ProductRule(2, [[0, 1]])
    indptr, keys = np.array([0, 2]), np.array([1, 2], np.uint64)
    for groups in (None, np.array([0]), np.array([0, 2])):
        with pytest.raises(ValueError, match="group"):
            rule.form(indptr, keys, None, groups)
        with pytest.raises(ValueError, match="group"):
            rule.count(indptr, groups)
    with pytest.raises(ValueError, match="indptr"):
        _native.ProductRule(1, [[0, 0]]).count(np.array([0, 5, 3]))


def test_counts_stay_countable():
    """Rows of more products than there are numbers."""
    n = 2**40
    (count,) = _native.ProductRule(1, ALL[3]).count(np.array([0, n])).tolist()
    assert count == n + 2**62
    assert _native.ProductRule(1, ALL[3], True).count(np.array([0, 100])).tolist() == [100 + 5050 + 171_700]


def test_the_row_of_a_product_beyond_single_precision_is_told():
    rule = _native.ProductRule(1, ALL[2])
    some = [([1, 2], [1.0, 2.0]), ([1, 2], [1e30, 1e-30]), ([1, 2], [1e30, 1e30])]
    assert rule.form(*compressed(some))[4] == 2
    assert rule.form(*compressed(some[:2]))[4] == -1
