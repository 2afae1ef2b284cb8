"""What `occupancy` counts in the index files of a golden store, and in parts; `cases/describe.md` has small files."""

from pathlib import Path

import pytest
from rocket_columnar.describe import file_summary as module
from rocket_columnar.describe import occupancy
from rocket_golden import open_store, truth
from rocket_spec.layout import Geometry
from store_bytes import Entry, index_file, put

GEOMETRY = Geometry(4, 10)


def test_a_pass_in_parts_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(
        tmp_path,
        "20260101000000000",
        index_file(*GEOMETRY, [Entry(97, 10, 0), Entry(98, 20, 1), Entry(97, 30, 5)]),
    )
    whole = occupancy(path, GEOMETRY)
    monkeypatch.setattr(module, "AT_ONCE", 1)
    assert occupancy(path, GEOMETRY) == whole


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
