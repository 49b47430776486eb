"""Bad matrices, tables, labels and settings: an error that says where and what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csc_array

from tests.sources.reading import read
from thresher.errors import DataError, SettingsError
from thresher.sources.registry import as_source
from thresher.sources.text.line_formats import scan_libsvm
from thresher.sources.transforms.holdout import HeldOut
from thresher.sources.transforms.weights import Weighted


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
def test_a_matrix_that_is_not_finite(bad):
    x = np.ones((5, 4))
    x[3, 2] = bad
    for matrix in (x, csc_array(x), np.asfortranarray(x)):
        source = as_source(matrix, np.zeros(5))
        for rows in (1, 2, 100):
            with pytest.raises(DataError, match=r"row 3, column 2 \(counted from 0\)\. Drop or fill"):
                read(source, rows)
        with pytest.raises(DataError, match="row 3, column 2"):
            for shard in source.shards(2):
                read(shard)


@pytest.mark.parametrize("bad", [np.inf, 1e39])
def test_a_table_that_is_not_finite(bad):
    source = as_source(pa.table({"a": [1.0, 2.0, 3.0], "b": [1.0, bad, None]}), [1, 2, 3])
    for shards in (1, 3):
        with pytest.raises(DataError, match=r"row 1, column 'b': .*Drop or fill"):
            for shard in source.shards(shards):
                read(shard)


def test_a_table_of_something_else():
    for frame in (
        pd.DataFrame({"when": pd.to_timedelta(["1 day"])}),
        pd.DataFrame({"when": [1, "one"]}),
        pd.DataFrame([[1, 2]], columns=["when", "when"]),
    ):
        with pytest.raises(DataError, match="when"):
            as_source(frame)
    with pytest.raises(DataError, match="no column 'y' for the target: choose one of 'a'"):
        as_source(pd.DataFrame({"a": [1]}), target="y")


def test_matrices_of_another_shape():
    for data in (np.ones(3), np.ones((2, 2, 2)), 7, coo_array(np.ones(3))):
        with pytest.raises(DataError, match="rows and columns"):
            as_source(data)
    with pytest.raises(DataError, match="Complex"):
        as_source(np.ones((2, 2), complex))
    with pytest.raises(DataError, match="Complex"):
        as_source(coo_array(np.ones((2, 2), complex)))
    with pytest.raises(DataError, match="not a number"):
        read(as_source(np.array([["a", "b"]]), [1]))
    with pytest.raises(DataError, match="do not form a matrix"):
        as_source([[1, 2], [3]])


def test_labels_and_weights_are_checked():
    x = np.ones((3, 2))
    with pytest.raises(DataError, match="y has 2 entries for 3 rows"):
        as_source(x, [1, 2])
    with pytest.raises(DataError, match="1d"):
        as_source(x, np.full((3, 2), 2.0))  # 0 and 1 would say which labels a row has
    for weight in ([1, -1, 1], [1, np.nan, 1], [1, 1e39, 1]):
        with pytest.raises(DataError, match="sample_weight"):
            as_source(x, [1, 2, 3], weight=weight)
    with pytest.raises(SettingsError, match="brings its own"):
        as_source("rows.svm", [1, 2])
    with pytest.raises(SettingsError, match="for files"):
        as_source(x, on_error="skip")
    with pytest.raises(SettingsError, match="column of a data frame"):
        as_source(x, target="y")


@pytest.mark.parametrize("fraction", [0.0, 1.0, -1, 2, np.nan])
def test_held_out_fractions_are_checked(fraction):
    with pytest.raises(SettingsError, match="fraction"):
        HeldOut(as_source(np.ones((2, 2))), fraction, held=True)


def test_class_weights_are_checked():
    for weight in (-1.0, np.nan, np.inf):
        with pytest.raises(SettingsError, match="class weights"):
            Weighted(as_source(np.ones((2, 2))), {1: weight})


def test_a_masked_array_is_refused_and_not_unmasked():
    with pytest.raises(DataError, match="masked array"):
        as_source(np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]), [1])


def test_class_weights_need_one_label_a_row(tmp_path):
    path = tmp_path / "several.svm"
    path.write_text("1,2 3:1\n")
    weighted = Weighted(scan_libsvm(path, multilabel=True), {1.0: 2.0})
    with pytest.raises(DataError, match="one label per row"):
        list(weighted.batches())
