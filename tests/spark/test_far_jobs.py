"""Jobs over stores under paths, on S3 and on HDFS: they find and write what the engine does, and failed ones are resumed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from far_storage import Far
from pyspark.sql import SparkSession
from rocket_columnar.audit import audit
from rocket_columnar.rebuild import rebuild
from rocket_spark import (
    DecodeOptions,
    audit_stores,
    decode_stores,
    plan_decode,
    rebuild_stores,
    run_decode,
)
from rocket_spark.files import storage_for
from rocket_spark.rebuild_tasks import IndexTask, file_task
from rocket_spec.errors import MalformedError, UsageError
from table_rows import same

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def partly_lost(golden: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Stores that lack an index file and a queue file, and hold others with a byte changed; by name."""
    directory = tmp_path_factory.mktemp("partly-lost")
    stores = {name: Path(shutil.copytree(golden[name], directory / name)) for name in ("ext", "lmq")}
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
    """A copy of what a job left, and of nothing else: its manifest names all of it."""
    files, uri = storage_for(out, far.options)
    found = {info.uri[len(uri) + 1 :]: info for info in files.walk(uri) if not info.is_directory}
    for name, info in found.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files.opened(info.uri, info.size)(0, info.size))
    assert {name for name in found if name.startswith("_")} == {"_manifest.json", "_SUCCESS"}
    manifest = json.loads((directory / "_manifest.json").read_bytes())
    assert {file["path"]: file["bytes"] for file in manifest["files"]} == {
        name: info.size for name, info in found.items() if not name.startswith("_")
    }
    return directory


@pytest.fixture(params=["near", "s3", "hdfs"])
def far(request: pytest.FixtureRequest, tmp_path: Path) -> Far:
    if request.param == "near":
        return Far(str(tmp_path / "near"))
    found: Far = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("far", ["near", "s3"], indirect=True)
def test_rebuilt_files_that_stores_lack_are_those_of_one_machine(
    spark: SparkSession, partly_lost: dict[str, Path], far: Far, tmp_path: Path
) -> None:
    stores = [far.upload(store, f"rebuild/{name}") for name, store in partly_lost.items()]
    out = f"{far.root}/rebuilt"
    done = rebuild_stores(spark, stores, out, only_missing=True, storage=far.options)
    made = fetched(out, far, tmp_path / "out")
    for name, store in partly_lost.items():
        whole = tmp_path / "whole" / name
        assert done[name] == rebuild(store, whole, only_missing=True)
        same(made / name, whole)
        assert 2 <= len(done[name].files) <= 4


def test_a_rebuild_and_an_audit_in_each_storage(
    spark: SparkSession, hand_made: Path, tmp_path: Path, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rebuild fails at its queues, then when all files are in place and the manifest is not; it is resumed."""
    store, out = far.upload(hand_made, "rebuild/store"), f"{far.root}/rebuild/out"

    totals: dict[str, int] = {}

    def run() -> dict[str, int]:
        totals.clear()
        rebuild_stores(
            spark,
            store,
            out,
            resume=True,
            storage=far.options,
            progress=lambda what, _, total: totals.setdefault(what, total),
        )
        return totals

    def broken(task: Any, *rest: Any) -> Any:
        if isinstance(task, IndexTask):
            return file_task(task, *rest)
        raise UsageError("a fault that a test put here")

    whole = rebuild(hand_made, tmp_path / "whole")
    indexes = sum(name.startswith("index/") for name in whole.files)
    for name in ("rebuild.file_task", "output.job_output.manifest_text"):
        with monkeypatch.context() as patch:
            patch.setattr(f"rocket_spark.{name}", broken)
            with pytest.raises(UsageError, match="a fault"):
                run()
    assert totals == {"commit logs": 0, "index files and queues": 1}
    with pytest.raises(UsageError, match="a job is writing there, or was killed"):
        rebuild_stores(spark, store, out, storage=far.options)
    assert run() == {"commit logs": 0, "index files and queues": indexes + 1}
    same(fetched(out, far, tmp_path / "out"), tmp_path / "whole")
    with pytest.raises(UsageError, match="exists and is not an empty directory"):
        run()
    far.write(f"{store}/checkpoint", b"short")
    short = Path(shutil.copytree(hand_made, tmp_path / "short"))
    (short / "checkpoint").write_bytes(b"short")
    found = list(audit_stores(spark, store, "quick", storage=far.options))
    assert [finding for _, finding in found] == list(audit(short, "quick")) != []


def test_a_decode_in_each_storage(spark: SparkSession, hand_made: Path, tmp_path: Path, far: Far) -> None:
    """A file grows once the job is planned: when it is mended, the others are not decoded again."""
    store, out = far.upload(hand_made, "decode/store"), f"{far.root}/decode/out"
    resume = DecodeOptions(resume=True)
    plan = plan_decode(store, out, storage=far.options, options=resume)
    whole = (hand_made / "checkpoint").read_bytes()
    far.write(f"{store}/checkpoint", whole + bytes(4))
    with pytest.raises(MalformedError, match=r"4,100 bytes, expected 4,096, as when the job began"):
        run_decode(spark, plan)
    far.write(f"{store}/checkpoint", whole)
    totals: list[int] = []
    run_decode(spark, plan, progress=lambda _what, _done, total: totals.append(total))
    assert set(totals) == {1}
    decode_stores(spark, hand_made, tmp_path / "undisturbed")
    same(fetched(out, far, tmp_path / "out"), tmp_path / "undisturbed")
    with pytest.raises(UsageError, match="exists and is not an empty directory"):
        plan_decode(hand_made, out, storage=far.options)
