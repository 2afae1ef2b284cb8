"""Files of a terabyte with data at both ends of a hole: each function costs what the disk holds of them."""

import os
import struct
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.audit import audit
from rocket_columnar.decode import decode
from rocket_columnar.describe import diff, digest, look_at, summarise
from rocket_columnar.facts import as_store
from rocket_columnar.query import query
from rocket_columnar.rebuild import rebuild
from rocket_columnar.restart import predicted
from rocket_columnar.store import find_files, open_reader
from rocket_golden import open_store
from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.layout import Geometry
from store_bytes import ext_unit, put, record, unit, write_sparse_index

TERABYTE = (1 << 40) // 20 * 20
FIRST = f"{0:020}"


def stretched(path: Path, end: bytes, size: int = TERABYTE) -> None:
    """Makes the file a sparse one of `size` bytes that ends in `end`."""
    os.truncate(path, size)
    with path.open("r+b") as file:
        file.seek(size - len(end))
        file.write(end)


def a_queue(root: Path) -> Path:
    path = min((root / "consumequeue" / "AaTopic").glob("*/*"))
    stretched(path, path.read_bytes()[:40])
    return path


def a_queue_that_the_log_knows_not(root: Path) -> Path:
    path = put(root, f"consumequeue/Other/0/{FIRST}", unit(0, 100))
    stretched(path, unit(5, 100))
    return path


def a_log(root: Path) -> Path:
    path = max((root / "commitlog").iterdir())
    stretched(path, record(int(path.name) + TERABYTE - 4096, body=b"b").ljust(4096, b"\0"))
    return path


def an_index(root: Path) -> Path:
    path = max((root / "index").iterdir())
    stretched(path, b"\1" * 1000)
    return path


def a_checkpoint(root: Path) -> Path:
    stretched(root / "checkpoint", b"\1" * 1000)
    return root / "checkpoint"


def an_ext_file(root: Path) -> Path:
    path = put(root, f"consumequeue_ext/AaTopic/0/{FIRST}", ext_unit(1, 2, b"abc"))
    stretched(path, ext_unit(1, 2, b"abc"))
    return path


FILES = [a_queue, a_queue_that_the_log_knows_not, a_log, an_index, a_checkpoint, an_ext_file]
FUNCTIONS: dict[str, Callable[[Path, Path, Path], Any]] = {
    "inspect": lambda root, _file, _out: look_at(root),
    "summarise": lambda root, _file, _out: [summarise(file) for file in find_files(root)],
    "decode": lambda root, _file, _out: [
        batch.num_rows for _, batch in decode(find_files(root), on_gap=lambda _: None)
    ],
    "query": lambda root, _file, _out: query(root, "AaTopic", "Aa", begin=0, end=1 << 62),
    "audit quick": lambda root, _file, _out: list(audit(root, "quick")),
    "audit": lambda root, _file, _out: list(audit(root)),
    "audit deep": lambda root, _file, _out: list(audit(root, "deep")),
    "restart": lambda root, _file, _out: predicted(as_store(root)),
    "rebuild": lambda root, _file, out: rebuild(root, out / "rebuilt"),
    "rebuild of what is missing": lambda root, _file, out: rebuild(root, out / "rebuilt", only_missing=True),
    "digest": lambda root, _file, _out: list(digest(root)),
    "diff": lambda _root, file, _out: list(diff(file, file)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_a_function_reads_what_the_disk_holds(
    make: Callable[[Path], Path], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = open_store("mixed", tmp_path)
    file = make(root)
    held = sum(512 * path.stat().st_blocks for path in root.rglob("*") if path.is_file())
    read, reads = 0, 0
    real = os.preadv

    def preadv(descriptor: int, buffers: Any, offset: int) -> int:
        nonlocal read, reads
        read += sum(map(len, buffers))
        reads += 1
        return real(descriptor, buffers, offset)

    monkeypatch.setattr("rocket_columnar.store.reader.PREADV", preadv)
    with suppress(FormatError, UsageError):  # one line about the file, from what is not decoded
        FUNCTIONS[name](root, file, tmp_path)
    assert read < 64 * held + (64 << 20)
    assert reads < 20_000


def test_a_queue_that_is_mostly_a_hole_is_refused_and_a_dense_one_is_not(tmp_path: Path) -> None:
    path = put(tmp_path, f"consumequeue/T/0/{FIRST}", unit(0, 100))
    stretched(path, unit(5, 100), 20 * 500_000)  # 10 MB of units, two pages on disk
    with pytest.raises(MalformedError, match=r"500,000 units over 10,000,000 bytes.*--sparse=never"):
        list(decode(find_files(path, "queue")))
    path.write_bytes(path.read_bytes())
    assert sum(batch.num_rows for _, batch in decode(find_files(path, "queue"))) == 500_000


def test_an_index_file_whose_count_claims_a_hole_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "20260101000000000"
    write_sparse_index(path, 1000, 1_000_000, [])
    with path.open("r+b") as file:
        file.seek(36)
        file.write(struct.pack(">i", 1_000_000))
    with pytest.raises(MalformedError, match="999,999 entries"):
        list(decode(find_files(path, "index"), geometry=Geometry(1000, 1_000_000), tables=["index_entries"]))


def test_the_units_of_a_hole_are_one_gap(tmp_path: Path) -> None:
    """Audited with holes or without, a file has the same findings."""
    first, last = record(0, body=b"x"), record(200, body=b"x", queue_offset=499_999)
    put(tmp_path, f"commitlog/{FIRST}", first.ljust(200, b"\0") + last)
    path = put(tmp_path, f"consumequeue/T/0/{FIRST}", unit(0, len(first)))
    stretched(path, unit(200, len(last)), 20 * 500_000)
    sparse = list(audit(tmp_path))
    path.write_bytes(path.read_bytes())
    assert sparse == list(audit(tmp_path))
    gaps = [finding for finding in sparse if finding.code == "queue.gap"]
    assert len(gaps) == 1
    assert "499,997" in gaps[0].message  # and the first one


def test_differences_after_a_hole_are_found(tmp_path: Path) -> None:
    one, other = tmp_path / "checkpoint", tmp_path / "other"
    for path in (one, other):
        path.write_bytes(bytes(4096))
    stretched(one, b"\1\2")
    stretched(other, b"\1\3")
    (found,) = diff(one, other, kind="checkpoint")
    assert (found.part, found.offset, found.first, found.second) == ("byte", TERABYTE - 1, 2, 3)


def test_blocks_are_widened_and_never_given_twice(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    os.truncate(path, 1 << 20)
    with path.open("r+b") as file:
        for place in (5000, 9000, 900_000):
            file.seek(place)
            file.write(b"x")
    with open_reader(path) as reader:
        found = list(reader.aligned(20 * 256, 1 << 20))
    covered = [place for place in (5000, 9000, 900_000) if any(a <= place < b for a, b in found)]
    assert covered == [5000, 9000, 900_000]
    assert all(begin % (20 * 256) == 0 for begin, _ in found)
    assert all(one[1] <= two[0] for one, two in pairwise(found))


def test_data_on_both_sides_of_a_hole_in_one_part_is_one_range(tmp_path: Path) -> None:
    stretched(put(tmp_path, "file", b"x"), b"x", 1 << 20)
    with open_reader(tmp_path / "file") as reader:
        assert len(list(reader.extents())) == 2
        assert list(reader.aligned(1 << 21, 1 << 21)) == [(0, 1 << 21)]
