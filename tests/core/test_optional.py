"""Optional packages: what is said when one is missing, or there but of no use."""

import pytest

from thresher.core.optional import need
from thresher.errors import MissingExtraError


def test_a_package_is_imported():
    assert need("json", "nothing").loads("1") == 1


def test_a_missing_package_says_how_to_get_it():
    with pytest.raises(MissingExtraError, match=r"needs no_such_package: pip install 'thresher\[arrow\]'"):
        need("no_such_package", "arrow")


def test_a_package_that_cannot_be_imported_says_why(tmp_path, monkeypatch):
    (tmp_path / "thresher_test_broken.py").write_text('raise ImportError("requires NumPy 2.0 or newer")')
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError, match=r"cannot be imported here: requires NumPy 2\.0 or newer"):
        need("thresher_test_broken", "arrow")
