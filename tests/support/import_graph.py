"""The imports between the modules of the repository, read from their source."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module.

    Attributes:
        line: where the import statement begins.
        module: the dotted name of the module that is loaded: `a.b` for `import a.b`, and for `from a import b` where
            `b` is a module, else `a`.
    """

    line: int
    module: str


def modules_of(folder: Path, package: str) -> dict[str, Path]:
    """The modules of a package by dotted name; a package's own name stands for its `__init__`."""
    found = {}
    for path in sorted((folder / package).rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path, modules: Mapping[str, Path]) -> Iterator[Import]:
    """The imports of a file that lead to one of the modules; those in functions and under TYPE_CHECKING too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            names = [name if name in modules else node.module for name in inner]
        else:
            continue
        yield from (Import(node.lineno, name) for name in dict.fromkeys(names) if name in modules)
