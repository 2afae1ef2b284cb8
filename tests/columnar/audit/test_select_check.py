"""Every key of an index file asked for, some hashes at a time: what a query does not come to is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from rocket_columnar.audit import select_check, survey_index
from rocket_columnar.audit.select_check import check_selects
from rocket_columnar.findings import Finding
from rocket_columnar.store import StoreFile
from rocket_spec.layout import Geometry
from store_bytes import Entry, index_file, put

GEOMETRY = Geometry(3, 10)
ENTRIES = [Entry(6, 100, 0), Entry(7, 200, 0), Entry(6, 300, -1), Entry(6, 400, 2), Entry(0x7FFFFFFF, 500, 2)]
"""The walk of hash 6 ends at entry 3, whose time diff is negative (IDX-SEL-5): it and entry 1 are not found."""


@pytest.mark.parametrize("far", [1 << 20, 1 << 42, 1 << 62])
def test_offsets_far_apart_are_told_apart(far: int, tmp_path: Path) -> None:
    """Entry 1 lies behind an entry that ends the walk; entry 3, with the same hash, is found all the same."""
    entries = [Entry(6, 100, 0), Entry(6, 300, -1), Entry(6, 100 + far, 2), Entry(7, 100 + far, 2)]
    path = put(tmp_path, "index/20260101000000000", index_file(*GEOMETRY, entries))
    file = StoreFile("index", path, "index/20260101000000000")
    found: list[Finding] = []
    check_selects(file, GEOMETRY, survey_index(file, GEOMETRY, live=False, last=True), found.append)
    assert [(finding.offset, finding.message[:30]) for finding in found] == [
        (40 + 4 * 3 + 20 * 1, "2 entries from entry 1 on are "),
    ]


@pytest.mark.parametrize("at_once", [1, 2, 1 << 20])
def test_entries_behind_the_end_of_a_walk(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(select_check, "_AT_ONCE", at_once)
    path = put(tmp_path, "index/20260101000000000", index_file(*GEOMETRY, ENTRIES))
    file = StoreFile("index", path, "index/20260101000000000")
    found: list[Finding] = []
    check_selects(file, GEOMETRY, survey_index(file, GEOMETRY, live=False, last=True), found.append)
    assert [(finding.code, finding.offset) for finding in found] == [
        ("index.missing_key", 40 + 4 * 3 + 20 * 1),
        ("index.missing_key", 40 + 4 * 3 + 20 * 3),
    ]
