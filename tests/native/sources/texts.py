"""Strategies for the text of numbers, and for lines with something wrong in them."""

from hypothesis import strategies as st

DIGITS = st.text("0123456789", max_size=22)


@st.composite
def numbers(draw) -> bytes:
    """Decimal numbers in any spelling, of any length, some of them too large or too small for their type."""
    if draw(st.booleans()):
        return repr(draw(st.floats(allow_nan=False, allow_infinity=False, width=32))).encode()
    whole, fraction = draw(DIGITS), draw(DIGITS)
    if not whole and not fraction:
        whole = "0"
    point = "." if fraction else draw(st.sampled_from(["", "."]))
    sign = draw(st.sampled_from(["", "", "-", "+"]))
    exponent = draw(st.sampled_from(["", "", "", "e0", "E5", "e-3", "e+12", "e-60", "e30", "e-400", "e400"]))
    return f"{sign}{whole}{point}{fraction}{exponent}".encode()


def small_numbers():
    """Numbers that every type holds, in many spellings."""
    return numbers().filter(lambda text: abs(float(text)) < 1e30)


def garbled(alphabet: str):
    """Lines made of what the format is made of, in any order."""
    return st.text(alphabet, max_size=25).map(str.encode)


def damaged(lines, alphabet: str):
    """Good lines with one byte too many or too few."""

    def damage(line: bytes, at: float, extra: str) -> bytes:
        i = int(at * len(line))
        return line[:i] + extra.encode() + line[i + (not extra) :]

    return st.builds(damage, lines, st.floats(0, 1), st.sampled_from(["", *alphabet]))


def joined(lines) -> bytes:
    """Lines as one text, each with its newline; what a strategy put after a newline is a line too."""
    return b"".join(line + b"\n" for line in lines)
