"""The options --broker-conf and --commitlog of each verb: the store is found, read and judged as its broker would."""

import shutil
import subprocess
from pathlib import Path

import pytest
from rocket_columnar.store import read_broker_conf
from rocket_golden import open_store
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from store_bytes import overwrite
from verb_run import Verb

MIXED = {
    "maxHashSlotNum": 61, "maxIndexNum": 200, "mappedFileSizeConsumeQueue": 400, "mappedFileSizeCommitLog": 32768,
}  # fmt: skip
"""The settings of the brokers that wrote these golden stores (golden/rocket_golden/manifest.json)."""
PATHS = {
    "maxHashSlotNum": 31, "maxIndexNum": 60, "mappedFileSizeConsumeQueue": 400, "mappedFileSizeCommitLog": 4096,
}  # fmt: skip


def written(path: Path, **values: object) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    return path


def root(store: Path) -> dict[str, object]:
    return {"storePathRootDir": store, "storePathCommitLog": store / "commitlog"}


# --- several directories of the log ---------------------------------------------------------------------


@pytest.fixture
def paths(tmp_path: Path) -> Path:
    """A store that a real broker wrote into three directories."""
    return open_store("many-paths", tmp_path)


def options(store: Path) -> list[object]:
    return [part for name in "abc" for part in ("--commitlog", store / f"commitlog-{name}")]


@pytest.mark.parametrize(
    ("own", "read_only", "expected"),
    [
        ("/a, /b ", "", ("/a", " /b")),
        ("/a,,/b", "/c", ("/a", "/b", "/c")),
        ("/a", "/c", ("/a",)),
        ("/a,/b", "/b,/c", ("/a", "/b", "/c")),
    ],
)
def test_the_directories_are_split_as_4_9_3_does(
    tmp_path: Path, own: str, read_only: str, expected: tuple[str, ...]
) -> None:
    """STORE-17, by the runs "paths, ..." of tests/spec/real."""
    conf = written(tmp_path / "conf", storePathCommitLog=own, readOnlyCommitLogStorePaths=read_only)
    assert read_broker_conf(conf).commit_logs == expected


def test_a_cure_names_the_directories_and_the_configuration(verb: Verb, paths: Path, tmp_path: Path) -> None:
    shutil.rmtree(paths / "index")
    out = verb("audit", paths, *options(paths)).out
    assert f"repair {paths} --commitlog {paths}/commitlog-a --commitlog " in out
    folders = ",".join(str(paths / f"commitlog-{name}") for name in "abc")
    conf = written(tmp_path / "broker.conf", storePathCommitLog=folders, **PATHS)
    out = verb("audit", paths, "--broker-conf", conf).out
    assert f"repair {paths} --broker-conf {conf} --apply" in out
    printed = verb("inspect", paths, "--broker-conf", conf).out.replace("\n", "")
    assert f"`rocketspec audit {paths} --broker-conf {conf}`" in printed


# --- the configuration ------------------------------------------------------------------------------------


def test_a_commit_log_that_is_elsewhere_is_noted(store: Path, verb: Verb, tmp_path: Path) -> None:
    (store / "commitlog").rename(tmp_path / "log")
    conf = written(tmp_path / "broker.conf", storePathRootDir=store, **MIXED)
    assert "does not set storePathCommitLog: 4.9.3 then keeps the commit log in ~/store/commitlog" in (
        verb("inspect", "--broker-conf", conf).err
    )
    missing = written(
        tmp_path / "broker.conf", storePathRootDir=store, storePathCommitLog="/nowhere", **MIXED
    )
    assert "COMMIT LOG MISSING" in verb("inspect", "--broker-conf", missing).err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mappedFileSizeConsumeQueue", 6000),
        ("mappedFileSizeCommitLog", 1 << 30),
        ("maxHashSlotNum", 62),
        ("maxIndexNum", 201),
    ],
)
def test_another_configuration_is_found_and_cured_as_printed(
    store: Path, verb: Verb, tmp_path: Path, name: str, value: int
) -> None:
    conf = written(tmp_path / "broker.conf", **root(store), **{**MIXED, name: value})
    ended = verb("audit", "--broker-conf", conf)
    assert ended.code == 1
    assert "the broker's configuration does not match the store's files" in ended.out
    assert ended.out.count("DIFFERS: ") == 1
    for other in ("digest", "inspect"):
        assert "DIFFERS" in "".join(verb(other, "--broker-conf", conf)[1:])
    for line in ended.out.splitlines():
        if line.startswith(" " * 10):
            subprocess.run(["sh", "-c", line], check=True)
    assert f"{name}={MIXED[name]}" in conf.read_text()
    assert verb("audit", "--broker-conf", conf).code == 0


def test_the_configured_geometry_serves_if_that_of_the_files_is_open(
    store: Path, verb: Verb, tmp_path: Path
) -> None:
    """Index files whose few entries fit several geometries of the same size."""
    for path in sorted((store / "index").iterdir())[1:]:
        path.unlink()
    (path,) = (store / "index").iterdir()
    overwrite(path, 36, (1).to_bytes(4) + bytes(4 * 61))
    assert verb("decode", store, "--table", "index_entries").code == 2
    conf = written(tmp_path / "broker.conf", **MIXED)
    assert verb("decode", store, "--table", "index_entries", "--broker-conf", conf).code == 0


@pytest.mark.parametrize(("value", "numbers"), [("true", {"0"}), ("false", {"0", "1"})])
def test_light_queues_get_the_numbers_of_the_configured_enable_lmq(
    verb: Verb, tmp_path: Path, value: str, numbers: set[str]
) -> None:
    """With enableLmq a light queue has the number 0, without it that of the record (ConsumeQueue 441-443)."""
    store = open_store("lmq", tmp_path)
    shutil.rmtree(store / "consumequeue")
    conf = written(
        tmp_path / "broker.conf", enableLmq=value, maxHashSlotNum=31, maxIndexNum=100,
        mappedFileSizeConsumeQueue=300,
    )  # fmt: skip
    err = verb("rebuild", store, "-o", tmp_path / "new", "--broker-conf", conf).err
    assert "does not set enableMultiDispatch" in err.replace("\n", " ")
    folder = tmp_path / "new" / "consumequeue" / "%LMQ%device-0"
    assert {path.name for path in folder.iterdir()} == numbers


@pytest.mark.parametrize(("name", "value"), [("mixed", "true"), ("dledger", "false")])
def test_another_mode_is_noted(verb: Verb, tmp_path: Path, name: str, value: str) -> None:
    store = open_store(name, tmp_path)
    conf = written(tmp_path / "broker.conf", enableDLegerCommitLog=value)
    assert "MODE DIFFERS" in verb("inspect", store, "--broker-conf", conf).err


# --- what `rebuild` makes of it ---------------------------------------------------------------------------


def test_a_configuration_as_java_reads_properties(tmp_path: Path) -> None:
    r"""Comments, `:` and spaces as separators, continued lines, escapes: `java.util.Properties.load`."""
    (tmp_path / "broker.conf").write_text(
        "# comment\n! another\n  maxHashSlotNum = 61\nmaxIndexNum:200\nmappedFileSizeConsumeQueue 400\n"
        "storePathRootDir=/data/\\\n    store\nmessageIndexSafe=true\nenableLmq=true\nenableMultiDispatch=TRUE\n"
        "storePathCommitLog=/disk\\u0031/log\n",
    )
    conf = read_broker_conf(tmp_path / "broker.conf")
    assert (conf.geometry, conf.queue_file_size) == (Geometry(61, 200), 400)
    assert (conf.store, conf.commit_logs) == ("/data/store", ("/disk1/log",))
    assert (conf.index_safe, conf.light_queues, conf.dledger, conf.index_enabled) == (True, True, False, True)


def test_defaults_are_those_of_4_9_3(tmp_path: Path) -> None:
    conf = read_broker_conf(written(tmp_path / "broker.conf"))
    assert (conf.geometry, conf.queue_file_size) == (Geometry(5_000_000, 20_000_000), 6_000_000)
    assert (conf.store, conf.commit_logs, conf.index_safe) == (None, (), False)


@pytest.mark.parametrize("value", ["0", "-1", "many", "", "4294967296"])
def test_a_number_that_no_broker_takes(tmp_path: Path, value: str) -> None:
    with pytest.raises(UsageError, match="maxIndexNum="):
        read_broker_conf(written(tmp_path / "broker.conf", maxIndexNum=value))


def test_the_brokers_configuration_decides(verb: Verb, store: Path, tmp_path: Path) -> None:
    conf = written(tmp_path / "broker.conf", **MIXED)
    sizes = {path.stat().st_size for path in (store / "index").iterdir()}
    for name in ("index", "consumequeue"):
        shutil.rmtree(store / name)
    code, _, err = verb("rebuild", store, "-o", tmp_path / "out", "--broker-conf", conf)
    assert (code, err) == (0, "")
    assert {path.stat().st_size for path in (tmp_path / "out" / "index").iterdir()} == sizes
