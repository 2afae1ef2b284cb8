"""Files of 5.x as classes of 5.5.1 wrote them (`later/`), in the schemas and tables, against what the same classes read there."""

import hashlib
import shutil
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from make_later import make, printed
from rocket_spec import construct_schemas as schemas
from rocket_spec.kaitai import Batchconsumequeue, Checkpoint, Commitlog, Timerlog, Timerwheel
from rocket_spec.later_layouts import BATCH_UNIT
from table_rows import table_rows

LATER: Final = Path(__file__).parent / "later"
BEGIN: Final = 1_700_000_000_000


@pytest.fixture
def opened(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A store of 5.5.1 by its name: `files`, `store` or `crc`."""
    shutil.unpack_archive(LATER / f"{request.param}.zip", tmp_path)
    return tmp_path


def of(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("opened", [name], indirect=True)


def facts(folder: Path, first: str) -> list[list[int]]:
    """The numbers of the lines that begin with a word."""
    lines = [line.split() for line in (folder / "facts.txt").read_text().splitlines()]
    return [[int(value) for value in line[1:]] for line in lines if line[0] == first]


def picked(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> list[list[Any]]:
    """Some columns of rows."""
    return [[row[name] for name in names] for row in rows]


@pytest.mark.java
def test_the_files_are_fresh(maven: str, tmp_path: Path) -> None:
    assert maven
    make("files", tmp_path / "files.zip")
    assert (tmp_path / "files.zip").read_bytes() == (LATER / "files.zip").read_bytes()


@pytest.mark.java
def test_lengths_of_batch_files_and_copies_of_the_wheel(maven: str, tmp_path: Path) -> None:
    """BCQ-2: files of 2 units and a rest of 0, 8, 37, 38 and 45 bytes. TIM-2: another time's slot, copies, one of another length."""
    assert maven
    assert printed("LaterEdges", tmp_path).splitlines() == [
        "batch 92 true true true true 4",
        "batch 100 true true false false BufferUnderflowException",
        "batch 129 true true false false BufferUnderflowException",
        "batch 130 true true false false 2",
        "batch 137 true true false false 2",
        "slots -1 5000",
        "revised 77 77 4 6",
        "copies [timerwheel, timerwheel.2000, timerwheel.5000.tmp, timerwheel.999] 2000",
        "written false",
        "length Timer wheel length:640 != expected:704",
        "made 640",
    ]


@of("files")
def test_checkpoint(opened: Path) -> None:
    """CKP-5."""
    data = (opened / "checkpoint").read_bytes()
    names = ["master_flushed_offset", "confirm_phy_offset", "logics_physical_offset"]
    (row,) = table_rows(opened / "checkpoint", "checkpoint")
    read, kaitai = schemas.CHECKPOINT.parse(data), Checkpoint.from_bytes(data)
    for name, value in zip(names, (4, 5, 6), strict=True):
        assert row[name] == read[name] == getattr(kaitai, name) == value
    assert schemas.CHECKPOINT.build(read) == data
    (opened / "checkpoint").write_bytes(data[:24] + bytes(4072))
    (row,) = table_rows(opened / "checkpoint", "checkpoint")
    assert [row[name] for name in names] == [None] * 3
    assert row["index_msg_timestamp"] == BEGIN + 3


@of("store")
def test_batch_units(opened: Path) -> None:
    """BCQ-1: what `BatchConsumeQueue` answers for each unit of both queues."""
    wanted = facts(opened, "unit")
    names = ["queue_id", *(field.name for field in BATCH_UNIT.fields[:-1])]
    assert picked(table_rows(opened, "batch_consume_queue"), names) == wanted
    queue = sorted((opened / "batchconsumequeue" / "Batched" / "0").iterdir())
    data = b"".join(path.read_bytes() for path in queue)
    units = [vars(unit) for unit in Batchconsumequeue.from_bytes(data).units if unit.is_in_use]
    own = [line[1:] for line in wanted if line[0] == 0]
    lengths = {"size": "len_record", "batch_size": "len_batch"}
    assert picked(units, [lengths.get(name, name) for name in names[1:]]) == own
    read = schemas.BATCH_FILE.parse(data)
    assert picked(read[: len(own)], names[1:]) == own
    assert schemas.BATCH_FILE.build(read) == data


@of("store")
def test_batch_files(opened: Path) -> None:
    """BCQ-2."""
    names = {path.name for path in (opened / "batchconsumequeue" / "Batched" / "0").iterdir()}
    assert names == {f"{460 * number:020}" for number in range(4)}
    assert not (opened / "consumequeue" / "Batched").exists()
    found = table_rows(opened / "batchconsumequeue" / "Batched" / "0", "batch_consume_queue")
    assert [row["position"] for row in found] == [46 * number for number in range(len(found))]


@of("store")
def test_batches_of_messages(opened: Path) -> None:
    """BCQ-3: units by INNER_NUM, and one each for the records without it."""
    records = {
        row["phy_offset"]: row for row in table_rows(opened, "commit_log") if row["topic"] == "Batched"
    }
    units = table_rows(opened, "batch_consume_queue")
    assert {unit["phy_offset"] for unit in units} == set(records)
    following = {0: 0, 1: 0}
    single = 0
    for unit in units:
        record = records[unit["phy_offset"]]
        pairs = dict(record["properties"])
        assert unit["base_offset"] == record["queue_offset"] == following[unit["queue_id"]]
        assert unit["batch_size"] == int(pairs.get("INNER_NUM", 1))
        assert ("INNER_NUM" in pairs) == bool(record["sys_flag"] & 128)
        assert pairs.get("INNER_BASE") in (None, str(unit["base_offset"]))
        single += "INNER_NUM" not in pairs
        following[unit["queue_id"]] += unit["batch_size"]
    assert single == 6
    assert [following[queue] for queue in (0, 1)] == [line[2] for line in facts(opened, "=")]


@pytest.mark.parametrize(("at", "value"), [(0, -1), (8, 0), (28, -1), (36, 0)])
@of("store")
def test_batch_units_in_use(opened: Path, at: int, value: int) -> None:
    """BCQ-4: a last unit with such a field is not in use."""
    path = opened / "batchconsumequeue" / "Batched" / "0" / f"{460:020}"
    data = path.read_bytes()
    size = {0: 8, 8: 4, 28: 8, 36: 2}[at]
    path.write_bytes(data[: 414 + at] + value.to_bytes(size, signed=True) + data[414 + at + size :])
    assert len(table_rows(path, "batch_consume_queue")) == 9
    assert not Batchconsumequeue.from_bytes(path.read_bytes()).units[9].is_in_use


@of("store")
def test_long_topics(opened: Path) -> None:
    """LOG-REC-10: the records of a topic of 200 characters."""
    data = (opened / "commitlog" / f"{0:020}").read_bytes()
    frames = [frame for frame in Commitlog.from_bytes(data).frames if frame.is_record]
    found = [frame for frame in frames if frame.is_v2]
    assert [frame.record.topic for frame in found] == [b"L" * 200] * 6
    assert len(frames) == len(table_rows(opened, "commit_log"))
    assert [row["topic"] for row in table_rows(opened, "commit_log")].count("L" * 200) == 6
    record = data[found[0].record.phy_offset :][: found[0].len_total]
    assert record[4:8].hex() == "daa320ab"
    assert schemas.RECORD.parse(record)["topic"] == b"L" * 200


@of("crc")
def test_property_checksums(opened: Path) -> None:
    """LOG-PROP-8: each record of a store with `enabledAppendPropCRC` has it."""
    data = b"".join(path.read_bytes() for path in sorted((opened / "commitlog").iterdir()))
    found = table_rows(opened, "commit_log")
    assert len(found) > 80
    for row in found:
        record = data[row["phy_offset"] :][: row["size"]]
        text = dict(row["properties"])["__CRC32#"]
        assert record[-20:] == b"__CRC32#\1" + text.encode() + b"\2"
        assert int(text[::-1]) == zlib.crc32(record[:-20]) & 0x7FFFFFFF


@of("files")
def test_timer_wheel(opened: Path) -> None:
    """TIM-1, TIM-2: what `TimerWheel.getRawSlot` answers, in the wheel and in its snapshot."""
    names = ("slot", "delayed_time", "first_position", "last_position", "num", "magic")
    wanted = [[line[0], line[1] // 1000, *line[2:]] for line in facts(opened, "slot")]
    for name in ("timerwheel", "timerwheel.123"):
        assert picked(table_rows(opened / name, "timer_wheel"), names) == wanted
    data = (opened / "timerwheel").read_bytes()
    slots = Timerwheel.from_bytes(data).slots
    assert [
        [n, s.delayed_time, s.ofs_first, s.ofs_last, s.num, s.magic]
        for n, s in enumerate(slots)
        if s.delayed_time
    ] == wanted
    assert schemas.TIMER_WHEEL.build(schemas.TIMER_WHEEL.parse(data)) == data
    assert all(line[1] % 16 == line[0] for line in wanted)


@of("files")
def test_timer_log(opened: Path) -> None:
    """TIM-3, TIM-4: four units in a file of 238 bytes, of which 30 are left: a blank of 30 bytes."""
    found = table_rows(opened / "timerlog", "timer_log")
    wanted = facts(opened, "unit")
    assert [
        [row["position"], row["prev_position"], row["write_time"] + row["delay"]] for row in found
    ] == wanted
    fixed = ("size", "magic", "write_time", "phy_offset", "record_size", "topic_hash")
    assert picked(found, fixed) == [
        [52, 5 if n == 5 else 1, BEGIN + n, 200 * n, 200 + n, -n] for n in range(11)
    ]
    data = (opened / "timerlog" / f"{0:020}").read_bytes()
    *units, blank = Timerlog.from_bytes(data).frames
    assert [frame.unit.phy_offset for frame in units] == [0, 200, 400, 600]
    assert (blank.is_blank, blank.len_unit) == (True, 30)
    assert data[208:224] == struct.pack(">iqI", 30, 0, 0xCBD43194)
    assert schemas.TIMER_UNIT.parse(data[52:104])["record_size"] == 201
    file = opened / "timerlog" / f"{0:020}"
    file.write_bytes(data[:168] + bytes.fromhex("cbd43194") + data[172:])  # a blank as long as a unit
    assert len(table_rows(file, "timer_log")) == 3


def test_recorded_files_are_small() -> None:
    assert all(len(path.read_bytes()) < 1 << 15 for path in LATER.glob("*.zip"))
    assert len({hashlib.sha256(path.read_bytes()).digest() for path in LATER.glob("*.zip")}) == 3
