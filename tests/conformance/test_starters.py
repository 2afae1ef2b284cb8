"""The starter adapters in Go, Rust, Java and JavaScript: copied, built and run as an implementer would."""

from __future__ import annotations

import base64
import os
import shutil
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest
from child_adapter import Adapter, Json
from rocket_golden import vectors, zstd
from rocket_spec.data import find_data

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUILDS = {
    "go": ["go", "build", "-o", "adapter.exe", "."],
    "rust": ["cargo", "build", "--offline", "--quiet"],
    "java": ["javac", "-encoding", "UTF-8", "-d", "classes", "Adapter.java", "IndexFile.java", "Json.java"],
    "javascript": ["node", "--check", "adapter.js"],
}
RUNS = {
    "go": ["{folder}/adapter.exe"],
    "rust": ["{folder}/target/debug/rocketspec-adapter"],
    "java": ["java", "-XX:TieredStopAtLevel=1", "-cp", "{folder}/classes", "Adapter"],
    "javascript": ["node", "{folder}/adapter.js"],
}
FILE = "20260101000000000"
OPS = {
    "key.hash",
    "tags.code",
    *(
        f"index.{name}"
        for name in ("open", "put", "select", "time_matched", "header", "full", "flush", "close")
    ),
}


@pytest.fixture(scope="module", params=sorted(BUILDS))
def command(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of a starter, built from a copy: a build leaves nothing beside the sources."""
    language: str = request.param
    if language == "java":
        request.getfixturevalue("java")
    tool = BUILDS[language][0]
    if shutil.which(tool) is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{tool} is missing, and with CI=true nothing is skipped", pytrace=False)
        pytest.skip(f"{tool} is missing")
    folder = tmp_path_factory.mktemp(language) / "starter"
    shutil.copytree(find_data(f"conformance/adapters/{language}"), folder)
    subprocess.run(BUILDS[language], cwd=folder, env=os.environ | {"GOTOOLCHAIN": "local"}, check=True)
    return [part.format(folder=folder) for part in RUNS[language]]


@pytest.fixture
def adapter(command: list[str]) -> Iterator[Adapter]:
    adapter = Adapter(command)
    hello = adapter.hello()
    assert hello["protocol"] == 1
    assert set(hello["ops"]) == OPS
    assert hello["features"] == ["lone_surrogates"]
    yield adapter
    adapter.stop()


def open_file(file: str = FILE, slots: int = 1, entries: int = 3, **fields: object) -> Json:
    seeds = {"end_phy_offset": "0", "end_timestamp": "0", "load": False}
    return {"op": "index.open", "file": file, "hash_slot_num": slots, "index_num": entries, **seeds, **fields}


def put(key: str, phy_offset: int, store_timestamp: int) -> Json:
    return {
        "op": "index.put",
        "key": key,
        "phy_offset": str(phy_offset),
        "store_timestamp": str(store_timestamp),
    }


def select(key: str, **fields: object) -> Json:
    return {"op": "index.select", "key": key, "max_num": 32, "begin": "0", "end": "9000", **fields}


def test_index_file(adapter: Adapter, tmp_path: Path) -> None:
    answer = adapter.case(
        tmp_path,
        open_file(),
        put("a", 1 << 53 | 1, 5000),
        put("b", -1, 7999),
        put("a", 3, 8000),
        select("a"),
        select("b", initial=["9223372036854775807"], max_num=2),
        {"op": "index.time_matched", "begin": "7999", "end": "8000"},
        {"op": "index.full"},
        {"op": "index.header"},
        {"op": "index.close"},
        open_file(load=True, end_timestamp="6000"),
        {"op": "index.flush"},
    )
    assert answer["id"] == "c"
    assert answer["results"] == [
        {},
        {"put": True},
        {"put": True},
        {"put": False},  # entry 0 is never used: room for two
        {"offsets": [str(1 << 53 | 1)]},
        {"offsets": ["9223372036854775807", "-1"]},
        {"matched": True},
        {"full": True},
        {
            "begin_timestamp": "5000",
            "end_timestamp": "7999",
            "begin_phy_offset": str(1 << 53 | 1),
            "end_phy_offset": "-1",
            "hash_slot_count": 1,
            "index_count": 3,
        },
        {},
        {},
        {},
    ]
    assert answer["files"][0] == {"role": "index", "path": FILE}
    assert (tmp_path / FILE).read_bytes() == struct.pack(
        ">qqqqii i 20x iqii iqii",
        *(6000, 6000, 1 << 53 | 1, -1, 1, 3),
        2,
        *(97, 1 << 53 | 1, 0, 0),
        *(98, -1, 2, 1),
    )


def test_keys(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(
        tmp_path,
        {"op": "key.hash", "key": "\U0001f600"},
        {"op": "key.hash", "key_utf16": "d83dde00"},
        {"op": "key.hash", "key_utf16": "d83d"},
        {"op": "key.hash", "key": "polygenelubricants"},  # hashCode is the least int
        {"op": "key.hash", "key": 'q"\\/\n'},
    )
    quoted = 0
    for unit in 'q"\\/\n':
        quoted = 31 * quoted + ord(unit)
    pair = 31 * 0xD83D + 0xDE00
    assert [result["hash"] for result in results] == [pair, pair, 0xD83D, 0, quoted]


def test_tags(adapter: Adapter, tmp_path: Path) -> None:
    """Null and empty tags give 0; a negative hash stays negative."""
    tags: list[Json] = [{"tags": None}, {"tags": ""}, {"tags": "TagB"}, {"tags_utf16": "d83d"}]
    results = adapter.results(tmp_path, *({"op": "tags.code"} | fields for fields in tags))
    tag_b = ((84 * 31 + 97) * 31 + 103) * 31 + 66
    assert [result["tags_code"] for result in results] == ["0", "0", str(tag_b), str(0xD83D)]
    negative = adapter.results(tmp_path, {"op": "tags.code", "tags": "polygenelubricants"})
    assert negative == [{"tags_code": str(-(1 << 31))}]


def test_verdicts(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(
        tmp_path,
        {"op": "index.full"},
        open_file("abc"),
        open_file(slots=1 << 29),  # the size is negative
        open_file(slots=0),
        put("a", 1, 1),
        {"op": "queue.bounds"},
        {"op": "index.put", "key": "a", "phy_offset": "x", "store_timestamp": "1"},
        {"op": "index.full"},
    )
    assert [next(iter(result)) for result in results[:3]] == ["rejected"] * 3
    assert results[3] == {}
    assert "rejected" in results[4]
    assert results[5] == {"unsupported": True}
    assert "errored" in results[6]
    assert results[7] == {"full": False}


def test_bye_ends_it(adapter: Adapter) -> None:
    adapter.tell({"cmd": "bye"}, end=b"\r\n")
    assert adapter.process.wait(20) == 0


def unpack(file: dict[str, str]) -> bytes:
    return zstd.decompress(base64.b64decode(file["zstd_base64"]))


def verdicts(results: list[Json]) -> list[Json]:
    """The results, the reason of a rejection aside."""
    return [{"rejected": ""} if "rejected" in result else result for result in results]


def test_every_recorded_case_of_its_operations(adapter: Adapter, tmp_path: Path) -> None:
    ran = 0
    for number, case in enumerate([*vectors(), *vectors(store=True)]):
        if not {op["op"] for op in case["ops"]} <= OPS:
            continue
        directory = tmp_path / str(number)
        directory.mkdir()
        for name, file in case["files"].items():
            (directory / name).write_bytes(unpack(file))
        answer = adapter.case(directory, *case["ops"])
        assert verdicts(answer["results"]) == verdicts(case["expected"]["results"]), case["id"]
        for name, file in case["expected"]["files"].items():
            assert (directory / name).read_bytes() == unpack(file), case["id"]
        ran += 1
    assert ran > 600
