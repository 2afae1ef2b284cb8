"""Seeded stores for `RestartFacts.java`: logs with damage, queues that are behind, ahead, damaged or missing, light queues."""

import random
import struct
from typing import Any

from restart_scripts import ABORT, LOAD, LOG_FILE, Script, T, checkpoint, record, reput, script


def random_scripts(count: int, seed: int = 0) -> dict[str, Script]:
    """`count` scripts, each with its own seed in its name."""
    return {f"random {number}": random_script(number) for number in range(seed, seed + count)}


def random_script(seed: int) -> Script:
    """A store, a load and up to two runs of dispatch from drawn positions."""
    draw = random.Random(seed)
    more: dict[str, Any] = {}
    if draw.random() < 0.5:
        more = {"enableMultiDispatch": True, "enableLmq": draw.random() < 0.7}
    files, places = _log(draw, light=0.5 if more else 0.1)
    ends = [place + size for place, size, *_ in places]
    made = {f"commitlog/{LOG_FILE * number:020}": data for number, data in enumerate(files)}
    for topic in ("T", "U"):
        if draw.random() < 0.7:
            made |= _queue(draw, topic, [place for place in places if place[2] == topic])
    if draw.random() < 0.5:
        made |= ABORT
    if draw.random() < 0.5:
        times = [T + 10_000 * draw.randrange(15) for _ in range(2)]
        made |= checkpoint(times[0], times[1], draw.choice([0, T + 50_000, T * 2]))
    starts = [0, *ends, *(place for place, *_ in places), LOG_FILE]
    steps = [LOAD, *(reput(draw.choice(starts)) for _ in range(draw.randrange(3)))]
    return script(made, *steps, brokerId=draw.choice([0, 0, 1]), maxIndexNum=200, **more)


def _log(draw: random.Random, *, light: float) -> tuple[list[bytes], list[tuple[int, int, str, int]]]:
    """Files of a log with perhaps one damaged record, and place, size, topic and queue offset of each record.

    `light` is the share of records that name light queues.
    """
    files = [b""]
    places: list[tuple[int, int, str, int]] = []
    counts = {"T": 0, "U": 0}
    damaged = draw.randrange(-6, 12)
    for number in range(draw.randrange(12)):
        topic = draw.choice("TTU")
        changes: dict[str, Any] = {
            "topic": topic,
            "queue_offset": counts[topic],
            "store_timestamp": T + 10_000 * number,
            "sys_flag": draw.choice([0, 0, 0, 0, 4, 8, 12]),
        }
        properties = f"KEYS\1k{number}" + (_light(draw) if draw.random() < light else "")
        data = record(0, properties, **changes)
        if len(files[-1]) + len(data) + 8 > LOG_FILE:
            room = LOG_FILE - len(files[-1])
            files[-1] += struct.pack(">iI", room, 0xCBD43194).ljust(room, b"\0")
            files.append(b"")
        place = LOG_FILE * (len(files) - 1) + len(files[-1])
        if number == damaged:
            sizes: list[dict[str, Any]] = [{"more": more} for more in (7, 100, 5000, -5, -60)]
            changes |= draw.choice([{"magic": 0}, *sizes, {"body": b"abc", "crc": 1}])
        data = record(place, properties, **changes)
        if len(files[-1]) + len(data) + 8 > LOG_FILE:
            break
        files[-1] += data
        places.append((place, len(data), topic, counts[topic]))
        counts[topic] += changes["sys_flag"] in {0, 8}
    return [data.ljust(LOG_FILE, b"\0") for data in files] if places else [], places


def _light(draw: random.Random) -> str:
    queues = draw.choice(["%LMQ%a", "%LMQ%a,%LMQ%b", "q1,", ",q1", "q1,,q2", " ", "%LMQ%a,q1"])
    offsets = ",".join(str(draw.randrange(8)) for _ in queues.split(","))
    if draw.random() < 0.25:
        offsets = draw.choice(["0", "0,3", "5,", "5,6", "5,6,7", " ", "x", "1,,2", "2,1"])
    return f"\2INNER_MULTI_DISPATCH\1{queues}\2INNER_MULTI_QUEUE_OFFSET\1{offsets}"


def _queue(draw: random.Random, topic: str, places: list[tuple[int, int, str, int]]) -> dict[str, bytes]:
    """Files of five units: those of the records, some left out at the end or too many, one perhaps damaged."""
    rows = [struct.pack(">qiq", place, size, 0) for place, size, *_ in places]
    rows = rows[: draw.randrange(len(rows) + 1)] if draw.random() < 0.5 else rows
    rows = [struct.pack(">qiq", 0, 0x7FFFFFFF, 0)] * draw.choice([0, 0, 0, 1, 2]) + rows
    rows += [
        struct.pack(">qiq", 3000 + 100 * number, 100, 0) for number in range(draw.choice([0, 0, 0, 1, 4, 9]))
    ]
    if rows and draw.random() < 0.2:
        rows[draw.randrange(len(rows))] = struct.pack(
            ">qiq", draw.choice([-1, 0, 500]), draw.choice([0, -1, 50]), 9
        )
    groups = [rows[at : at + 5] for at in range(0, len(rows), 5)] or [[]]
    return {
        f"consumequeue/{topic}/0/{100 * number:020}": b"".join(group).ljust(100, b"\0")
        for number, group in enumerate(groups)
    }
