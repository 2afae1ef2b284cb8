"""The adapter on the real RocketMQ store: the protocol, every operation, and where its jars come from."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from child_adapter import Adapter, Json, held_files
from rocket_conformance.rocketmq import JarSet, JarUnavailableError, command, jars, resolve
from rocket_spec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILE = "20260101000000000"


@pytest.fixture(scope="session")
def arguments(maven: str) -> list[str]:
    return command("4.9.3")


@pytest.fixture(scope="module")
def adapter(arguments: list[str]) -> Iterator[Adapter]:
    adapter = Adapter(arguments)
    adapter.hello()
    yield adapter
    adapter.stop()


def open_file(slots: int = 7, entries: int = 12, **fields: Any) -> Json:
    seeds = {"end_phy_offset": "0", "end_timestamp": "0", "load": False}
    return {"op": "index.open", "file": FILE, "hash_slot_num": slots, "index_num": entries, **seeds, **fields}


def put(key: str, phy_offset: int, store_timestamp: int) -> Json:
    return {
        "op": "index.put",
        "key": key,
        "phy_offset": str(phy_offset),
        "store_timestamp": str(store_timestamp),
    }


def select(key: str, begin: int = -(1 << 63), end: int = (1 << 63) - 1, **fields: Any) -> Json:
    return {"op": "index.select", "key": key, "max_num": 32, "begin": str(begin), "end": str(end), **fields}


HEADER = {"op": "index.header"}
FULL = {"op": "index.full"}
FLUSH = {"op": "index.flush"}
CLOSE = {"op": "index.close"}


# --- protocol -----------------------------------------------------------------------------------------


@pytest.mark.java
def test_hello(arguments: list[str]) -> None:
    adapter = Adapter(arguments)
    try:
        hello = adapter.hello()
        adapter.tell({"cmd": "bye"})
        assert adapter.process.wait(20) == 0
    finally:
        adapter.stop()
    assert hello["protocol"] == 1
    assert (hello["name"], hello["version"], hello["language"]) == ("rocketmq-store", "4.9.3", "java")
    assert hello["geometry"] == "any"
    assert hello["features"] == ["lone_surrogates"]
    assert hello["max_in_flight"] == 16
    index = ("open", "put", "select", "time_matched", "header", "full", "flush", "close")
    queue = (
        *("open", "put", "get", "bounds", "recover", "truncate"),
        *("correct_min", "delete_expired", "last_offset"),
    )
    assert set(hello["ops"]) == {
        *("key.hash", "tags.code", "log.dispatch", "checkpoint.read", "checkpoint.write"),
        *(f"index.{name}" for name in index),
        *(f"queue.{name}" for name in queue),
        *(f"service.{name}" for name in ("open", "build", "query", "delete_expired", "settle")),
    }


@pytest.mark.java
def test_end_of_input_ends_it(arguments: list[str]) -> None:
    adapter = Adapter(arguments)
    try:
        adapter.hello()
        assert adapter.process.stdin is not None
        adapter.process.stdin.close()
        assert adapter.process.wait(20) == 0
    finally:
        adapter.process.stdin = None
        adapter.stop()


@pytest.mark.java
def test_cases_in_flight_are_answered_in_order(adapter: Adapter, tmp_path: Path) -> None:
    for number in range(16):
        directory = tmp_path / str(number)
        directory.mkdir()
        ops = [open_file(), put("k", number, 1000), select("k")]
        adapter.tell({"cmd": "case", "id": f"n{number}", "dir": str(directory), "ops": ops})
    answers = [adapter.hear() for _ in range(16)]
    assert [answer["id"] for answer in answers] == [f"n{number}" for number in range(16)]
    assert [answer["results"][2]["offsets"] for answer in answers] == [[str(number)] for number in range(16)]


@pytest.mark.java
def test_carriage_returns_are_accepted(adapter: Adapter, tmp_path: Path) -> None:
    ops = [{"op": "key.hash", "key": "a\r\nb\u2028c"}]
    adapter.tell({"cmd": "case", "id": "crlf", "dir": str(tmp_path), "ops": ops}, end=b"\r\n")
    code = 0
    for unit in "a\r\nb\u2028c":
        code = 31 * code + ord(unit)
    signed = (code + (1 << 31)) % (1 << 32) - (1 << 31)
    assert adapter.hear()["results"] == [{"hash": abs(signed)}]


@pytest.mark.java
def test_unknown_operation_is_unsupported(adapter: Adapter, tmp_path: Path) -> None:
    assert adapter.results(tmp_path, {"op": "index.guess"}, {"op": "key.hash", "key": "a"}) == [
        {"unsupported": True},
        {"hash": 97},
    ]


@pytest.mark.java
def test_own_failure_is_errored(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(
        tmp_path, open_file(), {"op": "index.put", "key": "a"}, {**open_file(), "index_num": "x"}, FULL
    )
    assert results[0] == {}
    assert "phy_offset" in results[1]["errored"]
    assert "errored" in results[2]
    assert results[3] == {"full": False}


@pytest.mark.java
def test_operation_on_nothing_open_is_rejected(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(
        tmp_path, put("a", 1, 1), select("a"), HEADER, FULL, FLUSH, CLOSE, open_file(), CLOSE, HEADER
    )
    assert [next(iter(result), "") for result in results] == ["rejected"] * 6 + ["", "", "rejected"]


@pytest.mark.java
def test_a_case_starts_with_nothing_open(adapter: Adapter, tmp_path: Path) -> None:
    adapter.results(tmp_path, open_file())
    assert "rejected" in adapter.results(tmp_path, FULL)[0]


# --- operations ---------------------------------------------------------------------------------------


@pytest.mark.java
def test_key_hash(adapter: Adapter, tmp_path: Path) -> None:
    keys = ("", "a", "AaTopic#Aa", "BBTopic#BB", "polygenelubricants")
    results = adapter.results(tmp_path, *({"op": "key.hash", "key": key} for key in keys))
    assert [result["hash"] for result in results] == [0, 97, 10_606_476, 10_606_476, 0]


@pytest.mark.java
def test_key_hash_of_lone_surrogates(adapter: Adapter, tmp_path: Path) -> None:
    keys = ("d800", "dc00d800", "0061d83d")
    results = adapter.results(tmp_path, *({"op": "key.hash", "key_utf16": key} for key in keys))
    assert [result["hash"] for result in results] == [0xD800, 31 * 0xDC00 + 0xD800, 31 * 97 + 0xD83D]


@pytest.mark.java
def test_emoji_is_two_units(adapter: Adapter, tmp_path: Path) -> None:
    plain, units = adapter.results(
        tmp_path, {"op": "key.hash", "key": "😀"}, {"op": "key.hash", "key_utf16": "d83dde00"}
    )
    assert plain == units == {"hash": 31 * 0xD83D + 0xDE00}


@pytest.mark.java
def test_put_is_on_disk_before_a_flush(adapter: Adapter, tmp_path: Path) -> None:
    answer = adapter.case(tmp_path, open_file(1, 4), put("a", 7, 1_700_000_000_123))
    assert answer["results"] == [{}, {"put": True}]
    assert answer["files"] == [{"role": "index", "path": FILE}]
    data = (tmp_path / FILE).read_bytes()
    assert len(data) == 40 + 4 + 80
    assert data[:40] == struct.pack(">qqqqii", 1_700_000_000_123, 1_700_000_000_123, 7, 7, 1, 2)
    assert data[40:44] == struct.pack(">i", 1)
    assert data[44:64] == bytes(20)
    assert data[64:84] == struct.pack(">iqii", 97, 7, 0, 0)
    assert data[84:] == bytes(40)


@pytest.mark.java
def test_count_of_a_fresh_file_waits_for_a_flush(adapter: Adapter, tmp_path: Path) -> None:
    _, header, _ = adapter.results(tmp_path, open_file(), HEADER, CLOSE)
    assert header["index_count"] == 1
    assert (tmp_path / FILE).read_bytes() == bytes(40 + 28 + 240)
    adapter.results(tmp_path, open_file(), FLUSH)
    assert (tmp_path / FILE).read_bytes()[:40] == bytes(36) + b"\0\0\0\1"


@pytest.mark.java
def test_select_and_header(adapter: Adapter, tmp_path: Path) -> None:
    large = (1 << 53) + 1
    results = adapter.results(
        tmp_path,
        open_file(),
        put("k", large, 5000),
        put("k", -1, 7999),
        select("k"),
        select("k", initial=["9223372036854775807"], max_num=2),
        select("k", max_num=0),
        select("k", 7000, 7000),
        select("k", 7001, 9000),
        HEADER,
        FULL,
        {"op": "index.time_matched", "begin": "7999", "end": "8000"},
        {"op": "index.time_matched", "begin": "8000", "end": "9000"},
    )[3:]
    assert results == [
        {"offsets": ["-1", str(large)]},
        {"offsets": ["9223372036854775807", "-1"]},
        {"offsets": []},
        {"offsets": ["-1"]},
        {"offsets": []},
        {
            "begin_timestamp": "5000",
            "end_timestamp": "7999",
            "begin_phy_offset": str(large),
            "end_phy_offset": "-1",
            "hash_slot_count": 1,
            "index_count": 3,
        },
        {"full": False},
        {"matched": True},
        {"matched": False},
    ]


@pytest.mark.java
def test_seeds_and_load(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(
        tmp_path,
        open_file(end_phy_offset="9223372036854775807", end_timestamp="-1"),
        HEADER,
        put("k", 10, 3000),
        CLOSE,
        open_file(end_timestamp="77", load=True),
        HEADER,
    )
    assert results[1]["begin_phy_offset"] == results[1]["end_phy_offset"] == "9223372036854775807"
    assert results[1]["begin_timestamp"] == results[1]["end_timestamp"] == "0"
    assert results[5]["begin_timestamp"] == results[5]["end_timestamp"] == "77"
    assert results[5]["begin_phy_offset"] == "10"
    assert results[5]["index_count"] == 2


@pytest.mark.java
@pytest.mark.parametrize(
    ("fields", "reason", "left"),
    [
        ({"file": "abc"}, "NumberFormatException", []),
        ({"slots": 1 << 29}, "IllegalArgumentException", [FILE]),
        ({"slots": (1 << 30) - 5, "entries": 0, "end_phy_offset": "5"}, "IndexOutOfBoundsException", [FILE]),
        ({"slots": (1 << 30) - 5, "entries": 0, "load": True}, "IndexOutOfBoundsException", [FILE]),
        ({"file": "."}, "NumberFormatException", []),
        ({"file": f"{FILE}/7"}, "FileNotFoundException", [FILE]),
    ],
)
def test_open_is_rejected(
    adapter: Adapter, tmp_path: Path, fields: Json, reason: str, left: list[str]
) -> None:
    if reason == "FileNotFoundException":
        (tmp_path / FILE).touch()
    opened, header = adapter.results(tmp_path, open_file(**fields), HEADER)
    assert opened["rejected"].startswith(f"{reason}: ")
    assert "rejected" in header
    assert [path.name for path in tmp_path.iterdir()] == left


@pytest.mark.java
def test_zero_slots_are_rejected(adapter: Adapter, tmp_path: Path) -> None:
    assert adapter.results(tmp_path, open_file(0, 3), put("a", 1, 1), select("a"), FULL) == [
        {},
        {"rejected": "ArithmeticException: / by zero"},
        {"rejected": "ArithmeticException: / by zero"},
        {"full": False},
    ]


# --- release ------------------------------------------------------------------------------------------


@pytest.mark.java
@pytest.mark.parametrize(
    "ops",
    [
        [open_file(), put("k", 1, 1)],
        [open_file(0, 3), select("k"), select("k")],
        [open_file(), open_file(load=True), CLOSE],
        [open_file((1 << 30) - 5, 0, end_phy_offset="5")],
        [open_file((1 << 30) - 5, 0, load=True)],
        [open_file((1 << 30) - 10, 0), FLUSH],
    ],
    ids=[
        "open",
        "held-by-failed-selects",
        "opened-twice",
        "half-constructed",
        "half-loaded",
        "empty-mapping",
    ],
)
def test_files_are_released(adapter: Adapter, tmp_path: Path, ops: list[Json]) -> None:
    adapter.case(tmp_path, *ops)
    deadline = time.monotonic() + 10  # a half-made object is freed by the collector's own thread
    while (held := held_files(adapter.process.pid, tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert held == []
    (tmp_path / FILE).unlink()


@pytest.mark.java
def test_release_changes_no_byte(adapter: Adapter, tmp_path: Path) -> None:
    data = bytes(range(256)) + bytes(60)
    (tmp_path / FILE).write_bytes(data)
    adapter.case(tmp_path, open_file(load=True), select("k"))
    assert (tmp_path / FILE).read_bytes() == data


# --- versions -----------------------------------------------------------------------------------------


@pytest.mark.java
@pytest.mark.parametrize(
    ("version", "hash_slot_count"), [("3.2.6", 2), ("4.7.0", 2), ("4.7.1", 1), ("5.3.1", 1)]
)
def test_other_versions(maven: str, tmp_path: Path, version: str, hash_slot_count: int) -> None:
    adapter = Adapter(command(version))
    try:
        assert adapter.hello()["version"] == version
        results = adapter.results(
            tmp_path, open_file(), put("k", 1, 1), put("k", 2, 2), HEADER, FLUSH, select("k")
        )
    finally:
        adapter.stop()
    assert results[3]["hash_slot_count"] == hash_slot_count  # 4.7.1 counts slots, those before count puts
    assert results[5] == {"offsets": ["2", "1"]}


# --- where the jars come from -------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setattr(jars, "cache_directory", lambda: path)
    return path


@pytest.fixture
def fake_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts an `mvn` on the PATH that runs a line of Python with `target`, the folder to fill, as a Path."""

    def install(line: str) -> None:
        script = tmp_path / "bin" / "fake.py"
        script.parent.mkdir()
        target = "next(a.partition('=')[2] for a in sys.argv if a.startswith('-DoutputDirectory='))"
        script.write_text(f"import sys, pathlib\ntarget = pathlib.Path({target})\n{line}\n")
        mvn = script.with_name("mvn")
        mvn.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
        mvn.chmod(0o755)
        monkeypatch.setenv("PATH", str(mvn.parent), prepend=os.pathsep)

    return install


def touch(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    return folder


@pytest.mark.parametrize("version", ["", "4", "4.9.3/..", "-Dx=y", "4.9.3 5", "latest"])
def test_version_is_checked(version: str) -> None:
    with pytest.raises(UsageError, match="is no RocketMQ version"):
        resolve(version)


def test_folder_without_the_store(tmp_path: Path) -> None:
    with pytest.raises(JarUnavailableError, match=r"no rocketmq-store-4\.9\.8\.jar"):
        resolve("4.9.8", touch(tmp_path / "lib", "gson-2.11.0.jar"))
    with pytest.raises(JarUnavailableError, match=r"no rocketmq-store-4\.9\.8\.jar"):
        resolve("4.9.8", tmp_path / "none")


def test_folder_of_another_version(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds rocketmq-store 4\.9\.7, not 4\.9\.8"):
        resolve("4.9.8", touch(tmp_path / "lib", "rocketmq-store-4.9.7.jar"))


def test_folder_with_gson_needs_no_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    names = ("rocketmq-store-5.3.1.jar", "gson-2.9.0.jar", "logback-classic-1.3.jar", "netty-all-4.jar")
    folder = touch(tmp_path / "lib", *names)
    jars = (folder / "gson-2.9.0.jar", folder / "netty-all-4.jar", folder / "rocketmq-store-5.3.1.jar")
    assert resolve("5.3.1", folder) == JarSet("5.3.1", jars)


def test_folder_without_gson_asks_maven_for_it(
    tmp_path: Path, cache: Path, fake_maven: Callable[[str], None]
) -> None:
    fake_maven("assert '-Dadapter.only' in sys.argv; (target / 'gson-2.99.jar').touch()")
    folder = touch(tmp_path / "lib", "rocketmq-store-4.9.3.jar", "gson-2.2.4.jar")
    jars = resolve("4.9.3", folder).jars
    assert jars[0].name == "gson-2.99.jar"
    assert jars[0].is_relative_to(cache)


def test_no_maven(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(JarUnavailableError, match="no Maven") as caught:
        resolve("4.9.3")
    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


def test_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    jars._java.cache_clear()
    try:
        with pytest.raises(JarUnavailableError, match="no java on the PATH"):
            command("4.9.3")
    finally:
        jars._java.cache_clear()


def test_maven_that_fails(cache: Path, fake_maven: Callable[[str], None]) -> None:
    fake_maven("(target / 'half.jar').touch(); print('[ERROR] no such artifact\\n[ERROR] more'); sys.exit(1)")
    with pytest.raises(JarUnavailableError) as caught:
        resolve("4.9.3")
    assert str(caught.value) == "Maven could not fetch RocketMQ 4.9.3: no such artifact"
    assert list(cache.iterdir()) == []


def test_a_jar_of_another_content_is_not_used(cache: Path, fake_maven: Callable[[str], None]) -> None:
    fake_maven("(target / 'rocketmq-store-4.9.3.jar').write_bytes(b'')")
    with pytest.raises(JarUnavailableError) as caught:
        resolve("4.9.3")
    nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # sha256sum /dev/null
    assert f"rocketmq-store-4.9.3.jar: fetched with SHA-256 {nothing}, expected " in str(caught.value)
    assert list(cache.iterdir()) == []


def test_maven_is_asked_once(cache: Path, fake_maven: Callable[[str], None]) -> None:
    fake_maven("(target / 'store.jar').touch(); open(target.parent / 'calls', 'a').write('x')")
    assert resolve("4.9.3") == resolve("4.9.3")
    assert (cache / "calls").read_text() == "x"


def test_offline_first_then_online(cache: Path, fake_maven: Callable[[str], None]) -> None:
    fake_maven("sys.exit('-o' in sys.argv)")
    assert resolve("4.9.3").jars == ()


def test_old_versions_have_another_group(cache: Path, fake_maven: Callable[[str], None]) -> None:
    fake_maven("(target / next(a for a in sys.argv if a.startswith('-Drocketmq.groupId'))).touch()")
    resolve("3.2.6")
    assert len(list(cache.glob("3.2.6-*/*=com.alibaba.rocketmq"))) == 1


def test_parallel_runs_share_one_folder(cache: Path, fake_maven: Callable[[str], None]) -> None:
    fake_maven("import time; (target / 'a.jar').touch(); time.sleep(0.2); (target / 'b.jar').touch()")
    with ThreadPoolExecutor(4) as pool:
        sets = list(pool.map(resolve, ["4.9.3"] * 4))
    assert {tuple(jar.name for jar in jar_set.jars) for jar_set in sets} == {("a.jar", "b.jar")}
    assert len(list(cache.iterdir())) == 1


@pytest.mark.java
def test_command_of_a_folder(maven: str, tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    for jar in resolve("4.9.3").jars:
        (folder / jar.name).symlink_to(jar)
    adapter = Adapter(command("4.9.3", folder))
    try:
        assert adapter.hello()["version"] == "4.9.3"
    finally:
        adapter.stop()


@pytest.mark.java
def test_module_prints_the_command(arguments: list[str]) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "rocket_conformance.rocketmq", "4.9.3"], capture_output=True, check=True
    )
    assert json.loads(run.stdout) == arguments


def test_module_fails_in_one_line() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "rocket_conformance.rocketmq", "nope"], capture_output=True, check=False
    )
    assert run.returncode == 3
    assert run.stderr.count(b"\n") == 1
