"""Digests: equal for equal content, whatever paths and names; different for any field that counts."""

import hashlib
import shutil
import struct
from pathlib import Path

import pytest
from rocket_columnar.describe import digest, store_digest
from rocket_golden import open_store, stores
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, Entry, checkpoint, index_file, overwrite, put, record, unit


def whole(root: Path) -> str:
    return store_digest(list(digest(root)))


def one(root: Path) -> str:
    (file,) = digest(root)
    return file.digest


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_an_index_file_is_its_header_and_entries(tmp_path: Path) -> None:
    entries = [Entry(number * 37, 100 * number, number) for number in range(1, 9)]
    data = index_file(16, 64, entries)
    path = put(tmp_path, "index/20260101000000000", data)
    begin = 40 + 4 * 16 + 20
    assert one(path) == sha(data[:40] + data[begin : begin + 20 * 8])
    overwrite(path, 36, (66).to_bytes(4))  # a count beyond the file's 64 entries
    data = path.read_bytes()
    assert [file.digest for file in digest(path, geometry=Geometry(16, 64))] == [
        sha(data[:40] + data[begin : begin + 20 * 63])
    ]


def test_a_checkpoint_is_its_times(tmp_path: Path) -> None:
    path = put(tmp_path, "checkpoint", checkpoint(BEGIN, BEGIN + 1, 7))
    assert one(path) == sha(struct.pack(">qqq", BEGIN, BEGIN + 1, 7))


def test_the_stores_digest_is_documented(tmp_path: Path) -> None:
    units = unit(0, len(record(0)))
    put(tmp_path, f"consumequeue/T/3/{0:020}", units + bytes(60))
    put(tmp_path, f"commitlog/{0:020}", record(0).ljust(512, b"\0"))
    put(tmp_path, f"commitlog/{512:020}", bytes(512))  # made ahead, without content
    lines = f"log\0000\0{sha(record(0))}\nqueue\0T/3/0\0{sha(units)}\n"
    assert whole(tmp_path) == sha(lines.encode())


@pytest.mark.parametrize("path", ["config/topics.json", "batchconsumequeue/T/0/00000000000000000000"])
def test_a_file_of_a_kind_without_a_digest(tmp_path: Path, path: str) -> None:
    put(tmp_path, path, bytes(46))
    with pytest.raises(
        UsageError, match=r"of kind (config|batch); there are digests of index, queue, ext, log"
    ):
        list(digest(tmp_path / Path(path).parts[0]))


@pytest.mark.parametrize("name", stores())
def test_paths_and_clock_names_make_no_difference(name: str, tmp_path: Path) -> None:
    store = open_store(name, tmp_path)
    before = whole(store)
    for path in (store / "index").iterdir():
        path.rename(path.with_name(f"{int(path.name) + 1_000_000_000:017}"))
    (store / "checkpoint").write_bytes(bytes(4096))
    (store / "abort").touch()
    assert whole(store) == before
    queue = next(path for path in (store / "consumequeue").rglob("0*") if path.is_file())
    overwrite(queue, 19, bytes([queue.read_bytes()[19] ^ 1]))
    assert whole(store) != before


def test_master_and_slave_are_equal(tmp_path: Path) -> None:
    master, slave = (open_store(name, tmp_path) for name in ("replica", "replica-slave"))
    assert whole(master) == whole(slave)
    shutil.rmtree(slave / "index")
    assert whole(master) != whole(slave)
