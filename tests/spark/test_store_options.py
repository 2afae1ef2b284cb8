"""`--commitlog` and `--broker-conf` of the verbs on Spark: what each store of a job becomes, without Spark."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rocket_golden import open_store
from rocket_spark import JobError, JobStore, plan_rebuilds
from rocket_spec.layout import Geometry
from verb_run import Outcome, runner

Planned = tuple[list[JobStore], "Outcome"]


@pytest.fixture
def planned(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Planned]:
    """The stores that a verb hands to its job, which ends there."""
    seen: list[list[JobStore]] = []

    def plan(stores: list[JobStore], *_arguments: Any, **_options: Any) -> None:
        seen.append(stores)
        raise JobError("a job that a test ends here")

    def run(verb: str, *arguments: object) -> Planned:
        seen.clear()
        monkeypatch.setattr("rocket_spark.plan_decode", plan)
        monkeypatch.setattr("rocket_spark.plan_rebuilds", plan)
        ended = runner("spark", capfd, monkeypatch)(verb, *arguments, "-o", "never")
        return (seen[0] if seen else []), ended

    return run


def check_refused(planned: Planned, said: str) -> None:
    """Asserts that a verb ended in one line, before its job."""
    stores, ended = planned
    assert (stores, ended.code, ended.err.count("\n")) == ([], 2, 1)
    assert said in ended.err


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Two copies of a store whose log is in three directories, none of them `commitlog`."""
    first = open_store("many-paths", tmp_path)
    return [first, Path(shutil.copytree(first, tmp_path / "second"))]


def conf_of(path: Path, root: str, *more: str) -> Path:
    logs = ",".join(f"{root}/commitlog-{letter}" for letter in "abc")
    path.write_text("\n".join([f"storePathRootDir={root}", f"storePathCommitLog={logs}", *more]))
    return path


def folders(store: Path) -> tuple[str, ...]:
    return tuple(str(store / f"commitlog-{letter}") for letter in "abc")


def test_one_configuration_for_all_stores(
    two: list[Path], tmp_path: Path, planned: Callable[..., Planned]
) -> None:
    conf = conf_of(tmp_path / "broker.conf", "/srv/rmq/store")
    stores, ended = planned("decode", *two, "--broker-conf", conf)
    assert stores == [JobStore(str(store), folders(store)) for store in two]
    assert ended.code == 3


def test_a_directory_outside_of_the_store_belongs_to_one_store(
    two: list[Path], tmp_path: Path, planned: Callable[..., Planned]
) -> None:
    conf = conf_of(tmp_path / "broker.conf", "/srv/rmq/store", f"readOnlyCommitLogStorePaths={tmp_path}")
    said = f"{conf}: names {tmp_path}, which is not in storePathRootDir; with several stores, use --broker-conf STORE=FILE"
    check_refused(planned("decode", *two, "--broker-conf", conf), said)
    ((first, second), _) = planned("decode", *two, "--broker-conf", f"{two[0]}={conf}")
    assert first.commitlog == (*folders(two[0]), str(tmp_path))
    assert second == JobStore(str(two[1]))


def test_directories_named_by_store(two: list[Path], planned: Callable[..., Planned]) -> None:
    said = f"--commitlog {two[0]}: with several stores, expected STORE=PATH"
    check_refused(planned("decode", *two, "--commitlog", two[0]), said)
    options = [part for folder in folders(two[1]) for part in ("--commitlog", f"{two[1]}={folder}")]
    stores, _ = planned("rebuild", *two, *options)
    assert stores == [JobStore(str(two[0])), JobStore(str(two[1]), folders(two[1]))]


def test_a_configuration_of_one_store_comes_before_that_of_all(
    two: list[Path], tmp_path: Path, planned: Callable[..., Planned]
) -> None:
    """In either order on the command line."""
    every = conf_of(tmp_path / "all.conf", "/srv/rmq/store")
    own = tmp_path / "own.conf"
    own.write_text(f"storePathRootDir={two[1]}\nstorePathCommitLog={two[1]}/commitlog-a\n")
    options = [("--broker-conf", every), ("--broker-conf", f"{two[1]}={own}")]
    for first, second in (options, options[::-1]):
        stores, _ = planned("decode", *two, *first, *second)
        assert [store.commitlog for store in stores] == [folders(two[0]), folders(two[1])[:1]]
    said = f"--broker-conf {own}: a store has one configuration, and {every} was given"
    check_refused(planned("decode", *two, "--broker-conf", every, "--broker-conf", own), said)


def test_stores_and_directories_with_an_equals_sign_in_their_path(planned: Callable[..., Planned]) -> None:
    """`/data/a` and `/data/a=b` are both stores: the longest is meant, as with a slash at the end of either."""
    stores, _ = planned("decode", "/data/a", "/data/a=b", "--commitlog", "/data/a=b=/log/x=y")
    assert stores == [JobStore("/data/a"), JobStore("/data/a=b", ("/log/x=y",))]
    stores, _ = planned(
        "decode", "/data/a/", "/data/b", "--commitlog", "/data/a=/x", "--commitlog", "/data/b/=/y"
    )
    assert stores == [JobStore("/data/a", ("/x",)), JobStore("/data/b", ("/y",))]
    stores, _ = planned("decode", "/data/a", "--commitlog", "/log/x=y")
    assert stores == [JobStore("/data/a", ("/log/x=y",))]
    check_refused(planned("decode", "/data/a", "/data/b", "--commitlog", "/data/a="), "expected a path")


def test_a_store_with_a_name_of_its_own(two: list[Path], planned: Callable[..., Planned]) -> None:
    """The options name it by its name or its path."""
    for key in ("broker-a", two[0]):
        options = [part for folder in folders(two[0]) for part in ("--commitlog", f"{key}={folder}")]
        stores, _ = planned("decode", f"broker-a={two[0]}", two[1], *options)
        assert stores == [JobStore(f"broker-a={two[0]}", folders(two[0])), JobStore(str(two[1]))]


def test_stores_of_a_glob(two: list[Path], tmp_path: Path, planned: Callable[..., Planned]) -> None:
    stores, _ = planned("decode", f"{tmp_path}/*")
    assert stores == [JobStore(str(store)) for store in two]


def test_a_relative_directory_of_the_log_is_the_driver_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers of a cluster run elsewhere."""
    monkeypatch.chdir(tmp_path)
    assert JobStore("store", ("logs/a/", "/b")).options({}) == {"commitlog": f"{tmp_path}/logs/a,/b"}


def test_a_store_given_as_a_file_url(
    two: list[Path], tmp_path: Path, planned: Callable[..., Planned]
) -> None:
    conf = conf_of(tmp_path / "broker.conf", "/srv/rmq/store")
    stores, _ = planned("decode", f"file://{two[0]}", "--broker-conf", conf)
    assert stores == [JobStore(str(two[0]), folders(two[0]))]


def test_the_store_of_the_configuration(
    two: list[Path], tmp_path: Path, planned: Callable[..., Planned]
) -> None:
    conf = conf_of(tmp_path / "broker.conf", str(two[0]))
    assert planned("decode", "--broker-conf", conf)[0] == [JobStore(str(two[0]), folders(two[0]))]
    check_refused(planned("decode"), "name the directory of a store")


def test_a_rebuild_takes_geometry_and_sizes_that_no_file_shows(
    two: list[Path], tmp_path: Path, planned: Callable[..., Planned]
) -> None:
    sizes = "maxHashSlotNum=11", "maxIndexNum=40", "mappedFileSizeConsumeQueue=1000"
    conf = conf_of(tmp_path / "broker.conf", "/srv/rmq/store", *sizes)
    shutil.rmtree(two[0] / "index")
    shutil.rmtree(two[0] / "consumequeue")
    (stores, _) = planned("rebuild", *two, "--broker-conf", conf)
    lost, whole = plan_rebuilds(stores, tmp_path / "out").plans.values()
    assert (lost.geometry, lost.queue_file_size) == (Geometry(11, 40), 1000)
    assert lost.geometry != whole.geometry
    assert lost.queue_file_size != whole.queue_file_size


def test_directories_of_a_copy_far_away(tmp_path: Path, planned: Callable[..., Planned]) -> None:
    conf = conf_of(tmp_path / "broker.conf", "/srv/rmq/store")
    store = "s3://backups/a/store"
    (stores, _) = planned("decode", store, "--broker-conf", conf)
    assert stores == [JobStore(store, tuple(f"{store}/commitlog-{letter}" for letter in "abc"))]
