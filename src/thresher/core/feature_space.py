"""Feature spaces: the meaning of 64-bit feature keys, and their names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher.core.kmers import Kmers
from thresher.core.terms import Expansion
from thresher.errors import SettingsError, SpaceError

Kind = Literal["column", "index", "token", "kmer"]
#: The stored kinds of spaces with products, with hash buckets, with random features, and with expanded features.
PRODUCT, HASHED, DRAWN, EXPANDED = "product", "buckets", "drawn", "expanded"
#: Random features of scaled inputs.
SCALED, LOGGED = "drawn-scaled", "drawn-log"


@dataclass(frozen=True, slots=True)
class Products:
    """The products of features that are features too.

    Parameters
    ----------
    degree : {2, 3}
        Products of two, or of two and of three, different features of a row.
    groups : tuple of tuples, optional
        Only products between these groups of two or three, with one feature from each: namespaces (VW), columns by
        name (tables) or by position (matrices), indices (LIBSVM).
    squares : bool
        Also products of a feature with itself.
    """

    degree: int = 2
    groups: tuple[tuple[str | int, ...], ...] | None = None
    squares: bool = False

    def __post_init__(self) -> None:
        if type(self.degree) is not int or self.degree not in (2, 3):
            raise SettingsError(f"products must be of 2 or 3 features, got {self.degree!r}")
        if self.groups is None:
            return
        if not self.groups or not all(_is_group(group) for group in self.groups):
            raise SettingsError(
                f'expected a list of tuples of two or three groups, for example [("user", "ad")], got {self.groups!r}'
            )

    @classmethod
    def of(cls, interactions: int | Sequence[Sequence[str | int]] | Products | None) -> Products | None:
        """The products of ``interactions=``: 1 (none), 2, 3, or a list of groups to combine."""
        if interactions is None or isinstance(interactions, Products):
            return interactions
        if isinstance(interactions, (int, np.integer)):
            if not isinstance(interactions, bool) and int(interactions) in (1, 2, 3):
                return None if interactions == 1 else cls(int(interactions))
        elif isinstance(interactions, (list, tuple)) and all(_is_group(group) for group in interactions):
            return cls(groups=tuple(tuple(group) for group in interactions))
        raise SettingsError(
            f'interactions must be 1, 2, 3, or a list of groups to combine, for example [("user", "ad")], '
            f"got {interactions!r}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields, as files store them."""
        groups = None if self.groups is None else [list(group) for group in self.groups]
        return {"degree": self.degree, "groups": groups, "squares": self.squares}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Products:
        """The inverse of `to_dict`."""
        groups = fields["groups"]
        if type(fields["squares"]) is not bool:
            raise SettingsError(f"squares must be true or false, got {fields['squares']!r}")
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
    """Feature hashing into ``width`` buckets, with a seed; each feature also has a sign."""

    width: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RandomFeatureSpec:
    """Random features of the other features; the key is the number of a random feature.

    Parameters
    ----------
    kernel : str
        The kernel that they approximate, see `thresher.columns.kernels`.
    gamma : float
        The width parameter of the kernel.
    seed : int
        The random seed. The seed and the number determine a random feature.
    few : int, optional
        The number of randomly chosen inputs of each random feature. The default is all.
    function : callable, optional
        The user's function in place of a kernel.
    factors : tuple of pairs, optional
        The key of each input, ascending, and the factor of its values. Other inputs count as 0. Default: no factors.
    logs : tuple of int
        The keys among them, ascending, whose scaled values v become sign(v) ln(1 + |v|).
    """

    kernel: str
    gamma: float = 1.0
    seed: int = 0
    few: int | None = None
    function: Any = None
    factors: tuple[tuple[int, float], ...] | None = None
    logs: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields, as files store them."""
        if self.function is not None:
            raise SettingsError("a user-defined function cannot be saved to a file: pickle the model instead")
        plain = {"kernel": self.kernel, "gamma": self.gamma, "seed": self.seed, "few": self.few}
        if self.factors is None:
            return plain
        logs = {"logs": list(self.logs)} if self.logs else {}
        return {**plain, "factors": [list(pair) for pair in self.factors], **logs}

    @property
    def kind(self) -> str:
        """The kind of the feature space in files."""
        return DRAWN if self.factors is None else LOGGED if self.logs else SCALED

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> RandomFeatureSpec:
        """The inverse of `to_dict`."""
        kernel, gamma, seed, few = (fields[name] for name in ("kernel", "gamma", "seed", "few"))
        whole = type(seed) is int and 0 <= seed < 2**64 and (few is None or (type(few) is int and few > 0))
        if not (isinstance(kernel, str) and isinstance(gamma, float) and gamma > 0 and whole):
            raise SettingsError("the settings of the random features are invalid")
        factors = None if fields["kind"] == DRAWN else _checked_factors(fields["factors"])
        logs = _checked_logs(fields["logs"], factors or ()) if fields["kind"] == LOGGED else ()
        return cls(kernel, gamma, seed, few, factors=factors, logs=logs)

    def __str__(self) -> str:
        few = "" if self.few is None else f" of {self.few} inputs each"
        few += "" if self.factors is None else " of scaled inputs"
        few += f", {len(self.logs)} of them as logarithms" if self.logs else ""
        return f"{self.kernel} functions{few} (gamma {self.gamma:g}, seed {self.seed})"


def _checked_factors(pairs: Any) -> tuple[tuple[int, float], ...]:
    """The factors of the inputs, as read from a file."""
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise SettingsError("the factors of the inputs must be pairs")
    keys = [key for key, _ in pairs]
    whole = all(type(key) is int and 0 <= key < 2**64 for key in keys) and sorted(set(keys)) == keys
    if not whole or not all(isinstance(factor, float) and 0 <= factor < math.inf for _, factor in pairs):
        raise SettingsError("the factors of the inputs are invalid")
    return tuple((key, factor) for key, factor in pairs)


def _checked_logs(keys: Any, factors: tuple[tuple[int, float], ...]) -> tuple[int, ...]:
    """The keys of the inputs whose logarithms are used, as read from a file."""
    if not isinstance(keys, list) or not keys or not all(type(key) is int for key in keys):
        raise SettingsError("the inputs with logarithms must be a list of keys")
    if sorted(set(keys)) != keys or not {key for key, _ in factors}.issuperset(keys):
        raise SettingsError("the inputs with logarithms must have factors, and ascend")
    return tuple(keys)


def _is_group(group: Any) -> bool:
    """Whether this is a tuple of two or three names or numbers."""
    return (
        isinstance(group, (list, tuple))
        and len(group) in (2, 3)
        and all(isinstance(part, (str, int, np.integer)) and not isinstance(part, bool) for part in group)
    )


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """The meaning of feature keys.

    Parameters
    ----------
    kind : {"column", "index", "token", "kmer"}
        ``column``: the key is the position of a column, named ``x{j}``. ``index``: an index from a file, named by its
        digits. ``token``: the hash of a name, which must be stored. ``kmer``: the encoded letters of a k-mer.
    size : int, optional
        The number of features, if known.
    kmers : Kmers, optional
        For ``kmer``: the k-mers and their encoding.
    products : Products, optional
        Products of these features are features too. Their keys are hashes.
    hashing : Hashing, optional
        Features are hashed: keys are their buckets.
    random_features : RandomFeatureSpec, optional
        Features are random features of these: keys are their numbers.
    expansion : Expansion, optional
        Features are terms formed from these.
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
        """Whether the key alone gives the name."""
        plain = self.kind != "token" and self.products is None and self.expansion is None
        return self.random_features is None and (self.hashing is not None or plain)

    @property
    def by_position(self) -> bool:
        """Whether keys are positions of columns."""
        return (
            self.kind == "column" and (self.products, self.hashing, self.random_features, self.expansion) == (None,) * 4
        )

    def names(self, keys: NDArray[np.uint64], known: dict[int, bytes]) -> list[str]:
        """The names of features: decoded from their keys, or the ``known`` ones, or else ``#key``."""
        if self.invertible:
            return self.decode(keys)
        return [known.get(key, b"").decode("utf-8", "surrogateescape") or f"#{key}" for key in keys.tolist()]

    def decode(self, keys: NDArray[np.uint64]) -> list[str]:
        """The names of ``keys``, in an invertible space."""
        if not self.invertible:
            raise SpaceError("the key is a hash, from which the name cannot be recovered")
        if self.kmers is not None and self.hashing is None:
            return self.kmers.decode(keys)
        prefix = "bucket " if self.hashing is not None else "x" if self.kind == "column" else ""
        return [f"{prefix}{key}" for key in keys.tolist()]

    def with_products(self, products: Products) -> FeatureSpace:
        """This space with products of its features.

        Groups are checked against the kind of the features, and sorted.
        """
        if self.products is not None:
            raise SettingsError("these features include products already: form all products at once")
        if products.groups is None:
            return replace(self, products=products)
        groups = sorted({tuple(sorted(map(self._group, group))) for group in products.groups})
        return replace(self, products=replace(products, degree=max(map(len, groups)), groups=tuple(groups)))

    def without_products(self) -> FeatureSpace:
        """The space without products."""
        return replace(self, products=None)

    def expanded(self, expansion: Expansion) -> FeatureSpace:
        """The space of the terms of an expansion of these features."""
        if self.expansion is not None:
            raise SettingsError("these features are expanded already")
        return replace(self, expansion=expansion)

    def without_expansion(self) -> FeatureSpace:
        """The space before the expansion."""
        return replace(self, expansion=None)

    def hashed(self, hashing: Hashing) -> FeatureSpace:
        """This space with its features hashed into buckets."""
        if self.hashing is not None:
            raise SettingsError("these features are hashed already")
        return replace(self, hashing=hashing)

    def without_hashing(self) -> FeatureSpace:
        """The space before hashing."""
        return replace(self, hashing=None)

    def with_random_features(self, random_features: RandomFeatureSpec) -> FeatureSpace:
        """The space of random features of these features."""
        if self.random_features is not None:
            raise SettingsError("these features are random features already")
        return replace(self, random_features=random_features)

    def without_random_features(self) -> FeatureSpace:
        """The inputs of the random features."""
        return replace(self, random_features=None)

    def _group(self, name: str | int) -> str | int:
        if self.kind == "token":
            if isinstance(name, str):
                return name
            raise SettingsError(f"groups of {self} must be names of namespaces or columns, got {name!r}")
        digits = str(name).removeprefix("x" if self.kind == "column" else "")
        number = int(digits) if digits.isdecimal() else -1
        if not 0 <= number < (2**64 if self.size is None else self.size):
            raise SettingsError(f"groups of {self} must be numbers of features, got {name!r}")
        return number

    def check_same(self, other: FeatureSpace) -> None:
        """Raise unless a model on this space can be applied to data of the ``other`` space."""
        sizes = {self.size, other.size} - {None}
        if (
            self.kind != other.kind
            or len(sizes) > 1
            or (self.products, self.hashing, self.kmers) != (other.products, other.hashing, other.kmers)
            or (self.random_features, self.expansion) != (other.random_features, other.expansion)
        ):
            raise SpaceError(
                f"the model's features are {self}, but the data's are {other}: the same key would mean another "
                "feature. Predict on data of the same kind as the training data."
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
        """The fields, as files store them.

        Products, buckets, random features and expansions have their own kinds, so that a version that does not know
        them rejects the file instead of predicting without them.
        """
        if self.random_features is not None:
            kind = self.random_features.kind
            return {"kind": kind, "of": self.without_random_features().to_dict(), **self.random_features.to_dict()}
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
        """The inverse of `to_dict`."""
        if fields["kind"] in (DRAWN, SCALED, LOGGED):
            return cls.from_dict(fields["of"]).with_random_features(RandomFeatureSpec.from_dict(fields))
        if fields["kind"] == EXPANDED:
            return cls.from_dict(fields["of"]).expanded(Expansion.from_list(fields["terms"]))
        if fields["kind"] == HASHED:
            width, seed = fields["width"], fields["seed"]
            if type(width) is not int or type(seed) is not int or not (1 <= width < 2**32 and 0 <= seed < 2**64):
                raise SettingsError("the number of buckets or their seed is invalid")
            return cls.from_dict(fields["of"]).hashed(Hashing(width, seed))
        if fields["kind"] == PRODUCT:
            return cls.from_dict(fields["of"]).with_products(Products.from_dict(fields))
        kmers = fields.get("kmers")
        return cls(fields["kind"], fields["size"], kmers=None if kmers is None else Kmers.from_dict(kmers))
