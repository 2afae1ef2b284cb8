"""Queries over stores packed by hand: the rules of IndexService.queryOffset and DefaultMessageStore.queryMessage."""

import errno
import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from query_store import FIRST, FOREVER, GEOMETRY, SECOND, SIZE, message, write_index, write_log
from rocket_columnar.index import IndexFile
from rocket_columnar.query import OpenStore, QueryAnswer, query
from rocket_columnar.store import Reader, StoreFile
from rocket_spec.errors import InvalidError, MalformedError
from rocket_spec.layout import Geometry
from store_bytes import BEGIN as T
from store_bytes import overwrite, put, record


def messages(answer: QueryAnswer) -> list[int]:
    return [row["phy_offset"] for row in answer.messages]


@contextmanager
def opened(root: Path) -> Iterator[OpenStore]:
    with OpenStore(root, GEOMETRY) as store:
        yield store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Five messages of 5 s distance, in two index files: three of key k, two of key j."""
    root = tmp_path / "store"
    keys = ["k", "j", "k", "k", "j"]
    times = [T + 5000 * number for number in range(5)]
    offsets = write_log(
        root,
        *(message(SIZE * n, key, time=time) for n, (key, time) in enumerate(zip(keys, times, strict=True))),
    )
    puts = [(f"T#{key}", offset, time) for key, offset, time in zip(keys, offsets, times, strict=True)]
    write_index(root, puts[:3])
    write_index(root, puts[3:], SECOND)
    return root


def test_never_more_than_64(tmp_path: Path) -> None:
    offsets = write_log(tmp_path, *(message(SIZE * n) for n in range(70)), size=70 * SIZE)
    write_index(tmp_path, [("T#k", offset, T) for offset in offsets])
    answer = query(tmp_path, "T", "k", max_num=1000, geometry=GEOMETRY)
    assert messages(answer) == offsets[6:]
    assert answer.truncated
    exact = query(tmp_path, "T", "k", max_num=1000, begin=T, exact=True, geometry=GEOMETRY)
    assert (messages(exact), exact.truncated) == (offsets[6:], True)


def test_a_record_is_where_it_is_whatever_position_it_states(tmp_path: Path) -> None:
    write_log(tmp_path, message(0), message(1 << 40))
    write_index(tmp_path, [("T#k", SIZE, T)])
    assert messages(query(tmp_path, "T", "k", geometry=GEOMETRY)) == [SIZE]


def test_repeated_hits_are_kept_and_counted_once_by_exact(tmp_path: Path) -> None:
    write_log(tmp_path, message(0, "k k"))
    write_index(tmp_path, [("T#k", 0, T), ("T#k", 0, T)])
    both = query(tmp_path, "T", "k", max_num=2, geometry=GEOMETRY)
    assert (messages(both), both.truncated) == ([0, 0], False)
    assert messages(query(tmp_path, "T", "k", exact=True, geometry=GEOMETRY)) == [0]


def test_collisions_are_sent_and_exact_drops_them_before_the_limit(tmp_path: Path) -> None:
    # Aa and BB have one hash, and so have AaTopic and BBTopic
    topics_keys = [("AaTopic", "Aa"), ("AaTopic", "BB"), ("BBTopic", "Aa"), ("BBTopic", "BB")]
    size = len(message(0, "Aa", "AaTopic"))
    offsets = write_log(tmp_path, *(message(size * n, k, t) for n, (t, k) in enumerate(topics_keys)))
    write_index(tmp_path, [(f"{t}#{k}", o, T) for (t, k), o in zip(topics_keys, offsets, strict=True)])
    assert messages(query(tmp_path, "AaTopic", "Aa", geometry=GEOMETRY)) == offsets
    assert messages(query(tmp_path, "AaTopic", "Aa", max_num=1, geometry=GEOMETRY)) == offsets[3:]
    exact = query(tmp_path, "AaTopic", "Aa", max_num=1, exact=True, geometry=GEOMETRY)
    assert (exact.offsets, messages(exact), exact.truncated) == ((0,), [0], False)


def test_exact_splits_keys_on_one_space_and_knows_the_unique_key(tmp_path: Path) -> None:
    properties = b"KEYS\1a  b,c\2UNIQ_KEY\1id\2"
    write_log(tmp_path, record(0, properties=properties))
    write_index(tmp_path, [(f"T#{key}", 0, T) for key in ("id", "a", "b", "b,c", "")])
    found = {
        key: messages(query(tmp_path, "T", key, exact=True, geometry=GEOMETRY))
        for key in ("id", "a", "b,c", "b", "")
    }
    assert found == {"id": [0], "a": [0], "b,c": [0], "b": [], "": []}


def test_the_lowest_hit_is_dropped_when_it_does_not_decode_the_others_need_a_length_only(
    tmp_path: Path,
) -> None:
    # 64 bytes, as stated in their first four, and are no record; twice
    junk = struct.pack(">i", 64).ljust(64, b"\xff")
    write_log(tmp_path, junk, junk, message(128))
    write_index(tmp_path, [("T#k", 0, T), ("T#k", 64, T), ("T#k", 128, T)])
    answer = query(tmp_path, "T", "k", geometry=GEOMETRY)
    assert answer.offsets == (128, 64, 0)
    assert messages(answer) == [64, 128]
    row = answer.messages[0]
    assert (row["size"], row["topic"], row["file"]) == (64, None, f"commitlog/{0:020}")


@pytest.mark.parametrize("length", [0, -1, 5000, 0x7FFFFFFF])
def test_a_hit_without_a_usable_length_is_dropped(tmp_path: Path, length: int) -> None:
    write_log(tmp_path, message(0), struct.pack(">i", length))
    # behind the record, over the file's end, behind it, and before the log
    write_index(tmp_path, [("T#k", offset, T) for offset in (0, SIZE, 4094, 9999, -1)])
    answer = query(tmp_path, "T", "k", geometry=GEOMETRY)
    assert answer.offsets == (-1, 9999, 4094, SIZE, 0)
    assert messages(answer) == [0]


def test_a_wrong_magic_is_sent_all_the_same(tmp_path: Path) -> None:
    write_log(tmp_path, message(0)[:4] + b"\0\0\0\0" + message(0)[8:])
    write_index(tmp_path, [("T#k", 0, T)])
    assert messages(query(tmp_path, "T", "k", geometry=GEOMETRY)) == [0]


def test_a_second_round_ends_at_the_store_time_of_the_lowest_hit(tmp_path: Path) -> None:
    # The log begins at 4096. Offset 0 has expired; 4.9.3 looks it up at the start of the first file, which was
    # stored at T + 1000, and then asks again for what the index places before that.
    write_log(tmp_path, message(4096, time=T + 1000), begin=4096)
    write_index(tmp_path, [("T#k", 4096, T), ("T#k", 0, T + 5000), ("T#k", 99_999, T + 6000)])
    answer = query(tmp_path, "T", "k", max_num=2, geometry=GEOMETRY)
    assert answer.offsets == (99_999, 0)
    assert messages(answer) == [4096]


def test_names_that_are_no_number_are_skipped_and_a_directory_ends_the_loading(root: Path) -> None:
    put(root, "index/.DS_Store", b"x")
    put(root, "index/20260101000000000.bak", b"x")
    (root / "index" / "20260101000000000x").mkdir()
    with opened(root) as store:
        assert len(store.indexes.files) == 2
        assert [name for name, _ in store.indexes.skipped] == [
            "index/.DS_Store",
            "index/20260101000000000.bak",
            "index/20260101000000000x",
        ]
    (root / "index" / "202601010000000005").mkdir()  # sorts between the two
    with opened(root) as store:
        assert [name for name, _ in store.indexes.files] == [f"index/{FIRST}"]


def test_an_empty_index_file_counts_as_zeros(root: Path) -> None:
    put(root, "index/20260101000000002", b"")
    answer = query(root, "T", "k", geometry=GEOMETRY)
    assert messages(answer) == [0, 2 * SIZE, 3 * SIZE]
    assert (answer.last_update_timestamp, answer.last_update_phy_offset) == (0, 0)
    assert (root / "index/20260101000000002").read_bytes() == b""


def test_the_default_window_ends_now(root: Path) -> None:
    write_index(root, [("T#k", 0, FOREVER // 2)], "20260101000000002")
    assert query(root, "T", "k", geometry=GEOMETRY).offsets == (3 * SIZE, 2 * SIZE, 0)


def test_a_cycle_answers_with_its_hits_again_and_again_and_a_miss_is_an_error(tmp_path: Path) -> None:
    write_log(tmp_path, message(0))
    write_index(tmp_path, [("T#k", 0, T), ("T#k", 0, T)])
    overwrite(tmp_path / "index" / FIRST, GEOMETRY.entries_offset + 20 + 16, (2).to_bytes(4))  # 2 -> 1 -> 2
    answer = query(tmp_path, "T", "k", geometry=GEOMETRY)
    assert answer.offsets == (0,) * 32
    exact = query(tmp_path, "T", "k", exact=True, geometry=GEOMETRY)
    assert exact.offsets == (0,)
    # "{" is 16 characters behind "k": another hash in the same one of 16 slots
    with pytest.raises(InvalidError, match="never answer"):
        query(tmp_path, "T", "{", geometry=GEOMETRY)


def test_a_store_without_index_files_or_log(tmp_path: Path) -> None:
    write_log(tmp_path, message(0))
    assert query(tmp_path, "T", "k").messages == ()
    shutil.rmtree(tmp_path / "commitlog")
    write_index(tmp_path, [("T#k", 0, T)])
    answer = query(tmp_path, "T", "k", geometry=GEOMETRY)
    assert (answer.offsets, answer.messages) == ((0,), ())


@pytest.mark.parametrize("length", [1, 39, 40, 1000])
@pytest.mark.parametrize("given", [GEOMETRY, None])
def test_an_index_file_cut_short_answers_as_far_as_it_goes(
    root: Path, length: int, given: Geometry | None
) -> None:
    # a third file of the same size, so that the geometry can be told
    puts = [(f"T#{number}", 0, T + 30_000) for number in range(100)]
    write_index(root, puts, "20260101000000002")
    os.truncate(root / "index" / SECOND, length)
    with OpenStore(root, given) as store:
        found = (
            [0, 2 * SIZE, 3 * SIZE] if length == 1000 else [0, 2 * SIZE]
        )  # its first entries lie before that
        assert messages(store.query("T", "k", max_num=9, begin=0, end=FOREVER)) == found
        ((name, problem),) = store.indexes.damaged
        assert (name, problem) == (
            f"index/{SECOND}",
            f"cut short: found {length:,} bytes, expected {GEOMETRY.file_size:,}",
        )


def test_a_damaged_count_is_told_and_the_others_answer(root: Path) -> None:
    write_index(root, [(f"T#{number}", 0, T + 30_000) for number in range(100)], "20260101000000002")
    overwrite(root / "index" / SECOND, 36, (1 << 30).to_bytes(4))
    with OpenStore(root) as store:
        answer = store.query("T", "k", max_num=9, begin=0, end=FOREVER)
        assert messages(answer) == [0, 2 * SIZE, 3 * SIZE]
        ((name, problem),) = store.indexes.damaged
        assert name == f"index/{SECOND}"
        assert "found an index count of 1,073,741,824" in problem


def test_no_sound_index_file_is_an_error(root: Path) -> None:
    for name in (FIRST, SECOND):
        os.truncate(root / "index" / name, 30)
    for given in (GEOMETRY, None):
        with pytest.raises(MalformedError, match="30 bytes"):
            OpenStore(root, given)


def test_an_index_file_that_cannot_be_read_is_skipped(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_for_reading = StoreFile.open

    def refuse(file: StoreFile) -> AbstractContextManager[Reader]:
        if file.path.name == SECOND:
            raise PermissionError(errno.EACCES, "Permission denied", str(file.path))
        return opened_for_reading(file)

    monkeypatch.setattr(StoreFile, "open", refuse)
    with opened(root) as store:
        assert messages(store.query("T", "k", max_num=9, begin=0, end=FOREVER)) == [0, 2 * SIZE]
        assert store.indexes.skipped == ((f"index/{SECOND}", "it cannot be read: permission denied"),)


def test_entries_and_log_files_that_come_after_the_store_was_opened(root: Path) -> None:
    with opened(root) as store:
        # more puts into the slot than the count that was read knows of, of a record in a log file that is new
        write_log(root, message(4096), begin=4096)
        with IndexFile(root / "index" / SECOND, *GEOMETRY) as index:
            index.load()
            for _ in range(3):
                assert index.put("T#k", 4096, T + 20_000)
        assert messages(store.query("T", "k", max_num=2, begin=0, end=FOREVER)) == [4096, 4096]
