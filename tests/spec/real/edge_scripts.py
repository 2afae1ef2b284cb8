"""Stores and what to do with them at the edges of the clauses, for `RestartFacts.java`, beside `restart_scripts.py`."""

import struct
from typing import Any, Final

from restart_scripts import (
    ABORT,
    BLANK,
    LOAD,
    PLACES,
    SIZE,
    Script,
    T,
    checkpoint,
    index,
    log,
    log_of,
    message,
    query,
    queue,
    record,
    reput,
    script,
    unit,
    wrote,
)

START: Final = {"do": "start"}
BRIEFLY: Final = {"do": "start_briefly"}
SHUTDOWN: Final = {"do": "shutdown"}
ADDRESS: Final = -(1 << 63)
"""The ext address of offset 0."""
PRE_BLANK: Final = struct.pack(">qiq", 0, 0x7FFFFFFF, 0)


def edge_scripts() -> dict[str, Script]:
    """The stores by name."""
    return {
        **_unused(),
        **_in_use(),
        **_dispatch(),
        **_ext(),
        **_by_time(),
        **_paths(),
        **_starts(),
        **_second_start(),
    }


def clocked(made: Script) -> Script:
    """A script whose messages have the times of the run."""
    return {**made, "clock": True}


def send(**more: Any) -> Script:
    return {"do": "send", "topic": "T", **more}


def _unused() -> dict[str, Script]:
    """Eight records: three of U, one of T, four of U. Then topic U is not known any more."""
    numbers = {0: 0, 1: 1, 2: 2, 4: 3, 5: 4, 6: 5, 7: 6}
    rows = [
        message(n, topic="U", queue_offset=numbers[n]) if n in numbers else message(n, queue_offset=0)
        for n in range(8)
    ]
    whole = log([*rows[:3], BLANK], [*rows[3:6], BLANK], rows[6:])
    of_u, of_t = queue(*(unit(n) for n in numbers), topic="U"), queue(unit(3))
    clean = {"do": "clean_unused", "topics": ["T"]}
    again = [message(n, topic="U", queue_offset=n - 4) if n > 3 else rows[n] for n in range(8)]
    twice = log([*again[:3], BLANK], [*again[3:6], BLANK], again[6:])
    numbers = {0: 3, 1: 4, 3: 0, 4: 1, 5: 6, 6: 7}
    later = [
        message(n, topic="U", queue_offset=numbers[n]) if n in numbers else message(n, queue_offset=0)
        for n in range(7)
    ]
    roomy = {"maxIndexNum": 100}  # no roll, whose time would name a file
    return {
        "unused, clean start": script(whole | of_u | of_t, LOAD, clean, START, SHUTDOWN, LOAD, **roomy),
        "unused, all before the end": script(
            log([*rows[:3], BLANK], [message(3, queue_offset=0)]) | queue(*(unit(n) for n in range(3)), topic="U") | of_t,
            LOAD, clean, LOAD, reput(PLACES[3] + SIZE), **roomy,
        ),
        "unused, a light topic": script(
            log([record(0, "", topic="%LMQ%a"), record(97, "", topic="U", queue_offset=0)])
            | queue(struct.pack(">qiq", 0, 97, 0), topic="%LMQ%a") | queue(struct.pack(">qiq", 0, 97, 0), topic="%LMQ%a", queue_id="1") | queue(unit(0), topic="U"),
            LOAD, {"do": "clean_light", "topic": "%LMQ%a"}, LOAD, **roomy,
        ),
        "unused, sent to again, unclean": script(twice | of_t | ABORT, LOAD, **roomy),
        "unused, sent to again, unclean, old offsets from 3": script(
            log([*later[:3], BLANK], [*later[3:6], BLANK], later[6:]) | queue(unit(2)) | ABORT, LOAD, **roomy
        ),
        "unused, sent to again, unclean, a unit left": script(
            twice | of_t | queue(unit(4), topic="U") | ABORT, LOAD, **roomy
        ),
    }  # fmt: skip


def _in_use() -> dict[str, Script]:
    """Files that are in use when they are to be deleted."""
    three = log_of(11) | queue(*(unit(n) for n in range(11)))
    rows = [record(101 * n, "KEYS\1same", store_timestamp=T + 10_000 * n, queue_offset=n) for n in range(3)]
    filled = log([*rows, struct.pack(">iI", 97, 0xCBD43194)], [], [])
    expire = {"do": "expire_log", "interval": 120_000}
    no_slots = {
        f"index/2020010100000000{n}": struct.pack(">qqqqii", T + n, T + n, 0, 0, 0, 2).ljust(280, b"\0")
        for n in (1, 2)
    }
    delete = {"do": "delete_index", "offset": 900}

    def wrong(offset: int, *first: int) -> list[Script]:
        """The first bytes of the size of the record at this offset."""
        return [{"do": "damage", "offset": offset + n, "byte": byte} for n, byte in enumerate(first)]

    def asked(*steps: Script) -> Script:
        return script(filled, LOAD, reput(0), *steps, query("same"), expire)

    return {
        "in use, queue that is deleted": script(
            log_of(3) | queue(*(unit(n) for n in range(3))), LOAD, {"do": "hold_queue"}, {"do": "clean_unused", "topics": []},
            {"do": "release_queue"}, LOAD,
        ),
        "in use, first file of three": script(three, LOAD, {"do": "hold_queue"}, {"do": "expire_queue", "offset": 1400}),
        "not in use, first file of three": script(three, LOAD, {"do": "expire_queue", "offset": 1400}),
        "query of a wrong size": script(
            filled, LOAD, reput(0), *wrong(101, -1), query("same"), expire, {"do": "sleep", "millis": 5}, {**expire, "interval": 1}
        ),
        "query of right sizes": asked(),
        "query of a size beyond the file": asked(*wrong(101, 1)),
        "query, lowest of a negative size": asked(*wrong(0, -1)),
        "query, lowest of a size beyond the file": asked(*wrong(0, 1)),
        "query of 2 bytes of a record": script(
            log(rows), LOAD, reput(0), wrote(204), query("same"), wrote(400), {"do": "next_file", "files": 4}, expire
        ),
        "query of no slots": script(
            no_slots, LOAD, query("same", 0, T + 1), delete, {"do": "sleep", "millis": 3100}, delete, maxHashSlotNum=0
        ),
        "no query of no slots": script(no_slots, LOAD, delete, maxHashSlotNum=0),
    }  # fmt: skip


def _dispatch() -> dict[str, Script]:
    def multi(queues: str, offsets: str, kind: int = 0) -> dict[str, bytes]:
        text = f"KEYS\1k\2INNER_MULTI_DISPATCH\1{queues}\2INNER_MULTI_QUEUE_OFFSET\1{offsets}"
        return log([record(0, text, sys_flag=kind)])

    def odd_record(kind: int, offset: str) -> bytes:
        text = f"INNER_MULTI_DISPATCH\1x\2INNER_MULTI_QUEUE_OFFSET\1{offset}"
        return record(PLACES[1], text, queue_offset=1, sys_flag=kind)

    on = {"enableMultiDispatch": True, "enableLmq": True}
    eleven = log_of(11)
    first = f"commitlog/{0:020}"
    mismatch = {
        more: eleven
        | {first: b"".join([message(0), message(1, more=more), message(2), BLANK]).ljust(400, b"\0")}
        for more in (10, 100, 5000)
    }
    return {
        **{
            f"mismatch of {more} before a blank{'' if master else ', slave'}": script(
                files, LOAD, reput(0), brokerId=0 if master else 1, maxIndexNum=100
            )
            for more, files in mismatch.items()
            for master in (True, False)
        },
        **{
            f"names {queues!r} at {offsets!r}": script(multi(queues, offsets), LOAD, reput(0), **on)
            for queues, offsets in (("q1,", "5"), ("q1,,", "5,"), (",q1", "5,6"), ("q1,,q2", "5,6,7"))
        },
        "arriving, empty offset between": script(multi("x,y,z", "1,,2"), LOAD, {"do": "arriving_listener"}, reput(0), reput(0)),
        "arriving, record of type 12": script(multi("x", "y", 12) | ABORT, LOAD, {"do": "arriving_listener"}, BRIEFLY),
        **{
            f"arriving at a start, {name}": script(
                log([message(0), odd, record(PLACES[1] + len(odd), "KEYS\1k", queue_offset=2)][: 3 if followed else 2]) | queue(*units) | files,
                LOAD, {"do": "arriving_listener"}, BRIEFLY, maxIndexNum=100,
            )
            for name, kind, offset, followed, units, files in (
                ("type 4", 4, "y", False, [unit(0)], {}),
                ("type 4, a number", 4, "1", False, [unit(0)], {}),
                ("type 0", 0, "y", False, [unit(0)], {}),
                ("type 0, unclean", 0, "y", False, [unit(0)], ABORT),
                ("type 12, unclean", 12, "y", False, [unit(0)], ABORT),
                ("type 12, then a message", 12, "y", True, [unit(0)], {}),
                ("type 12, then a message, unclean", 12, "y", True, [unit(0)], ABORT),
                ("type 12, then a message, unclean, no units", 12, "y", True, [], ABORT),
            )
            for odd in [odd_record(kind, offset)]
        },
        "dispatch, body longer than its record": script(
            log([message(0), record(PLACES[1], body=b"x" * 150, more=-141, queue_offset=1)]), LOAD, wrote(353), reput(0), maxIndexNum=100
        ),
        "dispatch, from before the log, not 0": script(
            {name: data for name, data in eleven.items() if not name.endswith("000000")}, LOAD, reput(50), maxIndexNum=100
        ),
        "dispatch, at a missing file": script(
            {name: data for name, data in eleven.items() if not name.endswith("400")}, LOAD, reput(0), maxIndexNum=100
        ),
        "queue of pre-blank units alone": clocked(
            script(log_of(2) | queue(PRE_BLANK, PRE_BLANK), LOAD, START, send(topic="U"), SHUTDOWN, LOAD)
        ),
        "record longer than its file": clocked(
            script({}, LOAD, START, send(), send(body=400), send(), SHUTDOWN, LOAD)
        ),
    }  # fmt: skip


def _ext() -> dict[str, Script]:
    def ext_unit(size: int = 20, bits: int = 0, code: int = 7) -> bytes:
        return struct.pack(">hqqh", size, code, T, bits) + b"\0" * (size - 20)

    on = {"enableConsumeQueueExt": True, "mappedFileSizeConsumeQueueExt": 70}
    folder = "consumequeue_ext/T/0/"
    later = {f"{folder}{70 * n:020}": ext_unit().ljust(70, b"\0") for n in (1, 2)}
    two = log_of(2) | queue(unit(0, ADDRESS), unit(1, ADDRESS + 20))
    both = {f"{folder}{0:020}": (ext_unit(code=11) + ext_unit(code=22)).ljust(70, b"\0")}

    def last(place: int, data: bytes) -> Script:
        """The last address leads to `data` at `place` in a file of 70 bytes."""
        before = ext_unit(place) if place else b""
        return script(
            log_of(1)
            | queue(unit(0, ADDRESS + place))
            | {f"{folder}{0:020}": (before + data).ljust(70, b"\0")[:70]},
            LOAD,
            **on,
        )

    return {
        "ext, first file missing": script(log_of(1) | queue(unit(0, ADDRESS)) | later, LOAD, **on),
        "ext, first file missing, another address": script(log_of(1) | queue(unit(0, ADDRESS + 70)) | later, LOAD, **on),
        **{
            f"ext, sizes to {end} of 70": script(
                log_of(1) | queue(unit(0, ADDRESS)) | {f"{folder}{0:020}": (ext_unit() * 2 + struct.pack(">h", end - 40)).ljust(70, b"\0")},
                LOAD, **on,
            )
            for end in (68, 69, 70, 71)
        },
        **{f"ext, last unit of size {size} at {place}": last(place, struct.pack(">hqqh", size, 7, T, 0)) for size in (10, 19, 20) for place in (0, 30, 50)},
        "ext, last address at unused bytes": script(
            log_of(1) | queue(unit(0, ADDRESS + 50)) | {f"{folder}{70 * n:020}": ext_unit().ljust(70, b"\0") for n in (0, 1)}, LOAD, **on
        ),
        "ext, last unit with too long a bit map": last(0, ext_unit(20, 60)),
        "ext off, over addresses": script(
            two | both, LOAD, START, {"do": "pull", "tag": "TagA"}, {"do": "put", "topic": "T", "offset": 222, "size": SIZE, "tags_code": 5,
            "store_timestamp": T, "cq_offset": 2},
        ),
        "ext on, over addresses": script(two | both, LOAD, START, {"do": "pull", "tag": "TagA"}, **on),
        "ext off, file of another length": script(log_of(1) | queue(unit(0)) | {f"{folder}{0:020}": bytes(69)}, LOAD),
    }  # fmt: skip


def _by_time() -> dict[str, Script]:
    """A search by time whose first midpoint is unit 2 of the first of four files."""

    def first(offset: int, size: int) -> Script:
        units = [unit(n) for n in range(11)] + [unit(10)] * 9
        units[2] = struct.pack(">qiq", offset, size, 0)
        return script(
            log_of(11) | queue(*units), LOAD, {"do": "time", "at": T + 1}, {"do": "time", "at": T + 90_000}
        )

    return {
        f"by time, unit of size {size} at {offset}": first(offset, size)
        for offset, size in (
            (222, -1), (222, 0), (222, 1), (222, 39), (222, 40), (222, 63), (222, 64), (222, 0x7FFFFFFF), (0, 0x7FFFFFFF),
            (222, 0x7FFFFFFF - 222), (222, 0x7FFFFFFF - 221),
        )
    }  # fmt: skip


def _paths() -> dict[str, Script]:
    two = {name.replace("commitlog/", "a/"): data for name, data in log_of(3).items()}
    two |= {name.replace("commitlog/", "b/"): data for name, data in log_of(6, 3).items()}
    blank = {"storePathCommitLog": "$ROOT/a, $ROOT/b"}
    roll = {"do": "next_file", "files": 3}
    both = {"storePathCommitLog": "$ROOT/a,$ROOT/b", "readOnlyCommitLogStorePaths": "$ROOT/a,$ROOT/b"}
    return {
        "paths, an empty part": script(two, LOAD, storePathCommitLog="$ROOT/a,,$ROOT/b"),
        "paths, a blank before a name": script(two, LOAD, **blank),
        "paths, a blank at the end": script(two, LOAD, storePathCommitLog="$ROOT/a,$ROOT/b "),
        "paths, all read-only": script(two, LOAD, wrote(400), roll, **both),
    }


def _starts() -> dict[str, Script]:
    def last_of(kind: int) -> dict[str, bytes]:
        return log([message(0), message(1), message(2), BLANK], [message(3, sys_flag=kind)])

    def queues(count: int) -> dict[str, bytes]:
        return queue(*(unit(n) for n in range(count))) | queue(topic="Empty")

    times = [(-(1 << 63), 5000, 0), (-(1 << 63) + 2999, 5000, 7), (-(1 << 63) + 3000, 5000, 7), (-1, -1, 5)]
    eleven = log_of(11)
    without = {name: data for name, data in eleven.items() if not name.endswith("800")}
    made_ahead = without | {f"commitlog/{1200:020}": bytes(400)}
    return {
        **{
            f"file missing, {count} units{', only made ahead after it' * (files is made_ahead)}{', unclean' * bool(left)}": script(
                files | queue(*(unit(n) for n in range(count))) | checkpoint(2 * T, 2 * T) | left, LOAD, BRIEFLY, maxIndexNum=100
            )
            for files, count, left in (
                (without, 6, {}), (without, 9, {}), (without, 11, {}), (without, 6, ABORT), (made_ahead, 9, {}), (made_ahead, 9, ABORT)
            )
        },
        "directory in the log": script(log_of(3) | {"commitlog/lost+found/x": b""}, LOAD),
        "first file of another name": script({f"commitlog/{100:020}": log_of(2)[f"commitlog/{0:020}"]}, LOAD),
        "clean, last record's queue deleted": script(
            log([message(0), message(1), message(2), BLANK], [message(3, topic="U")]) | queue(*(unit(n) for n in range(3))) | queue(topic="Empty"), LOAD
        ),
        **{
            f"delay offsets {text!r}, bad copy": script(
                log_of(3) | queue(unit(0)) | {"config/delayOffset.json": text, "config/delayOffset.json.bak": b"{"}, LOAD
            )
            for text in (b"", b'{"offsetTable":{}}')
        },
        **{f"clean, last record of type {kind}": script(last_of(kind) | queues(count), LOAD) for kind, count in ((0, 4), (4, 3), (8, 4), (12, 3))},
        "bounds that wrap": script(
            {},
            *(
                {"do": "min_timestamps", "name": str(n), "physic": physic, "logics": logics, "index": time}
                for n, (physic, logics, time) in enumerate(times)
            ),
        ),
        "disk full at the shutdown": clocked(script({}, LOAD, START, send(), {"do": "disk_full"}, SHUTDOWN, {"do": "names", "folder": "."})),
        **{
            f"delay levels {levels!r}": script(log_of(5) | queue(unit(0)) | ABORT, LOAD, messageDelayLevel=levels)
            for levels in ("1s 5s", "1s  5s", "1s 5", "1S", "1s ", " 1s", "-1s")
        },
        "unclean, duplication, bound of the first record": script(
            log_of(5) | checkpoint(T * 2, T * 2) | index(end_time=5) | ABORT, LOAD, duplicationEnable=True
        ),
    }  # fmt: skip


def _second_start() -> dict[str, Script]:
    """A process that starts on the store of one that runs."""
    names = [{"do": "names", "folder": folder} for folder in ("commitlog", "index")]
    more = [send(keys=f"k{n}") for n in range(4)]
    return {
        "second start": clocked(
            script({}, LOAD, START, *more, *names, {"do": "second_start"}, *names, *more, query("k0"), *names, SHUTDOWN, LOAD, START, query("k0"))
        ),
        "second start, more messages": clocked(
            script({}, LOAD, START, *more, {"do": "second_start"}, *more, *more, SHUTDOWN, LOAD, BRIEFLY)
        ),
        "no second start": clocked(script({}, LOAD, START, *more, *names, *more, query("k0"), *names, SHUTDOWN, LOAD, START, query("k0"))),
    }  # fmt: skip
