"""CQ-UNIT-1, CQ-EXT-1 and CKP-1 as rows of `consume_queue`, `consume_queue_ext` and `checkpoint`."""

from pathlib import Path

import pytest
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files
from rocket_spec.errors import MalformedError
from store_bytes import BEGIN, checkpoint, ext_unit, put, unit
from table_rows import rows_of

FIRST = "00000000000000000000"
ZERO = bytes(20)


def queue(directory: Path, data: bytes, name: str = FIRST, queue_id: str = "3") -> Path:
    return put(directory, f"consumequeue/Topic/{queue_id}/{name}", data).parent


def test_file_without_a_place_has_no_topic(tmp_path: Path) -> None:
    (row,) = rows_of(put(tmp_path, FIRST, unit(500, 91, -7)))
    assert (row["topic"], row["queue_id"], row["file"]) == (None, None, FIRST)


def test_negative_name_gives_negative_logical_offsets(tmp_path: Path) -> None:
    # A put at a negative cqOffset makes such a file in 4.9.3.
    found = rows_of(queue(tmp_path, unit(0, 91) + unit(91, 91), "-00000000000000000060"))
    assert [row["logical_offset"] for row in found] == [-3, -2]


def test_pre_blank_units_are_marked(tmp_path: Path) -> None:
    blank = unit(0, 0x7FFFFFFF)
    data = blank + unit(0, 0x7FFFFFFF, 1) + unit(1, 0x7FFFFFFF) + unit(0, 0x7FFFFFFE)
    assert [row["pre_blank"] for row in rows_of(queue(tmp_path, data))] == [True, False, False, False]


@pytest.mark.parametrize(
    ("units", "shown", "all_shown"),
    [
        ([ZERO] * 4, 0, 0),
        ([unit(0, 91), ZERO, ZERO], 1, 1),
        ([unit(0, 91), unit(91, 91)], 2, 2),
        ([unit(0, 91), ZERO, unit(91, 91), ZERO], 3, 3),  # damage inside stays where it lies
        ([unit(0, 91), unit(-1, 91), unit(5, 0), unit(5, -1)], 1, 4),
        ([unit(-1, 91), ZERO], 0, 1),
        ([ZERO, unit(0, 91)], 2, 2),
    ],
)
def test_units_end_with_the_last_that_recover_would_take(
    tmp_path: Path, units: list[bytes], shown: int, all_shown: int
) -> None:
    folder = queue(tmp_path, b"".join(units))
    assert [row["logical_offset"] for row in rows_of(folder)] == list(range(shown))
    assert [row["logical_offset"] for row in rows_of(folder, all_entries=True)] == list(range(all_shown))


def test_each_file_ends_by_itself(tmp_path: Path) -> None:
    queue(tmp_path, unit(0, 91) + ZERO)
    folder = queue(tmp_path, unit(91, 91) + ZERO, "00000000000000000040")
    assert [row["logical_offset"] for row in rows_of(folder)] == [0, 2]


def test_many_short_queues_make_few_batches(tmp_path: Path) -> None:
    for number in range(50):
        queue(tmp_path, unit(number, 91), queue_id=str(number))
    sizes = [batch.num_rows for _, batch in decode(find_files(tmp_path / "consumequeue"), batch_rows=20)]
    assert sizes == [20, 20, 10]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            unit(0, 91) + b"1234567",
            "at byte 20: found 27 bytes, expected a whole number of units of 20 bytes",
        ),
        (b"1234567", "at byte 0: found 7 bytes, expected a whole number of units of 20 bytes"),
        (b"", "found an empty file, expected units of 20 bytes"),
    ],
)
def test_part_of_a_unit_is_malformed(tmp_path: Path, data: bytes, message: str) -> None:
    folder = queue(tmp_path, data)
    with pytest.raises(MalformedError) as caught:
        rows_of(folder)
    assert str(caught.value) == f"{folder / FIRST}: {message} (CQ-FILE-1)"


def test_over_long_file_is_malformed(tmp_path: Path) -> None:
    folder = queue(tmp_path, unit(0, 91) * 3)
    queue(tmp_path, unit(91, 91), "00000000000000000040")
    with pytest.raises(MalformedError) as caught:
        rows_of(folder)
    assert str(caught.value) == (
        f"{folder / FIRST}: found 60 bytes, expected 40, up to where 00000000000000000040 begins (CQ-FILE-2)"
    )


@pytest.mark.parametrize("end", [b"", b"\x00", b"\x00\x00", b"\xff\xff", b"\xff\xffzz", bytes(100)])
def test_ext_units_end_at_a_mark_at_zeros_or_with_the_file(tmp_path: Path, end: bytes) -> None:
    path = put(tmp_path, "consumequeue_ext/T/0/" + FIRST, ext_unit(7, BEGIN, b"ab") + end)
    assert len(rows_of(path)) == 1


def test_ext_units_of_the_largest_size_cross_every_window(tmp_path: Path) -> None:
    data = b"".join(ext_unit(number, BEGIN, bytes([number]) * (0x7FFF - 20)) for number in range(100))
    path = put(tmp_path, "consumequeue_ext/T/0/" + FIRST, data)
    found = rows_of(path, batch_rows=7)
    assert [(row["tags_code"], row["bit_map"][:1]) for row in found] == [(n, bytes([n])) for n in range(100)]


@pytest.mark.parametrize(
    ("data", "offset", "found"),
    [
        (ext_unit(7, BEGIN, b"ab")[:-1], 0, "a unit of 22 bytes"),
        (b"\x00\x13" + bytes(30), 0, "a unit of 19 bytes"),
        (ext_unit(7, BEGIN, b"ab")[:18] + b"\x00\x03ab", 18, "a bit map of 3 bytes"),
    ],
)
def test_ext_unit_whose_lengths_disagree_is_malformed(
    tmp_path: Path, data: bytes, offset: int, found: str
) -> None:
    path = put(tmp_path, "consumequeue_ext/T/0/" + FIRST, data)
    with pytest.raises(MalformedError) as caught:
        rows_of(path)
    assert (caught.value.offset, caught.value.found, caught.value.clause) == (offset, found, "CQ-EXT-1")


@pytest.mark.parametrize("rest", [ext_unit(5, BEGIN, b"abc" * 30)[30:], b"\x00\x13" + bytes(30), b"\x01\x00"])
def test_ext_units_end_at_the_rest_of_an_older_unit(tmp_path: Path, rest: bytes) -> None:
    path = put(tmp_path, "consumequeue_ext/T/0/" + FIRST, ext_unit(7, BEGIN, b"ab") + rest + bytes(50))
    assert [row["bit_map"] for row in rows_of(path)] == [b"ab"]


@pytest.mark.parametrize("extra", [0, 1, 4096])
def test_checkpoint_row(tmp_path: Path, extra: int) -> None:
    path = put(tmp_path, "checkpoint", checkpoint(3, 2, 1) + bytes(extra))
    assert rows_of(path) == [
        {"file": "checkpoint", "physic_msg_timestamp": 3, "logics_msg_timestamp": 2, "index_msg_timestamp": 1}
        | dict.fromkeys(["master_flushed_offset", "confirm_phy_offset", "logics_physical_offset"])
    ]


@pytest.mark.parametrize("size", [0, 24, 4095])
def test_short_checkpoint_is_malformed(tmp_path: Path, size: int) -> None:
    path = put(tmp_path, "checkpoint", checkpoint(3, 2, 1)[:size])
    with pytest.raises(MalformedError, match="expected at least 4,096"):
        rows_of(path)
