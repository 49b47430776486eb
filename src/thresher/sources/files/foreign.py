"""Files of other programs that are no data for Thresher: what they are, and what to do with them."""

from __future__ import annotations

import re
from typing import NamedTuple


class Foreign(NamedTuple):
    """A kind of file."""

    #: What the file is, and what to do.
    what: str
    advice: str
    #: What its first bytes match.
    start: re.Pattern[bytes]
    #: Its endings, if other kinds of files have the same first bytes.
    endings: tuple[str, ...] = ()


_ZIP, _HDF5 = re.compile(rb"PK\x03\x04"), re.compile(rb"\x89HDF\r\n\x1a\n")
_TABLE = "Save the sheet as CSV, or read it with pandas and pass the DataFrame."
_MATRIX = "Load it in Python ({}) and pass the matrix and its labels."

#: The first entry that matches counts.
KINDS = (
    Foreign("an Excel workbook", _TABLE, _ZIP, ("xlsx", "xlsm")),
    Foreign("an OpenDocument sheet", _TABLE, _ZIP, ("ods",)),
    Foreign("a NumPy archive", _MATRIX.format("numpy.load or scipy.sparse.load_npz"), _ZIP, ("npz",)),
    Foreign(
        "a zip archive", "Unpack it; gzip, zstd, xz and bzip2 are read directly.", re.compile(rb"PK(\x03\x04|\x05\x06)")
    ),
    Foreign(
        "an Office document of an old version, such as .xls", _TABLE, re.compile(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    ),
    Foreign("a MATLAB file", _MATRIX.format("h5py"), _HDF5, ("mat",)),
    Foreign("a MATLAB file", _MATRIX.format("scipy.io.loadmat"), re.compile(rb"MATLAB 5.0 MAT-file")),
    Foreign("an HDF5 file", _MATRIX.format("h5py or pandas.read_hdf"), _HDF5),
    Foreign("a NumPy array", _MATRIX.format("numpy.load"), re.compile(rb"\x93NUMPY")),
    Foreign(
        "a Python pickle",
        "Load it in Python, if you trust its origin, and pass the data.",
        re.compile(rb"\x80[\x02-\x05][\x80-\xffKJGX(}\]c]"),
    ),
    Foreign("an R data file", "Write the data frame as CSV or Parquet in R.", re.compile(rb"RD[AX][2-9]\n")),
    Foreign(
        "a PDF document", "Extract its text or tables first, and save them as CSV or JSON lines.", re.compile(rb"%PDF-")
    ),
    Foreign("an SQLite database", "Write the result of a query as CSV or Parquet.", re.compile(rb"SQLite format 3\0")),
    Foreign("a tar archive", "Unpack it.", re.compile(rb"(?s).{257}ustar")),
    Foreign("a 7z archive", "Unpack it.", re.compile(rb"7z\xbc\xaf\x27\x1c")),
    Foreign("a RAR archive", "Unpack it.", re.compile(rb"Rar!\x1a\x07")),
    Foreign(
        "an image",
        "Compute its features first, and save them as a table.",
        re.compile(rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a"),
    ),
    Foreign(
        "a web page",
        "Fetch the data itself: the address or a login may be wrong.",
        re.compile(rb"(?i)\s*<(!doctype html|html)"),
    ),
    Foreign(
        "a selection or a checkpoint of Thresher",
        "Pass the data; predict and inspect take a selection.",
        re.compile(rb"\x89THR\r\n\x1a\n"),
    ),
)
#: Text that is recognised only if no format matches it.
JSON_ARRAY = Foreign("a JSON array", "Write one object per line, as jq -c '.[]' does.", re.compile(rb"\s*\["))
#: The number of first bytes that show the kind.
HEAD = 512
