"""Pages of facts that are elsewhere: licences of what the lock files install, the fuzzer's figures, systems and dependencies."""

import json
import re
import tomllib
from pathlib import Path
from typing import Final

import pytest
from fuzz_targets import FIGURES, TARGETS, sentence
from fuzz_targets import PAGE as RELIABILITY

from tools.licences_page import PAGE as LICENCES
from tools.licences_page import locked

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "install.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["base", "engine", "dev"])
def test_each_locked_package_has_a_licence(name: str) -> None:
    rows = dict(re.findall(r"^\| ([\w.-]+) \| (.+) \|$", LICENCES.read_text("utf-8"), re.MULTILINE))
    missing = {package for package in locked(name) if rows.get(package, "not stated") == "not stated"}
    assert missing == set(), "python -m tools.licences_page"


def test_no_package_is_listed_that_is_not_installed() -> None:
    rows = set(re.findall(r"^\| ([\w.-]+) \|", LICENCES.read_text("utf-8"), re.MULTILINE)) - {"package"}
    assert rows - {"---"} == locked("base") | locked("engine") | locked("dev")


def test_the_page_shows_the_recorded_figures_of_every_target_of_the_fuzzer() -> None:
    found = json.loads(FIGURES.read_text("utf-8"))
    assert sentence(found) in RELIABILITY.read_text("utf-8")
    assert set(TARGETS) <= set(found["targets"])
    assert found["inputs"] > 100_000
    assert found["failures"] == 0


def row(first: str) -> str:
    """The row that begins with these words."""
    return next(line for line in PAGE.splitlines() if line.startswith(f"| {first}"))


def test_python_and_spark_are_those_that_the_package_requires() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == f">={row('Python').split(' | ')[1].split()[0]}"
    spark = re.findall(r"pyspark\[\w+\]>=([\d.]+)", str(project["optional-dependencies"]))
    needed = [
        re.findall(r"PySpark ([\d.]+) or later", row(name))[0] for name in ("Spark jobs", "Spark Connect")
    ]
    assert needed == spark
    lock = (ROOT / "requirements" / "dev.txt").read_text("utf-8")
    assert f"pyspark=={row('Spark jobs').split(' | ')[2].split(';')[0]}" in lock.replace(
        "pyspark[sql]", "pyspark"
    )


def test_the_wheel_is_tried_on_what_the_page_names() -> None:
    workflow = (ROOT / ".github" / "workflows" / "wheel.yml").read_text("utf-8")
    versions = re.findall(r'"([\d.]+)"', workflow.split("python: [")[1].split("]")[0])
    assert versions == re.findall(r"3\.\d+", row("Python").split("wheel")[1])
    others = {system: python for python, system in re.findall(r'python: "([\d.]+)", os: (\w+)', workflow)}
    assert others == dict.fromkeys(("macos", "windows"), row("macOS").split("Python ")[1].rstrip(" |"))
