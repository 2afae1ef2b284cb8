"""Reads the commit log of a store, taken as what was stored, and judges the clauses about its own bytes."""

from collections.abc import Sequence
from pathlib import Path

from rocket_reference import file_name
from rocket_spec.errors import MalformedError
from rocket_spec.layout import BLANK, BLANK_MAGIC

from rocket_conformance.store_verdict.entry_log import dledger_member, read_entries
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.record_table import RecordTable
from rocket_conformance.store_verdict.sparse import Window
from rocket_conformance.store_verdict.stored_log import StoredLog, is_written, name_in, numbered_files
from rocket_conformance.store_verdict.stored_record import LARGEST_RECORD, LogFile, check_record, record_at


def read_log(store: Path, seen: Observations, *, directories: Sequence[Path] = ()) -> StoredLog:
    """The log of a store, with what its bytes show of the LOG clauses, and of the DLG clauses in DLedger mode.

    Args:
        store: the store's directory.
        seen: takes what is observed.
        directories: of the commit log, in addition to `commitlog/` (STORE-17).

    Raises:
        MalformedError: the files are those of several DLedger members, or one ends beyond 64 bits.
        OSError: a file cannot be read.
    """
    log = StoredLog(store=store, records=RecordTable(seen.rules))
    folders = (store / "commitlog", *directories)
    plain = sorted(
        (item for folder in folders for item in numbered_files(folder)), key=lambda item: item[1].name
    )
    member = dledger_member(store)
    log.dledger = member is not None
    entries = [] if member is None else numbered_files(member / "data")
    log.files = [
        LogFile(name_in(store, path), base, path.stat().st_size) for base, path in (*plain, *entries)
    ]
    _require_64_bits(log.files)
    _check_files(log, seen)
    paths = [path for _, path in plain]
    read = _read_plain(log, paths, seen, followed=bool(entries))
    if entries:
        log.dledger_begin = entries[0][0]
    if member is not None and read:
        read_entries(log, [path for _, path in entries], member, seen, stopped=not (store / "abort").exists())
    _check_queue_offsets(log, seen)
    return log


def _require_64_bits(files: Sequence[LogFile]) -> None:
    for file in files:
        if file.base + file.size >= 1 << 63:
            raise MalformedError(
                file=file.name, found=f"base offset {file.base:,}", expected="offsets below 2^63 in the file"
            )


def _check_files(log: StoredLog, seen: Observations) -> None:
    """Names, equal lengths, and no gap, from the commit log's directories to DLedger's data (LOG-FILE-1, DLG-14)."""
    for number, file in enumerate(log.files):
        name = file.name.rpartition("/")[2]
        seen.compare("LOG-FILE-1", Place(file.name, None, "name", name, file_name(file.base)))
        seen.compare("LOG-FILE-1", Place(file.name, None, "length", file.size, log.files[0].size))
        if number:
            expected = log.files[number - 1].base + log.files[number - 1].size
            seen.compare("LOG-FILE-1", Place(file.name, None, "base offset", file.base, expected))


def _read_plain(log: StoredLog, paths: Sequence[Path], seen: Observations, *, followed: bool) -> bool:
    """Reads the plain files, which are the first of `log.files`; whether the log goes on after them.

    Args:
        log: takes the records.
        paths: of the files.
        seen: takes what is observed.
        followed: whether DLedger's files follow.
    """
    for number, path in enumerate(paths):
        file = log.files[number]
        if not _read_file(log, file, path, seen):
            if followed or any(is_written(later) for later in paths[number + 1 :]):
                log.whole = False
                expected = "a blank before the next file"
                place = Place(file.name, log.end - file.base, "end of the file", "no blank", expected)
                seen.breaks("LOG-BLANK-1", place)
            return False
    return True


def _read_file(log: StoredLog, file: LogFile, path: Path, seen: Observations) -> bool:
    """Reads the records of one file; whether it ended in a blank or at its last byte."""
    with path.open("rb") as opened:
        window = Window(opened.fileno())
        position = 0
        name = file.name
        while position < file.size:
            log.end = file.base + position
            data, at = window.at(position, BLANK.size)
            head = data[at : at + BLANK.size]
            if not any(head):
                seen.hold("LOG-FILE-2")
                return False
            claimed = int.from_bytes(head[:4], "big", signed=True)
            if int.from_bytes(head[4:8], "big", signed=True) == BLANK_MAGIC:
                seen.compare(
                    "LOG-BLANK-1", Place(name, position, "blank size", claimed, file.size - position)
                )
                log.end = file.base + file.size
                log.after_blanks.add(log.end)
                return True
            length = claimed if 0 < claimed <= min(LARGEST_RECORD, file.size - position) else BLANK.size
            data, at = window.at(position, length)
            request = record_at(data, at, seen.rules)
            if request is None or request.msg_size <= 0:
                log.whole = False
                found = "bytes that are no record"
                seen.breaks("LOG-REC-1", Place(name, position, "record", found, "a record or zeros"))
                return False
            check_record(data, at, position, file, request, seen)
            if position + request.msg_size + BLANK.size > file.size:
                free = "8 bytes left free at the file's end"
                seen.breaks("LOG-BLANK-1", Place(name, position, "record", f"{request.msg_size} bytes", free))
            log.keep(file.base + position, request)
            position += request.msg_size
    log.end = file.base + position
    return position == file.size


def _check_queue_offsets(log: StoredLog, seen: Observations) -> None:
    """Whether the records of a queue count up by one (LOG-REC-6); a deleted queue may begin again at 0."""
    following: dict[tuple[str, int], int] = {}
    for stored in log.records:
        request = stored.request
        queue = request.topic, request.queue_id
        where = f"commitlog position {stored.position:,}"
        if not stored.queued:
            seen.compare(
                "LOG-REC-6", Place(where, None, "queue_offset", request.consume_queue_offset, 0, str(stored))
            )
            continue
        expected = following.get(queue, request.consume_queue_offset)
        following[queue] = request.consume_queue_offset + 1
        if request.consume_queue_offset == 0 != expected:
            seen.note(
                "a queue counts from 0 again: its files were deleted, or it lost its units to a restart"
            )
            continue
        seen.compare(
            "LOG-REC-6",
            Place(where, None, "queue_offset", request.consume_queue_offset, expected, str(stored)),
        )
