"""What `occupancy` counts in index files of known content, and the oddities that it names."""

from pathlib import Path

import pytest
from rocket_columnar.describe import Occupancy, occupancy
from rocket_columnar.describe import file_summary as module
from rocket_columnar.index import IndexFile
from rocket_golden import open_store, truth
from rocket_spec.layout import Geometry
from store_bytes import BEGIN as T
from store_bytes import overwrite

GEOMETRY = Geometry(4, 10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "20260101000000000"


def fill(path: Path, *puts: tuple[str, int, int], seed: int = 0) -> Occupancy:
    with IndexFile(path, *GEOMETRY, end_timestamp=seed) as index:
        for put in puts:
            assert index.put(*put)
        index.flush()
    return occupancy(path, GEOMETRY)


def oddities(found: Occupancy) -> set[str]:
    return {oddity.clause for oddity in found.oddities}


# hashes 97 to 100: slots 1, 2, 3, 0
PUTS = (("a", 10, T), ("b", 20, T + 1000), ("a", 30, T + 5999), ("e", 25, T + 4000))


def test_counts(path: Path) -> None:
    found = fill(path, *PUTS)
    assert (found.entries, found.capacity, found.used_slots) == (4, 9, 2)
    assert found.chains == ((1, 1), (3, 1))
    assert (found.begin_timestamp, found.end_timestamp) == (T, T + 5000)
    assert (found.begin_phy_offset, found.end_phy_offset) == (10, 30)
    assert found.slot_shares == (0.0, 1.0, 1.0, 0.0)
    assert found.times == ((1, T), (2, T + 1000), (3, T + 5000), (4, T + 4000))
    assert oddities(found) == {"IDX-SEL-7"}


def test_a_pass_in_parts_is_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fill(path, *PUTS)
    monkeypatch.setattr(module, "AT_ONCE", 1)
    assert occupancy(path, GEOMETRY) == whole


def test_a_fresh_file(path: Path) -> None:
    found = fill(path)
    assert (found.entries, found.used_slots, found.chains, found.times) == (0, 0, (), ())
    assert (found.begin_timestamp, found.end_phy_offset) == (None, None)
    assert oddities(found) == set()
    path.write_bytes(bytes(GEOMETRY.file_size))
    assert oddities(occupancy(path, GEOMETRY)) == {"IDX-HDR-5"}


def test_oddities_of_whole_files(path: Path) -> None:
    assert oddities(fill(path, ("a", 1, T), ("b", 2, T - 1))) == {"IDX-HDR-3"}
    path.unlink()
    rolled = fill(path, ("a", 1, T), seed=T - 9000)
    assert "entry 1 is placed 9 s after" in rolled.oddities[0].text
    path.unlink()
    assert oddities(fill(path, *[("a", 1, T)] * 9)) == {"IDX-FULL-1"}


@pytest.mark.parametrize(
    ("offset", "value", "clause"),
    [
        (40, 7, "IDX-PUT-5"),  # slot 0 leads to an entry that is not there
        (40 + 12, 1, "IDX-HASH-3"),  # slot 3 leads to an entry of slot 1
        (32, 9, "IDX-HDR-4"),  # hash slot count
        (20, 9, "IDX-HDR-2"),  # begin physical offset
        (28, 9, "IDX-HDR-3"),  # end physical offset
        (56 + 20, -1, "IDX-HASH-1"),  # key hash of entry 1
        (56 + 20 + 16, 1, "IDX-PUT-6"),  # previous entry of entry 1
        (56 + 20 + 12, -1, "IDX-SEL-5"),  # time diff of entry 1
        (56 + 60, 5, "IDX-PUT-11"),  # the entry behind the last
    ],
)
def test_oddities_of_damaged_files(path: Path, offset: int, value: int, clause: str) -> None:
    assert oddities(fill(path, ("a", 1, T), ("b", 2, T))) == set()
    overwrite(path, offset, value.to_bytes(4, signed=True))
    assert clause in oddities(occupancy(path, GEOMETRY))


def test_the_golden_store_counts_as_java_did(tmp_path: Path) -> None:
    store = open_store("mixed", tmp_path)
    lines = list(truth("mixed"))
    headers = [line for line in lines if line["type"] == "index_header"]
    entries = [line for line in lines if line["type"] == "index_entry"]
    for header in headers:
        found = occupancy(store / header["file"], Geometry(header["hash_slot_num"], header["index_num"]))
        own = [line for line in entries if line["file"] == header["file"]]
        assert found.entries == len(own)
        assert found.used_slots == header["hash_slot_count"]
        slots = [line["slot"] for line in own]
        lengths = [slots.count(slot) for slot in set(slots)]
        assert found.chains == tuple((n, lengths.count(n)) for n in sorted(set(lengths)))
        assert found.begin_timestamp == min(line["store_timestamp"] for line in own)
        assert found.end_phy_offset == max(line["phy_offset"] for line in own)
