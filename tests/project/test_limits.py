"""How long functions and modules may be, and how many parameters a function may take."""

import ast
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
ROOMS: Final = ("spec", "reference", "golden", "columnar", "spark", "conformance", "cli")
LINES: Final = 60
PARAMETERS: Final = 6
MODULE_LINES: Final = 600

_LISTED: Final = Path(__file__).with_name("beyond_limits.txt").read_text("utf-8").splitlines()
EXCEPTIONS: Final = [line.strip() for line in _LISTED if line.startswith("  ")]
"""Functions and modules beyond the limits; the file gives the reasons."""


def product_files() -> list[Path]:
    return [
        path
        for room in ROOMS
        for package in (ROOT / room).iterdir()
        if (package / "__init__.py").exists()
        for path in sorted(package.rglob("*.py"))
        if "_generated" not in path.parts
    ]


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The number of parameters, `self` and `cls` left out."""
    names = [
        parameter.arg
        for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    ]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The number of lines from `def` to the end, the docstring left out."""
    assert function.end_lineno is not None
    first = function.body[0]
    docstring = 0
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        assert first.end_lineno is not None
        docstring = first.end_lineno - first.lineno + 1
    return function.end_lineno - function.lineno + 1 - docstring


def beyond(path: Path) -> dict[str, str]:
    """Parts of a file that are beyond the limits, by name, and by how much."""
    text = path.read_text(encoding="utf-8")
    module = path.relative_to(ROOT).as_posix()
    found = {}
    if text.count("\n") > MODULE_LINES:
        found[module] = f"{text.count(chr(10))} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (
            lines(node) > LINES or parameters(node) > PARAMETERS
        ):
            found[f"{module}:{node.name}"] = f"{lines(node)} lines, {parameters(node)} parameters"
    return found


def test_functions_and_modules_are_short() -> None:
    found = {name: size for path in product_files() for name, size in beyond(path).items()}
    assert {name: size for name, size in found.items() if name not in EXCEPTIONS} == {}
    assert [name for name in EXCEPTIONS if name not in found] == [], (
        "within the limits: take it off beyond_limits.txt"
    )
