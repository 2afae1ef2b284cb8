"""Stores under paths, on S3 and on HDFS: found and read alike."""

import pickle
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from far_storage import Far
from refused import refused
from rocket_columnar.decode import decode
from rocket_columnar.store import StoreFile
from rocket_columnar.store import find_files as find_local
from rocket_golden import open_store
from rocket_spark.files import expand, find_files, find_roots, local_copy, storage_for
from rocket_spark.stores import find_places
from rocket_spec.errors import UsageError


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store("ext", tmp_path_factory.mktemp("ext"))


@pytest.fixture(scope="module")
def uploaded(s3: Far, store: Path) -> str:
    return s3.upload(store, "fleet/broker-a/store")


def rows(files: Sequence[StoreFile]) -> list[tuple[str, dict[str, Any]]]:
    return [(table, row) for table, batch in decode(files) for row in batch.to_pylist()]


def facts(files: Sequence[StoreFile]) -> list[tuple[object, ...]]:
    return [(file.kind, file.name, file.topic, file.queue_id, file.base_offset) for file in files]


def test_a_whole_store(s3: Far, uploaded: str, store: Path) -> None:
    """Its files can be sent to a task, also when they have been read."""
    files = find_files(uploaded, options=s3.options)
    assert facts(files) == facts(find_local(store))
    expected = rows(find_local(store))
    assert rows(files) == expected
    assert rows(pickle.loads(pickle.dumps(files))) == expected


def test_a_store_of_dledger_mode(s3: Far, tmp_path: Path) -> None:
    """The log of the member is found, DLedger's own index of 160 MiB is left out."""
    store = open_store("dledger", tmp_path)
    shutil.rmtree(store / "dledger-n0/index")
    (store / "dledger-n0/index").mkdir()
    (store / "dledger-n0/index/00000000000000000000").write_bytes(bytes(32))
    uri = s3.upload(store, "dledger/store")
    files = find_files(uri, options=s3.options)
    assert [(file.kind, file.name) for file in files] == [
        (file.kind, file.name) for file in find_local(store)
    ]
    assert all(file.framed for file in files if file.kind == "log")
    assert len(find_files(uri, "log", options=s3.options)) == 8


def test_a_log_in_several_directories(s3: Far, tmp_path: Path) -> None:
    """Under paths and far away the same files, and one log."""
    store = open_store("many-paths", tmp_path)
    folders = [store / f"commitlog-{letter}" for letter in "abc"]
    outside = [shutil.copytree(folder, tmp_path / "disks" / folder.name) for folder in folders]
    for folder in folders:
        shutil.rmtree(folder)
    local = find_files(str(store), commitlog=[*map(str, outside)])
    assert facts(local) == facts(find_local(store, commitlog=outside))
    logs = [s3.upload(folder, f"disks/{folder.name}") for folder in outside]
    uri = s3.upload(store, "many/store")
    files = find_files(uri, options=s3.options, commitlog=logs)
    assert rows(files) == [
        (table, row | {"file": row["file"].replace(str(tmp_path), s3.root)}) for table, row in rows(local)
    ]
    assert len({file.sequence for file in files if file.kind == "log"}) == 1
    with pytest.raises(UsageError, match="not in the storage of"):
        find_files(uri, options=s3.options, commitlog=[str(outside[0])])


@pytest.mark.parametrize(
    "below",
    ["consumequeue", "consumequeue/Filtered/1", "index", "commitlog", "checkpoint", "consumequeue_ext"],
)
def test_a_part_of_a_store(s3: Far, uploaded: str, store: Path, below: str) -> None:
    files = find_files(f"{uploaded}/{below}", options=s3.options)
    assert facts(files) == facts(find_local(store / below))


def test_files_without_a_place_are_told_by_their_bytes(s3: Far, store: Path, tmp_path: Path) -> None:
    (log, *_) = find_local(store, "log")
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "log.bin").write_bytes(log.path.read_bytes())
    (tmp_path / "some" / "notes").write_text("nothing of ours")
    uri = s3.upload(tmp_path / "some", "some")
    skipped: list[str] = []
    (file,) = find_files(uri, options=s3.options, on_skip=lambda name, _: skipped.append(name))
    assert (file.kind, file.name, skipped) == ("log", "log.bin", ["notes"])
    (single,) = find_files(f"{uri}/log.bin", options=s3.options)
    assert facts([single]) == facts(find_local(tmp_path / "some" / "log.bin"))


def test_a_directory_without_a_store_is_named(s3: Far) -> None:
    s3.write(f"{s3.root}/empty/sub/readme", b"hello")
    with pytest.raises(UsageError, match=f"^{s3.root}/empty: contains no store"):
        find_files(f"{s3.root}/empty", options=s3.options)


def test_globs_and_roots(s3: Far, uploaded: str, tmp_path: Path) -> None:
    """An existing name is taken as it is."""
    assert expand(f"{s3.root}/fleet/broker-*/st?re", s3.options) == [uploaded]
    assert find_roots(f"{s3.root}/fleet", s3.options) == [uploaded]
    with pytest.raises(UsageError, match="matches nothing"):
        expand(f"{s3.root}/fleet/rack-*/store", s3.options)
    for name in ("a[1]", "a1", "b"):
        (tmp_path / name).mkdir()
    assert [place.path for place in find_places(f"{tmp_path}/a[1]")] == [f"{tmp_path}/a[1]"]
    assert expand(f"{tmp_path}/a*") == [f"{tmp_path}/a1", f"{tmp_path}/a[1]"]


def test_a_copy_of_a_range_is_a_file_with_holes(s3: Far, uploaded: str, store: Path, tmp_path: Path) -> None:
    (file, *_) = find_files(uploaded, "log", options=s3.options)
    whole = (store / file.name).read_bytes()
    assert local_copy(file, tmp_path / "whole").path.read_bytes() == whole
    copy = local_copy(file, tmp_path / "part", [(100, 300)])
    assert copy.source is None
    assert copy.path.read_bytes() == bytes(100) + whole[100:300] + bytes(len(whole) - 300)
    assert local_copy(copy, tmp_path) is copy


def test_a_range_of_a_local_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    storage, path = storage_for((tmp_path / "file").as_uri())
    read = storage.opened(path, storage.stat(path).size)
    assert (read(2, 3), read(8, 5), read(20, 1)) == (b"234", b"89", b"")


@pytest.mark.parametrize(("uri", "options", "said"), refused("uri"))
def test_what_cannot_be_said_is_named(uri: str, options: str, said: str) -> None:
    given = dict([options.split("=")]) if options else {}
    with pytest.raises(UsageError, match=f"^{said}"):
        storage_for(uri, given)[0].stat(uri)


def test_an_unreachable_server_is_named() -> None:
    options = {"hdfs.webhdfs": "127.0.0.1:1"}
    with pytest.raises(OSError, match="Connection refused") as caught:
        find_files("hdfs://name/store", options=options)
    assert caught.value.filename == "hdfs://name/store"


def test_a_store_under_any_uri_of_fsspec(store: Path) -> None:
    """Here in memory: the library that reads it is asked for by the scheme."""
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(str(store), "/fleet/store", recursive=True)
    files = find_files("memory://fleet/store")
    assert facts(files) == facts(find_local(store))
    assert rows(pickle.loads(pickle.dumps(files))) == rows(find_local(store))


def test_the_system_s_own_credentials_are_those_of_google_and_azure() -> None:
    for uri, name in (
        ("gs://bucket/store", "GcsFileSystem"),
        ("abfs://files@account.dfs.core.windows.net/x", "AzureFileSystem"),
    ):
        storage, _ = storage_for(uri)
        assert type(storage._arrow()).__name__ == name


def test_a_store_on_hdfs(hdfs: Far, store: Path) -> None:
    uri = hdfs.upload(store, "fleet/broker-a/store")
    assert find_roots(f"{hdfs.root}/fleet", hdfs.options) == [uri]
    files = find_files(uri, options=hdfs.options)
    assert facts(files) == facts(find_local(store))
    assert rows(files) == rows(find_local(store))


@pytest.mark.parametrize("name", ["s3", "hdfs"])
def test_what_is_missing_is_named(name: str, request: pytest.FixtureRequest) -> None:
    far: Far = request.getfixturevalue(name)
    with pytest.raises(FileNotFoundError, match="No such file or directory") as caught:
        find_files(f"{far.root}/nowhere", options=far.options)
    assert caught.value.filename == f"{far.root}/nowhere"
