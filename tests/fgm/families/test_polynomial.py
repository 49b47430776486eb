"""Products of columns against explicitly computed ones, bitwise where single precision allows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.fgm.families.helpers import columns_of, same_model, some_rows, stopped, stored
from tests.reference.fgm import families as reference
from tests.reference.fgm import working_set as scoring
from thresher import _native
from thresher.columns.types import Family, format_search_stats
from thresher.fgm.families.product_search import ProductFamily
from thresher.sources.registry import as_source
from thresher.sources.transforms.interactions import Interactions

KINDS = st.sampled_from(["ones", "shares", "any"])
POWERS = st.sampled_from([0.0, 0.5, 1.0])


@examples(60)
@given(st.integers(0, 10_000), KINDS, st.sampled_from([2, 3]), st.booleans(), st.booleans(), st.integers(1, 25))
def test_the_best_are_those_of_all_computed_products(
    seed: int, kind: str, degree: int, powers: bool, weighted: bool, limit: int
) -> None:
    x, rng = some_rows(seed, kind), np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2.0, x.shape[0]) if weighted else None
    residuals = rng.normal(size=(2, x.shape[0]))
    formed = Interactions(as_source(x, np.zeros(x.shape[0])), degree, squares=powers)
    twin = stored(formed, weights=weights)
    expected = twin.top(residuals, limit)
    for prune in (True, False):
        for threads in (1, 3):
            pool = _native.ThreadPool(threads)
            family = th.Polynomial(degree, squares=powers, prune=prune).build(columns_of(x, weights=weights, pool=pool))
            for found, (ids, scores) in zip(family.top(residuals, limit), expected, strict=True):
                assert found.ids.tolist() == ids.tolist()
                assert found.scores.tolist() == scores.tolist()
                for mine, theirs in zip(family.columns(ids), twin.columns(ids), strict=True):
                    assert mine.tolist() == theirs.tolist()


def assert_close(scores: Any, others: Any, largest: float) -> None:
    """Equal up to the single precision of products, whose error grows if the terms of a sum cancel."""
    assert np.allclose(scores, others, rtol=1e-5, atol=1e-6 * largest)


#: Zero, or large enough that its powers do not underflow.
OFFSETS = st.just(0.0) | st.floats(1e-6, 3)


@examples(40)
@given(st.integers(0, 10_000), KINDS, st.sampled_from([2, 3, 4]), st.booleans(), st.floats(0.1, 4), OFFSETS)
def test_unscaled_columns_have_the_kernel_s_constants(
    seed: int, kind: str, degree: int, powers: bool, gamma: float, r: float
) -> None:
    x, rng = some_rows(seed, kind, rows=40, columns=7), np.random.default_rng(seed)
    residual = rng.normal(size=x.shape[0])
    parts, formed = reference.products(x.toarray().astype(float), degree, powers=powers)
    scores = scoring.scores(formed * reference.constants(parts, degree, gamma, r), residual, power=0.0)
    family = th.Polynomial(degree, gamma, r, squares=powers).build(columns_of(x, power=0.0))
    (found,) = family.top(residual[None, :], 9)
    best = np.sort(scores)[::-1][:9]
    assert_close(found.scores, best[: len(found.scores)], best[0])
    assert len(found.scores) >= (best > 1e-9 * best[0]).sum()
    columns = family.columns(found.ids)
    sums = np.array(
        [
            residual[columns.rows[a:b]] @ columns.values[a:b]
            for a, b in zip(columns.indptr, columns.indptr[1:], strict=False)
        ]
    )
    assert_close((sums * columns.scales) ** 2, found.scores, best[0])


def test_the_map_s_products_are_the_kernel() -> None:
    x = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    wide = x.astype(float)
    kernels = {
        th.Polynomial(2, 0.7, 1.3): (0.7 * wide @ wide.T + 1.3) ** 2 - 1.3**2,
        th.Polynomial(3, 0.7, 1.3, squares=True): (0.7 * wide @ wide.T + 1.3) ** 3 - 1.3**3,
        th.Columns([1, 3]): wide[:, [1, 3]] @ wide[:, [1, 3]].T,
        th.Product("linear", th.Columns([0, 2])): (wide @ wide.T) * (wide[:, [0, 2]] @ wide[:, [0, 2]].T),
        th.Product("linear", th.Polynomial(2, 0.7, 1.3)): (wide @ wide.T) * ((0.7 * wide @ wide.T + 1.3) ** 2 - 1.3**2),
    }
    for spec, kernel in kernels.items():
        family = spec.build(columns_of(x, power=0.0))
        every = np.unique(np.concatenate([found.ids for found in family.top(np.eye(6), 999)]))
        assert np.allclose(_dense(family, every) @ _dense(family, every).T, kernel, rtol=1e-5, atol=1e-5)


def _dense(family: Family, ids: Any) -> Any:
    indptr, rows, values, scales = family.columns(ids)
    return sp.csc_matrix((values, rows, indptr), (family.rows, len(ids))).toarray() * scales


#: Factors of products: (columns, min_degree, max_degree, powers, gamma, r).
FACTORS = st.sampled_from(
    [
        (None, 1, 1, False, 1.0, 1.0),
        ([0, 2, 5], 1, 1, False, 1.0, 1.0),
        ([2, 4, 6], 1, 1, False, 1.0, 1.0),
        ([1, 2, 3], 1, 2, True, 0.7, 1.3),
        (None, 2, 2, False, 2.0, 0.5),
    ]
)


def product_of(factors: Any, prune: bool) -> th.Product:
    return th.Product(
        *(
            th.Columns(columns)
            if most == 1
            else th.Polynomial(most, gamma, r, squares=powers, linear=least == 1, columns=columns)
            for columns, least, most, powers, gamma, r in factors
        ),
        prune=prune,
    )


@examples(80)
@given(st.integers(0, 10_000), KINDS, st.lists(FACTORS, min_size=2, max_size=3), POWERS, st.booleans())
def test_products_of_families_are_those_of_all_computed_products(
    seed: int, kind: str, factors: Any, power: float, weighted: bool
) -> None:
    x, rng = some_rows(seed, kind, rows=40, columns=7), np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2.0, x.shape[0]) if weighted else None
    residual = rng.normal(size=x.shape[0])
    parts, formed, squares = reference.factored(x.toarray().astype(float), factors)
    formed = formed * (1.0 if power == 1 else np.sqrt(squares))
    scores = dict(zip(parts, scoring.scores(formed, residual, power=power, weights=weights), strict=True))
    best = np.sort(list(scores.values()))[::-1][:9]
    answers = []
    for prune in (True, False):
        family = product_of(factors, prune).build(columns_of(x, power=power, weights=weights))
        (found,) = family.top(residual[None, :], 9)
        assert_close(found.scores, best[: len(found.scores)], best[0])
        assert len(found.scores) >= (best > 1e-9 * best[0]).sum()
        mine = [term.parts for term in family.expansion(found.ids).terms]
        assert_close([scores[part] for part in mine], found.scores, best[0])
        assert_close((residual @ _dense(family, found.ids)) ** 2, found.scores, best[0])
        answers.append((found.ids.tolist(), found.scores.tolist()))
    assert answers[0] == answers[1]
    assert isinstance(family, ProductFamily)
    _, keys, bounds, _ = family.bound_products(residual, 3)
    bound = dict(zip(keys.tolist(), bounds.tolist(), strict=True))
    for part, score in scores.items():
        assert all(score <= bound.get(column, 0.0) * (1 + 1e-5) for column in part)


@examples(60)
@given(st.integers(0, 10_000), KINDS, st.sampled_from([2, 3]), POWERS, st.booleans())
def test_bounds_are_never_below_a_score(seed: int, kind: str, degree: int, power: float, weighted: bool) -> None:
    x, rng = some_rows(seed, kind, rows=30, columns=7), np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2.0, x.shape[0]) if weighted else None
    residual = rng.normal(size=x.shape[0])
    family = th.Polynomial(degree, 0.8, 1.2).build(columns_of(x, power=power, weights=weights))
    assert isinstance(family, ProductFamily)
    _, keys, bounds, _ = family.bound_products(residual, 3)
    parts, formed = reference.products(x.toarray().astype(float), degree, powers=degree == 2, linear=False)
    factors = np.ones(len(parts)) if power == 1 else reference.constants(parts, degree, 0.8, 1.2)
    scores = scoring.scores(formed * factors, residual, power=power, weights=weights)
    bound = dict(zip(keys.tolist(), bounds.tolist(), strict=True))
    for part, score in zip(parts, scores.tolist(), strict=True):
        assert all(score <= bound.get(column, 0.0) * (1 + 1e-9) for column in part)


def test_the_search_prunes_most_columns() -> None:
    rng = np.random.default_rng(0)
    x = sp.csr_matrix((rng.random((3000, 300)) < 0.5 / (1 + np.arange(300))).astype(np.float32))
    residual = np.where(x[:, 2].toarray()[:, 0] * x[:, 5].toarray()[:, 0] > 0, 1.0, 0.1 * rng.normal(size=3000))
    family = th.Polynomial(3).build(columns_of(x))
    (found,) = family.top(residual[None, :], 1)
    assert [family.expansion(found.ids).terms[0].parts] == [(2, 5)]
    stats = family.search_stats()
    assert stats["entered"] < stats["columns"] / 4
    assert stats["scored"] < 2 * stats["columns"]
    assert "columns entered (" in format_search_stats(stats)


def nonlinear(rows: int = 400, columns: int = 15, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns)).astype(np.float32)
    x[rng.random(x.shape) < 0.3] = 0
    return x, np.where(2 * x[:, 3] * x[:, 7] - x[:, 1] ** 2 + x[:, 4] + 0.5 > 0, 1.0, -1.0)


@pytest.mark.parametrize("scale", ["norm", "root", None])
def test_the_model_is_that_of_all_computed_products(scale: str | None) -> None:
    x, y = nonlinear()
    family = th.Polynomial(2, gamma=0.5, r=2.0)
    found = th.select(x, y, k=12, B=3, method="fgm", preset="fixed", family=family, scale=scale, inner_tol=1e-9)
    parts, formed = reference.products(x.astype(float), 2, powers=True)
    factors = np.ones(len(parts)) if scale == "norm" else reference.constants(parts, 2, 0.5, 2.0)
    twin = th.select(formed * factors, y, k=12, B=3, method="fgm", preset="fixed", scale=scale, inner_tol=1e-9)
    theirs = {parts[int(key)]: weight * factors[int(key)] for key, weight in zip(twin.keys, twin.weights, strict=True)}
    mine = dict(zip([term.parts for term in found.space.expansion.terms], found.weights, strict=True))
    assert mine.keys() == theirs.keys()
    assert np.allclose([mine[part] for part in theirs], list(theirs.values()), rtol=1e-3, atol=1e-6)
    margins = formed[:, [parts.index(part) for part in mine]] @ found.weights + found.intercept
    assert np.allclose(found.decision_function(x), margins, atol=1e-4)


def test_names_lead_back_to_columns(tmp_path: Any) -> None:
    x, y = nonlinear()
    path = tmp_path / "rows.vw"
    words = [f"word{j}" for j in range(x.shape[1])]
    lines = [
        f"{label:g} | " + " ".join(f"{word}:{value:.9g}" for word, value in zip(words, row, strict=True) if value)
        for label, row in zip(y, x.astype(float), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    settings = {"k": 6, "B": 3, "method": "fgm", "preset": "fixed", "family": "polynomial:2"}
    by_name, by_column = th.select(str(path), **settings), th.select(x, y, **settings)
    assert by_column.names[0] == "x3 × x7"
    assert "x1²" in by_column.names
    assert sorted(by_name.names) == sorted(name.replace("x", "word") for name in by_column.names)
    assert [name.encode() for name in by_column.names] == [
        formed[key] for formed in [_names(x, y)] for key in by_column.keys.tolist()
    ]
    by_name.save(tmp_path / "out.thr")
    again = th.load(tmp_path / "out.thr")
    assert again.space == by_name.space
    assert np.allclose(again.decision_function(str(path)), by_column.decision_function(x), atol=1e-5)
    assert again.transform(str(path)).shape == (len(y), 6)


def _names(x: Any, y: Any) -> dict[int, bytes]:
    """The names that `Interactions` gives to all products."""
    names = {}
    for batch, _ in Interactions(as_source(x, y), squares=True).batches(want_names=True):
        assert batch.names is not None
        names |= {int(key): batch.names[i] for i, key in enumerate(batch.keys.tolist())}
    return names


def sparse_file(path: Any, rows: int = 300, classes: int = 2) -> str:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(rows):
        keys = np.unique(1 + (80 * rng.random(14) ** 2).astype(int))
        has = set(keys.tolist())
        label = (1 if {2, 5} <= has else 0) + (1 if {1, 9} <= has and classes > 2 else 0)
        lines.append(f"{label} " + " ".join(f"{key}:{1 + key % 3}" for key in keys))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("classes", [2, 3])
def test_out_of_core_equals_in_memory_bitwise(tmp_path: Any, classes: int) -> None:
    path = sparse_file(tmp_path / "rows.svm", classes=classes)
    settings = {"k": 8, "B": 4, "method": "fgm", "preset": "fixed", "class_weight": {0: 0.5}}
    product = th.Product(th.Columns(range(20)), th.Polynomial(2, columns=range(8, 40), squares=False))
    for family in (th.Polynomial(2), th.Polynomial(2, prune=False), th.Polynomial(3), product):
        whole = th.select(path, family=family, **settings)
        assert whole.provenance["plan"]["columns"] > 60_000
        memory = "270KB" if classes == 2 else "500KB"
        again = th.select(path, family=family, memory=memory, batch_rows=17, n_jobs=1, **settings)
        assert same_model(again, whole)


@pytest.mark.parametrize("family", ["polynomial:2", "linear + polynomial:2 + hik:3"])
def test_it_resumes_where_it_was_stopped(family: str, tmp_path: Any) -> None:
    path, saved = sparse_file(tmp_path / "rows.svm"), tmp_path / "saved"
    settings = {"k": 8, "B": 2, "method": "fgm", "preset": "fixed", "family": family}
    whole = th.select(path, **settings)
    stopped(path, saved, settings)
    assert same_model(th.select(path, checkpoint=saved, **settings), whole)
    stopped(path, saved, settings)
    with pytest.raises(th.ResumeError):
        th.select(path, checkpoint=saved, **settings | {"family": "polynomial:2,gamma=2"})


def test_it_predicts_from_a_table(tmp_path: Any) -> None:
    x, y = nonlinear()
    x = x[:, :5]
    path = tmp_path / "rows.csv"
    lines = [",".join(f"{v:.9g}" for v in (*row, label)) for row, label in zip(x.astype(float), y, strict=True)]
    path.write_text("\n".join(["a,b,c,d,e,y", *lines]) + "\n")
    found = th.select(str(path), k=4, method="fgm", preset="fixed", family="polynomial:2", target="y")
    found.save(tmp_path / "out.thr")
    again = th.load(tmp_path / "out.thr")
    assert "b²" in again.names
    assert again.predict(str(path)).tolist() == found.predict(str(path)).tolist()
    assert (again.predict(str(path)) == y).mean() > 0.6


def test_columns_are_chosen_by_name(tmp_path: Any) -> None:
    path = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    age, weight = rng.normal(size=(2, 300))
    city = rng.choice(["Rome", "Oslo"], 300)
    y = (age * weight + 2 * (city == "Rome") * age > 0).astype(int)
    rows = [f"{a:.6g},{w:.6g},{c},{label}" for a, w, c, label in zip(age, weight, city, y, strict=True)]
    path.write_text("\n".join(["age,weight,city,y", *rows]) + "\n")
    given = {"k": 2, "B": 1, "method": "fgm", "preset": "fixed", "target": "y"}
    found = th.select(path, family="linear:columns=age * linear:columns=weight|city=Rome", **given)
    assert sorted(found.names) == ["age × city=Rome", "age × weight"]
    same = th.select(path, family=th.Product(th.Columns(["age"]), th.Columns(["city=Rome", "weight"])), **given)
    assert same_model(same, found)
    with pytest.raises(th.DataError, match="no row has the feature 'wieght'"):
        th.select(path, family="linear + polynomial:2,columns=age|wieght", **given)
    with pytest.raises(th.SettingsError, match="there is no column 'age'"):
        th.select(np.eye(4), [0, 1, 0, 1], k=1, method="fgm", preset="fixed", family=th.HIK(columns=["age"]))


def test_only_some_columns() -> None:
    x, y = nonlinear()
    found = th.select(
        x, y, k=5, B=5, method="fgm", preset="fixed", family=th.Polynomial(2, columns=[3, 1, 4], linear=False)
    )
    assert {part for term in found.space.expansion.terms for part in term.parts} <= {1, 3, 4}
    assert all(len(term.parts) == 2 for term in found.space.expansion.terms)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        ("polynomial:9", "between 2 and 8"),
        ("polynomial:2,gamma=-1", "above 0"),
        ("polynomial:2,delta=1", "has no parameter 'delta=1'"),
        ("quadratic", "unknown family 'quadratic'"),
        ("linear * hik:20", "cannot contain hik:20"),
        ("polynomial:5 * polynomial:4", "at most 8 columns"),
        (3, "thresher's families"),
    ],
)
def test_invalid_families_are_refused(family: Any, message: str) -> None:
    with pytest.raises(th.SettingsError, match=message):
        th.select(np.eye(4), [0, 1, 0, 1], k=1, method="fgm", preset="fixed", family=family)
    with pytest.raises(th.SettingsError, match="columns 0 to 3"):
        th.select(np.eye(4), [0, 1, 0, 1], k=1, method="fgm", preset="fixed", family=th.Polynomial(2, columns=[1, 4]))
