"""Plans the parts of files that tasks decode, for sources and jobs: from stores to files, and from files to parts.

Index files and queues are divided by rows, commit logs by physical offsets. What the engine reports for the end of a
commit-log file depends on the files after it: zeros there are the end of the log, or a gap in it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from rocket_columnar.decode import TABLE_KINDS, begins, decode, overlap
from rocket_columnar.formats import LONG_MIN
from rocket_columnar.index import GeometryGuess, resolve_each
from rocket_columnar.store import StoreFile, Unreadable, placed_file, sized
from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.layout import QUEUE_UNIT, RECORD_FIXED_V4, Geometry

from rocket_spark.files import disk_bytes, is_store
from rocket_spark.reading.options import PART_ROWS, Request, Wanted
from rocket_spark.stores import FoundStore, JobStore, store_tasks

WHOLE: Final = (0, 1 << 62)

PART_BYTES: Final = 128 << 20
"""Bytes on disk that a task takes at most: small files share one, a large log is divided."""

FILE_COST: Final = 256 << 10  # cost of a file beside its bytes, in bytes: a task has at most 512 files

_SAMPLE_BYTES: Final = 1 << 16

_SEQUENCES: Final = ("queue", "ext", "log", "batch", "timer_log")
"""Kinds of files that follow each other by their offsets."""

_ROW_BYTES: Final = {"index_entries": 20, "consume_queue": QUEUE_UNIT.size}  # tables that are divided by rows


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of one file for one table, or a problem."""

    store: str
    table: str
    file: StoreFile | None  # to decode; None if the store has none because of the problem
    # rows from the first on, before the second; of a commit log, physical offsets
    range: tuple[int, int] = WHOLE
    share: float = 0.0  # of what one task takes
    following: tuple[StoreFile, ...] = ()  # for a commit log, files after it that show whether it continues
    guess: GeometryGuess | None = None
    problem: str | None = None  # why nothing of it can be decoded; then it has no rows
    exact: bool = False  # for a commit log, that a record must begin where the range does
    closed: bool = False  # for a commit log, that the end of the range is not checked

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole file, which can be decoded together with its neighbours."""
        return self.range == WHOLE and self.problem is None


@dataclass(frozen=True, slots=True)
class Cut:
    """The division of files into parts.

    `rows` is of a part at most, of a commit log approximately. If `strict`, files that are not what they should be are an error, instead of parts
    with their problems.
    """

    rows: int = field(default_factory=lambda: PART_ROWS)
    wanted: Wanted = field(default_factory=Wanted)
    strict: bool = False


def store_parts(
    store: str,
    files: Sequence[StoreFile],
    tables: Iterable[str],
    geometry: Geometry | None = None,
    cut: Cut = Cut(),
) -> Iterator[FilePart]:
    """The parts of one store's files, table by table.

    UsageError for a geometry that cannot be inferred; if `cut` is strict, MalformedError for files that are not what they should be.
    """
    indexes: tuple[dict[StoreFile, GeometryGuess], dict[StoreFile, str]] | None = None
    for table in tables:
        kind = TABLE_KINDS[table]
        mine = [file for file in files if file.kind == kind and file.config_table in (None, table)]
        if kind == "index":
            indexes = indexes or _geometries(mine, geometry, cut)
            yield from _index_parts(store, mine, table, indexes, cut)
        elif kind == "log":
            yield from _cut_log(store, mine, cut)
        else:
            yield from _file_parts(store, mine, table, cut)


def grouped(parts: Iterable[FilePart]) -> list[tuple[FilePart, ...]]:
    """Consecutive parts, up to what one task takes."""
    groups: list[tuple[FilePart, ...]] = []
    held: list[FilePart] = []
    room = 0.0
    for part in parts:
        if held and part.share > room:
            groups.append(tuple(held))
            held = []
        if not held:
            room = 1.0
        held.append(part)
        room -= part.share
    if held:
        groups.append(tuple(held))
    return groups


def _share(size: int, rows: float = 0.0) -> float:
    """The share of a task's work that a part with these bytes and this share of the rows is."""
    return max((size + FILE_COST) / PART_BYTES, rows)


def _index_parts(
    store: str,
    files: Sequence[StoreFile],
    table: str,
    indexes: tuple[Mapping[StoreFile, GeometryGuess], Mapping[StoreFile, str]],
    cut: Cut,
) -> Iterator[FilePart]:
    guesses, problems = indexes
    for file in files:
        if not cut.wanted.file(file):
            continue
        if file in problems:
            yield FilePart(store, table, file, problem=problems[file])
        elif table == "index_headers":
            yield FilePart(store, table, file, share=_share(0, 1 / cut.rows), guess=guesses[file])
        else:
            yield from _row_parts(store, table, file, cut, guesses[file])


def _row_parts(
    store: str, table: str, file: StoreFile, cut: Cut, guess: GeometryGuess | None = None
) -> Iterator[FilePart]:
    """Parts of a file that is divided by rows; a small one is one part, and not opened here."""
    width = _ROW_BYTES[table]
    size = disk_bytes(file)
    most = file.size() // width if guess is None else guess.geometry.index_num
    if most <= cut.rows:
        yield FilePart(
            store, table, file, share=_share(size, min(most, size // width) / cut.rows), guess=guess
        )
        return
    if guess is not None:
        count = entry_count(file, guess)
        edges = [*range(0, count, cut.rows), count]
    else:
        end = -(-_written(file) // width) * width
        edges = [edge // width for edge in ([*_cuts_of(file, 0, end, cut.rows * width), end] if end else [])]
    for rows in pairwise(edges):
        yield FilePart(store, table, file, rows, row_share(table, rows, cut), guess=guess)


def row_share(table: str, rows: tuple[int, int], cut: Cut) -> float:
    """The share of a task's work that some rows are."""
    count = rows[1] - rows[0]
    return _share(count * _ROW_BYTES[table], count / cut.rows)


def entry_count(file: StoreFile, guess: GeometryGuess) -> int:
    """The number of entries that the header of an index file counts; OSError if it cannot be read."""
    ((_, header),) = decode([file], tables=["index_headers"], geometry={file: guess})
    count: int = header.column("index_count")[0].as_py()
    return max(0, min(count, guess.geometry.index_num) - 1)


def _geometries(
    files: Sequence[StoreFile], geometry: Geometry | None, cut: Cut
) -> tuple[dict[StoreFile, GeometryGuess], dict[StoreFile, str]]:
    """Geometries, and the problems of files without one."""
    problems: dict[StoreFile, str] = {}

    def keep(file: StoreFile, error: FormatError | OSError) -> None:
        problems[file] = str(error)

    return resolve_each(files, geometry, on_error=None if cut.strict else keep), problems


def _overlaps(files: Sequence[StoreFile], cut: Cut) -> dict[StoreFile, str]:
    """Files that reach into the next one, each with its problem; an error if `cut` is strict."""
    problems = {}
    for (before, size), (file, _) in pairwise(sized(files)):
        if before.sequence == file.sequence and size > file.base_offset - before.base_offset:
            error = overlap(before, size, file)
            if cut.strict:
                raise error
            problems[before] = str(error)
    return problems


def _file_parts(store: str, files: Sequence[StoreFile], table: str, cut: Cut) -> Iterator[FilePart]:
    problems = _overlaps(files, cut) if TABLE_KINDS[table] in _SEQUENCES else {}
    for file, size in sized(files):
        if not cut.wanted.file(file):
            continue
        if table in _ROW_BYTES and size and not size % _ROW_BYTES[table]:
            yield from _row_parts(store, table, file, cut)
        else:
            yield FilePart(store, table, file, share=_share(disk_bytes(file)))
        if file in problems:  # between the two: the engine does not see them together, and report it again
            yield FilePart(store, table, file, problem=problems[file])


def _written(file: StoreFile) -> int:
    """Bytes up to the last that is not zero; of a file far away its size, since these would have to be fetched."""
    if file.source is not None:
        return file.size()
    with file.open() as reader:
        last = reader.last_nonzero(0, reader.size)
        return 0 if last is None else last + 1


def _cuts_of(file: StoreFile, first: int, end: int, step: int) -> list[int]:
    """The beginnings of the parts of [first, end) of a file: every `step` bytes, where the disk holds any of the next ones.

    A hole belongs to the part before it, so that their number grows with the bytes on disk.
    """
    if file.source is not None:
        return list(range(first, end, step))
    with file.open() as reader:
        held = [(max(begin, first), min(stop, end)) for begin, stop in reader.extents()]
    steps = {
        number
        for begin, stop in held
        if begin < stop
        for number in range((begin - first) // step, -(-(stop - first) // step))
    }
    return sorted({first, *(first + step * number for number in steps)})


def log_parts(
    store: str, files: Sequence[StoreFile], cut: Cut = Cut(), bounds: tuple[int, int] = (LONG_MIN, 1 << 62)
) -> Iterator[FilePart]:
    """Ranges of a log, each with the files that its decoding needs.

    Together they cover all of `bounds`, holes between files included, each of which belongs to the file before it.
    """
    step = PART_BYTES
    if cut.rows * RECORD_FIXED_V4 < PART_BYTES and files:
        step = max(1, min(step, cut.rows * _record_size(files[0])))
    last = len(files) - 1
    while last > 0 and not begins(files[last]):
        last -= 1
    for number, file in enumerate(files):
        behind = files[number + 1 :]
        end = file.base_offset + file.size()
        limit = max(end, behind[0].base_offset) if behind else max(end, bounds[1])
        first, stop = max(bounds[0], file.base_offset), min(bounds[1], limit)
        if first >= stop or not cut.wanted.file(file):
            continue
        following: tuple[StoreFile, ...] = ()
        if behind and behind[0].base_offset >= end:
            following = (behind[0],) if number + 1 >= last else (behind[0], files[last])
        base = file.base_offset
        held = end if number < last else base + _written(file)
        inside = _cuts_of(file, first - base, max(min(held, stop), first + 1) - base, step)
        cuts = [*(base + cut for cut in inside), stop]
        disk = disk_bytes(file)
        for begin, finish in pairwise(cuts):
            size = min(disk, finish - begin, step)
            needed = following if finish == stop else following[-1:]
            yield FilePart(
                store, "commit_log", file, (begin, finish), _share(size, size / step), following=needed
            )


def _cut_log(store: str, files: Sequence[StoreFile], cut: Cut) -> Iterator[FilePart]:
    problems = _overlaps(files, cut)
    low, high = cut.wanted.bounds("phy_offset")
    logs: dict[object, list[StoreFile]] = {}
    for file in files:
        logs.setdefault(file.sequence, []).append(file)
    for log in logs.values():
        for part in log_parts(store, log, cut, (low, min(high + 1, 1 << 62))):
            if part.file in problems and part.range[0] == part.file.base_offset:
                yield FilePart(store, part.table, part.file, problem=problems[part.file])
            yield part


def _record_size(file: StoreFile) -> int:
    """Bytes of a record, by the first few of the log."""
    sample = file.base_offset, file.base_offset + _SAMPLE_BYTES
    try:
        batches = decode([file], columns=["size"], log_range=sample, on_gap=lambda _: None)
        sizes: list[int] = [size for _, batch in batches for size in batch.column("size").to_numpy()]
    except MalformedError:
        return RECORD_FIXED_V4
    return int(sum(sizes)) // len(sizes) if sizes else RECORD_FIXED_V4


class Listed(NamedTuple):
    """A store of a read, its files of the table, and what of it cannot be read."""

    store: FoundStore
    files: list[StoreFile]
    problems: list[FilePart]


def listed_stores(asked: Request, table: str, *, growing: bool = False) -> Iterator[Listed]:
    """The stores of all paths, in their order.

    A store that a glob matched need not have files of the table, nor any other that is `growing`. In mode FAILFAST, what a
    glob matched and cannot be read is an error, and so is a file that cannot be opened; the latter also of a store that is
    `growing`. UsageError for a wrong path, one that is named twice or inside another, in mode FAILFAST what a glob matched and is no store.
    """
    given = [JobStore(path, asked.commitlog) for path in asked.paths]
    for store in store_tasks(given, storage=asked.storage, recursive=asked.recursive):
        if asked.wanted.store(store.store):
            yield _listed(store, asked, table, growing=growing)


def _listed(store: FoundStore, asked: Request, table: str, *, growing: bool) -> Listed:
    files: list[StoreFile] = []
    problems: list[FilePart] = []

    def skip(name: str, reason: str) -> None:
        if isinstance(reason, Unreadable):
            file = placed_file(name) or StoreFile(TABLE_KINDS[table], Path(name), name)
            problems.append(FilePart(store.store, table, file, problem=f"{name}: skipped, {reason}"))

    strict = asked.mode == "FAILFAST"
    try:
        files = store.files(on_skip=skip, kind=TABLE_KINDS[table], strict=strict or growing)
    except (FormatError, UsageError, OSError) as error:
        may_lack = asked.recursive or ((growing or store.matched) and is_store(store.path, store.storage))
        if not isinstance(error, UsageError) or not may_lack:
            if strict or not store.matched:
                raise
            problems.append(FilePart(store.store, table, None, problem=str(error)))
    mine = [file for file in files if file.config_table in (None, table)]
    return Listed(store, [file for file in mine if fnmatchcase(file.path.name, asked.glob)], problems)


def plan_parts(asked: Request, table: str) -> list[tuple[FilePart, ...]]:
    """The parts of a read, by the tasks that decode them; errors as of `listed_stores` and, by the mode, of `store_parts`."""
    return grouped(_parts(asked, table))


def _parts(asked: Request, table: str) -> Iterator[FilePart]:
    cut = Cut(asked.max_partition_rows, asked.wanted, strict=asked.mode == "FAILFAST")
    for store, files, problems in listed_stores(asked, table):
        yield from (part for part in problems if part.file is None or asked.wanted.file(part.file))
        try:
            yield from store_parts(store.store, files, [table], asked.geometry, cut)
        except UsageError as error:
            told = str(error).replace("--geometry SLOTS,ENTRIES", "options hashSlotNum and indexNum")
            raise UsageError(told) from None
