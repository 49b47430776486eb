"""How many workers the data is worth, and how long a round is."""

from __future__ import annotations

#: Rows of a round by default: from `_SHORTEST` on, one part in `_GROWTH` of the rows that a worker has learned, up to
#: `_LONGEST`. Models move fastest in the beginning, so the first rounds are short. The longest is that at which a
#: round of a thousand machines takes a few percent of the time of learning (see docs/cluster.md).
_SHORTEST, _GROWTH, _LONGEST = 512, 16, 65_536
#: A worker has at least this share of the data by default: the mean of models of fewer rows loses accuracy.
LEAST_ROWS, LEAST_BYTES = 10_000, 2 << 20


def rows_of_round(sync: int | None, learned: int) -> int:
    """The rows that each worker learns in the next round, if each has learned this number of rows."""
    return sync if sync is not None else min(max(_SHORTEST, learned // _GROWTH), _LONGEST)


def useful_workers(asked: int, parts: int, rows: int | None, size: int | None, *, rounds_set: bool) -> tuple[int, str]:
    """The number of workers to use, and why there are fewer than asked for, or an empty string.

    Parameters
    ----------
    parts : int
        The most parts that the data can be divided into.
    rows, size : int, optional
        The rows and the bytes of the data, as far as they are known.
    rounds_set : bool
        The rows of a round are set: only the parts limit the number of workers.
    """
    if parts < asked:
        found = f"the data has {parts} {'part' if parts == 1 else 'parts'} that can be read separately"
        return parts, f"{found}, and a part is a few hundred rows or a block of a file; more data has more parts"
    if rounds_set:
        return asked, ""
    if rows is not None and rows < asked * LEAST_ROWS:
        return max(1, rows // LEAST_ROWS), f"the data has {rows} rows, and fewer than {LEAST_ROWS} each cost accuracy"
    if rows is None and size is not None and size < asked * LEAST_BYTES:
        why = f"the data has {size} bytes, and fewer than {LEAST_BYTES} each cost accuracy"
        return max(1, size // LEAST_BYTES), why
    return asked, ""
