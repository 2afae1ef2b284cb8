"""Layout tables, Kaitai readers and Construct schemas against bytes written by hand."""

import struct
from typing import Any

import pytest
from rocket_spec import construct_schemas as schemas
from rocket_spec import kaitai
from rocket_spec.construct_schemas import Schema
from rocket_spec.errors import InvalidError, MalformedError
from rocket_spec.layout import Geometry
from store_bytes import ext_unit, record

HEADER = struct.pack(">qqqqii", 1700000000123, -5, 7, 1 << 40, 2, 4)
ENTRY_1 = struct.pack(">iqii", 97, 7, 0, 0)
ENTRY_2 = struct.pack(">iqii", 0x7FFFFFFF, 1 << 40, 5, 1)
ENTRY_3 = struct.pack(">iqii", 0, -1, 0x7FFFFFFF, 0)
GEOMETRY = Geometry(3, 6)
INDEX = HEADER + struct.pack(">iii", 2, 0, 3) + bytes(20) + ENTRY_1 + ENTRY_2 + ENTRY_3 + bytes(40)
"""Six numbered places for entries, of which 1 to 3 are put and 0 is never used."""

UNIT = struct.pack(">qiq", 1 << 33, 239, -(1 << 63) + 48)
EXT_8 = struct.pack(">hqqh", 28, 2598919, 1700000000123, 8) + b"bit map!"
POINT = struct.pack(">qqq", 1, -2, 3) + bytes(4072)


RECORD_V4 = record(
    4096, topic=b"TopicTest", body=b"123456789", properties=b"KEYS\1k1", queue_id=2, queue_offset=3
)


# Construct: the same values, and the same bytes again.


def test_construct_reads_and_builds_a_record_of_a_long_topic() -> None:
    """Magic daa320ab: the topic's length has two bytes (`MessageVersion.MESSAGE_VERSION_V2` of 5.1.0)."""
    parsed = schemas.RECORD.parse(RECORD_V4)
    parsed |= {"magic": 0xDAA320AB - (1 << 32), "topic": b"L" * 200}
    head = RECORD_V4[8 : RECORD_V4.index(parsed["body"]) + len(parsed["body"])]
    tail = (200).to_bytes(2) + b"L" * 200 + len(parsed["properties"]).to_bytes(2) + parsed["properties"]
    wanted = (8 + len(head + tail)).to_bytes(4) + bytes.fromhex("daa320ab") + head + tail
    assert (
        schemas.RECORD.build({name: parsed[name] for name in parsed if not name.endswith(("size", "length"))})
        == wanted
    )
    again = schemas.RECORD.parse(wanted)
    assert (again["topic_length"], again["topic"]) == (200, b"L" * 200)


def test_numbers_of_a_record_are_signed() -> None:
    """LOG-REC-1."""
    fields = {"queue_id": (12, 4), "flag": (16, 4), "born_timestamp": (40, 8), "store_timestamp": (56, 8),
              "reconsume_times": (72, 4), "prepared_transaction_offset": (76, 8)}  # fmt: skip
    data = RECORD_V4
    for at, size in fields.values():
        data = data[:at] + b"\xff" * size + data[at + size :]
    for row in (
        schemas.RECORD.parse(data),
        vars(kaitai.Commitlog.from_bytes(data + bytes(8)).frames[0].record),
    ):
        assert {name for name, value in row.items() if value == -1} == set(fields)


def test_an_ext_file_is_built_with_negative_numbers_and_its_end() -> None:
    value = {"units": [{"tags_code": -1, "store_timestamp": -2, "bit_map": b"ab"}], "tail": b"rest"}
    assert schemas.EXT_FILE.build(value) == ext_unit(-1, -2, b"ab") + b"\xff\xffrest"  # CQ-EXT-1, CQ-EXT-3


def test_an_index_file_with_negative_numbers_and_more_bytes_than_its_geometry_has() -> None:
    schema, data = schemas.index_file(GEOMETRY), INDEX + b"more"
    parsed, read = schema.parse(data), index(data)
    assert (parsed["tail"], schema.build(parsed)) == (b"more", data)
    assert parsed["header"]["end_timestamp"] == read.header.end_timestamp == -5
    assert parsed["entries"][3]["phy_offset"] == read.entries[2].phy_offset == -1


@pytest.mark.parametrize(
    ("schema", "data", "error", "offset"),
    [
        (schemas.INDEX_HEADER, HEADER[:-1], MalformedError, 39),
        (schemas.INDEX_HEADER, HEADER + b"\0", MalformedError, 40),
        (schemas.index_file(GEOMETRY), INDEX[:-1], MalformedError, len(INDEX) - 1),
        (schemas.QUEUE_FILE, UNIT + UNIT[:10], MalformedError, 20),
        (schemas.EXT_FILE, EXT_8, MalformedError, 28),
        (schemas.EXT_FILE, struct.pack(">hqqh", 30, 0, 0, 8) + bytes(20), InvalidError, 20),
        (schemas.RECORD, RECORD_V4[:-1], MalformedError, len(RECORD_V4) - 1),
        (schemas.RECORD, b"\0\0\1\0" + RECORD_V4[4:], InvalidError, len(RECORD_V4)),
        (schemas.RECORD, RECORD_V4[:4] + b"\0\0\0\0" + RECORD_V4[8:], InvalidError, 8),
        (schemas.COMMIT_LOG, RECORD_V4[:60], MalformedError, 60),
        (schemas.COMMIT_LOG, struct.pack(">iI", 21, 0xCBD43194) + bytes(12), InvalidError, 20),
        (schemas.CHECKPOINT, POINT[:-1], InvalidError, 4095),
    ],
)
def test_construct_says_where_bytes_are_wrong(
    schema: Schema, data: bytes, error: type[Exception], offset: int
) -> None:
    with pytest.raises(error) as caught:
        schema.parse(data, file="some/file")
    assert str(caught.value).startswith(f"some/file: at byte {offset:,}: found ")
    assert f"({schema.clause})" in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        (schemas.INDEX_SLOT, {"entry": 1 << 31}, "entry: "),
        (schemas.INDEX_SLOT, {}, "no field 'entry'"),
        (schemas.INDEX_SLOT, {"entry": "a"}, "entry: "),
        (schemas.RECORD, {}, "no field 'sys_flag'"),
        (schemas.RECORD, {**schemas.RECORD.parse(RECORD_V4), "topic": bytes(128)}, "topic_length: "),
        (
            schemas.RECORD,
            {**schemas.RECORD.parse(RECORD_V4), "properties": bytes(32768)},
            "properties_length: ",
        ),
        (schemas.CHECKPOINT, {**schemas.CHECKPOINT.parse(POINT), "unused": b""}, "check failed"),
    ],
)
def test_construct_refuses_values_that_have_no_bytes(schema: Schema, value: Any, found: str) -> None:
    with pytest.raises(InvalidError) as caught:
        schema.build(value)
    assert found in str(caught.value.found)


# Kaitai: the same values, and its `valid`s.


def index(data: bytes, geometry: Geometry = GEOMETRY) -> kaitai.Indexfile:
    return kaitai.Indexfile(*geometry, kaitai.stream(data))


@pytest.mark.parametrize(
    ("geometry", "data"),
    [
        (Geometry(2, 3), bytes(40 + 8 + 60)),
        (Geometry(2, 3), bytes(39) + b"\1" + bytes(68)),
        (Geometry(0, 0), bytes(39) + b"\1"),
        (Geometry(1, 1), bytes(39) + b"\1" + bytes(24)),
        (Geometry(1, 2), struct.pack(">qqqqii", 9, 9, 7, 7, 0, 0) + bytes(44)),
        (Geometry(1, 2), struct.pack(">qqqqii", 9, -9, 7, -7, 1, 2) + struct.pack(">i", 1) + bytes(20) + ENTRY_1),
        (Geometry(1, 3), struct.pack(">qqqqii", 9, 9, 7, 7, 0, 1) + struct.pack(">i", 1) + bytes(20) + ENTRY_1 + bytes(20)),
        (Geometry(1, 2), struct.pack(">qqqqii", 9, 9, 7, 7, 0, 2) + struct.pack(">i", 1) + bytes(20)
         + struct.pack(">iqii", 97, 7, 0, 1)),
    ],
    ids=["zeros", "flushed empty", "no room at all", "one slot, one entry", "seeded", "end before begin, full",
         "slot ahead of the count", "entry that is its own previous one"],
)  # fmt: skip
def test_kaitai_accepts_every_index_file_that_4_9_3_writes(geometry: Geometry, data: bytes) -> None:
    file = index(data, geometry)
    assert len(file.slots) == geometry.hash_slot_num
    assert len(file.entries) == file.num_entries == max(file.header.index_count - 1, 0)
    assert file.unused_entry == (bytes(20) if geometry.index_num else None)


def patched(data: bytes, offset: int, value: int) -> bytes:
    return data[:offset] + struct.pack(">i", value) + data[offset + 4 :]


@pytest.mark.parametrize(
    ("offset", "value"),
    [(32, -1), (36, -1), (36, 7), (40, -1), (40, 6), (52, 1), (72, -1), (84, -1), (88, -1), (88, 6)],
)
def test_kaitai_refuses_damaged_index_files(offset: int, value: int) -> None:
    def everything(data: bytes) -> object:
        file = index(data)
        return file.header, file.slots, file.entries, file.unused_entry

    everything(INDEX)
    with pytest.raises(kaitai.ValidationFailedError):
        everything(patched(INDEX, offset, value))


@pytest.mark.parametrize("unit", [struct.pack(">qiq", -1, 1, 0), struct.pack(">qiq", 0, -1, 0)])
def test_kaitai_refuses_damaged_units(unit: bytes) -> None:
    with pytest.raises(kaitai.ValidationFailedError):
        kaitai.Consumequeue.from_bytes(unit)


@pytest.mark.parametrize("unit", [struct.pack(">h", 19), struct.pack(">hqqh", 21, 0, 0, 0)])
def test_kaitai_refuses_damaged_ext_units(unit: bytes) -> None:
    with pytest.raises(kaitai.ValidationFailedError):
        kaitai.ConsumequeueExt.from_bytes(unit + bytes(40))


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\x70" + RECORD_V4[4:] + bytes(200),
        RECORD_V4[:8] + b"\xff" + RECORD_V4[9:],
        RECORD_V4[:84] + b"\xff\xff\xff\xff" + RECORD_V4[88:],
        struct.pack(">iI", 20, 0xCBD43194) + bytes(13),
    ],
    ids=[
        "length does not add up",
        "checksum with its highest bit",
        "negative body length",
        "blank that does not fill",
    ],
)
def test_kaitai_refuses_damaged_logs(data: bytes) -> None:
    with pytest.raises((kaitai.ValidationFailedError, EOFError)):
        kaitai.Commitlog.from_bytes(data)
