"""Processes as users start them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
_OURS: Final = ("PYTHONDONTWRITEBYTECODE", "NUMBA_CACHE_DIR")
"""Variables that keep Python from keeping its bytecode, and the compiled loops where this process has them."""


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without what makes a child slower or faster than a user's."""
    return {name: value for name, value in os.environ.items() if name not in _OURS} | variables


def run_python(code: str, *arguments: object) -> str:
    """Runs a script, which can import the benchmarks; its output."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, cwd=_ROOT, env=environment()
    )
    return done.stdout
