"""The starter adapters in Go, Rust, Java and JavaScript: copied, built and run as an implementer would."""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from changed_adapter import FILE, open_index
from child_adapter import Adapter
from rocket_conformance.protocol import OPERATIONS
from rocket_conformance.running import Options, run
from rocket_conformance.transport import open_command
from rocket_spec.data import find_data

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
OPS = {
    "key.hash",
    "tags.code",
    *(
        f"index.{name}"
        for name in ("open", "put", "select", "time_matched", "header", "full", "flush", "close")
    ),
}


SOURCES = {".go", ".java", ".js", ".py", ".rs"}
PANICS = {
    "go": ("example/index_file.go", "func KeyHash(units []uint16) int32 {\n", 'panic("no hash")\n'),
    "rust": ("src/index_file.rs", "pub fn key_hash(units: &[u16]) -> i32 {\n", 'panic!("no hash");\n'),
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
    return build(language, folder)


def build(language: str, folder: Path) -> list[str]:
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


@pytest.mark.parametrize("language", [*BUILDS, "python"])
def test_a_starter_names_every_operation(language: str) -> None:
    folder = find_data(f"conformance/adapters/{language}")
    text = "".join(path.read_text("utf-8") for path in folder.rglob("*") if path.suffix in SOURCES)
    names = {name.replace(".", "_") if language == "python" else f'"{name}"' for name in OPERATIONS}
    assert {name for name in names if name not in text} == set()


def test_verdicts_that_no_recorded_case_has(adapter: Adapter, tmp_path: Path) -> None:
    put = {"op": "index.put", "key": "a", "phy_offset": "x", "store_timestamp": "1"}
    answer = adapter.case(tmp_path, {"op": "queue.bounds"}, open_index(), put, {"op": "index.full"})
    assert answer["id"] == "c"
    assert [next(iter(result), "") for result in answer["results"]] == ["unsupported", "", "errored", "full"]
    assert answer["files"] == [{"role": "index", "path": FILE}]


@pytest.mark.parametrize("command", sorted(PANICS), indirect=True)
def test_a_panic_of_the_implementation_is_rejected(
    command: list[str], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    language = request.node.callspec.params["command"]
    file, old, panic = PANICS[language]
    folder = shutil.copytree(find_data(f"conformance/adapters/{language}"), tmp_path / "starter")
    source = folder / file
    source.write_text(source.read_text("utf-8").replace(old, old + panic), encoding="utf-8")
    adapter = Adapter(build(language, folder))
    adapter.hello()
    answer = adapter.case(tmp_path, {"op": "key.hash", "key": "a"}, open_index(), {"op": "index.full"})
    assert answer["results"] == [{"rejected": "no hash"}, {}, {"full": False}]
    adapter.stop()


def test_it_passes_every_case_of_its_operations(command: list[str]) -> None:
    """With a list of each property; what is recorded of the real jar is among the cases."""
    with open_command(command, case_timeout=60.0) as transport:
        report = run(transport, Options(examples=1, shrink_seconds=0, explained=False))
    counts = Counter(line.verdict for line in report.cases)
    assert counts.keys() == {"pass", "not_applicable"}
    assert counts["pass"] > 600
