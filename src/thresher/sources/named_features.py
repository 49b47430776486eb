"""The features that a fit always keeps or never sees: the settings ``keep`` and ``drop``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from thresher.core.feature_space import FeatureSpace
from thresher.display import listed, quoted, similar
from thresher.errors import SettingsError
from thresher.sources.base import Source
from thresher.sources.feature_keys import key_of, keys_of
from thresher.sources.files.name_list import NameList, check_apart
from thresher.sources.transforms.drop import FeatureDrop, match_positions

#: What is between the parts of the name of a product.
PRODUCT_SIGN = " × "
#: The most names that the provenance lists.
_LISTED = 100


class Stream(Protocol):
    """A stream of features, each of which arrives as a column."""

    @property
    def space(self) -> FeatureSpace:
        """What the keys mean."""

    def without(self, dropped: FeatureDrop) -> Any:
        """The stream without these features."""


@dataclass
class NamedFeatures:
    """What ``keep`` and ``drop`` name.

    Attributes
    ----------
    keep : NameList or None
    drop : FeatureDrop or None
    kept : dict
        The names of the features to keep and their keys, once the source is known.
    """

    keep: NameList | None
    drop: FeatureDrop | None
    kept: dict[str, int]

    @classmethod
    def of(cls, keep: Any, drop: Any) -> NamedFeatures | None:
        """The values of the settings; None if neither is set."""
        if keep is None and drop is None:
            return None
        kept, dropped = NameList.of(keep, "keep"), FeatureDrop.of(drop)
        check_apart(kept, None if dropped is None else dropped.wanted)
        return cls(kept, dropped, {})

    def check_number(self, k: Any) -> None:
        """Raise unless ``k`` is enough for the features to keep."""
        if self.keep is not None and isinstance(k, int) and k < (wanted := max(len(self.keep.names), len(self.kept))):
            raise SettingsError(
                f"`keep` names {wanted} features, and `k` counts them: k must be at least {wanted}, got {k}"
            )

    def check_products(self, interactions: Any) -> None:
        """Raise if a product is named where products are formed: they come and go with their parts."""
        if isinstance(interactions, int) and interactions == 1:
            return
        lists = {"keep": self.keep, "drop": None if self.drop is None else self.drop.wanted}
        for setting, names in lists.items():
            if products := [name for name in ([] if names is None else names.given) if PRODUCT_SIGN in name]:
                raise SettingsError(
                    f"`{setting}` names the product {quoted(products[0])}: name features that are no products. A "
                    "product with a dropped part is dropped, and none is kept whatever its weight is"
                )

    def of_source(self, source: Source, k: Any) -> Source:
        """The rows without the features to drop; finds the keys of those to keep."""
        if self.drop is not None:
            columns = source.feature_columns
            source = self.drop.from_source(source)
            self._check_columns(columns)
        if self.keep is not None:
            self.kept = _keys_of(self.keep, source)
            self.check_number(k)
        return source

    def of_stream(self, stream: Stream, k: Any) -> Any:
        """A stream of features without those to drop; finds the keys of those to keep."""
        if self.keep is not None:
            self.kept = _named_keys(
                self.keep, stream.space, (), lambda name: next(iter(keys_of(stream.space, name)), None)
            )
            self.check_number(k)
        return stream if self.drop is None else stream.without(self.drop)

    def _check_columns(self, columns: Sequence[str]) -> None:
        """Raise if a value to keep is one of a column to drop."""
        dropped = () if self.drop is None else self.drop.columns
        for name in () if self.keep is None else self.keep.names:
            if any(name.startswith((f"{column}=", f"{column}.", f"{column}[")) for column in dropped if column != name):
                raise SettingsError(f"`keep` names {quoted(name)}, and `drop` its column: decide for one of them")

    def warnings(self, counts: dict[str, int]) -> list[str]:
        """A sentence each about names to keep or to drop that no feature had; ``counts`` are those of the answer."""
        found = [] if self.drop is None else self.drop.warnings(list(counts))
        if never := [name for name in self.kept if not counts.get(name, 0)]:
            close = similar(never[0], [name for name, count in counts.items() if count])
            advice = f" Did you mean {' or '.join(map(quoted, close))} instead of {quoted(never[0])}?" if close else ""
            found.append(
                f"`keep` names features that no row to learn from has: {listed(never, 5)}. They have no weight.{advice}"
            )
        return found

    def facts(self) -> dict[str, Any]:
        """What was kept and dropped, for the provenance of a selection."""
        kept = {} if self.keep is None else {"kept": {"count": len(self.kept), "names": list(self.kept)[:_LISTED]}}
        return kept if self.drop is None else {**kept, "dropped": self.drop.facts()}


def _keys_of(keep: NameList, source: Source) -> dict[str, int]:
    """The features of a source to keep and their keys."""
    dense = source.dense_columns
    numbers = [] if dense is None or dense.names is None else [name.decode() for name in dense.names]
    for name in keep.names:
        if name in source.feature_columns and name not in numbers:
            raise SettingsError(
                f"`keep` names {quoted(name)}, a column of which each value is a feature: name the values to keep, as "
                f"{quoted(name + '=…')}"
            )
    return _named_keys(keep, source.space, numbers, lambda name: key_of(source, name))


def _named_keys(
    keep: NameList, space: FeatureSpace, numbers: Sequence[str], find: Callable[[str], int | None]
) -> dict[str, int]:
    """The features to keep and their keys; ``numbers`` are the columns that patterns may match."""
    names = dict.fromkeys(keep.names)
    for pattern in keep.patterns:
        found = match_positions(space, pattern)
        if found is None and numbers:
            found = [column for column in numbers if pattern.matches(column)]
        if found is None:
            raise SettingsError(
                f"`keep` has the pattern {quoted(pattern.text)}, but the names of the features are not known before "
                "the first row: name each feature to keep, or pass a file of names, `@features.txt`"
            )
        names |= dict.fromkeys(found)
    keys = {name: find(name) for name in names}
    if unknown := [name for name, key in keys.items() if key is None]:
        raise SettingsError(f"`keep` names {quoted(unknown[0])}, but the data's features are {space}")
    return {name: key for name, key in keys.items() if key is not None}
