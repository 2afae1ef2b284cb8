"""Bytes made by hand, at the ends of what records, units and entries may be: what no store and no vector has."""

import itertools
import struct
from pathlib import Path

import pytest
import rocket_reference as reference
from rocket_reference.query_message import query_message
from rocket_spec import Geometry, InvalidError, MalformedError

T0 = 1700000000000
LEAST = -9223372036854775808
GEOMETRY = Geometry(2, 4)


def test_log_rec_2_port_is_signed() -> None:
    assert reference.host_text(bytes.fromhex("7f000001 ffffffff")) == "127.0.0.1:-1"


@pytest.mark.parametrize("size", [-1, -2147483648, 0])
def test_log_rec_3_a_size_too_small_for_a_part(size: int) -> None:
    with pytest.raises(MalformedError):
        reference.record(struct.pack(">i", size) + reference.encode_record("T")[4:])


def test_log_prop_5_longest_properties() -> None:
    assert reference.record(reference.encode_record("T", b"", b"a\x01" + b"x" * 32765)).properties == {
        "a": "x" * 32765
    }
    with pytest.raises(InvalidError, match=r"properties of 32768 bytes, expected at most 32767"):
        reference.encode_record("T", b"", bytes(32768))


def test_cq_unit_3_units_end_at_the_first_that_is_not_valid() -> None:
    unit = reference.QueueUnit(0x0102030405060708, 91, -2)
    data = reference.encode_queue_unit(unit)
    assert list(reference.queue_units(data + data + bytes(20) + data)) == [(0, unit), (1, unit)]
    with pytest.raises(MalformedError, match=r"found 41 bytes, expected a multiple of 20 bytes"):
        list(reference.queue_units(bytes(41)))


def test_cq_ext_1_longest_unit() -> None:
    assert len(reference.encode_ext_unit(0, 0, bytes(32747))) == 32767
    with pytest.raises(InvalidError, match="found 32768 bytes, expected at most 32767"):
        reference.encode_ext_unit(0, 0, bytes(32748))


@pytest.mark.parametrize(
    ("offset", "address"), [(0, LEAST), (100, LEAST + 100), (9223372034707292159, -2147483649)]
)
def test_cq_ext_2_address(offset: int, address: int) -> None:
    assert reference.address_of(offset) == address
    assert reference.offset_of(address) == offset
    assert reference.is_ext_address(address)
    assert not reference.is_ext_address(-2147483648)


def test_cq_ext_5_steps_by_size_whatever_the_bit_map_says() -> None:
    unit = reference.encode_ext_unit(7, T0, b"\x01\x02\xff")
    loose = unit[:18] + b"\xff\xfe" + unit[20:]  # a bit-map size of -2
    assert [found.bit_map for _, found in reference.ext_units(loose + unit)] == [b"", b"\x01\x02\xff"]


def index(count: int, begin: int = T0, key_hash: int = 97) -> bytes:
    """A file of two slots and four entries, of which 1 and 2 were put."""
    entries = struct.pack(">iqii", key_hash, 500, 1, 0) + struct.pack(">iqii", 99, 600, 3, 1)
    return (
        struct.pack(">qqqqii", begin, T0, 0, 0, 1, count)
        + struct.pack(">ii", 0, 2)
        + bytes(20)
        + entries
        + bytes(20)
    )


def test_idx_ent_1_no_more_entries_than_the_file_holds() -> None:
    assert [entry.entry for entry in reference.index_entries(index(99), GEOMETRY)] == [1, 2, 3]
    with pytest.raises(MalformedError, match="found 127 bytes, expected 128 bytes for 2 slots and 4 entries"):
        list(reference.index_entries(index(3)[:-1], GEOMETRY))


def test_idx_ent_1_a_time_that_wraps() -> None:
    (entry,) = reference.index_entries(index(2, 9223372036854775807, -97), GEOMETRY)
    assert entry == reference.IndexEntry(1, -1, -97, 500, 1, 0, -9223372036854774809)  # Java's -97 % 2 is -1


def test_qry_1_three_rounds_each_ending_at_the_lowest_hit(tmp_path: Path) -> None:
    """Records of 98 bytes whose sizes are 0: 0 bytes are sent of each."""
    names = itertools.count(20260101000000000)
    made = b"".join(
        reference.encode_record(
            "T", b"", {"KEYS": "k"}, queue_offset=n, phy_offset=98 * n, store_timestamp=T0 + 1000 * n
        )
        for n in range(3)
    )
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "commitlog" / reference.file_name(0)).write_bytes(
        (made + struct.pack(">iI", 400 - 294, 0xCBD43194)).ljust(400, b"\0")
    )
    config = reference.StoreConfig(
        commit_log_file_size=400, queue_file_size=100, hash_slot_num=7, index_num=50
    )
    store = reference.MessageStore(tmp_path, config, new_index_name=lambda: str(next(names)))
    assert store.load()
    store.start()
    for place in (0, 98, 196):
        store.log.files.mapped_files[0].view[place : place + 4] = bytes(4)
    result = query_message(store.index, store.log, "T", "k", 9, 0, 1 << 62)
    assert [(message.offset, message.data) for message in result.messages] == [(98, b""), (196, b"")] * 3
