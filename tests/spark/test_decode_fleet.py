"""Fleets with bad stores among good ones: the good ones are decoded, the bad ones are listed with their reasons."""

import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession
from rocket_golden import open_store
from rocket_spark import (
    JobError,
    JobStore,
    audit_stores,
    decode_stores,
    plan_decode,
    plan_rebuilds,
    run_rebuild,
)
from rocket_spark import tasks as runner
from rocket_spark.stores import JobStores
from rocket_spec.errors import UsageError
from table_rows import engine_rows

pytestmark = pytest.mark.spark


@pytest.fixture
def fleet(golden: dict[str, Path], tmp_path: Path) -> Path:
    """Two good stores, one in use, and four bad ones."""
    root = tmp_path / "fleet"
    for name, store in {"a-good": "transactions", "d-good": "small-roll", "h-live": "lmq"}.items():
        shutil.copytree(golden[store], root / name)
    (root / "h-live" / "abort").touch()
    (root / "b-empty").mkdir()
    shutil.copytree(golden["small-roll"], root / "e-short")
    (root / "e-short" / "checkpoint").write_bytes(b"short")
    (root / "f-link").mkdir()
    (root / "f-link" / "commitlog").symlink_to(root / "nowhere")
    return root


NAMES = ("a-good", "b-empty", "d-good", "e-short", "f-link", "g-missing", "h-live")


def test_good_stores_are_decoded_and_bad_ones_are_listed(
    here: SparkContext, fleet: Path, tmp_path: Path
) -> None:
    """A file that cannot be decoded is a problem of its store, of which the rest is decoded."""
    out = tmp_path / "out"
    summary = decode_stores(here, [fleet / name for name in NAMES], out)
    status = {Path(store.store).name: store for store in summary.status}
    assert tuple(status) == NAMES
    decoded = ["a-good", "d-good", "e-short", "h-live"]
    assert [name for name in NAMES if status[name].status == "decoded"] == decoded
    assert all(status[name].rows > 100 for name in decoded)
    assert "No such file or directory" in status["g-missing"].reason
    assert {name: len(status[name].problems) for name in decoded if status[name].problems} == {"e-short": 1}
    assert "checkpoint" in status["e-short"].problems[0]
    assert all("\n" not in store.reason for store in summary.status)
    (fleet / "e-short" / "checkpoint").unlink()
    expected: Counter[str] = Counter()
    for name in decoded:
        expected.update({table: len(rows) for table, rows in engine_rows(fleet / name).items()})
    assert {table.table: table.rows for table in summary.tables if table.rows} == +expected


def test_a_store_that_cannot_be_listed_fails_alone(golden: dict[str, Path], tmp_path: Path) -> None:
    """A symbolic link to itself: as any directory that the job may not list."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    stores = [tmp_path / "loop", golden["transactions"]]
    plan = plan_decode(stores, tmp_path / "out")
    assert [type(error) for error in plan.failed.values()] == [OSError]
    failed: dict[str, Exception] = {}
    assert len(plan_rebuilds(stores, tmp_path / "out", failed=failed).plans) == 1
    assert failed.keys() == plan.failed.keys()


def test_each_store_has_a_folder_of_its_own(golden: dict[str, Path], tmp_path: Path) -> None:
    """One that is called like the first folder of another's path would contain that one's."""
    stores = [Path(shutil.copytree(golden["transactions"], tmp_path / name)) for name in "ab"]
    folders = plan_rebuilds(
        [f"{name}={store}" for name, store in zip(("x", "x2"), stores, strict=True)], tmp_path / "out"
    ).folders
    assert folders == {"x": "x", "x2": "x2"}
    with pytest.raises(UsageError, match="its folder is that of another store too; give it a name"):
        plan_rebuilds([f"{tmp_path.parts[1]}={stores[0]}", stores[1]], tmp_path / "out")


def test_a_log_file_that_vanishes_fails_its_store_alone(
    here: SparkContext, fleet: Path, tmp_path: Path
) -> None:
    failed: dict[str, Exception] = {}
    stores = [fleet / "a-good", fleet / "d-good"]
    job = plan_rebuilds(stores, tmp_path / "out", failed=failed)
    max((fleet / "d-good" / "commitlog").iterdir()).unlink()
    assert set(run_rebuild(here, job)) == {str(fleet / "a-good")}
    assert set(failed) == {str(fleet / "d-good")}
    folder = tmp_path / "out" / str(fleet).strip("/")
    assert [path.name for path in folder.iterdir()] == ["a-good"]


def test_when_no_store_is_good_all_are_named(here: SparkContext, fleet: Path, tmp_path: Path) -> None:
    bad = ("b-empty", "f-link", "g-missing")
    with pytest.raises(JobError) as caught:
        decode_stores(here, [fleet / name for name in bad], tmp_path / "out")
    assert all(name in str(caught.value) for name in bad)
    assert "\n" not in str(caught.value)


def test_small_stores_share_tasks(
    golden: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """60 checkpoints, of which a task takes 51."""
    monkeypatch.setattr("rocket_spark.reading.parts.PART_BYTES", 13 << 20)
    stores = []
    for number in range(60):
        store = tmp_path / "fleet" / f"{number:03}"
        store.mkdir(parents=True)
        (store / "checkpoint").write_bytes((golden["small-roll"] / "checkpoint").read_bytes())
        stores.append(store)
    assert len(plan_decode(stores, tmp_path / "out").tasks) == 2


@pytest.mark.parametrize(("number", "spark_tasks"), [(4, 4), (80, 12)])
def test_stores_of_a_spark_task(
    number: int, spark_tasks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few stores are tasks of their own; of many, each weighs 9 MiB with its cost, and seven fit into 64."""
    sent: list[int] = []

    def run(_spark: object, _work: object, wave: list[list[bytes]], _last: int) -> list[dict[str, None]]:
        sent.append(len(wave))
        return [{"done": None} for group in wave for _ in group]

    monkeypatch.setattr(runner, "_run", run)
    monkeypatch.setattr(runner, "_attempts", lambda _spark: 1)
    stores = [tmp_path / f"{name:02}" for name in range(number)]
    for store in stores:
        store.mkdir()
    JobStores(stores).each(None, str)
    assert sum(sent) == spark_tasks


def test_a_job_of_many_waves(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [
        SimpleNamespace(store="a", number=number, weight=1 << (40 * (number < 3))) for number in range(5)
    ]
    monkeypatch.setattr(runner, "WAVE_TASKS", 2)
    for given in (spark, spark.sparkContext):
        assert runner.run_tasks(given, lambda task: task.number, tasks, what="numbers") == [0, 1, 2, 3, 4]


def test_stores_with_commit_logs_of_their_own(
    here: SparkContext, golden: dict[str, Path], tmp_path: Path
) -> None:
    store = open_store("many-paths", tmp_path)
    folders = tuple(str(store / f"commitlog-{letter}") for letter in "abc")
    stores: list[JobStore | Path] = [JobStore(store, folders), golden["lmq"]]
    assert {name: list(report) for name, report in audit_stores(here, stores).items()} == {
        str(store): [],
        str(golden["lmq"]): [],
    }
