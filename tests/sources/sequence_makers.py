"""FASTA and FASTQ files of every kind, and fragments of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.reference.sources import kmers as twin
from tests.sources.file_makers import LAID_OUT, gzipped
from tests.sources.rows import KINDS, Expected, Kind, Row
from thresher.sources.base import Source
from thresher.sources.sequences.fasta import scan_fasta


def sequence(row: Row) -> str:
    """Letters that follow from what a row holds; one of no features holds no k-mer."""
    rng = random.Random(repr(row.features))
    return "".join(rng.choices("ACGTacgtN", k=30 + rng.randrange(30))) if row.features else "N" * 16


def fasta_text(rows: list[Row], first: int = 0) -> bytes:
    """Wrapped at eleven letters."""
    text = ""
    for i, row in enumerate(rows, first):
        letters = sequence(row)
        text += f">r{i} of many\n" + "".join(letters[at : at + 11] + "\n" for at in range(0, len(letters), 11))
    return text.encode()


def fastq_text(rows: list[Row], first: int = 0) -> bytes:
    """Some records wrapped; qualities that look like headers."""
    text = ""
    for i, row in enumerate(rows, first):
        letters, quality = sequence(row), ("@+>I" * 20)[: len(sequence(row))]
        cut = 20 if i % 3 == 2 else len(letters)
        wrapped = [[part for part in (whole[:cut], whole[cut:]) if part] for whole in (letters, quality)]
        text += "\n".join([f"@r{i}", *wrapped[0], f"+r{i}" if i % 2 else "+", *wrapped[1]]) + "\n"
    return text.encode()


def table(folder: Path, rows: list[Row], known: bool = True) -> Path:
    path = folder / "labels.tsv"
    lines = [f"{'r' if known else 'x'}{i}\t{row.y:g}\n" for i, row in enumerate(rows)]
    path.write_text("# remark\n" + "".join(lines))
    return path


def name_of(key: int, form: twin.Form) -> str:
    """A key read back letter by letter."""
    alphabet, base, position = form.letters, form.base, ""
    if form.positional:
        at, key = divmod(key, base ** max(form.lengths) * (2 if len(form.lengths) > 1 else 1))
        position = f"{at}:"
    k = next(k for k in form.lengths if len(form.lengths) == 1 or key < 2 * base**k)
    digits = []
    for _ in range(k):
        key, digit = divmod(key, base)
        digits.append(alphabet[digit])
    return position + "".join(reversed(digits))


def expected(letters: bytes, y: float, form: twin.Form) -> Expected:
    keys, values, _ = twin.row(letters, form)
    return Expected(tuple(name_of(key, form) for key in keys), tuple(keys), tuple(values), y, 1.0)


def _options(form: twin.Form) -> dict[str, Any]:
    fields = form._asdict()
    return {"kmer": fields.pop("lengths"), **fields}


def _records(
    write: Callable[..., bytes],
    change: Callable[[bytes], bytes] = bytes,
    form: twin.Form | None = None,
    shards: int = 1,
) -> Kind:
    form = form or twin.Form((4,))

    def make(folder: Path, rows: list[Row], known: bool = True) -> Source:
        (folder / "rows").write_bytes(change(write(rows)))
        return scan_fasta(folder / "rows", labels=table(folder, rows, known), **_options(form))

    return Kind(
        make,
        lambda rows: [expected(sequence(row).encode(), row.y, form) for row in rows],
        unlabelled=lambda folder, rows: make(folder, rows, known=False),
        shards=shards,
    )


def _several(folder: Path, rows: list[Row]) -> Source:
    (folder / "parts").mkdir()
    parts = [fasta_text(rows[:1]).rstrip(b"\n"), gzipped(fastq_text(rows[1:9], 1)), fasta_text(rows[9:], 9)]
    for number, content in zip((1, 2, 10), parts, strict=True):
        (folder / "parts" / f"part{number}").write_bytes(content)
    return scan_fasta(folder / "parts", kmer=4, labels=table(folder, rows))


FRAGMENT, COVERAGE, SEED = 12, 0.7, 3


def _fragments(folder: Path, rows: list[Row], known: bool = True) -> Source:
    (folder / "a.fa").write_bytes(fasta_text(rows[:7]))
    (folder / "b.fq.gz").write_bytes(gzipped(fastq_text(rows[7:], 7)))
    paths = [folder / "a.fa", folder / "b.fq.gz"]
    drawn = {"fragments": FRAGMENT, "coverage": COVERAGE, "seed": SEED}
    return scan_fasta(paths, kmer=4, counts="count", labels=table(folder, rows, known), **drawn)


def _fragment_rows(rows: list[Row]) -> list[Expected]:
    sequences = [sequence(row).encode() for row in rows]
    lengths = [len(letters) for letters in sequences]
    out = []
    for number in range(round(COVERAGE * sum(lengths) / FRAGMENT)):
        record, at = twin.fragment(number, SEED, lengths, FRAGMENT)
        letters = sequences[record][at : at + FRAGMENT]
        out.append(expected(letters, rows[record].y, twin.Form((4,), counts="count")))
    return out


for _how, _change in LAID_OUT.items():
    _plain = _how in ("plain", "crlf", "no-final-newline", "blank-lines")
    KINDS[f"fasta-{_how}"] = _records(fasta_text, _change, shards=10 if _plain else 1)
for _how, _change in LAID_OUT.items():
    KINDS[f"fastq-{_how}"] = _records(fastq_text, _change)
KINDS.update(
    {
        "fasta-files": Kind(
            _several,
            KINDS["fasta-plain"].expect,
            unlabelled=KINDS["fasta-plain"].unlabelled,
            shards=3,
        ),
        "fasta-canonical-lengths": _records(fasta_text, form=twin.Form((3, 5), canonical=True, counts="count")),
        "fasta-wildcards": _records(fasta_text, form=twin.Form((16,), wildcards=True)),
        "fasta-31": _records(fasta_text, form=twin.Form((15, 31), canonical=True)),
        "fasta-protein": _records(fasta_text, form=twin.Form((3, 12), alphabet="protein", counts="count")),
        "fasta-positional": _records(fasta_text, form=twin.Form((2, 4), positional=True)),
        "fragments": Kind(_fragments, _fragment_rows, unlabelled=lambda f, r: _fragments(f, r, known=False), shards=10),
    }
)
