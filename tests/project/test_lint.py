"""The formatter, the linter and mypy are clean."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "tool",
    [("ruff", "format", "--check", "."), ("ruff", "check", "."), ("mypy",)],
    ids=" ".join,
)
def test_clean(tool: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *tool], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
