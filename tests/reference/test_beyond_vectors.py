"""What no vector can show: files that the system refuses, buffers of another length, operations that never end.

The vectors of the real jar hold the rest of IDX, CQ, LOG-DSP and CKP: `tests/conformance/test_cases.py` runs them on the reference.
"""

import itertools
import struct
from dataclasses import replace
from pathlib import Path

import pytest
import rocket_reference as reference
from rocket_spec.errors import MalformedError

T0 = 1700000000000
ALWAYS = (0, 9223372036854775807)
A, B = 97, 98  # key hashes of "a" and "b"


def made(*entries: tuple[int, int, int, int], index_num: int = 8) -> reference.IndexFile:
    """A loaded file of one slot; `entries` are (key_hash, phy_offset, time_diff, prev_entry) from 1 on."""
    buffer = bytearray(44 + 20 * index_num)
    struct.pack_into(">qqqqii", buffer, 0, T0, T0, 0, 0, 1, len(entries) + 1)
    struct.pack_into(">i", buffer, 40, len(entries))
    for number, entry in enumerate(entries, 1):
        struct.pack_into(">iqii", buffer, 44 + 20 * number, *entry)
    index = reference.IndexFile(buffer, 1, index_num)
    index.load()
    return index


def test_idx_sel_11_circle_without_a_hit() -> None:
    index = made((B, 1, 0, 3), (B, 2, 0, 1), (B, 3, 0, 2), (A, 4, 0, 3))
    with pytest.raises(reference.UnspecifiedError, match="never ends"):
        index.select("a", 32, *ALWAYS)


def test_idx_sel_11_circle_that_fills_the_memory() -> None:
    index = made((A, 1, 0, 2), (B, 2, 0, 1))
    assert index.select("a", 64, *ALWAYS) == [1] * 64
    with pytest.raises(reference.UnspecifiedError):
        index.select("a", 2147483647, *ALWAYS)


def test_idx_sel_11_circle_that_time_ends() -> None:
    index = made((A, 1, 0, 2), (B, 2, 9, 1))
    assert index.select("a", 32, T0 + 1, T0 + 9000) == []


def test_idx_file_1_longer_and_shorter_buffers() -> None:
    buffer = bytearray(200)
    assert reference.IndexFile(memoryview(buffer), 1, 3).put("a", 1, 2)
    assert not any(buffer[104:])
    with pytest.raises(MalformedError, match=r"found 103 bytes, expected 104 bytes \(IDX-FILE-1\)"):
        reference.IndexFile(bytearray(103), 1, 3)


def test_a_file_that_cannot_be_opened_or_extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(_descriptor: int, _length: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "1").mkdir()
    monkeypatch.setattr("os.ftruncate", no_space)
    for name, exception in (("1", "FileNotFoundException"), ("2", "IOException")):
        with pytest.raises(reference.JavaError) as caught, reference.open_index_file(tmp_path / name, 1, 1):
            pass
        assert caught.value.name == exception


# --- the index service and the table of queues ------------------------------------------------------------


def service(tmp_path: Path, slots: int = 7, entries: int = 3) -> reference.IndexService:
    names = itertools.count(20260101000000000)
    return reference.IndexService(tmp_path / "index", slots, entries, new_name=lambda: str(next(names)))


def message(number: int, keys: str = "k") -> reference.DispatchRequest:
    return reference.DispatchRequest(
        "T",
        msg_size=10,
        commit_log_offset=100 * number,
        consume_queue_offset=number,
        store_timestamp=T0 + 1000 * number,
        keys=keys,
    )


@pytest.mark.parametrize(("slots", "entries"), [(7, 1), (7, 0), (1 << 30, 3)])
def test_idx_svc_20_a_file_that_takes_nothing_is_unspecified(
    slots: int, entries: int, tmp_path: Path
) -> None:
    with pytest.raises(reference.UnspecifiedError):
        service(tmp_path, slots, entries).build(message(1))


def test_cq_trunc_of_one_unit_files_is_unspecified(tmp_path: Path) -> None:
    queue = reference.ConsumeQueue(tmp_path, "T", 0, 20)
    queue.put(0, 10, 1, 0)
    with pytest.raises(reference.UnspecifiedError):
        queue.truncate(5)


def test_idx_svc_18_the_least_time_of_a_full_file_counts(tmp_path: Path) -> None:
    """`IndexService.flush` 347-366 asks for more than 0."""
    index = service(tmp_path, entries=2)
    for number, time in ((1, 1), (2, T0)):
        index.build(replace(message(number), store_timestamp=time))
    assert index.settle() == 1


def test_a_file_whose_end_is_beyond_a_long_begins_before_any_offset(tmp_path: Path) -> None:
    """The sum of `MappedFileQueue.truncateDirtyFiles` 107 is negative, and so the file stays."""
    (tmp_path / "9223372036854775800").write_bytes(bytes(20))
    queue = reference.MappedFileQueue(tmp_path, 20)
    assert queue.load()
    queue.truncate_dirty_files(0)
    assert len(queue.mapped_files) == 1


def test_a_queue_begins_at_its_last_unit_if_the_log_does(tmp_path: Path) -> None:
    """`ConsumeQueue.correctMinOffset` 574 of 5.5.0: only a last record before the log's begin leaves no valid unit."""
    queue = reference.ConsumeQueue(tmp_path, "T", 0, 200, rules=reference.Rules(searches_minimum=True))
    for number in range(2):
        queue.put(10 * number, 10, 1, number)
    queue.correct_min(10)
    assert queue.bounds().min == 1


@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient", "remainder"),
    [(5, 3, 1, 2), (5, -3, -1, 2), (-5, 3, -1, -2), (-5, -3, 1, -2)],
)
def test_division_as_the_jls_has_it(dividend: int, divisor: int, quotient: int, remainder: int) -> None:
    """The examples of JLS 15.17.2 and 15.17.3."""
    assert (reference.java.div(dividend, divisor), reference.java.rem(dividend, divisor)) == (
        quotient,
        remainder,
    )


def test_digits_of_two_chars_are_none() -> None:
    with pytest.raises(reference.JavaError, match="NumberFormatException"):
        reference.java.parse_long("\U0001d7cf")  # a mathematical bold 1


def test_ckp_1_bytes_and_files_that_are_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(MalformedError, match="found 23 bytes, expected at least 24 bytes"):
        reference.checkpoint(bytes(23))
    with pytest.raises(reference.JavaError, match="FileNotFoundException"):
        reference.read_checkpoint(tmp_path)
