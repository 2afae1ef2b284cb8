"""The arrows between rooms and packages, what the reference may import, and what start-up may load."""

import ast
import json
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
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
}
ROOMS["rocketspec"] = ("cli", set(ROOMS))
"""Package: the folder that holds it, and the packages that it may import."""

COLUMNAR = {
    "formats": set[str](),
    "fast": {"formats"},
    "store": {"formats"},
    "index": {"fast", "formats", "store"},
    "log": {"fast", "formats", "store"},
    "config": {"store"},
    "decode": {"config", "fast", "formats", "index", "log", "store"},
    "facts": {"config", "formats", "index", "log", "store"},
    "query": {"decode", "facts", "formats", "index", "store"},
    "findings": {"formats", "log", "store"},
    "audit": {"decode", "facts", "findings", "formats", "index", "log", "store"},
    "restart": {"audit", "facts", "formats", "index", "log", "store"},
    "report": {"audit", "consumers", "facts", "findings", "log", "rebuild", "restart", "store"},
    "rebuild": {"decode", "facts", "findings", "formats", "index", "log", "store"},
    "repair": {"consumers", "facts", "findings", "log", "rebuild", "report", "restart", "store"},
    "describe": {"decode", "facts", "formats", "index", "log", "store"},
    "consumers": {"config", "decode", "describe", "facts", "findings", "formats", "log", "query", "store"},
    "adapter": {"formats", "index"},
}
"""Each package of the engine, and the packages of the engine that it may import."""

KNOWN_INSIDES = {
    "golden/generator/make.py": {"rocket_golden._archive"},
    "tools/audit_page.py": {"rocketspec.verbs.audit"},
}
"""Imports of another package's inside, by importing file: generators of pages and data."""

COMPILED = {"rocket_columnar.fast.compiled"}
"""Modules whose import loads Numba: each is imported by itself, in functions."""

LAZY = {
    "numba",
    "pandas",
    "psutil",
    "jinja2",
    "jsonschema",
    "matplotlib",
    "pyspark",
    "construct",
    "kaitaistruct",
}
"""Libraries that only the verbs that use them may load."""


@cache
def every_module() -> dict[str, Path]:
    """The modules of all rooms by dotted name; a package's own name stands for its `__init__`."""
    found = {}
    for package, (folder, _) in ROOMS.items():
        for path in sorted((ROOT / folder / package).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imported(path: Path) -> frozenset[str]:
    """The dotted names that a file imports, those in functions and under TYPE_CHECKING too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def imported_modules(path: Path) -> set[str]:
    """The modules of the rooms that a file imports: `a.b` of `from a import b` if `b` is a module, else `a`."""
    known, found = every_module().keys(), set[str]()
    for name in imported(path):
        found |= ({name} & known) or ({name.rpartition(".")[0]} & known)
    return found


@cache
def graph() -> dict[str, set[str]]:
    return {name: imported_modules(path) for name, path in every_module().items()}


def modules_of(package: str) -> dict[str, set[str]]:
    """The modules of a package, and what they import of the rooms."""
    found = {name: inner for name, inner in graph().items() if f"{name}.".startswith(f"{package}.")}
    assert found
    return found


@pytest.mark.parametrize("package", ROOMS)
def test_a_room_imports_only_the_rooms_it_may(package: str) -> None:
    _, allowed = ROOMS[package]
    for name, inner in modules_of(package).items():
        crossed = {other.split(".")[0] for other in inner} - allowed - {package}
        assert not crossed, f"{name} imports {sorted(crossed)}"


def test_no_modules_import_each_other() -> None:
    """Imports in functions and under TYPE_CHECKING count."""
    TopologicalSorter(graph()).prepare()  # its CycleError names one


@pytest.mark.parametrize("package", COLUMNAR)
def test_a_package_of_the_engine_imports_only_those_it_may(package: str) -> None:
    names = {name for inner in modules_of(f"rocket_columnar.{package}").values() for name in inner}
    packages = {name.split(".")[1] for name in names if name.startswith("rocket_columnar.")}
    assert packages - {package} == COLUMNAR[package]


def test_every_module_of_the_engine_is_in_a_package() -> None:
    inside = {name.split(".")[1] for name in every_module() if name.startswith("rocket_columnar.")}
    assert inside == COLUMNAR.keys()


def owned(path: Path) -> set[str]:
    """The packages whose inside a file may import: those that it is in, and those that it tests."""
    place = path.relative_to(ROOT)
    for package, (folder, _) in ROOMS.items():
        parts = place.with_suffix("").parts
        if parts[0] == folder and parts[1:2] == (package,):
            return {".".join(parts[1:end]) for end in range(2, len(parts) + 1)}
        if parts[:2] == ("tests", "columnar") and package == "rocket_columnar":
            return {package, f"{package}.{parts[2]}"}
        if parts[:2] == ("tests", folder):
            return set(modules_of(package))
    return set()


def inside_imports(path: Path) -> set[str]:
    """The imports of a file that pass by another package's face."""
    mine, crossed = owned(path), set()
    for name in imported_modules(path):
        parts = name.split(".")
        for end in range(1, len(parts)):
            package, inner = ".".join(parts[:end]), parts[end]
            is_public = inner == "__main__" or (end == 1 and not inner.startswith("_"))
            if (
                not is_public
                and inner != "_generated"
                and name not in COMPILED
                and "_generated" not in package
                and package not in mine
            ):
                crossed.add(name)
    return crossed


def test_nobody_imports_the_inside_of_another_package() -> None:
    """A package is imported by its `__init__`; of a room itself the modules without an underscore are public."""
    scripts = [
        path
        for folder in ("tests", "tools", "benchmarks", "golden/generator")
        for path in (ROOT / folder).rglob("*.py")
    ]
    crossed = {
        str(path.relative_to(ROOT)): inner
        for path in [*every_module().values(), *scripts]
        if (inner := inside_imports(path))
    }
    assert crossed == KNOWN_INSIDES


@pytest.mark.parametrize(
    "face", [*(ROOT / "columnar/rocket_columnar").glob("*/__init__.py")], ids=lambda face: face.parent.name
)
def test_a_face_is_imports(face: Path) -> None:
    docstring, *body = ast.parse(face.read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr)
    assert {type(node) for node in body} <= {ast.ImportFrom, ast.Assign}  # an assignment to __all__
    names = [alias for node in body if isinstance(node, ast.ImportFrom) for alias in node.names]
    exported = {alias.asname or alias.name for alias in names}
    assert not exported & {path.stem for path in face.parent.iterdir()}, "a name that hides a module"


def test_the_reference_is_standard_library_only() -> None:
    allowed = sys.stdlib_module_names | {"rocket_spec", "rocket_reference"}
    for name in modules_of("rocket_reference"):
        assert {other.split(".")[0] for other in imported(every_module()[name])} <= allowed, name
    code = "import rocket_reference, sys, json; json.dump(sorted(sys.modules), sys.stdout)"
    loaded = {name.split(".")[0] for name in json.loads(_python("-c", code))}
    assert not loaded & (LAZY | {"numpy", "pyarrow", "typer", "rich", "zstandard"})


def test_starting_the_command_loads_no_heavy_library() -> None:
    code = "import rocketspec.command, sys, json; json.dump(sorted(sys.modules), sys.stdout)"
    loaded = {name.split(".")[0] for name in json.loads(_python("-c", code))}
    assert not loaded & (LAZY | {"numpy", "pyarrow"})


def _python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
