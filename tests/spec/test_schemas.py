"""Layout tables, Kaitai readers and Construct schemas against bytes written by hand."""

import struct
import zlib
from typing import Any

import pytest
from rocket_spec import construct_schemas as schemas
from rocket_spec.construct_schemas import Schema
from rocket_spec.errors import InvalidError, MalformedError
from rocket_spec.kaitai import (
    Checkpoint,
    Commitlog,
    Consumequeue,
    ConsumequeueExt,
    Indexfile,
    ValidationFailedError,
    stream,
)
from rocket_spec.layout import (
    BLANK,
    BLANK_MAGIC,
    CHECKPOINT,
    EXT_UNIT,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    MESSAGE_MAGIC,
    QUEUE_UNIT,
    RECORD,
    RECORD_FIXED_V4,
    Geometry,
    Layout,
)

HEADER = struct.pack(">qqqqii", 1700000000123, -5, 7, 1 << 40, 2, 4)
ENTRY_1 = struct.pack(">iqii", 97, 7, 0, 0)
ENTRY_2 = struct.pack(">iqii", 0x7FFFFFFF, 1 << 40, 5, 1)
ENTRY_3 = struct.pack(">iqii", 0, -1, 0x7FFFFFFF, 0)
GEOMETRY = Geometry(3, 6)
INDEX = HEADER + struct.pack(">iii", 2, 0, 3) + bytes(20) + ENTRY_1 + ENTRY_2 + ENTRY_3 + bytes(40)
"""Six numbered places for entries, of which 1 to 3 are put and 0 is never used."""

UNIT = struct.pack(">qiq", 1 << 33, 239, -(1 << 63) + 48)
PRE_BLANK = struct.pack(">qiq", 0, 0x7FFFFFFF, 0)
EXT_8 = struct.pack(">hqqh", 28, 2598919, 1700000000123, 8) + b"bit map!"
EXT_0 = struct.pack(">hqqh", 20, -1, 0, 0)
POINT = struct.pack(">qqq", 1, -2, 3) + bytes(4072)


def packed_record(
    *,
    sys_flag: int = 0,
    body: bytes = b"123456789",
    topic: bytes = b"TopicTest",
    properties: bytes = b"KEYS\1k1",
) -> bytes:
    born = (bytes(15) + b"\1" if sys_flag & 16 else b"\x0a\1\2\3") + struct.pack(">i", 54321)
    store = (bytes(15) + b"\2" if sys_flag & 32 else b"\x7f\0\0\1") + struct.pack(">i", 10911)
    rest = (
        struct.pack(">iiiqqiq", zlib.crc32(body) & 0x7FFFFFFF, 2, -7, 3, 4096, sys_flag, 1699999999999)
        + born + struct.pack(">q", 1700000000123) + store + struct.pack(">iq", 3, 77)
        + struct.pack(">i", len(body)) + body + struct.pack(">b", len(topic)) + topic
        + struct.pack(">h", len(properties)) + properties
    )  # fmt: skip
    return struct.pack(">iI", 8 + len(rest), 0xDAA320A7) + rest


RECORD_V4 = packed_record()
HEADER_VALUES = {
    "begin_timestamp": 1700000000123, "end_timestamp": -5, "begin_phy_offset": 7, "end_phy_offset": 1 << 40,
    "hash_slot_count": 2, "index_count": 4,
}  # fmt: skip


def values(data: bytes, layout: Layout) -> dict[str, int]:
    return dict(
        zip(
            (field.name for field in layout.fixed),
            struct.unpack_from(layout.struct_format, data),
            strict=True,
        )
    )


@pytest.mark.parametrize(
    ("layout", "size", "form"),
    [
        (INDEX_HEADER, 40, ">qqqqii"),
        (INDEX_SLOT, 4, ">i"),
        (INDEX_ENTRY, 20, ">iqii"),
        (QUEUE_UNIT, 20, ">qiq"),
        (EXT_UNIT, 20, ">hqqh"),
        (RECORD, 48, ">iiiiiqqiq"),
        (BLANK, 8, ">ii"),
        (CHECKPOINT, 24, ">qqq"),
    ],
    ids=lambda value: value.name if isinstance(value, Layout) else "",
)
def test_layouts_have_the_sizes_of_the_java(layout: Layout, size: int, form: str) -> None:
    assert (layout.size, layout.struct_format) == (size, form)


def test_magics_are_the_numbers_of_the_java() -> None:
    assert (MESSAGE_MAGIC, BLANK_MAGIC) == (-626843481, -875286124)


def test_an_empty_record_has_the_fixed_length() -> None:
    assert len(packed_record(body=b"", topic=b"", properties=b"")) == RECORD_FIXED_V4


# Construct: the same values, and the same bytes again.


@pytest.mark.parametrize(
    ("schema", "data", "layout"),
    [
        (schemas.INDEX_HEADER, HEADER, INDEX_HEADER),
        (schemas.INDEX_SLOT, HEADER[36:], INDEX_SLOT),
        (schemas.INDEX_ENTRY, ENTRY_2, INDEX_ENTRY),
        (schemas.QUEUE_UNIT, UNIT, QUEUE_UNIT),
        (schemas.EXT_UNIT, EXT_8, EXT_UNIT),
        (schemas.RECORD, RECORD_V4, RECORD),
        (schemas.BLANK, struct.pack(">iI", 8, 0xCBD43194), BLANK),
        (schemas.CHECKPOINT, POINT, CHECKPOINT),
    ],
    ids=lambda value: value.name if isinstance(value, Schema) else "",
)
def test_construct_reads_what_the_layout_reads_and_builds_it_again(
    schema: Schema, data: bytes, layout: Layout
) -> None:
    parsed = schema.parse(data)
    assert {field.name for field in layout.fields} - set(parsed) == set()
    assert {name: parsed[name] for name in values(data, layout)} == values(data, layout)
    assert schema.build(parsed) == data


def test_construct_computes_lengths_checksum_and_magic() -> None:
    parsed = schemas.RECORD.parse(RECORD_V4)
    computed = ("total_size", "magic", "body_crc", "body_length", "topic_length", "properties_length")
    assert schemas.RECORD.build({name: parsed[name] for name in parsed if name not in computed}) == RECORD_V4
    assert (
        schemas.EXT_UNIT.build(
            {"tags_code": 2598919, "store_timestamp": 1700000000123, "bit_map": b"bit map!"}
        )
        == EXT_8
    )


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


def test_construct_reads_files() -> None:
    blank = struct.pack(">iI", 20, 0xCBD43194)
    for schema, data in (
        (schemas.QUEUE_FILE, PRE_BLANK + UNIT + bytes(20)),
        (schemas.EXT_FILE, EXT_8 + EXT_0 + b"\xff\xff" + b"stale"),
        (schemas.EXT_FILE, bytes(30)),
        (schemas.COMMIT_LOG, RECORD_V4 + packed_record(sys_flag=48) + blank + b"x" * 12),
        (schemas.COMMIT_LOG, RECORD_V4 + bytes(50)),
        (schemas.COMMIT_LOG, blank[:3] + b"\x08" + blank[4:]),
        (schemas.COMMIT_LOG, bytes(5)),
        (schemas.COMMIT_LOG, b""),
    ):
        assert schema.build(schema.parse(data)) == data
    parsed = schemas.COMMIT_LOG.parse(RECORD_V4 + RECORD_V4 + blank + b"x" * 12)
    assert (len(parsed["records"]), parsed["blank"]["total_size"], parsed["tail"]) == (2, 20, b"x" * 12)


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


def index(data: bytes, geometry: Geometry = GEOMETRY) -> Indexfile.Table:
    return Indexfile.Table(*geometry, stream(data))


def test_kaitai_reads_no_more_of_an_index_file_than_it_is_asked_for() -> None:
    file = index(INDEX[:52])
    assert file.slots == [2, 0, 3]
    with pytest.raises(EOFError):
        _ = file.entries


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
    with pytest.raises(ValidationFailedError):
        everything(patched(INDEX, offset, value))


def test_kaitai_reads_a_consume_queue() -> None:
    file = Consumequeue.from_bytes(PRE_BLANK + UNIT + struct.pack(">qiq", 5, 1, -2147483648) + bytes(20))
    units = file.units
    assert file.num_units == 4
    assert [(u.phy_offset, u.len_record, u.tags_code) for u in units[:2]] == [
        struct.unpack(">qiq", PRE_BLANK), struct.unpack(">qiq", UNIT),
    ]  # fmt: skip
    assert [u.is_in_use for u in units] == [True, True, True, False]
    assert [u.is_pre_blank for u in units] == [True, False, False, False]
    assert [u.ofs_ext_unit for u in units] == [None, 48, None, None]


@pytest.mark.parametrize("unit", [struct.pack(">qiq", -1, 1, 0), struct.pack(">qiq", 0, -1, 0)])
def test_kaitai_refuses_damaged_units(unit: bytes) -> None:
    with pytest.raises(ValidationFailedError):
        Consumequeue.from_bytes(unit)


def test_kaitai_wants_whole_units() -> None:
    with pytest.raises(EOFError):
        Consumequeue.from_bytes(UNIT + UNIT[:19])


@pytest.mark.parametrize(
    "unit", [struct.pack(">h", 19), struct.pack(">h", -2), struct.pack(">hqqh", 21, 0, 0, 0)]
)
def test_kaitai_refuses_damaged_ext_units(unit: bytes) -> None:
    with pytest.raises(ValidationFailedError):
        ConsumequeueExt.from_bytes(unit + bytes(40))


@pytest.mark.parametrize("sys_flag", [0, 16, 32, 48, 1 | 2 | 8])
def test_kaitai_reads_a_record(sys_flag: int) -> None:
    data = packed_record(sys_flag=sys_flag)
    frames = Commitlog.from_bytes(data + bytes(30)).frames
    assert [frame.is_record for frame in frames] == [True, False]
    assert frames[0].len_total == len(data)
    record, expected = frames[0].record, schemas.RECORD.parse(data)
    for name in ("body_crc", "queue_id", "flag", "queue_offset", "phy_offset", "sys_flag", "born_timestamp",
                 "store_timestamp", "reconsume_times", "prepared_transaction_offset", "body", "topic", "properties"):  # fmt: skip
        assert getattr(record, name) == expected[name], name
    for name in ("born_host", "store_host"):
        host = getattr(record, name)
        assert {"address": host.address, "port": host.port} == expected[name]
    assert (record.is_compressed, record.is_multi_tags) == (bool(sys_flag & 1), bool(sys_flag & 2))
    assert record.transaction_type == sys_flag & 12


@pytest.mark.parametrize(
    ("end", "is_blank"),
    [(struct.pack(">iI", 20, 0xCBD43194) + b"stale".ljust(12), True), (struct.pack(">iI", 8, 0xCBD43194), True),
     (bytes(8), False), (bytes(100), False), (b"stale bytes of an older record", False)],
)  # fmt: skip
def test_kaitai_reads_up_to_the_end_of_the_log(end: bytes, is_blank: bool) -> None:  # noqa: FBT001
    frames = Commitlog.from_bytes(RECORD_V4 + RECORD_V4 + end).frames
    assert [frame.is_record for frame in frames] == [True, True, False]
    assert frames[2].is_blank == is_blank


def test_kaitai_stops_where_no_frame_fits() -> None:
    assert len(Commitlog.from_bytes(RECORD_V4 + bytes(7)).frames) == 1


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
    with pytest.raises((ValidationFailedError, EOFError)):
        Commitlog.from_bytes(data)


def test_kaitai_reads_a_checkpoint() -> None:
    point = Checkpoint.from_bytes(POINT + b"later versions")
    assert (point.physic_msg_timestamp, point.logics_msg_timestamp, point.index_msg_timestamp) == (1, -2, 3)
    with pytest.raises(EOFError):
        Checkpoint.from_bytes(POINT[:-1])
