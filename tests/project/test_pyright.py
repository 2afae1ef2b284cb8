"""Pyright is clean: `make test` starts it beside the tests, and this one waits for its answer."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.node
def test_pyright_is_clean(node: str) -> None:
    script = ROOT / "tests/project/run_pyright.py"
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
