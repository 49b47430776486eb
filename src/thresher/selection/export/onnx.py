"""Export to ONNX: a model of the k selected columns."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from thresher.core.optional import need
from thresher.errors import DataError
from thresher.selection.calibration_curve import as_ramps, flipped
from thresher.selection.selection import Selection, escaped

# The oldest versions with all operators used here, so that most runtimes can read the model.
_OPSET, _IR_VERSION = 17, 8


def to_onnx(selection: Selection) -> Any:
    """The selection as an ``onnx.ModelProto``.

    The input is ``x``: rows x k floats, as ``selection.transform`` returns them. Classifiers output ``label`` (rows)
    and ``scores`` (rows x classes): probabilities if the selection is calibrated, and for the logistic and softmax
    losses; margins otherwise, where the first of two classes has the negated margin. Regressors output ``prediction``
    (rows). Sums are in double precision, as in Thresher. The metadata hold the names of the features as a JSON list,
    ``feature_names``.
    """
    if selection.multilabel:
        raise DataError("ONNX export does not support several labels a row: export to tsv, json or parquet.")
    onnx = need("onnx", "onnx")
    helper, types = onnx.helper, onnx.TensorProto
    nodes, outputs = _regression(helper, types) if selection.classes is None else _classification(selection, onnx)
    k = len(selection)
    constants = {
        "weights": np.ascontiguousarray(selection.weights.reshape(len(selection.intercept), k).T, dtype=np.float64),
        "intercept": np.asarray(selection.intercept, dtype=np.float64),
    }
    if selection.classes is not None:
        constants["classes"] = _labels(selection)
    if (calibration := selection.calibration) is not None:
        # The margin of the first of two classes is negated, and so is its b.
        (a,), (b,) = calibration.slopes, calibration.intercepts
        constants["calibration_slopes"] = np.array([a])
        constants["calibration_intercepts"] = np.array([b] if calibration.kind == "softmax" else [-b, b])
        if calibration.knots:  # of both classes: the curve of the first is that of the second, flipped
            ramps = [as_ramps(knots) for knots in (flipped(calibration.knots), calibration.knots)]
            constants["curve_starts"] = np.array([at for at, _, _ in ramps])
            constants["curve_bends"] = np.array([bends for _, bends, _ in ramps])
            constants["curve_offsets"] = np.array([offset for _, _, offset in ramps])
            constants["last_axis"] = np.array([2], np.int64)
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["x"], ["wide"], to=types.DOUBLE),
            helper.make_node("MatMul", ["wide", "weights"], ["products"]),
            helper.make_node("Add", ["products", "intercept"], ["margins"]),
            *nodes,
        ],
        "selection",
        [helper.make_tensor_value_info("x", types.FLOAT, ["rows", k])],
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
    helper.set_model_props(
        model,
        {
            "feature_names": json.dumps([escaped(name) for name in selection.names], ensure_ascii=False),
            "feature_keys": json.dumps(selection.keys.tolist()),
            "loss": str(selection.loss),
        },
    )
    return model


def onnx_bytes(selection: Selection) -> bytes:
    """The selection as a serialised ONNX model."""
    model: bytes = to_onnx(selection).SerializeToString()
    return model


def _regression(helper: Any, types: Any) -> tuple[list[Any], list[Any]]:
    nodes = [
        helper.make_node("Constant", [], ["flat"], value_ints=[-1]),
        helper.make_node("Reshape", ["margins", "flat"], ["wide_prediction"]),
        helper.make_node("Cast", ["wide_prediction"], ["prediction"], to=types.FLOAT),
    ]
    return nodes, [helper.make_tensor_value_info("prediction", types.FLOAT, ["rows"])]


def _classification(selection: Selection, onnx: Any) -> tuple[list[Any], list[Any]]:
    helper, types = onnx.helper, onnx.TensorProto
    nodes = []
    if len(selection.intercept) == 1:
        nodes += [
            helper.make_node("Neg", ["margins"], ["opposite"]),
            helper.make_node("Concat", ["opposite", "margins"], ["each"], axis=1),
        ]
    else:
        nodes.append(helper.make_node("Identity", ["margins"], ["each"]))
    # By the margins, since probabilities of large margins round to the same number.
    nodes += [
        helper.make_node("ArgMax", ["each"], ["chosen"], axis=1, keepdims=0),
        helper.make_node("Gather", ["classes", "chosen"], ["label"]),
    ]
    link = {"logistic": "Sigmoid", "softmax": "Softmax"}.get(selection.loss.name, "Identity")
    scored = "each"
    if selection.calibration is not None:
        link = "Softmax" if selection.calibration.kind == "softmax" else "Sigmoid"
        scored = "calibrated"
        nodes += [
            helper.make_node("Mul", ["each", "calibration_slopes"], ["scaled"]),
            helper.make_node("Add", ["scaled", "calibration_intercepts"], [scored]),
        ]
        if selection.calibration.knots:
            nodes += [
                helper.make_node("Unsqueeze", [scored, "last_axis"], ["odds"]),
                helper.make_node("Sub", ["odds", "curve_starts"], ["behind"]),
                helper.make_node("Relu", ["behind"], ["ramps"]),
                helper.make_node("Mul", ["ramps", "curve_bends"], ["bends"]),
                helper.make_node("ReduceSum", ["bends", "last_axis"], ["bent"], keepdims=0),
                helper.make_node("Sum", [scored, "bent", "curve_offsets"], ["on_curve"]),
            ]
            scored = "on_curve"
    nodes += [
        helper.make_node(link, [scored], ["linked"]),
        helper.make_node("Cast", ["linked"], ["scores"], to=types.FLOAT),
    ]
    labels = _labels(selection)
    kind = helper.np_dtype_to_tensor_dtype(labels.dtype)
    return nodes, [
        helper.make_tensor_value_info("label", kind, ["rows"]),
        helper.make_tensor_value_info("scores", types.FLOAT, ["rows", len(labels)]),
    ]


def _labels(selection: Selection) -> np.ndarray[Any, Any]:
    labels = np.array(selection.labels)
    return labels.astype(object) if labels.dtype.kind == "U" else labels
