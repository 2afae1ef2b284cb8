"""Signs that a release of 5.x wrote to a store, which 4.9.3 never leaves; read from few bytes of each file."""

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import LONG_TOPIC_MAGIC

from rocket_columnar.formats import body_begin
from rocket_columnar.store.listing import find_files
from rocket_columnar.store.places import is_store
from rocket_columnar.store.reader import open_reader, raise_of_process
from rocket_columnar.store.store_file import StoreFile, read_at

_LATER_TIMES: Final = struct.Struct(">3q")
"""Bytes 24 to 47 of a checkpoint; 4.9.3 writes zeros there (CKP-1)."""

_HEAD: Final = 40  # bytes, of a record up to its sysFlag
_LIMIT: Final = 1 << 56  # an offset or a time; a checkpoint of other bytes is damaged
_LONGEST: Final = 1 << 24  # bytes of a configuration
_LOGS: Final = 4  # files at each end of the log
_FILES: Final = 64  # of a folder

_UNREAD: Final[tuple[tuple[Literal["rocksdb", "index", "compaction"], str, str], ...]] = (
    ("rocksdb", "consumequeue_rocksdb", "queues in RocksDB"),
    ("index", "rocksdbstore", "the index in RocksDB"),
    ("compaction", "compaction/compactionLog", "compacted topics"),
)
"""Folders of a store that are not read, and what is in them."""


class Sign(NamedTuple):
    """One sign.

    Attributes:
        kind: what it is.
        text: the same, with its place.
        since: the first release that writes it, where that is known and later than 5.0.0.
    """

    kind: Literal["magic", "checkpoint", "batch", "rocksdb", "index", "compaction", "timer", "config", "tags"]
    text: str
    since: str = ""


def later_line(signs: Iterable[Sign]) -> str:
    """One line that states the signs, and what they mean for whatever is said about the store."""
    known = ", ".join(sign.text for sign in signs)
    return f"written by 5.x: {known}; judged by the rules of 4.9.3 where they still hold; only index files and queues are repaired"


def later_signs(files: Sequence[StoreFile]) -> tuple[Sign, ...]:
    """The signs in some files; empty for those of 4.9.3.

    Raises:
        OSError: a file cannot be read.
    """
    found = [*_of_log([file for file in files if file.kind == "log"])]
    for file in files:
        if file.kind == "checkpoint":
            found += _of_checkpoint(file)
    return tuple(found)


def _of_log(logs: Sequence[StoreFile]) -> Iterator[Sign]:
    for file in (*logs[:_LOGS], *logs[max(_LOGS, len(logs) - _LOGS) :]):
        try:
            later = _is_later_record(file, 0)
        except FileNotFoundError:  # expired meanwhile
            continue
        if later:
            yield Sign("magic", f"magic daa320ab in {file.name} at byte 4")
            return


def _is_later_record(file: StoreFile, at: int) -> bool:
    """Whether a record with the later magic begins at a byte of a log file: its lengths add up, with two bytes for the topic's."""
    head = read_at(file, at, _HEAD)
    if len(head) < _HEAD or head[4:8] != LONG_TOPIC_MAGIC.to_bytes(4, signed=True):
        return False
    size, body = int.from_bytes(head[:4], signed=True), body_begin(head[39])
    topic = body + int.from_bytes(read_at(file, at + body - 4, 4), signed=True)
    if not body <= topic <= size - 4:
        return False
    properties = topic + 2 + int.from_bytes(read_at(file, at + topic, 2), signed=True)
    length = int.from_bytes(read_at(file, at + properties, 2), signed=True)
    return topic + 2 <= properties <= size - 2 and properties + 2 + length == size


def _start(file: StoreFile, length: int) -> bytes:
    """The first bytes of a file, none of one that no longer exists."""
    try:
        return read_at(file, 0, length)
    except FileNotFoundError:
        return b""


def _of_checkpoint(file: StoreFile) -> Iterator[Sign]:
    raw = _start(file, 24 + _LATER_TIMES.size)[24:]
    values = _LATER_TIMES.unpack(raw) if len(raw) == _LATER_TIMES.size else ()
    if all(0 <= value < _LIMIT for value in values):
        for number, value in enumerate(values):
            if value:
                since = "5.5.0" if number == 2 else ""  # CKP-5
                yield Sign("checkpoint", f"{value:,} in the checkpoint at byte {24 + 8 * number}", since)


def folder_signs(store: Path) -> tuple[Sign, ...]:
    """The signs in what a broker keeps in its store beside its files: the configuration, and queues in RocksDB."""
    return tuple(_of_folders(store))


def _of_folders(store: Path) -> Iterator[Sign]:
    if (
        store / "consumequeue" / "CURRENT"
    ).is_file():  # `ConsumeQueueRocksDBStorage`, with storeType defaultRocksDB
        yield Sign("rocksdb", "queues in RocksDB (consumequeue, not read)")
    if topics_in_rocksdb(store):
        yield Sign("config", "the configuration in RocksDB (config/topics, not read)")
    for kind, folder, what in _UNREAD:
        used = _has_content(store / folder) if kind == "compaction" else _is_used(store / folder)
        if used and not (kind == "index" and _has_content(store / "index")):
            yield Sign(kind, f"{what} ({folder}, not read)")
    if _has_content(store / "batchconsumequeue"):
        yield Sign("batch", "batch queues (batchconsumequeue, not rebuilt)")
    if _has_content(store / "timerlog"):
        yield Sign("timer", "timed messages (timerlog, not audited, not rebuilt)")
    path = store / "config" / "topics.json"
    try:
        with open_reader(path) as reader:
            text = reader.read(0, min(reader.size, _LONGEST)).tobytes()
    except OSError as error:
        raise_of_process(error)
        return  # no configuration, or none that can be read
    if b"queue.type" in text and b"BatchCQ" in text:
        yield Sign("batch", "queue.type BatchCQ in config/topics.json")
    elif b'"stateVersion"' in text:
        yield Sign("config", "stateVersion in config/topics.json")


def topics_in_rocksdb(store: Path) -> bool:
    """Whether a broker of 5.x keeps its list of topics in RocksDB, and not in `config/topics.json`."""
    return (store / "config" / "topics" / "CURRENT").is_file()


def _is_used(database: Path) -> bool:
    """Whether a RocksDB contains anything: a table, or a log of puts with a byte. A broker of 5.5.0 makes an empty one."""
    return database.is_dir() and any(
        entry.name.endswith((".sst", ".log")) and entry.stat().st_size
        for entry in os.scandir(database)
        if entry.is_file()
    )


def _has_content(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def signs_at(path: Path, commitlog: Sequence[Path] = ()) -> tuple[Sign, ...]:
    """The signs at a path: in a store's log, checkpoint and configuration, or in the files of a folder; none where none can be read."""
    try:
        if not is_store(path):
            return later_signs(find_files(path)[:_FILES])
        return (
            *later_signs(find_files(path, kinds=("log", "checkpoint"), commitlog=commitlog)),
            *folder_signs(path),
        )
    except (FormatError, UsageError, OSError):
        return ()
