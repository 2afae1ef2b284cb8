"""Formatter and linter are clean; `make lint` runs mypy too."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("tool", [("format", "--check"), ("check",)], ids=" ".join)
def test_ruff_is_clean(tool: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "ruff", *tool, "."]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
