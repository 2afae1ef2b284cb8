"""A rebuild in steps against the rebuild in one, byte for byte: golden stores, small files, damage."""

from __future__ import annotations

import shutil
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from rocket_columnar.rebuild import (
    MANIFEST,
    Dispatched,
    LeftOut,
    RebuildPlan,
    dispatch_log,
    keys_of,
    log_holes,
    name_indexes,
    plan_indexes,
    plan_rebuild,
    rebuild,
    rebuilt,
    write_index,
    write_queues,
)
from rocket_golden import open_store, stores
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, put, record


def in_steps(plan: RebuildPlan, scratch: Path) -> tuple[Path, list[Dispatched], list[LeftOut]]:
    """All steps one after the other, each index file and bucket as if on a machine of its own."""
    out = scratch / "out"
    (out / "index").mkdir(parents=True)
    folders = [scratch / f"log-{number}" for number in range(len(plan.logs))]
    done = [
        dispatch_log(file, folder, last=file is plan.logs[-1], buckets=plan.buckets)
        for file, folder in zip(plan.logs, folders, strict=True)
    ]
    indexes = plan_indexes(done, plan.geometry)
    causes = [
        write_index(index, scratch / str(number), keys_of(index, folders, done), plan.geometry)
        for number, index in enumerate(indexes)
    ]
    for number, name in enumerate(name_indexes(plan.files, done, indexes, causes)):
        (scratch / str(number)).rename(out / "index" / name)
    holes = log_holes(plan.logs, (hole for part in done for hole in part.holes))
    left_out: list[LeftOut] = []
    for bucket in range(plan.buckets):
        made = scratch / f"bucket-{bucket}"
        made.mkdir()
        units = [(folder, part.unit_ranges(bucket)) for folder, part in zip(folders, done, strict=True)]
        left_out += write_queues(made, units, plan.files, plan.queue_file_size, holes)
        for queue in made.glob("*/*/*"):
            place = out / queue.relative_to(made)
            place.parent.mkdir(parents=True, exist_ok=True)
            queue.rename(place)
    return out, done, left_out


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def check(store: Path, scratch: Path, geometry: Geometry | None = None, buckets: int = 3) -> int:
    """Both ways give one tree and the same findings; how many index files there are."""
    whole = rebuild(store, scratch / "whole", geometry=geometry)
    plan = plan_rebuild(store, geometry)
    plan = replace(plan, buckets=buckets)
    assert (plan.geometry, plan.queue_file_size) == (whole.geometry, whole.queue_file_size)
    out, done, left_out = in_steps(plan, scratch)
    assert tree(out) == tree(scratch / "whole")
    assert sum(part.records for part in done) == whole.records
    assert set(rebuilt(plan, done, whole.files, left_out).findings) == set(whole.findings)
    return len(list((out / "index").iterdir()))


@pytest.mark.parametrize("name", [name for name in stores() if name != "default-geometry"])
def test_golden_stores(name: str, tmp_path: Path) -> None:
    assert check(open_store(name, tmp_path / "golden"), tmp_path) > 0


def log_files(root: Path, keys: list[list[int]], last: int = 0) -> Path:
    """A log of small files; each inner list gives the numbers of keys of one file's records."""
    size, logical = 4096, 0
    for number, counts in enumerate(keys):
        data = b""
        for count in counts:
            names = b" ".join(b"k%d" % part for part in range(count))
            data += record(
                number * size + len(data),
                queue_offset=logical,
                properties=b"KEYS\1" + names if count else b"",
                store_timestamp=BEGIN + 1000 * logical,
            )
            logical += 1
        if number < len(keys) - 1:
            data += struct.pack(">ii", size - len(data), -875286124)
        put(root, f"commitlog/{number * size:020}", data.ljust(size, b"\0"))
    return root


@pytest.mark.parametrize(
    ("keys", "files"),
    [
        pytest.param([[1, 1, 1], [0, 1]], 2, id="keyless record in the next file rolls"),
        pytest.param([[1, 1, 1, 0], [1]], 2, id="keyless record at the end of the file rolls"),
        pytest.param([[1, 1, 1]], 1, id="full, and nothing behind"),
        pytest.param([[1, 1, 1, 0, 0]], 2, id="full, and a keyless record behind"),
        pytest.param([[2, 2, 2], [2, 2]], 4, id="a roll within a record"),
        pytest.param([[0], [0]], 1, id="no keys at all"),
        pytest.param([[0], [7], [0, 0]], 3, id="one record over three files"),
        pytest.param([[1, 1, 1], [], [0]], 2, id="an empty file between"),
    ],
)
def test_boundaries_of_index_files(keys: list[list[int]], files: int, tmp_path: Path) -> None:
    """Files of four take three entries: IDX-PUT-1, IDX-SVC-3."""
    assert check(log_files(tmp_path / "store", keys), tmp_path, Geometry(4, 4)) == files


def test_gaps_and_unsafe_topics(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = record(0, topic=b"../x", properties=b"KEYS\1k")
    second = record(len(first), topic=b"Good")
    third = record(len(first) + len(second), topic=b"../x", properties=b"KEYS\1k2")
    data = bytearray(first + second + third)
    data[len(first) + 4] ^= 1
    put(store, f"commitlog/{0:020}", bytes(data).ljust(4096, b"\0"))
    assert check(store, tmp_path, Geometry(4, 8)) == 1


def test_the_index_is_not_needed(tmp_path: Path) -> None:
    golden = open_store("small-roll", tmp_path / "golden")
    shutil.copytree(golden / "commitlog", tmp_path / "store" / "commitlog")
    assert check(tmp_path / "store", tmp_path, Geometry(101, 50)) > 1


def test_what_no_rebuild_is_made_of(tmp_path: Path) -> None:
    put(tmp_path, "checkpoint", bytes(4096))
    with pytest.raises(UsageError, match="contains no commit log"):
        plan_rebuild(tmp_path)
    log_files(tmp_path, [[1]])
    with pytest.raises(UsageError, match="no room for entries"):
        plan_rebuild(tmp_path, Geometry(4, 1))
    with pytest.raises(UsageError, match="a consume-queue file of 0 bytes"):
        plan_rebuild(tmp_path, Geometry(4, 4), 0)
