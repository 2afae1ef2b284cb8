"""Records of the commit log by physical offset, as a broker looks them up for a query."""

import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import UsageError
from rocket_spec.tables import TABLES

from rocket_columnar import arrow
from rocket_columnar.arrow import SCHEMAS
from rocket_columnar.decode import record_columns
from rocket_columnar.facts import Store
from rocket_columnar.formats import Bad, Record, parse_record, topic_length_size
from rocket_columnar.store import Reader, StoreFile, file_at, find_files, is_gone

Row = dict[str, Any]
"""A row of the table commit_log: column names to Python values."""

_COLUMNS: Final = [column.name for column in TABLES["commit_log"]]
_HEAD: Final = struct.Struct(">iiiiiqqiq")
_LEAST: Final = 40  # bytes up to and with the sysFlag
_PORTS: Final = range(65536)


class CommitLog:
    """The commit-log files of a store; files are opened when they are first read, and `stack` closes them.

    Attributes:
        files: in the order of their offsets; empty if the store has none.
        skipped: names in the log's folder that are skipped, each with the reason.
        on_progress: called by a search through the whole log with the bytes that were read, and those of all.
    """

    on_progress: Callable[[int, int], None] | None = None

    def __init__(
        self,
        root: Store | Path,
        stack: ExitStack,
        commitlog: Sequence[Path | str] = (),
        files: Sequence[StoreFile] | None = None,
    ) -> None:
        """Takes a store; or its directory, further ones of its log, or the log's files wherever they are."""
        self._given = files
        self._root = root
        self._commitlog = commitlog
        self._stack = stack
        self._readers: dict[StoreFile, Reader] = {}
        if isinstance(root, Store):
            self.files, self.skipped = list(root.logs), _of_log(root.skipped)
        else:
            self._list()

    def _list(self) -> None:
        if isinstance(self._root, Store):
            if self._root.path is not None:
                self.files = list(self._root.present_tail().files)
            return
        skipped: list[tuple[str, str]] = []
        try:
            self.files = [file for file in self._given or () if not is_gone(file)] or find_files(
                self._root, "log", commitlog=self._commitlog, on_skip=lambda *listed: skipped.append(listed)
            )
        except UsageError:
            self.files = []
        self.skipped = _of_log(skipped)

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

        None if the offset or the length is outside the file. Nothing is asked of magic or content. The log is
        listed again for an offset after its end, which a broker may have written since.

        Source: `CommitLog.getData` 194-204, `DefaultMessageStore.queryMessage` 1010-1018.
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

    def record(self, offset: int) -> tuple[bytes, Record] | None:
        """A record whose lengths add up, with its bytes, or None."""
        data = self.data(offset)
        if data is None or len(data) < _LEAST:
            return None
        found = parse_record(data, 0)
        return None if isinstance(found, Bad) else (data, found)

    def row(self, offset: int) -> Row:
        """The row of the table commit_log for what is at an offset; of bytes that do not decode, the
        offset, length and file alone.
        """  # noqa: D205
        row: Row = dict.fromkeys(_COLUMNS)
        data, file = self.data(offset), self.file_at(offset)
        row |= {"phy_offset": offset, "size": len(data or b""), "file": file.name if file else None}
        whole = self.record(offset)
        if whole is None:
            return row
        columns = record_columns(*whole, set(_COLUMNS))
        names = [name for name in _COLUMNS if name in columns]
        schema = SCHEMAS["commit_log"]
        batch = arrow.batch(schema.empty_table().select(names).schema, columns)
        (decoded,) = batch.to_pylist()
        decoded["properties"] = dict(decoded["properties"])
        return row | decoded


def _of_log(skipped: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [skip for skip in skipped if not skip[0].startswith(("index/", "consumequeue"))]


def keys_of(row: Row) -> set[str]:
    """The keys under which a dispatch indexes a record: its unique key and its KEYS, split on one space.

    Source: LOG-DSP-1; `IndexService.buildIndex` 201-246.
    """
    keys = {key for key in (row["keys"] or "").split(" ") if key}
    return keys if row["uniq_key"] is None else keys | {row["uniq_key"]}


def _decoded_time(data: bytes) -> int | None:
    """Store time in ms where all fields are inside `data`; magic and total length are not checked.

    Source: `MessageDecoder.decode` 265-375 (its exceptions give null).
    """
    try:
        (_, magic, *_, sys_flag, _) = _HEAD.unpack_from(data)
        at = _HEAD.size
        at, born_port = _port(data, at, 16 if sys_flag & 16 else 4)
        (store_timestamp,) = struct.unpack_from(">q", data, at)
        at, store_port = _port(data, at + 8, 16 if sys_flag & 32 else 4)
        (body_length,) = struct.unpack_from(">i", data, at + 12)
        at += 16 + max(body_length, 0)
        size = topic_length_size(magic)
        topic_length = int.from_bytes(data[at : at + size], signed=True)
        at += size + max(topic_length, 0)
        (properties_length,) = struct.unpack_from(">h", data, at)
    except (struct.error, IndexError):
        return None
    fits = topic_length >= 0 and at + 2 + max(properties_length, 0) <= len(data)
    return int(store_timestamp) if fits and born_port in _PORTS and store_port in _PORTS else None


def _port(data: bytes, at: int, address: int) -> tuple[int, int]:
    """The offset after a host with `length` address bytes, and its port."""
    return at + address + 4, struct.unpack_from(">i", data, at + address)[0]
