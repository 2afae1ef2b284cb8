"""Messages that no broker would find: beyond the limit, outside the window, behind damage, without an index."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from query_store import FIRST, GEOMETRY, SECOND, SIZE, message, write_index, write_log
from rocket_columnar.formats import OffsetId
from rocket_columnar.query import OpenStore, Row, find_all, find_by_offset_id, find_by_unique_key, query, scan
from store_bytes import BEGIN as T
from store_bytes import overwrite, put


def offsets(rows: list[Row]) -> list[int]:
    return [row["phy_offset"] for row in rows]


@pytest.fixture
def hundred(tmp_path: Path) -> Iterator[OpenStore]:
    """A hundred messages of one key, 10 s apart, put twice, in two files."""
    write_log(tmp_path, *(message(SIZE * n, time=T + 10_000 * n) for n in range(100)))
    puts = [("T#k", SIZE * n, T + 10_000 * n) for n in range(100)]
    write_index(tmp_path, puts)
    write_index(tmp_path, puts[90:], SECOND)
    with OpenStore(tmp_path, GEOMETRY) as store:
        yield store


def test_every_message_once_in_ascending_order(hundred: OpenStore) -> None:
    assert offsets(find_all(hundred, "T", "k")) == [SIZE * n for n in range(100)]
    answer = query(hundred.store, "T", "k", max_num=None, geometry=GEOMETRY)
    assert (len(answer.messages), answer.truncated, answer.offsets) == (
        100,
        False,
        tuple(SIZE * n for n in range(100)),
    )
    assert len(query(hundred.store, "T", "k", max_num=1000, geometry=GEOMETRY).messages) == 64


def test_the_window_is_that_of_the_records_to_the_ms(hundred: OpenStore) -> None:
    assert offsets(find_all(hundred, "T", "k", window=(T + 20_000, T + 30_000))) == [2 * SIZE, 3 * SIZE]
    assert offsets(find_all(hundred, "T", "k", window=(T + 20_001, T + 29_999))) == []
    assert offsets(scan(hundred, "T", "k", window=(T, T))) == [0]
    assert len(query(hundred.store, "T", "k", max_num=None, end=T + 20_000, geometry=GEOMETRY).messages) == 3


def test_other_keys_of_the_same_hash_and_records_that_are_none_are_left_out(tmp_path: Path) -> None:
    size = len(message(0, "Aa", "AaTopic"))
    write_log(
        tmp_path,
        message(0, "Aa", "AaTopic"),
        message(size, "BB", "AaTopic"),
        message(2 * size, "BB", "BBTopic"),
    )
    write_index(tmp_path, [(f"{topic}#{key}", offset, T) for topic, key, offset in (
        ("AaTopic", "Aa", 0), ("AaTopic", "BB", size), ("BBTopic", "BB", 2 * size), ("AaTopic", "Aa", 3 * size))])  # fmt: skip
    with OpenStore(tmp_path, GEOMETRY) as store:
        assert offsets(find_all(store, "AaTopic", "BB")) == [size]
        assert find_all(store, "BBTopic", "Aa") == []


def test_entries_behind_one_that_ends_a_brokers_walk(tmp_path: Path) -> None:
    """Entry 1 of a rolled file is placed 60 s too late, and entry 2 has a negative time diff by damage."""
    write_log(tmp_path, message(0, time=T + 60_000), message(SIZE, time=T + 60_000))
    write_index(tmp_path, [("T#k", 0, T + 60_000), ("T#k", SIZE, T + 60_000)], seed=(0, T))
    overwrite(tmp_path / "index" / FIRST, GEOMETRY.entries_offset + 2 * 20 + 12, b"\xff" * 4)
    with OpenStore(tmp_path, GEOMETRY) as store:
        assert store.query("T", "k", max_num=32, begin=0, end=1 << 62).messages == ()
        assert offsets(find_all(store, "T", "k")) == [0, SIZE]


def test_scan_needs_no_index_and_finds_other_topics_where_none_is_named(tmp_path: Path) -> None:
    write_log(tmp_path, message(0), message(SIZE, "x"), message(2 * SIZE, "a k", "Tx"))
    with OpenStore(tmp_path, GEOMETRY) as store:
        assert offsets(scan(store, "T", "k")) == [0]
        assert offsets(scan(store, None, "k")) == [0, 2 * SIZE]
        assert find_all(store, "T", "k") == []


def test_scan_finds_a_key_across_two_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocket_columnar.query.broker_query._BYTES_AT_ONCE", 1)
    write_log(tmp_path, message(0, "order-1"))
    with OpenStore(tmp_path, GEOMETRY) as store:
        assert offsets(scan(store, "T", "order-1")) == [0]


def test_scan_over_log_files_that_overlap(tmp_path: Path) -> None:
    """A broker reads an offset in the file that begins last before it: what another file has there is no record."""
    write_log(tmp_path, message(0), message(SIZE))
    later = message(SIZE - 10) + message(2 * SIZE - 10)
    put(tmp_path, f"commitlog/{SIZE - 10:020}", later)
    with OpenStore(tmp_path, GEOMETRY) as store:
        assert offsets(scan(store, "T", "k")) == [0, SIZE - 10, 2 * SIZE - 10]


def test_a_unique_key_of_some_topic(tmp_path: Path) -> None:
    """Sent again under one id, and once with that id as a key of its own."""
    write_log(tmp_path, message(0, "k"), message(SIZE, "u", unique="v"), message(2 * SIZE, "k"))
    write_index(tmp_path, [("T#u", 0, T), ("T#u", SIZE, T), ("T#u", 2 * SIZE, T)])
    for topic in ("Other", "T"):
        put(tmp_path, f"consumequeue/{topic}/0/{0:020}", bytes(20))
    with OpenStore(tmp_path, GEOMETRY) as store:
        assert store.store.has_queue == {"Other", "T"}
        assert offsets(find_by_unique_key(store, "u", store.store.has_queue)) == [0, 2 * SIZE]
        assert find_by_unique_key(store, "u", ["Other"]) == []


def test_a_unique_key_among_many_topics_on_damaged_chains(tmp_path: Path) -> None:
    topics = [f"T{number}" for number in range(40)]
    places = [0]
    for topic in topics:
        places.append(places[-1] + len(message(0, topic=topic)))
    write_log(tmp_path, *(message(place, topic=topic) for place, topic in zip(places, topics, strict=False)))
    write_index(tmp_path, [(f"{topic}#u", place, T) for place, topic in zip(places, topics, strict=False)])
    path = tmp_path / "index" / FIRST
    entries = 40 + 4 * GEOMETRY.hash_slot_num
    for number in range(1, 41, 3):  # negative time diffs, at which a broker's walk ends
        overwrite(path, entries + 20 * number + 12, b"\xff" * 4)
    overwrite(path, entries + 20 * 2 + 16, (2).to_bytes(4))  # an entry that leads to itself
    with OpenStore(tmp_path, GEOMETRY) as store:
        expected = [row for topic in topics for row in find_all(store, topic, "u")]
        assert find_by_unique_key(store, "u", topics) == expected
    assert len(expected) == 40


def test_more_index_files_than_the_limit_on_open_files(tmp_path: Path) -> None:
    write_log(tmp_path, message(0))
    for number in range(100):
        write_index(tmp_path, [("T#k", 0, T)], f"{20260101000000000 + number}")
    script = (
        "import resource, sys; from rocket_columnar.query import OpenStore; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1])); "
        "store = OpenStore(sys.argv[1]); print(len(store.indexes.files))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("100\n", "")


def test_an_offset_id(tmp_path: Path) -> None:
    write_log(tmp_path, message(0), message(SIZE))
    with OpenStore(tmp_path, GEOMETRY) as store:
        (row,) = find_by_offset_id(store, OffsetId("10.0.0.2:2222", SIZE))
        assert (row["phy_offset"], row["keys"]) == (SIZE, "k")
        for offset in (1, 2 * SIZE, 1 << 40, -1):
            assert find_by_offset_id(store, OffsetId("10.0.0.2:2222", offset)) == []
        assert not store.store.has_queue
