"""The slow twin of columns in units of their own: one row, then one column at a time."""

import numpy as np

Row = tuple[list[int], list[float]]


def in_units(
    rows: list[Row], names: list[int], columns: list[tuple[int, float, float]], first_prefix: int
) -> tuple[list[Row], list[int]]:
    """The rows with other features first, then the columns (key, centre, scale) with a centre; and their names.

    The name of the i-th column with a centre is the prefix ``first_prefix`` + i alone.
    """
    scales = {key: scale for key, centre, scale in columns if centre == 0}
    shifted = [column for column in columns if column[1] != 0]
    largest = float(np.finfo(np.float32).max)
    out, spelled, at = [], [], 0
    for keys, values in rows:
        pairs = []
        sums = {key: 0.0 for key, _, _ in shifted}
        for key, value in zip(keys, np.array(values, np.float32).astype(float).tolist(), strict=True):
            if key in sums:
                sums[key] += value
            else:
                with np.errstate(over="ignore"):
                    pairs.append((key, float(np.float32(value / scales.get(key, 1.0)))))
                spelled.append(names[at])
            at += 1
        for number, (key, centre, scale) in enumerate(shifted):
            with np.errstate(over="ignore"):
                value = np.float64(sums[key] - centre) / scale
            value = float(np.float32(min(max(value, -largest), largest)))
            if value != 0:
                pairs.append((key, value))
                spelled.append((first_prefix + number) << 44)
        out.append(([key for key, _ in pairs], [value for _, value in pairs]))
    return out, spelled
