"""What sources of tables and of texts share: a form that makes rows of columns, whatever file these come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Names
from thresher.errors import DataError
from thresher.sources.base import Source
from thresher.sources.tables.schema import nearest
from thresher.sources.tables.table_encoder import Labels
from thresher.sources.text.line_source import grouped


class RowForm(Protocol):
    """What makes rows of features out of columns: `TableForm`, or `TextForm`."""

    @property
    def labels(self) -> Labels: ...
    @property
    def needed(self) -> list[str]: ...
    @property
    def width(self) -> int: ...
    def identity(self) -> dict[str, Any]: ...
    def rows(self, arrays: Mapping[str, Any], n: int, **options: Any) -> dict[str, Any]: ...


def no_cells(form: RowForm) -> dict[str, Any]:
    """Columns of nothing, for a batch of no rows."""
    import pyarrow as pa

    return {name: pa.nulls(0, pa.binary()) for name in form.needed}


def find_needed(form: RowForm, names: list[str], file: str, labels_optional: bool) -> dict[str, int]:
    """Where the needed columns stand among those of a file; those of labels may be missing where labels may."""
    if form.labels.target is None and not labels_optional:
        raise no_target(file, names)
    optional = form.labels.needed if labels_optional else []
    found: dict[str, int] = {}
    for name in form.needed:
        if name in names:
            found[name] = names.index(name)
        elif name not in optional:
            raise DataError(f"{file}: there is no column {name!r}{nearest(name, names)}")
    return found


def no_target(file: str, names: list[str]) -> DataError:
    """There are no labels since nobody said where they are."""
    some = ", ".join(map(repr, names[:10]))
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return DataError(
        f"{file}: no column is said to hold the labels: pass target= (--target; an estimator takes "
        f"th.scan_csv(path, target=…) and the like), one of {some}{more}."
    )


def batch_of(made: dict[str, Any], line: NDArray[np.int64]) -> Batch:
    """What a form made, as a batch; ``line`` is that of each row."""
    names = None if made["names"] is None else Names(made["names"], made["text"], made["prefixes"])
    return Batch(made["indptr"], made["keys"], made["values"], made["y"], weight=made["weight"], names=names, line=line)


def whole_files(source: Any, n: int) -> list[Source]:
    """Shards of whole files."""
    Source.shards(source, n)
    return [replace(source, parts=some) for some in grouped(list(source.parts), n)]


def kernel_options(options: Mapping[str, Any], names: Iterable[str] = ("features", "want_names", "only")) -> Any:
    """Those options of a line parser that the kernels of columns know too."""
    return {name: options[name] for name in names}
