"""``selection.plot``: each method draws one picture, and returns its matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thresher.selection.selection import Selection


class Plotter:
    """The pictures of a selection. They need matplotlib: ``pip install 'thresher[plot]'``.

    Each method draws on ``ax``, or on a new figure, and returns ordinary matplotlib axes, to be changed and saved:
    ``selection.plot.weights().figure.savefig("weights.png")``. What a fit did not gather cannot be drawn: the error
    says what to select with.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection

    def weights(self, top: int = 20, *, label: Any = None, ax: Any = None) -> Any:
        """The strongest features: their weights, with error bars where these are not exact.

        Parameters
        ----------
        top : int
            The number of features.
        label : optional
            Of several classes, only this one; by default a table of all (at most 20).
        ax : matplotlib axes, optional
            Where to draw; by default a new figure.
        """
        from thresher.selection.pictures.bars import weights

        return weights(self._selection, top, label, ax)

    def stability(self, top: int = 30, *, ax: Any = None) -> Any:
        """How sure each feature is: its selection frequency with the threshold, or with ``fdr`` its q-value."""
        from thresher.selection.pictures.bars import stability

        return stability(self._selection, top, ax)

    def scores(self, *, ax: Any = None) -> Any:
        """The held-out loss against the number of features, of ``k="auto"``, or scores on ``validation`` data."""
        from thresher.selection.pictures.curves import scores

        return scores(self._selection, ax)

    def path(self, *, ax: Any = None) -> Any:
        """The objective of ``fgm`` or ``sparse-rf`` and its lower bound; with ``k="auto"`` the score against k."""
        from thresher.selection.pictures.curves import path

        return path(self._selection, ax)

    def learning_curve(self, *, ax: Any = None) -> Any:
        """The progressive loss of an online method over the rows, and the held-out loss after each pass."""
        from thresher.selection.pictures.curves import learning_curve

        return learning_curve(self._selection, ax)

    def history(self, what: str = "timeline", *, ax: Any = None) -> Any:
        """How the kept features of an online method changed while it learned.

        Parameters
        ----------
        what : {"timeline", "jaccard"}
            When each of the strongest features was kept, or how similar the kept sets are.
        ax : matplotlib axes, optional
        """
        from thresher.selection.pictures.curves import history

        return history(self._selection, what, ax)
