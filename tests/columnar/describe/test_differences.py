"""Two files of a kind, field by field."""

import struct
from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.describe import FieldDifference, diff
from rocket_spec.errors import UsageError
from store_bytes import BEGIN, Entry, blank, checkpoint, index_file, put, record, unit

ENTRIES = [Entry(number * 37, 100 * number, number) for number in range(1, 9)]
INDEX = "index/20260101000000000"
LOG = f"commitlog/{0:020}"


def changed(data: bytes, at: int, value: int = 0x01) -> bytes:
    copy = bytearray(data)
    copy[at] ^= value
    return bytes(copy)


def differences(
    folder: Path, name: str, one: bytes, other: bytes, other_name: str = ""
) -> list[FieldDifference]:
    """Of two files, by default of one name in folders `a` and `b`."""
    return list(diff(put(folder, f"a/{name}", one), put(folder, f"b/{other_name or name}", other)))


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (7, ("header", None, "begin_timestamp", 0, BEGIN, BEGIN ^ 1)),
        (35, ("header", None, "hash_slot_count", 32, 8, 9)),
        # entry 7: 37 * 7 = 259 = 16 * 16 + 3
        (40 + 4 * 3 + 3, ("slot", 3, "entry", 40 + 4 * 3, 7, 6)),
        (40 + 64 + 20 * 5 + 3, ("entry", 5, "key_hash", 204, 185, 184)),
        (40 + 64 + 20 * 5 + 11, ("entry", 5, "phy_offset", 208, 500, 501)),
        (40 + 64 + 20 * 5 + 15, ("entry", 5, "time_diff", 216, 5, 4)),
        (40 + 64 + 20 * 5 + 19, ("entry", 5, "prev_entry", 220, 0, 1)),
        (40 + 64 + 20 * 60, ("byte", None, "byte", 1304, 0, 1)),
    ],
)
def test_index_fields(tmp_path: Path, at: int, expected: tuple[Any, ...]) -> None:
    data = index_file(16, 64, ENTRIES)
    other = "index/20260101000000001"
    assert differences(tmp_path, INDEX, data, changed(data, at), other) == [FieldDifference(*expected)]


def test_entries_of_one_file_only(tmp_path: Path) -> None:
    found = differences(tmp_path, INDEX, index_file(16, 64, ENTRIES), index_file(16, 64, ENTRIES[:7]))
    assert [difference.field for difference in found if difference.part == "header"] == [
        "end_timestamp",
        "end_phy_offset",
        "hash_slot_count",
        "index_count",
    ]
    assert [difference for difference in found if difference.part == "entry"] == [
        FieldDifference("entry", 8, "entry", 40 + 64 + 20 * 8, "there", "absent")
    ]


def test_units(tmp_path: Path) -> None:
    data = (unit(0, 100, 5) + unit(100, 90, 6)).ljust(100, b"\0")
    names = (f"consumequeue/{queue}/{200:020}" for queue in ("T/0", "U/1"))
    found = differences(tmp_path, next(names), data, changed(data, 39), next(names))
    assert found == [FieldDifference("unit", 11, "tags_code", 32, 6, 7)]


def test_records(tmp_path: Path) -> None:
    records = record(0) + record(len(record(0)))
    data = records + blank(512 - len(records))
    start = len(record(0))
    expected = FieldDifference("record", start, "queue_id", start + 12, 0, 1 << 0)
    assert differences(tmp_path, LOG, data, changed(data, start + 15)) == [expected]


@pytest.mark.parametrize(
    ("field", "at"),
    [
        ("born_host", 48),
        ("store_timestamp", 48 + 20),
        ("store_host", 68 + 8),
        ("reconsume_times", 76 + 8),
        ("prepared_transaction_offset", 84 + 4),
        ("body", 88 + 8 + 4),
        ("topic", 100 + 4 + 1),
        ("properties", 105 + 1 + 2),
    ],
)
def test_fields_of_a_record_that_have_no_fixed_place(tmp_path: Path, field: str, at: int) -> None:
    """With a born host of IPv6 and a store host of IPv4; one bit of the field is flipped."""
    first = record(0)
    start = len(first)
    six = bytes(15) + b"\x01"
    second = record(start, sys_flag=16, born=six, properties=b"KEYS\x01k\x02", body=b"body")
    data = (first + second).ljust(512, b"\0")
    within = {"properties": 5} | dict.fromkeys(("born_host", "store_host", "body", "topic"), 0)
    last = start + at + within.get(field, 3)
    (found,) = differences(tmp_path, LOG, data, changed(data, last))
    assert (found.part, found.number, found.field, found.offset) == ("record", start, field, start + at)


def test_a_topic_of_128_bytes_has_two_bytes_for_its_length(tmp_path: Path) -> None:
    """As `MessageVersion.MESSAGE_VERSION_V2` of 5.1.0 writes it; with 127 it has one."""
    for length, width in ((127, 1), (128, 2)):
        made = record(0, topic=b"t" * length, properties=b"KEYS\1k\2")
        if width == 2:
            made = (len(made) + 1).to_bytes(4) + bytes.fromhex("daa320ab") + made[8:92] + b"\0" + made[92:]
        at = 88 + 4 + width + length + 2
        data = made.ljust(512, b"\0")
        (found,) = differences(tmp_path / str(length), LOG, data, changed(data, at + 5))
        assert (found.field, found.offset) == ("properties", at)


def test_ext_units(tmp_path: Path) -> None:
    ext = struct.pack(">hqqh", 22, 7, 8, 2) + b"\xab\xcd"
    data = (ext + ext).ljust(60, b"\0")
    found = differences(tmp_path, f"consumequeue_ext/T/0/{120:020}", data, changed(data, 22 + 17))
    assert found == [FieldDifference("unit", -(1 << 63) + 120 + 22, "store_timestamp", 22 + 10, 8, 9)]


@pytest.mark.parametrize("damaged", [0, 1])
def test_a_count_beyond_the_file_is_a_difference(tmp_path: Path, damaged: int) -> None:
    """The geometry is that of the other file."""
    data = index_file(16, 64, ENTRIES)
    both = [data, data]
    both[damaged] = changed(data, 36, 0x40)
    found = differences(tmp_path, INDEX, both[0], both[1])
    assert (found[0].field, found[0].offset) == ("index_count", 36)
    # those of zeros, which only the greater count takes in
    assert {difference.part for difference in found[1:]} == {"entry"}


def test_checkpoints_and_sizes(tmp_path: Path) -> None:
    one = put(tmp_path, "a/checkpoint", checkpoint(1, 2, 3))
    other = put(tmp_path, "b/checkpoint", checkpoint(1, 5, 3) + b"\0")
    assert list(diff(one, other)) == [
        FieldDifference("size", None, "size", None, 4096, 4097),
        FieldDifference("checkpoint", None, "logics_msg_timestamp", 8, 2, 5),
    ]


def test_files_of_a_kind_without_fields_by_size_or_byte(tmp_path: Path) -> None:
    path, data = "config/topics.json", bytes(46)
    first, same = (put(tmp_path / side, path, data) for side in "ab")
    other = put(tmp_path / "c", path, changed(data, 5))
    longer = put(tmp_path / "d", path, data * 2)
    assert list(diff(first, same)) == []
    assert list(diff(first, other)) == [FieldDifference("byte", None, "byte", 5, 0, 1)]
    assert list(diff(first, longer)) == [FieldDifference("size", None, "size", None, 46, 92)]


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    one = put(tmp_path, "a/checkpoint", checkpoint(1, 2, 3))
    other = put(tmp_path, f"b/commitlog/{0:020}", record(0).ljust(512, b"\0"))
    with pytest.raises(UsageError, match="of kind checkpoint"):
        diff(one, other)
    with pytest.raises(UsageError, match="a directory"):
        diff(one, tmp_path)
