"""Damage at the corners of what an audit looks at: the greatest offset, counts of a lone file, the first entry, ext units."""

import struct
from contextlib import nullcontext
from pathlib import Path

import pytest
from one_at_a_time import broker_lock
from rocket_columnar.audit import Level, audit
from rocket_columnar.restart import restart
from rocket_golden import manifest, open_store
from store_bytes import overwrite

LONG_MAX = (1 << 63) - 1
Place = tuple[str, str, int | None]


def put(path: Path, at: int, form: str, value: int) -> None:
    overwrite(path, at, struct.pack(">" + form, value))


def get(path: Path, at: int, form: str) -> int:
    (value,) = struct.unpack_from(">" + form, path.read_bytes(), at)
    return int(value)


def found(store: Path, level: Level = "default") -> list[Place]:
    """Code, file and byte of each error and warning."""
    return [
        (finding.code, finding.file, finding.offset)
        for finding in audit(store, level)
        if finding.severity != "note"
    ]


def test_greatest_offset_of_a_unit(tmp_path: Path) -> None:
    store = open_store("ext", tmp_path)
    queue = store / "consumequeue" / "Plain" / "0" / "00000000000000000000"
    put(queue, 60, "q", LONG_MAX)
    assert ("queue.dangling", "consumequeue/Plain/0/00000000000000000000", 60) in found(store)


def test_greatest_offset_of_an_entry(tmp_path: Path) -> None:
    store = open_store("replica", tmp_path)
    index = min((store / "index").iterdir())
    slots = manifest().stores["replica"].geometry[0]
    at = 40 + 4 * slots + 20 * 5 + 4
    put(index, at, "q", LONG_MAX)
    assert ("index.entry_dangling", f"index/{index.name}", at) in found(store)


def test_entry_of_another_slot_with_a_link_beyond_the_file(tmp_path: Path) -> None:
    """Two slots are whole, and lead to an entry whose hash and link are 0x7f7f7f7f."""
    store = open_store("small-roll", tmp_path)
    index = min((store / "index").iterdir())
    index.write_bytes(index.read_bytes()[:50].ljust(index.stat().st_size, b"\x7f"))
    assert "index.slot_hash" in {code for code, *_ in found(store)}


@pytest.mark.parametrize("count", [-163, -1, 0, 1])
def test_count_of_the_only_index_file(tmp_path: Path, count: int) -> None:
    store = open_store("ext", tmp_path)
    (index,) = (store / "index").iterdir()
    put(index, 36, "i", count)
    for level in ("quick", "default"):
        assert ("index.header_count", f"index/{index.name}", 36) in found(store, level)


@pytest.mark.parametrize("at", [0, 8, 16])
def test_checkpoint_before_the_epoch(tmp_path: Path, at: int) -> None:
    store = open_store("small-roll", tmp_path)
    put(store / "checkpoint", at, "q", -1)
    assert found(store, "quick") == [("checkpoint.behind", "checkpoint", at)]


def test_first_entry_of_a_rolled_file(tmp_path: Path) -> None:
    """It counts from the end of the file before (IDX-PUT-8), 0 is what the first of all has."""
    store = open_store("ipv6", tmp_path)
    slots = manifest().stores["ipv6"].geometry[0]
    before, index = sorted((store / "index").iterdir())[-2:]
    at = 40 + 4 * slots + 20 + 12
    stored = get(index, 0, "q")  # the header's begin is the first entry's record's store time
    seconds = (stored - get(before, 8, "q")) // 1000
    assert get(index, at, "i") == seconds > 0
    for wrong in (seconds + 1, 0x7FFFFFFF):
        put(index, at, "i", wrong)
        assert found(store) == [("index.header_bounds", f"index/{index.name}", at)]
    for other in sorted((store / "index").iterdir())[:-1]:  # as if expired: then nothing shows what it was
        other.unlink()
    assert not any(row[1] == f"index/{index.name}" for row in found(store))


def test_ext_files(tmp_path: Path) -> None:
    store = open_store("ext", tmp_path)
    ext = store / "consumequeue_ext" / "Plain" / "0" / "00000000000000000000"
    assert get(ext, 2 + 8, "q") > 0  # size, tags code, store timestamp
    put(ext, 10, "q", 5)
    queue = "consumequeue/Plain/0/00000000000000000000"
    assert found(store) == [("queue.tags_code", queue, 12)]
    ext.write_bytes(ext.read_bytes()[:-1])
    assert ("queue.size", ext.relative_to(store).as_posix(), 299) in found(store, "quick")


@pytest.mark.parametrize(
    ("size", "code"), [(0x7FFFFFFF, "log.length"), (0x7FFFFFFE, "log.length"), (0x7FFFFFFD, "log.torn")]
)
def test_last_record_is_longer_than_any_array(size: int, code: str, tmp_path: Path) -> None:
    """STORE-16: a start that reads 2147483646 bytes or more ends in OutOfMemoryError, and does not cut the log there."""
    store = open_store("ext", tmp_path)
    log = store / "commitlog" / f"{0:020}"
    end = 16513  # `used` of the log file
    put(log, end, "i", size)
    put(log, end + 4, "I", 0xDAA320A7)
    put(log, end + 28, "q", end)
    (finding,) = [finding for finding in audit(store) if finding.code.startswith("log.")]
    assert (finding.code, finding.file, finding.offset) == (code, f"commitlog/{0:020}", end)
    assert ("OutOfMemoryError" in finding.message) == (code == "log.length")
    assert (finding.clause == "STORE-16") == (code == "log.length")


def test_half_messages_before_zeros_are_of_this_store(tmp_path: Path) -> None:
    """No queue points to them in a sound store either (LOG-DSP-7): only the zeros that follow are a fault of the log."""
    store = open_store("transactions", tmp_path)
    log = min((store / "commitlog").iterdir())
    overwrite(log, 330, bytes(log.stat().st_size - 330))
    assert [place for place in found(store) if place[0].startswith("log.")] == [
        ("log.gap", f"commitlog/{log.name}", 330)
    ]


@pytest.mark.parametrize("running", [False, True])
def test_an_empty_last_queue_file(tmp_path: Path, *, running: bool) -> None:
    """CQ-TRUNC-3: a start takes its first unit, zeros, for one; a running broker may have made it just now."""
    store = open_store("small-roll", tmp_path)
    last = max((store / "consumequeue").glob("*/0/*"), key=lambda path: int(path.name))  # is full
    empty = last.with_name(f"{int(last.name) + last.stat().st_size:020}")
    empty.write_bytes(bytes(last.stat().st_size))
    name = empty.relative_to(store).as_posix()
    with broker_lock(store) if running else nullcontext():
        assert (("queue.empty", name, None) in found(store)) is not running
    assert (restart(store).zeros, restart(store).safe) == ((name,), False)


def test_an_empty_queue_file_that_a_start_deletes(tmp_path: Path) -> None:
    """A start finds the queue's end in the file before, and deletes those that begin after it (CQ-REC-2)."""
    store = open_store("mixed", tmp_path)
    empty = store / "consumequeue" / "Orders" / "0" / f"{800:020}"  # after 12 units of a file
    empty.write_bytes(bytes(400))
    name = empty.relative_to(store).as_posix()
    assert [place for place in found(store) if place[1] == name] == []
    start = restart(store)
    assert (start.zeros, [(one.action, one.file) for one in start.deletions]) == ((), [("delete", name)])
    assert start.safe
