"""Entries of an index file that a query of their own key does not come to are named, wherever the file is."""

from pathlib import Path

import pytest
from rocket_columnar.audit import survey_index
from rocket_columnar.store import Source, StoreFile
from rocket_spec.layout import Geometry
from store_bytes import Entry, index_file

GEOMETRY = Geometry(3, 10)
NAME = "index/20260101000000000"


@pytest.mark.parametrize(
    ("entries", "lost"),
    [
        # The walk of hash 6 ends at entry 3, whose time diff is negative (IDX-SEL-5): it and entry 1 are not found.
        (
            [
                Entry(6, 100, 0),
                Entry(7, 200, 0),
                Entry(6, 300, -1),
                Entry(6, 400, 2),
                Entry(0x7FFFFFFF, 500, 2),
            ],
            ((1, 1), (3, 1)),
        ),
        # Entry 3 has the hash of those that are not found, and is found all the same.
        ([Entry(6, 100, 0), Entry(6, 300, -1), Entry(6, 500, 2), Entry(7, 500, 2)], ((1, 2),)),
        ([Entry(6, 100, 0), Entry(7, 200, 0), Entry(6, 300, 1)], ()),
    ],
)
def test_entries_behind_the_end_of_a_walk(entries: list[Entry], lost: tuple[tuple[int, int], ...]) -> None:
    data = index_file(*GEOMETRY, entries)
    file = StoreFile("index", Path(NAME), NAME, source=Source.of_bytes(NAME, data))
    assert survey_index(file, GEOMETRY, live=False, last=True).unreached == lost


def test_a_slot_beyond_the_count_hides_its_whole_chain() -> None:
    """A count of 4 in the header: the slot of entry 5 leads nowhere (IDX-SEL-1), and with it entries 1 and 3."""
    data = bytearray(index_file(*GEOMETRY, [Entry(hash_, 100 * hash_, 0) for hash_ in (6, 7, 9, 8, 12)]))
    data[36:40] = (4).to_bytes(4)
    file = StoreFile("index", Path(NAME), NAME, source=Source.of_bytes(NAME, bytes(data)))
    assert survey_index(file, GEOMETRY, live=False, last=True).unreached == ((1, 1), (3, 1))
