"""What a 64-bit key means, and how it becomes a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher.core.kmers import Kmers
from thresher.core.terms import Expansion
from thresher.errors import SettingsError, SpaceError

Kind = Literal["column", "index", "token", "kmer"]
#: What stands in place of the kind where products of features are features too, where features are buckets, and where
#: they are functions drawn at random or made of others.
PRODUCT, HASHED, DRAWN, EXPANDED = "product", "buckets", "drawn", "expanded"


@dataclass(frozen=True, slots=True)
class Products:
    """Which products of features are features too.

    Parameters
    ----------
    degree : {2, 3}
        Products of two, or of two and of three, different features of a row.
    groups : tuple of tuples, optional
        Only products between these groups, one feature from each of the two or three: namespaces (VW),
        columns by name (tables) or by position (matrices), indices (LIBSVM).
    squares : bool
        Also of a feature with itself.
    """

    degree: int = 2
    groups: tuple[tuple[str | int, ...], ...] | None = None
    squares: bool = False

    def __post_init__(self) -> None:
        if type(self.degree) is not int or self.degree not in (2, 3):
            raise SettingsError(f"products are of 2 or 3 features, not of {self.degree!r}")
        if self.groups is None:
            return
        if not self.groups or not all(_is_group(group) for group in self.groups):
            raise SettingsError(
                f'not a list of groups to combine, two or three at a time, as in [("user", "ad")]: {self.groups!r}'
            )

    @classmethod
    def of(cls, interactions: int | Sequence[Sequence[str | int]] | Products | None) -> Products | None:
        """What ``interactions=`` means: 1 (none), 2, 3, or a list of groups to combine."""
        if interactions is None or isinstance(interactions, Products):
            return interactions
        if isinstance(interactions, (int, np.integer)):
            if not isinstance(interactions, bool) and int(interactions) in (1, 2, 3):
                return None if interactions == 1 else cls(int(interactions))
        elif isinstance(interactions, (list, tuple)) and all(_is_group(group) for group in interactions):
            return cls(groups=tuple(tuple(group) for group in interactions))
        raise SettingsError(
            f'interactions is 1, 2, 3, or a list of groups to combine as in [("user", "ad")], not {interactions!r}'
        )

    def to_dict(self) -> dict[str, Any]:
        """As it is written to files."""
        groups = None if self.groups is None else [list(group) for group in self.groups]
        return {"degree": self.degree, "groups": groups, "squares": self.squares}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Products:
        """The reverse of `to_dict`."""
        groups = fields["groups"]
        if type(fields["squares"]) is not bool:
            raise SettingsError(f"squares are wanted or not, not {fields['squares']!r}")
        return cls(
            fields["degree"], None if groups is None else tuple(tuple(group) for group in groups), fields["squares"]
        )

    def __str__(self) -> str:
        if self.groups is None:
            what = f"products of {'two' if self.degree == 2 else 'two or three'} of them"
        else:
            what = "products " + ", ".join(" × ".join(map(str, group)) for group in self.groups)
        return what + (", squares too" if self.squares else "")


@dataclass(frozen=True, slots=True)
class Hashing:
    """Features thrown into buckets: ``width`` of them, by a hash with this seed, each with a sign."""

    width: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RandomFeatureSpec:
    """Features that are functions of the others, drawn at random: the key is the number of a draw.

    Parameters
    ----------
    kernel : str
        Whose random features they are, see `thresher.columns.kernels`.
    gamma : float
        Its width.
    seed : int
        With the number of a draw, all that a function is made of.
    few : int, optional
        A function looks at so many inputs only, chosen at random.
    function : callable, optional
        In place of a kernel: what `thresher.RandomFeatures` was given.
    """

    kernel: str
    gamma: float = 1.0
    seed: int = 0
    few: int | None = None
    function: Any = None

    def to_dict(self) -> dict[str, Any]:
        """As it is written to files."""
        if self.function is not None:
            raise SettingsError("a function of your own cannot be written to a file: pickle the model instead")
        return {"kernel": self.kernel, "gamma": self.gamma, "seed": self.seed, "few": self.few}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> RandomFeatureSpec:
        """The reverse of `to_dict`."""
        kernel, gamma, seed, few = (fields[name] for name in ("kernel", "gamma", "seed", "few"))
        whole = type(seed) is int and 0 <= seed < 2**64 and (few is None or (type(few) is int and few > 0))
        if not (isinstance(kernel, str) and isinstance(gamma, float) and gamma > 0 and whole):
            raise SettingsError("functions drawn by no rule")
        return cls(kernel, gamma, seed, few)

    def __str__(self) -> str:
        few = "" if self.few is None else f" of {self.few} inputs each"
        return f"{self.kernel} functions{few} (gamma {self.gamma:g}, seed {self.seed})"


def _is_group(group: Any) -> bool:
    """Whether this is two or three names or numbers."""
    return (
        isinstance(group, (list, tuple))
        and len(group) in (2, 3)
        and all(isinstance(part, (str, int, np.integer)) and not isinstance(part, bool) for part in group)
    )


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """The meaning of keys.

    Parameters
    ----------
    kind : {"column", "index", "token", "kmer"}
        ``column``: the position of a column, named ``x{j}``. ``index``: a number as it stands in a
        file, named by its digits. ``token``: the hash of a name, which must be kept to be known.
        ``kmer``: letters of a sequence, named by these.
    size : int, optional
        How many features there are, where that is known.
    kmers : Kmers, optional
        For ``kmer``: which ones, and how they stand in a key.
    products : Products, optional
        Products of these features are features too. Their keys are hashes.
    hashing : Hashing, optional
        Features are not told apart: keys are the buckets they fall into.
    random_features : RandomFeatureSpec, optional
        Features are functions of these, drawn at random: keys are the numbers of the draws.
    expansion : Expansion, optional
        Features are these, made of the others.
    """

    kind: Kind
    size: int | None = None
    products: Products | None = None
    hashing: Hashing | None = None
    kmers: Kmers | None = None
    random_features: RandomFeatureSpec | None = None
    expansion: Expansion | None = None

    @property
    def invertible(self) -> bool:
        """Whether a key alone is enough to know the name."""
        plain = self.kind != "token" and self.products is None and self.expansion is None
        return self.random_features is None and (self.hashing is not None or plain)

    @property
    def by_position(self) -> bool:
        """Whether keys are positions of columns."""
        return (
            self.kind == "column" and (self.products, self.hashing, self.random_features, self.expansion) == (None,) * 4
        )

    def decode(self, keys: NDArray[np.uint64]) -> list[str]:
        """The names of ``keys``; only for an invertible space."""
        if not self.invertible:
            raise SpaceError("a hashed key cannot be turned back into its name")
        if self.kmers is not None and self.hashing is None:
            return self.kmers.decode(keys)
        prefix = "bucket " if self.hashing is not None else "x" if self.kind == "column" else ""
        return [f"{prefix}{key}" for key in keys.tolist()]

    def with_products(self, products: Products) -> FeatureSpace:
        """This space with products of its features.

        Groups are checked against what the features are, and put into an order that does not depend on
        how they were written.
        """
        if self.products is not None:
            raise SettingsError("these features are products already: form all of them at once")
        if products.groups is None:
            return replace(self, products=products)
        groups = sorted({tuple(sorted(map(self._group, group))) for group in products.groups})
        return replace(self, products=replace(products, degree=max(map(len, groups)), groups=tuple(groups)))

    def without_products(self) -> FeatureSpace:
        """The features that the products are of."""
        return replace(self, products=None)

    def expanded(self, expansion: Expansion) -> FeatureSpace:
        """The space of these features, made of those here."""
        if self.expansion is not None:
            raise SettingsError("these features are made of others already")
        return replace(self, expansion=expansion)

    def without_expansion(self) -> FeatureSpace:
        """The features that others are made of."""
        return replace(self, expansion=None)

    def hashed(self, hashing: Hashing) -> FeatureSpace:
        """This space with its features in buckets."""
        if self.hashing is not None:
            raise SettingsError("these features are hashed already")
        return replace(self, hashing=hashing)

    def without_hashing(self) -> FeatureSpace:
        """The features that fell into the buckets."""
        return replace(self, hashing=None)

    def with_random_features(self, random_features: RandomFeatureSpec) -> FeatureSpace:
        """Functions of these features, drawn at random."""
        if self.random_features is not None:
            raise SettingsError("these features are drawn at random already")
        return replace(self, random_features=random_features)

    def without_random_features(self) -> FeatureSpace:
        """The features that the functions are of."""
        return replace(self, random_features=None)

    def _group(self, name: str | int) -> str | int:
        if self.kind == "token":
            if isinstance(name, str):
                return name
            raise SettingsError(f"groups of {self} are namespaces or columns by name, not {name!r}")
        digits = str(name).removeprefix("x" if self.kind == "column" else "")
        number = int(digits) if digits.isdecimal() else -1
        if not 0 <= number < (2**64 if self.size is None else self.size):
            raise SettingsError(f"groups of {self} are single features by number, and {name!r} is none of them")
        return number

    def check_same(self, other: FeatureSpace) -> None:
        """Raise unless a model on this space can be applied to data of the ``other``."""
        sizes = {self.size, other.size} - {None}
        if (
            self.kind != other.kind
            or len(sizes) > 1
            or (self.products, self.hashing, self.kmers) != (other.products, other.hashing, other.kmers)
            or (self.random_features, self.expansion) != (other.random_features, other.expansion)
        ):
            raise SpaceError(
                f"the model's features are {self}, the data's are {other}: the same key would mean another "
                "feature. Predict on data of the kind the model was made from."
            )

    def __str__(self) -> str:
        plain = {"column": "columns by position", "index": "indices as written", "token": "hashed names"}
        what = plain[self.kind] if self.kmers is None else str(self.kmers)
        sized = what if self.size is None else f"{what} ({self.size} of them)"
        formed = sized if self.products is None else f"{sized} and {self.products}"
        made = formed if self.expansion is None else f"{self.expansion}: {formed}"
        held = made if self.hashing is None else f"{made} in {self.hashing.width} buckets"
        return held if self.random_features is None else f"{self.random_features} of {held}"

    def to_dict(self) -> dict[str, Any]:
        """As it is written to files.

        With products, buckets or functions the kind is another one, so that a reader who does not know of these refuses
        the file instead of predicting without them.
        """
        if self.random_features is not None:
            return {"kind": DRAWN, "of": self.without_random_features().to_dict(), **self.random_features.to_dict()}
        if self.expansion is not None:
            return {"kind": EXPANDED, "of": self.without_expansion().to_dict(), "terms": self.expansion.to_list()}
        if self.hashing is not None:
            of = self.without_hashing().to_dict()
            return {"kind": HASHED, "of": of, "width": self.hashing.width, "seed": self.hashing.seed}
        more = {} if self.kmers is None else {"kmers": self.kmers.to_dict()}
        plain = {"kind": self.kind, "size": self.size, **more}
        return plain if self.products is None else {"kind": PRODUCT, "of": plain, **self.products.to_dict()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> FeatureSpace:
        """The reverse of `to_dict`."""
        if fields["kind"] == DRAWN:
            return cls.from_dict(fields["of"]).with_random_features(RandomFeatureSpec.from_dict(fields))
        if fields["kind"] == EXPANDED:
            return cls.from_dict(fields["of"]).expanded(Expansion.from_list(fields["terms"]))
        if fields["kind"] == HASHED:
            if type(fields["width"]) is not int or type(fields["seed"]) is not int or not 1 <= fields["width"] < 2**32:
                raise SettingsError("buckets of no number")
            return cls.from_dict(fields["of"]).hashed(Hashing(fields["width"], fields["seed"]))
        if fields["kind"] == PRODUCT:
            return cls.from_dict(fields["of"]).with_products(Products.from_dict(fields))
        kmers = fields.get("kmers")
        return cls(fields["kind"], fields["size"], kmers=None if kmers is None else Kmers.from_dict(kmers))
