"""The byte explainer, on files whose every byte is known."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocket_columnar.describe import ByteMeaning, byte_at
from rocket_columnar.store import Kind, StoreFile
from rocket_spec.errors import UsageError
from rocket_spec.layout import CHECKPOINT, INDEX_ENTRY, INDEX_HEADER, QUEUE_UNIT, RECORD, Geometry
from store_bytes import BEGIN as T
from store_bytes import Entry, blank, checkpoint, ext_unit, index_file, put, record, unit

GEOMETRY = Geometry(7, 12)
INDEX = index_file(7, 12, [Entry(8, 0, 0), Entry(15, 200, 5)])


def file(tmp_path: Path, kind: Kind, data: bytes, base: int = 0) -> StoreFile:
    path = put(tmp_path, "file", data)
    return StoreFile(kind, path, "file", base_offset=base)


def field(meaning: ByteMeaning) -> str | None:
    return None if meaning.field is None else meaning.fields[meaning.field].name


def summary(meaning: ByteMeaning) -> tuple[str, int | None, int, int, str | None]:
    return meaning.structure, meaning.number, meaning.begin, meaning.end, field(meaning)


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0, ("index header", None, 0, 40, "begin_timestamp")),
        (39, ("index header", None, 0, 40, "index_count")),
        (40, ("index slot", 0, 40, 44, "entry")),
        (67, ("index slot", 6, 64, 68, "entry")),
        (68, ("index entry", 0, 68, 88, "key_hash")),
        (88 + 4, ("index entry", 1, 88, 108, "phy_offset")),
        (108 + 12, ("index entry", 2, 108, 128, "time_diff")),
        (307, ("index entry", 11, 288, 308, "prev_entry")),
        (308, ("bytes after the last entry", None, 308, 310, None)),
    ],
)
def test_index_file(
    tmp_path: Path, offset: int, expected: tuple[str, int | None, int, int, str | None]
) -> None:
    meaning = byte_at(file(tmp_path, "index", INDEX + b"xy"), offset, GEOMETRY)
    assert summary(meaning) == expected
    assert meaning.byte == (INDEX + b"xy")[offset]


def test_values_and_meanings_of_an_index_file(tmp_path: Path) -> None:
    index = file(tmp_path, "index", INDEX)
    header = byte_at(index, 0, GEOMETRY)
    assert [field.value for field in header.fields] == [T, T + 5000, 0, 200, 1, 3]
    assert header.fields[0].meaning == "2023-11-14T22:13:20.000Z"
    assert header.fields[5].meaning == "2 entries"
    entry = byte_at(index, 108, GEOMETRY)
    assert [(field.value, field.meaning) for field in entry.fields] == [
        (15, "slot 1"),
        (200, ""),
        (5, "placed at 2023-11-14T22:13:25.000Z"),
        (1, ""),
    ]
    assert [field.clause for field in entry.fields] == ["IDX-ENT-1"] * 4
    assert byte_at(index, 44, GEOMETRY).fields[0].meaning == "the chain begins with entry 2"
    assert byte_at(index, 40, GEOMETRY).fields[0].meaning == "empty"
    assert byte_at(index, 68, GEOMETRY).remark == "entry 0 is never written"
    assert "not in use" in byte_at(index, 128, GEOMETRY).remark


def test_consume_queue(tmp_path: Path) -> None:
    data = unit(0, 0x7FFFFFFF) + unit(500, 100, -7) + bytes(20) + b"x"
    queue = file(tmp_path, "queue", data, base=400)
    assert summary(byte_at(queue, 12)) == ("consume-queue unit", 0, 0, 20, "tags_code")
    assert byte_at(queue, 0).remark.startswith("logical offset 20; a pre-blank unit")
    assert [field.value for field in byte_at(queue, 20).fields] == [500, 100, -7]
    assert byte_at(queue, 39).remark == "logical offset 21"
    assert "not written" in byte_at(queue, 40).remark
    assert summary(byte_at(queue, 60)) == ("bytes that are not a whole unit", None, 60, 61, None)


def test_commit_log(tmp_path: Path) -> None:
    first = record(1000, topic=b"Topic", body=b"hello", properties=b"KEYS\1a b\2", sys_flag=8)
    ipv6 = bytes(15) + b"\1"
    second = record(1000 + len(first), born=ipv6, sys_flag=16 | 1)
    data = first + second
    log = file(tmp_path, "log", data + blank(50), base=1000)
    meaning = byte_at(log, 6)
    assert summary(meaning) == ("commit-log record", 0, 0, len(first), "magic")
    values = {field.name: field.value for field in meaning.fields}
    assert (values["topic"], values["body"], values["properties"]) == ("Topic", "hello", "KEYS=a b ")
    assert (values["born_host"], values["phy_offset"]) == ("10.0.0.1:1111", 1000)
    assert {field.name: field.meaning for field in meaning.fields}["sys_flag"] == "commit"
    ends = [field.offset + field.size for field in meaning.fields]
    assert ends == [*(field.offset for field in meaning.fields[1:]), len(first)]
    later = byte_at(log, len(first) + 50)
    assert summary(later)[:4] == ("commit-log record", 1, len(first), len(data))
    assert field(later) == "born_host"
    assert {field.name: field.value for field in later.fields}["born_host"] == "[::1]:1111"
    assert {field.name: field.meaning for field in later.fields}[
        "sys_flag"
    ] == "compressed, born host IPv6, no transaction"
    assert summary(byte_at(log, len(data) + 7)) == (
        "commit-log blank", None, len(data), len(data) + 50, "magic",
    )  # fmt: skip
    assert field(byte_at(log, len(data) + 8)) is None


def test_commit_log_with_a_gap_and_room(tmp_path: Path) -> None:
    first = record(0)
    data = first + b"\xff" * 30 + record(len(first) + 30)
    log = file(tmp_path, "log", data + bytes(100))
    assert summary(byte_at(log, len(first) + 5)) == (
        "bytes that are not a whole record", None, len(first), len(first) + 30, None,
    )  # fmt: skip
    assert summary(byte_at(log, len(data) + 5)) == (
        "space after the last one", None, len(data), len(data) + 100, None,
    )  # fmt: skip


def test_ext_and_checkpoint(tmp_path: Path) -> None:
    ext = file(
        tmp_path, "ext", ext_unit(7, T, b"\x01\x02") + ext_unit(8, T, b"") + b"\xff\xff" + bytes(9), base=700
    )
    meaning = byte_at(ext, 21)
    assert summary(meaning) == ("consume-queue ext unit", 0, 0, 22, "bit_map")
    assert [field.value for field in meaning.fields] == [22, 7, T, 2, "0102"]
    assert summary(byte_at(ext, 22))[:4] == ("consume-queue ext unit", 1, 22, 42)
    assert byte_at(ext, 44).structure == "space after the last one"
    times = file(tmp_path, "checkpoint", checkpoint(T, T + 1, 0))
    assert summary(byte_at(times, 8)) == ("checkpoint", None, 0, 24, "logics_msg_timestamp")
    assert summary(byte_at(times, 100))[0] == "padding"


def test_every_byte_has_its_field_from_the_layout_tables(tmp_path: Path) -> None:
    def seen(kind: Kind, data: bytes, geometry: Geometry | None = None) -> Iterator[str]:
        damaged = file(tmp_path, kind, data)
        for offset in range(len(data)):
            meaning = byte_at(damaged, offset, geometry)
            assert meaning.field is not None
            found = meaning.fields[meaning.field]
            assert found.offset <= offset < found.offset + found.size
            yield found.name

    names = [field.name for field in INDEX_HEADER.fields]
    assert set(seen("index", INDEX, GEOMETRY)) == {
        *names,
        "entry",
        *(field.name for field in INDEX_ENTRY.fields),
    }
    assert set(seen("queue", unit(1, 2, 3))) == {field.name for field in QUEUE_UNIT.fields}
    log = record(0, properties=b"A\1b\2")
    assert set(seen("log", log)) == {field.name for field in RECORD.fields}
    assert list(dict.fromkeys(seen("checkpoint", struct.pack(">qqq", T, T, T)))) == [
        field.name for field in CHECKPOINT.fields
    ]


@pytest.mark.parametrize("offset", [-1, 40])
def test_an_offset_outside_the_file(tmp_path: Path, offset: int) -> None:
    with pytest.raises(UsageError, match="in a file of 40 bytes"):
        byte_at(file(tmp_path, "queue", bytes(40)), offset)


def test_an_index_file_needs_its_geometry(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="geometry"):
        byte_at(file(tmp_path, "index", INDEX), 0)
