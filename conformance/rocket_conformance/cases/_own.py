"""Directed cases of our own, beside the golden vectors.

Most are of the default geometry, on sparse files: they are all that a port of fixed default geometry shares
with others, and the only ones of that size that a port of any geometry gets.
"""

from struct import pack
from typing import Any, Final

from rocket_reference import encode_record
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, LONG_TOPIC_MAGIC

from rocket_conformance.cases._case import Case
from rocket_conformance.files import FileImage, SparseFile
from rocket_conformance.protocol import Op

_FILE: Final = "20260101000000000"
_NOON: Final = 1_767_268_800_000
_KEY: Final = "a"  # key hash 97, slot 97
_HASH: Final = 97


def _open(*, load: bool) -> Op:
    return {
        "op": "index.open",
        "file": _FILE,
        "hash_slot_num": DEFAULT_GEOMETRY.hash_slot_num,
        "index_num": DEFAULT_GEOMETRY.index_num,
        "end_phy_offset": "0",
        "end_timestamp": "0",
        "load": load,
    }


def _put(phy_offset: int) -> Op:
    return {
        "op": "index.put",
        "key": _KEY,
        "phy_offset": str(phy_offset),
        "store_timestamp": str(_NOON + 1000 * phy_offset),
    }


def _select() -> Op:
    return {"op": "index.select", "key": _KEY, "max_num": 64, "begin": "0", "end": str((1 << 63) - 1)}


def _simple(*names: str) -> list[Op]:
    return [{"op": f"index.{name}"} for name in names]


def _nearly_full(missing: int) -> FileImage:
    """A default file with room for `missing` more entries; its newest entry is of our key."""
    count = DEFAULT_GEOMETRY.index_num - missing
    file = SparseFile(DEFAULT_GEOMETRY.file_size)
    file.write(0, pack(">qqqqii", _NOON, _NOON, 0, 0, 1, count))
    file.write(40 + 4 * _HASH, pack(">i", count - 1))
    last = DEFAULT_GEOMETRY.entries_offset + INDEX_ENTRY.size * (count - 1)
    file.write(last, pack(">iqii", _HASH, 7, 0, 0))
    return file.image()


def _case(name: str, ops: list[Op], *also: str, **fields: Any) -> Case:
    return Case(id=name, clauses=(name.partition("/")[0], *also), ops=tuple(ops), **fields)


def _build(keys: str, commit_log_offset: int) -> Op:
    return {
        "op": "service.build",
        "topic": "T",
        "uniq_key": None,
        "keys": keys,
        "commit_log_offset": str(commit_log_offset),
        "store_timestamp": str(_NOON + commit_log_offset),
        "sys_flag": 0,
    }


def _query(key: str) -> Op:
    return _select() | {"op": "service.query", "topic": "T", "key": key}


def _keys_in_two_files() -> list[Op]:
    """Files of three entries: of the second message the first key still goes into the first."""
    opening = {
        "op": "service.open",
        "hash_slot_num": 7,
        "index_num": 4,
        "last_exit_ok": True,
        "index_msg_timestamp": "0",
    }
    return [opening, _build("a b", 100), _build("c d", 200), *map(_query, "abcd"), {"op": "service.settle"}]


def _long_topic() -> FileImage:
    """A log with a record of the magic that 5.1.0 added, whose topic has a length of two bytes."""
    record = encode_record("T", b"body", {"KEYS": "k"}, store_timestamp=_NOON)
    size = len(record) + 1
    head = pack(">ii", size, LONG_TOPIC_MAGIC)
    at = record.index(b"body") + len(b"body")
    data = head + record[len(head) : at] + b"\0" + record[at:]
    return FileImage(len(data), {0: data})


def own_cases() -> list[Case]:
    """All of them, in the order of their clauses."""
    return [
        _case(
            "IDX-FILE-1/default-geometry",
            [_open(load=False), _put(1), _put(2), _select(), *_simple("header", "flush")],
        ),
        _case(
            "IDX-ENT-1/default-geometry-last-entry",
            [_open(load=True), _put(8), _select(), *_simple("header")],
            files={_FILE: _nearly_full(1)},
        ),
        _case(
            "IDX-PUT-1/default-geometry-full",
            [_open(load=True), *_simple("full"), _put(8), *_simple("full"), _put(9), _select()],
            "IDX-FULL-1",
            files={_FILE: _nearly_full(1)},
        ),
        _case(
            "IDX-SEL-1/last-entry-of-a-full-file",
            [
                _open(load=False) | {"hash_slot_num": 1, "index_num": 3},
                *(_put(1), _put(2)),
                *_simple("full"),
                _select(),
            ],
        ),
        _case("IDX-SVC-3/keys-in-two-files", _keys_in_two_files()),
        _case(
            "IDX-SVC-4/named-by-the-clock",
            [_keys_in_two_files()[0], _build("a", 1)],
            description=(
                "Catches a file named by the message's time, by a number, or with other than 17 digits. "
                "Cost: the broker loads the files in the order of their names, and takes puts into the wrong one."
            ),
        ),
        _case(
            "IDX-SVC-4/next-file-named-by-the-clock",
            _keys_in_two_files(),
            description=(
                "Catches a file after a full one named by the offset or the time that it begins with. "
                "Cost: the broker loads the files in the order of their names, and takes puts into the wrong one."
            ),
        ),
        _case(
            "LOG-DSP-6/magic-of-5-1-0",
            [{"op": "log.dispatch", "file": "log", "check_crc": True}],
            files={"log": _long_topic()},
        ),
    ]
