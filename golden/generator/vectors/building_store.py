"""What a vector of the whole store is put together from: operations on queues, services and logs, and their files."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

from generator.vectors.building import ENTRIES, I64_MAX, NOW, SLOTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from generator.vectors.building import Op

__all__ = [
    "PRE_BLANK",
    "QUEUE",
    "blank",
    "bounds",
    "build",
    "checkpoint_read",
    "checkpoint_write",
    "correct_min",
    "delete_expired",
    "delete_old_indexes",
    "dispatch",
    "get",
    "index_file",
    "last_offset",
    "open_queue",
    "open_service",
    "put_unit",
    "query",
    "queue_files",
    "record",
    "recover",
    "settle",
    "tags_code",
    "truncate",
    "unit",
]

QUEUE: Final = "consumequeue/T/0"
"""Directory of the queue where a vector is not about topic and queue number."""

PRE_BLANK: Final = struct.pack(">qiq", 0, 0x7FFFFFFF, 0)
"""The unit that stands for no message."""


# --- consume queue ------------------------------------------------------------------------------------


def open_queue(file_size: int = 100, *, topic: str = "T", queue_id: int = 0, load: bool = False) -> Op:
    """`queue.open`; 100 bytes are five units."""
    return {
        "op": "queue.open", "topic": topic, "queue_id": queue_id, "file_size": file_size, "load": load,
    }  # fmt: skip


def put_unit(cq_offset: int, offset: int, size: int = 100, tags_code: int = 0) -> Op:
    """`queue.put`, the logical offset first."""
    return {
        "op": "queue.put",
        "offset": str(offset),
        "size": size,
        "tags_code": str(tags_code),
        "cq_offset": str(cq_offset),
    }


def get(cq_offset: int) -> Op:
    """`queue.get`."""
    return {"op": "queue.get", "cq_offset": str(cq_offset)}


def bounds() -> Op:
    """`queue.bounds`."""
    return {"op": "queue.bounds"}


def recover() -> Op:
    """`queue.recover`."""
    return {"op": "queue.recover"}


def truncate(phy_offset: int) -> Op:
    """`queue.truncate`."""
    return {"op": "queue.truncate", "phy_offset": str(phy_offset)}


def correct_min(phy_min_offset: int) -> Op:
    """`queue.correct_min`."""
    return {"op": "queue.correct_min", "phy_min_offset": str(phy_min_offset)}


def delete_expired(phy_offset: int) -> Op:
    """`queue.delete_expired`."""
    return {"op": "queue.delete_expired", "phy_offset": str(phy_offset)}


def last_offset() -> Op:
    """`queue.last_offset`."""
    return {"op": "queue.last_offset"}


def tags_code(tags: str | None) -> Op:
    """`tags.code`; hexadecimal UTF-16 where UTF-8 cannot carry the tags."""
    try:
        (tags or "").encode()
    except UnicodeEncodeError:
        return {"op": "tags.code", "tags_utf16": (tags or "").encode("utf-16-be", "surrogatepass").hex()}
    return {"op": "tags.code", "tags": tags}


def unit(offset: int, size: int = 100, code: int = 0) -> bytes:
    """A consume-queue unit as bytes."""
    return struct.pack(">qiq", offset, size, code)


def queue_files(
    *files: Sequence[bytes], file_size: int = 100, start: int = 0, directory: str = QUEUE
) -> dict[str, bytes]:
    """Files of a queue, one for each list of units, filled up with zeros; the first is named by `start`."""
    return {
        f"{directory}/{_name(start + number * file_size)}": b"".join(units).ljust(file_size, b"\0")
        for number, units in enumerate(files)
    }


def _name(start: int) -> str:
    """As Java formats it: 20 digits, the sign before them."""
    return f"{start:0{20 + (start < 0)}}"


# --- index service ------------------------------------------------------------------------------------


def open_service(
    slots: int = SLOTS, entries: int = ENTRIES, *, last_exit_ok: bool = True, index_time: int = 0
) -> Op:
    """`service.open`; `index_time` is what the checkpoint says, ms."""
    return {
        "op": "service.open",
        "hash_slot_num": slots,
        "index_num": entries,
        "last_exit_ok": last_exit_ok,
        "index_msg_timestamp": str(index_time),
    }


def build(
    offset: int,
    store_timestamp: int = NOW,
    *,
    topic: str = "T",
    uniq_key: str | None = None,
    keys: str | None = None,
    sys_flag: int = 0,
) -> Op:
    """`service.build`, with the physical offset first."""
    return {
        "op": "service.build",
        "topic": topic,
        "uniq_key": uniq_key,
        "keys": keys,
        "commit_log_offset": str(offset),
        "store_timestamp": str(store_timestamp),
        "sys_flag": sys_flag,
    }


def query(key: str, begin: int = 0, end: int = I64_MAX, *, topic: str = "T", max_num: int = 32) -> Op:
    """`service.query`; the window holds every time that is not negative where none is given."""
    return {
        "op": "service.query",
        "topic": topic,
        "key": key,
        "max_num": max_num,
        "begin": str(begin),
        "end": str(end),
    }


def delete_old_indexes(offset: int) -> Op:
    """`service.delete_expired`."""
    return {"op": "service.delete_expired", "offset": str(offset)}


def settle() -> Op:
    """`service.settle`."""
    return {"op": "service.settle"}


def index_file(number: int, image: Mapping[str, bytes]) -> dict[str, bytes]:
    """The one file of `building.image` as the `number`-th index file of a store, with a name out of the past."""
    (data,) = image.values()
    return {f"index/20200101000000{number:03}": data}


# --- commit log and checkpoint ------------------------------------------------------------------------


def record(
    phy_offset: int = 0,
    *,
    topic: bytes = b"T",
    body: bytes = b"",
    properties: bytes = b"",
    sys_flag: int = 0,
    store_timestamp: int = NOW,
    queue_id: int = 0,
    queue_offset: int = 0,
    body_length: int | None = None,
    properties_length: int | None = None,
    topic_length: int | None = None,
    total_size: int | None = None,
    more: int = 0,
    crc: int | None = None,
    magic: int = 0xDAA320A7,
) -> bytes:
    """A commit-log record; a length that is given replaces the true one, `more` is added to the total size."""
    hosts = [b"\x7f\0\0\1" if not sys_flag & bit else bytes(15) + b"\1" for bit in (16, 32)]
    rest = (
        struct.pack(">ii", queue_id, 0)
        + struct.pack(">qqiq", queue_offset, phy_offset, sys_flag, NOW - 1)
        + hosts[0] + struct.pack(">i", 1234)
        + struct.pack(">q", store_timestamp)
        + hosts[1] + struct.pack(">i", 10911)
        + struct.pack(">iq", 0, 0)
        + struct.pack(">i", len(body) if body_length is None else body_length)
        + body
        + struct.pack(">b", len(topic) if topic_length is None else topic_length)
        + topic
        + struct.pack(">h", len(properties) if properties_length is None else properties_length)
        + properties
    )  # fmt: skip
    if crc is None:
        crc = zlib.crc32(body) & 0x7FFFFFFF if body else 0
    size = 12 + len(rest) + more if total_size is None else total_size
    return struct.pack(">iIi", size, magic, crc) + rest


def blank(size: int) -> bytes:
    """A blank that says `size`, and zeros up to there."""
    return struct.pack(">iI", size, 0xCBD43194).ljust(size, b"\0")


def dispatch(*, file: str = "log", check_crc: bool = True, read_body: bool = True) -> Op:
    """`log.dispatch`; with `read_body` left out where it has its default."""
    op: Op = {"op": "log.dispatch", "file": file, "check_crc": check_crc}
    return op if read_body else op | {"read_body": False}


def checkpoint_read() -> Op:
    """`checkpoint.read`."""
    return {"op": "checkpoint.read"}


def checkpoint_write(physic: int, logics: int, index: int) -> Op:
    """`checkpoint.write`."""
    return {
        "op": "checkpoint.write",
        "physic_msg_timestamp": str(physic),
        "logics_msg_timestamp": str(logics),
        "index_msg_timestamp": str(index),
    }
