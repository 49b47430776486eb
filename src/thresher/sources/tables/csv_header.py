"""The places of the needed columns in the rows of a file, by its header."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher.sources.tables.csv_dialect import Dialect
from thresher.sources.tables.row_encoder import RowEncoder, column_positions


class Places:
    """The columns that are read, and the place of each column of the file among them.

    Attributes
    ----------
    needed : list of str
        The columns that are read, in the order of their places.
    places : array of int
        The place of each column of the file, -1 for one that is not read.
    """

    def __init__(self, needed: list[str], places: NDArray[np.int32]) -> None:
        self.needed = needed
        self.places = places
        self._found: dict[str, int | None] = {}  # of the few columns that are looked up by name

    def place(self, name: str) -> int | None:
        """The place of a column, None if it is not read."""
        if name not in self._found:
            self._found[name] = self.needed.index(name) if name in self.needed else None
        return self._found[name]


class HeaderPlaces:
    """Finds the places of columns, and remembers those of the last header.

    The names of a wide header take megabytes while their places are found, and the files of a table and all passes over
    them share one header.
    """

    def __init__(self) -> None:
        self._last: tuple[bytes, bool, Places] | None = None

    def find(self, first_row: bytes, labels_optional: bool, dialect: Dialect, encoder: RowEncoder, file: str) -> Places:
        """The places of the needed columns in a file with this first row."""
        last = self._last
        if last is not None and last[0] == first_row and last[1] == labels_optional:
            return last[2]
        names = dialect.column_names(first_row)
        positions = column_positions(encoder, names, file, labels_optional)
        needed = list(positions)
        places = np.full(len(names), -1, np.int32)
        places[list(positions.values())] = np.arange(len(needed))
        found = Places(needed, places)
        if dialect.header:
            self._last = first_row, labels_optional, found
        return found
