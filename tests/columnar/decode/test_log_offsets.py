"""Physical offsets asked of a commit log: what the whole walk gives there, and nothing read that lies far before."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from rocket_columnar.decode import Where
from rocket_columnar.store import Source, StoreFile, find_files, placed_file
from store_bytes import blank, put, record
from table_rows import decoded

FIRST = "commitlog/00000000000000000000"
COLUMNS = ["phy_offset", "size", "keys"]


pytestmark = pytest.mark.usefixtures("_form")


def assert_cut(files: Sequence[StoreFile], offsets: Sequence[tuple[int, int]]) -> None:
    """Each pair of offsets gives the rows and the gaps that all of the log has between them."""
    rows, gaps = decoded(files, columns=COLUMNS)
    for first, end in offsets:
        found = decoded(files, columns=COLUMNS, where=Where(offsets=(first, end)))
        assert found[0] == [row for row in rows if first <= row["phy_offset"] < end]
        assert found[1] == [gap for gap in gaps if gap.begin < end and first < gap.end]


def source_file(source: Source) -> StoreFile:
    file = placed_file(FIRST, source=source)
    assert file is not None
    return file


def records(start: int, sizes: Sequence[int]) -> bytes:
    made = bytearray()
    for size in sizes:
        made += record(start + len(made), body=b"b" * size)
    return bytes(made)


@pytest.mark.parametrize("seed", range(6))
def test_rows_and_gaps_are_those_of_the_whole_log(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocket_columnar.log.scan.NARROW", 1 << 9)
    dice = random.Random(seed)
    for _ in range(6):
        data = bytearray(records(0, dice.choices([1, 30, 200, 3000], k=60)))
        for _ in range(dice.choice([0, 1, 4])):
            place = dice.randrange(len(data))
            junk = dice.choice([b"j", b"\0" * 50, b"j" * 2000])
            data[place : place + len(junk)] = junk
        size = len(data) + 100
        put(tmp_path, FIRST, bytes(data + blank(100)))
        hole = dice.choice([0, 700])
        put(tmp_path, f"commitlog/{size + hole:020}", records(size + hole, [20] * 30) + bytes(500))
        places = [dice.randrange(-50, size + hole + 4500) for _ in range(60)]
        assert_cut(
            find_files(tmp_path / "commitlog"), [(at, at + dice.choice([0, 1, 150, 5000])) for at in places]
        )
        for path in (tmp_path / "commitlog").iterdir():
            path.unlink()


def test_what_lies_far_before_the_first_offset_is_not_read() -> None:
    data = records(0, [900] * 2000)
    reads: list[int] = []

    def read(offset: int, length: int) -> bytes:
        reads.append(offset)
        return data[offset : offset + length]

    file = source_file(Source("log", len(data), read))
    rows, _ = decoded([file], columns=COLUMNS, where=Where(offsets=(1_500_000, 1_500_000 + 992 * 3)))
    assert len(rows) == 3
    assert min(reads) == 1_500_000 - (1 << 16)


@pytest.mark.parametrize("first", [500, 81_000, 85_000, 200_000])
def test_a_frame_in_a_body_is_no_record(first: int) -> None:
    # Bodies that hold a frame made for the place where it lies: none is followed by another.
    data = bytearray()
    for _ in range(4):
        inner = record(len(data) + 88 + 80_000, body=b"i" * 3000)
        data += record(len(data), body=bytes(80_000) + inner + bytes(20_000))
    assert_cut([source_file(Source.of_bytes("log", bytes(data)))], [(first, first + 70_000)])


def test_gaps_elsewhere_are_not_told() -> None:
    parts = [records(0, [100] * 3), b"j" * 5000]
    parts.append(records(sum(map(len, parts)), [100] * 1000))
    file = source_file(Source.of_bytes("log", b"".join(parts)))
    gap_end = len(parts[0]) + 5000
    assert decoded([file], where=Where(offsets=(gap_end, 1 << 40)))[1] == []
    assert len(decoded([file], where=Where(offsets=(gap_end - 1, 1 << 40)))[1]) == 1
    assert decoded([file], where=Where(offsets=(0, len(parts[0]))))[1] == []
