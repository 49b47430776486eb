"""Margins of a linear model over named keys, and the features it looks at."""


def margins(rows, index: list[int], weights: list[list[float]], intercept: list[float]) -> list[list[float]]:
    r"""For each row and output c, the margin :math:`b_c + \sum_j w_{c, at(key_j)} x_j`, added in the row's order."""
    out = []
    for keys, values in rows:
        sums = list(intercept)
        for key, value in zip(keys, values, strict=True):
            if key in index:
                for c in range(len(sums)):
                    sums[c] += weights[c][index.index(key)] * value
        out.append(sums)
    return out


def keep(rows, index: list[int]) -> list[list[tuple[int, int]]]:
    """For each row, the (position in the index, place among all features) of those that are in the index."""
    out, place = [], 0
    for keys, _ in rows:
        out.append([(index.index(key), place + j) for j, key in enumerate(keys) if key in index])
        place += len(keys)
    return out
