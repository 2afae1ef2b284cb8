"""Sphinx's source directory: a copy of the checkout, in its own layout, so that the pages' links hold."""

import shutil
from pathlib import Path
from typing import Final

PAGES: Final = [
    "*.md",
    "docs/*.md",
    "spec/*.md",
    "conformance/*.md",
    "gate-action/README.md",
    "golden/README.md",
    "golden/*/vectors/README.md",
    "columnar/README.md",
    "tests/README.md",
    "tools/README.md",
    "website/README.md",
    "release/README.md",
    "packages/README.md",
    "packages/*/README.md",
    "benchmarks/*.md",
    "api/*.md",
]
"""Glob patterns of the pages."""

_LEFT_OUT: Final = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "out", "stores", "target")


def stage(root: Path, source: Path) -> None:
    """Makes the directory `source`, a copy of the checkout `root` without what no page links to."""
    shutil.copytree(root, source, ignore=_LEFT_OUT)
    shutil.copytree(root / "website" / "pages", source, dirs_exist_ok=True)
