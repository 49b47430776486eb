r"""Budgeted online learning over dense arrays, O(d) an example: B-ARDA, B-AMD, OFS, SOFS, l1-ARDA, Ada-Fobos.

Notes
-----
Every class holds weights :math:`W`, lanes x d, and learns one example at a time by ``step(x, slopes)``: the gradient of
the loss in a lane's weights is :math:`g = \text{slope} \cdot x`. Ties go to the smaller position, and with several
lanes ``split`` gives every lane a budget of its own; otherwise what features are ranked by adds up over lanes. With
``groups`` it adds up over the members of a group too, and the budget is one of groups.

Zhai, Wang, Koriche, Gao, "Online Feature Selection by Adaptive Sub-gradient Methods", ECML 2018.
"""

import numpy as np


def strongest(rank, budget):
    """A mask of the ``budget`` largest positive entries, ties to the smaller position."""
    order = np.lexsort((np.arange(len(rank)), -rank))[:budget]
    mask = np.zeros(len(rank), bool)
    mask[order] = rank[order] > 0
    return mask


class Budgeted:
    """What the methods share: weights, the truncation, and the number of steps."""

    def __init__(
        self, d, budget, *, lanes=1, eta=1.0, lam=0.0, delta=1e-2, split=False, naive=False, groups=None, by_size=False
    ):
        self.budget, self.eta, self.lam, self.delta = budget, eta, lam, delta
        self.split, self.naive = split, naive
        self.groups, self.by_size = groups, by_size  # the number of each position's group, -1 for none
        self.w = np.zeros((lanes, d))
        self.z = self.w.copy()  # before the truncation
        self.t = 0

    def truncate(self, z, rank):
        """Weights of the features of highest rank; ``rank`` is lanes x d."""
        self.z = z
        if self.groups is not None:
            masks = np.broadcast_to(self.strongest_groups(rank.sum(axis=0)), z.shape)
        elif self.split:
            masks = np.stack([strongest(row, self.budget) for row in rank])
        else:
            masks = np.broadcast_to(strongest(rank.sum(axis=0), self.budget), z.shape)
        self.w = np.where(masks, z, 0.0)

    def strongest_groups(self, rank):
        """A mask of the members of the ``budget`` groups of the largest sum (or mean) of ranks."""
        there = self.groups >= 0
        sizes = np.bincount(self.groups[there])
        sums = np.bincount(self.groups[there], weights=rank[there]) / (sizes if self.by_size else 1)
        return there & strongest(sums, self.budget)[self.groups]


class BARDA(Budgeted):
    r"""Algorithm 1: :math:`z = -\eta G / (\lambda\eta t + H)`, kept by :math:`H z^2` (naively by :math:`z^2`)."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.sums, self.squares = np.zeros_like(self.w), np.zeros_like(self.w)

    @property
    def h(self):
        """The diagonal of H."""
        return self.delta + np.sqrt(self.squares)

    def step(self, x, slopes):
        """One example, with or without a loss: t goes on."""
        g = np.outer(slopes, x)
        self.t += 1
        self.sums += g
        self.squares += g * g
        z = -self.eta * self.sums / (self.lam * self.eta * self.t + self.h)
        self.truncate(z, z * z if self.naive else self.h * z * z)


class BAMD(Budgeted):
    r"""Algorithm 2: :math:`z = w - \eta g / H` with :math:`\lambda w` in g, kept by :math:`H |z|`."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.squares = np.zeros_like(self.w)

    h = BARDA.h

    def step(self, x, slopes):
        """One example; with a regulariser, weights move without a loss too."""
        g = np.outer(slopes, x) + self.lam * self.w
        self.t += 1
        self.squares += g * g
        z = self.w - self.eta * g / self.h
        self.truncate(z, np.abs(z) if self.naive else self.h * np.abs(z))


class OFS(Budgeted):
    r"""A step of gradient descent, the l2 ball of radius :math:`1/\sqrt\lambda`, the largest weights."""

    def step(self, x, slopes):
        """One example; nothing happens without a loss."""
        self.t += 1
        if not np.any(slopes):
            return
        z = (1 - self.lam * self.eta) * self.w - self.eta * np.outer(slopes, x)
        norm = np.sqrt((z * z).sum())
        if self.lam > 0 and norm > 1 / np.sqrt(self.lam):
            z = z / (np.sqrt(self.lam) * norm)
        self.truncate(z, np.abs(z) if self.split else z * z)


class SOFS(Budgeted):
    r"""Diagonal AROW with :math:`r = 1/\eta`; those of the smallest variance are kept, whatever their weights."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.variance = np.ones_like(self.w)

    def step(self, x, slopes):
        """One example; a lane without a loss stays as it is."""
        self.t += 1
        if not np.any(slopes):
            return
        z = self.w.copy()
        for c in np.flatnonzero(slopes):
            beta = 1 / (self.variance[c] @ (x * x) + 1 / self.eta)
            z[c] -= beta * slopes[c] * self.variance[c] * x
            self.variance[c] = self.variance[c] - beta * (self.variance[c] * x) ** 2
        # Ranked by how far the variance has come down, which is nothing for features never seen.
        variance = self.variance if self.split else np.broadcast_to(self.variance.mean(axis=0), z.shape)
        self.truncate(z, np.where(variance < 1, 1 / variance, 0.0) / (1 if self.split else len(z)))


class L1ARDA(BARDA):
    r""":math:`z = -\eta\,\mathrm{sign}(G) (|G| - \lambda t)_+ / H`: as many features as λ leaves."""

    def step(self, x, slopes):
        """One example."""
        g = np.outer(slopes, x)
        self.t += 1
        self.sums += g
        self.squares += g * g
        self.w = -self.eta * np.sign(self.sums) * np.maximum(0, np.abs(self.sums) - self.lam * self.t) / self.h


class AdaFobos(BAMD):
    r""":math:`z = w - \eta g / H`, then :math:`\mathrm{sign}(z) (|z| - \eta\lambda/H)_+`."""

    def step(self, x, slopes):
        """One example."""
        g = np.outer(slopes, x)
        self.t += 1
        self.squares += g * g
        z = self.w - self.eta * g / self.h
        self.w = np.sign(z) * np.maximum(0, np.abs(z) - self.eta * self.lam / self.h)


TWINS = {"b-arda": BARDA, "b-amd": BAMD, "ofs": OFS, "sofs": SOFS, "l1-arda": L1ARDA, "ada-fobos": AdaFobos}
#: What the loss of losses.py is multiplied by: the paper's squared hinge has no half before it.
FACTORS = {"sofs": 1.0}


class SketchedBARDA(BARDA):
    """B-ARDA whose outsiders share cells: ``cells`` and ``signs`` are those of every position. One table.

    The features of a row move one after the other, kept ones first. A newcomer takes its cell's sums along and leaves
    it empty; who leaves adds its own sums to its cell. Cells are single precision.
    """

    def __init__(self, *args, cells, signs, width, **kwargs):
        super().__init__(*args, **kwargs)
        self.cells, self.signs = cells, np.asarray(signs, np.float32)
        lanes = len(self.w)
        self.shared = np.zeros((2, lanes, width), np.float32)
        self.kept = {}  # position -> (G, squares), lanes each

    def weight(self, sums, squares):
        """Of one feature, lane by lane."""
        return -self.eta * sums / (self.lam * self.eta * self.t + self.delta + np.sqrt(squares))

    def rank(self, sums, squares):
        """What it is kept by."""
        z = self.weight(sums, squares)
        return float(((1.0 if self.naive else self.delta + np.sqrt(squares)) * z * z).sum())

    def seen_as(self, j):
        """The cell of a position as that one sees it."""
        cell = self.shared[:, :, self.cells[j]]
        return (self.signs[j] * cell[0]).astype(float), cell[1].astype(float)

    def share(self, j, sums, squares):
        self.shared[0, :, self.cells[j]] = self.signs[j] * sums.astype(np.float32)
        self.shared[1, :, self.cells[j]] = squares.astype(np.float32)

    def step(self, x, slopes):
        """One example."""
        slopes = np.asarray(slopes, float)
        self.t += 1
        if slopes.any():
            there = np.flatnonzero(x)
            for j in [j for j in there if j in self.kept]:
                sums, squares = self.kept[j]
                self.kept[j] = (sums + slopes * x[j], squares + (slopes * x[j]) ** 2)
            members = set(self.kept)
            for j in [j for j in there if j not in members]:
                self.outsider(j, slopes * x[j])
        self.w[:] = 0.0
        for j, sums in self.kept.items():
            self.w[:, j] = self.weight(*sums)

    def outsider(self, j, g):
        sums, squares = self.seen_as(j)
        self.share(j, sums + g, squares + g * g)
        rank = self.rank(*self.seen_as(j))
        if rank <= 0:
            return
        if len(self.kept) == self.budget:
            weakest = min(self.kept, key=lambda i: (self.rank(*self.kept[i]), -i))
            if (rank, -j) <= (self.rank(*self.kept[weakest]), -weakest):
                return
            gone = self.kept.pop(weakest)
            there = self.seen_as(weakest)
            self.share(weakest, there[0] + gone[0], there[1] + gone[1])
        self.kept[j] = self.seen_as(j)
        self.share(j, np.zeros_like(g), np.zeros_like(g))
