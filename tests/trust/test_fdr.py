"""The share of false features: formulas against slow twins, draws with known truth, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.reference.trust import mirror as slow
from thresher.sources.arrays import DenseSource
from thresher.sources.transforms.holdout import Split, hold_out
from thresher.trust.mirror import combined_q_values, kept_by_several, split_q_values
from thresher.trust.split import Halves


def draw(seed: int, effect: float = 1.0, rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 120))
    y = rng.random(rows) < 1 / (1 + np.exp(-effect * X[:, :20] @ rng.choice([-1.0, 1.0], 20)))
    return X, y


@pytest.mark.parametrize("seed", range(20))
def test_q_values_keep_what_the_cut_keeps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mirror = np.round(rng.normal(1.0, 2.0, size=40), 1)  # with ties and zeros
    for q in (0.05, 0.1, 0.2, 0.5):
        assert np.array_equal(split_q_values(mirror) <= q, slow.kept(mirror, q))


@pytest.mark.parametrize("seed", range(10))
def test_several_splits_agree_with_their_q_values_and_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mirrors = [np.round(rng.normal(np.repeat([3.0, 0.0], 20), 1.0), 1) for _ in range(5)]
    q_values, strength = [split_q_values(mirror) for mirror in mirrors], sum(mirrors)
    for q in (0.05, 0.1, 0.2, 0.33):
        stays = kept_by_several(q_values, strength, q)
        assert np.array_equal(stays, slow.kept_by_several([slow.kept(mirror, q) for mirror in mirrors], strength, q))
        assert np.array_equal(combined_q_values(q_values, strength, q) <= q, stays)


def test_splits_that_agree_on_everything_keep_nearly_everything() -> None:
    q_values = [split_q_values(np.append(np.linspace(5, 9, 20), [-1.0, 1.0])) for _ in range(3)]
    stays = kept_by_several(q_values, np.arange(22.0), 0.1)
    assert 18 <= stays.sum() <= 20


def test_the_share_of_false_features_over_200_draws() -> None:
    """If the share were 0.2, its mean over the draws would exceed the limit in one of 100 such tests."""
    shares, found = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(900, 60))
        y = X[:, :12] @ rng.choice([-1.0, 1.0], 12) + rng.logistic(size=900) > 0
        names = th.select(X, y, k=36, fdr=0.2, passes=1, refit=False, calibrate=False, memory="4MB").names
        wrong = sum(int(name[1:]) >= 12 for name in names)
        shares.append(wrong / max(1, len(names)))
        found.append(len(names) - wrong)
    assert np.mean(shares) <= 0.2 + 2.33 * np.std(shares, ddof=1) / np.sqrt(200)
    assert np.mean(found) >= 10


def test_without_any_effect_nothing_stays() -> None:
    assert sum(len(th.select(*draw(seed, 0.0), k=60, fdr=0.1, passes=1, memory="4MB")) > 0 for seed in range(20)) <= 2


@pytest.mark.parametrize("method", ["fgm", "b-arda", "os"])
def test_methods_and_the_file(method: str, tmp_path: Path) -> None:
    X, y = draw(1)
    selection = th.select(X, y, k=40, method=method, fdr=0.1, holdout=0.2, output=tmp_path / "a.thr")
    assert sum(int(name[1:]) < 20 for name in selection.names) >= 15
    facts = selection.provenance["fdr"]
    assert facts["kept"] == len(selection)
    assert len(facts["cut"]["names"]) == facts["candidates"] - facts["kept"]
    mirror = facts["mirror"]
    assert (sum(mirror["stay"]), sum(mirror["cut"])) == (facts["kept"], facts["candidates"] - facts["kept"])
    assert mirror["edges"][0] == -mirror["edges"][-1]
    loaded = th.load(tmp_path / "a.thr")
    assert np.array_equal(loaded.q_values, selection.q_values)
    assert (loaded.q_values <= 0.1).all()
    assert "q_value" in loaded.columns()


def test_numbers_and_several_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 60))
    numbers = th.select(X, X[:, :15].sum(axis=1) + rng.normal(size=3000), k=30, fdr=0.1)
    assert set(numbers.names) >= {f"x{j}" for j in range(15)}
    scores = X[:, :15].reshape(3000, 3, 5).sum(axis=2)
    classes = th.select(X, np.array(["a", "b", "c"])[scores.argmax(axis=1)], k=30, fdr=0.1)
    assert len(classes.intercept) == 3
    assert sum(int(name[1:]) < 15 for name in classes.names) >= 13


def test_the_batch_size_does_not_matter() -> None:
    X, y = draw(2)
    first, second = (th.select(X, y, k=40, fdr=0.1, batch_rows=rows) for rows in (7, 8192))
    assert first.names == second.names
    assert np.array_equal(first.weights, second.weights)
    assert np.array_equal(first.q_values, second.q_values)


def test_refusals() -> None:
    X, y = draw(3, rows=400)
    with pytest.raises(th.SettingsError, match="pass `k="):
        th.select(X, y, k=60, fdr=0.1)
    with pytest.raises(th.SettingsError, match="sparse-rf has no `fdr`"):
        th.select(X, y, method="sparse-rf", fdr=0.1)
    with pytest.raises(th.SettingsError, match="fdr must be between 0 and 1"):
        th.select(X, y, k=5, fdr=1.5)
    with pytest.raises(th.SettingsError, match="pass `fdr`"):
        th.select(X, y, k=5, splits=3)


def test_groups_are_units() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 120))
    weights = np.repeat(rng.choice([-0.7, 0.7], 12), 4)
    y = rng.random(3000) < 1 / (1 + np.exp(-X[:, :48] @ weights))
    groups = th.Groups(np.arange(120) // 4)
    for more in ({"method": "fgm", "family": groups}, {"method": "b-arda", "groups": groups}):
        selection = th.select(X, y, k=20, fdr=0.2, **more)
        facts = selection.provenance["fdr"]
        assert (facts["unit"], facts["candidates"]) == ("groups", 20)
        found, members = np.unique([int(name[1:]) // 4 for name in selection.names], return_counts=True)
        assert len(found) == facts["kept"]
        assert (members == 4).all()
        assert set(found) >= set(range(12))
        assert sum(group >= 12 for group in found) <= 3
        q_values = dict(zip(selection.names, selection.q_values, strict=True))
        assert q_values["x0"] == q_values["x3"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"method": "b-arda", "groups": "source"}, "those of the source are not kept"),
        ({"method": "fgm", "family": th.Groups([[0, 1], [1, 2]], overlap=True)}, "do not overlap"),
        ({"method": "fgm", "family": "hik:10"}, "choose another `family`"),
        ({"method": "hashing"}, "hashing has no `fdr`"),
    ],
)
def test_units_that_cannot_be_tested_are_refused(more: dict, message: str) -> None:
    X, y = draw(3)
    with pytest.raises(th.SettingsError, match=message):
        th.select(np.abs(X), y, k=2, fdr=0.1, **more)


def test_products_are_features() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 16))
    y = sum(X[:, j] * X[:, 15 - j] for j in range(8)) + X[:, 0] - X[:, 1] + X[:, 2] + rng.normal(size=4000)
    true = {frozenset((f"x{j}", f"x{15 - j}")) for j in range(8)}
    for more in ({"interactions": 2}, {"method": "fgm", "family": "polynomial:2"}):
        names = th.select(X, y, k=40, fdr=0.2, **more).names
        assert {frozenset(name.split(" × ")) for name in names} >= true


def test_a_class_that_a_half_lacks_is_named() -> None:
    X, y = draw(4)
    few = np.where(np.arange(2000) < 1, "rare", np.where(y, "a", "b"))
    for method in ("mission", "fgm"):
        with pytest.raises(th.DataError, match=r"'rare'.*in both halves"):
            th.select(X, few, k=20, fdr=0.1, method=method)
    one = np.zeros(2000, bool)
    one[0] = True
    with pytest.raises(th.DataError, match="half of the rows"):
        th.select(X, one, k=20, fdr=0.1)


@pytest.mark.parametrize(("method", "calls"), [("mission", 1), ("mission", 14), ("mission", 40), ("fgm", 6), ("os", 9)])
def test_a_resumed_fit_has_the_same_bits(method: str, calls: int, tmp_path: Path) -> None:
    X, y = draw(5)
    path = tmp_path / "fit.ckpt"
    settings = {"k": 40, "fdr": 0.2, "splits": 2, "method": method, "batch_rows": 500}
    whole = th.select(X, y, **settings)
    left = iter(range(calls))

    def interrupt(progress: object) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted) as interrupted:
        th.select(X, y, checkpoint=path, every=0.0, progress=interrupt, **settings)
    assert interrupted.value.saved == str(path)
    resumed = th.select(X, y, checkpoint=path, **settings)
    assert resumed.names == whole.names
    assert np.array_equal(resumed.weights, whole.weights)
    assert np.array_equal(resumed.q_values, whole.q_values)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (th.MissionClassifier, {"method": "mission"}),
        (th.BudgetedClassifier, {"method": "b-arda", "loss": "squared_hinge"}),
        (th.FGMClassifier, {"method": "fgm"}),
        (th.SubstitutionClassifier, {"method": "os"}),
    ],
)
def test_estimators_select_the_same_features(kind: type, more: dict) -> None:
    X, y = draw(6)
    selection = th.select(X, y, k=40, fdr=0.1, splits=2, **more)
    model = kind(k=40, fdr=0.1, splits=2).fit(X, y)
    assert model.selection_.names == selection.names
    assert np.array_equal(model.selection_.weights, selection.weights)
    assert np.array_equal(model.selection_.q_values, selection.q_values)
    assert model.transform(X).shape == (2000, len(selection))
    assert model.score(X, y) > 0.8
    if hasattr(model, "partial_fit"):
        with pytest.raises(th.SettingsError, match="leave it out"):
            model.partial_fit(X, y)


@pytest.mark.parametrize("kind", [th.MissionRegressor, th.BudgetedRegressor, th.FGMRegressor, th.SubstitutionRegressor])
def test_regressors_have_error_control(kind: type) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 60))
    model = kind(k=30, fdr=0.1).fit(X, X[:, :15].sum(axis=1) + rng.normal(size=2000))
    assert set(model.get_feature_names_out()) >= {f"x{j}" for j in range(15)}
    assert model.selection_.provenance["fdr"]["kept"] == len(model.selection_)


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-1, 1)), min_size=1, max_size=60),
    seed=st.integers(0, 2**31),
    number=st.integers(0, 9),
    batch=st.integers(1, 70),
)
def test_halves_never_share_a_row_or_its_copies(rows: list, seed: int, number: int, batch: int) -> None:
    X = np.array(rows, np.float32)
    source, _ = hold_out(DenseSource(X, np.arange(len(X), dtype=float)), 0.2, seed=seed, split=Split.TEST)
    halves = Halves.of(source, seed, number)
    first, second, whole = (
        [int(label) for read, _ in part.batches(batch) for label in read.y] for part in (*halves, source)
    )
    assert sorted(first + second) == sorted(whole)
    assert not {rows[i] for i in first} & {rows[i] for i in second}
    fitted, held = hold_out(halves.first, 0.3, seed=seed, split=Split.VALIDATION)
    inner = [[int(label) for read, _ in part.batches(batch) for label in read.y] for part in (fitted, held)]
    assert sorted(inner[0] + inner[1]) == sorted(first)
    assert not {rows[i] for i in inner[0]} & {rows[i] for i in inner[1]}


def test_copies_of_rows_do_not_change_the_candidates_of_a_half() -> None:
    X, y = draw(7, rows=1500)
    twice = th.select(np.vstack([X, X]), np.append(y, y), k=40, fdr=0.1)
    once = th.select(X, y, k=40, fdr=0.1)
    (first, second), (copied, others) = once.provenance["fdr"]["rows"][0], twice.provenance["fdr"]["rows"][0]
    assert (copied, others) == (2 * first, 2 * second)


def test_little_memory_tests_a_sample_and_says_so(tmp_path: Path) -> None:
    from thresher.report.summary import summary

    X, y = draw(8, rows=12_000)
    limited = th.select(X, y, k=40, fdr=0.1, memory="6MB")
    facts = limited.provenance["fdr"]
    assert facts["sampled"]
    assert max(facts["rows"][0]) < 5000
    assert limited.provenance["plan"]["tests"] <= 6 << 20
    assert "a sample of the rows" in dict(summary(limited, None, None))["error control"]
    assert sum(int(name[1:]) < 20 for name in limited.names) >= 18
    with pytest.raises(th.SettingsError, match=r"fits all 300 candidates at once.*pass `k="):
        th.select(X, y, k=300, fdr=0.1, memory="5MB")


def test_the_summary_says_what_is_expected_and_what_had_a_ridge() -> None:
    from thresher.report.summary import summary

    X, y = draw(9)
    said = dict(summary(th.select(np.hstack([X, X[:, :1]]), y, k=40, fdr=0.2), None, None))["error control"]
    assert said.startswith("expected false among 2")
    assert "were tested with a ridge" in said


def test_the_plan_says_what_the_tests_take(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from thresher.cli.main import make_app

    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n0 2:1\n")
    said = CliRunner().invoke(make_app(), ["plan", str(path), "-k", "300", "--fdr", "0.1", "--splits", "3"])
    assert said.exit_code == 0
    words = " ".join(said.output.split())
    assert "after each of 3 fits of a half of the rows" in words
    assert "2.1 MB of matrices" in words
    refused = CliRunner().invoke(make_app(), ["plan", str(path), "-k", "3000", "--fdr", "0.1", "--memory", "32MB"])
    assert refused.exit_code != 0


def test_the_seed_chooses_the_halves_for_methods_without_one() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 10))
    y = x[:, :4].sum(axis=1) > 0
    rows = [
        th.select(x, y, k=5, method="fgm", preset="fixed", fdr=0.5, random_state=seed).provenance["fdr"]["rows"]
        for seed in (0, 0, 1)
    ]
    assert rows[0] == rows[1] != rows[2]
