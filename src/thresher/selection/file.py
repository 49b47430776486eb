"""Selections in ``.thr`` files, whose format ``docs/format.md`` specifies."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.kernels import check_kernel
from thresher.core.losses import get_loss
from thresher.core.storage import container
from thresher.core.storage.stored_space import key_limit, read_space
from thresher.display import redact
from thresher.errors import FileFormatError
from thresher.selection.calibration import Calibration
from thresher.selection.selection import Selection

KIND = "selection"
#: The centre and the scale of each feature, only in files of standardised columns.
_UNITS = ("centres", "scales")
#: Arrays with a number for each feature that not every file has.
_OPTIONAL = (*_UNITS, "q_values", "frequencies")
#: Settings that earlier versions wrote under another name.
OLD_SETTINGS = {
    "intercept": "fit_intercept",
    "shift": "fit_intercept",
    "iterations": "max_iter",
    "threads": "n_jobs",
}
#: The same, for one method only.
OLD_METHOD_SETTINGS = {"sparse-rf": {"rounds": "max_iter"}}


def save(selection: Selection, path: str | os.PathLike[str]) -> None:
    """Write a selection to a ``.thr`` file, atomically."""
    offsets, text = container.pack_strings([name.encode("utf-8", "surrogateescape") for name in selection.names])
    arrays: dict[str, NDArray[Any]] = {
        "keys": selection.keys,
        "weights": np.asarray(selection.weights, dtype=np.float64),
        "bounds": selection.bounds,
        "counts": selection.counts,
        "intercept": selection.intercept,
        "name_offsets": offsets,
        "name_text": text,
    }
    for name in _OPTIONAL:
        if (part := getattr(selection, name)) is not None:
            arrays[name] = part
    meta = {
        "loss": str(selection.loss),
        "classes": selection.classes,
        "space": selection.space.to_dict(),
        "settings": selection.settings,
        "provenance": selection.provenance,
    }
    if selection.calibration is not None:
        meta["calibration"] = selection.calibration.to_dict()
    container.write(path, container.Content(KIND, meta, arrays))


def load(path: str | os.PathLike[str]) -> Selection:
    """Read a selection from a ``.thr`` file; raises `FileFormatError` for a damaged or foreign file."""
    _, meta, arrays = container.read(path, KIND)
    try:
        names = container.unpack_strings(arrays["name_offsets"], arrays["name_text"])
        selection = Selection(
            [name.decode("utf-8", "surrogateescape") for name in names],
            arrays["keys"],
            arrays["weights"],
            arrays["bounds"],
            arrays["counts"],
            arrays["intercept"],
            get_loss(meta["loss"]),
            meta["classes"],
            read_space(meta["space"]),
            current_settings(meta["settings"]),
            _redacted(meta["provenance"]),
            None if meta.get("calibration") is None else Calibration.from_dict(meta["calibration"]),
            **{name: arrays.get(name) for name in _OPTIONAL},
        )
        _check(selection)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{os.fspath(path)}: not a valid selection ({error}).") from None
    return selection


def current_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as read from a file, under the names that this version uses."""
    names = OLD_SETTINGS | OLD_METHOD_SETTINGS.get(str(settings.get("method")), {})
    return {names.get(name, name): value for name, value in settings.items()}


def _redacted(value: Any) -> Any:
    """The provenance without credentials in URLs, which earlier versions stored."""
    if isinstance(value, dict):
        return {redact(name): _redacted(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_redacted(inner) for inner in value]
    return redact(value) if isinstance(value, str) else value


def _check(selection: Selection) -> None:
    """Raise ValueError or TypeError unless the parts of a file fit together."""
    k, outputs = len(selection.keys), len(selection.intercept)
    several = _several_outputs(selection)
    for name, dtype, shape in (
        ("keys", np.uint64, (k,)),
        ("weights", np.float64, (outputs, k) if several else (k,)),
        ("bounds", np.float64, (k,)),
        ("counts", np.uint64, (k,)),
        ("intercept", np.float64, (outputs,)),
    ):
        array = getattr(selection, name)
        if array.dtype != dtype or array.shape != shape:
            raise ValueError(f"{name} of type {array.dtype} and shape {array.shape}")
    finite = np.isfinite(selection.weights).all() and np.isfinite(selection.intercept).all()
    if not (finite and (selection.bounds >= 0).all()):
        raise ValueError("weights or bounds are not finite numbers")
    _check_units(selection, k)
    q_values = selection.q_values
    if q_values is not None and not (q_values.dtype == np.float64 and q_values.shape == (k,) and (q_values >= 0).all()):
        raise ValueError("q-values that do not fit the features")
    _check_frequencies(selection, k)
    if len(selection.names) != k or len(np.unique(selection.keys)) != k:
        raise ValueError("features without a name, or twice")
    _check_space(selection)
    if not (isinstance(selection.settings, dict) and isinstance(selection.provenance, dict)):
        raise TypeError("settings or provenance of the wrong type")
    _check_classes(selection, outputs)
    _check_calibration(selection, outputs)


def _check_units(selection: Selection, k: int) -> None:
    parts = [getattr(selection, name) for name in _UNITS]
    if all(part is None for part in parts):
        return
    if not all(part is not None and part.dtype == np.float64 and part.shape == (k,) for part in parts):
        raise ValueError("centres and scales that do not fit the features")
    if not (np.isfinite(parts).all() and (parts[1] > 0).all()):
        raise ValueError("centres or scales are no units")


def _check_frequencies(selection: Selection, k: int) -> None:
    found = selection.frequencies
    if found is None:
        return
    if not (found.dtype == np.float64 and found.shape == (k,) and ((found >= 0) & (found <= 1)).all()):
        raise ValueError("frequencies that do not fit the features")
    threshold = selection.provenance["stability"]["threshold"]
    if not (threshold is None or (type(threshold) in (int, float) and 0 <= threshold <= 1)):
        raise ValueError("the threshold of frequencies is none")


def _check_calibration(selection: Selection, outputs: int) -> None:
    calibration = selection.calibration
    if calibration is None:
        return
    kind = {"binary": "logistic", "classes": "softmax"}.get(selection.loss.task)
    if calibration.kind != kind or calibration.outputs not in (None, outputs):
        raise ValueError(f"a {calibration.kind} calibration for the {selection.loss} loss")


def _check_space(selection: Selection) -> None:
    space, size = selection.space, key_limit(selection.space)
    if space.random_features is not None:
        check_kernel(space.random_features, space.size)
    if len(selection) and int(selection.keys.max()) >= size:
        raise ValueError(f"feature {selection.keys.max()} of {size}")


def _several_outputs(selection: Selection) -> bool:
    """Whether each class or label has an output."""
    return selection.loss.task == "classes" or (selection.loss.task == "binary" and selection.weights.ndim == 2)


def _check_classes(selection: Selection, outputs: int) -> None:
    several, classes = _several_outputs(selection), selection.classes
    if not several and outputs != 1:
        raise ValueError(f"{outputs} outputs for the {selection.loss} loss")
    if selection.loss.task == "real":
        if classes is not None:
            raise ValueError("classes in regression")
        return
    if not isinstance(classes, list) or len(classes) != (outputs if several else 2):
        raise ValueError("the number of classes does not fit the loss")
    one_type = all(isinstance(c, str) for c in classes) or all(type(c) in (int, float) for c in classes)
    if not one_type or len(set(classes)) != len(classes):
        raise ValueError("classes are not distinct numbers or distinct words")
