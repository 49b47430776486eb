"""Learning on: the same bits as in one go, pickled and copied in the middle."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.streams import planted, write_libsvm

X, Y = planted(support=(3, 77, 200, 399))
X, Y = X[:400], Y[:400]
NUMBERS = np.asarray(X[:, [3, 77]].sum(axis=1)).ravel()
CLASSES = np.array(["ant", "bee", "cow"])[np.arange(400) % 3]
SEVERAL = np.stack([Y > 0, CLASSES == "cow", NUMBERS > 1], axis=1).astype(int)
HOW: dict[str, Any] = {"k": 20, "memory": "4MB", "shuffle": False, "passes": 1, "refit": False}

KINDS: dict[str, tuple[type, Any, dict[str, Any]]] = {
    "two": (th.MissionClassifier, Y, {}),
    "iht": (th.MissionClassifier, Y, {"method": "iht"}),
    "batch-iht": (th.MissionClassifier, Y, {"method": "batch-iht"}),
    "hashing": (th.MissionClassifier, Y, {"method": "hashing"}),
    "paper": (th.MissionClassifier, Y, {"active": "sketch"}),
    "minibatch": (th.MissionClassifier, Y, {"minibatch": 7, "l2": 1e-3}),
    "products": (th.MissionClassifier, Y, {"interactions": [(3, 77), (3, 200)]}),
    "three": (th.MissionClassifier, CLASSES, {}),
    "labels": (th.MissionClassifier, SEVERAL, {}),
    "numbers": (th.MissionRegressor, NUMBERS, {}),
}


def bits(model: Any) -> tuple[bytes, ...]:
    """All there is to know of a model, and what the engine would go on from."""
    selection = model.selection_
    predicted = model.predict(X) if model.method == "hashing" else selection.keys
    return selection.keys.tobytes(), selection.weights.tobytes(), selection.intercept.tobytes(), predicted.tobytes()


def first(model: Any, x: Any, y: Any, everything: Any) -> Any:
    return (
        model.partial_fit(x, y)
        if isinstance(model, th.MissionRegressor)
        else model.partial_fit(x, y, classes=np.unique(everything) if np.ndim(everything) == 1 else None)
    )


@pytest.mark.parametrize("kind", KINDS)
@examples(8)
@given(data=st.data())
def test_parts_give_the_same_bits_as_the_whole(kind: str, data: st.DataObject) -> None:
    made, y, more = KINDS[kind]
    cuts = sorted(data.draw(st.sets(st.integers(1, 399), max_size=4), "cuts"))
    weight = data.draw(st.sampled_from([None, np.arange(400) % 4 * 0.5]), "weight")
    whole = made(**HOW, **more).fit(X, y, sample_weight=weight)
    model = made(**HOW, **more)
    for begin, end in zip([0, *cuts], [*cuts, 400], strict=True):
        part = None if weight is None else weight[begin:end]
        if part is not None and not part.any():
            continue
        if begin == 0 or not hasattr(model, "_fitted"):
            classes = np.unique(y) if np.ndim(y) == 1 and made is th.MissionClassifier else None
            known = {} if made is th.MissionRegressor else {"classes": classes}
        else:
            known = {}
        model.partial_fit(X[begin:end], y[begin:end], sample_weight=part, **known)
        how = data.draw(st.sampled_from(["go on", "pickle", "copy", "look"]), "between")
        if how == "look":
            bits(model)
        elif how != "go on":
            model = pickle.loads(pickle.dumps(model)) if how == "pickle" else copy.deepcopy(model)
    assert bits(model) == bits(whole)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pickle_is_the_model_and_the_original_is_left_alone(kind: str) -> None:
    made, y, more = KINDS[kind]
    model = first(made(**HOW, **more), X[:200], y[:200], y)
    before = bits(model)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert bits(other) == before
        other.partial_fit(X[200:], y[200:])
        assert bits(model) == before != bits(other)


def test_a_pickle_of_a_small_model_is_small() -> None:
    model = th.MissionClassifier().fit(X, Y)
    assert len(pickle.dumps(model)) < 1 << 20


def test_going_on_after_fit() -> None:
    once = th.MissionClassifier(**HOW).fit(X, Y)
    model = th.MissionClassifier(**HOW).fit(X[:200], Y[:200])
    model.partial_fit(X[200:], Y[200:])
    assert bits(model) == bits(once)
    model.fit(X, Y)  # begins anew
    assert bits(model) == bits(once)


def test_classes_are_fixed_in_the_first_call() -> None:
    model = th.MissionClassifier(**HOW).partial_fit(X[:50], CLASSES[:50])
    assert list(model.classes_) == ["ant", "bee", "cow"]
    with pytest.raises(th.DataError, match="dog is none of the known classes"):
        model.partial_fit(X[:2], ["ant", "dog"])
    with pytest.raises(th.SettingsError, match="since the first call"):
        model.partial_fit(X[:2], ["ant", "bee"], classes=["ant", "bee"])
    with pytest.raises(th.DataError, match="none of the known classes"):
        th.MissionClassifier(**HOW).partial_fit(X[:50], CLASSES[:50], classes=["ant", "bee"])
    with pytest.raises(th.DataError, match="pass all of them"):
        th.MissionClassifier(**HOW).partial_fit(X[:1], Y[:1])


def test_one_class_so_far_still_knows_which_side_is_which() -> None:
    positive = Y.max() == Y
    model = th.MissionClassifier(**HOW).partial_fit(X[positive], Y[positive], classes=np.unique(Y))
    assert (model.predict(X) == Y.max()).all()
    model = th.MissionClassifier(**HOW).partial_fit(X[~positive], Y[~positive], classes=np.unique(Y))
    assert (model.predict(X) == Y.min()).all()


def test_what_cannot_go_on() -> None:
    model = th.MissionClassifier(**HOW).partial_fit(X, Y)
    with pytest.raises(th.SettingsError, match="k changed"):
        model.set_params(k=21).partial_fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        model.set_params(k=20).partial_fit(X[:, :5], Y)
    with pytest.raises(th.SettingsError, match="balanced"):
        th.MissionClassifier(class_weight="balanced").partial_fit(X, Y)


def test_files_as_parts(tmp_path: Path) -> None:
    whole, *parts = (
        write_libsvm(tmp_path / f"{i}.svm", X[rows], Y[rows])
        for i, rows in enumerate((slice(None), slice(0, 150), slice(150, None)))
    )
    model = th.MissionClassifier(**HOW)
    for part in parts:
        model.partial_fit(part)
    assert model.selection_.keys.tolist() == th.select(whole, **HOW).keys.tolist()
    np.testing.assert_array_equal(model.selection_.weights, th.select(whole, **HOW).weights)
