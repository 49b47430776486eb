"""One line of LIBSVM text: "label [qid:n] index:value index:value ... # comment"."""

import math
import re

from tests.reference.sources.lines import NUMBER, BadLine, Row, finite, number, single, without_newline, words


def whole_number(text: bytes, bits: int) -> int:
    """An unsigned integer of at most so many bits."""
    if not re.fullmatch(rb"[0-9]+", text) or int(text) >= 2**bits:
        raise BadLine(text)
    return int(text)


def parse_line(line: bytes, *, labels_optional: bool = False, multilabel: bool = False) -> Row | None:
    """The row of a line, or None where there is nothing but a comment; raises BadLine.

    A row without labels is one whose first word is a feature or a qid. It gets NaN (or no labels, where several
    are allowed).
    """
    rest = words(without_newline(line).split(b"#")[0])
    if not rest:
        return None
    if re.match(NUMBER + b":|qid:", rest[0]):
        if not labels_optional and not multilabel:
            raise BadLine("the label is missing")
        labels = [] if multilabel else [math.nan]
    else:
        labels = [finite(number(label)) for label in rest.pop(0).split(b",")]
        if len(labels) > 1 and not multilabel:
            raise BadLine("several labels")
    qid = -1
    if rest and rest[0].startswith(b"qid:"):
        qid = whole_number(rest.pop(0)[4:], 63)
    keys, values = [], []
    for word in rest:
        index, colon, value = word.partition(b":")
        if not colon:
            raise BadLine(word)
        keys.append(whole_number(index, 64))
        values.append(single(number(value)))
    return Row(keys, values, tuple(labels) if multilabel else labels[0], 1.0, qid, [])
