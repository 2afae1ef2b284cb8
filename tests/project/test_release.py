"""A release: one version everywhere, reproducible archives, no promise of an index, and files that exist."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return loaded


def test_the_version_is_the_same_everywhere() -> None:
    assert load(ROOT / "CITATION.cff")["version"] == VERSION
    assert f"\n## [{VERSION}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_no_page_promises_a_package_index() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "conformance").rglob("*.md")]
    pages = [page for page in pages if page.name != "CHANGELOG.md"]
    found = [
        f"{page.relative_to(ROOT)}: {match[0]}"
        for page in pages
        for match in re.finditer(r"pip install ['\"]?rocketspec\b.*", page.read_text("utf-8"))
    ]
    assert found == []


SCHEMAS = {
    "vendor.github-workflows": [*WORKFLOWS, *(ROOT / "docs" / "ci").rglob("*.yml")],
    "vendor.github-actions": [ROOT / "gate-action" / "action.yml"],
    "vendor.github-issue-forms": [
        path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"
    ],
    "vendor.github-issue-config": [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_file_for_the_host_fits_its_schema(schema: str) -> None:
    """The schemas of SchemaStore, as check-jsonschema ships them."""
    files = [str(path) for path in SCHEMAS[schema]]
    checker = Path(sys.executable).with_name("check-jsonschema")
    kind = ["--default-filetype", "yaml"]
    done = subprocess.run(
        [str(checker), *kind, "--builtin-schema", schema, *files], capture_output=True, text=True, check=False
    )
    assert files
    assert done.returncode == 0, done.stdout


CONTAINER_FILES = [str(ROOT / "release" / "Dockerfile"), str(ROOT / "docs" / "ci" / "broker" / "Dockerfile")]
SCRIPTS = [*(str(path) for path in (ROOT / "docs" / "ci").rglob("*.sh")), str(ROOT / ".ci" / "run")]


@pytest.mark.parametrize(("linter", "files"), [("hadolint", CONTAINER_FILES), ("shellcheck", SCRIPTS)])
def test_container_files_and_scripts_are_clean(linter: str, files: list[str]) -> None:
    program = Path(sys.executable).with_name(linter)
    done = subprocess.run([str(program), *files], capture_output=True, text=True, check=False)
    assert len(files) > 1
    assert done.returncode == 0, done.stdout + done.stderr


def test_two_builds_are_equal_and_whole(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "release" / "build.py"), str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"rocketspec-{VERSION}-py3-none-any.whl", f"rocketspec-{VERSION}.tar.gz"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_uses_targets_and_files_that_exist(path: Path) -> None:
    """Make targets, scripts and reusable workflows; third-party actions are pinned to a version."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for job in load(path)["jobs"].values():
        for step in [*job.get("steps", []), job]:
            uses = step.get("uses", "")
            assert not uses or uses.startswith("./") or re.search(r"@[0-9a-f]{40}$", uses)
            assert not uses.startswith("./") or (ROOT / uses).is_file()
            command = step.get("run", "")
            for make in re.findall(r"\bmake ([a-z ]+)", command):
                assert set(make.split()) <= targets
            for script in re.findall(r"\b(release/\w+\.py)", command):
                assert (ROOT / script).is_file()


PORT = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "bye": break
    hello = {"protocol": 1, "name": "port", "ops": ["key.hash"]}
    results = [{"hash": 1} for _ in message.get("ops", [])]
    answer = hello if message["cmd"] == "hello" else {"id": message["id"], "results": results, "files": []}
    print(json.dumps(answer), flush=True)
"""


def test_the_gate_action_fails_for_a_wrong_port(tmp_path: Path) -> None:
    (tmp_path / "port.py").write_text(PORT)
    action = load(ROOT / "gate-action" / "action.yml")
    used = [step["uses"] for step in action["runs"]["steps"] if "uses" in step]
    assert all(re.search(r"@[0-9a-f]{40}$", uses) for uses in used)
    (gate,) = [step for step in action["runs"]["steps"] if step.get("name") == "gate"]
    inputs = {name: item.get("default", "") for name, item in action["inputs"].items()}
    inputs |= {"adapter": f"{sys.executable} port.py", "options": "--select IDX-HASH-1/*[a-m] --examples 3"}

    def value(text: str) -> str:
        text = text.replace("${{ github.action_path }}", str(ROOT / "gate-action"))
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: inputs[match[1]], text)

    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value(text) for name, text in gate["env"].items()}
    done = subprocess.run(
        ["bash", "-c", gate["run"]], cwd=tmp_path, env={**os.environ, **environment, "PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "not conformant" in done.stdout
    assert (tmp_path / "conform-out" / "report.md").is_file()
