"""What a start of 4.9.3 does to a store's files, read off its files beforehand.

Read beside `DefaultMessageStore.load` 192-228, `IndexService.load` 57-90, `CommitLog.recoverNormally` 206-272 and
`recoverAbnormally` 465-549.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal
from zlib import crc32

import numpy as np
from rocket_spec.layout import RECORD_FIXED_V4, RECORD_MAGICS

from rocket_columnar.facts import Store
from rocket_columnar.formats import Record, iso
from rocket_columnar.index import IndexHeader
from rocket_columnar.log import NARROW, RequestScan, TopicNames, Walk
from rocket_columnar.store import Reader, StoreFile, WorkDone, read_at, size_of, usual_size

_LONGEST_ARRAY: Final = (1 << 31) - 3  # bytes, of a JVM's arrays


@dataclass(frozen=True, slots=True)
class Deletion:
    """A file that a start deletes or changes.

    Attributes:
        action: "delete" or "truncate".
        file: its name relative to the store.
        offset: byte from which its content is dropped; None for a whole file.
        reason: why.
    """

    action: Literal["delete", "truncate"]
    file: str
    offset: int | None
    reason: str


def deleted_indexes(
    headers: Sequence[tuple[StoreFile, IndexHeader]], index_time: int, *, clean: bool
) -> list[Deletion]:
    """Index files that are destroyed at a load after a crash (`IndexService.load` 68-74)."""
    if clean:
        return []
    return [
        Deletion(
            "delete",
            file.name,
            None,
            f"its end timestamp {iso(header.end_timestamp)} is later than the checkpoint's index time {iso(index_time)}",
        )
        for file, header in headers
        if header.end_timestamp > index_time
    ]


def refusal(store: Store) -> str | None:
    """The first file that ends the load: a broker refuses to start (`MappedFileQueue.load` 163-166)."""
    conf = store.conf
    for name in ("checkpoint", "lock"):
        if store.path is not None and (store.path / name).is_dir():
            return f"{name}: a directory, which a broker cannot open as a file"
    for kind, files, configured in (
        ("commit-log", store.logs, None if conf is None or store.framed else conf.log_file_size),
        ("consume-queue", store.queues, None if conf is None else conf.queue_file_size),
    ):
        sizes = [(file, size_of(file) or 0) for file in files]
        usual = usual_size([size for _, size in sizes]) if sizes else 0
        wanted, who = (usual, "the others have") if configured is None else (configured, "the broker expects")
        for file, size in sizes:
            if size != wanted:
                return f"{file.name}: a {kind} file of {size:,} bytes where {who} {wanted:,}"
    return None


def walked_end(store: Store, begin: int, work: WorkDone) -> int:
    """Where the walk from `begin`, where a file begins, meets the first bytes that are no sound record or blank.

    4.9.3 follows the list of its files, a missing one or not, and does not ask for a record's own offset. `work` counts the
    bytes of the files that are read.
    """
    files = [pair for pair in zip(store.logs, store.log_sizes, strict=True) if pair[0].base_offset >= begin]
    end, left = begin, sum(size for _, size in files)
    work.expect(left)
    for file, size in files:
        end = file.base_offset + _walked(file)
        if not _rolls(file, end - file.base_offset):
            break
        work.add(size)
        left -= size
    work.add(left)
    return end


def too_long_record(store: Store, end: int) -> str | None:
    """Why the record at the log's end makes a start run out of memory, which no other failure does (STORE-16)."""
    file = store.log_at(end)
    head = b"" if file is None else read_at(file, end - file.base_offset, 8)
    length, magic = (int.from_bytes(part, signed=True) for part in (head[:4], head[4:]))
    if file is None or magic not in RECORD_MAGICS or length <= _LONGEST_ARRAY:
        return None
    return (
        f"{file.name}: the record at physical offset {end:,} claims {length:,} bytes, more than Java can "
        "allocate: a start ends in OutOfMemoryError while it reads the log"
    )


def passed_gap(store: Store, position: int, end: int, *, clean: bool) -> str | None:
    """Why the dispatch from `position`, the greatest end of a queue, never comes to the log's end (STORE-14).

    After a crash the recovery has dispatched what follows a missing file, unless nothing does.
    """
    for (file, size), (following, _) in pairwise(zip(store.logs, store.log_sizes, strict=True)):
        gap, after = file.base_offset + size, following.base_offset
        if gap < after and position < after and (end == after or (clean and end > after)):
            return (
                f"{file.name}: the file after it is missing, and dispatch stops there: a start never returns"
            )
    return None


def missing_bytes(store: Store) -> int:
    """Bytes of the log between its files that no file holds."""
    files = zip(store.logs, store.log_sizes, strict=True)
    return sum(
        max(after.base_offset - file.base_offset - size, 0) for (file, size), (after, _) in pairwise(files)
    )


def _walked(file: StoreFile) -> int:
    """How far the walk comes in one file."""
    position = 0
    with file.open() as reader:
        while position < reader.size:
            size = _misplaced(reader, file.base_offset, position)
            if not size:
                scan = RequestScan(reader, file.base_offset, TopicNames(), check_crc=True)
                size = _sound(scan, file.base_offset, position, reader.size)
            if not size:
                break
            position += size
    return position


def _sound(scan: RequestScan, base_offset: int, position: int, size: int) -> int:
    """Bytes of the records from `position` on that follow one another and have their checksums."""
    end = position
    for batch in scan.run(position, size, exact=True, on_gap=lambda _: None):
        places = batch.phy_offset - base_offset
        ends = places + batch.size
        sound = batch.crc_ok & (places == np.append(end, ends[:-1]))
        count = int(np.argmin(sound)) if not sound.all() else places.size
        end = int(ends[count - 1]) if count else end
        if count < places.size:
            break
    return end - position


def _misplaced(reader: Reader, base_offset: int, at: int) -> int:
    """Length of a record that is sound but for its own offset; 0 if there is none."""
    if at + RECORD_FIXED_V4 > reader.size:
        return 0
    head = reader.read(at, RECORD_FIXED_V4).tobytes()
    recorded = int.from_bytes(head[28:36], signed=True)
    if int.from_bytes(head[4:8], signed=True) not in RECORD_MAGICS or recorded == base_offset + at:
        return 0
    walk = Walk(reader, recorded - at, window=NARROW)  # as if it were at the offset that it gives
    record = walk.record(at)
    if not isinstance(record, Record):
        return 0
    body = walk.window[record.body :][: max(record.fixed.body_length, 0)].tobytes()
    sound = not body or crc32(body) & 0x7FFFFFFF == record.fixed.body_crc
    return record.fixed.total_size if sound else 0


def _rolls(file: StoreFile, at: int) -> bool:
    """Whether a blank leads on to the next file."""
    return read_at(file, at + 4, 4) == bytes.fromhex("cbd43194")


def deleted_logs(store: Store, end: int) -> list[Deletion]:
    """Log files after the end that the walk finds (`MappedFileQueue.truncateDirtyFiles` 127-145)."""
    deletions = []
    for file, size in zip(store.logs, store.log_sizes, strict=True):
        if file.base_offset > end:
            deletions.append(Deletion("delete", file.name, None, f"it begins after the log's end, {end:,}"))
        elif file.base_offset <= end < file.base_offset + size and end < store.end:
            text = f"the log ends at physical offset {end:,}; the records after it are lost"
            deletions.append(Deletion("truncate", file.name, end - file.base_offset, text))
    return deletions
