"""The one object that stands for a store. A verb makes it once, and every part of the verb asks it.

Each fact is computed in one place, when it is first asked for, and kept. What a package above this one derives from a store,
such as the prediction of a start, is kept here too (`Store.once`), so that it is derived once for all that ask.

    files       of(kind), skipped, logs, log_sizes, log_ends, log_breaks, queues, exts, indexes, checkpoints, batches
    the log     begin, end, newest, log_at(offset), at(offset)
    index       geometry, geometry_fault, sound_indexes, content_indexes, foreign_index
    release     signs, keys
    state       holder, state, live, clean
    settings    conf, config(table), config_refusal, refusal, listed_topics, kept_topics, unlisted, is_deleted(topic), may_be_deleted(topic), forgotten,
                light, multi_dispatch, delays, undelivered, blocked
    a start     checkpoint_times, dispatched_again_from, indexed_from(dispatched_from)
"""

from __future__ import annotations

import os
import stat
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import CHECKPOINT, QUEUE_UNIT, RECORD_FIXED_V4, RECORD_MAGICS
from rocket_spec.profiles import profile

from rocket_columnar import formats
from rocket_columnar.config import LoadedConfig, load_config
from rocket_columnar.facts.files import Files
from rocket_columnar.log import KeyRules, has_light_queues
from rocket_columnar.store import (
    CONFIG_TABLES,
    LIGHT,
    MEMBER,
    Refusal,
    Sign,
    StoreFile,
    find_files,
    folder_signs,
    later_signs,
    logs_of,
    member_logs,
    read_at,
    same_place,
    shown_name,
    stray_timer_file,
    topics_in_rocksdb,
    unfit_wheel,
)

# Permissions that keep a broker from starting.


_OWN: Final = ("checkpoint", "lock", "abort")
_NO_START: Final = "the broker does not start"


class _User(NamedTuple):
    """A user of this machine."""

    name: str
    number: int
    groups: frozenset[int]

    def may(self, path: Path, needed: str) -> bool:
        """Whether the user has all permissions that are `needed` (r, w, x) of a file or directory."""
        status = path.stat()
        shift = 6 if status.st_uid == self.number else 3 if status.st_gid in self.groups else 0
        return all(status.st_mode >> shift & 1 << "xwr".index(one) for one in needed)


def denied(store: Path, files: Iterable[StoreFile], user: str | None) -> Refusal | None:
    """The first file or directory that the broker's user, by default the owner of the store, lacks permissions of; None if there is none.

    A broker opens each file of log, queues and index to read and to write it (`MappedFile.init` 153-177): one that it may not open ends
    the load. A directory that it may not list is empty for it (`MappedFileQueue.load` 145-178). UsageError for a user whom this machine lacks.
    """
    try:
        known = _user(store, user)
    except ImportError:  # Windows
        return None
    if known.number == 0:
        return None
    found = [file.path for file in files]
    found += [path for name in _OWN if (path := store / name).exists()]
    folders = dict.fromkeys(folder for path in found for folder in _above(path, store))
    for path, needed, what in (
        (store, "rwx", f"list and write it: {_NO_START}"),
        *((folder, "rx", "list it: for the broker it is empty") for folder in folders),
        *((path, "rw", f"read and write it: {_NO_START}") for path in found),
        *((path, "r", f"read it, nor its .bak: {_NO_START}") for path in _configs(store, known)),
    ):
        if not known.may(path, needed):
            shown = path.relative_to(store) if store in path.parents else path
            status = path.stat()
            text = f"owner {_name_of(status.st_uid)}, mode {stat.S_IMODE(status.st_mode):04o}: user {known.name} may not {what}"
            cure = f"give the store's files to the user while the broker is down: chown -R {known.name}"
            return Refusal(shown_name(shown.as_posix()), text, cure)
    return None


def _configs(store: Path, user: _User) -> Iterator[Path]:
    """Files of the configuration beside which there is no .bak that the user may read."""
    for name in CONFIG_TABLES:
        path, backup = (store / "config" / f"{name}{end}" for end in ("", ".bak"))
        if path.exists() and not (backup.exists() and user.may(backup, "r")):
            yield path


def _above(path: Path, store: Path) -> Iterator[Path]:
    """The directories of a store that contain a file, or the one of a file elsewhere."""
    yield path.parent
    if path.is_relative_to(store):
        yield from (folder for folder in path.parent.parents if folder.is_relative_to(store))


def _user(store: Path, name: str | None) -> _User:
    import pwd

    if name is not None:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            raise UsageError(f"--user {name}: this machine has no such user") from None
    else:
        status = store.stat()
        try:
            entry = pwd.getpwuid(status.st_uid)
        except KeyError:
            return _User(str(status.st_uid), status.st_uid, frozenset({status.st_gid}))
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    return _User(entry.pw_name, entry.pw_uid, frozenset(groups))


def _usual_log(store: Path, user: str | None) -> Path:
    """The log of a broker up to 4.9.3 whose configuration names none (`MessageStoreConfig` 32-34)."""
    try:
        name = _user(store, user).name
    except ImportError:  # Windows
        name = ""
    with suppress(RuntimeError):  # a user whom this machine lacks
        return Path(f"~{name}").expanduser() / "store" / "commitlog"
    return store / "commitlog"


def _name_of(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


# The times of a checkpoint.


_TIMES: Final = struct.Struct(CHECKPOINT.struct_format)


def read_checkpoint(file: StoreFile) -> tuple[int, int, int]:
    """The three times in ms; 0 for those that a shorter file lacks, as after a broker's start (CKP-2)."""
    with file.open() as reader:
        raw = reader.read(0, min(reader.size, _TIMES.size)).tobytes()
    physic, logics, index = _TIMES.unpack(raw.ljust(_TIMES.size, b"\0"))
    return physic, logics, index


# From which file of the log a start of 4.9.3 recovers (`CommitLog.recoverNormally` 206-272, `recoverAbnormally` 465-549).


_MARGIN: Final = 3000  # ms, `StoreCheckpoint.getMinTimestamp`
_NORMAL_FILES: Final = 3  # `recoverNormally` begins at the third file from the end


def recovery_start(
    logs: Sequence[StoreFile], times: tuple[int, int, int], *, clean: bool, index_safe: bool
) -> int:
    """Physical offset from which a start walks the log; after a crash it dispatches again from there."""
    if not logs:
        return 0
    if clean:
        return logs[max(len(logs) - _NORMAL_FILES, 0)].base_offset
    physic, logics, index = times
    bound = max(min(physic, logics) - _MARGIN, 0)
    if index_safe:
        bound = min(bound, index)
    for file in reversed(logs):
        head = first_record(file)
        if head is not None and head[1] <= bound:
            return file.base_offset
    return logs[0].base_offset


def first_record(file: StoreFile) -> tuple[int, int] | None:
    """The first record's own physical offset and store timestamp; None without a record, or if the timestamp is 0."""
    head = read_at(file, 0, formats.HEAD_SIZE)
    if len(head) < RECORD_FIXED_V4 or int.from_bytes(head[4:8], signed=True) not in RECORD_MAGICS:
        return None
    fields = formats.fixed_fields(head.ljust(formats.HEAD_SIZE, b"\0"))
    return (fields.phy_offset, fields.store_timestamp) if fields.store_timestamp else None


# The delays of a broker's levels, as the units of its delayed messages show them.


_SCHEDULE: Final = formats.SCHEDULE_TOPIC.decode()
_SAMPLE: Final = 64  # units of a file that are compared with their records
_STEP: Final = 1000  # ms: a delay is a whole number of seconds
_UNIT: Final = QUEUE_UNIT.size


def _shown_delays(store: Files) -> tuple[int, ...]:
    levels = list(formats.DELAYS)
    for file in store.queues:
        level = file.queue_id
        if file.topic != _SCHEDULE or level is None or level < 0:
            continue
        seen = _delays_of(store, file).most_common(1)
        if seen and seen[0][0] > 0 and not seen[0][0] % _STEP:
            levels += [1000] * (level + 1 - len(levels))  # of levels that are not configured
            levels[level] = seen[0][0]
    return tuple(levels)


def _delays_of(store: Files, file: StoreFile) -> Counter[int]:
    """Delays in ms of the first units of a file after their records were stored, each with its count."""
    raw = read_at(file, 0, _SAMPLE * _UNIT)
    delays = Counter[int]()
    for unit in np.frombuffer(raw, formats.UNIT_DTYPE, len(raw) // _UNIT):
        offset, size, due = (int(unit[name]) for name in ("phy_offset", "size", "tags_code"))
        log = store.log_at(offset) if size > 0 and due > formats.LAST_ADDRESS else None
        if log is None:
            continue
        head = read_at(log, offset - log.base_offset, formats.HEAD_SIZE)
        if len(head) == formats.HEAD_SIZE:
            delays[due - formats.fixed_fields(head).store_timestamp] += 1
    return delays


FORGOTTEN: Final = {
    "consumer_offsets": (
        "groups get all messages of queues that begin at offset 0 and are still in memory again; in others they begin where "
        "their consumers are configured to, by default at the end"
    ),
    "delay_offsets": "all delayed messages that the log still has are delivered again",
}
"""Consequences of a start without the rows of each table of offsets.

Source: `ConsumerManageProcessor.queryConsumerOffset` 137-150 and the client's `RebalancePushImpl.computePullFromWhereWithException`.
"""

BLOCKED: Final = {
    "commitlog": "the broker starts with an empty log, deletes all queues, and stores no message",
    "consumequeue": "the broker makes no queue, delivers no message, and stores none",
    "index": "the broker makes no index file, and delivers no message that is stored after the start",
}
"""Consequences of a start where something else is in the place of a folder, as the real broker shows them.

Source: `ConsumeQueue.putMessagePositionInfoWrapper` 386-432 and `IndexService.retryGetAndCreateIndexFile` 258-280.
"""

NOT_LISTED: Final = (
    LIGHT,
    "RMQ_SYS_",
    "rmq_sys_",
    "SCHEDULE_TOPIC_XXXX",
    "OFFSET_MOVED_EVENT",
    "TBW102",
    "SELF_TEST_TOPIC",
)
"""Beginnings of topics that need not be listed: light queues have none, op messages go to their queue unlisted, and a broker
adds its own topics when it starts (`TopicConfigManager` 62-165)."""


class Store(Files):
    """A store, and what its broker would know of it; arguments and errors as of `Files`."""

    # --- the release --------------------------------------------------------------------------------------

    @cached_property
    def signs(self) -> tuple[Sign, ...]:
        """Signs that 5.x wrote to the store; empty for one of 4.9.3."""
        signs = later_signs((*self.logs, *self.checkpoints))
        signs += () if self.path is None else folder_signs(self.path)
        if self.release is not None and profile(self.release).version.startswith("5."):
            signs += (Sign("config", f"--rocketmq-profile {self.release}"),)
        return signs

    @cached_property
    def keys(self) -> KeyRules:
        """The rules by which its broker reads the properties of a record."""
        one_separator = self.release is not None and KeyRules.of(self.release).one_separator
        return KeyRules(one_separator=one_separator, delays=self.delays)

    # --- the configuration --------------------------------------------------------------------------------

    def config(self, table: str) -> LoadedConfig:
        """Both files of a table of `config/`, read as a start reads them, once."""
        if table not in self._kept:
            light = None if self.conf is None else self.conf.light_queues
            self._kept[table] = load_config(self.path or Path(), table, light=light)
        found: LoadedConfig = self._kept[table]
        return found

    @cached_property
    def config_refusal(self) -> str | None:
        """The first file of `config/` that keeps the broker from starting (CFG-1)."""
        tables = () if self.path is None else tuple(CONFIG_TABLES.values())
        broken = (config.main.path.name for config in map(self.config, tables) if not config.starts)
        name = next(broken, None)
        return None if name is None else f"config/{name}: neither this file nor its .bak can be loaded"

    @cached_property
    def refusal(self) -> Refusal | None:
        """Further faults that keep the broker from starting: permissions, or timer wheel, timer log and batch queues of a broker of 5.x."""
        if self.path is None or self.live:
            return None
        later = (
            unfit_wheel(self.path) or stray_timer_file(self.path) or self._plain_batch if self.signs else None
        )
        return later or denied(self.path, self.listed, self.user)

    @property
    def _plain_batch(self) -> Refusal | None:
        """The list of topics, if it lacks one of batch queues: a broker of 5.x takes it for a plain one, and does not start.

        Source: `ConsumeQueueStore.queueTypeShouldBe` (5.3.1, 5.5.0).
        """
        for file in self.of("batch") if self._has_config else ():
            if file.topic not in self.read_queues:
                text = f"found no topic {file.topic}, expected one of batch queues: a broker of 5.x does not start"
                return Refusal(
                    "config/topics.json",
                    text,
                    "restore the file from a backup or a replica while the broker is down",
                )
        return None

    @cached_property
    def listed_topics(self) -> frozenset[str] | None:
        """The topics of `config/topics.json`; None where a start would not have the list, or has it in RocksDB."""
        if self.path is None or topics_in_rocksdb(self.path):
            return None
        return frozenset(row["topic"] for row in self.config("topics").rows) or None

    @cached_property
    def kept_topics(self) -> frozenset[str] | None:
        """The topics of the list, and those that have a queue file; None where a start would not have the list."""
        return None if self.listed_topics is None else self.listed_topics | self.has_queue

    @property
    def _has_config(self) -> bool:
        """Whether a broker has run here that keeps its configuration in `config/*.json`, and not in RocksDB."""
        path = self.path
        return (
            path is not None
            and not topics_in_rocksdb(path)
            and any((path / own).exists() for own in ("config", "lock"))
        )

    @cached_property
    def unlisted(self) -> dict[str, int]:
        """The topics with queues of which a broker answers no pull (CFG-1): the number of queues of each, by its greatest number.

        They are not in the list of topics, or have fewer queues to read there, and messages in the others. None are where no
        broker has run.
        """
        if not self._has_config:
            return {}
        listed = self.read_queues
        places = sorted((file.topic or "", file.queue_id or 0) for file in self.queues)
        missing = {topic: number + 1 for topic, number in places if number >= listed.get(topic, 0)}
        return {
            topic: number
            for topic, number in missing.items()
            if not topic.startswith(NOT_LISTED)
            and self.leads_home(topic, listed.get(topic, 0), light=self.light)
            in ((True,) if topic in listed else (True, None))
        }

    @cached_property
    def read_queues(self) -> dict[str, int]:
        """The number of queues to read of each topic in the list of topics."""
        return {row["topic"]: row["read_queue_nums"] for row in self.config("topics").rows}

    @cached_property
    def undelivered(self) -> dict[int, int]:
        """The number of delayed messages that wait on each level which the configuration lacks: a broker delivers none of them.

        It forgets the offsets of these levels, too: once they are back, it delivers all that the log still has of them.
        Source: `ScheduleMessageService.start` 115-136.
        """
        if self.conf is None or self.path is None:
            return {}
        found = Counter[int]()
        offsets = {row["delay_level"]: row["offset"] for row in self.config("delay_offsets").rows}
        for file in self.queues:
            level = (file.queue_id or 0) + 1
            if file.topic == _SCHEDULE and level > len(self.conf.delays):
                first = max(offsets.get(level, 0) - file.base_offset // _UNIT, 0)
                found[level] += int((self.held(file) >= first).sum())
        return dict(+found)

    @cached_property
    def forgotten(self) -> tuple[str, ...]:
        """The tables of offsets of which neither the file nor its `.bak` is there, though queues have what they are about.

        A broker writes them 10 s after its first start at the latest; 4.7.1 and 4.8.0 left the delay offsets out at a stop, and 5.x
        does until a delayed message was delivered.
        """
        if self.live or not self._has_config:
            return ()
        delayed = _SCHEDULE in self.has_queue and not self.signs
        about = {"delay_offsets": delayed, "consumer_offsets": bool(self.has_queue)}
        return tuple(
            table
            for table in FORGOTTEN
            if about[table]
            and all(one.modified is None for one in (self.config(table).main, self.config(table).backup))
        )

    def is_deleted(self, topic: str) -> bool:
        """Whether a topic of the log was deleted: it is in neither the list of topics nor `consumequeue/`."""
        return is_deleted(topic, self.kept_topics)

    def may_be_deleted(self, topic: str) -> bool:
        """Whether a topic of the log has no queue, and there is no list that would show whether it was deleted, but queues of others."""
        unknown = self.listed_topics is None and self.has_queue and self._has_config
        return bool(unknown) and is_deleted(topic, self.has_queue)

    @cached_property
    def light(self) -> bool:
        """Whether light queues have the number 0 (`enableLmq`): if the configuration states it, or their files show it."""
        named = any(file.light for file in (*self.queues, *self.batches))
        if self.conf is not None and (self.conf.light_queues or not named):
            return self.conf.light_queues
        return has_light_queues(self.queues)

    @cached_property
    def multi_dispatch(self) -> bool:
        """Whether records name further queues (`enableMultiDispatch`): by the configuration, else if it has light queues."""
        return any(file.light for file in self.queues) if self.conf is None else self.conf.multi_dispatch

    @property
    def index_enabled(self) -> bool:
        """Whether the broker makes index files (`messageIndexEnable`)."""
        return self.conf is None or self.conf.index_enabled

    @cached_property
    def delays(self) -> tuple[int, ...]:
        """Ms of each delay level: of the configuration; without one what most of its units wait, else the default."""
        return self.shown_delays if self.conf is None else self.conf.delays

    @cached_property
    def shown_delays(self) -> tuple[int, ...]:
        """Ms of each delay level: what most of its units wait, else the default."""
        return _shown_delays(self)

    @cached_property
    def unread_member(self) -> str | None:
        """The DLedger member in whose folder the log is, or goes on, but which the configured broker does not read; None if there is none."""
        conf = self.conf
        if conf is None or self.path is None or not self.logs:
            return None
        if self.logs[0].framed:
            own = self.logs[0].path.parent.parent.name.removeprefix(MEMBER)
            return None if conf.dledger and conf.member in (None, own) else own
        for folder in member_logs(self.path) if not conf.dledger else ():
            begins = (formats.parse_long(entry.name) for entry in folder.iterdir())
            if min((begin for begin in begins if begin is not None), default=0) == self.log_ends[-1]:
                return folder.parent.name.removeprefix(MEMBER)
        return None

    @cached_property
    def blocked(self) -> dict[str, bool]:
        """The folders in whose place something else is, and whether that is a symbolic link to nothing."""
        if self.path is None:
            return {}
        places = ((name, self.path / name) for name in BLOCKED if name != "commitlog" or self.has_own_log)
        return {
            name: path.is_symlink() for name, path in places if os.path.lexists(path) and not path.is_dir()
        }

    @property
    def misread_index(self) -> bool:
        """Whether the configured geometry is another one than that of the index files."""
        conf, seen = self.conf, self.geometry
        return conf is not None and seen is not None and not self.foreign_index and conf.misreads(seen)

    @cached_property
    def looks_elsewhere(self) -> str:
        """The folder in which the configured broker of this very store looks for the log, if that is not `commitlog`, which holds it; else empty.

        If the configuration names none, releases up to 4.9.3 look in the home of the user, later ones in the store.
        """
        conf, path = self.conf, self.path
        if conf is None or path is None or not self.logs or self.logs[0].path.parent != path / "commitlog":
            return ""
        if conf.store is None or not same_place(Path(conf.store), path):
            return ""
        if conf.commit_logs:
            there = any(folder.is_dir() for folder in logs_of(conf, path))
            return "" if there else ",".join(conf.commit_logs)
        later = self.signs or (self.release or "") > "4.9.3"  # which look in the store
        usual = _usual_log(path, self.user)
        return "" if conf.dledger or later or same_place(usual, path / "commitlog") else str(usual)

    @property
    def unnamed_log(self) -> bool:
        """Whether the broker does not look for the log where it is."""
        known = self.conf is not None and (self.conf.commit_logs or self.release)
        return bool(known and self.looks_elsewhere)

    @property
    def has_no_log(self) -> bool:
        """Whether the broker reads nothing of the log, and starts with an empty one."""
        return self.unnamed_log or (self.unread_member is not None and self.logs[0].framed)

    # --- the next start -----------------------------------------------------------------------------------

    @cached_property
    def checkpoint_times(self) -> tuple[int, int, int]:
        """The checkpoint's times in ms, zeros without one."""
        return read_checkpoint(self.checkpoints[0]) if self.checkpoints else (0, 0, 0)

    @cached_property
    def dispatched_again_from(self) -> int | None:
        """Physical offset from which the next start of 4.9.3 dispatches everything again, after a kill.

        None where a start dispatches only what the queues lack: after a clean stop, in DLedger mode, or of 5.x.
        """
        if self.state != "killed" or self.framed or self.signs:
            return None
        safe = self.conf is not None and self.conf.index_safe
        return recovery_start(self.logs, self.checkpoint_times, clean=False, index_safe=safe)

    def indexed_from(self, dispatched_from: int) -> int:
        """Physical offset from which a start indexes what it dispatches: not before the end of the last file that it keeps.

        Source: `IndexService.load` 68-74 and `buildIndex` 201-205.
        """
        index_time = self.checkpoint_times[2]
        kept = [header for _, header in self.indexes if self.clean or header.end_timestamp <= index_time]
        return max(dispatched_from, kept[-1].end_phy_offset) if kept else dispatched_from


def is_deleted(topic: str, kept: frozenset[str] | None) -> bool:
    """Whether a topic is none of the `kept` ones (`Store.kept_topics`), and one that has to be listed."""
    return kept is not None and topic not in kept and not topic.startswith(NOT_LISTED)


def as_store(store: Store | Path | str, **known: Any) -> Store:
    """The store itself, or that in a directory, with what is `known` of it, as for `Store`."""
    return store if isinstance(store, Store) else Store(store, **known)


def any_store(store: Store | Path | str, **known: Any) -> Store:
    """As `as_store`; also the files of a directory that is only a part of a store, or one file. UsageError if nothing is found."""
    if isinstance(store, Store):
        return store
    try:
        return Store(store, **known)
    except UsageError:
        skipped: list[tuple[str, str]] = []
        try:
            files = find_files(
                store, commitlog=known.get("commitlog", ()), on_skip=lambda *skip: skipped.append(skip)
            )
        except UsageError as error:
            raise UsageError(error.problem) from None  # the hint is about a kind, which cannot be given here
        return Store.of_files(files, name=str(store), geometry=known.get("geometry"), skipped=skipped)
