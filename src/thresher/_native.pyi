"""Types of the compiled module; the code is in native/bind/."""

from collections.abc import Iterator
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
U16 = NDArray[np.uint16]
U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Bytes = NDArray[np.uint8]

padding: int
most_parents: int

def hash_bytes(text: bytes, seed: int = 0) -> int: ...
def hash_strings(offsets: I64, text: Bytes, seed: int = 0) -> U64: ...
def hash_keys(keys: U64, seed: int) -> U64: ...
def checksum(bytes: Bytes, seed: int = 0) -> int: ...
def compact_names(keys: U64, words: U64, text: Bytes) -> tuple[U64, Bytes] | None: ...
def buckets_and_signs(keys: U64, seed: int, width: int) -> tuple[NDArray[np.uint32], F32]: ...
def loss_value(name: str, delta: float, m: F64, y: F64) -> F64: ...
def loss_derivative(name: str, delta: float, m: F64, y: F64) -> F64: ...
def loss_curvature(name: str, delta: float) -> float: ...
def softmax(margins: F64, target: I64) -> tuple[F64, F64]: ...
def parse_libsvm(block: Bytes, begin: int, end: int, **options: Any) -> dict[str, Any]: ...
def parse_vw(block: Bytes, begin: int, end: int, **options: Any) -> dict[str, Any]: ...
def dense_rows(x: NDArray[Any], wide: bool = True) -> tuple[I64, U64, F32, int, int]: ...
def row_hashes(indptr: I64, keys: U64, values: F32 | None, seed: int) -> U64: ...
def new_block(size: int) -> Bytes: ...
def after_last_newline(block: Bytes, begin: int, end: int) -> int: ...
def take_rows(
    indptr: I64, keys: U64, values: F32 | None, names: U64 | None, order: I64
) -> tuple[I64, U64, F32 | None, U64 | None]: ...
def name_groups(words: U64, text: Bytes, prefixes: list[bytes], wanted: list[bytes]) -> I64: ...
def spelled_keys(keys: U64, prefix: int = 0) -> tuple[U64, Bytes]: ...
def spelled_names(
    words: U64, text: Bytes, prefixes: list[bytes], parents: U64 | None = None, longest: int = ...
) -> list[bytes]: ...

class Cells: ...

def number_cells(n: int, numbers: F64, validity: Bytes | None = None, first_bit: int = 0) -> Cells: ...
def text_cells(
    n: int,
    offsets: NDArray[Any],
    text: Bytes,
    validity: Bytes | None = None,
    first_bit: int = 0,
    name_start: int = 0,
) -> Cells: ...
def list_cells(
    n: int,
    offsets: NDArray[Any],
    values: Cells,
    validity: Bytes | None = None,
    first_bit: int = 0,
    amounts: Cells | None = None,
) -> Cells: ...
def columns_to_rows(rules: list[ColumnRule], columns: list[Cells], n: int, **options: Any) -> dict[str, Any]: ...
def texts_to_rows(
    form: NgramForm, characters: Characters, documents: Cells, words: Cells | None = None, **options: Any
) -> dict[str, Any]: ...
def csv_rows(
    block: Bytes, begin: int, end: int, delimiter: int, quote: int, rows: int
) -> tuple[I64, I64, int, int]: ...
def after_last_row(block: Bytes, end: int, delimiter: int, quote: int) -> int: ...

class ColumnRule:
    category: bool
    key: int
    word: int
    seed: int
    prefix: int
    missing_counts: bool
    missing_key: int
    missing_word: int
    def __init__(self, other: ColumnRule = ...) -> None: ...
    def set_bins(self, edges: list[float], keys: list[int], words: list[int]) -> None: ...
    def set_places(self, keys: list[int], words: list[int]) -> None: ...

class Characters:
    def __init__(self, kinds: Bytes, capital: NDArray[np.uint32], small: NDArray[np.uint32]) -> None: ...

class NgramForm:
    def __init__(
        self,
        *,
        words_from: int,
        words_to: int,
        chars_from: int = 0,
        chars_to: int = 0,
        chars_in_words: bool = False,
        lower: bool = True,
        counts: str = "count",
        unit: bool = False,
        words_seed: int = 0,
        words_prefix: int = 0,
        chars_seed: int = 0,
        chars_prefix: int = 0,
        stop: KeyIndex | None = None,
    ) -> None: ...

class ProductRule:
    def __init__(self, groups: int, combinations: list[list[int]], squares: bool = False) -> None: ...
    def count(self, indptr: I64, groups: I64 | None = None) -> U64: ...
    def form(
        self,
        indptr: I64,
        keys: U64,
        values: F32 | None,
        groups: I64 | None = None,
        only: KeyIndex | None = None,
        want_names: bool = False,
        features: int = 0,
    ) -> tuple[I64, U64, F32 | None, U64 | None, int]: ...

class KmerForm:
    letter_bits: int
    def __init__(
        self,
        lengths: list[int],
        *,
        canonical: bool = False,
        wildcards: bool = False,
        positional: bool = False,
        counts: str = "binary",
        unit: bool = False,
    ) -> None: ...

class RecordSink: ...

class RecordScanner:
    place: tuple[int, int, int]
    reached: tuple[int, int, int]
    def __init__(
        self,
        sink: RecordSink,
        *,
        wildcards: bool,
        fastq: bool | None = None,
        skip: bool = False,
        offset: int = 0,
        lines: int = 0,
        skipped: int = 0,
        seeking: bool = False,
        limit: int = ...,
    ) -> None: ...
    def feed(self, block: Bytes, begin: int, end: int) -> tuple[str, int]: ...
    def finish(self) -> str: ...
    def take_faults(self) -> list[tuple[int, int, str]]: ...

class KmerRecords(RecordSink):
    def __init__(
        self,
        form: KmerForm,
        labels: KeyIndex | None,
        only: KeyIndex | None,
        *,
        rows: int,
        features: int = ...,
        letters: int = ...,
        labels_optional: bool = False,
    ) -> None: ...
    def take(self) -> dict[str, Any]: ...

class Genomes(RecordSink):
    file: int
    letters: int
    other_letters: int
    nbytes: int
    def __init__(self, wildcards: bool, fragment: int, labels: KeyIndex | None, labels_optional: bool) -> None: ...
    def __len__(self) -> int: ...
    def contig(self, i: int) -> tuple[bytes, int, int]: ...
    def files_and_labels(self) -> tuple[I64, I64]: ...
    def draw(self, number: int, seed: int) -> tuple[int, int]: ...
    def rows(self, numbers: U64, form: KmerForm, only: KeyIndex | None, seed: int, features: int) -> dict[str, Any]: ...

class KmerFinder(RecordSink):
    def __init__(self, form: KmerForm, wanted: KeyIndex) -> None: ...
    def take_ids(self) -> list[bytes]: ...
    def take(self) -> tuple[I64, I64, I64, I64, NDArray[np.int8]]: ...

class KeyIndex:
    def __init__(self, keys: U64) -> None: ...
    def __len__(self) -> int: ...
    def find(self, keys: U64) -> I64: ...
    def keep(self, indptr: I64, keys: U64) -> tuple[I64, I64, I64]: ...
    def margins(self, indptr: I64, keys: U64, values: F32 | None, weights: F64, intercept: F64) -> F64: ...

class TopK:
    def __init__(self, k: int, name_cap: int = 256) -> None: ...
    def __len__(self) -> int: ...
    def weight(self, key: int) -> float | None: ...
    def put(self, key: int, weight: float, name: str = "") -> bool: ...
    def rows(self, limit: int) -> tuple[U64, F64, U64, list[bytes]]: ...
    @staticmethod
    def planned_bytes(k: int, name_cap: int, numbers: int = 0) -> int: ...

class _Sketch:
    rows: int
    width: int
    seed: int
    lanes: int
    factor: float

    def __init__(self, rows: int, width: int, seed: int, lanes: int = 1) -> None: ...
    def scale(self, factor: float) -> None: ...
    def merge(self, other: Self) -> None: ...

class CountSketch(_Sketch):
    cells: F32

    def add(self, keys: U64, deltas: F64) -> None: ...
    def query(self, keys: U64) -> F64: ...
    def bound(self) -> float: ...

class EvidenceSketch(_Sketch):
    cells: U16
    random: int

    def add(self, keys: U64, sums: F64, energies: F64) -> None: ...
    def put(self, keys: U64, sums: F64, energies: F64) -> None: ...
    def query(self, keys: U64) -> tuple[F64, F64]: ...

class Ahead(Generic[T]):
    def __init__(self, iterator: Iterator[T], depth: int) -> None: ...
    def __iter__(self) -> Ahead[T]: ...
    def __next__(self) -> T: ...
    def close(self) -> None: ...

def dual_state(loop: OnlineLoop) -> tuple[U64, NDArray[np.uint32], F64, list[float]]: ...
def restore_duals(
    loop: OnlineLoop, keys: U64, counts: NDArray[np.uint32], numbers: F64, singles: list[float]
) -> None: ...
def dual_weights(loop: OnlineLoop) -> tuple[U64, U64, F64]: ...
def dual_history(loop: OnlineLoop) -> tuple[U64, U64, U64, int, int]: ...
def restore_history(loop: OnlineLoop, times: U64, sizes: U64, keys: U64, distance: int, next: int) -> None: ...
def dual_size(loop: OnlineLoop) -> tuple[int, int]: ...

class OnlineLoop:
    rows_seen: int
    shrink: float
    fade: float
    step: list[float]
    bias: list[float]
    tables: int
    kept_size: int
    unit: float
    prior: float
    intercepts: list[float]
    count_sketch: CountSketch | None
    evidence_sketch: EvidenceSketch | None

    def __init__(
        self,
        *,
        store: str,
        k: int,
        name_cap: int,
        lazy: float,
        outputs: str,
        lanes: int,
        split: bool,
        loss: str,
        delta: float,
        rule: str,
        rate: float,
        intercept: bool,
        minibatch: int,
        gather: int,
        l2: float,
        fade: float,
        rows: int,
        width: int,
        seed: int,
        identity: bool,
        eta: float = 1.0,
        lam: float = 0.0,
        smoothing: float = 1e-2,
        naive: bool = False,
        factor: float = 1.0,
        most_bytes: int = 0,
    ) -> None: ...
    def learn(
        self,
        indptr: I64,
        keys: U64,
        values: F32 | None,
        y: F64,
        weight: F32 | None,
        names: U64 | None,
        text: Bytes | None,
        prefixes: list[bytes],
        parents: U64 | None = None,
    ) -> tuple[int, F64, bool]: ...
    def predict(self, indptr: I64, keys: U64, values: F32 | None) -> F64: ...
    def flush(self) -> None: ...
    def table(self, table: int, limit: int) -> tuple[U64, F64, U64, list[bytes], F64, F64]: ...
    def restore_table(
        self, table: int, keys: U64, ranks: F64, counts: U64, names: list[bytes], kept: F64, bounds: F64
    ) -> None: ...
    def gathered(self) -> tuple[int, list[float], U64, F64, list[bytes]]: ...
    def restore_gathered(self, rows: int, slopes: list[float], keys: U64, sums: F64, names: list[bytes]) -> None: ...

class Team:
    threads: int
    def __init__(self, threads: int = 0) -> None: ...

class ColumnStore:
    rows: int
    keys: U64
    entries: int
    columns: int
    bytes: int
    def __init__(self, first: int = 0, last: int = 2**64 - 1) -> None: ...
    def add(self, indptr: I64, keys: U64, values: F32 | None) -> None: ...
    def finish(self, team: Team, weights: F64 | None = None) -> None: ...
    def top(self, residuals: F64, most: int, power: float, team: Team) -> list[tuple[U64, F64]]: ...
    def sums(self, residual: F64, keys: U64, team: Team) -> tuple[F64, F64]: ...
    def take(self, keys: U64, team: Team) -> tuple[I64, NDArray[np.uint32], F32, F64]: ...

class _DenseColumns:
    rows: int
    columns: int
    def __init__(self, x: NDArray[Any], weights: F64 | None = None) -> None: ...
    def finite(self, team: Team) -> bool: ...
    def top(self, residuals: F64, most: int, power: float, team: Team) -> list[tuple[U64, F64]]: ...
    def sums(self, residual: F64, keys: U64, team: Team) -> tuple[F64, F64]: ...
    def take(self, keys: U64, team: Team) -> tuple[I64, NDArray[np.uint32], F32, F64]: ...

class DenseColumns32(_DenseColumns): ...
class DenseColumns64(_DenseColumns): ...

class KeyBounds:
    def __init__(self, outputs: int, most_bytes: int, power: float) -> None: ...
    def add(
        self, indptr: I64, keys: U64, values: F32 | None, residuals: F64, first: int, weights: F64 | None = None
    ) -> None: ...
    def set_floors(self, floors: list[float]) -> None: ...

class KeySums:
    end: int
    keys: int
    def __init__(self, outputs: int, most_bytes: int, begin: int, end: int) -> None: ...
    def add(
        self,
        indptr: I64,
        keys: U64,
        values: F32 | None,
        residuals: F64,
        first: int,
        weights: F64 | None = None,
        bounds: KeyBounds | None = None,
    ) -> None: ...
    def top(self, most: int, power: float) -> list[tuple[U64, F64]]: ...

class ProductSearch:
    rows: int
    bytes: int
    counts: tuple[int, int, int]
    def __init__(
        self,
        store: ColumnStore | _DenseColumns,
        weights: F64 | None,
        only: U64 | None,
        *,
        degree: int,
        powers: bool,
        linear: bool,
        unit: bool,
        gamma: float,
        r: float,
        team: Team,
    ) -> None: ...
    def top(self, residual: F64, most: int, prune: bool, team: Team) -> tuple[U64, F64, I64, U64]: ...
    def look(self, residual: F64, most: int, team: Team) -> tuple[tuple[U64, F64, I64, U64], U64, F64, I64]: ...
    def take(self, indptr: I64, keys: U64) -> tuple[I64, NDArray[np.uint32], F32, F64]: ...

def value_range(store: ColumnStore | _DenseColumns, team: Team) -> tuple[float, float]: ...

class MappedColumns:
    rows: int
    width: int
    def __init__(
        self, store: ColumnStore | _DenseColumns, weights: F64 | None, only: U64 | None, **map: Any
    ) -> None: ...
    def largest(self, key: int) -> float: ...
    def top(self, residual: F64, most: int, team: Team) -> tuple[U64, F64, U64]: ...
    def take(self, keys: U64) -> tuple[I64, NDArray[np.uint32], F32, F64]: ...

class TermFormer:
    def __init__(
        self, features: int, indptr: I64, parts: I64, kinds: NDArray[np.uint8], u: F64, v: F64, keys: U64
    ) -> None: ...
    def form(self, indptr: I64, features: I64, values: F32 | None) -> tuple[I64, U64, F32]: ...

def product_keys(indptr: I64, parts: U64) -> U64: ...
def shrink_norms(norms: F64, tau: float) -> F64: ...

class BlockSolver:
    weights: F64
    shift: float
    tau: float
    slopes: F64
    margins: F64
    bytes: int
    def __init__(self, loss: str, delta: float, y: F64, weights: F64, shift: bool) -> None: ...
    def add_block(self, indptr: I64, rows: NDArray[np.uint32], values: F32, scales: F64) -> None: ...
    def solve(self, tolerance: float, most: int, team: Team) -> dict[str, Any]: ...
    def restore(self, weights: F64, shift: float, tau: float, team: Team) -> None: ...

class L1Solver:
    weights: F64
    shift: float
    slopes: F64
    margins: F64
    columns: int
    bytes: int
    def __init__(self, loss: str, y: F64, weights: F64, shift: bool) -> None: ...
    def add(self, values: F32, factors: F64, team: Team) -> None: ...
    def add_sparse(self, indptr: I64, rows: NDArray[np.uint32], values: F32, factors: F64, team: Team) -> None: ...
    def keep(self, columns: I64) -> None: ...
    def solve(self, lam: float, tolerance: float, most: int, team: Team) -> dict[str, Any]: ...
    def restore(self, weights: F64, shift: float, team: Team) -> None: ...
    def curvature(self) -> tuple[I64, F64, F64, float, bool]: ...
    def resume(self, members: I64, matrix: F64, shares: F64, added: float, fine: bool) -> None: ...
    def gradient(self, team: Team) -> F64: ...

class Substitution:
    done: int
    size: int
    ids: U64
    weights: F64
    eta: float
    lipschitz: float
    @staticmethod
    def make(
        loss: str,
        delta: float,
        y: F64,
        weights: F64,
        shift: bool,
        room: int,
        eta: float,
        rate: float,
        m: float,
        c: float,
        check: bool = True,
        by_rows: bool = False,
    ) -> Substitution: ...
    def arrive(self, columns: F32, ids: U64, team: Team) -> tuple[U64, U64]: ...
    def state(self) -> dict[str, NDArray[Any]]: ...
    def restore(
        self,
        ids: U64,
        weights: F64,
        scalings: F64,
        gram: F64,
        columns: F32,
        more: F64,
        step: F64,
        counts: U64,
        team: Team,
    ) -> None: ...
    def objective(self, team: Team) -> float: ...

class Central:
    updates: int
    stalest: int
    lately: int
    def __init__(self, size: int) -> None: ...
    def read(self) -> tuple[F64, int]: ...
    def push(self, change: F64, seen: int) -> None: ...

class Worker:
    pushed: F64
    ids: U64
    room: int
    lambda_: float
    eta: float
    refused: int
    def __init__(
        self,
        loss: str,
        delta: float,
        y: F64,
        weights: F64,
        shift: bool,
        room: int,
        eta: float,
        rate: float,
        m: float,
        c: float,
        workers: float,
        others: float,
    ) -> None: ...
    def work(self, central: Central, columns: F32, ids: U64, all: float, check: bool) -> int: ...
    def receive(self, column: F32, id: int, central: F64, all: float, tau: float, now: F64) -> F64 | None: ...
    def grow(self, room: int) -> None: ...
    def state(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, ids: U64, weights: F64, scalings: F64, gram: F64, columns: F32, more: F64, step: F64) -> None: ...

def refit(
    loss: str,
    delta: float,
    y: F64,
    row_weights: F64,
    shift: bool,
    columns: F32,
    scales: F64,
    start: F64,
    ridge: float,
    most: int,
    team: Team,
) -> tuple[F64, float, float, int]: ...
def column_products(left: F32, right: F32, weights: F64, team: Team) -> F64: ...

class Drawn:
    starts: I64
    coefficients: F64
    offsets: F64
    factors: F64

def draw(rule: dict[str, Any], seed: int, numbers: U64, inputs: U64) -> Drawn: ...
def drawn_values(
    drawn: Drawn, shape: str, indptr: I64, keys: U64, values: F32 | None, at: NDArray[np.uint32], team: Team
) -> F32: ...
def binned_values(
    gamma: float, seed: int, numbers: U64, indptr: I64, keys: U64, values: F32 | None, team: Team
) -> F32: ...
def weighted_sum(columns: F32, weights: F64, start: float) -> F64: ...
