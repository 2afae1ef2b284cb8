"""`rebuild`: the broker's configuration, assumptions that are announced, and output that exists."""

import shutil
from pathlib import Path

import pytest
from rocket_columnar.store import read_broker_conf
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from verb_run import Run

VERB = "rebuild"


def configuration(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_configuration_as_java_reads_properties(tmp_path: Path) -> None:
    r"""Comments, `:` and spaces as separators, continued lines, escapes: `java.util.Properties.load`."""
    conf = read_broker_conf(
        configuration(
            tmp_path / "broker.conf",
            "# comment\n! another\n  maxHashSlotNum = 61\nmaxIndexNum:200\nmappedFileSizeConsumeQueue 400\n"
            "storePathRootDir=/data/\\\n    store\nmessageIndexSafe=true\nenableLmq=true\nenableMultiDispatch=TRUE\n"
            "storePathCommitLog=/disk\\u0031/log\n",
        )
    )
    assert (conf.geometry, conf.queue_file_size) == (Geometry(61, 200), 400)
    assert (conf.store, conf.commit_logs) == ("/data/store", ("/disk1/log",))
    assert (conf.index_safe, conf.light_queues, conf.dledger, conf.index_enabled) == (True, True, False, True)


def test_defaults_are_those_of_4_9_3(tmp_path: Path) -> None:
    conf = read_broker_conf(configuration(tmp_path / "broker.conf", ""))
    assert (conf.geometry, conf.queue_file_size) == (Geometry(5_000_000, 20_000_000), 6_000_000)
    assert (conf.store, conf.commit_logs, conf.index_safe) == (None, (), False)


@pytest.mark.parametrize("value", ["0", "-1", "many", "", "4294967296"])
def test_a_number_that_no_broker_takes(tmp_path: Path, value: str) -> None:
    with pytest.raises(UsageError, match="maxIndexNum="):
        read_broker_conf(configuration(tmp_path / "broker.conf", f"maxIndexNum={value}"))


def test_what_is_assumed_is_announced_in_capitals(run: Run, store: Path, tmp_path: Path) -> None:
    shutil.rmtree(store / "consumequeue")
    _, _, err = run(store, "-o", tmp_path / "out")
    assert err.startswith(
        "rocketspec: WARNING: FILE SIZE ASSUMED: 6,000,000 bytes, because the store has no "
    )
    shutil.rmtree(store / "index")
    _, out, err = run(store, "-o", tmp_path / "more", "--queue-file-size", 400)
    assert err.startswith("rocketspec: WARNING: GEOMETRY ASSUMED: 5,000,000 slots and 20,000,000 entries, ")
    assert err.count("\n") == 1
    assert "index files of 5,000,000 slots" in out


def test_the_brokers_configuration_decides(run: Run, store: Path, tmp_path: Path) -> None:
    conf = configuration(
        tmp_path / "broker.conf", "maxHashSlotNum=61\nmaxIndexNum=200\nmappedFileSizeConsumeQueue=400\n"
    )
    sizes = {path.stat().st_size for path in (store / "index").iterdir()}
    for name in ("index", "consumequeue"):
        shutil.rmtree(store / name)
    code, _, err = run(store, "-o", tmp_path / "out", "--broker-conf", conf)
    assert (code, err) == (0, "")
    assert {path.stat().st_size for path in (tmp_path / "out" / "index").iterdir()} == sizes


def test_files_that_contradict_the_configuration_are_announced(run: Run, store: Path, tmp_path: Path) -> None:
    conf = configuration(tmp_path / "broker.conf", "mappedFileSizeConsumeQueue=6000\n")
    code, _, err = run(store, "-o", tmp_path / "out", "--broker-conf", conf)
    assert code == 0
    first, second = err.splitlines()
    assert first.startswith("rocketspec: WARNING: GEOMETRY DIFFERS: ")
    assert "5,000,000 slots and 20,000,000 entries, but these files have 61 and 200" in first
    assert "sets consume-queue files of 6,000 bytes, but these have 400" in second
