"""What a 64-bit key means, and how it becomes a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher.errors import SpaceError
from thresher.kmers import Kmers

Kind = Literal["column", "index", "token", "kmer"]


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
    """

    kind: Kind
    size: int | None = None
    kmers: Kmers | None = None

    @property
    def invertible(self) -> bool:
        """Whether a key alone is enough to know the name."""
        return self.kind != "token"

    def decode(self, keys: NDArray[np.uint64]) -> list[str]:
        """The names of ``keys``; only for an invertible space."""
        if not self.invertible:
            raise SpaceError("a hashed key cannot be turned back into its name")
        if self.kmers is not None:
            return self.kmers.decode(keys)
        prefix = "x" if self.kind == "column" else ""
        return [f"{prefix}{key}" for key in keys.tolist()]

    def check_same(self, other: FeatureSpace) -> None:
        """Raise unless a model on this space can be applied to data of the ``other``."""
        sizes_differ = self.size is not None and other.size is not None and self.size != other.size
        if self.kind != other.kind or sizes_differ or self.kmers != other.kmers:
            raise SpaceError(
                f"the model's features are {self}, the data's are {other}: the same key would mean another "
                "feature. Predict on data of the kind the model was made from."
            )

    def __str__(self) -> str:
        plain = {"column": "columns by position", "index": "indices as written", "token": "hashed names"}
        what = plain[self.kind] if self.kmers is None else str(self.kmers)
        return what if self.size is None else f"{what} ({self.size} of them)"

    def to_dict(self) -> dict[str, Any]:
        """As it is written to files."""
        more = {} if self.kmers is None else {"kmers": self.kmers.to_dict()}
        return {"kind": self.kind, "size": self.size, **more}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> FeatureSpace:
        """The reverse of `to_dict`."""
        kmers = fields.get("kmers")
        return cls(fields["kind"], fields["size"], None if kmers is None else Kmers.from_dict(kmers))
