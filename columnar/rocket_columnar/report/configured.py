"""Compares a store's files with the configuration of its broker, and with the folders around its log."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import RECORD_MAGICS, Geometry
from rocket_spec.printable import shell_word

from rocket_columnar.facts import Store
from rocket_columnar.findings import CODES, Finding, Remedy, finding, is_cut, lacks_zeros
from rocket_columnar.log import each_units, log_tail
from rocket_columnar.rebuild import Rebuilt
from rocket_columnar.store import (
    LIGHT,
    MEMBER,
    MEMBER_LOG,
    BrokerConf,
    StoreFile,
    file_at,
    find_files,
    logs_of,
    offset_name,
    read_at,
    same_place,
    sized,
    usual_size,
)

_LIGHT: Final = f"consumequeue/{LIGHT}"

_QUEUES: Final = 64
"""Files of queues whose last unit shows which log is theirs."""

_SIZES: Final = {
    "log": "mappedFileSizeCommitLog",
    "queue": "mappedFileSizeConsumeQueue",
    "ext": "mappedFileSizeConsumeQueueExt",
}


STAMPED: Final = re.compile(r"-\d{8}-\d{6}(-\d{6})?$")
"""The end of the name of a folder that a command makes, or a repair."""


def mismatches(store: Store, conf: BrokerConf) -> list[Finding]:
    """A finding for each of the broker's settings with which it would not start on the files, or misread them."""
    found = (
        _mode_mismatch(conf, store),
        _log_not_named(conf, store),
        _size_mismatch(store, conf, sized(store.queues), conf.queue_file_size),
        _size_mismatch(store, conf, sized(store.logs), conf.log_file_size),
        _size_mismatch(store, conf, sized(store.exts) if conf.ext_file_size else [], conf.ext_file_size or 0),
        _geometry_mismatch(conf, store),
        _folder_left_out(conf, store),
        _light_mismatch(conf, store),
        _level_mismatch(conf, store),
    )
    return [*_unmounted(conf, store), *(one for one in found if one)]


def _unmounted(conf: BrokerConf, store: Store) -> Iterator[Finding]:
    """Configured directories of a log with missing files that are missing or empty here, as a disk that is not mounted (STORE-17).

    Not the store's own `commitlog`, unless it is empty: that it is gone, or no directory, is another finding.
    """
    if store.path is None or (store.logs and not store.log_breaks) or (not store.logs and log_beside(store)):
        return
    for folder in logs_of(conf, store.path):
        gone = not folder.exists() and same_place(folder, store.path / "commitlog")
        if gone or folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
            continue
        text = (
            f"{folder} is {'empty' if folder.is_dir() else 'not a directory here'}, although {conf.path} names it as a directory of "
            "the commit log, of which files are missing: its disk is not mounted"
        )
        cure = "mount the disk at this directory before the start: a broker makes new files there, and does not notice"
        yield finding("log.gap", str(folder), None, text, clause="STORE-17", cure=cure, remedy="mount")


def _folder_left_out(conf: BrokerConf, store: Store) -> Finding | None:
    """Missing files of the log that are in folders beside its own ones, which the configuration does not name (STORE-17)."""
    if store.path is None or not conf.commit_logs:
        return None
    missing = [(end, begin) for end, begin in store.log_breaks if end < begin]
    named, size = logs_of(conf, store.path), usual_size(store.log_sizes)
    found = [
        folder
        for folder in (folders_beside(store.path, named) if missing else ())
        if any(_is_missing_log(path, missing, size) for path in listed_in(folder))
    ]
    if not found:
        return None
    places = [
        folder if conf.store is None or not folder.is_relative_to(store.path)
        else Path(conf.store) / folder.relative_to(store.path)
        for folder in found
    ]  # fmt: skip
    text = (
        f"FOLDER LEFT OUT: files of the commit log are missing, and some of them are in {', '.join(map(str, found))}, which "
        f"{conf.path} does not name: consumers and queries do not get their messages"
    )
    settings = (("storePathCommitLog", ",".join(map(str, (*conf.commit_logs, *places)))),)
    return _mismatch("log.gap", "STORE-17", str(found[0]), text, settings)


def _is_missing_log(path: Path, missing: Sequence[tuple[int, int]], size: int) -> bool:
    if not (path.name.isascii() and path.name.isdecimal() and path.is_file()):
        return False
    return any(first <= int(path.name) < end for first, end in missing) and path.stat().st_size == size


def _light_mismatch(conf: BrokerConf, store: Store) -> Finding | None:
    """Light queues into which the broker puts nothing any more (CQ-LMQ-1), or with other numbers (CQ-LMQ-2)."""
    light = next((file.name for file in store.queues if file.light), None)
    wanted = (
        ("enableMultiDispatch", not conf.multi_dispatch),
        ("enableLmq", store.light and not conf.light_queues),
    )
    settings = tuple((name, "true") for name, off in wanted if off)
    if light is None or not settings:
        return None
    return _mismatch("queue.missing_unit", "CQ-LMQ-1", light, _light_text(conf, dict(settings)), settings)


def _level_mismatch(conf: BrokerConf, store: Store) -> Finding | None:
    """Delay levels with messages that wait, which the configuration lacks (CQ-TAGS-2)."""
    waiting = store.undelivered
    if not waiting:
        return None
    text = (
        f"DELAY LEVELS MISSING: {sum(waiting.values()):,} delayed messages wait on levels up to {max(waiting)}, but with {conf.path} "
        f"messageDelayLevel has {len(conf.delays)}{conf.ignores('messageDelayLevel')}: the broker delivers none of them, and forgets the offsets of these levels"
    )
    delays = (*conf.delays, *store.shown_delays[len(conf.delays) : max(waiting)])
    settings = (("messageDelayLevel", " ".join(f"{delay // 1000}s" for delay in delays)),)
    folder = f"consumequeue/SCHEDULE_TOPIC_XXXX/{max(waiting) - 1}"
    return _mismatch("queue.tags_code", "CQ-TAGS-2", folder, text, settings)


def _light_text(conf: BrokerConf, names: Iterable[str]) -> str:
    return (
        f"LIGHT QUEUES OFF: the store has light queues, but {conf.path} does not set {' and '.join(names)}: the broker puts no new "
        "message into them"
    )


def _size_mismatch(
    store: Store, conf: BrokerConf, files: Sequence[tuple[StoreFile, int]], wanted: int
) -> Finding | None:
    """Files of one kind that all have another size than the configured one (`MappedFileQueue.load` 163-166)."""
    sizes = [(file, size) for file, size in files if not file.framed]
    if not sizes or any(size == wanted for _, size in sizes):
        return None
    usual = usual_size([size for _, size in sizes])
    if not usual or (len(sizes) > 1 and len({size for _, size in sizes}) == len(sizes)):
        return None
    file = sizes[0][0]
    code, clause = ("log.length", "LOG-FILE-1") if file.kind == "log" else ("queue.size", "CQ-FILE-1")
    name = _SIZES[file.kind]
    if usual < wanted and len(sizes) == 1 and is_cut(*sizes[0]):
        text = f"found a file of {usual:,} bytes, expected {wanted:,}, which {name} is with {conf.path}: a broker refuses to start"
        whole = file.kind == "log" and lacks_zeros(file, usual, wanted, store.end)
        remedy: Remedy = "trim" if whole else CODES[code].remedy
        return finding(code, file.name, usual, text, clause=clause, length=wanted, remedy=remedy)
    return _mismatch(code, clause, file.name, _size_text(conf, name, usual, wanted), ((name, usual),))


def _size_text(conf: BrokerConf, name: str, size: int, wanted: int) -> str:
    return (
        f"FILE SIZE DIFFERS: found files of {size:,} bytes, but with {conf.path} {name} is {wanted:,}{conf.ignores(name)}: the broker "
        "refuses to start"
    )


def _mode_mismatch(conf: BrokerConf, store: Store) -> Finding | None:
    """The log, or its end, is one of DLedger mode, and the broker looks for another (`DefaultMessageStore.recover`: STORE-10)."""
    member = store.unread_member
    if member is None:
        return None
    set_to = f"dLegerSelfId to {conf.member}" if conf.dledger else "enableDLegerCommitLog to false"
    whole = store.has_no_log
    text = (
        f"MODE DIFFERS: the log is one of DLedger mode, of member {member}, but {conf.path} sets {set_to}: the broker "
        "starts with an empty log, and deletes all consume queues"
        if whole
        else f"MODE DIFFERS: the log goes on in DLedger mode, in that of member {member}, but {conf.path} sets {set_to}: the broker ends "
        f"the log at physical offset {store.end:,}"
    )
    settings = ("enableDLegerCommitLog", "true"), ("dLegerSelfId", member)
    name = store.logs[0].name if whole else f"{MEMBER}{member}/{MEMBER_LOG}"
    return _mismatch("log.gap", "STORE-10", name, text, settings)


def _log_not_named(conf: BrokerConf, store: Store) -> Finding | None:
    """The log is in `commitlog`, and the broker looks for it in a folder that is not there, or in a home (STORE-17)."""
    if not store.looks_elsewhere:
        return None
    file, place = store.logs[0].name, shell_word(store.looks_elsewhere)
    setting = "storePathCommitLog", f"{conf.store}/commitlog"
    if not store.unnamed_log:
        text = f"{conf.path} does not set storePathCommitLog: 4.9.3 then takes {place}, and starts without this log; 4.9.7 takes this one"
        cure = f"with a release up to 4.9.3, set {'='.join(setting)}"
        return finding("log.gap", file, None, text, severity="note", clause="STORE-17", cure=cure)
    looked = (
        f"names {place}, which is not a directory here"
        if conf.commit_logs
        else f"does not set storePathCommitLog, for which {store.release} takes {place}"
    )
    text = f"LOG ELSEWHERE: the log is in commitlog, but {conf.path} {looked}: the broker starts without it, and deletes all consume queues"
    return _mismatch("log.gap", "STORE-17", file, text, (setting,))


def _geometry_mismatch(conf: BrokerConf, store: Store) -> Finding | None:
    seen = store.geometry
    if seen is None or not store.misread_index:
        return None
    text = _geometry_text(conf, seen)
    settings = ("maxHashSlotNum", seen.hash_slot_num), ("maxIndexNum", seen.index_num)
    name = store.indexes[0][0].name
    return _mismatch("index.geometry", "IDX-FILE-1", name, text, settings)


def _geometry_text(conf: BrokerConf, seen: Geometry) -> str:
    """The difference of the geometry; empty if a broker finds each entry where it was."""
    wanted = conf.geometry
    if not conf.misreads(seen):
        return ""
    return (
        f"GEOMETRY DIFFERS: the index files have {seen.hash_slot_num:,} slots and {seen.index_num:,} entries, but with {conf.path} "
        f"a broker takes {wanted.hash_slot_num:,} and {wanted.index_num:,}{conf.ignores('maxHashSlotNum', 'maxIndexNum')}: "
        "its queries miss keys, and its next puts damage the newest file"
    )


def _mismatch(
    code: str, clause: str, file: str, text: str, settings: tuple[tuple[str, int | str], ...]
) -> Finding:
    cure = f"set {' '.join(f'{name}={value}' for name, value in settings)}"
    return finding(code, file, None, text, clause=clause, cure=cure, remedy="settings", settings=settings)


def log_folders(store: Path, conf: BrokerConf, warn: Callable[[str], object]) -> Iterator[Path]:
    """The configured directories of the log that are not STORE/commitlog; `warn` is called with each other difference."""
    own = store / "commitlog"
    for folder in logs_of(conf, store):
        if same_place(folder, own):
            continue
        if folder.is_dir():
            yield folder
        elif not own.is_dir() or conf.store is None or not same_place(Path(conf.store), store):
            warn(f"COMMIT LOG MISSING: {conf.path} names {folder}, which is not a directory here")
    members = any(store.glob("dledger-*"))
    if conf.dledger and not members and store.is_dir():
        warn(
            f"MODE DIFFERS: {store} contains no log of DLedger mode, but {conf.path} sets enableDLegerCommitLog to true"
        )
    if not conf.commit_logs and not conf.dledger and not members and store.is_dir() and not own.exists():
        warn(
            f"{conf.path} does not set storePathCommitLog: 4.9.3 then keeps the commit log in ~/store/commitlog "
            "of the user that runs the broker, wherever storePathRootDir is; use --commitlog"
        )


def rebuild_warnings(
    done: Rebuilt, conf: BrokerConf | None, *, geometry_assumed: bool, size_assumed: bool
) -> Iterator[str]:
    """The assumptions, and the differences of the files from the broker's configuration."""
    slots, entries = done.geometry
    if geometry_assumed:
        yield (
            f"GEOMETRY ASSUMED: {slots:,} slots and {entries:,} entries, because the store has no index file. If the "
            "broker has another maxHashSlotNum or maxIndexNum, it finds no key in these files: give --broker-conf FILE "
            "or --geometry"
        )
    if size_assumed:
        yield (
            f"FILE SIZE ASSUMED: {done.queue_file_size:,} bytes, because the store has no consume queue. If the broker "
            "has another mappedFileSizeConsumeQueue, it refuses to start: give --broker-conf FILE or --queue-file-size"
        )
    if conf is None:
        return
    text = _geometry_text(conf, done.geometry)
    if text:
        yield text
    if conf.queue_file_size != done.queue_file_size:
        yield _size_text(conf, _SIZES["queue"], done.queue_file_size, conf.queue_file_size)
    if not conf.multi_dispatch and any(name.startswith(_LIGHT) for name in done.files):
        yield _light_text(conf, ["enableMultiDispatch"])


# Finds the end of a log in a folder beside it, such as a copy of a replica's.


def folders_beside(store: Path, logs: Iterable[Path]) -> list[Path]:
    """The content of the store and of the folders around its log, but for the log and for what a command or a repair made."""
    logs = list(logs)
    own = {os.path.realpath(folder) for folder in logs}
    parents = dict.fromkeys((store, *(folder.parent for folder in logs)))
    found = (folder for parent in parents for folder in listed_in(parent))
    return [one for one in found if not STAMPED.search(one.name) and os.path.realpath(one) not in own]


def listed_in(folder: Path) -> list[Path]:
    """The content of a directory; none if it cannot be listed."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def log_beside(store: Store) -> tuple[StoreFile, ...]:
    """The files of a log beside the store's from the one of its end on, if that has the same bytes up to there, and goes on.

    Of a store without a log those of the one to whose records its queues lead. Raises OSError: the own file cannot be read.
    """
    if store.path is not None and not store.logs:
        return _led_to(store, folders_beside(store.path, [store.path / "commitlog"]))
    last = next((file for file in reversed(store.logs) if file.base_offset < store.end), None)
    if store.path is None or last is None or last.framed:
        return ()
    folders = folders_beside(store.path, dict.fromkeys(file.path.parent for file in store.logs))
    for folder in (*folders, *listed_in(store.path.parent)):
        files = _files_from(last, folder)
        with suppress(OSError):
            if files and _goes_on(last, files) and log_tail(files).end >= store.end:
                return files
    return ()


def _led_to(store: Store, folders: Iterable[Path]) -> tuple[StoreFile, ...]:
    """The files of the first of some folders with a log that has the records to which the last units of queues and index files lead."""
    units = [_last_unit(file) for file in store.queues[:_QUEUES]]
    units += [(header.end_phy_offset, 0) for _, header in store.indexes if header.index_count > 1]
    for folder in folders:
        with suppress(OSError, FormatError, UsageError):
            files = tuple(find_files(folder, kinds=["log"])) if folder.is_dir() else ()
            if files and any(units) and all(_begins_record(files, *unit) for unit in units if unit):
                return files
    return ()


def _last_unit(file: StoreFile) -> tuple[int, int] | None:
    """Physical offset and size of the record to which the last unit of a queue file leads; None if it has no unit."""
    sizes = [
        (units["phy_offset"][units["size"] > 0], units["size"][units["size"] > 0])
        for _, units in each_units(file)
    ]
    held = [(int(offsets[-1]), int(lengths[-1])) for offsets, lengths in sizes if len(offsets)]
    return held[-1] if held else None


def _begins_record(files: Sequence[StoreFile], offset: int, size: int) -> bool:
    """Whether a record of this size, or with 0 of any, begins at a physical offset of a log."""
    file = file_at(files, offset)
    head = b"" if file is None else read_at(file, offset - file.base_offset, 8)
    return int.from_bytes(head[4:], signed=True) in RECORD_MAGICS and size in (0, int.from_bytes(head[:4]))


def _files_from(first: StoreFile, folder: Path) -> tuple[StoreFile, ...]:
    """The log files in a folder from the one with a file's name on, up to the first that is missing."""
    found, begin = list[StoreFile](), first.base_offset
    with suppress(OSError):
        while (path := folder / offset_name(begin)).is_file():
            found.append(replace(first, path=path, base_offset=begin))
            begin += max(path.stat().st_size, 1)
    return tuple(found)


def _goes_on(own: StoreFile, files: Sequence[StoreFile]) -> bool:
    """Whether the first of some files has the bytes of another one up to its end, and they have more."""
    with own.open() as first, files[0].open() as second:
        size = (first.last_nonzero(0, first.size) or 0) + 1
        return (len(files) > 1 or second.first_nonzero(size, second.size) is not None) and all(
            first.read(start, length).data == second.read(start, length).data
            for start, length in first.held_by_either(second, 0, min(size, second.size))
        )
