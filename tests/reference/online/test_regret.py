r"""The regret of B-ARDA and B-AMD on random streams, below the bounds of Theorems 1 and 2.

Notes
-----
The bounds as printed have slips; what the proofs in the appendix give is

* Theorem 1, with :math:`\delta \ge \max_t \|g_t\|_\infty`:
  :math:`\frac{\delta}{2\eta}\|w^*\|_2^2 + (\frac{1}{2\eta}\|w^*\|_\infty^2 + \eta)\,S + \xi\sqrt{2TS}` with
  :math:`S = \sum_i \|g_{1:T,i}\|_2` (printed: :math:`\|w^*\|_\infty`, not squared).
* Theorem 2: :math:`\frac1\eta\|w^*\|_\infty\sum_t\xi_t + \frac{\delta}{2\eta}\|w^*\|_2^2 +
  (\frac{1}{2\eta}\max_t\|w^* - w_t\|_\infty^2 + \eta)\,S` (printed without the second term, which is the
  part of :math:`D_{\psi_1}(w^*, w_1)` that comes from δ).
"""

import numpy as np
import pytest

from tests.reference.online.budgeted import BAMD, BARDA


def losses(w, x, y, lam):
    """The squared hinge of every row, as the paper has it, and the regulariser."""
    return np.maximum(0, 1 - y * (x @ w)) ** 2 + lam / 2 * (w @ w)


def stream(seed, rows=400, d=30):
    rng = np.random.default_rng(seed)
    truth = np.where(np.arange(d) < 4, rng.normal(size=d), 0.0)
    x = rng.normal(size=(rows, d)) * (rng.random((rows, d)) < 0.3) / np.sqrt(d)
    return x, np.where(x @ truth + 0.05 * rng.normal(size=rows) > 0, 1.0, -1.0), truth


def learned(twin, x, y, lam, in_gradient):
    """The losses along the way, the gradients, the weights at each step, and the truncation errors."""
    met, gradients, weights, errors, heights = [], [], [], [], []
    for row, target in zip(x, y, strict=True):
        w = twin.w[0].copy()
        met.append(losses(w, row[None], np.array([target]), lam)[0])
        slope = -2 * target * max(0.0, 1 - target * (w @ row))
        gradients.append(slope * row + (lam * w if in_gradient else 0.0))
        weights.append(w)
        twin.step(row, np.array([slope]))
        gap = (twin.w - twin.z)[0]
        errors.append(gap)
        heights.append(twin.h[0].copy())
    return np.array(met), np.array(gradients), np.array(weights), np.array(errors), np.array(heights)


def rivals(truth, x, y, lam):
    """Weights to compare with: nothing, the truth at several lengths, and what least squares says."""
    ridge = np.linalg.solve(x.T @ x + 0.1 * np.eye(x.shape[1]), x.T @ y)
    return [0 * truth, truth, 5 * truth, ridge]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lam", [0.0, 1e-2])
@pytest.mark.parametrize(("budget", "eta"), [(3, 0.5), (10, 0.1), (30, 2.0)])
def test_theorem_1(seed, lam, budget, eta):
    x, y, truth = stream(seed)
    delta = 8.0
    met, g, _, gaps, heights = learned(BARDA(30, budget, eta=eta, lam=lam, delta=delta), x, y, lam, False)
    assert np.abs(g).max() <= delta
    # The error of the weights that row t met was made at step t - 1.
    xi = np.sqrt((heights[:-1] * gaps[:-1] ** 2).sum(axis=1)).max()
    total = np.sqrt((g**2).sum(axis=0)).sum()
    for w in rivals(truth, x, y, lam):
        bound = delta / (2 * eta) * (w @ w) + (np.abs(w).max() ** 2 / (2 * eta) + eta) * total
        bound += xi * np.sqrt(2 * len(x) * total)
        assert met.sum() - losses(w, x, y, lam).sum() <= bound


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lam", [0.0, 1e-2])
@pytest.mark.parametrize(("budget", "eta"), [(3, 0.5), (10, 0.1), (30, 2.0)])
def test_theorem_2(seed, lam, budget, eta):
    x, y, truth = stream(seed)
    delta = 0.01
    met, g, weights, gaps, heights = learned(BAMD(30, budget, eta=eta, lam=lam, delta=delta), x, y, lam, True)
    errors = (heights * np.abs(gaps)).sum()
    total = np.sqrt((g**2).sum(axis=0)).sum()
    for w in rivals(truth, x, y, lam):
        bound = np.abs(w).max() * errors / eta + delta / (2 * eta) * (w @ w)
        bound += (np.abs(w - weights).max() ** 2 / (2 * eta) + eta) * total
        assert met.sum() - losses(w, x, y, lam).sum() <= bound
