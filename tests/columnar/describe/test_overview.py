"""What a store contains, at a look: against what Java recorded, and on stores with parts missing."""

import shutil
import struct
from collections import Counter
from pathlib import Path

import pytest
import rocket_golden
from one_at_a_time import broker_lock
from rocket_columnar.describe import compare_stores, look_at, space
from rocket_columnar.index import IndexFile
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, Entry, index_file, overwrite, put, record, unit

_UNIT = struct.Struct(">qiq")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return rocket_golden.open_store("mixed", tmp_path)


@pytest.mark.parametrize("name", rocket_golden.stores())
def test_counts_are_those_that_java_recorded(name: str, tmp_path: Path) -> None:
    seen = look_at(rocket_golden.open_store(name, tmp_path))
    truth = list(rocket_golden.truth(name))
    begin = 0 if seen.log is None else seen.log.begin  # a slave's queues may point before its log
    units = Counter(
        (line["topic"], line["queue_id"])
        for line in truth
        if line["type"] == "queue_unit" and line["phy_offset"] >= begin
    )
    assert {(queue.topic, queue.queue_id): queue.messages for queue in seen.queues if queue.messages} == units
    entries = Counter(line["type"] for line in truth)["index_entry"]
    assert sum(index.entries for index in seen.indexes) == entries
    records = [line for line in truth if line["type"] == "log_record"]
    if records and seen.log is not None:
        stored = [record["store_timestamp"] for record in records]
        assert (seen.log.begin_timestamp, seen.log.end_timestamp) == (min(stored), max(stored))
        assert seen.log.end == max(record["phy_offset"] + record["size"] for record in records)
    assert seen.problems == ()


@pytest.mark.parametrize("count", [78, 77_777, (1 << 31) - 1])
def test_entries_that_only_a_damaged_header_counts(count: int, tmp_path: Path) -> None:
    """Of 77 cells, 30 are written, the first one unused."""
    with IndexFile(tmp_path / "index" / "20231114221320000", 7, 77) as index:
        assert all(index.put(f"T#k{number}", 100 * number, BEGIN) for number in range(29))
        index.flush()
    overwrite(tmp_path / "index" / "20231114221320000", 36, struct.pack(">i", count))
    (seen,) = look_at(tmp_path, geometry=Geometry(7, 77)).indexes
    assert seen.entries == 29


@pytest.mark.parametrize(("begin", "expected"), [(0, 1), (50, 1), (51, 7), (90, 7)])
def test_filler_between_units_does_not_hide_those_before_it(store: Path, begin: int, expected: int) -> None:
    """One filler, three units of a record at 50, three fillers for lost records, and a unit of one at 91."""
    shutil.rmtree(store / "commitlog")
    put(store, f"commitlog/{begin:020}", record(begin))
    folder = store / "consumequeue" / "Young" / "0"
    folder.mkdir(parents=True)
    filler = _UNIT.pack(0, 0x7FFFFFFF, 0)
    units = [filler, *[_UNIT.pack(50, 1, 0)] * 3, *[filler] * 3, _UNIT.pack(91, 9, 0)]
    (folder / f"{0:020}").write_bytes(b"".join(units).ljust(400, b"\0"))
    (queue,) = (queue for queue in look_at(store).queues if queue.topic == "Young")
    assert (queue.min_offset, queue.max_offset) == (expected, 8)


def test_parts_that_are_missing(store: Path) -> None:
    for name in ("index", "consumequeue", "checkpoint"):
        path = store / name
        path.rename(store.parent / name)
    seen = look_at(store)
    assert (seen.indexes, seen.queues, seen.checkpoint, seen.index_coverage) == ((), (), None, 0.0)
    assert seen.clean
    for name in ("index", "consumequeue"):
        part = look_at(store.parent / name)
        assert (part.clean, part.running, part.log) == (None, None, None)
    (store.parent / "empty").mkdir()
    with pytest.raises(UsageError):
        look_at(store.parent / "empty")


def test_an_index_file_that_is_cut_short_leaves_the_rest(store: Path) -> None:
    path = next((store / "index").iterdir())
    path.write_bytes(path.read_bytes()[:100])
    seen = look_at(store)
    assert len(seen.queues) == 18
    assert len(seen.indexes) == 6


@pytest.mark.parametrize(("begin", "gone"), [(96, 0), (97, 1)])
def test_an_index_file_that_ends_where_the_log_begins_stays(tmp_path: Path, begin: int, gone: int) -> None:
    """`IndexService.deleteExpiredFile` 90-141: one whose last offset is below the log's first."""
    put(tmp_path, f"commitlog/{begin:020}", record(begin).ljust(1024, b"\0"))
    for number in (1, 2):
        put(tmp_path, f"index/2026010100000000{number}", index_file(7, 12, [Entry(3, 96 * number, 0)]))
    assert len(space(tmp_path).spare_indexes) == gone
    assert look_at(tmp_path).index_coverage == (192 - begin) / 96  # what is before the log counts for nothing


@pytest.mark.parametrize(("place", "differs"), [(150, ("log", 150, 96)), (31, ("T/0", 1, None))])
def test_the_first_difference_of_two_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int, differs: tuple[str, int, int | None]
) -> None:
    """A byte of the second record, or of the second unit, is another one; 64 bytes are compared at once."""
    monkeypatch.setattr("rocket_columnar.describe.differences._BYTES_AT_ONCE", 64)
    log, queue = f"commitlog/{0:020}", f"consumequeue/T/0/{0:020}"
    for name in ("one", "other"):
        put(tmp_path / name, log, (record(0) + record(96, queue_offset=1)).ljust(1024, b"\0"))
        put(tmp_path / name, queue, (unit(0, 96) + unit(96, 96)).ljust(100, b"\0"))
    overwrite(tmp_path / "other" / (log if differs[0] == "log" else queue), place, b"\x61")
    (found,) = compare_stores(tmp_path / "one", tmp_path / "other")
    assert (found.part, found.offset, found.record) == differs


def test_a_store_in_use_is_known_by_its_lock(store: Path) -> None:
    """As 4.9.3 locks it: the first byte of the file `lock`, until the process ends."""
    (store / "abort").touch()
    assert (look_at(store).clean, look_at(store).running) == (False, 0)
    with broker_lock(store) as holder:
        assert look_at(store).running == holder
    assert look_at(store).running == 0
