"""The lines of a report about stand-ins of the selected features, and about the words of selected k-mers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thresher.display import cut, visible

if TYPE_CHECKING:
    from thresher.selection.selection import Selection

#: The most features whose stand-ins are listed, of each the most stand-ins; the most words, and their most letters.
_FEATURES, _STAND_INS, _WORDS, _LETTERS = 10, 3, 5, 60


def stand_in_lines(selection: Selection) -> list[tuple[str, str]]:
    """Pairs of a title and a line, those below the first without a title."""
    lines = []
    if selection.stand_ins is not None:
        lines += _titled("stand-ins", _stand_ins(selection))
    if (facts := selection.provenance.get("stand_ins", {})).get("collapse"):
        gone = len(facts.get("collapsed", {"names": []})["names"])
        what = f"{gone} features, now stand-ins of stronger ones; their places stay free" if gone else "no feature"
        lines.append(("collapsed", what))
    if words := selection.words:
        parts = sum(len(word.kmers) for word in words)
        shown = [f"{len(words)} of {parts} of the k-mers, which overlap and occur together"]
        for word in words[:_WORDS]:
            weight = f"weight {word.weight:.4g}, " if isinstance(word.weight, float) else ""
            shown.append(f"{cut(str(word), _LETTERS)}  ({weight}{len(word.kmers)} k-mers)")
        lines += _titled("words", shown + _more(len(words) - _WORDS, "words"))
    return lines


def _stand_ins(selection: Selection) -> list[str]:
    facts = selection.provenance["stand_ins"]
    found = selection.stand_ins or {}
    least = f"an absolute cosine of at least {facts['threshold']:g}"
    shown = [f"{len(found)} of {len(selection)} features have other columns nearly the same, with {least}"]
    if facts["incomplete"]:
        shown[0] += f"; of {len(facts['incomplete'])} features `memory` was too small to find all"
    listed = [name for name in selection.names if name in found]
    for name in listed[:_FEATURES]:
        others = found[name]
        parts = [f"{cut(visible(other))} {cosine:.3f}" for other, cosine in others[:_STAND_INS]]
        more = len(others) + facts["more"].get(name, 0) - len(parts)
        shown.append(f"{cut(visible(name))}: {', '.join(parts)}{f' and {more} more' if more else ''}")
    return shown + _more(len(listed) - _FEATURES, "features")


def _more(number: int, what: str) -> list[str]:
    return [f"… and {number} more {what}"] if number > 0 else []


def _titled(title: str, lines: list[str]) -> list[tuple[str, str]]:
    return [(title if not at else "", line) for at, line in enumerate(lines)]
