"""A selection as an ONNX model of the k selected columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.core.optional import need
from thresher.errors import DataError

if TYPE_CHECKING:
    from thresher.selection.selection import Selection

# Old enough for every runtime of the last years, and all that is needed.
_OPSET, _IR_VERSION = 17, 8


def to_onnx(selection: Selection) -> Any:
    """An ``onnx.ModelProto`` from ``x``, float rows x k as ``selection.transform`` gives them.

    Classification gives ``label`` (rows) and ``scores`` (rows x classes): probabilities for the
    logistic and softmax losses, otherwise margins, those of the first of two classes negated.
    Regression gives ``prediction`` (rows). Sums are taken in double precision, as in Thresher. The
    names of the features, in order, are JSON in the metadata under ``feature_names``.
    """
    if selection.multilabel:
        raise DataError("a model of several labels a row is not written as ONNX: export to tsv, json or parquet.")
    onnx = need("onnx", "onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    nodes, outputs = _regression(helper, kinds) if selection.classes is None else _classification(selection, onnx)
    k = len(selection)
    constants = {
        "weights": np.ascontiguousarray(selection.weights.reshape(len(selection.intercept), k).T, dtype=np.float64),
        "intercept": np.asarray(selection.intercept, dtype=np.float64),
    }
    if selection.classes is not None:
        constants["classes"] = _labels(selection)
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["x"], ["wide"], to=kinds.DOUBLE),
            helper.make_node("MatMul", ["wide", "weights"], ["products"]),
            helper.make_node("Add", ["products", "intercept"], ["margins"]),
            *nodes,
        ],
        "selection",
        [helper.make_tensor_value_info("x", kinds.FLOAT, ["rows", k])],
        outputs,
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="thresher",
        producer_version=str(selection.provenance.get("thresher", "")),
    )
    names = [name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") for name in selection.names]
    helper.set_model_props(
        model,
        {
            "feature_names": json.dumps(names, ensure_ascii=False),
            "feature_keys": json.dumps(selection.keys.tolist()),
            "loss": str(selection.loss),
        },
    )
    return model


def _regression(helper: Any, kinds: Any) -> tuple[list[Any], list[Any]]:
    nodes = [
        helper.make_node("Constant", [], ["flat"], value_ints=[-1]),
        helper.make_node("Reshape", ["margins", "flat"], ["wide_prediction"]),
        helper.make_node("Cast", ["wide_prediction"], ["prediction"], to=kinds.FLOAT),
    ]
    return nodes, [helper.make_tensor_value_info("prediction", kinds.FLOAT, ["rows"])]


def _classification(selection: Selection, onnx: Any) -> tuple[list[Any], list[Any]]:
    helper, kinds = onnx.helper, onnx.TensorProto
    nodes = []
    if len(selection.intercept) == 1:
        nodes += [
            helper.make_node("Neg", ["margins"], ["opposite"]),
            helper.make_node("Concat", ["opposite", "margins"], ["each"], axis=1),
        ]
    else:
        nodes.append(helper.make_node("Identity", ["margins"], ["each"]))
    # Chosen by the margins: far out, probabilities are equal though margins are not.
    nodes += [
        helper.make_node("ArgMax", ["each"], ["chosen"], axis=1, keepdims=0),
        helper.make_node("Gather", ["classes", "chosen"], ["label"]),
    ]
    link = {"logistic": "Sigmoid", "softmax": "Softmax"}.get(selection.loss.name, "Identity")
    nodes += [
        helper.make_node(link, ["each"], ["linked"]),
        helper.make_node("Cast", ["linked"], ["scores"], to=kinds.FLOAT),
    ]
    labels = _labels(selection)
    kind = helper.np_dtype_to_tensor_dtype(labels.dtype)
    return nodes, [
        helper.make_tensor_value_info("label", kind, ["rows"]),
        helper.make_tensor_value_info("scores", kinds.FLOAT, ["rows", len(labels)]),
    ]


def _labels(selection: Selection) -> np.ndarray[Any, Any]:
    labels = np.array(selection.labels)
    return labels.astype(object) if labels.dtype.kind == "U" else labels
