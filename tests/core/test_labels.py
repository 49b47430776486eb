"""Labels of every convention to targets, and the models that come of them."""

import numpy as np
import pytest

import thresher as th
from thresher.core.batch import Batch
from thresher.core.labels import Targets, sort_labels
from thresher.core.losses import get_loss
from thresher.errors import DataError
from thresher.sources.registry import as_source
from thresher.sources.transforms.label_scan import label_classes

BINARY = ["logistic", "hinge", "squared_hinge"]


def batch_of(y, **more):
    """A batch of empty rows with these labels, as sources hand them out."""
    y = None if y is None else np.asarray(y)
    if y is not None:
        y = y.astype(np.float64) if y.dtype.kind in "biuf" else y.astype(object)
    n = 0 if y is None else len(y)
    return Batch(np.zeros(n + 1, np.int64), np.empty(0, np.uint64), None, y, **more)


def where(row):
    return f"line {row + 1}"


def encode(y, loss="logistic", seen=None):
    targets = Targets(get_loss(loss), seen)
    return targets, targets.encode(batch_of(y), where)


CONVENTIONS = [
    ([0, 1], [0.0, 1.0]),
    ([-1, 1], [-1.0, 1.0]),
    ([1, 2], [1.0, 2.0]),
    ([False, True], [0.0, 1.0]),
    (["ham", "spam"], ["ham", "spam"]),
    (["10", "9"], ["10", "9"]),
    ([b"a", b"b"], ["a", "b"]),
    ([0.5, 1e300], [0.5, 1e300]),
    ([-0.0, 1.0], [0.0, 1.0]),
]


@pytest.mark.parametrize(("labels", "classes"), CONVENTIONS)
def test_either_order_of_appearance_gives_the_same_classes_and_targets(labels, classes):
    for order in ([0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 1, 0], [0, 0, 0, 1]):
        targets, encoded = encode(np.array(labels)[order])
        assert targets.classes == classes
        assert str(targets.classes) == str(classes)  # 0.0, not -0.0
        np.testing.assert_array_equal(encoded * targets.orientation, 2.0 * np.array(order) - 1)
        targets.check_complete()


def test_the_second_class_may_come_in_a_later_batch():
    targets = Targets(get_loss("hinge"))
    assert targets.encode(batch_of([3, 3]), where).tolist() == [1, 1]
    assert targets.classes == [3.0]
    assert targets.orientation == 1.0
    assert targets.encode(batch_of([]), where).tolist() == []
    assert targets.encode(batch_of([7, 3]), where).tolist() == [-1, 1]
    assert (targets.classes, targets.orientation) == ([3.0, 7.0], -1.0)
    resumed = Targets(get_loss("hinge"), targets.seen)
    assert resumed.encode(batch_of([7, 3]), where).tolist() == [-1, 1]


def test_one_class_only():
    for y, shown in (([1, 1, 1], "every label is 1:"), (["a"], "every label is 'a':")):
        targets, _ = encode(y)
        with pytest.raises(DataError, match=shown):
            targets.check_complete()
    encode([1, 1], "squared")[0].check_complete()
    encode([])[0].check_complete()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 2], "line 3: the label 2 is a third one after 0 and 1"),
        (["a", "b", "a", "c"], "line 4: the label 'c' is a third one after 'a' and 'b'"),
        ([0, np.nan, 1], "line 2: the label is missing"),
        ([0, 1, np.inf], "line 3: the label is infinite"),
        (np.array(["a", None], object), "line 2: the label is missing"),
        (np.array(["a", float("nan")], object), "line 2: the label is missing"),
        (np.array(["a", 1], object), "line 2: the label 1 after 'a': one is text"),
        (np.array([1, "1"], object), "line 2: the label '1' after 1: one is text"),
    ],
)
@pytest.mark.parametrize("loss", BINARY)
def test_labels_that_are_no_two_classes(loss, y, message):
    with pytest.raises(DataError, match=message):
        encode(y, loss)


def test_missing_as_pandas_has_it():
    pd = pytest.importorskip("pandas")
    for missing in (pd.NA, pd.NaT):
        with pytest.raises(DataError, match="line 1: the label is missing"):
            encode(np.array([missing, "a"], object))


def test_objects_that_hold_numbers_are_numbers():
    targets, encoded = encode(np.array([True, 0, np.int8(1), 1.0], object))
    assert targets.classes == [0.0, 1.0]
    assert encoded.tolist() == [1, -1, 1, 1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["1.5", "2"], "line 1: the target is '1.5', and the squared loss takes finite numbers"),
        ([1, np.nan], "line 2: the target is nan"),
        ([1, 2, -np.inf], "line 3: the target is -inf"),
        (np.array([None, 1.0], object), "line 1: the target is 'None'"),
    ],
)
def test_targets_that_are_no_numbers(y, message):
    with pytest.raises(DataError, match=message):
        encode(y, "squared")


def test_numbers_stay_what_they_are():
    targets, encoded = encode([1.5, -2, 1e300], "huber:2")
    assert encoded.tolist() == [1.5, -2.0, 1e300]
    assert targets.classes is None
    assert targets.orientation == 1.0


def test_no_labels_and_several_labels():
    with pytest.raises(DataError, match="no labels"):
        encode(None)
    with pytest.raises(DataError, match="several labels"):
        Targets(get_loss("hinge")).encode(batch_of([1, 2], y_indptr=np.array([0, 2])), where)


@pytest.mark.parametrize(
    ("classes", "y", "numbers"),
    [
        ([0.0, 1.0, 5.0], [5, 0, 1, 5], [2, 0, 1, 2]),
        ([-1.5, 2.0], [2.0, -1.5], [1, 0]),
        (["a", "b", "c"], np.array(["c", "a", "a"], object), [2, 0, 0]),
        ([0.0, 1.0], np.array([True, 0, np.int8(1)], object), [1, 0, 1]),
        ([0.0, 1.0, 2.0], [], []),
    ],
)
def test_classes_are_numbered_in_their_order(classes, y, numbers):
    targets = Targets(get_loss("softmax"), classes)
    assert targets.encode(batch_of(y), where).tolist() == numbers
    assert targets.classes == classes
    assert targets.orientation == 1.0
    targets.check_complete()


@pytest.mark.parametrize("y", [[0, 3], [0.5], [np.nan], np.array(["1"], object), np.array([None], object)])
def test_labels_that_are_no_known_class(y):
    with pytest.raises(DataError, match=r"line \d+: the label .* none of the known classes, 0, 1, 2"):
        Targets(get_loss("softmax"), [0.0, 1.0, 2.0]).encode(batch_of(y), where)


def test_classes_must_be_two_or_more():
    for loss, multilabel in (("softmax", False), ("logistic", True)):
        for classes in (None, [], [1.0]):
            with pytest.raises(DataError, match="two or more"):
                Targets(get_loss(loss), classes, multilabel=multilabel)


def test_several_labels_a_row():
    targets = Targets(get_loss("logistic"), ["a", "b", "c"], multilabel=True)
    y = np.array(["c", "a", "b", "a"], object)
    encoded = targets.encode(batch_of(y, y_indptr=np.array([0, 2, 2, 3, 4])), where)
    assert encoded.tolist() == [[1, -1, 1], [-1, -1, -1], [-1, 1, -1], [1, -1, -1]]
    assert targets.encode(batch_of(y), where).tolist() == [[-1, -1, 1], [1, -1, -1], [-1, 1, -1], [1, -1, -1]]
    assert (targets.classes, targets.orientation) == (["a", "b", "c"], 1.0)
    with pytest.raises(DataError, match="line 3: the label 'd' is none of the known ones, 'a', 'b', 'c'"):
        y[2] = "d"
        targets.encode(batch_of(y, y_indptr=np.array([0, 2, 2, 3, 4])), where)


def test_the_classes_of_a_source():
    x = np.ones((5, 2))
    assert label_classes(as_source(x, [3, 1, 2, 1, 3])) == [1.0, 2.0, 3.0]
    assert label_classes(as_source(x, np.array(["b", "a", "b", "b", "c"], object))) == ["a", "b", "c"]
    with pytest.raises(DataError, match="the label is missing"):
        label_classes(as_source(x, [1, np.nan, 2, 3, 4]))
    with pytest.raises(DataError, match="text and others numbers"):
        label_classes(as_source(x, np.array(["b", 1, "b", "b", "c"], object)))
    assert sort_labels([2, 0, 1, 2]) == [0.0, 1.0, 2.0]


# ── the whole way ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 6))
    return x, x[:, 2] - x[:, 4] + 0.3 * rng.normal(size=120) > 0


def bits(selection):
    return [selection.keys.tolist(), selection.weights.tobytes(), selection.intercept.tobytes()]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("loss", BINARY)
def test_renamed_labels_give_the_same_model_to_the_bit(problem, loss, shuffle):
    x, truth = problem
    asked = {"k": 3, "loss": loss, "shuffle": shuffle, "passes": 2}
    expected = th.select(x, truth, **asked)
    for labels, classes in CONVENTIONS:
        found = th.select(x, np.array(labels)[truth.astype(int)], **asked)
        assert found.classes == classes
        assert bits(found) == bits(expected)
        predicted = expected.predict(x)
        assert found.predict(x).tolist() == np.array(found.labels)[predicted].tolist()


@pytest.mark.parametrize("loss", BINARY)
def test_the_class_met_first_makes_no_difference(problem, loss):
    x, truth = problem
    asked = {"k": 3, "loss": loss, "shuffle": False}
    a = th.select(x, np.where(truth, "z", "a"), **asked)
    b = th.select(x, np.where(truth, "a", "z"), **asked)
    assert a.classes == b.classes == ["a", "z"]
    assert a.keys.tolist() == b.keys.tolist()
    assert (a.weights + 0.0).tobytes() == (-b.weights + 0.0).tobytes()
    assert (a.intercept + 0.0).tobytes() == (-b.intercept + 0.0).tobytes()


def test_a_regression_on_labels_as_numbers(problem):
    x, truth = problem
    a = th.select(x, truth, k=3, loss="squared")
    b = th.select(x, truth.astype(float), k=3, loss="squared")
    assert a.classes is None
    assert bits(a) == bits(b)


def test_errors_say_which_row(problem):
    x, truth = problem
    y = truth.astype(float)
    y[17] = np.nan
    with pytest.raises(DataError, match=r"row 17 \(counted from 0\): the label is missing"):
        th.select(x, y, k=2)
    with pytest.raises(DataError, match="only one class"):
        th.select(x, np.ones(len(x)), k=2)
    with pytest.raises(DataError, match="a third one"):
        th.select(x, np.arange(len(x)) % 3, k=2, loss="logistic")
    with pytest.raises(DataError, match="takes finite numbers"):
        th.select(x, np.where(truth, "yes", "no"), k=2, loss="squared")
