"""From paths to partitions: ranges of rows of index files and queues, ranges of bytes of commit logs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final

from pyspark.sql.datasource import InputPartition
from rocket_columnar.decode import TABLE_KINDS, decode
from rocket_columnar.formats import LONG_MIN
from rocket_columnar.index import GeometryGuess, resolve_each
from rocket_columnar.store import StoreFile
from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.layout import QUEUE_UNIT, RECORD_FIXED_V4

from rocket_spark.files import commit_logs, expand, find_files, find_roots, storage_for
from rocket_spark.reading.filters import Wanted
from rocket_spark.reading.options import Request

_WHOLE: Final = (0, 1 << 62)
LOG_BYTES: Final = 128 << 20
"""Bytes of a commit log that a partition takes at most."""

_SAMPLE_BYTES: Final = 1 << 16
_FILES: Final = 64
"""Files of one row each that a partition takes."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of one file, or its problem.

    Attributes:
        file: to decode.
        range: rows from the first on, before the second; of a commit log, physical offsets.
        following: for a commit log, files after it that show whether it continues.
        guess: the geometry of an index file.
        problem: why nothing of it can be decoded; then it has no rows.
        exact: for a commit log, that a record must begin where the range does.
        closed: for a commit log, that the end of the range is not checked.
    """

    file: StoreFile
    range: tuple[int, int] = _WHOLE
    following: tuple[StoreFile, ...] = ()
    guess: GeometryGuess | None = None
    problem: str | None = None
    exact: bool = False
    closed: bool = False


@dataclass
class RowsPartition(InputPartition):
    """Parts that one task decodes, in order."""

    parts: tuple[FilePart, ...]


def requested_files(request: Request, table: str) -> list[StoreFile]:
    """The files of all paths, in their order.

    The name of a file is relative to its store; if a glob or a recursive search found it, to the directory
    in which that began.

    Raises:
        UsageError: no such files, or a wrong path.
        OSError: a path is missing or cannot be read.
    """
    kind, options = TABLE_KINDS[table], dict(request.storage)
    if commit_logs(options) and (len(request.paths) > 1 or request.recursive):
        raise UsageError(
            "option commitlog: belongs to one store; expected one path, without recursiveFileLookup"
        )
    found: list[StoreFile] = []
    for path in request.paths:
        _, plain = storage_for(path, options)
        paths = expand(path, options)
        if paths == [plain] and not request.recursive:
            found += find_files(plain, kind, options=options)
            continue
        top = plain.rstrip("/") if paths == [plain] else _above(plain)
        searched = (
            [root for folder in paths for root in find_roots(folder, options)] if request.recursive else paths
        )
        files = [file for place in searched for file in _some(place, kind, options)]
        if not files:
            raise UsageError(f"{path}: holds no file of table {table}")
        found += [replace(file, name=_below(file, top)) for file in files]
    return [
        file
        for file in found
        if file.config_table in (None, table)
        and (request.glob is None or fnmatchcase(file.path.name, request.glob))
    ]


def _some(path: str, kind: str, options: dict[str, str]) -> list[StoreFile]:
    """The files of one store of many, which need not have any of this kind."""
    try:
        return find_files(path, kind, options=options)
    except UsageError:
        return []


def _above(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[: next(n for n, part in enumerate(parts) if set(part) & set("*?["))])


def _below(file: StoreFile, top: str) -> str:
    whole = str(file.path) if file.source is None else file.source.name
    return whole.removeprefix(top).lstrip("/")


def plan_partitions(request: Request, table: str) -> list[RowsPartition]:
    """The partitions of a read.

    Raises:
        UsageError: as `requested_files`; a geometry that cannot be inferred.
        MalformedError: in mode FAILFAST, files that are not what they should be.
        OSError: a file cannot be read.
    """
    files, wanted = requested_files(request, table), request.wanted
    kind = TABLE_KINDS[table]
    parts: Iterable[FilePart]
    if kind == "index":
        parts = _index_parts(files, request, table, wanted)
    elif kind == "log":
        parts = _log_parts(files, request, wanted)
    else:
        parts = _queue_parts(files, request, table, wanted)
    return grouped(list(parts), request, table)


def grouped(parts: list[FilePart], request: Request, table: str) -> list[RowsPartition]:
    """Consecutive parts, up to the size of a partition."""
    whole = TABLE_KINDS[table] in ("checkpoint", "ext", "config") or table == "index_headers"
    most = _FILES if whole else request.max_partition_rows
    if table == "commit_log":
        most = LOG_BYTES if request.max_partition_rows * RECORD_FIXED_V4 > LOG_BYTES else 1
    partitions: list[RowsPartition] = []
    held: list[FilePart] = []
    room = 0
    for part in parts:
        weight = 1 if part.problem or most == _FILES else _weight(part)
        if held and weight > room:
            partitions.append(RowsPartition(tuple(held)))
            held = []
        if not held:
            room = most
        held.append(part)
        room -= weight
    if held:
        partitions.append(RowsPartition(tuple(held)))
    return partitions


def _weight(part: FilePart) -> int:
    """Rows of a part, or bytes of a log's."""
    begin, end = part.range
    if part.file.kind == "log":
        end = max(begin, min(end, part.file.base_offset + part.file.size()))
    return end - begin


def entry_count(file: StoreFile, guess: GeometryGuess) -> int:
    """The number of entries that the header of an index file counts.

    Raises:
        OSError: the file cannot be read.
    """
    ((_, header),) = decode([file], tables=["index_headers"], geometry={file: guess})
    count: int = header.column("index_count")[0].as_py()
    return max(0, min(count, guess.geometry.index_num) - 1)


def _index_parts(files: list[StoreFile], request: Request, table: str, wanted: Wanted) -> Iterator[FilePart]:
    guesses, problems = _geometries(files, request)
    for file in files:
        if not wanted.file(file):
            continue
        if file in problems:
            yield FilePart(file, problem=problems[file])
        elif table == "index_headers":
            yield FilePart(file, (0, 1), guess=guesses[file])
        else:
            end, step = entry_count(file, guesses[file]), request.max_partition_rows
            for begin in range(0, end, step):
                yield FilePart(file, (begin, min(begin + step, end)), guess=guesses[file])


def _geometries(
    files: list[StoreFile], request: Request
) -> tuple[dict[StoreFile, GeometryGuess], dict[StoreFile, str]]:
    """Geometries, and the problems of files without one."""
    problems: dict[StoreFile, str] = {}

    def keep(file: StoreFile, error: FormatError | OSError) -> None:
        if isinstance(error, OSError):
            raise error
        problems[file] = str(error)

    try:
        guesses = resolve_each(files, request.geometry, on_error=None if request.mode == "FAILFAST" else keep)
    except UsageError as error:
        told = str(error).replace("--geometry SLOTS,ENTRIES", "options hashSlotNum and indexNum")
        raise UsageError(told) from None
    return guesses, problems


def _checked(files: list[StoreFile], request: Request) -> dict[StoreFile, str]:
    """Files that overlap the next one, each with its problem; in mode FAILFAST an error."""
    problems = {}
    for before, file in pairwise(files):
        size, room = before.size(), file.base_offset - before.base_offset
        if before.sequence != file.sequence or size <= room:
            continue
        error = MalformedError(
            file=str(before.path) if before.source is None else before.source.name,
            found=f"{size:,} bytes",
            expected=f"{room:,}, up to where {file.path.name} begins",
            clause="CQ-FILE-2" if file.kind != "log" else "LOG-FILE-1",
        )
        if request.mode == "FAILFAST":
            raise error
        problems[before] = str(error)
    return problems


def _queue_parts(files: list[StoreFile], request: Request, table: str, wanted: Wanted) -> Iterator[FilePart]:
    problems = _checked(files, request) if TABLE_KINDS[table] in ("queue", "ext") else {}
    last = set({file.sequence: file for file in files}.values())
    for file in files:
        if not wanted.file(file):
            continue
        if file in problems:
            yield FilePart(file, problem=problems[file])
        size = file.size()
        if table == "consume_queue" and size and not size % QUEUE_UNIT.size:
            held = _written(file) if file in last else size
            step = request.max_partition_rows * QUEUE_UNIT.size
            end = -(-held // QUEUE_UNIT.size) * QUEUE_UNIT.size
            for begin, stop in pairwise([*_cuts_of(file, 0, end, step), end] if end else []):
                yield FilePart(file, (begin // QUEUE_UNIT.size, stop // QUEUE_UNIT.size))
        else:
            yield FilePart(file)


def _written(file: StoreFile) -> int:
    """Bytes up to the last that is not zero; of a file far away its size, since these would have to be fetched."""
    if file.source is not None:
        return file.size()
    with file.open() as reader:
        last = reader.last_nonzero(0, reader.size)
        return 0 if last is None else last + 1


def _cuts_of(file: StoreFile, first: int, end: int, step: int) -> list[int]:
    """Where the parts of [first, end) of a file begin: every `step` bytes, where the disk holds any of the next ones.

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


def _begins(file: StoreFile) -> bool:
    """Whether a log file contains anything: its first bytes are not zeros."""
    with file.open() as reader:
        return bool(reader.read(0, min(8, reader.size)).any())


def log_parts(
    files: list[StoreFile], step: int, bounds: tuple[int, int] = (LONG_MIN, 1 << 62)
) -> Iterator[FilePart]:
    """Ranges of a log, each with the files that its decoding needs.

    Together they cover all of `bounds`, holes between files included, each of which belongs to the file before it.
    """
    last = len(files) - 1
    while last > 0 and not _begins(files[last]):
        last -= 1
    for number, file in enumerate(files):
        behind = files[number + 1 :]
        joined = bool(behind) and behind[0].sequence == file.sequence
        end = file.base_offset + file.size()
        limit = max(end, behind[0].base_offset) if joined else max(end, bounds[1])
        first, stop = max(bounds[0], file.base_offset), min(bounds[1], limit)
        if first >= stop:
            continue
        following: tuple[StoreFile, ...] = ()
        if joined and behind[0].base_offset >= end:
            following = (behind[0],) if number + 1 >= last else (behind[0], files[last])
        base = file.base_offset
        held = end if number < last else base + _written(file)
        inside = _cuts_of(file, first - base, max(min(held, stop), first + 1) - base, step)
        cuts = [*(base + cut for cut in inside), stop]
        for begin, finish in pairwise(cuts):
            yield FilePart(file, (begin, finish), following if finish == stop else following[-1:])


def _log_parts(files: list[StoreFile], request: Request, wanted: Wanted) -> Iterator[FilePart]:
    problems = _checked(files, request)
    low, high = wanted.bounds("phy_offset")
    step = LOG_BYTES
    if request.max_partition_rows * RECORD_FIXED_V4 < LOG_BYTES and files:
        step = max(1, min(step, request.max_partition_rows * _record_size(files[0])))
    logs: dict[object, list[StoreFile]] = {}
    for file in files:
        logs.setdefault(file.sequence, []).append(file)
    for log in logs.values():
        for part in log_parts(log, step, (low, min(high + 1, 1 << 62))):
            if not wanted.file(part.file):
                continue
            if part.file in problems and part.range[0] == part.file.base_offset:
                yield FilePart(part.file, problem=problems[part.file])
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
