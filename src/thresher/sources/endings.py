"""What the ending of a file's name shows."""

from __future__ import annotations

#: The ending of files of parsed rows, as the cache keeps them.
STORED = "thc"
BY_ENDING = {
    "svm": "libsvm",
    "libsvm": "libsvm",
    "svmlight": "libsvm",
    "vw": "vw",
    "fa": "fasta",
    "fasta": "fasta",
    "fas": "fasta",
    "fna": "fasta",
    "ffn": "fasta",
    "fq": "fasta",
    "fastq": "fasta",
    STORED: "cache",
    "csv": "csv",
    "tsv": "csv",
    "tab": "csv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "parquet": "parquet",
    "pq": "parquet",
    "arrow": "parquet",
    "feather": "parquet",
    "ipc": "parquet",
}
COMPRESSED = frozenset({"gz", "bgz", "zst", "zstd", "xz", "bz2"})


def format_by_name(name: str) -> str | None:
    """The format that a file's name shows, if it does."""
    endings = [ending for ending in name.lower().split(".")[1:] if ending not in COMPRESSED]
    return BY_ENDING.get(endings[-1]) if endings else None


def without_endings(name: str) -> str:
    """A file's name without the endings that show its compression and its format."""
    for known in (COMPRESSED, BY_ENDING):
        stem, dot, ending = name.rpartition(".")
        if dot and stem and ending.lower() in known:
            name = stem
    return name
