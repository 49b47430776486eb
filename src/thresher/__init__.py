"""Thresher finds the few features that matter among far more than fit in memory, and names them.

Everything here is imported on first use, so ``import thresher`` costs no more than NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thresher.errors import (
        DataError,
        FileFormatError,
        MissingExtraError,
        ResumeError,
        SettingsError,
        SpaceError,
        ThresherError,
        UnreadableError,
    )
    from thresher.estimators.budgeted import BudgetedClassifier, BudgetedRegressor
    from thresher.estimators.classifier import MissionClassifier
    from thresher.estimators.fgm import FGMRegressor
    from thresher.estimators.fgm_classifier import FGMClassifier
    from thresher.estimators.regressor import MissionRegressor
    from thresher.estimators.sparse_rf import SparseRFClassifier, SparseRFRegressor
    from thresher.estimators.substitution_classifier import SubstitutionClassifier
    from thresher.estimators.substitution_regressor import SubstitutionRegressor
    from thresher.families.additive import HIK, Additive
    from thresher.families.columns import Columns
    from thresher.families.drawn import RandomFunctions
    from thresher.families.groups import Groups
    from thresher.families.polynomial import Polynomial
    from thresher.families.product import Product
    from thresher.families.spectrum import Spectrum
    from thresher.families.stream import FeatureStream
    from thresher.families.tree import Tree
    from thresher.families.union import Union
    from thresher.selecting import Interrupted, select
    from thresher.selection import Selection, load
    from thresher.sources.arrow_files import scan_parquet
    from thresher.sources.cache import cached
    from thresher.sources.csv_tables import scan_csv
    from thresher.sources.fasta import scan_fasta
    from thresher.sources.libsvm import scan_libsvm
    from thresher.sources.scan import scan
    from thresher.sources.source import Source
    from thresher.sources.stored_source import scan_cache
    from thresher.sources.text import scan_text
    from thresher.sources.vw import scan_vw
    from thresher.version import __version__
    from thresher.working_set.stream_run import BrokenStream

_HOMES = {
    "DataError": "errors",
    "FileFormatError": "errors",
    "MissingExtraError": "errors",
    "ResumeError": "errors",
    "SettingsError": "errors",
    "SpaceError": "errors",
    "ThresherError": "errors",
    "UnreadableError": "errors",
    "BudgetedClassifier": "estimators.budgeted",
    "BudgetedRegressor": "estimators.budgeted",
    "MissionClassifier": "estimators.classifier",
    "MissionRegressor": "estimators.regressor",
    "FGMClassifier": "estimators.fgm_classifier",
    "FGMRegressor": "estimators.fgm",
    "BrokenStream": "working_set.stream_run",
    "FeatureStream": "families.stream",
    "SubstitutionClassifier": "estimators.substitution_classifier",
    "SubstitutionRegressor": "estimators.substitution_regressor",
    "SparseRFClassifier": "estimators.sparse_rf",
    "SparseRFRegressor": "estimators.sparse_rf",
    "Columns": "families.columns",
    "Groups": "families.groups",
    "RandomFunctions": "families.drawn",
    "Additive": "families.additive",
    "HIK": "families.additive",
    "Polynomial": "families.polynomial",
    "Product": "families.product",
    "Spectrum": "families.spectrum",
    "Tree": "families.tree",
    "Union": "families.union",
    "Interrupted": "selecting",
    "select": "selecting",
    "Selection": "selection",
    "load": "selection",
    "Source": "sources.source",
    "cached": "sources.cache",
    "scan": "sources.scan",
    "scan_cache": "sources.stored_source",
    "scan_csv": "sources.csv_tables",
    "scan_fasta": "sources.fasta",
    "scan_libsvm": "sources.libsvm",
    "scan_parquet": "sources.arrow_files",
    "scan_text": "sources.text",
    "scan_vw": "sources.vw",
    "__version__": "version",
}

__all__ = [
    "HIK",
    "Additive",
    "BrokenStream",
    "BudgetedClassifier",
    "BudgetedRegressor",
    "Columns",
    "DataError",
    "FGMClassifier",
    "FGMRegressor",
    "FeatureStream",
    "FileFormatError",
    "Groups",
    "Interrupted",
    "MissingExtraError",
    "MissionClassifier",
    "MissionRegressor",
    "Polynomial",
    "Product",
    "RandomFunctions",
    "ResumeError",
    "Selection",
    "SettingsError",
    "Source",
    "SpaceError",
    "SparseRFClassifier",
    "SparseRFRegressor",
    "Spectrum",
    "SubstitutionClassifier",
    "SubstitutionRegressor",
    "ThresherError",
    "Tree",
    "Union",
    "UnreadableError",
    "__version__",
    "cached",
    "load",
    "scan",
    "scan_cache",
    "scan_csv",
    "scan_fasta",
    "scan_libsvm",
    "scan_parquet",
    "scan_text",
    "scan_vw",
    "select",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'thresher' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"thresher.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
