"""The index files and the commit log of a store, open to be searched."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from zlib import crc32

from rocket_spec.errors import MalformedError
from rocket_spec.layout import Geometry
from rocket_spec.tables import TABLES

from rocket_columnar import formats
from rocket_columnar.facts import Store, as_store
from rocket_columnar.index import GeometryGuess, IndexFile, resolve
from rocket_columnar.store import (
    DIRECTORY,
    Reader,
    StoreFile,
    file_at,
    is_gone,
    raise_of_process,
    require_store,
)

# The index files of a store as a broker's start would load them, opened to read.


_OTHERS: Final = (
    256  # open files beside the index files: those of the log, of the interpreter and of its libraries
)


@dataclass(frozen=True, slots=True)
class IndexSet:
    """The open index files of a store by name, oldest first (a broker appends to the last), and their geometry; None without files.

    `skipped` are names that are skipped, and `damaged` those of files that answer all the same as far as they go, each with the reason.
    """

    files: tuple[tuple[str, IndexFile], ...]
    skipped: tuple[tuple[str, str], ...]
    geometry: GeometryGuess | None
    damaged: tuple[tuple[str, str], ...] = ()


def open_indexes(store: Store, stack: ExitStack) -> IndexSet:
    """Opens the index files of a store; `stack` closes them.

    A name that is not a Java long is skipped, and loading ends at one that cannot be opened as a file. A file without bytes counts as one of
    zeros: a broker would extend it. What is cut short or damaged answers as far as it goes, with the geometry of the others; what cannot be
    read is skipped. UsageError or MalformedError if the geometry cannot be inferred, or does not fit, and no file has a sound one.

    Source: IDX-FILE-4; `IndexService.load` 58-92.
    """
    found, skipped = _loaded(store)
    _allow_open_files(len(found) + _OTHERS)
    readable: list[StoreFile] = []
    for file in found:
        try:
            with file.open():
                readable.append(file)
        except OSError as error:
            if is_gone(file):  # expired since it was listed
                continue
            raise_of_process(error)
            reason = error.strerror or str(error)
            skipped.append((file.name, f"it cannot be read: {reason.lower()}"))
    filled = [file for file in readable if file.path.stat().st_size]
    there = Store.of_files([*filled, *store.logs], name=store.name, geometry=store.given_geometry)
    there.conf = store.conf
    if there.geometry_fault is not None:
        raise there.geometry_fault
    guess = there.geometry_guess
    if guess is None:
        skipped += [(file.name, "it is empty") for file in readable]
        return IndexSet((), tuple(skipped), None)
    files = [
        (file.name, stack.enter_context(IndexFile.open_for_reading(file.path, guess.geometry)))
        for file in readable
    ]
    return IndexSet(tuple(files), tuple(skipped), guess, tuple(_damaged(filled, guess.geometry)))


def _allow_open_files(count: int) -> None:
    """Raises this process's own limit on open files, up to the hard limit: its default is about a thousand."""
    if sys.platform == "win32":  # which has no such limit
        return
    import resource

    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit < count and limit != resource.RLIM_INFINITY:
        wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
        if wanted > limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _damaged(files: Sequence[StoreFile], geometry: Geometry) -> Iterator[tuple[str, str]]:
    """The names of the files that are not whole, and what is wrong with each."""
    for file in files:
        size = file.size()
        if size != geometry.file_size:
            how = "cut short" if size < geometry.file_size else "too long"
            yield file.name, f"{how}: found {size:,} bytes, expected {geometry.file_size:,}"
            continue
        try:
            resolve([file], geometry)
        except MalformedError as error:
            yield file.name, f"found {error.found}, expected {error.expected}"


def _loaded(store: Store) -> tuple[list[StoreFile], list[tuple[str, str]]]:
    """The files to load, in the order of their names as Java compares them, and what is skipped."""
    listed = {file.name: file for file in store.of("index")}
    reasons = {name: reason for name, reason in store.skipped if name.startswith("index/")}
    files: list[StoreFile] = []
    skipped: list[tuple[str, str]] = []
    ended = False
    for name in sorted((*listed, *reasons), key=lambda name: name.encode("utf-16-be")):
        if ended:
            skipped.append((name, "not loaded: it comes after a directory"))
        elif name in listed:
            files.append(listed[name])
        elif reasons[name] == DIRECTORY:
            ended = True
            skipped.append((name, "a directory, at which a broker stops loading"))
        else:
            skipped.append((name, reasons[name]))
    return files, skipped


# Records of the commit log by physical offset, as a broker looks them up for a query.


Row = dict[str, Any]  # a row of the table commit_log: column names to Python values

_COLUMNS: Final = [column.name for column in TABLES["commit_log"]]
_LEAST: Final = 40  # bytes up to and with the sysFlag
_PORTS: Final = range(65536)


class CommitLog:
    """The commit-log files of a store; files are opened when they are first read, and `stack` closes them.

    Attributes:
        files: in the order of their offsets; empty if the store has none.
        on_progress: called by a search through the whole log with the bytes that were read, and those of all.
    """

    on_progress: Callable[[int, int], None] | None = None

    def __init__(self, store: Store, stack: ExitStack) -> None:
        self._store = store
        self._stack = stack
        self._readers: dict[StoreFile, Reader] = {}
        self.files = list(store.logs)

    def _list(self) -> None:
        if self._store.path is not None:
            self.files = list(self._store.present_tail().files)

    def _reader(self, file: StoreFile) -> Reader:
        if file not in self._readers:
            self._readers[file] = self._stack.enter_context(file.open())
        return self._readers[file]

    def _size(self, file: StoreFile) -> int | None:
        """Bytes of a file; None, and the log is listed again, where it has been deleted since."""
        try:
            return self._reader(file).size
        except FileNotFoundError:
            if not is_gone(file):
                raise
            self._list()
            return None

    @property
    def range(self) -> tuple[int, int] | None:
        """Physical offsets of the log's first byte and of the byte after its last, or None without files."""
        if not self.files:
            return None
        first, last = self.files[0], self.files[-1]
        size = self._size(last)
        return self.range if size is None else (first.base_offset, last.base_offset + size)

    def file_at(self, offset: int) -> StoreFile | None:
        """The file in which a physical offset is."""
        file = file_at(self.files, offset)
        if file is None:
            return None
        size = self._size(file)
        if size is None:
            return self.file_at(offset)
        return file if offset < file.base_offset + size else None

    def data(self, offset: int) -> bytes | None:
        """The bytes that a broker would send for a hit: as many as the first four bytes state, whatever they contain.

        None if the offset or the length is outside the file. The log is listed again for an offset after its end, which a broker may have
        written since. Source: `CommitLog.getData` 194-204, `DefaultMessageStore.queryMessage` 1010-1018.
        """
        file = self.file_at(offset)
        bounds = self.range
        if file is None and bounds is not None and offset >= bounds[1]:
            self._list()
            file = self.file_at(offset)
        return None if file is None else self._data(file, offset - file.base_offset)

    def _data(self, file: StoreFile, position: int) -> bytes | None:
        reader = self._reader(file)
        room = reader.size - position
        if room < 4:
            return None
        size = int.from_bytes(reader.read(position, 4).tobytes(), signed=True)
        return reader.read(position, size).tobytes() if 0 <= size <= room else None

    def store_timestamp(self, offset: int) -> int | None:
        """Store time of the record at an offset, in ms, or None if a broker's decoder fails on it.

        Offset 0, where it has expired, is looked up at the start of the oldest file, as 4.9.3 does.
        Source: `DefaultMessageStore.lookMessageByOffset` 786-799, 1227-1238; `CommitLog.getMessage` 927-935.
        """
        data = self.data(offset)
        if data is None and offset == 0 and self.files and self.file_at(0) is None:
            first = self.file_at(self.files[0].base_offset)
            data = None if first is None else self._data(first, 0)
        return None if data is None else _decoded_time(data)

    def record(self, offset: int) -> tuple[bytes, formats.Record] | None:
        """A record whose lengths add up, with its bytes, or None."""
        data = self.data(offset)
        if data is None or len(data) < _LEAST:
            return None
        found = formats.parse_record(data, 0)
        return None if isinstance(found, formats.Bad) else (data, found)

    def row(self, offset: int) -> Row:
        """The row of the table commit_log at an offset; of bytes that do not decode, their offset, length and file."""
        row: Row = dict.fromkeys(_COLUMNS)
        data, file = self.data(offset), self.file_at(offset)
        row |= {"phy_offset": offset, "size": len(data or b""), "file": file.name if file else None}
        whole = self.record(offset)
        if whole is None:
            return row
        return row | _values(*whole)


def _values(data: bytes, record: formats.Record) -> Row:
    """The columns of a record, but its file and its place, which may differ from what it states."""
    fixed = record.fixed
    body = data[record.body :][: max(fixed.body_length, 0)]
    raw = data[record.topic :][: record.topic_length]
    pairs = formats.parse_properties(data[record.properties :][: record.properties_length])
    texts = {name: pairs.get(name.upper().encode()) for name in ("keys", "uniq_key", "tags")}
    same = fixed._asdict()
    return {name: same[name] for name in _COLUMNS if name in same and name != "phy_offset"} | {
        "size": fixed.total_size,
        "topic": formats.clean_utf8(raw).decode(),
        "born_host": formats.host_text(fixed.born_host),
        "store_host": formats.host_text(fixed.store_host),
        "body": body,
        "body_crc": fixed.body_crc & 0xFFFFFFFF,
        "crc_ok": not body or crc32(body) & 0x7FFFFFFF == fixed.body_crc,
        **{name: None if text is None else text.decode() for name, text in texts.items()},
        "tags_code": formats.tags_code(raw, pairs, fixed.store_timestamp),
        "properties": {name.decode(): value.decode() for name, value in pairs.items()},
    }


def keys_of(row: Row) -> set[str]:
    """The keys under which a dispatch indexes a record: its unique key and its KEYS, split on one space.

    Source: LOG-DSP-1; `IndexService.buildIndex` 201-246.
    """
    keys = {key for key in (row["keys"] or "").split(" ") if key}
    return keys if row["uniq_key"] is None else keys | {row["uniq_key"]}


def _decoded_time(data: bytes) -> int | None:
    """Store time in ms where all fields are inside `data`; magic and total length are not checked (`MessageDecoder.decode` 265-375)."""
    if len(data) < _LEAST or len(data) < formats.body_begin(data[_LEAST - 1]):
        return None
    fields = formats.fixed_fields(data)
    ports = [int.from_bytes(host[-4:], signed=True) for host in (fields.born_host, fields.store_host)]
    topic = formats.body_end(data) + formats.topic_length_size(fields.magic)
    length = int.from_bytes(data[formats.body_end(data) : topic], signed=True)
    properties = topic + max(length, 0) + 2
    if length < 0 or properties > len(data) or not all(port in _PORTS for port in ports):
        return None
    rest = max(int.from_bytes(data[properties - 2 : properties], signed=True), 0)
    return fields.store_timestamp if properties + rest <= len(data) else None


class OpenFiles:
    """The index files and the commit log of a store, open to be searched; use it in a `with` block.

    Of a directory the geometry is inferred from the index files' content if not given, and further directories of the commit log are those of
    `find_files`. UsageError for no store, or a geometry that cannot be inferred; MalformedError for an index file that no geometry makes.
    """

    def __init__(
        self,
        store: Store | Path | str,
        geometry: Geometry | None = None,
        *,
        commitlog: Sequence[Path | str] = (),
    ) -> None:
        self.store = as_store(store, commitlog=commitlog, geometry=geometry)
        if self.store.path is not None:
            require_store(self.store.path, ("index", "commitlog"))
        self.indexes, self.log, self._stack = self.store.looked_at(self._open, despite_unreadable=False)

    @property
    def skipped(self) -> tuple[tuple[str, str], ...]:
        """Names of the files of index and log that are not read, each with the reason."""
        log = (skip for skip in self.store.skipped if not skip[0].startswith(("index/", "consumequeue")))
        return (*self.indexes.skipped, *log)

    def _open(self) -> tuple[IndexSet, CommitLog, ExitStack]:
        with ExitStack() as stack:
            return open_indexes(self.store, stack), CommitLog(self.store, stack), stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
