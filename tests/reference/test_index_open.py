"""IDX-FILE, IDX-LOAD, IDX-FLUSH: the file around the bytes. "Real jar" as in test_index_put."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from rocket_reference import IndexFile, IndexHeader, JavaError, file_size, open_index_file
from rocket_spec.errors import MalformedError

if TYPE_CHECKING:
    from pathlib import Path

NAME = "20260101000000000"
T0 = 1700000000000
ALWAYS = (0, 9223372036854775807)


def rejected(
    path: Path, hash_slot_num: int, index_num: int, *, end_phy_offset: int = 0, load: bool = False
) -> str:
    """Name of the Java exception that opening ends in."""
    with (
        pytest.raises(JavaError) as caught,
        open_index_file(path, hash_slot_num, index_num, end_phy_offset=end_phy_offset, load=load),
    ):
        pass
    return caught.value.name


def test_idx_file_1_missing_file_is_made_of_zeros(tmp_path: Path) -> None:
    path = tmp_path / "store" / "index" / NAME
    with open_index_file(path, 7, 12):
        pass
    assert path.read_bytes() == bytes(40 + 4 * 7 + 20 * 12)


def test_idx_file_1_shorter_file_is_extended(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"\x01" * 50)
    with open_index_file(path, 1, 2):
        pass
    assert path.read_bytes() == b"\x01" * 50 + bytes(34)


def test_idx_file_1_longer_file_keeps_its_length_and_is_not_read_beyond(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(bytes(64) + b"\x07" * 40)
    with open_index_file(path, 1, 1) as index:
        assert index.full()
        assert not index.put("a", 0, 0)
    with open_index_file(path, 0x7FFFFFFF, 3) as index:  # 40 - 4 + 60 = 96; slot of "a" at 40 + 4 * 97
        assert not index.put("a", 0, 0)
    assert path.read_bytes() == bytes(64) + b"\x07" * 40


def test_idx_file_1_default_size() -> None:
    assert file_size(5_000_000, 20_000_000) == 420_000_040


def test_idx_file_1_longer_buffer() -> None:
    buffer = bytearray(200)
    assert IndexFile(memoryview(buffer), 1, 3).put("a", 1, 2)
    assert not any(buffer[104:])


def test_idx_file_1_shorter_buffer() -> None:
    with pytest.raises(MalformedError, match=r"found 103 bytes, expected 104 bytes \(IDX-FILE-1\)"):
        IndexFile(bytearray(103), 1, 3)


@pytest.mark.parametrize(
    ("seeds", "header"),
    [
        ((77, T0), IndexHeader(T0, T0, 77, 77, 0, 1)),
        ((77, 0), IndexHeader(0, 0, 77, 77, 0, 1)),
        ((0, T0), IndexHeader(T0, T0, 0, 0, 0, 1)),
        ((-1, -1), IndexHeader(0, 0, 0, 0, 0, 1)),
    ],
)
def test_idx_file_2_seeds(seeds: tuple[int, int], header: IndexHeader) -> None:
    buffer = bytearray(104)
    index = IndexFile(buffer, 1, 3, end_phy_offset=seeds[0], end_timestamp=seeds[1])
    assert index.header() == header
    assert struct.unpack_from(">qqqqii", buffer)[:4] == (
        *(header.begin_timestamp, header.end_timestamp, header.begin_phy_offset, header.end_phy_offset),
    )
    assert not any(buffer[32:])  # the counts are not written


def test_idx_file_2_seeds_come_before_the_load(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(struct.pack(">qqqqii", 1, 2, 3, 4, 5, 6))
    with open_index_file(path, 1, 3, end_phy_offset=9, end_timestamp=8, load=True) as index:
        assert index.header() == IndexHeader(8, 8, 9, 9, 5, 6)  # real jar


@pytest.mark.parametrize(
    ("geometry", "size"),
    [
        ((1_000_000_000, 1), -294_967_236),  # 4,000,000,060 - 2^32
        ((1 << 30, 3), 100),
        ((3, 214748365), 56),  # 20 * 214748365 = 2^32 + 4
        ((-10, 6), 120),
    ],
)
def test_idx_file_3_size_wraps(geometry: tuple[int, int], size: int) -> None:
    assert file_size(*geometry) == size


def test_idx_file_3_negative_size_leaves_an_empty_file(tmp_path: Path) -> None:
    assert rejected(tmp_path / NAME, 1_000_000_000, 1) == "IllegalArgumentException"  # real jar
    assert (tmp_path / NAME).read_bytes() == b""
    with pytest.raises(JavaError, match="IllegalArgumentException"):
        IndexFile(bytearray(100), 1_000_000_000, 1)


def test_idx_file_3_size_zero(tmp_path: Path) -> None:
    with open_index_file(tmp_path / NAME, -10, 0) as index:  # 40 - 40
        assert index.full()
        with pytest.raises(JavaError, match="IndexOutOfBoundsException"):
            index.load()
    assert (tmp_path / NAME).read_bytes() == b""


def test_idx_file_3_seed_outside_the_mapping(tmp_path: Path) -> None:
    # 20 bytes hold begin and end timestamp, and not the begin offset at 16. Real jar.
    assert rejected(tmp_path / NAME, -10, 1, end_phy_offset=5) == "IndexOutOfBoundsException"
    assert (tmp_path / NAME).read_bytes() == bytes(20)


def test_idx_file_3_load_and_flush_in_36_bytes(tmp_path: Path) -> None:
    # The header's last field, at 36, is outside. Real jar.
    path = tmp_path / NAME
    assert rejected(path, -11, 2, load=True) == "IndexOutOfBoundsException"
    with (
        open_index_file(path, -11, 2, end_timestamp=5) as index,
        pytest.raises(JavaError, match="IndexOutOfBoundsException"),
    ):
        index.flush()
    assert path.read_bytes() == struct.pack(">qqqqi", 5, 5, 0, 0, 0)


@pytest.mark.parametrize("name", ["-5", "+5", "\u0662\u0660", "0", "9223372036854775807"])
def test_idx_file_4_name_is_a_java_long(tmp_path: Path, name: str) -> None:
    with open_index_file(tmp_path / name, 1, 1) as index:
        assert index.header().index_count == 1


@pytest.mark.parametrize("name", ["abc", "1.5", "9223372036854775808", "+"])
def test_idx_file_4_name_is_none_and_nothing_is_made(tmp_path: Path, name: str) -> None:
    assert rejected(tmp_path / "index" / name, 1, 1) == "NumberFormatException"
    assert not (tmp_path / "index").exists()


def test_idx_file_4_name_is_looked_at_before_the_size(tmp_path: Path) -> None:
    assert rejected(tmp_path / "abc", 1_000_000_000, 1) == "NumberFormatException"


def test_file_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    assert rejected(tmp_path / NAME, 1, 1) == "FileNotFoundException"


def test_file_that_cannot_be_extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(_descriptor: int, _length: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.ftruncate", no_space)
    assert rejected(tmp_path / NAME, 1, 1) == "IOException"


def test_idx_file_5_open_without_load_is_a_fresh_header_over_old_bytes(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with open_index_file(path, 1, 4) as index:
        assert index.put("a", 500, T0)
        assert index.put("a", 600, T0)
    before = path.read_bytes()
    with open_index_file(path, 1, 4) as index:
        assert index.header() == IndexHeader(0, 0, 0, 0, 0, 1)
        assert index.select("a", 32, *ALWAYS) == []
        assert path.read_bytes() == before
        assert index.put("a", 700, T0 + 1000)
        assert index.select("a", 32, *ALWAYS) == [700]  # slot value 2 was beyond the count: dropped


def test_idx_load_1_takes_the_six_fields(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with open_index_file(path, 1, 4) as index:
        index.put("a", 500, T0)
        index.put("a", 600, T0 + 2000)
    with open_index_file(path, 1, 4, load=True) as index:
        assert index.header() == IndexHeader(T0, T0 + 2000, 500, 600, 1, 3)
        assert index.select("a", 32, *ALWAYS) == [600, 500]


@pytest.mark.parametrize("count", [0, -1, -6, -2147483648])
def test_idx_load_2_count_becomes_1_in_memory_only(count: int) -> None:
    buffer = bytearray(struct.pack(">qqqqii", 1, 2, 3, 4, 5, count) + bytes(64))
    before = bytes(buffer)
    index = IndexFile(buffer, 1, 3)
    index.load()
    assert index.header() == IndexHeader(1, 2, 3, 4, 5, 1)
    assert buffer == before


def test_idx_flush_1_writes_the_header_in_memory() -> None:
    buffer = bytearray(struct.pack(">qqqqii", 1, 2, 3, 4, 5, 6) + bytes(64))
    IndexFile(buffer, 1, 3).flush()
    assert buffer == struct.pack(">qqqqii", 0, 0, 0, 0, 0, 1) + bytes(64)


def test_a_released_file_is_not_written(tmp_path: Path) -> None:
    with open_index_file(tmp_path / NAME, 1, 3) as index:
        pass
    with pytest.raises(ValueError, match="released"):
        index.put("a", 0, 0)
