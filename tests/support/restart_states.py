"""What `tests/spec/real/restarts.json` has of a real store after each step, taken apart."""

import json
import struct
from typing import Any

State = dict[str, Any]


def content(state: State, name: str) -> bytes:
    size, _, data = state["files"][name].partition(":")
    return bytes.fromhex(data).ljust(int(size), b"\0")


def queue(state: State, name: str = "T/0") -> list[int]:
    """Minimum, maximum and end of a queue."""
    found: list[int] = json.loads(state["queues"][name])
    return found


def units(state: State, topic: str = "T/0") -> list[tuple[int, int, int]]:
    """The units of a queue's files, less zeros at the end."""
    names = sorted(name for name in state["files"] if name.startswith(f"consumequeue/{topic}/"))
    rows = list(struct.iter_unpack(">qiq", b"".join(content(state, name) for name in names)))
    while rows and rows[-1] == (0, 0, 0):
        rows.pop()
    return rows


def log(state: State) -> list[int]:
    found: list[int] = json.loads(state["log"])
    return found


def indexed(state: State) -> list[int]:
    """Physical offsets of all index entries, file after file."""
    found: list[int] = []
    for name in sorted(name for name in state["files"] if name.startswith("index/")):
        data = content(state, name)
        if len(data) == 40 + 4 * 7 + 20 * 12:
            (count,) = struct.unpack_from(">i", data, 36)
            found += [struct.unpack_from(">q", data, 68 + 20 * entry + 4)[0] for entry in range(1, count)]
    return found


def doubled(places: list[int]) -> list[int]:
    """Each message has two keys."""
    return [place for place in places for _ in range(2)]
