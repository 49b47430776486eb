"""The picture of realised error rates: for each design and method a mark at each level, next to the level itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "trust.svg"
COLOURS = ("#0072b2", "#d55e00", "#009e73")
#: The width of the picture, of its labels, the height of a row, and the largest share that it shows.
_WIDTH, _LABELS, _ROW, _MOST = 760, 170, 34, 0.35


def draw_picture(
    results: Mapping[tuple[str, str], Sequence[tuple[float, float, float]]],
    levels: Sequence[float],
    path: Path = PICTURE,
) -> None:
    """Draw, by (design, method), the mean share of false features and its standard error at each level."""
    names = list(dict.fromkeys(design for design, _ in results))
    methods = list(dict.fromkeys(method for _, method in results))
    bottom = 50 + _ROW * len(names)

    def across(share: float) -> float:
        return round(_LABELS + min(share, _MOST) / _MOST * (_WIDTH - _LABELS - 20), 1)

    marks = ["circle", "square", "diamond"]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 45}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{bottom + 45}" fill="white"/>',
        '<text x="10" y="20" font-size="14">Realised share of false features (bars: 2 standard errors)</text>',
    ]
    for level in levels:
        x = across(level)
        out += [
            f'<line x1="{x}" x2="{x}" y1="42" y2="{bottom}" stroke="#999999" stroke-dasharray="4 3"/>',
            f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">q = {level:g}</text>',
        ]
    for number, name in enumerate(names):
        y = 50 + _ROW * number
        out.append(f'<text x="{_LABELS - 10}" y="{y + _ROW / 2 + 4}" text-anchor="end">{escape(name)}</text>')
        out.append(f'<line x1="{_LABELS}" x2="{_WIDTH - 20}" y1="{y}" y2="{y}" stroke="#eeeeee"/>')
        for place, method in enumerate(methods):
            height = y + 8 + 9 * place
            for share, error, _ in results[name, method]:
                left, right = across(max(0.0, share - 2 * error)), across(share + 2 * error)
                colour = COLOURS[place % len(COLOURS)]
                line = f'<line x1="{left}" x2="{right}" y1="{height}" y2="{height}" stroke="{colour}"/>'
                out += [line, _mark(marks[place % len(marks)], across(share), height, colour)]
    for place, method in enumerate(methods):
        x = _LABELS + 110 * place
        out += [
            _mark(marks[place % len(marks)], x, bottom + 32, COLOURS[place % len(COLOURS)]),
            f'<text x="{x + 10}" y="{bottom + 36}">{escape(method)}</text>',
        ]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([*out, "</svg>", ""]))


def _mark(kind: str, x: float, y: float, colour: str) -> str:
    if kind == "circle":
        return f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>'
    turned = f' transform="rotate(45 {x} {y})"' if kind == "diamond" else ""
    return f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" fill="{colour}"{turned}/>'
