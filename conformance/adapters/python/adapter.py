"""A starter adapter for adapter protocol 1: standard library only, one object a line on stdin and stdout.

Copy it, and put calls to your own code where this one calls `rocket_reference`, the example. Everything
marked YOURS is what you change; the rest is the protocol. Run it with

    rocketspec conform -- python3 adapter.py

64-bit integers travel as decimal strings, 32-bit ones as numbers. Stdout belongs to the protocol: write
your log to stderr.
"""

# ruff: noqa: D102 - the methods are the operations of the protocol

import json
import struct
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

    # An operation is declared by the method that is named after it. The others, with their fields and results, wait for
    # yours below.

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

    # YOURS: operations without a method are not declared, and unsupported.
    service_open = None  # hash_slot_num, index_num, last_exit_ok, index_msg_timestamp: files
    service_build = None  # topic, uniq_key, keys, commit_log_offset, store_timestamp, sys_flag: {}
    service_query = None  # topic, key, max_num, begin, end: offsets, last_update_*
    service_delete_expired = None  # offset: files
    service_settle = None  # no fields: index_msg_timestamp
    queue_open = None  # topic, queue_id, file_size, load: {}
    queue_put = None  # offset, size, tags_code, cq_offset: put
    queue_get = None  # cq_offset: unit
    queue_bounds = None  # no fields: min, max, max_physic_offset
    queue_recover = None  # no fields: min, max, max_physic_offset
    queue_truncate = None  # phy_offset: min, max, max_physic_offset
    queue_correct_min = None  # phy_min_offset: min, max, max_physic_offset
    queue_delete_expired = None  # phy_offset: deleted, min, max, max_physic_offset
    queue_last_offset = None  # no fields: last_offset
    log_dispatch = None  # file, check_crc, read_body?: requests
    checkpoint_read = None  # no fields: the three times
    checkpoint_write = None  # the three times: the same
    index_read = None  # file, hash_slot_num, index_num: header, entries
    queue_read = None  # file: units
    log_read = None  # file: records

    def release(self) -> None:
        """Unmaps the file, without flushing: the suite reads it, and removes it."""
        self.index = None
        self.opened.close()


FAMILIES = ("key_", "tags_", "index_", "service_", "queue_", "log_", "checkpoint_")
OPS = {
    name.replace("_", ".", 1): method
    for name, method in vars(Case).items()
    if name.startswith(FAMILIES) and method
}
REJECTED = (
    JavaError,
    ValueError,
    AttributeError,
    LookupError,
    OSError,
    struct.error,
)  # YOURS: errors that are a verdict


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
        if op["op"] not in OPS:
            results.append({"unsupported": True})
            continue
        try:
            results.append(OPS[op["op"]](case, op))
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
