"""Lazy imports: ``import thresher`` loads at most NumPy, and th.select does not load scikit-learn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import thresher

HEAVY = {
    "scipy",
    "sklearn",
    "pyarrow",
    "pandas",
    "polars",
    "rich",
    "typer",
    "zstandard",
    "onnx",
    "matplotlib",
    "IPython",
}


def imported_by(code: str, *args: str) -> set[str]:
    """The heavy packages in memory after running ``code``."""
    report = f"\nimport sys\nprint(*{HEAVY!r} & set(sys.modules), file=sys.stderr)"
    out = subprocess.run(
        [sys.executable, "-c", code + report, *args], capture_output=True, text=True, check=True, timeout=120
    )
    return set(out.stderr.split())


def test_import_thresher_is_light() -> None:
    assert imported_by("import thresher") == set()


def test_selecting_from_a_file_needs_no_scikit_learn(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 2:1\n" * 10)
    code = "import sys, thresher as th; s = th.select(sys.argv[1], k=1); s.predict(sys.argv[1])"
    assert imported_by(code, str(path)) == set()


def test_the_command_line_needs_no_scikit_learn(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 2:1\n" * 10)
    code = "import sys; from thresher.cli.main import make_app; make_app()(sys.argv[1:], standalone_mode=False)"
    assert imported_by(code, "select", str(path), "-k", "1") <= {"typer", "rich"}


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_tables_need_pyarrow_and_nothing_else(tmp_path: Path, name: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "t.csv").write_text("y,a,b\n" + "yes,1,x\nno,2,z\n" * 10)
    (tmp_path / "t.jsonl").write_text('{"y": "yes", "a": 1, "b": "x"}\n{"y": "no", "a": 2, "b": "z"}\n' * 10)
    pq.write_table(pa.table({"y": ["yes", "no"] * 10, "a": [1, 2] * 10, "b": ["x", "z"] * 10}), tmp_path / "t.parquet")
    code = "import sys, thresher as th; s = th.select(sys.argv[1], k=1, target='y'); s.predict(sys.argv[1])"
    assert imported_by(code, str(tmp_path / name)) == {"pyarrow"}
    code = "import sys, thresher as th; th.select(sys.argv[1], k=1, target='y', text='b', pattern='.')"
    assert imported_by(code, str(tmp_path / name)) == {"pyarrow"}


@pytest.mark.parametrize("name", thresher.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(thresher, name) is not None
    assert name in dir(thresher)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        thresher.no_such_name  # noqa: B018
