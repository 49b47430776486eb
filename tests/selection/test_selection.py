"""The table of features, and how a selection shows itself."""

import subprocess
import sys

from tests.data.make_golden import golden
from tests.selection.makers import make


def test_the_table_of_features():
    frame = golden().to_frame()
    assert list(frame.columns) == ["rank", "name", "key", "weight", "bound", "count"]
    assert frame["name"].tolist() == ["site^example", "größe=鳥", r"cut\xe2\x82", ""]
    assert frame["key"].tolist() == [3, 2**64 - 1, 2**63, 17]
    table = golden().to_arrow()
    assert table.column("key").to_pylist() == golden().keys.tolist()
    assert make([]).to_arrow().num_rows == 0
    assert str(make([]).to_arrow().schema.field("name").type) == "string"
    several = make([[1.0], [2.0]], loss="softmax", classes=[3.0, 4.0], intercept=[0, 0])
    assert list(several.columns()) == ["rank", "name", "key", "weight_3", "weight_4", "bound", "count"]


def test_how_many_are_named_and_what_it_shows():
    selection = make([1.0, 2.0, 3.0, 4.0], names=["a", "#1", "#7", "d"])
    assert selection.named == 3
    assert repr(selection) == "<Selection of 4 features (3 named): a, #1, #7, …>"
    assert repr(make([])) == "<Selection of 0 features (0 named): >"


def test_the_package_does_not_bring_scikit_learn(tmp_path):

    code = (
        "import sys, numpy as np, thresher as th\n"
        "s = th.select(np.eye(4), [0, 1, 0, 1], k=2)\n"
        f"s.save({str(tmp_path / 's.thr')!r}); s.export({str(tmp_path / 's.tsv')!r})\n"
        f"th.load({str(tmp_path / 's.thr')!r}).predict(np.eye(4))\n"
        "print(sorted(m for m in ('sklearn', 'pandas', 'onnx') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
