"""A starter adapter for adapter protocol 1: standard library only, one object a line on stdin and stdout.

Copy it, and put calls to your own code where this one calls `rocket_reference`, the example. Everything
marked YOURS is what you change; the rest is the protocol. Run it with

    rocketspec conform -- python3 adapter.py

64-bit integers travel as decimal strings, 32-bit ones as numbers. Stdout belongs to the protocol: write
your log to stderr.
"""

# ruff: noqa: D102 - the methods are the operations of the protocol

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rocket_reference import JavaError, key_hash, open_index_file  # YOURS: your own code
from rocket_reference.java import string_hash  # YOURS

NAME, VERSION = "my-index", "0.1.0"  # YOURS


class Case:
    """One case: a directory, and the index file that is open in it."""

    def __init__(self, directory: str) -> None:
        self.directory = Path(directory)
        self.opened = ExitStack()
        self.index: Any = None
        self.files: list[str] = []

    def key_hash(self, op: dict[str, Any]) -> dict[str, Any]:
        return {"hash": key_hash(text_of(op, "key"))}  # YOURS

    # An operation is declared by the method that is named after it. What else the store has goes the same way:
    # queue_open, queue_put, service_open, log_dispatch and so on; PROTOCOL.md has their fields and results.

    def tags_code(self, op: dict[str, Any]) -> dict[str, Any]:
        return {"tags_code": str(string_hash(text_of(op, "tags")))}  # YOURS

    def index_open(self, op: dict[str, Any]) -> dict[str, Any]:
        self.release()
        self.index = self.opened.enter_context(
            open_index_file(  # YOURS
                self.directory / op["file"],
                op["hash_slot_num"],
                op["index_num"],
                end_phy_offset=int(op["end_phy_offset"]),
                end_timestamp=int(op["end_timestamp"]),
                load=op["load"],
            )
        )
        self.files.append(op["file"])
        return {}

    def index_put(self, op: dict[str, Any]) -> dict[str, Any]:
        put = self.index.put(text_of(op, "key"), int(op["phy_offset"]), int(op["store_timestamp"]))  # YOURS
        return {"put": put}

    def index_select(self, op: dict[str, Any]) -> dict[str, Any]:
        initial = [int(offset) for offset in op.get("initial", [])]
        window = int(op["begin"]), int(op["end"])
        offsets = self.index.select(text_of(op, "key"), op["max_num"], *window, initial=initial)  # YOURS
        return {"offsets": [str(offset) for offset in offsets]}

    def index_time_matched(self, op: dict[str, Any]) -> dict[str, Any]:
        return {"matched": self.index.time_matched(int(op["begin"]), int(op["end"]))}  # YOURS

    def index_header(self, _op: dict[str, Any]) -> dict[str, Any]:
        header = self.index.header()  # YOURS
        longs = ("begin_timestamp", "end_timestamp", "begin_phy_offset", "end_phy_offset")
        counts = {"hash_slot_count": header.hash_slot_count, "index_count": header.index_count}
        return {name: str(getattr(header, name)) for name in longs} | counts

    def index_full(self, _op: dict[str, Any]) -> dict[str, Any]:
        return {"full": self.index.full()}  # YOURS

    def index_flush(self, _op: dict[str, Any]) -> dict[str, Any]:
        self.index.flush()  # YOURS
        return {}

    def index_close(self, _op: dict[str, Any]) -> dict[str, Any]:
        if self.index is None:
            raise LookupError("no index file is open")
        self.release()
        return {}

    def release(self) -> None:
        """Unmaps the file, without flushing: the suite reads it, and removes it."""
        self.index = None
        self.opened.close()


FAMILIES = ("key_", "tags_", "index_", "service_", "queue_", "log_", "checkpoint_")
OPS = {name.replace("_", ".", 1): name for name in vars(Case) if name.startswith(FAMILIES)}
REJECTED = (JavaError, ValueError, AttributeError, LookupError, OSError)  # YOURS: errors that are a verdict


def text_of(op: dict[str, Any], name: str) -> str:
    """A key or tags: text, or UTF-16 code units in hex when it holds a lone surrogate; null is empty here."""
    if f"{name}_utf16" in op:
        return bytes.fromhex(op[f"{name}_utf16"]).decode("utf-16-be", "surrogatepass")
    return str(op[name] or "")


def run_case(message: dict[str, Any]) -> dict[str, Any]:
    """The answer to a case: one result per operation; later ones run even when one is rejected."""
    case = Case(message["dir"])
    results: list[dict[str, Any]] = []
    for op in message["ops"]:
        try:
            results.append(getattr(case, OPS[op["op"]])(op))
        except REJECTED as error:
            results.append({"rejected": f"{type(error).__name__}: {error}"})
    case.release()
    return {
        "id": message["id"],
        "results": results,
        "files": [{"role": "index", "path": path} for path in case.files],
    }


def main() -> None:
    """Answers one message a line until bye."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message["cmd"] == "bye":
            return
        if message["cmd"] == "hello":
            answer = {"protocol": 1, "name": NAME, "version": VERSION, "language": "python", "ops": list(OPS)}
            answer |= {"geometry": "any", "features": ["lone_surrogates"], "max_in_flight": 1}
        else:
            answer = run_case(message)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
