"""What error control counts: single features, or groups that a method selects as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.groups import Groups
from thresher.errors import SettingsError
from thresher.fgm.families.group_family import GroupSpec
from thresher.fgm.families.linear import Columns
from thresher.fgm.families.parse import as_family_spec
from thresher.fgm.families.polynomial import Polynomial
from thresher.fgm.families.product import Product


class Units:
    """The units of a method's settings.

    Raises `SettingsError` if the method selects elements whose features cannot be distinguished, such as groups that
    overlap.
    """

    def __init__(self, settings: Any) -> None:
        groups = _groups_of(settings)
        self.grouped = groups is not None
        if groups is not None:
            if groups.overlap:
                raise SettingsError("`fdr` tests each group by its own features: pass groups that do not overlap")
            order = np.argsort(groups.keys, kind="stable")
            self._keys = groups.keys[order]
            self._owners = np.repeat(np.arange(len(groups)), np.diff(groups.indptr))[order].astype(np.uint64)

    @property
    def word(self) -> str:
        """What a unit is."""
        return "groups" if self.grouped else "features"

    def of(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The unit of each feature: its key, or the number of its group."""
        return self._owners[np.searchsorted(self._keys, keys)] if self.grouped else keys


def _groups_of(settings: Any) -> Groups | None:
    groups = getattr(settings, "groups", None)
    if isinstance(groups, str):
        raise SettingsError(
            "`fdr` must know the group of each feature, and those of the source are not kept: pass a list of groups, "
            "or leave out `groups`"
        )
    if isinstance(groups, Groups):
        return groups
    family = as_family_spec(getattr(settings, "family", "linear"))
    if isinstance(family, GroupSpec):
        return family.groups
    if family is None or isinstance(family, (Columns, Polynomial, Product)):
        return None
    raise SettingsError(
        "`fdr` tests columns, their products or groups of columns that do not overlap: choose another `family`, or "
        "leave out `fdr`"
    )
