"""Stability selection: formulas against slow twins, the same bits, what is refused, and what is shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.reference.trust import stability as slow
from thresher.core.memory import parse_size
from thresher.methods import Data, get_method
from thresher.report.summary import summary
from thresher.run import RunOptions
from thresher.sources.arrays import DenseSource
from thresher.sources.transforms.holdout import Split, hold_out
from thresher.trust.stability.distinct import SIZE, DistinctKeys
from thresher.trust.stability.frequencies import Frequencies, by_k, expected_false, threshold_for
from thresher.trust.stability.pairs import Pairs
from thresher.trust.stability.run import StableRun
from thresher.trust.stability.settings import Stability

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 80))
Y = 2 * X[:, :4].sum(axis=1) + RNG.logistic(size=400) > 0
QUICK = {"k": 6, "passes": 1, "refit": False, "calibrate": False}


def same(first: th.Selection, second: th.Selection) -> bool:
    facts = [
        {name: value for name, value in one.provenance["stability"].items() if name != "B"} for one in (first, second)
    ]
    return (
        first.names == second.names and facts[0] == facts[1] and np.array_equal(first.frequencies, second.frequencies)
    )


# ── formulas ─────────────────────────────────────────────────────────────────────────────────────


@given(
    fits=st.lists(st.lists(st.integers(0, 12), max_size=5, unique=True), min_size=2, max_size=12),
    k=st.integers(1, 5),
)
def test_frequencies_are_those_of_the_twin(fits: list[list[int]], k: int) -> None:
    found = Frequencies.of([np.array(fit, np.uint64) for fit in fits], k)
    wanted = slow.frequencies(fits, k)
    assert dict(zip(found.keys.tolist(), found.frequency.tolist(), strict=True)) == wanted
    assert found.frequency.tolist() == sorted(found.frequency.tolist(), reverse=True)
    asked = np.arange(14, dtype=np.uint64)
    assert found.of_keys(asked).tolist() == [wanted.get(int(key), 0.0) for key in asked]


@given(
    q=st.floats(0.5, 60),
    p=st.integers(1, 5000),
    most=st.floats(0.05, 20),
    pairs=st.integers(1, 60),
)
def test_the_threshold_is_the_least_that_keeps_the_bound(q: float, p: int, most: float, pairs: int) -> None:
    found = threshold_for(q, p, most, 2 * pairs)
    assert found == slow.threshold(q, p, most, 2 * pairs)
    if found is not None:
        assert expected_false(q, p, found) <= most * (1 + 1e-6)


def test_fewer_features_have_lines_of_their_own() -> None:
    fits = [np.array([1, 2, 3, 4], np.uint64)] * 3 + [np.array([1, 9, 3], np.uint64)]
    lines = by_k(fits, 4, 100, 1.0)
    assert [(line["k"], line["q"], line["stable"]) for line in lines] == [(1, 1.0, 1), (2, 2.0, 2), (4, 3.75, 4)]
    assert [line["threshold"] for line in lines] == [0.75, 0.75, 0.75]


@given(
    keys=st.lists(st.integers(0, 2**64 - 1), max_size=300),
    parts=st.integers(1, 7),
)
def test_few_keys_are_counted_exactly_in_any_order_and_parts(keys: list[int], parts: int) -> None:
    counted = DistinctKeys()
    for part in range(parts):
        counted.add(np.array(keys[part::parts], np.uint64))
    assert counted.count() == len(set(keys))
    again = DistinctKeys()
    again.restore(counted.state())
    again.add(np.array(keys[::-1], np.uint64))
    assert np.array_equal(again.state(), counted.state())


def test_many_keys_are_counted_within_three_standard_errors() -> None:
    counted = DistinctKeys()
    for start in range(0, 300_000, 50_000):
        counted.add(np.arange(start, start + 100_000, dtype=np.uint64))  # half of them twice
    assert abs(counted.count() / 350_000 - 1) < 3 / np.sqrt(SIZE)
    with pytest.raises(ValueError, match="damaged"):
        counted.restore(np.zeros(2, np.uint64))


# ── halves ───────────────────────────────────────────────────────────────────────────────────────


@given(rows=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3)), min_size=1, max_size=40), seed=st.integers(0, 99))
def test_copies_of_a_row_are_in_one_half_of_each_pair(rows: list[tuple[int, int]], seed: int) -> None:
    source, _ = hold_out(DenseSource(np.array(rows, np.float32), np.zeros(len(rows))), 0.2, seed=seed, split=Split.TEST)
    pairs = Pairs(source, seed)
    whole = [batch for batch, _ in source.batches() if len(batch)]
    if not whole:
        return
    sides = pairs.sides(whole[0], range(5))
    words = pairs.words(whole[0])
    for pair in range(5):
        by_word = {(int(word), int(side)) for word, side in zip(words, sides[pair], strict=True)}
        assert len(by_word) == len(set(words.tolist()))
    parts = [pairs.sides(batch, range(5)) for batch, _ in source.batches(1) if len(batch)]
    assert np.array_equal(np.concatenate(parts, axis=1), sides)


def test_halves_are_about_halves_and_independent() -> None:
    words = np.random.default_rng(1).integers(0, 2**63, 4000).astype(np.uint64)
    bits = np.stack([Pairs.bits(words, pair) for pair in range(20)]).astype(float)
    assert np.abs(bits.mean(axis=1) - 0.5).max() < 4 * 0.5 / np.sqrt(4000)
    assert np.abs(np.corrcoef(bits) - np.eye(20)).max() < 5 / np.sqrt(4000)


# ── fits ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["mission", "iht", "b-amd", "b-arda", "fgm", "os"])
def test_every_method_finds_the_true_features_stable(method: str, tmp_path: Path) -> None:
    more = {} if method in ("fgm", "os") else {"passes": 1, "refit": False}
    selection = th.select(X, Y, k=6, method=method, stability=5, output=tmp_path / "a.thr", calibrate=False, **more)
    plain = th.select(X, Y, k=6, method=method, calibrate=False, **more)
    assert selection.names == plain.names
    assert np.array_equal(selection.weights, plain.weights)
    facts = selection.provenance["stability"]
    assert facts["features_seen"] == 80
    if method in ("mission", "b-arda", "fgm", "os"):  # the others find less in so few rows
        assert {"x0", "x1", "x2", "x3"} <= set(np.array(selection.names)[selection.stable])
        assert facts["bound"] <= facts["expected_false"] == 1.0
    listed = dict(zip(facts["names"], facts["frequency"], strict=True))
    for name, frequency in zip(selection.names, selection.frequencies, strict=True):
        assert listed.get(name, frequency) == frequency
    loaded = th.load(tmp_path / "a.thr")
    assert np.array_equal(loaded.frequencies, selection.frequencies)
    assert loaded.columns()["stable"].tolist() == selection.stable.tolist()


def test_halves_learn_what_their_rows_alone_teach() -> None:
    """Each fit of a half is the fit of these rows by themselves, in the same order."""
    settings = {**QUICK, "shuffle": False, "standardize": False}
    selection = th.select(X, Y, stability=3, batch_rows=64, **settings)
    source = DenseSource(X, Y)
    ((batch, _),) = source.batches()
    sides = Pairs(source, 0).sides(batch, range(3))
    fits = [th.select(X[side == half], Y[side == half], **settings) for side in sides for half in (0, 1)]
    wanted = slow.frequencies([fit.keys.tolist() for fit in fits], 6)
    facts = selection.provenance["stability"]
    assert dict(zip(facts["keys"], facts["frequency"], strict=True)).items() <= wanted.items()
    assert selection.frequencies.tolist() == [wanted.get(key, 0.0) for key in selection.keys.tolist()]


@pytest.mark.parametrize("more", [{}, {"shuffle": False}, {"method": "fgm"}])
def test_the_batch_size_does_not_matter(more: dict) -> None:
    settings = {**(QUICK if "method" not in more else {"k": 6}), **more}
    assert same(*(th.select(X, Y, stability=3, batch_rows=rows, **settings) for rows in (17, 8192)))


def test_names_of_text_and_features_that_the_answer_lacks(tmp_path: Path) -> None:
    path = tmp_path / "rows.vw"
    lines = [
        f"{1 if y else -1} | " + " ".join(f"word{j}" for j in np.flatnonzero(x > 0.5))
        for x, y in zip(X, Y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    selection = th.select(path, stability=4, **QUICK)
    facts = selection.provenance["stability"]
    assert all(name.startswith("word") for name in facts["names"])
    assert len(facts["names"]) >= 6


@pytest.mark.parametrize(("method", "calls"), [("mission", 9), ("fgm", 12), ("os", 20)])
def test_a_resumed_fit_has_the_same_bits(method: str, calls: int, tmp_path: Path) -> None:
    path = tmp_path / "fit.ckpt"
    settings = {**(QUICK if method == "mission" else {"k": 6}), "stability": 3, "method": method, "batch_rows": 100}
    whole = th.select(X, Y, **settings)
    left = iter(range(calls))

    def interrupt(progress: object) -> None:
        if next(left, None) == calls - 1:  # once
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted) as interrupted:
        th.select(X, Y, checkpoint=path, every=0.0, progress=interrupt, **settings)
    assert interrupted.value.saved == str(path)
    resumed = th.select(X, Y, checkpoint=path, **settings)
    assert same(resumed, whole)
    assert np.array_equal(resumed.weights, whole.weights)
    assert list(tmp_path.iterdir()) == []


def test_numbers_several_classes_and_labels() -> None:
    numbers = th.select(X, X[:, :4].sum(axis=1) + RNG.normal(size=400), stability=3, **QUICK)
    assert set(np.array(numbers.names)[numbers.frequencies == 1]) >= {"x0", "x1", "x2", "x3"}
    classes = th.select(X, np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)], stability=3, **QUICK)
    assert set(np.array(classes.names)[classes.frequencies == 1]) >= {"x0", "x1", "x2"}


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"stability": 0}, "must be at least 1"),
        ({"expected_false": 2.0}, "pass `stability`, too"),
        ({"stability": 2, "expected_false": 0.0}, "expected_false must be above 0"),
        ({"stability": 2, "fdr": 0.1}, "leave out one of them"),
        ({"stability": 2, "method": "hashing"}, "hashing has no `stability`"),
        ({"stability": 2, "method": "sparse-rf"}, "sparse-rf has no `stability`"),
        ({"stability": 2, "workers": 2}, "leave out `workers`"),
        ({"stability": 2, "method": "b-arda", "groups": [[0, 1], [2, 3]]}, "`groups` are selected as a whole"),
        ({"stability": 2, "method": "fgm", "family": "polynomial:2"}, "number their features anew"),
        ({"stability": 500, "memory": "4MB"}, r"leaves .* for all of them: pass about"),
    ],
)
def test_what_is_refused(more: dict, message: str) -> None:
    with pytest.raises(th.SettingsError, match=message):
        th.select(X, Y, k=4, **more)


def test_the_advised_memory_is_enough() -> None:
    with pytest.raises(th.SettingsError) as refused:
        th.select(X, Y, stability=200, memory="4MB", k=50)
    advised = str(refused.value).split("pass about ")[1].split(" of")[0].replace(" ", "")
    spec = get_method("mission")
    settings = spec.make_settings(method="mission", k=50, loss="logistic")
    run = StableRun(spec, Data(DenseSource(X, Y)), settings, RunOptions(memory=advised), Stability(pairs=200))
    assert run._halves_bytes <= parse_size(advised)


@pytest.mark.parametrize("method", ["mission", "fgm"])
def test_a_class_that_a_half_lacks_is_named(method: str) -> None:
    few = np.where(np.arange(400) < 1, "rare", np.where(Y, "a", "b"))
    with pytest.raises(th.DataError, match=r"one half of pair 1 has no rows of the class 'rare'"):
        th.select(X, few, k=4, stability=2, method=method, calibrate=False)


def test_a_bound_that_no_frequency_reaches_is_said(caplog: pytest.LogCaptureFixture) -> None:
    selection = th.select(X, Y, stability=2, expected_false=0.1, **QUICK)
    assert "Pass `k=2`, or a larger `expected_false`" in caplog.text
    assert not selection.stable.any()
    assert "no frequency bounds" in dict(summary(selection, None, None))["stability"]


# ── where it is offered ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (th.MissionClassifier, {"method": "mission"}),
        (th.BudgetedClassifier, {"method": "b-arda", "loss": "squared_hinge"}),
        (th.FGMClassifier, {"method": "fgm"}),
        (th.SubstitutionClassifier, {"method": "os"}),
    ],
)
def test_estimators_have_the_same_frequencies(kind: type, more: dict) -> None:
    selection = th.select(X, Y, k=6, stability=2, expected_false=2.0, **more)
    model = kind(k=6, stability=2, expected_false=2.0).fit(X, Y)
    assert same(model.selection_, selection)
    if hasattr(model, "partial_fit"):
        with pytest.raises(th.SettingsError, match="`stability` divides all rows"):
            model.partial_fit(X, Y)


def test_the_command_line_shows_frequencies_and_their_memory(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from thresher.cli.main import make_app

    path, out = tmp_path / "rows.svm", tmp_path / "out.thr"
    lines = [
        f"{int(y)} " + " ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(x[:12])) for x, y in zip(X, Y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    done = CliRunner().invoke(make_app(), ["select", str(path), "-k", "3", "--stability", "4", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "frequency  stable" in done.output
    assert "of 8 fits of halves" in " ".join(done.output.split())
    shown = CliRunner().invoke(make_app(), ["inspect", str(out), "--format", "tsv"])
    assert shown.output.splitlines()[0].split("\t")[4:6] == ["frequency", "stable"]
    planned = CliRunner().invoke(make_app(), ["plan", str(path), "-k", "3", "--stability", "50"])
    assert "100 engines of" in " ".join(planned.output.split())
    planned = CliRunner().invoke(make_app(), ["plan", str(path), "-k", "3", "--stability", "5", "--method", "fgm"])
    assert "10 further fits of the same columns" in " ".join(planned.output.split())
