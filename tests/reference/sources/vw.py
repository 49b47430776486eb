"""One line of Vowpal Wabbit text: "label importance base 'tag|namespace:scale name:value name |other ..."."""

import math
import re

from tests.reference.core.hashing import hash_bytes
from tests.reference.sources.lines import BadLine, Row, finite, number, single, without_newline, words

LONGEST_NAME = 4095


def split_name(word: bytes) -> tuple[bytes, float]:
    """A name and the number after its colon (one, where there is no colon)."""
    name, colon, after = word.partition(b":")
    if not name:
        raise BadLine(word)
    return name, number(after) if colon else 1.0


def parse_line(line: bytes, *, labels_optional: bool = False) -> Row | None:
    """The row of a line, or None where it is blank; raises BadLine.

    The last word before the first '|' is a tag if it starts with an apostrophe or touches the '|'.
    """
    line = without_newline(line)
    if not words(line):
        return None
    if re.search(rb"[\x00-\x08\x0a-\x1f]", line):
        raise BadLine("a control character")
    head, *spaces = line.split(b"|")
    if not spaces:
        raise BadLine("no '|'")
    before = words(head)
    if before and (before[-1].startswith(b"'") or head.endswith(before[-1])):
        before.pop()
    numbers = [finite(number(word)) for word in before]
    if len(numbers) > 3 or (not numbers and not labels_optional):
        raise BadLine(head)
    y = numbers[0] if numbers else math.nan
    importance = numbers[1] if len(numbers) > 1 else 1.0
    if importance < 0:
        raise BadLine("a negative importance")
    keys, values, names = [], [], []
    for space in spaces:
        features = words(space)
        prefix, scale, seed = b"", 1.0, 0
        if space and space[:1] not in (b" ", b"\t"):
            name, scale = split_name(features.pop(0))
            finite(scale)
            prefix = name + b"^"
            seed = hash_bytes(prefix)
        for feature in features:
            name, value = split_name(feature)
            keys.append(hash_bytes(name, seed))
            values.append(single(value * scale))
            names.append(prefix + name[:LONGEST_NAME])
    return Row(keys, values, y, single(importance), -1, names)
