"""A broker configuration as Java reads it, and the directories of the log that it names."""

from pathlib import Path

import pytest
from rocket_columnar.store import read_broker_conf
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry


def written(path: Path, **values: object) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    return path


@pytest.mark.parametrize(
    ("own", "read_only", "expected"),
    [
        ("/a, /b ", "", ("/a", " /b ")),
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


def test_a_configuration_as_java_reads_properties(tmp_path: Path) -> None:
    r"""Comments, `:` and spaces as separators, continued lines, escapes, the last of equal names: `java.util.Properties.load`."""
    (tmp_path / "broker.conf").write_text(
        "# comment\n! another\nmaxIndexNum=100\nmax\\u0048ashSlotNum 59\n  maxHashSlotNum = 61\nmaxIndexNum:200\n"
        "mappedFileSizeConsumeQueue 400\n"
        "storePathRootDir=/data/\\\n    store\nmessageIndexSafe=true\nenableLmq=true\nenableMultiDispatch=TRUE\n"
        "storePathCommitLog=/disk\\u0031/log\n"
    )
    conf = read_broker_conf(tmp_path / "broker.conf")
    assert (conf.geometry, conf.queue_file_size) == (Geometry(61, 200), 400)
    assert (conf.store, conf.commit_logs) == ("/data/store", ("/disk1/log",))
    assert (conf.index_safe, conf.light_queues, conf.dledger, conf.index_enabled) == (True, True, False, True)


def test_defaults_are_those_of_4_9_3(tmp_path: Path) -> None:
    conf = read_broker_conf(written(tmp_path / "broker.conf"))
    assert (conf.geometry, conf.queue_file_size) == (Geometry(5_000_000, 20_000_000), 6_000_000)
    assert (conf.store, conf.commit_logs, conf.index_safe) == (None, (), False)


@pytest.mark.parametrize("value", ["0", "-1"])
def test_a_number_with_which_no_broker_starts(tmp_path: Path, value: str) -> None:
    with pytest.raises(UsageError, match="maxIndexNum="):
        read_broker_conf(written(tmp_path / "broker.conf", maxIndexNum=value))


def test_what_is_no_number_or_switch_is_ignored(tmp_path: Path) -> None:
    """`MixAll.properties2Object` 317-355: the real broker goes on with the default, and says nothing; a blank belongs to the value."""
    path = tmp_path / "broker.conf"
    for value in ("many", "", "4294967296", "200 ", "1_000", "0x10"):
        conf = read_broker_conf(written(path, maxIndexNum=value, enableDLegerCommitLog="true "))
        assert (conf.geometry.index_num, conf.dledger) == (20_000_000, False)
        assert conf.ignored == {"maxIndexNum": value}
    assert read_broker_conf(written(path, maxIndexNum="+200")).geometry.index_num == 200


def test_lines_as_java_reads_them(tmp_path: Path) -> None:
    """A comment does not go on, only CR and LF end a line, bytes are ISO 8859-1, and an escape may be malformed."""
    path = tmp_path / "broker.conf"
    path.write_bytes(
        b"# a \\\nmaxIndexNum=7\rmaxHashSlotNum=5\x0c\nstorePathRootDir=/a\x85\xc3\xa9\\\\\nfileReservedTime=9\\"
    )
    conf = read_broker_conf(path)
    assert (conf.geometry, conf.store) == (Geometry(5_000_000, 7), "/a\x85\xc3\xa9\\")
    assert (conf.reserved_hours, conf.ignored) == (9, {"maxHashSlotNum": "5\x0c"})
    path.write_text("storePathRootDir=/\\u00e\n")
    with pytest.raises(UsageError, match="four hexadecimal digits"):
        read_broker_conf(path)


@pytest.mark.parametrize(("given", "size"), [(400, 400), (401, 420), (419, 420), (19, 20)])
def test_a_queue_file_has_whole_units(tmp_path: Path, given: int, size: int) -> None:
    """`MessageStoreConfig.getMappedFileSizeConsumeQueue` rounds up."""
    path = tmp_path / "broker.conf"
    path.write_text(f"mappedFileSizeConsumeQueue={given}\n")
    assert read_broker_conf(path).queue_file_size == size
