"""Facts that a store shows about its broker: the configuration, the process that holds the lock, and the release."""

import errno
import os
import re
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.later_layouts import TIMER_SLOT
from rocket_spec.layout import DEFAULT_GEOMETRY, LONG_TOPIC_MAGIC, Geometry

from rocket_columnar.formats import DELAYS, body_begin, parse_int, parse_long
from rocket_columnar.store.listing import find_files
from rocket_columnar.store.reader import open_reader, raise_of_process, require_regular
from rocket_columnar.store.store_file import StoreFile, is_store, read_at, shown_name

_LOG_FILE_SIZE: Final = 1 << 30
_QUEUE_FILE_SIZE: Final = 6_000_000
_EXT_FILE_SIZE: Final = 48 << 20
_UNIT: Final = 20  # bytes of a consume-queue unit
RESERVED_HOURS: Final = 72
DELETE_WHEN: Final = "04"
_LONGEST: Final = 1 << 20
_PATHS: Final = ("storePathRootDir", "storePathCommitLog", "readOnlyCommitLogStorePaths")
_DELAY_UNITS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class BrokerConf:
    """The settings of the file, with 4.9.3's defaults for all others.

    Source: `MixAll.properties2Object` 317-355; `MessageStoreConfig` 25-175; `ConsumeQueue.multiDispatchLmqQueue` 432-453 (4.9.3).
    """

    path: Path
    geometry: Geometry  # `maxHashSlotNum` and `maxIndexNum`
    log_file_size: int  # `mappedFileSizeCommitLog`, bytes
    queue_file_size: int  # `mappedFileSizeConsumeQueue`, bytes, rounded up to whole units
    ext_file_size: int | None  # `mappedFileSizeConsumeQueueExt`, bytes; None without `enableConsumeQueueExt`
    store: str | None  # `storePathRootDir`, or None if the file does not set it
    # the directories of `storePathCommitLog`, and if there are several, of `readOnlyCommitLogStorePaths`; blanks beside a comma
    # belong to a name (STORE-17)
    commit_logs: tuple[str, ...]
    index_safe: bool  # `messageIndexSafe`
    index_enabled: bool  # `messageIndexEnable`
    dledger: bool  # `enableDLegerCommitLog`
    member: str | None  # `dLegerSelfId`, or None if the file does not set it
    light_queues: bool  # `enableLmq`, which gives light queues the number 0
    multi_dispatch: bool  # `enableMultiDispatch`
    reserved_hours: int  # `fileReservedTime`
    delete_when: str  # `deleteWhen`, hours of the broker's local time
    delays: tuple[int, ...] = DELAYS  # `messageDelayLevel`, ms of each level
    # texts that are not numbers, by the names of the settings that keep their defaults
    ignored: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)

    def misreads(self, seen: Geometry) -> bool:
        """Whether a broker reads index files of this geometry at wrong places: it lengthens those with fewer entries, and finds each."""
        wanted = self.geometry
        return seen.hash_slot_num != wanted.hash_slot_num or seen.index_num > wanted.index_num

    def ignores(self, *names: str) -> str:
        """A note in parentheses on the texts of settings that the broker ignores; empty without any."""
        texts = [f"{name}={self.ignored[name]!r}" for name in names if name in self.ignored]
        return f" ({' and '.join(texts)} is not a number)" if texts else ""


def read_broker_conf(path: Path) -> BrokerConf:
    """Reads a broker's configuration; UsageError for a number or a path that the broker would not take, MalformedError beyond 1 MiB."""
    with open_reader(path) as reader:
        if reader.size > _LONGEST:
            expected = f"the configuration file of a broker of at most {_LONGEST:,} bytes"
            raise MalformedError(file=str(path), found=f"{reader.size:,} bytes", expected=expected)
        text = reader.read(0, reader.size).tobytes().decode("latin-1")
    try:
        values = _properties(text)
    except ValueError as error:
        raise UsageError(f"{path}: found {error}, expected four hexadecimal digits after \\u") from None
    for name in _PATHS:
        if re.search("[\0\ud800-\udfff]", values.get(name, "")):  # a \u escape can be either
            raise UsageError(f"{path}: found {name}={values[name]!a}, expected a path")

    ignored: list[str] = []

    def number(name: str, default: int) -> int:
        given = values.get(name)
        found = default if given is None else parse_int(given)
        if found is None:  # `MixAll.properties2Object` goes on with the default
            ignored.append(name)
            return default
        if found <= 0:
            raise UsageError(f"{path}: found {name}={given}, expected a positive number of 32 bits")
        return found

    def switch(name: str, *, default: bool = False) -> bool:
        return values.get(name, str(default)).lower() == "true"

    ext = switch("enableConsumeQueueExt")
    return BrokerConf(
        path=path,
        geometry=Geometry(
            number("maxHashSlotNum", DEFAULT_GEOMETRY.hash_slot_num),
            number("maxIndexNum", DEFAULT_GEOMETRY.index_num),
        ),
        log_file_size=number("mappedFileSizeCommitLog", _LOG_FILE_SIZE),
        queue_file_size=-(-number("mappedFileSizeConsumeQueue", _QUEUE_FILE_SIZE) // _UNIT) * _UNIT,
        ext_file_size=number("mappedFileSizeConsumeQueueExt", _EXT_FILE_SIZE) if ext else None,
        store=values.get("storePathRootDir"),
        commit_logs=_commit_logs(values),
        index_safe=switch("messageIndexSafe"),
        index_enabled=switch("messageIndexEnable", default=True),
        dledger=switch("enableDLegerCommitLog"),
        member=values.get("dLegerSelfId"),
        light_queues=switch("enableLmq"),
        multi_dispatch=switch("enableMultiDispatch"),
        reserved_hours=number("fileReservedTime", RESERVED_HOURS),
        delete_when=values.get("deleteWhen", DELETE_WHEN),
        delays=_delays(path, values["messageDelayLevel"]) if "messageDelayLevel" in values else DELAYS,
        ignored={name: values[name] for name in ignored},
    )


def _delays(path: Path, text: str) -> tuple[int, ...]:
    """The delays of all levels, ms (`ScheduleMessageService.parseDelayLevel` 248-276)."""
    levels = re.sub(" +$", "", text).split(" ")  # Java's split drops empty parts at the end
    if not all(re.fullmatch("[0-9]{1,9}[smhd]", level) for level in levels):
        raise UsageError(f"{path}: found messageDelayLevel={text}, expected delays such as 1s 5m 2h")
    return tuple(int(level[:-1]) * _DELAY_UNITS[level[-1]] for level in levels)


def logs_of(conf: BrokerConf, store: Path) -> list[Path]:
    """The configured directories of the log; those in the configured store are in `store`, wherever that is."""
    folders = [Path(text) for text in conf.commit_logs]
    root = conf.store
    return [
        store / folder.relative_to(root) if root is not None and folder.is_relative_to(root) else folder
        for folder in folders
    ]


def same_place(one: Path, other: Path) -> bool:
    """Whether two paths lead to one directory."""
    return os.path.realpath(one) == os.path.realpath(other)


def _commit_logs(values: Mapping[str, str]) -> tuple[str, ...]:
    """STORE-17. An empty part is left out: nothing is loaded from it."""
    own, read_only = (values.get(name, "").split(",") for name in _PATHS[1:])
    return tuple(dict.fromkeys(part for part in own + (read_only if len(own) > 1 else []) if part))


_KEY: Final = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


def _properties(text: str) -> dict[str, str]:
    """The pairs of a Java properties file, with blanks at ends of values; ValueError for an escape with which `Properties.load` throws."""
    pairs: dict[str, str] = {}
    lines = iter(re.split(r"\r\n|\r|\n", text))
    for line in lines:
        whole = line.lstrip(" \t\f")
        if whole[:1] in ("", "#", "!"):
            continue
        while (len(whole) - len(whole.rstrip("\\"))) % 2:
            whole = whole[:-1] + next(lines, "").lstrip(" \t\f")
        found = _KEY.fullmatch(whole)
        if found is not None:
            pairs[_plain(found[1])] = _plain(found[2])
    return pairs


def _plain(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        escape = found[1]
        if escape == "u":
            raise ValueError(text)
        return chr(int(escape[1:], 16)) if len(escape) > 1 else _ESCAPES.get(escape, escape)

    return _ESCAPED.sub(character, text)


# The lock of a store: a broker holds it on the store's file `lock` as long as it runs, and a repair as long as it works.
#
# Source: `DefaultMessageStore.start` 237-243 (4.9.3), `lockFile.getChannel().tryLock(0, 1, false)`, which is `fcntl` on POSIX systems.


_FLOCK: Final = struct.Struct("hhqqi4x")
"""`struct flock` of 64-bit Linux: type, whence, start, length, process."""
_LINUX: Final = sys.platform == "linux" and struct.calcsize("P") == 8

_held: Final = set[tuple[int, int]]()  # device and inode of the files whose lock this process holds


def lock_holder(store: Path) -> int | None:
    """Number of the process that holds the store's lock, 0 if no other one does; None if the system cannot report it.

    The lock is only checked, never taken. It is -1 for a process on another machine that shares the disk, which only file
    systems that share locks report, and for a repair.
    """
    if not _LINUX:
        return None
    import fcntl

    try:
        descriptor = os.open(store / "lock", os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise_of_process(error)
        return None
    try:
        if _identity(os.fstat(descriptor)) in _held:
            return 0
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        kind, _, _, _, process = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    except OSError:  # a file system without locks
        return None
    finally:
        os.close(descriptor)
    return 0 if kind == fcntl.F_UNLCK else int(process) or -1


def lock_text(holder: int) -> str:
    """The holder of a lock, in words."""
    return (
        f"process {holder} holds its lock" if holder > 0 else "another machine, or a repair, holds its lock"
    )


@contextmanager
def hold_lock(store: Path, directory: int) -> Iterator[None]:
    """Holds the lock, so that no broker starts; a store without the file gets an empty one, which stays.

    On Linux the lock belongs to the open file: unlike one of the process, it is kept when this process opens and closes the file elsewhere. On
    other systems nothing else here opens the file. `directory` is the descriptor of the store's directory. UsageError if a broker holds the lock,
    OSError if the file is a link or not a regular file.
    """
    path = store / "lock"
    try:
        descriptor = _opened(directory)
    except OSError as error:
        reason = "a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise OSError(error.errno, reason, os.fspath(path)) from error
    status = os.fstat(descriptor)
    try:
        require_regular(path, status.st_mode)
        try:
            _take(descriptor)
        except (BlockingIOError, PermissionError):
            raise UsageError(
                f"{store}: a broker is running (it holds {path}); stop it before a repair"
            ) from None
        except OSError as error:  # a file system without locks
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        if _identity(os.stat("lock", dir_fd=directory, follow_symlinks=False)) != _identity(status):
            raise UsageError(f"{path}: was replaced meanwhile; is a broker running?")
        _held.add(_identity(status))
        yield
    finally:
        _held.discard(_identity(status))
        os.close(descriptor)


def _opened(directory: int) -> int:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open("lock", flags, dir_fd=directory)
    except FileNotFoundError:
        descriptor = os.open("lock", flags | os.O_CREAT, 0o644, dir_fd=directory)
    if os.geteuid() == 0:  # the broker's user has to open it
        owner = os.fstat(directory)
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def _take(descriptor: int) -> None:
    """Locks byte 0 of an open file; BlockingIOError or PermissionError if another process holds it."""
    import fcntl

    command: Any = getattr(fcntl, "F_OFD_SETLK", None)
    if _LINUX and command is not None:
        fcntl.fcntl(descriptor, command, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


# Signs that a release of 5.x wrote to a store, which 4.9.3 never leaves; read from few bytes of each file.


_LATER_TIMES: Final = struct.Struct(">3q")  # bytes 24 to 47 of a checkpoint; 4.9.3 writes zeros there (CKP-1)

_HEAD: Final = 40  # bytes, of a record up to its sysFlag
_LIMIT: Final = 1 << 56  # an offset or a time; a checkpoint of other bytes is damaged
_LONGEST_TABLE: Final = 1 << 24  # bytes of a file in config/
_VERSIONED: Final = ("topics.json", "subscriptionGroup.json")  # the first may be missing, or written by hand
_LOGS: Final = 4  # files at each end of the log
_FILES: Final = 64  # of a folder

_UNREAD: Final[tuple[tuple[Literal["rocksdb", "index", "compaction"], str, str], ...]] = (
    ("rocksdb", "consumequeue_rocksdb", "queues in RocksDB"),
    ("index", "rocksdbstore", "the index in RocksDB"),
    ("compaction", "compaction/compactionLog", "compacted topics"),
)
"""Folders of a store that are not read, and what is in them."""


class Sign(NamedTuple):
    """One sign."""

    # what it is
    kind: Literal["magic", "checkpoint", "batch", "rocksdb", "index", "compaction", "timer", "config", "tags"]
    text: str  # the same, with its place
    since: str = ""  # the first release that writes it, where that is known and later than 5.0.0


def written_later(signs: Iterable[Sign]) -> str:
    """The signs in words, the first of each kind."""
    first: dict[str, str] = {}
    for sign in signs:
        first.setdefault(sign.kind, sign.text)
    return f"written by 5.x: {', '.join(first.values())}"


def later_line(signs: Iterable[Sign]) -> str:
    """One line that states the signs, and what they mean for whatever is said about the store."""
    return f"{written_later(signs)}; judged by the rules of 4.9.3 where they still hold; only index files and queues are repaired"


def later_signs(files: Sequence[StoreFile]) -> tuple[Sign, ...]:
    """The signs in some files; empty for those of 4.9.3."""
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
    texts = {name: _config_text(store, name) for name in _VERSIONED}
    if b"queue.type" in texts[_VERSIONED[0]] and b"BatchCQ" in texts[_VERSIONED[0]]:
        yield Sign("batch", f"queue.type BatchCQ in config/{_VERSIONED[0]}")
    elif found := [name for name, text in texts.items() if b'"stateVersion"' in text]:
        yield Sign("config", f"stateVersion in config/{found[0]}")


def _config_text(store: Path, name: str) -> bytes:
    """The text of a file of `config/`; empty for one that is missing or cannot be read."""
    try:
        with open_reader(store / "config" / name) as reader:
            return reader.read(0, min(reader.size, _LONGEST_TABLE)).tobytes()
    except OSError as error:
        raise_of_process(error)
        return b""


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


# Files that keep a broker from starting, beside the lengths and content of its log and queues: timer wheel and timer log.


_WHEEL: Final = 2 * 604_800 * TIMER_SLOT.size  # bytes of a broker's timer wheel (TIM-2)


class Refusal(NamedTuple):
    """A file or directory that keeps a broker from starting, and why."""

    file: str
    reason: str
    cure: str


def unfit_wheel(store: Path) -> Refusal | None:
    """The timer wheel that a broker of 5.x would not open, by its length; one without bytes it extends.

    It opens the copy of the greatest position, if there is any (TIM-2). Source: `TimerWheel.TimerWheel` 63-81 (5.5.0).
    """
    copies = {parse_long(path.suffix[1:]): path for path in store.glob("timerwheel.*")}
    path = copies[max(known)] if (known := [at for at in copies if at is not None]) else store / "timerwheel"
    size = path.stat().st_size if path.is_file() else 0
    if size in (0, _WHEEL):
        return None
    text = f"found a timer wheel of {size:,} bytes, expected {_WHEEL:,}: a broker of 5.x does not start"
    return Refusal(path.name, text, "restore the file from a backup or a slave while the broker is down")


def stray_timer_file(store: Path) -> Refusal | None:
    """The first file of `timerlog/` that has no number for a name, with which a broker of 5.x does not start (TIM-4).

    It removes the last file if that is empty, and passes over folders. Source: `MappedFileQueue.doLoad` (5.5.0).
    """
    paths = sorted((store / "timerlog").glob("*"))
    for path in paths:
        passed_over = path.is_dir() or (path == paths[-1] and not path.stat().st_size)
        if parse_long(path.name) is None and not passed_over:
            text = "found a file whose name is no number in the timer log: a broker of 5.x does not start"
            cure = "move the file out of the store while the broker is down"
            return Refusal(f"timerlog/{shown_name(path.name)}", text, cure)
    return None
