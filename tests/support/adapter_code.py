"""Code of small adapters for the fixture `adapter` of tests/conformance, and the command as a process of its own."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

AdapterMaker = Callable[[str], list[str]]
GOOD = "def handle(count, message):\n    send(answer(message))"
WRONG = "def handle(count, message):\n    send({'id': message['id'], 'results': [{'hash': 1}] * len(message['ops'])})"


def rocketspec(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own."""
    command = [sys.executable, "-m", "rocketspec", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False, cwd=cwd, timeout=300
    )
