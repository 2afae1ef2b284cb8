"""Small texts from elsewhere: options, paths, operations and configurations."""

from __future__ import annotations

import json
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

from input_fuzz import CASE_OPS, QUEUE_OPS, Target
from rocket_conformance.protocol import check_operation, check_path
from rocket_spec.errors import UsageError
from rocket_spec.layout import parse_geometry

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TARGETS"]

_read_time: Any = resolve_name("rocketspec._options:read_time")
_read_broker_conf: Any = resolve_name("rocketspec._broker_conf:read_broker_conf")


def _text(data: bytes) -> str:
    """As an argument of a command line arrives."""
    return data.decode("utf-8", "surrogateescape")


def _configuration(data: bytes, folder: Path) -> str:
    path = folder / "broker.conf"
    path.write_bytes(data)
    found = _read_broker_conf(path)
    assert found.queue_file_size % 20 == 0
    assert 0 < found.geometry.hash_slot_num < 1 << 31
    return str(found)


def _operation(data: bytes, _: Path) -> str:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return "no JSON"
    check_operation(value)
    return "accepted"


def _path(data: bytes, _: Path) -> str:
    """A path of a case file; what is accepted stays inside its directory on any system."""
    found = check_path(_text(data))
    parts = found.split("/")
    assert not found.startswith("/")
    assert not {"", ".", ".."} & set(parts)
    assert not any(character in found for character in "\\\0\n:")
    return found


def _options(data: bytes, _: Path) -> str:
    """Options of a read by Spark, all of them text."""
    from rocket_spark.reading import request

    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return "no JSON"
    if not isinstance(value, dict):
        return "no options"
    return str(request({name: str(text) for name, text in value.items()}, "commit_log", "rocketmq-commitlog"))


_CONF: Final = (
    b"maxHashSlotNum=61\nmaxIndexNum = 200\nstorePathRootDir=/a/b\nenableLmq=true\nstorePathCommitLog=/a,/b\n",
    b"# c\n! d\nmappedFileSizeConsumeQueue:400\nmappedFileSizeCommitLog 32768\\\n  0\nstorePathRootDir=\\u0041\\t\\\n",
)
_OPTIONS: Final = {
    "path": "/a", "hashSlotNum": "7", "indexNum": "20", "columns": "topic,keys", "maxPartitionRows": "10", "mode": "PERMISSIVE",
    "timestamps": "utc", "filters": '[["topic", "=", "T"], ["phy_offset", ">=", 7]]', "recursiveFileLookup": "true",
}  # fmt: skip
TARGETS: Final[dict[str, Target]] = {
    "broker configuration": Target(_CONF, _configuration, (UsageError,)),
    "operation of a case": Target(tuple(json.dumps(op).encode() for op in (*CASE_OPS, *QUEUE_OPS)), _operation, (ValueError,)),
    "path of a case file": Target((b"a/b", b"index/20260101000000000", b"consumequeue/T/0/000"), _path, (ValueError,)),
    "option --geometry": Target((b"5000000,20000000", b"7,20"), lambda data, _: parse_geometry(_text(data)), (UsageError,)),
    "Spark options": Target(
        (json.dumps(_OPTIONS).encode(), json.dumps({"paths": '["/a", "/b"]', "filters": "[]"}).encode()), _options, (UsageError,)
    ),
    "option --begin": Target(
        (b"1700000000000", b"2026-01-31T12:00:00Z", b"2026-01-31T12:00:00.5+08:00", b"-1", b"20260131T120000Z"),
        lambda data, _: _read_time(_text(data), "--begin"), (UsageError,),
    ),
}  # fmt: skip
