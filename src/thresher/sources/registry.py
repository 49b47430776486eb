"""Every file format that can be read, one entry each, and the functions that turn data into a `Source`."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from thresher.core.kmers import Kmers
from thresher.core.memory import DEFAULT_CACHE_SIZE, ReadLimits
from thresher.display import did_you_mean, quoted
from thresher.errors import DataError, SettingsError
from thresher.sources.base import OnError, Source
from thresher.sources.files import foreign
from thresher.sources.files.paths import Part, PathLike, Stream, find_parts, naming, open_raw


@dataclass(frozen=True, kw_only=True)
class Format:
    """A file format. To add one, write its module and add its entry to `FORMATS`."""

    #: The file endings that show the format.
    endings: tuple[str, ...]
    #: The function that makes the source from the paths and the options, as ``module:function`` below
    #: `thresher.sources`. It is imported when a file of the format is opened.
    opener: str
    #: The options that the function takes.
    options: tuple[str, ...] = ("on_error",)
    #: Whether the first bytes of a file show the format.
    matches: Callable[[bytes], bool] = lambda head: False

    def open(self, paths: PathLike | Iterable[PathLike], options: Mapping[str, Any]) -> Source:
        """Make the source of some files."""
        module, _, function = self.opener.partition(":")
        make = getattr(importlib.import_module(f"thresher.sources.{module}"), function)
        source: Source = make(paths, **options)
        return source


def _first_lines(head: bytes) -> list[bytes]:
    """The lines from the first one that is neither blank nor a comment."""
    lines = head.split(b"\n")
    first = (i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(b"#"))
    return lines[next(first, len(lines)) :] or [b""]


def _is_fasta(head: bytes) -> bool:
    lines = _first_lines(head)
    return lines[0].startswith(b">") or (lines[0].startswith(b"@") and any(s.startswith(b"+") for s in lines[2:3]))


def _is_libsvm(head: bytes) -> bool:
    return re.match(rb"\s*([-+.\deE,]+\s+)?(qid:\d+\s+)?(\d+:[-+.\deE]+\s*)+", _first_lines(head)[0]) is not None


_KMERS = ("kmer", "alphabet", "canonical", "wildcards", "positional", "counts", "unit")
_SEQUENCES = (*_KMERS, "fragments", "coverage", "seed", "labels")
_KINDS = ("numeric", "categorical", "times", "texts", "ignored", "others")
_COLUMNS = ("target", "weight", *_KINDS, "bins", "missing", "schema")
_DIALECT = ("names", "header", "delimiter", "quote", "nulls")
#: Any of these makes a table one of texts.
_NGRAMS = ("text", "words", "chars", "within_words", "pattern", "lower", "stop")

#: The formats by name. If neither an option nor the file ending shows the format, the first match decides.
FORMATS = {
    "parquet": Format(
        endings=("parquet", "pq", "arrow", "feather", "ipc"),
        opener="tables.parquet:scan_parquet",
        options=("on_error", *_COLUMNS),
        matches=lambda head: head.startswith((b"PAR1", b"ARROW1")),
    ),
    "jsonl": Format(
        endings=("jsonl", "ndjson"),
        opener="tables.jsonl:scan_jsonl",
        options=("on_error", *_COLUMNS),
        matches=lambda head: head.lstrip().startswith(b"{"),
    ),
    "fasta": Format(
        endings=("fa", "fasta", "fas", "fna", "ffn", "faa", "fq", "fastq"),
        opener="sequences.fasta:scan_fasta",
        options=("on_error", *_SEQUENCES),
        matches=_is_fasta,
    ),
    "vw": Format(
        endings=("vw",), opener="text.line_formats:scan_vw", matches=lambda head: b"|" in _first_lines(head)[0]
    ),
    "libsvm": Format(
        endings=("svm", "libsvm", "svmlight"),
        opener="text.line_formats:scan_libsvm",
        options=("on_error", "multilabel"),
        matches=_is_libsvm,
    ),
    "csv": Format(
        endings=("csv", "tsv", "tab"), opener="tables.csv:scan_csv", options=("on_error", *_COLUMNS, *_DIALECT)
    ),
    "cache": Format(endings=("thc",), opener="cache.source:scan_cache", options=()),
}
#: The formats with named columns, which may hold texts.
TABLES = ("csv", "jsonl", "parquet")
#: A text column of a table, or a folder of texts for each class.
_TEXTS = Format(
    endings=(),
    opener="documents.scan:scan_text",
    options=("on_error", "format", "target", "weight", "counts", "unit", *_NGRAMS, *_DIALECT),
)
#: The options of all formats.
OPTIONS = {name for entry in (*FORMATS.values(), _TEXTS) for name in entry.options}
BY_ENDING = {ending: name for name, entry in FORMATS.items() for ending in entry.endings}
COMPRESSED = frozenset({"gz", "bgz", "zst", "zstd", "xz", "bz2"})


def format_by_name(name: str) -> str | None:
    """The format that the ending of a file name shows, or None."""
    endings = [ending for ending in name.lower().split(".")[1:] if ending not in COMPRESSED]
    return BY_ENDING.get(endings[-1]) if endings else None


def scan(
    paths: PathLike | Iterable[PathLike],
    *,
    format: str | None = None,
    on_error: OnError = "stop",
    multilabel: bool = False,
    cache: str | os.PathLike[str] | bool | None = None,
    cache_size: str | int = DEFAULT_CACHE_SIZE,
    **options: Any,
) -> Source:
    """Read files in the format that their ending or, failing that, their first line shows.

    Parameters
    ----------
    paths : path, glob, folder, "-" for standard input, or several of these; or a ray.data.Dataset
    format : {"libsvm", "vw", "fasta", "csv", "jsonl", "parquet", "cache"}, optional
        The format; required for standard input. ``fasta`` includes FASTQ, ``csv`` any delimited text, ``parquet``
        Arrow IPC; ``cache`` is a file of parsed rows.
    on_error : {"stop", "skip"}
        Whether a malformed line raises `DataError` or is counted and skipped.
    multilabel : bool
        LIBSVM rows start with several labels.
    cache : path or True, optional
        Keep the parsed rows in this folder (True: the user's cache folder), so that later passes and runs read them
        from there; see `thresher.cached`.
    cache_size : str or int
        The largest total size of the files in that folder.
    options
        For FASTA and FASTQ, ``kmer``, ``canonical``, ``fragments`` and the other options of `thresher.scan_fasta`; for
        tables, ``target``, ``numeric``, ``schema`` and the others of `thresher.scan_csv`; for texts, ``text``,
        ``words`` and the others of `thresher.scan_text`.
    """
    source = _scan(paths, None, format=format, on_error=on_error, multilabel=multilabel, **options)
    if cache is None or cache is False:
        return source
    from thresher.sources.cache.cached import cached

    return cached(source, cache, size=cache_size)


def _scan(
    paths: PathLike | Iterable[PathLike],
    like: Kmers | Mapping[str, Any] | None,
    *,
    format: str | None = None,
    on_error: OnError | None = None,
    **options: Any,
) -> Source:
    """`scan`, with the k-mers or the recipe (`Source.reading`) of a model as default options."""
    if unknown := [name for name in options if name not in OPTIONS]:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}{did_you_mean(unknown[0], sorted(OPTIONS))}")
    given = _set_options(options)
    if is_ray_dataset(paths):
        from thresher.sources.tables.ray_dataset import scan_ray_dataset

        if format is not None:
            raise SettingsError("a Ray dataset is a table: leave out `format`")
        return scan_ray_dataset(paths, like if isinstance(like, Mapping) else None, on_error or "stop", given)
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if isinstance(like, Mapping):
        from thresher.sources.tables.recipes import scan_like

        if (source := scan_like(paths, like, format, on_error or "stop", given)) is not None:
            return source
    if on_error not in (None, "stop"):
        given["on_error"] = on_error
    if (
        format is None
        and "text" not in given
        and all(n in _TEXTS.options for n in given)
        and all(map(os.path.isdir, paths))
    ):
        from thresher.sources.documents.class_folders import class_files

        if class_files(paths, without_files=True) is not None:
            return _TEXTS.open(paths, given)
    parts = find_parts(paths)
    name = "fasta" if format == "fastq" else format or _guess(parts[0].path, given)
    if name not in FORMATS:
        raise SettingsError(f"unknown format {quoted(name)}{did_you_mean(name, list(FORMATS))}")
    entry = FORMATS[name]
    if os.path.isfile(parts[0].path):  # whatever its name says
        with open_raw(parts[0].path) as file, naming(parts[0].name):
            _refuse_foreign(parts[0], file.read(foreign.HEAD))
    if name in TABLES and any(option in given for option in _NGRAMS):
        entry, given["format"] = _TEXTS, name
    for option in given:
        if option not in entry.options:
            what = "tables with a text column" if entry is _TEXTS else f"{name} files"
            takers = [other for other, some in FORMATS.items() if option in some.options] or ["texts"]
            raise SettingsError(f"`{option}`: not an option for {what}, only for {', '.join(takers)}")
    if name == "fasta" and isinstance(like, Kmers):
        given = {**like.reading(), **given}
    return entry.open([part.path for part in parts], given)


def _set_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are set. None and False mean that one is not, unless its default is True."""
    return {n: v for n, v in options.items() if v is not None and (v is not False or n in ("header", "lower"))}


def _guess(path: str, options: Mapping[str, Any]) -> str:
    """The format of a file, from its name or its first bytes."""
    if by_name := format_by_name(Part(path).file_name):
        return by_name
    if "schema" in options:
        return "csv"
    if Part(path).once:
        raise SettingsError(
            f"the format of standard input or a pipe cannot be detected: pass `format`, one of {', '.join(FORMATS)}"
        )
    with Stream(path, window_limit=ReadLimits().window) as stream:
        buffer = bytearray(4096)
        head = bytes(buffer[: stream.readinto(memoryview(buffer))])
    part = Part(path)
    _refuse_foreign(part, head)
    for name, entry in FORMATS.items():
        if entry.matches(head):
            return name
    if "target" in options or "text" in options:  # only tables have columns
        return "csv"
    if stream.failure is not None:
        raise stream.failure
    _refuse_foreign(part, head, foreign.JSON_ARRAY)
    if not head:
        raise DataError(f"{part.name}: the file is empty. Check how it was made.")
    raise DataError(
        f"{part.name}: neither the file name nor the first line shows the format. Pass `format`, one of "
        f"{', '.join(FORMATS)}; or, if each file is a text, put those of each class into a folder of its own."
    )


def _refuse_foreign(part: Part, head: bytes, *others: foreign.Foreign) -> None:
    """Raise if the first bytes are those of a file that cannot be data."""
    ending = part.file_name.lower().rpartition(".")[2]
    for kind in (*foreign.KINDS, *others):
        if kind.start.match(head) and (not kind.endings or ending in kind.endings):
            raise DataError(f"{part.name}: this is {kind.what}. {kind.advice}")


def as_source(
    data: Any,
    y: Any = None,
    *,
    weight: Any = None,
    target: str | int | None = None,
    like: Kmers | Mapping[str, Any] | None = None,
    **options: Any,
) -> Source:
    """Make a source from a path, a matrix or a data frame; return a `Source` unchanged.

    Parameters
    ----------
    data : Source, path, paths, ray.data.Dataset, ndarray, SciPy matrix, DataFrame, Arrow table, or array, series or \
list of texts
        A list of strings holds texts if ``y`` comes with it or ``like`` is of texts in memory, otherwise paths.
    y, weight : array-like, optional
        Targets and sample weights, only for data in memory: files bring their own. For a table in a file, ``weight``
        may name a column.
    target : str or int, optional
        The column of a data frame, or of a table in a file, that holds the targets.
    like : Kmers or mapping, optional
        The reading options of a model (`Source.reading`), as defaults.
    options
        ``format``, ``on_error``, ``multilabel`` and the options of the file formats, for paths; those of
        `thresher.scan_text` also for texts in memory and text columns of data frames.
    """
    recipe = like if isinstance(like, Mapping) else None
    if is_stored(data) and not is_text_list(data, y, recipe):
        by_column = not isinstance(data, Source) and (weight is None or isinstance(weight, (str, int)))
        if y is not None or (not by_column and (weight is not None or target is not None)):
            raise SettingsError("a file or source brings its own labels and weights: pass no y, weight or target")
        if isinstance(data, Source):
            return data
        return _scan(data, like, **options, target=target, weight=weight)
    if unknown := [name for name in options if name not in OPTIONS]:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}{did_you_mean(unknown[0], sorted(OPTIONS))}")
    given = _set_options(options)
    if given.get("on_error") == "stop":
        del given["on_error"]
    if refused := [name for name in given if name not in (*_NGRAMS, "counts", "unit")]:
        raise SettingsError(f"{', '.join(refused)}: for files, not for data in memory")
    from thresher.sources.dataframes import memory_source

    return memory_source(data, y, weight, target, like=recipe, options=given)


def is_stored(data: Any) -> bool:
    """Whether this brings its own labels: a path, several paths, a `Source`, or a dataset of Ray Data."""
    return isinstance(data, Source) or is_paths(data) or is_ray_dataset(data)


def is_ray_dataset(data: Any) -> bool:
    """Whether this is a dataset of Ray Data: by its type, since Ray is not imported here."""
    kind = type(data)
    return kind.__module__.startswith("ray.data.") and hasattr(kind, "iter_batches") and hasattr(kind, "take_batch")


def is_paths(data: Any) -> bool:
    """Whether this is a path, or several."""
    if isinstance(data, (str, os.PathLike)):
        return True
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(p, (str, os.PathLike)) for p in data)


def is_text_list(data: Any, y: Any = None, recipe: Mapping[str, Any] | None = None) -> bool:
    """Whether a list of strings holds texts instead of paths.

    It does if labels come with it, unless all strings are paths that exist, or if the recipe is of texts in memory.
    """
    if not (isinstance(data, (list, tuple)) and data and all(isinstance(text, str) for text in data)):
        return False
    if y is not None:
        return not all(map(os.path.exists, data))
    return recipe is not None and bool(recipe.get("texts"))


def is_file_source(source: Source) -> bool:
    """Whether reading the source parses files, so that reading ahead pays off."""
    return source.parses_files
