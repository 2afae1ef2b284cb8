"""Figures that long runs record in `docs/`: the hash of their inputs, and the rows that are still of these inputs."""

import ast
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]


def inputs_hash(patterns: Iterable[str]) -> str:
    """SHA-256 over the files that decide what a run finds; comments and docstrings of Python aside.

    Args:
        patterns: paths relative to the checkout, with `*` and `**`; each matches a file.
    """
    digest = hashlib.sha256()
    for pattern in patterns:
        paths = sorted(ROOT.glob(pattern))
        assert paths, pattern
        for path in paths:
            text = path.read_text("utf-8")
            code = ast.unparse(_Bare().visit(ast.parse(text))) if path.suffix == ".py" else text
            digest.update(f"{path.relative_to(ROOT).as_posix()}\0{code}\0".encode())
    return digest.hexdigest()


class _Bare(ast.NodeTransformer):
    """Drops strings that are statements: docstrings, and those after constants."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return ast.Pass() if text else node


def write_figures(path: Path, figures: object) -> None:
    """Writes figures as JSON."""
    path.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def kept_rows(path: Path, inputs: str) -> dict[str, Any]:
    """The rows of a file of figures, by their names; none if it was made of other inputs."""
    kept = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return dict(kept["rows"]) if kept.get("inputs") == inputs else {}
