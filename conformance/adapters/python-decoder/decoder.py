"""A starter for a decoder: reads commit-log files, standard library only, and answers `log.read` of adapter protocol 1.

Copy it, and put your own decoder in place of the function `records`, which is marked YOURS; the rest is the protocol.
Run it with

    rocketspec conform -- python3 decoder.py

64-bit integers travel as decimal strings, 32-bit ones as numbers. Stdout belongs to the protocol: write your log to
stderr.
"""

import base64
import ipaddress
import json
import re
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAME, VERSION = "my-decoder", "0.1.0"  # YOURS
FEATURES = ["no_tags_code"]  # YOURS: nothing here hashes tags, or knows the delays of a broker

MAGIC = 0xDAA320A7
SURROGATE = re.compile(b"\xed[\xa0-\xbf][\x80-\xbf]?")


def text_of(data: bytes) -> str:
    """UTF-8 as Java decodes it: malformed bytes become U+FFFD, and the three of a surrogate one of these (UTF8-1)."""
    return SURROGATE.sub(b"\xff", data).decode("utf-8", "replace")


class Reader:
    """Reads big-endian fields, one after the other; struct.error at the end of the data."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def number(self, kind: str) -> int:
        """A number, its kind as struct has it."""
        (value,) = struct.unpack_from(f">{kind}", self.data, self.at)
        self.at += struct.calcsize(kind)
        return int(value)

    def take(self, length: int) -> bytes:
        """The next bytes."""
        if length < 0 or self.at + length > len(self.data):
            raise struct.error(f"{length} bytes at {self.at}")
        self.at += length
        return self.data[self.at - length : self.at]

    def host(self, *, is_v6: bool) -> str:
        """Address and port."""
        address = ipaddress.ip_address(self.take(16 if is_v6 else 4))
        return f"[{address}]:{self.number('i')}" if is_v6 else f"{address}:{self.number('i')}"


def properties_of(text: str) -> dict[str, str]:
    """Pairs of name and value (LOG-PROP-2, -3, -4): the first byte 1 ends a name, the last pair of a name counts."""
    found: dict[str, str] = {}
    for part in text.split("\2"):
        name, _, value = part.partition("\1")
        if name and value:
            found[name] = value
    return found


def record(read: Reader) -> dict[str, Any] | None:
    """The record at the reader's place (LOG-REC-1); None if there is none, or its lengths do not add up."""
    start = read.at
    size, magic = read.number("i"), read.number("I")
    if magic != MAGIC:
        return None
    row: dict[str, Any] = {"size": size, "body_crc": str(read.number("I"))}
    row |= {"queue_id": read.number("i"), "flag": read.number("i")}
    row |= {"queue_offset": str(read.number("q")), "phy_offset": str(read.number("q"))}
    row["sys_flag"] = flags = read.number("i")
    row |= {"born_timestamp": str(read.number("q")), "born_host": read.host(is_v6=bool(flags & 16))}
    row |= {"store_timestamp": str(read.number("q")), "store_host": read.host(is_v6=bool(flags & 32))}
    row |= {"reconsume_times": read.number("i"), "prepared_transaction_offset": str(read.number("q"))}
    body = read.take(max(read.number("i"), 0))
    row["topic"] = text_of(read.take(read.number("b")))
    properties = properties_of(text_of(read.take(max(read.number("h"), 0))))
    if read.at - start != size:
        return None
    row["body"] = base64.b64encode(body).decode()
    row["crc_ok"] = not body or zlib.crc32(body) & 0x7FFFFFFF == int(row["body_crc"])
    row |= {"keys": properties.get("KEYS"), "uniq_key": properties.get("UNIQ_KEY")}
    row |= {"tags": properties.get("TAGS"), "tags_code": None, "properties": properties}
    return row


def records(data: bytes) -> Iterator[dict[str, Any]]:
    """YOURS: the records of a commit-log file, up to a blank, zeros, the end, or the first that cannot be decoded."""
    read = Reader(data, 0)
    while True:
        try:
            row = record(read)
        except struct.error:
            return
        if row is None:
            return
        yield row


def log_read(op: dict[str, Any], directory: str) -> dict[str, Any]:
    """The result of one operation; an error of the decoder is a verdict."""
    try:
        return {"records": list(records(Path(directory, op["file"]).read_bytes()))}
    except (OSError, ValueError) as error:
        return {"rejected": f"{type(error).__name__}: {error}"}


def handle(message: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to a message; None for bye."""
    if message["cmd"] == "bye":
        return None
    if message["cmd"] == "hello":
        answer = {"protocol": 1, "name": NAME, "version": VERSION, "language": "python", "ops": ["log.read"]}
        return answer | {"geometry": "any", "features": FEATURES, "max_in_flight": 1}
    results = [log_read(op, message["dir"]) for op in message["ops"]]
    return {"id": message["id"], "results": results, "files": []}


def main() -> None:
    """Answers one message a line until bye."""
    for line in sys.stdin.buffer:
        answer = handle(json.loads(line))
        if answer is None:
            return
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
