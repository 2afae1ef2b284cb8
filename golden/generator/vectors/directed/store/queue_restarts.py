"""Vectors of CQ-REC, CQ-TRUNC, CQ-MIN, CQ-DEL and CQ-LAST: what a restart and the cleaning make of a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.vectors.building import I32_MAX, I64_MAX, Clause
from generator.vectors.building_store import (
    PRE_BLANK,
    bounds,
    correct_min,
    delete_expired,
    get,
    last_offset,
    open_queue,
    put_unit,
    queue_files,
    recover,
    truncate,
    unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Vector

__all__ = ["vectors"]


def _run(first: int, count: int = 5) -> list[bytes]:
    """Units of 100 bytes each, by number from `first` on."""
    return [unit(100 * number) for number in range(first, first + count)]


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _where_recovery_begins()
    yield from _recovered_units()
    yield from _recovered_files()
    yield from _whole_last_file()
    yield from _files_that_truncation_deletes()
    yield from _units_that_truncation_keeps()
    yield from _first_unit()
    yield from _empty_queue()
    yield from _only_pre_blank()
    yield from _bytes_stay()
    yield from _minimum()
    yield from _expired()
    yield from _last()
    yield from _last_of_stale()


def _where_recovery_begins() -> Iterator[Vector]:
    clause = Clause("CQ-REC-1", "a start reads every file of every queue, or cuts a queue at old damage")
    broken = [unit(0, 0), *_run(1, 4)]
    yield clause(
        "third-from-the-end",
        "a recovery that begins at the first file: damage in the fourth from the end is not seen",
        open_queue(load=True),
        recover(),
        get(0),
        files=queue_files(broken, _run(5), _run(10), _run(15, 2)),
    )
    yield clause(
        "damage-in-the-third",
        "a recovery that begins at the second file from the end",
        open_queue(load=True),
        recover(),
        files=queue_files(_run(0), broken, _run(10), _run(15, 2)),
    )
    yield clause(
        "three-files",
        "a recovery that needs more than three files to look at the first",
        open_queue(load=True),
        recover(),
        files=queue_files(broken, _run(5), _run(10, 2)),
    )
    yield clause(
        "two-files",
        "a recovery of the last file only",
        open_queue(load=True),
        recover(),
        files=queue_files([*_run(0, 3), unit(0, 0), *_run(4, 1)], _run(5, 2)),
    )
    yield clause("no-file", "an error for a queue without files", open_queue(load=True), recover())


def _recovered_units() -> Iterator[Vector]:
    clause = Clause("CQ-REC-2", "the broker gives out logical offsets that it has given out before")
    yield clause(
        "ends-in-zeros",
        "the write position left at the file's end",
        open_queue(load=True),
        recover(),
        get(2),
        get(3),
        files=queue_files(_run(0, 3)),
    )
    yield clause(
        "on-into-the-next-file",
        "reading ended at a file of nothing but units",
        open_queue(load=True),
        recover(),
        put_unit(7, 700),
        bounds(),
        files=queue_files(_run(0), _run(5, 2)),
    )
    yield clause(
        "stale-units-behind",
        "units after the first invalid one found again",
        open_queue(load=True),
        recover(),
        files=queue_files([*_run(0, 2), unit(0, 0), *_run(7, 2)]),
    )
    yield clause(
        "order-not-checked",
        "units refused whose offsets do not ascend",
        open_queue(load=True),
        recover(),
        files=queue_files([unit(900), unit(100), unit(100)]),
    )
    yield clause(
        "pre-blank-counts",
        "pre-blank units taken for the end, so that the queue is gone after a restart",
        open_queue(load=True),
        recover(),
        files=queue_files([PRE_BLANK, PRE_BLANK, unit(700)]),
    )
    yield clause(
        "only-pre-blank",
        "pre-blank units left out of the end: it is 2147483647",
        open_queue(load=True),
        recover(),
        put_unit(2, 5000),
        bounds(),
        files=queue_files([PRE_BLANK, PRE_BLANK]),
    )
    yield clause(
        "nothing-valid",
        "an end of 0 where there is no unit: it stays -1",
        open_queue(load=True),
        recover(),
        put_unit(0, 0, 100),
        bounds(),
        files=queue_files([]),
    )


def _recovered_files() -> Iterator[Vector]:
    clause = Clause("CQ-REC-3", "files of an earlier run come back after the queue's end")
    yield clause(
        "files-behind-deleted",
        "files kept after the one that recovery ends in",
        open_queue(load=True),
        recover(),
        files=queue_files(_run(0, 2), _run(5), _run(10)),
    )
    yield clause(
        "empty-last-file-kept",
        "an empty last file deleted: that came with 5.1.3",
        open_queue(load=True),
        recover(),
        put_unit(5, 500),
        bounds(),
        files=queue_files(_run(0), []),
    )
    for slug, start, bug in (
        ("name-no-multiple-of-the-length", 100, "a write position counted from the file's name"),
        ("negative-name", -60, "a write position that is never negative"),
    ):
        yield clause(
            slug,
            f"{bug}: it is the remainder of the end by the length",
            open_queue(60, load=True),
            recover(),
            files=queue_files(_run(0, 2), file_size=60, start=start),
        )
    yield clause(
        "empty-last-file-stays",
        "an empty last file deleted by a start that nothing is put after",
        open_queue(load=True),
        recover(),
        files=queue_files(_run(0), []),
    )
    yield clause(
        "bytes-not-cleared",
        "bytes after the end cleared",
        open_queue(load=True),
        recover(),
        files=queue_files([*_run(0, 1), unit(-1, 7, 7), *_run(2, 2)]),
    )
    yield clause(
        "appends-behind-the-last-unit",
        "the first unit after a restart put elsewhere",
        open_queue(load=True),
        recover(),
        put_unit(7, 700),
        bounds(),
        files=queue_files(_run(0), _run(5, 2)),
    )


def _whole_last_file() -> Iterator[Vector]:
    clause = Clause("CQ-REC-4", "after the next restart other units are lost than 4.9.3 loses")
    yield clause(
        "truncated-full-file",
        "the write position moved back to the end of a file that holds valid units throughout",
        open_queue(load=True),
        truncate(250),
        bounds(),
        recover(),
        put_unit(3, 300),
        bounds(),
        files=queue_files(_run(0)),
    )
    yield clause(
        "one-unit-short",
        "a file that holds all but one unit treated as whole",
        open_queue(load=True),
        truncate(250),
        bounds(),
        recover(),
        files=queue_files(_run(0, 4)),
    )


def _files_that_truncation_deletes() -> Iterator[Vector]:
    clause = Clause("CQ-TRUNC-1", "consumers are sent records that the commit log no longer has")
    two = queue_files(_run(0), _run(5, 3))
    yield clause(
        "first-unit-at-the-offset",
        "a file kept whose first unit is at the offset",
        open_queue(load=True),
        recover(),
        truncate(500),
        files=two,
    )
    yield clause(
        "first-unit-before-the-offset",
        "a file deleted that holds a unit to keep",
        open_queue(load=True),
        recover(),
        truncate(501),
        files=two,
    )
    yield clause(
        "several-files",
        "only the last file looked at",
        open_queue(load=True),
        recover(),
        truncate(200),
        files=queue_files(_run(0), _run(5), _run(10, 1)),
    )
    yield clause(
        "all-files",
        "a file kept for a queue that is empty; the end becomes the offset",
        open_queue(load=True),
        recover(),
        truncate(0),
        put_unit(0, 0, 100),
        bounds(),
        files=two,
    )


def _units_that_truncation_keeps() -> Iterator[Vector]:
    clause = Clause("CQ-TRUNC-2", "a restart loses a message too many, or leaves one that is gone")
    for slug, offset, bug in (
        ("between-units", 250, "a unit dropped that begins before the offset"),
        ("at-a-unit", 200, "a unit kept that begins at the offset"),
        ("behind-a-unit", 201, "a unit dropped that begins one byte before the offset"),
        ("inside-the-last", 450, "the last unit dropped since its record ends after the offset"),
        ("behind-everything", 5000, "units before the offset dropped"),
    ):
        yield clause(
            slug,
            bug,
            open_queue(load=True),
            recover(),
            truncate(offset),
            put_unit(5, 9000),
            bounds(),
            files=queue_files(_run(0)),
        )
    yield clause(
        "ends-at-an-invalid-unit",
        "units found again after an invalid one",
        open_queue(load=True),
        truncate(5000),
        files=queue_files([*_run(0, 2), unit(0, 0), *_run(3, 2)]),
    )
    yield clause(
        "minimum-stays",
        "the minimum moved by a truncation",
        open_queue(load=True),
        recover(),
        correct_min(250),
        truncate(150),
        files=queue_files(_run(0)),
    )


def _first_unit() -> Iterator[Vector]:
    clause = Clause("CQ-TRUNC-3", "a queue's maximum differs by one after a restart")
    yield clause(
        "zeros",
        "a first unit of zeros taken for the end: it is kept, unchecked",
        open_queue(load=True),
        recover(),
        truncate(500),
        files=queue_files([]),
    )
    yield clause(
        "negative-offset",
        "a first unit with a negative offset taken for the end",
        open_queue(load=True),
        truncate(500),
        files=queue_files([unit(-5, 3)]),
    )
    yield clause(
        "zeros-and-offset-0",
        "an empty file kept though its first offset is not before 0",
        open_queue(load=True),
        recover(),
        truncate(0),
        files=queue_files([]),
    )
    yield clause(
        "second-unit-is-checked",
        "every unit kept unchecked",
        open_queue(load=True),
        truncate(500),
        files=queue_files([unit(0, 0), unit(0, 0), unit(100)]),
    )


def _empty_queue() -> Iterator[Vector]:
    clause = Clause("CQ-TRUNC-4", "messages before the offset are queued, or skipped, unlike 4.9.3's")
    yield clause(
        "end-becomes-the-offset",
        "an empty queue left as it was",
        open_queue(),
        truncate(1000),
        put_unit(0, 900, 100),
        bounds(),
        put_unit(0, 901, 100),
        bounds(),
    )
    yield clause(
        "negative-offset",
        "a negative offset refused",
        open_queue(),
        truncate(-500),
        put_unit(0, -700, 100),
        bounds(),
    )


def _only_pre_blank() -> Iterator[Vector]:
    clause = Clause("CQ-TRUNC-5", "all messages up to 2 GiB into the log are missing from the queue")
    yield clause(
        "puts-are-skipped",
        "the end of pre-blank units taken for 0: 4.9.3 skips what ends at 2147483647 or before",
        open_queue(),
        put_unit(2, 1000),
        truncate(1000),
        put_unit(2, 1000),
        bounds(),
        put_unit(2, I32_MAX - 100, 100),
        bounds(),
        put_unit(2, I32_MAX - 100, 101),
        bounds(),
    )
    yield clause(
        "a-unit-behind-them",
        "the end taken from pre-blank units where a message follows",
        open_queue(),
        put_unit(2, 1000),
        put_unit(3, 1100),
        truncate(1100),
        put_unit(3, 1100),
        bounds(),
    )


def _bytes_stay() -> Iterator[Vector]:
    clause = Clause("CQ-TRUNC-7", "the bytes on disk differ from 4.9.3's after the same restart")
    yield clause(
        "recovered-again",
        "bytes of truncated units cleared: a later recovery brings them back",
        open_queue(load=True),
        recover(),
        truncate(100),
        recover(),
        files=queue_files(_run(0, 4)),
    )
    yield clause(
        "overwritten-by-puts",
        "bytes of truncated units cleared",
        open_queue(load=True),
        recover(),
        truncate(100),
        put_unit(1, 5000),
        recover(),
        files=queue_files(_run(0, 4)),
    )


def _minimum() -> Iterator[Vector]:
    clause = Clause("CQ-MIN-1", "consumers are sent to messages that are deleted, or miss some that are not")
    for slug, offset, bug in (
        ("at-a-unit", 200, "the unit at the offset passed over"),
        ("between-units", 201, "the unit before the offset taken"),
        ("before-everything", -1, "the minimum raised for nothing"),
        ("behind-everything", 1000, "the minimum raised to the end, as 5.x does"),
    ):
        yield clause(
            slug,
            bug,
            open_queue(load=True),
            recover(),
            correct_min(offset),
            files=queue_files(_run(0, 4)),
        )
    yield clause(
        "first-file-only",
        "the following files searched too",
        open_queue(load=True),
        recover(),
        correct_min(700),
        files=queue_files(_run(0), _run(5)),
    )
    yield clause(
        "up-to-the-write-position",
        "units after the write position found",
        open_queue(load=True),
        truncate(300),
        correct_min(300),
        files=queue_files(_run(0)),
    )
    yield clause(
        "unread-file",
        "zeros after the last unit left out before recovery",
        open_queue(load=True),
        correct_min(0),
        correct_min(50),
        correct_min(500),
        files=queue_files([unit(-1), unit(100)], start=100),
    )
    yield clause(
        "goes-back",
        "a minimum that only rises",
        open_queue(load=True),
        recover(),
        correct_min(300),
        correct_min(100),
        files=queue_files(_run(0, 4)),
    )
    clause = Clause("CQ-MIN-2", "the minimum counts messages that never existed")
    yield clause(
        "pre-blank-at-0",
        "pre-blank units passed over, as 5.x does: their offset is 0",
        open_queue(load=True),
        recover(),
        correct_min(0),
        files=queue_files([PRE_BLANK, PRE_BLANK, unit(700)]),
    )
    yield clause(
        "pre-blank-before-1",
        "a pre-blank unit taken though its offset is before the given one",
        open_queue(load=True),
        recover(),
        correct_min(1),
        files=queue_files([PRE_BLANK, PRE_BLANK, unit(700)]),
    )
    yield clause(
        "sizes-not-looked-at",
        "units of size 0 passed over",
        open_queue(load=True),
        correct_min(100),
        files=queue_files([unit(0, 0), unit(100, 0), unit(100)]),
    )


def _expired() -> Iterator[Vector]:
    clause = Clause("CQ-DEL-1", "queue files stay for ever, or go while their messages are there")
    three = queue_files(_run(0), _run(5), _run(10, 2))
    for slug, offset, bug in (
        ("last-unit-at-the-offset", 400, "a file deleted whose last unit is at the offset"),
        ("last-unit-before-the-offset", 401, "a file kept whose last unit is before the offset"),
        ("two-files", 901, "only one file deleted"),
        ("never-the-last", 5000, "the last file deleted"),
        ("nothing", 0, "a file deleted before its time"),
    ):
        yield clause(
            slug,
            bug,
            open_queue(load=True),
            recover(),
            delete_expired(offset),
            files=three,
        )
    yield clause(
        "stops-at-the-first-kept",
        "a later file deleted after one that stays",
        open_queue(load=True),
        delete_expired(450),
        files=queue_files([*_run(0, 4), unit(9000)], _run(0), _run(10)),
    )
    yield clause(
        "single-file",
        "the only file deleted",
        open_queue(load=True),
        delete_expired(I64_MAX),
        files=queue_files(_run(0)),
    )
    yield clause("no-file", "an error for a queue without files", open_queue(), delete_expired(100))
    yield clause(
        "minimum-follows",
        "the minimum left in a deleted file",
        open_queue(load=True),
        recover(),
        delete_expired(650),
        get(6),
        get(7),
        files=three,
    )


def _last() -> Iterator[Vector]:
    clause = Clause("CQ-LAST-1", "the queue's end in the log is reported wrong")
    yield clause("no-file", "an end without a unit", open_queue(), last_offset())
    yield clause(
        "after-puts",
        "the last unit's offset without its size",
        open_queue(),
        put_unit(0, 0, 100),
        last_offset(),
        put_unit(1, 100, 77),
        last_offset(),
    )
    yield clause(
        "nothing-valid",
        "an end of 0 for an empty file",
        open_queue(load=True),
        recover(),
        last_offset(),
        files=queue_files([]),
    )
    yield clause(
        "full-file-ends-in-zeros",
        "the file searched from its start: a loaded one is read from its last unit on",
        open_queue(load=True),
        last_offset(),
        files=queue_files(_run(0, 3)),
    )
    yield clause(
        "second-file",
        "the first file read",
        open_queue(load=True),
        recover(),
        last_offset(),
        files=queue_files(_run(0), _run(5, 2)),
    )


def _last_of_stale() -> Iterator[Vector]:
    clause = Clause("CQ-LAST-2", "an implementation answers where 4.9.3 fails, or the other way round")
    yield clause(
        "through-stale-units",
        "stale units after the write position left out",
        open_queue(load=True),
        recover(),
        truncate(200),
        last_offset(),
        files=queue_files(_run(0, 4)),
    )
    yield clause(
        "full-file",
        "an answer where valid units reach the file's end: 4.9.3 reads beyond it and fails",
        open_queue(load=True),
        recover(),
        last_offset(),
        files=queue_files(_run(0)),
    )
    yield clause(
        "stale-units-to-the-end",
        "stale units up to the file's end left out",
        open_queue(load=True),
        truncate(250),
        last_offset(),
        files=queue_files(_run(0)),
    )
    yield clause(
        "write-position-20",
        "an error where the whole file is read from its start",
        open_queue(load=True),
        truncate(100),
        bounds(),
        last_offset(),
        files=queue_files(_run(0)),
    )
    yield clause(
        "write-position-40",
        "no error where the reading begins at the second unit",
        open_queue(load=True),
        truncate(200),
        bounds(),
        last_offset(),
        files=queue_files(_run(0)),
    )
