"""Stores and what to do with them, for `RestartFacts.java`: files as bytes, then steps."""

import struct
import zlib
from typing import Any, Final

T: Final = 1_700_000_000_000
"""Store timestamp of the first record; each further one is 10 s later."""

LOG_FILE: Final = 400
"""Length of a commit-log file, bytes: three records of 111 bytes and a blank of 67."""

SIZE: Final = 111
PLACES: Final = (0, 111, 222, 400, 511, 622, 800, 911, 1022, 1200, 1311)
"""Physical offsets of the records 0, 1, 2, ..."""

CONFIG: Final = {
    "mappedFileSizeCommitLog": LOG_FILE,
    "mappedFileSizeConsumeQueue": 100,
    "maxHashSlotNum": 7,
    "maxIndexNum": 12,
    "brokerId": 0,
    "haListenPort": 0,
}

Script = dict[str, Any]


def record(
    phy_offset: int,
    properties: str = "",
    *,
    topic: str = "T",
    body: bytes = b"",
    queue_id: int = 0,
    queue_offset: int = 0,
    store_timestamp: int = T,
    sys_flag: int = 0,
    more: int = 0,
    magic: int = 0xDAA320A7,
    crc: int | None = None,
) -> bytes:
    """A commit-log record with IPv4 hosts; `more` is added to its total size."""
    rest = struct.pack(
        ">iiqqiqQqQiqi",
        queue_id, 0, queue_offset, phy_offset, sys_flag, T - 1, 0x7F00000100000001, store_timestamp, 0x7F00000100002A9F, 0, 0,
        len(body),
    )  # fmt: skip
    rest += body + bytes([len(topic)]) + topic.encode()
    rest += struct.pack(">h", len(properties.encode())) + properties.encode()
    if crc is None:
        crc = zlib.crc32(body) & 0x7FFFFFFF if body else 0
    return struct.pack(">iIi", 12 + len(rest) + more, magic, crc) + rest


def message(number: int, **changes: Any) -> bytes:
    """Record `number` of 111 bytes: keys `u0` and `k0`, queue offset and time by its number."""
    fields: dict[str, Any] = {"queue_offset": number, "store_timestamp": T + 10_000 * number}
    return record(PLACES[number], f"UNIQ_KEY\1u{number % 10}\2KEYS\1k{number % 10}", **fields | changes)


BLANK: Final = struct.pack(">iI", 67, 0xCBD43194)


def log(*files: list[bytes], start: int = 0) -> dict[str, bytes]:
    """Commit-log files, each filled up with zeros."""
    return {
        f"commitlog/{start + LOG_FILE * number:020}": b"".join(parts).ljust(LOG_FILE, b"\0")
        for number, parts in enumerate(files)
    }


def log_of(count: int, first: int = 0) -> dict[str, bytes]:
    """The log of the messages `first`, ..., up to `count`, three a file; `first` begins a file."""
    groups = [list(range(at, min(at + 3, count))) for at in range(first, count, 3)]
    files = [[message(n) for n in group] + ([BLANK] if len(group) == 3 else []) for group in groups]
    return log(*files, start=PLACES[first])


def unit(number: int, code: int = 0) -> bytes:
    """The consume-queue unit of message `number`."""
    return struct.pack(">qiq", PLACES[number], SIZE, code)


def queue(*units: bytes, topic: str = "T", queue_id: str = "0") -> dict[str, bytes]:
    """A consume queue's files of five units."""
    rows = list(units) or [b""]
    groups = [rows[at : at + 5] for at in range(0, len(rows), 5)]
    return {
        f"consumequeue/{topic}/{queue_id}/{100 * number:020}": b"".join(group).ljust(100, b"\0")
        for number, group in enumerate(groups)
    }


def index(number: int = 1, end_time: int = T, end_offset: int = 0, count: int = 1) -> dict[str, bytes]:
    """An index file with a header and nothing else."""
    head = struct.pack(">qqqqii", T, end_time, 0, end_offset, 0, count)
    return {f"index/20200101000000{number:03}": head.ljust(308, b"\0")}


def checkpoint(physic: int, logics: int, index_time: int = 0) -> dict[str, bytes]:
    """The checkpoint's file."""
    return {"checkpoint": struct.pack(">qqq", physic, logics, index_time).ljust(4096, b"\0")}


ABORT: Final = {"abort": b""}
LOAD: Final = {"do": "load"}


def reput(start: int) -> Script:
    return {"do": "reput", "from": start}


def wrote(position: int) -> Script:
    """Moves the write position of the last commit-log file."""
    return {"do": "wrote", "position": position}


def query(key: str, begin: int = 0, end: int = (1 << 63) - 1, max_num: int = 32) -> Script:
    return {"do": "query", "topic": "T", "key": key, "begin": begin, "end": end, "max_num": max_num}


def script(files: dict[str, bytes], *steps: Script, **config: Any) -> Script:
    return {
        "config": CONFIG | config,
        "files": {name: data.hex() for name, data in files.items()},
        "steps": list(steps),
    }


def scripts() -> dict[str, Script]:
    """The stores by name."""
    return {
        **_clean(),
        **_refused(),
        **_unclean(),
        **_dispatch(),
        **_multi_dispatch(),
        **_huge_sizes(),
        **_paths(),
        **_duplication(),
        **_whole_queues(),
        **_held_files(),
        **_ext(),
        **_queries(),
        **_by_time(),
        **_life(),
    }


def _clean() -> dict[str, Script]:
    five = [unit(n) for n in range(5)]
    empty = queue(topic="Empty")
    broken = log_of(11) | {f"commitlog/{0:020}": message(0).ljust(LOG_FILE, b"\0")}
    wrong_crc = record(PLACES[1], "KEYS\1k", body=b"abc", crc=1)
    behind = log([message(0), wrong_crc, record(PLACES[1] + len(wrong_crc))])
    return {
        "clean, queue at the log's end": script(log_of(5) | queue(*five) | empty, LOAD),
        "clean, queue behind the log": script(log_of(5) | queue(*five[:4]) | empty, LOAD),
        "clean, queue ahead of the log": script(log_of(5) | queue(*five, unit(5), unit(6)), LOAD),
        "clean, damage in the fourth file from the end": script(broken, LOAD),
        "clean, damage in the third file from the end": script(
            {name: data for name, data in broken.items() if int(name[-20:]) < 3 * LOG_FILE}, LOAD
        ),
        "clean, wrong checksum": script(behind, LOAD),
        "clean, wrong checksum, unchecked": script(behind, LOAD, checkCRCOnRecover=False),
        "clean, first files deleted": script(log_of(8, 3) | queue(*(unit(n) for n in range(8))), LOAD),
        "no log": script(queue(*five) | queue(unit(0), topic="U") | index(), LOAD),
        "no log, unclean": script(queue(*five) | index(end_time=5) | ABORT, LOAD),
        "clean, blank and no next file": script(log([message(0), message(1), message(2), BLANK]), LOAD),
        "unclean, blank and no next file": script(
            log([message(0), message(1), message(2), BLANK]) | ABORT, LOAD
        ),
        "clean, blank and no next file, written on": {
            **script(
                log([message(0), struct.pack(">iI", 289, 0xCBD43194)]) | queue(unit(0)),
                LOAD,
                {"do": "start"},
                {"do": "send", "topic": "T"},
                {"do": "shutdown"},
            ),
            "clock": True,
        },
        "clean, file of zeros at the end": script(log_of(3) | log([], start=400), LOAD),
    }


def _refused() -> dict[str, Script]:
    return {
        "log file of another length": script(
            log_of(3) | {f"commitlog/{400:020}": bytes(399)} | queue(unit(0)) | index() | ABORT, LOAD
        ),
        "queue file of another length": script(
            log_of(3) | queue(unit(0)) | {f"consumequeue/U/0/{0:020}": bytes(80)} | index() | ABORT, LOAD
        ),
        "queue directory that is no number": script(
            log_of(3) | queue(unit(0)) | {f"consumequeue/T/x/{0:020}": bytes(80)}, LOAD
        ),
        "queue names": script(
            log_of(3)
            | {
                "consumequeue/T/5": b"x",
                f"consumequeue/V/007/{0:020}": unit(0).ljust(100, b"\0"),
                f"consumequeue/W/+3/{0:020}": unit(0).ljust(100, b"\0"),
                f"consumequeue/W/-1/{0:020}": unit(1).ljust(100, b"\0"),
                "consumequeue/file": b"x",
            },
            LOAD,
            reput(0),
        ),
        "queue file whose name is no number": script(
            log_of(3) | queue(unit(0)) | {"consumequeue/T/0/x": bytes(100)}, LOAD
        ),
        "log file whose name is no number": script(log_of(3) | {"commitlog/x": bytes(LOG_FILE)}, LOAD),
        "index directory that ends the load": script(
            log_of(3) | index(1) | {"index/20200101000000002/x": b""} | index(3), LOAD
        ),
    }


def _unclean() -> dict[str, Script]:
    eight = [unit(n) for n in range(8)]
    whole = log_of(8) | queue(*eight) | index(end_time=T + 70_000, end_offset=PLACES[7]) | ABORT
    third = T + 30_000  # store timestamp of message 3, the first of the second file
    delayed = record(0, "TAGS\1TagA\2DELAY\x015", topic="SCHEDULE_TOPIC_XXXX")
    return {
        "unclean, no checkpoint": script(whole, LOAD),
        "unclean, bound at the second file": script(whole | checkpoint(third + 3000, third + 3000), LOAD),
        "unclean, bound 1 ms before the second file": script(
            whole | checkpoint(third + 2999, third + 9000), LOAD
        ),
        "unclean, logics time counts": script(whole | checkpoint(third + 9000, third + 2999), LOAD),
        "unclean, bound behind everything": script(whole | checkpoint(T * 2, T * 2), LOAD),
        "unclean, index time is not minded": script(
            whole | checkpoint(third + 3000, third + 3000, third - 1), LOAD
        ),
        "unclean, messageIndexSafe": script(
            whole | checkpoint(third + 3000, third + 3000, third - 1), LOAD, messageIndexSafe=True
        ),
        "unclean, messageIndexSafe, index time at the file": script(
            whole | checkpoint(third + 3000, third + 3000, third), LOAD, messageIndexSafe=True
        ),
        "unclean, index file kept": script(
            log_of(8)
            | queue(*eight)
            | index(end_time=T + 70_000, end_offset=PLACES[7])
            | checkpoint(third + 3000, third + 3000, T + 70_000)
            | ABORT,
            LOAD,
        ),
        "unclean, store time 0 at the second file": script(
            whole
            | log([message(3, store_timestamp=0), message(4), message(5), BLANK], start=400)
            | checkpoint(third + 3000, third + 3000),
            LOAD,
        ),
        "unclean, file of zeros at the end": script(
            log_of(3) | log([], start=400) | checkpoint(T * 2, T * 2) | ABORT, LOAD
        ),
        "unclean, torn in the properties": script(
            log([message(0), message(1), message(2)[:100]]) | ABORT, LOAD
        ),
        "unclean, torn before the lengths": script(
            log([message(0), message(1), message(2)[:80]]) | queue(unit(0), unit(1), unit(2)) | ABORT, LOAD
        ),
        "unclean, next file made ahead": script(log([message(0), message(1)], []) | ABORT, LOAD),
        "unclean, missing file in the middle": script(
            {name: data for name, data in log_of(8).items() if not name.endswith("400")} | ABORT, LOAD
        ),
        "unclean, delayed message": script(log([delayed]) | ABORT, LOAD),
        "clean, delayed message": script(log([delayed]), LOAD, reput(0)),
    }


def _dispatch() -> dict[str, Script]:
    of_types = log([message(0), message(1, sys_flag=4), message(2, sys_flag=8, queue_offset=1), BLANK]) | log(
        [message(3, sys_flag=12, queue_offset=0), message(4, queue_offset=2)], start=400
    )
    mismatch = log([message(0), message(1, more=1), message(2)])
    magic = log([message(0), message(1, magic=0), message(2)])
    two = log_of(5)
    return {
        "dispatch, two files": script(two, LOAD, reput(0)),
        "dispatch, from the second record": script(two, LOAD, reput(PLACES[1])),
        "dispatch, from before the log": script(log_of(8, 3), LOAD, reput(0)),
        "dispatch, at the end": script(two, LOAD, reput(PLACES[4] + SIZE)),
        "dispatch, transaction types": script(of_types, LOAD, reput(0)),
        "dispatch, without index": script(two, LOAD, reput(0), messageIndexEnable=False),
        "dispatch, twice": script(two, LOAD, reput(0), reput(0)),
        "dispatch, length mismatch": script(mismatch, LOAD, wrote(333), reput(0)),
        "dispatch, length mismatch, slave": script(mismatch, LOAD, wrote(333), reput(0), brokerId=1),
        "dispatch, bad magic": script(magic, LOAD, wrote(333), reput(0)),
        "dispatch, bad magic, slave": script(magic, LOAD, wrote(333), reput(0), brokerId=1),
        "dispatch, slave role": script(two, LOAD, reput(0), brokerRole="SLAVE", brokerId=1),
        "dispatch, index that cannot be made": script(two | {"index": b"x"}, LOAD, reput(0), reput(0)),
        "dispatch, after the index error": script(two, LOAD, {"do": "index_error"}, reput(0)),
        "dispatch, queue that cannot be made": script(
            log_of(1) | {"consumequeue": b"x"},
            LOAD,
            {"do": "reput_impatiently", "from": 0},
            enableConsumeQueueExt=True,
            mappedFileSizeConsumeQueueExt=4096,
        ),
        "dispatch, wrong checksum": script(
            log([record(0, "KEYS\1k", body=b"abc", crc=1)]), LOAD, wrote(102), reput(0)
        ),
    }


def _multi_dispatch() -> dict[str, Script]:
    def multi(queues: str, offsets: str, **changes: Any) -> bytes:
        text = f"KEYS\1k\2INNER_MULTI_DISPATCH\1{queues}\2INNER_MULTI_QUEUE_OFFSET\1{offsets}"
        return record(changes.pop("phy_offset", 0), text, **changes)

    both = {"enableLmq": True, "enableMultiDispatch": True}
    first = multi("%LMQ%a,%LMQ%b", "0,3", queue_id=1)
    again = record(len(first), "INNER_MULTI_DISPATCH\1%LMQ%a\2INNER_MULTI_QUEUE_OFFSET\x010", queue_offset=1)
    send = {"do": "send", "topic": "T", "queues": "%LMQ%a"}
    start, shutdown = {"do": "start"}, {"do": "shutdown"}
    delayed = record(
        0,
        "DELAY\x015\2INNER_MULTI_DISPATCH\1%LMQ%a\2INNER_MULTI_QUEUE_OFFSET\x010",
        topic="SCHEDULE_TOPIC_XXXX",
    )
    return {
        "multi-dispatch": script(log([first]), LOAD, reput(0), **both),
        "multi-dispatch, LMQ off": script(log([first]), LOAD, reput(0), enableMultiDispatch=True),
        "multi-dispatch, off": script(log([first]), LOAD, reput(0)),
        "multi-dispatch, offset 0 again": script(log([first, again]), LOAD, reput(0), **both),
        "multi-dispatch, fewer offsets than queues": script(
            log([multi("%LMQ%a,%LMQ%b", "0")]), LOAD, reput(0), **both
        ),
        "multi-dispatch, offset that is no number": script(
            log([multi("%LMQ%a", "x")]), LOAD, reput(0), **both
        ),
        **{
            f"arriving, {name}": script(
                log(
                    [
                        record(0, "KEYS\1a"),
                        odd := multi(queues, offsets, phy_offset=98, queue_offset=1),
                        record(98 + len(odd), "KEYS\1b", queue_offset=2),
                    ]
                ),
                LOAD,
                {"do": "arriving_listener"},
                reput(0),
                reput(98),
                reput(98),
                LOAD,
                start,
                **changes,
            )
            for name, queues, offsets, changes in (
                ("offset that is no number", "x", "y", {}),
                ("offset that is no number, slave", "x", "y", {"brokerRole": "SLAVE"}),
                ("offset that is no number, long polling off", "x", "y", {"longPollingEnable": False}),
                ("fewer offsets than queues", "x,z", "y", {}),
                ("blank offset", "x", " ", {}),
            )
        },
        "multi-dispatch, no properties": script(log([record(0), record(92)]), LOAD, reput(0), **both),
        "multi-dispatch, restarted": {
            **script(
                {}, LOAD, start, send, send, send, shutdown, LOAD, start, send, send, send, send, **both
            ),
            "clock": True,
        },
        "multi-dispatch, delayed": script(log([delayed]), LOAD, reput(0), **both),
    }


def _ext() -> dict[str, Script]:
    def put(place: int, offset: int, code: int = 7) -> Script:
        return {
            "do": "put", "topic": "T", "offset": offset, "size": 100, "tags_code": code, "store_timestamp": T,
            "cq_offset": place,
        }  # fmt: skip

    ext = {"enableConsumeQueueExt": True, "mappedFileSizeConsumeQueueExt": 70}
    small = struct.pack(">hqqh", 20, 7, T, 0)
    folder = "consumequeue_ext/T/0/"
    address = -(1 << 63)
    units = queue(struct.pack(">qiq", 0, 100, address))
    five = {f"{folder}{70 * n:020}": small.ljust(70, b"\0") for n in range(5)}
    return {
        "ext, repeated put": script({}, LOAD, put(0, 0), put(0, 0), put(1, 100, 8), **ext),
        "ext, recovered": script(
            units
            | {f"{folder}{0:020}": (small * 2).ljust(70, b"\0"), f"{folder}{70:020}": small.ljust(70, b"\0")}
            | log([record(0, "A\1bcdefg"), record(100, "A\1bcdefg", queue_offset=1)]),
            LOAD,
            {"do": "get_ext", "topic": "T", "address": address},
            {"do": "get_ext", "topic": "T", "address": address + 20},
            put(1, 100, 9),
            **ext,
        ),
        "ext, truncated with the queue": script(
            queue(struct.pack(">qiq", 0, 100, address), struct.pack(">qiq", 100, 100, address + 20))
            | {f"{folder}{0:020}": (small * 2).ljust(70, b"\0")}
            | log([record(0, "A\1bcdefg")]),
            LOAD,
            put(1, 100, 9),
            **ext,
        ),
        "ext, size past the file's end": script(
            {f"{folder}{0:020}": (small * 2 + struct.pack(">h", 60)).ljust(70, b"\0")} | queue(),
            LOAD,
            **ext,
        ),
        "ext, file of another length": script({f"{folder}{0:020}": bytes(69)} | queue(), LOAD, **ext),
        "ext, minimum with an address": script(
            log_of(8, 3) | five | queue(*(unit(n, address + 70 * n) for n in range(5))), LOAD, **ext
        ),
        "ext, minimum with a plain code": script(
            log_of(8, 3) | five | queue(*(unit(n, address + 70 * n if n != 3 else 7) for n in range(5))), LOAD, **ext
        ),
        "ext, unit longer than a file": script(
            {}, LOAD, put(0, 0), {**put(1, 100, 8), "bit_map": 47}, {**put(2, 200, 9), "bit_map": 46}, **ext
        ),
        "ext, unit longer than any": script({}, LOAD, {**put(0, 0), "bit_map": 32748}, **ext),
    }  # fmt: skip


def _huge_sizes() -> dict[str, Script]:
    """A record that says 2147483647 bytes, more than any array of Java has."""
    huge = message(1, more=0x7FFFFFFF - SIZE)
    start = {"do": "start"}
    return {
        "huge size, clean": script(log([message(0), huge]) | queue(unit(0)), LOAD),
        "huge size, unclean": script(log([message(0), huge]) | queue(unit(0)) | ABORT, LOAD),
        "huge size, clean, in the fourth file from the end": script(
            log_of(11) | log([message(0), huge]) | queue(*(unit(n) for n in range(11))), LOAD
        ),
        "huge size, met by the thread": script(
            log([message(0)]), LOAD, start, {"do": "write", "bytes": huge.hex()}, {"do": "reput_ends", "millis": 9000},
            {"do": "write", "bytes": message(2).hex()}, {"do": "sleep", "millis": 50},
        ),
        "error in a dispatcher": script(
            log([message(0)]), LOAD, start, {"do": "throwing_dispatcher", "error": True},
            {"do": "write", "bytes": message(1).hex()}, {"do": "reput_ends", "millis": 9000},
        ),
        "exception in a dispatcher": script(
            log([message(0)]), LOAD, start, {"do": "throwing_dispatcher", "error": False},
            {"do": "write", "bytes": message(1).hex()}, {"do": "reput_ends", "millis": 300},
        ),
    }  # fmt: skip


def _paths() -> dict[str, Script]:
    """A commit log in several directories."""
    spread = {
        name.replace("commitlog/", "a/" if number % 2 == 0 else "b/"): data
        for number, (name, data) in enumerate(sorted(log_of(8).items()))
    }
    both = {"storePathCommitLog": "$ROOT/a,$ROOT/b"}
    next_file = {"do": "next_file", "files": 6}  # three of the log, two new ones, one of the queue
    return {
        "paths, two": script(spread, LOAD, reput(0), wrote(400), next_file, {"do": "folders"}, **both),
        "paths, names out of order": script(
            {name.replace("a/", "c/").replace("b/", "a/").replace("c/", "b/"): data for name, data in spread.items()},
            LOAD,
            **both,
        ),
        "paths, one of them read-only": script(
            spread, LOAD, reput(0), wrote(400), next_file, **both, readOnlyCommitLogStorePaths="$ROOT/a"
        ),
        "paths, a third that is read-only": script(
            {name.replace("a/", "c/"): data for name, data in spread.items()}, LOAD, **both,
            readOnlyCommitLogStorePaths="$ROOT/c",
        ),
        "paths, one, and one that is read-only": script(
            {name: data for name, data in spread.items() if not name.endswith("800")}, LOAD, storePathCommitLog="$ROOT/a", readOnlyCommitLogStorePaths="$ROOT/b"
        ),
        "paths, one name twice": script(log_of(2) | {f"b/{0:020}": log_of(2)[f"commitlog/{0:020}"]}, LOAD,
            storePathCommitLog="$ROOT/commitlog,$ROOT/b"),
        "paths, one is missing": script(
            {name: data for name, data in spread.items() if name.startswith("a/")}, LOAD, **both
        ),
    }  # fmt: skip


def _duplication() -> dict[str, Script]:
    eight = [unit(n) for n in range(8)]
    on = {"duplicationEnable": True}
    return {
        "duplication, dispatch": script(
            log_of(5), LOAD, reput(0), {"do": "confirm", "offset": 1}, reput(0), **on
        ),
        "duplication, confirmed at a file's start": script(
            log_of(5), LOAD, {"do": "confirm", "offset": 400}, reput(0), **on
        ),
        "duplication, unclean": script(log_of(8) | queue(*eight[:2]) | ABORT, LOAD, **on),
        "duplication, start": script(log_of(2), LOAD, {"do": "start_briefly"}, **on),
        "duplication, start with nothing to dispatch": script(
            log_of(2) | queue(*eight[:2]), LOAD, {"do": "start_briefly"}, **on
        ),
    }


def _whole_queues() -> dict[str, Script]:
    old = [unit(0), unit(1)]
    at_the_start = struct.pack(">qiq", 400 - SIZE, SIZE, 0)
    topics = ("U", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "RMQ_SYS_TRANS_HALF_TOPIC", "%LMQ%x")
    many: dict[str, bytes] = {}
    for topic in topics:
        many |= queue(*old, topic=topic)
    start, shutdown = {"do": "start"}, {"do": "shutdown"}
    send = {"do": "send", "topic": "U"}
    return {
        "whole queues, expired": script(
            log_of(8, 3) | queue(*(unit(n) for n in range(8))) | many | queue(at_the_start, topic="V")
            | queue(topic="W") | queue(*old, topic="T", queue_id="1"),
            LOAD, {"do": "clean_expired_queues"}, LOAD,
        ),
        "whole queues, unused": script(
            log_of(8) | queue(*(unit(n) for n in range(8))) | many, LOAD, {"do": "clean_unused", "topics": ["T"]}, LOAD,
        ),
        "whole queues, unused, unclean": script(
            log([message(0, topic="U"), message(1, topic="U"), message(2)]) | queue(unit(0), unit(1), topic="U")
            | queue(unit(2)) | ABORT, LOAD, {"do": "clean_unused", "topics": ["T"]}, LOAD,
        ),
        "whole queues, sent to again": {
            **script({}, LOAD, start, send, send, {"do": "clean_unused", "topics": ["T"]}, send, shutdown),
            "clock": True,
        },
    }  # fmt: skip


def _held_files() -> dict[str, Script]:
    both = log_of(8) | queue(*(unit(n) for n in range(8)))
    return {
        "held log file": script(
            both, LOAD, reput(0), query("k1"), {"do": "hold_log"}, {"do": "destroy_log", "interval": 60_000}, query("k1"),
            reput(0),
        ),
        "held queue file": script(
            both, LOAD, {"do": "get_unit", "at": 1}, {"do": "hold_queue"}, {"do": "destroy_queue", "interval": 60_000},
            {"do": "get_unit", "at": 1}, {"do": "get_unit", "at": 5}, {"do": "expire_queue", "offset": 0},
            {"do": "release_queue"}, {"do": "expire_queue", "offset": 0},
        ),
        "held index file": script(
            log_of(8), LOAD, reput(0), {"do": "hold_index"}, query("k1"), {"do": "delete_index", "offset": 900},
            query("k1"), {"do": "delete_index", "offset": 900}, {"do": "sleep", "millis": 3100},
            {"do": "delete_index", "offset": 900},
        ),
    }  # fmt: skip


def _queries() -> dict[str, Script]:
    rows = [
        record(0, "KEYS\1same", store_timestamp=T),
        record(101, "KEYS\1same", store_timestamp=T + 10_000, queue_offset=1),
        record(202, "KEYS\1same same", store_timestamp=T + 20_000, queue_offset=2),
    ]
    return {
        "query": script(
            log(rows), LOAD, reput(0), query("same"), query("same", max_num=2), query("other"),
            query("same", T + 5000, T + 15_000), query("same", max_num=0), query("same", max_num=-1),
        ),
        "query, lowest hit does not decode": script(
            log(rows), LOAD, reput(0), {"do": "damage", "offset": 88, "byte": 127}, query("same"),
        ),
        "query, magic of the lowest hit": script(
            log(rows), LOAD, reput(0), {"do": "damage", "offset": 4, "byte": 0}, query("same"),
        ),
        "query, another hit does not decode": script(
            log(rows), LOAD, reput(0), {"do": "damage", "offset": 189, "byte": 127}, query("same"),
        ),
        "query, size of another hit leaves the log": script(
            log(rows), LOAD, reput(0), {"do": "damage", "offset": 101, "byte": 127}, query("same"),
        ),
        "query, negative size of another hit": script(
            log(rows), LOAD, reput(0), {"do": "damage", "offset": 101, "byte": -1}, query("same"),
        ),
        "query, only hit does not decode": script(
            log(rows[:1]), LOAD, reput(0), {"do": "damage", "offset": 88, "byte": 127}, query("same"),
        ),
    }  # fmt: skip


def _by_time() -> dict[str, Script]:
    """Units at T, T + 10 s, ... in a file of five and one of three, both of which were just written."""
    whole = log_of(8) | queue(*(unit(n) for n in range(8)))
    after = (-5000, 0, 1, 4999, 5000, 5001, 9999, 10_000, 34_999, 35_001, 40_000, 70_000, 1 << 45)
    times = [{"do": "time", "at": T + ms} for ms in after]
    deleted = log_of(8, 3) | queue(*(unit(n) for n in range(8)))
    before = queue(*(struct.pack(">qiq", 20 * n, 20, 0) for n in range(8)))
    odd = [unit(n) for n in range(5)]
    equal = log(
        [message(0, store_timestamp=T), message(1, store_timestamp=T), message(2, store_timestamp=T), BLANK],
        [message(3, store_timestamp=T), message(4, store_timestamp=T)],
    )
    pre_blank = struct.pack(">qiq", 0, 0x7FFFFFFF, 0)

    def at(*after: int) -> list[Script]:
        return [{"do": "time", "at": T + ms} for ms in after]

    return {
        "by time, every unit before the log": script(log_of(8, 3) | before, LOAD, *at(0, 1 << 45)),
        **{
            f"by time, record of unit {number} not in the log": script(
                log_of(8)
                | queue(*odd[:number], struct.pack(">qiq", PLACES[number], 9999, 0), *odd[number + 1 :]),
                LOAD,
                *at(0, 10_000, 40_000),
            )
            for number in (1, 2)
        },
        "by time, equal times": script(equal | queue(*odd), LOAD, *at(-1, 0, 1)),
        "by time, two equal times": script(equal | queue(*odd[:2]), LOAD, *at(-1, 0, 1)),
        "by time, pre-blank units": script(
            log_of(8) | queue(*[pre_blank] * 3, *odd[3:]), LOAD, *at(30_000, 40_000)
        ),
        "by time, one pre-blank unit": script(
            log_of(8) | queue(pre_blank, *odd[1:]), LOAD, *at(-1, 0, 10_000)
        ),
        "by time": script(whole, LOAD, *times),
        "by time, first files deleted": script(
            deleted, LOAD, *({"do": "time", "at": T + ms} for ms in (0, 34_000))
        ),
        "by time, no file": script(log_of(2), LOAD, {"do": "time", "at": T}),
        "by time, file without a unit": script(
            log_of(8) | queue(*(unit(n) for n in range(5))),
            LOAD,
            {
                "do": "put",
                "topic": "T",
                "offset": 9000,
                "size": 100,
                "tags_code": 0,
                "store_timestamp": T,
                "cq_offset": 1,
            },
            *at(0, 1 << 45),
        ),
    }


def _life() -> dict[str, Script]:
    times = [
        (5000, 9000, 100),
        (9000, 5000, 10_000),
        (2999, 9000, 5),
        (3000, 3000, 1),
        (3001, 3001, 1),
        (0, 0, -5),
    ]
    bounds = [
        {"do": "min_timestamps", "name": str(n), "physic": physic, "logics": logics, "index": index_time}
        for n, (physic, logics, index_time) in enumerate(times)
    ]
    return {
        "bounds": script({}, *bounds),
        "start and shutdown": script(
            log_of(5) | queue(unit(0), unit(1)) | index(end_time=T + 10_000, end_offset=PLACES[1]),
            LOAD, {"do": "start"}, {"do": "shutdown"}, LOAD,
        ),
        "start and shutdown, dispatch behind": script(
            log_of(2), LOAD, {"do": "start"}, wrote(300), {"do": "shutdown"}, brokerId=1,
        ),
    }  # fmt: skip
