"""LOG-REC-1 to LOG-REC-5, LOG-PROP-1, LOG-BLANK-1 and LOG-DSP-1 as rows of `commit_log`, and the gaps between."""

import struct
from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files
from rocket_spec.errors import MalformedError
from store_bytes import BEGIN, blank, put, record
from table_rows import decoded, rows_of

FIRST = "00000000000000000000"
SCHEDULE = b"SCHEDULE_TOPIC_XXXX"


def log(directory: Path, *parts: bytes, name: str = FIRST) -> Path:
    return put(directory, f"commitlog/{name}", b"".join(parts))


def run(*sizes: int, start: int = 0) -> list[bytes]:
    """Records one behind the other, of bodies of these sizes."""
    made: list[bytes] = []
    for size in sizes:
        made.append(record(start + sum(map(len, made)), body=b"b" * size))
    return made


@pytest.mark.parametrize(
    ("body", "crc", "shown", "is_ok"),
    [
        (b"123456789", 0x4BF43926, 0x4BF43926, True),  # CRC-32 of it is 0xCBF43926
        (b"123456789", 0x4BF43927, 0x4BF43927, False),
        (
            b"123456789",
            0x4BF43926 - (1 << 31),
            0xCBF43926,
            False,
        ),  # the sign bit is not masked on the file's side
        (b"", 0, 0, True),
        (b"", 77, 77, True),  # checked only where there is a body
    ],
)
def test_crc(tmp_path: Path, body: bytes, crc: int, shown: int, is_ok: bool) -> None:
    (row,) = rows_of(log(tmp_path, record(0, body=body, body_crc=crc)))
    assert (row["body_crc"], row["crc_ok"]) == (shown, is_ok)


@pytest.mark.parametrize(
    ("properties", "pairs"),
    [
        (b"a\1b", [("a", "b")]),
        (b"a\1b\2", [("a", "b")]),
        (b"a\1\2c\1d\2", [("c", "d")]),  # an empty value is dropped
        (b"\1b\2c\1d\2", [("c", "d")]),  # and an empty name
        (b"a\1b\1c\2", [("a", "b\1c")]),  # the first \1 separates, later ones survive
        (b"a\1b\2c\2d\1e\2", [("a", "b"), ("d", "e")]),  # \2 inside a value starts the next pair
        (b"a\1b\2a\1c\2", [("a", "c")]),  # the last wins
        (b"ab\2", []),
        (b"\2\2\2", []),
        (b"k\1\xed\xa0\x80\2", [("k", "\ufffd")]),
    ],
)
def test_properties(tmp_path: Path, properties: bytes, pairs: list[tuple[str, str]]) -> None:
    (row,) = rows_of(log(tmp_path, record(0, properties=properties)))
    assert row["properties"] == pairs


@pytest.mark.parametrize(
    ("topic", "properties", "code"),
    [
        (b"T", b"TAGS\1a\2", 97),
        (b"T", b"TAGS\1polygenelubricants\2", -(1 << 31)),
        (b"T", b"TAGS\1a\2DELAY\0013\2", 97),  # a delivered copy keeps DELAY under its own topic
        (SCHEDULE, b"TAGS\1a\2", 97),
        (SCHEDULE, b"TAGS\1a\2DELAY\0013\2", BEGIN + 10_000),
        (SCHEDULE, b"DELAY\00118\2", BEGIN + 7_200_000),
        (SCHEDULE, b"DELAY\00199\2", BEGIN + 7_200_000),  # above the last level is the last level
        (SCHEDULE, b"TAGS\1a\2DELAY\0010\2", 97),
        (SCHEDULE, b"TAGS\1a\2DELAY\1-1\2", 97),
        (SCHEDULE, b"TAGS\1a\2DELAY\1soon\2", None),  # 4.9.3 cannot dispatch it
    ],
)
def test_tags_code_is_what_a_healthy_dispatch_gives(
    tmp_path: Path, topic: bytes, properties: bytes, code: int | None
) -> None:
    (row,) = rows_of(log(tmp_path, record(0, topic=topic, properties=properties)))
    assert row["tags_code"] == code


@pytest.mark.parametrize("room", [8, 9, 35, 36, 90, 91, 5000])
def test_blank_ends_a_file(tmp_path: Path, room: int) -> None:
    first = run(10, 20)
    size = sum(map(len, first)) + room
    log(tmp_path, *first, blank(room))
    log(tmp_path, *run(30, start=size), bytes(300), name=f"{size:020}")
    assert [len(row["body"]) for row in rows_of(tmp_path / "commitlog")] == [10, 20, 30]


@pytest.mark.parametrize("room", [1, 7, 8, 90, 91, 5 << 20])
def test_zeros_end_the_last_file(tmp_path: Path, room: int) -> None:
    assert len(rows_of(log(tmp_path, *run(10, 20), bytes(room)))) == 2


def test_zeros_before_a_file_that_was_made_ahead_are_no_gap(tmp_path: Path) -> None:
    log(tmp_path, *run(10), bytes(898))
    log(tmp_path, bytes(1000), name=f"{1000:020}")
    assert len(rows_of(tmp_path / "commitlog")) == 1


def test_zeros_before_a_file_with_records_are_a_gap(tmp_path: Path) -> None:
    path = log(tmp_path, *run(10), bytes(898))
    log(tmp_path, *run(10, start=1000), name=f"{1000:020}")
    found, gaps = decoded(tmp_path / "commitlog")
    assert [row["phy_offset"] for row in found] == [0, 1000]
    assert [(gap.file, gap.begin, gap.end) for gap in gaps] == [(str(path), 102, 1000)]


@pytest.mark.parametrize(
    ("offset", "code", "value", "found"),
    [
        (0, "i", 90, "a record of 90 bytes"),
        (0, "i", -1, "a record of -1 bytes"),
        (0, "i", 1 << 30, "a record of 1,073,741,824 bytes"),
        (0, "i", 113, "lengths of body, topic and properties that do not add up"),
        (4, "i", 0x12345678, "magic 12345678"),
        (4, "i", 0xCBD43194 - (1 << 32), "a blank of 112 bytes"),
        (28, "q", 5, "a record of physical offset 5"),
        (84, "i", 19, "lengths of body, topic and properties that do not add up"),
        (84, "i", 1 << 30, "lengths of body, topic and properties that do not add up"),
        (108, "b", -1, "lengths of body, topic and properties that do not add up"),
    ],
)
def test_bad_record_is_a_gap_up_to_the_next_that_verifies(
    tmp_path: Path, offset: int, code: str, value: int, found: str
) -> None:
    parts = run(20, 20, 20)  # 112 bytes each: 91, the topic of 1 byte, the body
    bad = bytearray(parts[1])
    struct.pack_into(">" + code, bad, offset, value)
    path = log(tmp_path, parts[0], bytes(bad), parts[2])
    shown, gaps = decoded(path)
    assert [row["phy_offset"] for row in shown] == [0, 224]
    assert [(gap.file, gap.begin, gap.end, gap.found) for gap in gaps] == [(str(path), 112, 224, found)]


def test_record_inside_a_body_is_not_found_in_a_gap(tmp_path: Path) -> None:
    outer = record(0, body=record(0) + b"tail")
    damaged = b"\0" + outer[1:4] + b"\0" + outer[5:]
    second = record(len(outer))
    shown, gaps = decoded(log(tmp_path, damaged, second))
    assert [row["phy_offset"] for row in shown] == [len(outer)]
    assert [(gap.begin, gap.end) for gap in gaps] == [(0, len(outer))]


def test_cut_off_record_is_a_gap_to_the_end(tmp_path: Path) -> None:
    shown, gaps = decoded(log(tmp_path, *run(20), run(20, start=112)[0][:60]))
    assert len(shown) == 1
    assert [(gap.begin, gap.end) for gap in gaps] == [(112, 172)]


@pytest.mark.parametrize("junk", [1, 7, 8, 1000, (4 << 20) - 3, 9 << 20])
def test_the_walk_goes_on_behind_junk_of_any_length(tmp_path: Path, junk: int) -> None:
    first = run(20)
    last = run(20, start=112 + junk)
    shown, gaps = decoded(log(tmp_path, *first, b"j" * junk, *last))
    assert [row["phy_offset"] for row in shown] == [0, 112 + junk]
    assert [(gap.begin, gap.end) for gap in gaps] == [(112, 112 + junk)]


def test_blank_ends_a_gap_too(tmp_path: Path) -> None:
    shown, gaps = decoded(log(tmp_path, *run(20), b"j" * 100, blank(50)))
    assert len(shown) == 1
    assert [(gap.begin, gap.end) for gap in gaps] == [(112, 212)]


def test_without_on_gap_nothing_is_passed_over(tmp_path: Path) -> None:
    path = log(tmp_path, *run(20), b"j" * 1000)
    with pytest.raises(MalformedError, match="a gap in the log from 112 to 1,112: magic 6a6a6a6a"):
        list(decode(find_files(path)))


def test_large_bodies_make_batches_of_few_rows(tmp_path: Path) -> None:
    path = log(tmp_path, *run(*[5 << 20] * 8))
    sizes = [batch.num_rows for _, batch in decode(find_files(path))]
    assert sum(sizes) == 8
    assert max(sizes) <= 7  # 32 MiB are reached by the seventh body of 5


def test_topics_of_later_batches_only_add_to_the_dictionary(tmp_path: Path) -> None:
    made: list[bytes] = []
    for topic in (b"A", b"B", b"A", b"C"):
        made.append(record(sum(map(len, made)), topic=topic))
    columns: list[Any] = [
        batch.column("topic") for _, batch in decode(find_files(log(tmp_path, *made)), batch_rows=1)
    ]
    assert [column.dictionary.to_pylist() for column in columns] == [
        ["A"],
        ["A", "B"],
        ["A", "B"],
        ["A", "B", "C"],
    ]
    assert [column[0].as_py() for column in columns] == ["A", "B", "A", "C"]


def test_negative_lengths_count_as_none(tmp_path: Path) -> None:
    data = record(0, body=b"", body_length=-5, properties_length=-1)
    (row,) = rows_of(log(tmp_path, data))
    assert (row["size"], row["body"], row["properties"]) == (92, b"", [])


def test_missing_file_is_a_gap(tmp_path: Path) -> None:
    log(tmp_path, *run(10))
    log(tmp_path, *run(10, start=1000), name=f"{1000:020}")
    found, gaps = decoded(tmp_path / "commitlog")
    assert len(found) == 2
    assert [(gap.begin, gap.end, gap.found) for gap in gaps] == [(102, 1000, "no file")]
