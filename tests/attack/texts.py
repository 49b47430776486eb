"""Damaged text: CSV, JSON lines, LIBSVM, VW, FASTA and FASTQ, and compressed files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import zstandard

from tests.attack.checks import Wrong, read_rows
from tests.attack.mutations import damaged
from thresher.sources.documents.scan import scan_text
from thresher.sources.sequences.fasta import scan_fasta
from thresher.sources.tables.csv import scan_csv
from thresher.sources.tables.jsonl import scan_jsonl
from thresher.sources.text.line_formats import scan_libsvm, scan_vw

Case = Callable[[random.Random], object]

CSV = [
    b'y,age,city,"long name"\n' + b"".join(b'%d,%d.5,"Lima, %d",x%d\n' % (i % 2, i, i % 3, i % 5) for i in range(30)),
    b"y\tname\tv\n" + "".join(f"a{i % 2}\tZoë {i}\t{i / 7}\n" for i in range(20)).encode(),
    b'y;q\n1;"two\nlines"\n0;"""quoted"""\n1;NA\n0;\n' * 3,
]
JSONL = [
    b"".join(
        b'{"y": %d, "a": %d.25, "b": "w%d", "c": null, "body": "one two %d"}\n' % (i % 2, i, i, i) for i in range(20)
    ),
    '{"y": "yes", "body": "größe\\u00e9 \\ud83c\\udf3e", "a": true}\n{"y": "no", "body": "", "z": 1e3}\n'.encode() * 5,
]
LIBSVM = [b"".join(b"%d qid:%d %d:0.5 %d:-2e3 # n\n" % (i % 2, i // 3, i + 1, i + 9) for i in range(30))]
VW = [
    b"".join(b"%d %d.5 'tag%d|user id=%d |ad:2 x:0.25 y z:%d\n" % (2 * (i % 2) - 1, i % 3, i, i, i) for i in range(30))
]
FASTA = [
    b"".join(b">r%d some\nACGTACGTNNACGT%s\nACCA\n" % (i, b"ACGT"[i % 4 :]) for i in range(20)),
    b"".join(b"@r%d\nACGTACGATTACA\n+\n@IIIIIIIIIII>\n" % i for i in range(20)),
]
LABELS = [b"# id\tlabel\n" + b"".join(b"r%d\t%d\n" % (i, i % 2) for i in range(20))]


def csv(folder: Path) -> Case:
    path = folder / "t.csv"

    def case(rng: random.Random) -> object:
        path.write_bytes(damaged(rng, CSV))
        on_error = rng.choice(("stop", "skip"))
        if rng.random() < 0.2:
            return read_rows(rng, scan_text(path, text=1, target=0, chars="1-3", on_error=on_error))
        more = rng.choice(({}, {"bins": "quantile:4"}, {"missing": "feature"}, {"quote": ""}, {"header": False}))
        return read_rows(rng, scan_csv(path, target=rng.choice((0, "y")), on_error=on_error, **more))

    return case


def jsonl(folder: Path) -> Case:
    path = folder / "t.jsonl"

    def case(rng: random.Random) -> object:
        path.write_bytes(damaged(rng, JSONL))
        on_error = rng.choice(("stop", "skip"))
        if rng.random() < 0.3:
            return read_rows(rng, scan_text(path, text="body", target="y", words="1-2", on_error=on_error))
        return read_rows(rng, scan_jsonl(path, target="y", on_error=on_error))

    return case


def libsvm(folder: Path) -> Case:
    path = folder / "t.svm"

    def case(rng: random.Random) -> object:
        path.write_bytes(damaged(rng, LIBSVM))
        return read_rows(rng, scan_libsvm(path, on_error=rng.choice(("stop", "skip")), multilabel=rng.random() < 0.3))

    return case


def vw(folder: Path) -> Case:
    path = folder / "t.vw"

    def case(rng: random.Random) -> object:
        path.write_bytes(damaged(rng, VW))
        return read_rows(rng, scan_vw(path, on_error=rng.choice(("stop", "skip"))))

    return case


def fasta(folder: Path) -> Case:
    path, labels = folder / "t.fa", folder / "labels.tsv"

    def case(rng: random.Random) -> object:
        path.write_bytes(damaged(rng, FASTA))
        labels.write_bytes(damaged(rng, LABELS) if rng.random() < 0.3 else LABELS[0])
        more = rng.choice(
            ({}, {"canonical": True}, {"wildcards": True}, {"positional": True}, {"fragments": 9, "coverage": 2.0})
        )
        kmer = rng.choice((3, 8, (2, 5)))
        on_error = rng.choice(("stop", "skip"))
        return read_rows(rng, scan_fasta(path, kmer=kmer, labels=labels, on_error=on_error, **more))

    return case


def _all_frames(data: bytes) -> bytes:
    out = b""
    while data:
        one = zstandard.ZstdDecompressor().decompressobj()
        out += one.decompress(data)
        if not one.eof:
            raise ValueError("cut short")
        data = one.unused_data
    return out


#: The first bytes of each compression, how to write it, and how its own library reads it.
_COMPRESSIONS: dict[str, tuple[bytes, Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "gz": (b"\x1f\x8b", lambda text: gzip.compress(text, mtime=0), gzip.decompress),
    "zst": (b"\x28\xb5\x2f\xfd", zstandard.ZstdCompressor(write_checksum=True).compress, _all_frames),
    "xz": (b"\xfd7zXZ\x00", lzma.compress, lzma.decompress),
    "bz2": (b"BZh", lambda text: bz2.compress(text, 1), bz2.decompress),
}


def compressed(kind: str) -> Callable[[Path], Case]:
    """Files of a compression: what is read must be what its own library reads, or the file before the damage."""
    magic, compress, decompress = _COMPRESSIONS[kind]
    whole = [compress(LIBSVM[0]), compress(LIBSVM[0] * 20), compress(LIBSVM[0][:100]) + compress(LIBSVM[0][100:])]

    def prepare(folder: Path) -> Case:
        path, plain = folder / f"t.svm.{kind}", folder / "plain.svm"

        def case(rng: random.Random) -> object:
            data = damaged(rng, whole)
            path.write_bytes(data)
            if rng.random() < 0.5:  # rows after the damage are lost, and nothing else happens
                return read_rows(rng, scan_libsvm(path, on_error="skip"))
            options = random.Random(1)
            found = read_rows(options, scan_libsvm(path))
            try:
                text = decompress(data) if data.startswith(magic) else data
            except Exception:
                raise Wrong("a file that its own library refuses was read") from None
            plain.write_bytes(text)
            if found != read_rows(random.Random(1), scan_libsvm(plain)):
                raise Wrong("other rows than the file's own library finds")
            return found

        return case

    return prepare
