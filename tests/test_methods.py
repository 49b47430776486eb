"""Which settings each method has, and that the command line has them all."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import thresher as th
from thresher.cli.select import select as command
from thresher.methods import METHODS, MethodSpec, get_method, method_names, split_settings, user_settings

ROWS = np.eye(4)
LABELS = np.array([0, 1, 0, 1])
EVERY_SETTING = sorted(frozenset().union(*(spec.own for spec in METHODS)))
#: Options of the command line that have another name than the setting.
RENAMED = {"n_jobs": "jobs"}


@pytest.mark.parametrize("name", EVERY_SETTING)
def test_every_setting_is_an_option_of_the_command_line(name: str) -> None:
    assert RENAMED.get(name, name) in inspect.signature(command).parameters


@pytest.mark.parametrize("spec", METHODS, ids=lambda spec: spec.names[0])
def test_a_setting_of_another_method_is_refused_before_any_data_is_read(spec: MethodSpec) -> None:
    method = spec.names[0]
    other = next(name for name in EVERY_SETTING if name not in spec.own)
    with pytest.raises(th.ThresherError, match=f"{method} has no setting `{other}`"):
        th.select("no such file", k=2, method=method, **{other: 1})


def test_none_means_not_set() -> None:
    assert split_settings("mission", {"step": None, "C": None, "kmer": None}) == ({}, {"kmer": None})
    assert split_settings("fgm", {"scale": None, "B": None}) == ({"scale": None}, {})


def test_the_error_for_an_unknown_method_lists_all_methods() -> None:
    with pytest.raises(th.ThresherError, match=r"unknown method 'missoin': did you mean 'mission'\?"):
        th.select(ROWS, LABELS, k=2, method="missoin")


def test_settings_are_checked_before_data_is_opened() -> None:
    for method, wrong in (
        ("mission", {"decay": 2.0}),
        ("fgm", {"C": -1.0}),
        ("sparse-rf", {"gamma": 0.0}),
        ("os", {"c": 2.0}),
    ):
        with pytest.raises(th.ThresherError, match=next(iter(wrong))):
            th.select("no such file", k=2, method=method, **wrong)


def test_every_method_has_one_spec() -> None:
    names = list(method_names())
    assert len(names) == len(set(names))
    assert all(name in get_method(name).names for name in names)


def test_the_specs_list_the_methods_that_the_settings_accept() -> None:
    from thresher.online.settings import METHODS as ONLINE
    from thresher.substitution.settings import STREAMING

    assert {name for spec in METHODS if spec.online for name in spec.names} == set(ONLINE)
    assert {name for spec in METHODS if spec.feature_streams for name in spec.names} == set(STREAMING)


#: Estimators by method, and the settings that they do not offer as parameters.
ESTIMATORS = [
    ("mission", [th.MissionClassifier, th.MissionRegressor]),
    ("b-arda", [th.BudgetedClassifier, th.BudgetedRegressor]),
    ("fgm", [th.FGMClassifier, th.FGMRegressor]),
    ("sparse-rf", [th.SparseRFClassifier, th.SparseRFRegressor]),
    ("os", [th.SubstitutionClassifier, th.SubstitutionRegressor]),
]


@pytest.mark.parametrize(
    ("method", "estimators"), ESTIMATORS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_setting_is_a_parameter_of_an_estimator(method: str, estimators: list[type]) -> None:
    spec = get_method(method)
    offered = {name for estimator in estimators for name in inspect.signature(estimator).parameters}
    if spec.online:  # the settings class serves mission and the budgeted methods, and each estimator its own share
        offered = {name for _, kinds in ESTIMATORS[:2] for kind in kinds for name in inspect.signature(kind).parameters}
    # The rest is handled by the estimator itself: the seed is random_state, labels decide on multilabel.
    handled = {"seed", "multilabel", "method", "keep_names"}
    assert set(user_settings(spec.settings_class)) - handled <= offered
