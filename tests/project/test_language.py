"""Pages and help texts are in plain English, by the rules of CONTRIBUTING.md."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATED = ("audit.md",)  # its wording is the engine's
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in GENERATED),
    *(
        page
        for room in ("cli", "columnar", "conformance", "golden", "reference", "spark", "spec")
        for kind in ("*.py", "*.md", "*.ksy")
        for page in sorted((ROOT / room).rglob(kind))
        if not {"_generated", "node_modules", "target"} & set(page.parts)
    ),
]
REJECTED = re.compile(
    r"\b(sa(y|id) so|says so|so many|held against|made again|once more|say one of|is there already|tells? apart"
    r"|how surely|(is|are) told|as (it|they) lies?|lies? (in|at|there|behind|before|after|outside|inside)"
    r"|looked for any more)\b"
)


SCRIPTS = [
    page
    for room in ("benchmarks", "release", "tests", "tools", "website")
    for page in sorted((ROOT / room).rglob("*.py"))
]
"""Only their docstrings are read."""


def docstrings(path: Path) -> str:
    """The docstrings of a module, its classes and functions."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    nodes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, kinds)]
    return "\n".join(ast.get_docstring(node) or "" for node in nodes)


def rejected(text: str) -> list[str]:
    """The rejected phrases of a text, with what is around them."""
    text = re.sub(r"\s+", " ", text)
    return [text[max(0, match.start() - 40) : match.end() + 20] for match in REJECTED.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_uses_none_of_the_rejected_phrases(page: Path) -> None:
    assert rejected(page.read_text("utf-8")) == []


def test_docstrings_of_scripts_and_tests_use_none_of_them() -> None:
    found = {path.relative_to(ROOT).as_posix(): rejected(docstrings(path)) for path in SCRIPTS}
    assert {name: phrases for name, phrases in found.items() if phrases} == {}
