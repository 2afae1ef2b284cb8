"""Logical offsets after a hole in the log: units keep the places that their records state, or the queue is left out."""

import shutil
from pathlib import Path

import pytest
from rocket_columnar.rebuild import rebuild
from rocket_golden import open_store
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, put, record, unit

BLANK = unit(0, 0x7FFFFFFF)


def units(store: Path) -> dict[tuple[str, int], bytes]:
    """The units of a store by queue and logical offset; places that nothing was put in are left out."""
    found: dict[tuple[str, int], bytes] = {}
    for path in sorted((store / "consumequeue").glob("*/*/*")):
        data = path.read_bytes()
        for at in range(0, len(data), 20):
            if any(data[at : at + 20]):
                number = (int(path.name) + at) // 20
                found["/".join(path.parts[-3:-1]), number] = data[at : at + 20]
    return found


def ends(held: dict[tuple[str, int], bytes]) -> dict[str, int]:
    """The last logical offset of each queue."""
    return {queue: place for (queue, place), _ in sorted(held.items(), key=lambda one: one[0][1])}


def lose(store: Path, how: str) -> range:
    """Damages the log, after its first file if it has several; the physical offsets that are lost."""
    logs = sorted((store / "commitlog").iterdir())
    path = logs[1] if len(logs) > 2 else logs[0]
    data, base = path.read_bytes(), int(path.name)
    if how == "missing file":
        path.unlink()
        return range(base, base + len(data))
    records = sorted(int.from_bytes(held[:8]) - base for held in units(store).values() if held != BLANK)
    begin = next(at for at in records if at >= len(data) // 2)
    end = next(at for at in records if at >= 3 * len(data) // 4) if how == "damage" else len(data)
    path.write_bytes(data[:begin] + bytes(end - begin) + data[end:])
    if how == "cut file":
        path.write_bytes(data[:begin])
    return range(base + begin, base + end)


@pytest.mark.parametrize("how", ["missing file", "damage", "zeros to the file's end", "cut file"])
@pytest.mark.parametrize("name", ["killed-restarted", "lmq", "mixed", "small-roll", "transactions"])
def test_units_after_a_hole_keep_their_places(name: str, how: str, tmp_path: Path) -> None:
    store = open_store(name, tmp_path / "golden")
    healthy = units(store)
    lost = lose(store, how)
    findings = rebuild(store, tmp_path / "out").findings
    left_out = {found.file.partition("/")[2] for found in findings if found.code == "queue.order"}
    assert left_out <= {"Mirror/1"}  # a broker wrote it with units above and below what their records state
    made = units(tmp_path / "out")
    pointers = {
        place: range(offset := int.from_bytes(data[:8]), offset + int.from_bytes(data[8:12]))
        for place, data in healthy.items()
    }
    gone = {place for place, at in pointers.items() if max(at.start, lost.start) < min(at.stop, lost.stop)}
    assert gone
    assert ends(made).items() >= {q: end for q, end in ends(healthy).items() if q not in left_out}.items()
    assert {place: data for place, data in made.items() if place in gone} == {
        place: data for place, data in healthy.items() if place in gone and place in made
    }
    kept = {
        place: data
        for place, data in healthy.items()
        if place not in gone and data != BLANK and place[0] not in left_out
    }
    assert {place: data for place, data in made.items() if data != BLANK and place not in gone} == kept


def test_lost_records_become_pre_blank_units(tmp_path: Path) -> None:
    """Records 0, 1 and 4 of a queue; 2 and 3 were in the damaged bytes, and the store has no unit of theirs."""
    data = log([0, 1, 2, 3, 4])
    damaged = bytearray(data)
    ends = [len(log([0, 1, 2, 3, 4][:count])) for count in range(6)]
    damaged[ends[2] : ends[4]] = b"\xff" * (ends[4] - ends[2])
    put(tmp_path / "store", f"commitlog/{0:020}", bytes(damaged).ljust(4096, b"\0"))
    whole = unit(0, ends[1]) + unit(ends[1], ends[2] - ends[1]) + BLANK * 2 + unit(ends[4], ends[5] - ends[4])
    assert rebuilt(tmp_path) == whole.rstrip(b"\0")


def test_the_unit_of_a_record_whose_topic_is_unsafe_is_kept(tmp_path: Path) -> None:
    """The topic of the second of three records was damaged: a broker's unit, if there is one, still leads to it."""
    data = log([0, 1, 2])
    size = len(data) // 3
    put(tmp_path / "store", f"commitlog/{0:020}", data.ljust(4096, b"\0"))
    whole = rebuilt(tmp_path)
    broken = data[:size] + data[size : 2 * size].replace(b"\1T", b"\1/") + data[2 * size :]
    put(tmp_path / "store", f"commitlog/{0:020}", broken.ljust(4096, b"\0"))
    shutil.rmtree(tmp_path / "out")
    blank = rebuilt(tmp_path)
    assert whole is not None
    assert blank == whole[:20] + BLANK + whole[40:]
    put(tmp_path / "store", f"consumequeue/T/0/{0:020}", whole.ljust(4000, b"\0"))
    shutil.rmtree(tmp_path / "out")
    assert rebuilt(tmp_path) == whole


@pytest.mark.parametrize("begin", [1024, 0], ids=["expired", "in a hole"])
def test_a_queue_without_a_record_in_the_log_keeps_its_units(begin: int, tmp_path: Path) -> None:
    """Its records were before the log's beginning, or in a missing file: its next message still gets logical offset 7."""
    own = unit(1030 if begin == 0 else 500, 100) + unit(1130 if begin == 0 else 600, 100)
    put(tmp_path / "store", f"consumequeue/T/0/{0:020}", (BLANK * 5 + own).ljust(4000, b"\0"))
    for base in (0, 2048):
        other = record(base + begin, topic=b"Other", queue_offset=base)
        put(tmp_path / "store", f"commitlog/{base + begin:020}", other.ljust(1024, b"\0"))
    rebuild(tmp_path / "store", tmp_path / "out", geometry=Geometry(4, 8), queue_file_size=4000)
    path = tmp_path / "out" / "consumequeue" / "T" / "0" / f"{0:020}"
    assert path.read_bytes().rstrip(b"\0") == BLANK * 5 + own.rstrip(b"\0")


def log(offsets: list[int], base: int = 0) -> bytes:
    """Records of one queue with these logical offsets."""
    data = b""
    for number, logical in enumerate(offsets):
        data += record(base + len(data), queue_offset=logical, store_timestamp=BEGIN + 1000 * number)
    return data


def rebuilt(root: Path) -> bytes | None:
    """The queue that is rebuilt, without zeros after it; None if it is left out, which is a finding."""
    done = rebuild(root / "store", root / "out", geometry=Geometry(4, 8), queue_file_size=4000)
    files = list((root / "out").glob("consumequeue/*/*/*"))
    left_out = [found for found in done.findings if found.code == "queue.order"]
    assert [found.file for found in left_out] == ([] if files else ["consumequeue/T/0"])
    assert bool(files) == bool(list((root / "out" / "consumequeue").iterdir()))
    return files[0].read_bytes().rstrip(b"\0") if files else None


def test_a_jump_without_a_hole_is_put_where_the_broker_puts_it(tmp_path: Path) -> None:
    data = log([0, 1, 7, 8])
    put(tmp_path / "store", f"commitlog/{0:020}", data.ljust(4096, b"\0"))
    made = rebuilt(tmp_path)
    assert made is not None
    assert BLANK not in made
    assert len(made) <= 4 * 20


def test_a_hole_in_which_the_queue_lost_nothing_leaves_a_jump_as_it_is(tmp_path: Path) -> None:
    """7 is at place 2 by an earlier jump; the records 8 and 9 follow it there, before and after the hole."""
    data = log([0, 1, 7, 8])
    put(
        tmp_path / "store",
        f"commitlog/{0:020}",
        data + b"\xff" * 300 + log([9], len(data) + 300).ljust(2000, b"\0"),
    )
    made = rebuilt(tmp_path)
    assert made is not None
    assert BLANK not in made


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([0, 1], [9], id="more than the hole can have held"),
        pytest.param([0, 1], [2**62], id="no disk has room for that many"),
        pytest.param([0, 7, 8], [12], id="the places were unknown before the hole"),
    ],
)
def test_a_queue_whose_places_are_unknown_is_left_out(
    before: list[int], after: list[int], tmp_path: Path
) -> None:
    data = log(before)
    put(
        tmp_path / "store",
        f"commitlog/{0:020}",
        (data + b"\xff" * 300 + log(after, len(data) + 300)).ljust(4096, b"\0"),
    )
    assert rebuilt(tmp_path) is None


def test_a_file_of_another_log_leaves_the_queue_out(tmp_path: Path) -> None:
    """The second file is another broker's: its logical offsets are far above, and those of the third are below."""
    for number, offsets in enumerate(([0, 1, 2], [500, 501], [6, 7])):
        data = log(offsets, number * 1024)
        filler = b"" if number == 2 else (1024 - len(data)).to_bytes(4) + bytes.fromhex("bbccddee")
        put(tmp_path / "store", f"commitlog/{number * 1024:020}", (data + filler).ljust(1024, b"\0"))
    assert rebuilt(tmp_path) is None


def with_copies(hole: bytes) -> bytes:
    """Two records of T, a copy that states 5, a hole, and another record of T."""
    data = log([0, 1])
    copies = b"INNER_MULTI_DISPATCH\1T\2INNER_MULTI_QUEUE_OFFSET\1" + b"5\2"
    data += record(len(data), topic=b"M", properties=copies) + hole
    return data + record(len(data), queue_offset=2) + record(len(data) + len(record(0)), queue_offset=9)


def test_copies_are_numbered_apart_and_put_as_the_broker_puts_them(tmp_path: Path) -> None:
    """`putMessagePositionInfo` skips the third record, which states 2 when the queue is at 3; 9 goes to place 3."""
    data = with_copies(b"")
    put(tmp_path / "store", f"commitlog/{0:020}", data.ljust(4096, b"\0"))
    rebuild(tmp_path / "store", tmp_path / "out", geometry=Geometry(4, 8), queue_file_size=4000)
    places = [number for (queue, number) in units(tmp_path / "out") if queue == "T/0"]
    assert places == [0, 1, 2, 3]


def test_a_queue_with_copies_is_left_out_after_a_hole(tmp_path: Path) -> None:
    data = with_copies(b"\xff" * 2000)
    put(tmp_path / "store", f"commitlog/{0:020}", data.ljust(8192, b"\0"))
    done = rebuild(tmp_path / "store", tmp_path / "out", geometry=Geometry(4, 8), queue_file_size=4000)
    assert "consumequeue/T/0" in {found.file for found in done.findings if found.code == "queue.order"}
    assert {queue for queue, _ in units(tmp_path / "out")} == {"M/0"}


def test_only_missing_leaves_the_units_of_lost_records_out_of_no_place(tmp_path: Path) -> None:
    """Copying the output over a store with a hole renumbers none of its units."""
    store = open_store("mixed", tmp_path / "golden")
    healthy = units(store)
    lose(store, "missing file")
    rebuild(store, tmp_path / "out", only_missing=True)
    for place, data in units(tmp_path / "out").items():
        assert data in (healthy[place], BLANK)
