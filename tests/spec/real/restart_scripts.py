"""Stores and what to do with them, for `RestartFacts.java`: files as bytes, then steps; `restart_scripts.txt` lists them."""

import json
import re
import shlex
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

T: Final = 1_700_000_000_000  # store timestamp of the first record; each further one is 10 s later

LOG_FILE: Final = 400  # length of a commit-log file, bytes: three records of 111 bytes and a blank of 67

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

SIZES: Final = {
    **dict.fromkeys(("commitlog/", "a/", "b/", "c/"), LOG_FILE),
    "consumequeue/": 100,
    "consumequeue_ext/": 70,
}
"""Lengths of the files below a folder."""

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


def unit(number: int, code: int = 0) -> bytes:
    """The consume-queue unit of message `number`."""
    return struct.pack(">qiq", PLACES[number], SIZE, code)


def checkpoint(physic: int, logics: int, index_time: int = 0) -> dict[str, bytes]:
    """The checkpoint's file."""
    return {"checkpoint": struct.pack(">qqq", physic, logics, index_time).ljust(4096, b"\0")}


ABORT: Final = {"abort": b""}
LOAD: Final = {"do": "load"}


def reput(start: int) -> Script:
    return {"do": "reput", "from": start}


def script(files: dict[str, bytes], *steps: Script, **config: Any) -> Script:
    return {
        "config": CONFIG | config,
        "files": {name: data.hex() for name, data in files.items()},
        "steps": list(steps),
    }


# --- the file of scripts --------------------------------------------------------------------------------


def scripts() -> dict[str, Script]:
    """The stores by name, of `restart_scripts.txt`.

    A name is followed by indented lines. `FOLDER/NUMBER: PARTS | PARTS` are files that adjoin, each filled up with zeros, `- STEP` is a
    step with its arguments, `= SETTING` one of the configuration. Parts: `m3` message 3 and `m0-2` messages 0 to 2, `u3` and `u0-4`
    units, `blank`, `preblank`; `r100/KEYS=k` a record at 100 with its properties (`;` parts them), `unit/OFFSET/SIZE/CODE`,
    `ext/SIZE/CODE/BITS`, `index/END_TIME/END_OFFSET/COUNT`, `times/PHYSIC/LOGICS/INDEX`, `text/x`, `hex/00ff`. Of messages and records
    follow `/field:value`; `/first:9` leaves only the first bytes. `T+5` is 5 ms after T, `E+5` the ext address of 5. `to/40` is another length of the file.
    """
    found: dict[str, Script] = {}
    made: Script = {}
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines():
        if line[:1] in {"", "#"}:
            continue
        if not line.startswith("  "):
            made = found[line] = {"config": dict(CONFIG), "files": {}, "steps": []}
            continue
        first, *words = shlex.split(line)
        if first == "-":
            for step in " ".join(map(shlex.quote, words)).split(" - "):
                made["steps"].append(_step(*shlex.split(step)))
        elif words == ["clock"]:
            made["clock"] = True
        elif first == "=":
            made["config"] |= _pairs(words)
        else:
            made["files"] |= {name: data.hex() for name, data in _files(first.removesuffix(":"), words)}
    return found


def _step(name: str, *words: str) -> Script:
    asked = (
        {"topic": "T", "key": "", "begin": 0, "end": (1 << 63) - 1, "max_num": 32} if name == "query" else {}
    )
    return {"do": name} | asked | _pairs(words)


def _pairs(words: Iterable[str]) -> dict[str, Any]:
    return {name: _value(text) for name, _, text in (word.partition("=") for word in words)}


def _value(text: str) -> Any:
    if re.fullmatch(r"[TE][+-]\d+", text):
        return {"T": T, "E": -(1 << 63)}[text[0]] + int(text[1:])
    try:
        return json.loads(text)
    except ValueError:
        return text


def _files(path: str, words: list[str]) -> Iterator[tuple[str, bytes]]:
    folder, _, name = path.rpartition("/")
    size = next((size for prefix, size in SIZES.items() if path.startswith(prefix)), 0)
    for number, parts in enumerate(" ".join(words).split("|")):
        length, data = size, b""
        for part in parts.split():
            kind, *fields = part.split("/")
            if kind == "to":
                length = int(fields[0])
            else:
                data += _part(kind, fields)
        padded = (
            size and name.isdecimal() and path.count("/") != 2
        )  # `consumequeue/T/5` is a file beside queues
        shown = f"{folder}/{int(name) + size * number:020}" if padded else path
        yield shown, data.ljust(length, b"\0")


def _part(kind: str, fields: list[str]) -> bytes:
    """The bytes of one part of a file."""
    if fields and fields[-1].startswith("first:"):
        return _part(kind, fields[:-1])[: int(fields[-1].removeprefix("first:"))]
    several = re.fullmatch(r"([mu])(\d+)(?:-(\d+))?", kind)
    if several:
        numbers = range(int(several[2]), int(several[3] or several[2]) + 1)
        return b"".join(
            message(n, **_fields(fields)) if several[1] == "m" else unit(n, *map(_value, fields))
            for n in numbers
        )
    if re.fullmatch(r"r\d+", kind):
        texts = [field for field in fields if "=" in field]
        properties = "".join(texts).replace("=", "\1").replace(";", "\2").replace("~", " ")
        return record(int(kind[1:]), properties, **_fields([field for field in fields if "=" not in field]))
    if kind in {"text", "hex"}:
        return fields[0].encode() if kind == "text" else bytes.fromhex(fields[0])
    return _numbers(kind, [_value(field) for field in fields])


def _numbers(kind: str, values: list[int]) -> bytes:
    """A part that is numbers alone."""
    match kind:
        case "blank":
            return BLANK if not values else struct.pack(">iI", values[0], 0xCBD43194)
        case "preblank":
            return struct.pack(">qiq", 0, 0x7FFFFFFF, 0)
        case "unit":
            return struct.pack(">qiq", *values)
        case "ext":
            size, code, bits = values
            return struct.pack(">hqqh", size, code, T, bits).ljust(size, b"\0")
        case "index":
            end_time, end_offset, count = values
            return struct.pack(">qqqqii", T, end_time, 0, end_offset, 0, count)
        case _:
            assert kind == "times", kind
            return struct.pack(">qqq", *values)


def _fields(texts: list[str]) -> dict[str, Any]:
    found = {name: _value(text) for name, _, text in (text.partition(":") for text in texts)}
    return {name: bytes.fromhex(str(value)) if name == "body" else value for name, value in found.items()}
