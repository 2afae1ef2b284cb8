"""The clause that a fault breaks, and what explains it, where either depends on a neighbour: for the judge of stores."""

from pathlib import Path

import pytest
from rocket_columnar.audit import audit
from rocket_columnar.findings import Finding
from rocket_columnar.formats import hash_key
from store_bytes import BEGIN, Entry, index_file, overwrite, put, record, unit

SIZE = len(record(0))
FIRST, SECOND = "index/20231114221320000", "index/20231114221321000"
DUE = BEGIN + 1000  # of level 1, which waits 1 s
KEYS = b"KEYS\1a b\2"


def findings(store: Path, code: str) -> list[Finding]:
    return [one for one in audit(store, "exact") if one.code == code]


@pytest.mark.parametrize(("units", "cut_off"), [([2 * SIZE], False), ([0, 2 * SIZE], True)])
def test_a_unit_beyond_the_log_is_of_a_message_that_was_cut_off_unless_a_record_has_its_place(
    units: list[int], tmp_path: Path, *, cut_off: bool
) -> None:
    """Nothing is stored after the first record, which states logical offset 0."""
    put(tmp_path, f"commitlog/{0:020}", record(0).ljust(1024, b"\0"))
    put(tmp_path, f"consumequeue/T/0/{0:020}", b"".join(unit(at, SIZE) for at in units).ljust(200, b"\0"))
    (found,) = (one.deviation for one in findings(tmp_path, "queue.dangling"))
    assert found is not None
    assert bool(found.allowed) == cut_off


@pytest.mark.parametrize(
    ("tags", "clause"), [(DUE % (1 << 32), "CQ-TAGS-1"), (DUE + 1, "CQ-TAGS-2"), (DUE - 1, "CQ-TAGS-2")]
)
def test_the_lower_half_of_a_tags_code(tags: int, clause: str, tmp_path: Path) -> None:
    """Of a delivery time 32 bits are left where a unit's code is an int; another time is that of another delay."""
    topic = b"SCHEDULE_TOPIC_XXXX"
    first = record(0, topic=topic, properties=b"DELAY\0011\2")
    log = b"".join(
        record(len(first) * number, topic=topic, queue_offset=number, properties=b"DELAY\0011\2")
        for number in range(3)
    )
    put(tmp_path, f"commitlog/{0:020}", log.ljust(1024, b"\0"))
    units = b"".join(
        unit(len(first) * number, len(first), tags if number == 1 else DUE) for number in range(3)
    )
    put(tmp_path, f"consumequeue/SCHEDULE_TOPIC_XXXX/0/{0:020}", units.ljust(200, b"\0"))
    (found,) = findings(tmp_path, "queue.tags_code")
    assert (found.clause, found.offset) == (clause, 20 + 12)


@pytest.mark.parametrize(("files", "clause"), [(["ab", "b"], "IDX-SVC-3"), (["abb", ""], "IDX-SVC-2")])
def test_a_key_that_is_indexed_twice(files: list[str], clause: str, tmp_path: Path) -> None:
    """By the first put of a new file, which repeats the last one of a full file, or by any other."""
    log = record(0, properties=KEYS)
    put(tmp_path, f"commitlog/{0:020}", log.ljust(1024, b"\0"))
    put(tmp_path, f"consumequeue/T/0/{0:020}", unit(0, len(log)).ljust(200, b"\0"))
    for name, keys in zip((FIRST, SECOND), files, strict=True):
        if keys:
            put(tmp_path, name, index_file(16, 10, [Entry(hash_key(f"T#{key}"), 0, 0) for key in keys]))
    (found,) = (one for one in findings(tmp_path, "index.double_entry") if one.clause != "IDX-SVC-8")
    assert found.clause == clause


@pytest.mark.parametrize(
    ("at", "value", "places"),
    [(0, BEGIN + 5000, []), (16, 300, [16]), (0, BEGIN, [0])],
)
def test_the_header_of_a_file_without_entries_begins_with_the_end_of_the_one_before(
    at: int, value: int, places: list[int], tmp_path: Path
) -> None:
    """`IndexService.getAndCreateLastIndexFile` hands over both, the physical offset and the time of the last put."""
    log = record(0, properties=KEYS)
    put(
        tmp_path,
        f"commitlog/{0:020}",
        (log + record(len(log), queue_offset=1, properties=KEYS)).ljust(1024, b"\0"),
    )
    entries = [
        Entry(hash_key(f"T#{key}"), len(log) * (number > 1), 5 * (number == 3))
        for number, key in enumerate("abab")
    ]
    put(tmp_path, FIRST, index_file(16, 10, entries))
    path = put(tmp_path, SECOND, bytes(40 + 4 * 16 + 20 * 10))
    for place, seed in ((0, BEGIN + 5000), (16, len(log)), (at, value if at == 0 or places else len(log))):
        overwrite(path, place, seed.to_bytes(8))
    found = [one for one in findings(tmp_path, "index.header_bounds") if one.file == SECOND]
    assert [(one.offset, one.clause) for one in found] == [(place, "IDX-FILE-2") for place in places]


@pytest.mark.parametrize(
    ("begin", "asked", "wrong"),
    [
        (0, (0, 1), None),
        (0, (5, 6), 5),
        (0, (0, 1, 0), None),
        (0, (0, 2), 2),
        (0, (0, 1, 2, 1), 1),
        (1024, (5, 6), None),
    ],
)
def test_a_light_queue_counts_from_0(
    begin: int, asked: tuple[int, ...], wrong: int | None, tmp_path: Path
) -> None:
    """In memory, anew after each start (CQ-LMQ-4); what came before the log's begin is not known."""
    log = b""
    for number, offset in enumerate(asked):
        pairs = b"INNER_MULTI_DISPATCH\1%%LMQ%%a\2INNER_MULTI_QUEUE_OFFSET\1%d\2" % offset
        log += record(begin + len(log), queue_offset=number, properties=pairs)
    put(tmp_path, f"commitlog/{begin:020}", log.ljust(1024, b"\0"))
    found = [one.deviation for one in findings(tmp_path, "queue.order") if one.clause == "CQ-LMQ-4"]
    assert [one.found for one in found if one is not None] == ([] if wrong is None else [wrong])


@pytest.mark.parametrize("offset", [-5, -(1 << 63)])
def test_a_negative_offset_of_an_entry_leads_nowhere(offset: int, tmp_path: Path) -> None:
    log = record(0, properties=KEYS)
    put(tmp_path, f"commitlog/{0:020}", log.ljust(1024, b"\0"))
    entries = [Entry(hash_key(f"T#{key}"), at, 0) for key, at in (("a", 0), ("b", 0), ("b", offset))]
    put(tmp_path, FIRST, index_file(16, 10, entries))
    (found,) = findings(tmp_path, "index.entry_dangling")
    assert (found.offset, found.severity) == (40 + 4 * 16 + 20 * 3 + 4, "error")
