"""Jobs over stores under paths, on S3 and on HDFS: they find and write what the engine does."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from far_storage import Far
from pyspark import SparkContext
from rocket_columnar.rebuild import rebuild
from rocket_columnar.report import audit
from rocket_golden import open_store
from rocket_spark import JobStore, audit_stores, decode_stores, plan_decode, rebuild_stores
from rocket_spark.files import storage_for
from rocket_spark.output import Output
from rocket_spark.stores import store_tasks
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from table_rows import same
from verb_run import Run

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def partly_lost(golden: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Stores that lack an index file and a queue file, and hold others with a byte changed; by name."""
    directory = tmp_path_factory.mktemp("partly-lost")
    stores = {name: Path(shutil.copytree(golden[name], directory / name)) for name in ("ext", "small-roll")}
    for store in stores.values():
        indexes = sorted((store / "index").iterdir())
        queues = sorted(path for path in (store / "consumequeue").rglob("*") if path.is_file())
        queues[0].unlink()
        changed = [queues[-1], indexes[-1]]
        if len(indexes) > 1:
            indexes[0].unlink()
        for path in changed:
            data = bytearray(path.read_bytes())
            data[47] ^= 1
            path.write_bytes(data)
    return stores


def fetched(out: str, far: Far, directory: Path) -> Path:
    """A copy of what a job left."""
    files, uri = storage_for(out, far.options)
    found = {info.uri[len(uri) + 1 :]: info for info in files.walk(uri) if not info.is_directory}
    for name, info in found.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files.opened(info.uri, info.size)(0, info.size))
    assert {name for name in found if name.startswith("_")} == {"_SUCCESS"}
    return directory


@pytest.fixture(params=["near", "s3", "hdfs"])
def far(request: pytest.FixtureRequest, tmp_path: Path) -> Far:
    if request.param == "near":
        return Far(str(tmp_path / "near"))
    found: Far = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("far", ["near", "s3"], indirect=True)
def test_rebuilt_files_that_stores_lack_are_those_of_one_machine(
    here: SparkContext, partly_lost: dict[str, Path], far: Far, tmp_path: Path
) -> None:
    stores = [far.upload(store, f"rebuild/{name}") for name, store in partly_lost.items()]
    out = f"{far.root}/rebuilt"
    done = rebuild_stores(here, stores, out, only_missing=True, storage=far.options)
    made = fetched(out, far, tmp_path / "out")
    for uri, (name, store) in zip(stores, partly_lost.items(), strict=True):
        whole = tmp_path / "whole" / name
        assert done[uri] == rebuild(store, whole, only_missing=True)
        same(made / (uri.partition("://")[2] or uri.strip("/")), whole)
        assert 2 <= len(done[uri].files) <= 4


def test_a_rebuild_and_an_audit_in_each_storage(
    here: SparkContext, hand_made: Path, tmp_path: Path, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rebuild fails while it moves its files: what it left has no `_SUCCESS`, and `overwrite` replaces it."""
    store, out = far.upload(hand_made, "rebuild/store"), f"{far.root}/rebuild/out"
    moved: list[str] = []

    def broken(output: Output, name: str, place: str) -> None:
        move(output, name, place)
        moved.append(place)
        raise OSError(5, "a fault that a test put here")

    move = Output._move
    rebuild(hand_made, tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(Output, "_move", broken)
        with pytest.raises(OSError, match="a fault"):
            rebuild_stores(here, store, out, storage=far.options)
    assert moved
    with pytest.raises(UsageError, match="exists and is not an empty directory"):
        rebuild_stores(here, store, out, storage=far.options)
    rebuild_stores(here, store, out, overwrite=True, storage=far.options)
    same(fetched(out, far, tmp_path / "out"), tmp_path / "whole")
    far.write(f"{store}/checkpoint", b"short")
    short = Path(shutil.copytree(hand_made, tmp_path / "short"))
    (short / "checkpoint").write_bytes(b"short")
    (report,) = audit_stores(here, store, "quick", storage=far.options).values()
    assert (
        [(one.code, one.file) for one in report]
        == [(one.code, one.file) for one in audit(short, "quick")]
        != []
    )


def test_a_decode_in_each_storage(here: SparkContext, hand_made: Path, tmp_path: Path, far: Far) -> None:
    store, out = far.upload(hand_made, "decode/store"), f"{far.root}/decode/out"
    decode_stores(here, f"s={store}", out, storage=far.options)
    decode_stores(here, f"s={hand_made}", tmp_path / "whole")
    same(fetched(out, far, tmp_path / "out"), tmp_path / "whole")
    with pytest.raises(UsageError, match="exists and is not an empty directory"):
        plan_decode(hand_made, out, storage=far.options)


def test_one_store_of_another_geometry(here: SparkContext, golden: dict[str, Path], tmp_path: Path) -> None:
    options: Any = {"geometry": Geometry(11, 40), "queue_file_size": 100}
    seen: list[tuple[str, int, int]] = []
    done = rebuild_stores(
        here, golden["mixed"], tmp_path / "out", progress=lambda *told: seen.append(told), **options
    )
    assert done == {str(golden["mixed"]): rebuild(golden["mixed"], tmp_path / "whole", **options)}
    same(tmp_path / "out", tmp_path / "whole")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"index", "consumequeue", "_SUCCESS"}
    assert {what for what, _, _ in seen} == {"commit logs", "index files and queues"}


def test_the_directories_that_a_configuration_names_far_away(verb_here: Run, s3: Far, tmp_path: Path) -> None:
    """Those in `storePathRootDir` are looked for in the copy."""
    store = open_store("small-roll", tmp_path)
    (store / "commitlog").rename(store / "log")
    uri = s3.upload(store, "configured/store")
    (tmp_path / "conf").write_text("storePathRootDir=/srv/store\nstorePathCommitLog=/srv/store/log\n")
    words = [f"--storage={name}={value}" for name, value in s3.options.items()]
    done = verb_here(
        "decode", uri, "-o", tmp_path / "out", "--table=commit_log", f"--broker-conf={tmp_path}/conf", *words
    )
    assert done.out.startswith("commit_log  74 rows")


def test_a_relative_directory_of_a_log_is_the_driver_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers of a cluster run elsewhere."""
    monkeypatch.chdir(tmp_path)
    (found,) = store_tasks(JobStore("store", ("logs/a/", "/b")))
    assert found.commitlog == (f"{tmp_path}/logs/a", "/b")
