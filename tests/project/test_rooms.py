"""The arrows between the rooms, what the reference may import, and what start-up may load."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ROOMS = {
    "rocket_spec": ("spec", set[str]()),
    "rocket_reference": ("reference", {"rocket_spec"}),
    "rocket_golden": ("golden", set[str]()),
    "rocket_columnar": ("columnar", {"rocket_spec"}),
    "rocket_spark": ("spark", {"rocket_spec", "rocket_columnar"}),
    "rocket_conformance": ("conformance", {"rocket_spec", "rocket_reference", "rocket_golden"}),
    "rocketspec": (
        "cli",
        {
            "rocket_spec",
            "rocket_reference",
            "rocket_golden",
            "rocket_columnar",
            "rocket_spark",
            "rocket_conformance",
        },
    ),
}
"""Package: the folder that holds it, and the packages that it may import."""

LAZY = {
    "numba",
    "pandas",
    "hypothesis",
    "jinja2",
    "jsonschema",
    "matplotlib",
    "pyspark",
    "construct",
    "kaitaistruct",
}
"""Libraries that only the verbs that use them may load."""


def modules(package: str) -> list[Path]:
    folder, _ = ROOMS[package]
    return sorted((ROOT / folder / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Top-level names of all absolute imports in a file, those inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", ROOMS)
def test_a_room_imports_only_the_rooms_it_may(package: str) -> None:
    _, allowed = ROOMS[package]
    files = modules(package)
    assert files
    for path in files:
        crossed = (imported(path) & ROOMS.keys()) - allowed - {package}
        assert not crossed, f"{path.relative_to(ROOT)} imports {sorted(crossed)}"


def test_the_reference_is_standard_library_only() -> None:
    allowed = sys.stdlib_module_names | {"rocket_spec", "rocket_reference"}
    for path in modules("rocket_reference"):
        assert imported(path) <= allowed, path
    code = "import rocket_reference, sys, json; json.dump(sorted(sys.modules), sys.stdout)"
    loaded = {name.split(".")[0] for name in json.loads(_python("-c", code))}
    assert not loaded & (LAZY | {"numpy", "pyarrow", "typer", "rich", "zstandard"})


def test_starting_the_command_loads_no_heavy_library() -> None:
    code = "import rocketspec.__main__, sys, json; json.dump(sorted(sys.modules), sys.stdout)"
    loaded = {name.split(".")[0] for name in json.loads(_python("-c", code))}
    assert not loaded & (LAZY | {"numpy", "pyarrow"})


def test_the_pytest_plugin_costs_nothing_while_unused() -> None:
    code = "import rocket_conformance.pytest_plugin, sys, json; json.dump(sorted(sys.modules), sys.stdout)"
    loaded = {name.split(".")[0] for name in json.loads(_python("-c", code))}
    assert not loaded & (LAZY | {"numpy", "pyarrow"})


def _python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
