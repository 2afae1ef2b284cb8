"""Code of small adapters for the fixture `adapter` of tests/conformance, and the command as a process of its own."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from rocket_conformance.cases import Case, Observation
from rocket_conformance.judging import Trial
from rocket_reference import key_hash

AdapterMaker = Callable[[str], list[str]]
GOOD = "def handle(count, message):\n    send(answer(message))"
WRONG = "def handle(count, message):\n    send({'id': message['id'], 'results': [{'hash': 1}] * len(message['ops'])})"


def hash_trial(root: Path, number: int, key: str = "") -> Trial:
    """A case that hashes its own number, or another key."""
    key = key or str(number)
    ops = ({"op": "key.hash", "key": key},)
    expected = Observation(({"hash": key_hash(key)},))
    return Trial(Case("IDX-HASH-1/any", ("IDX-HASH-1",), ops), expected, root / str(number))


def hash_trials(root: Path, count: int) -> list[Trial]:
    """Cases that hash their own number."""
    return [hash_trial(root, number) for number in range(count)]


def rocketspec(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own."""
    command = [sys.executable, "-m", "rocketspec", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False, cwd=cwd, timeout=300
    )
