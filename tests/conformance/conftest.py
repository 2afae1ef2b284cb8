"""Adapters for these tests: small Python programs, most of them bad ones."""

import sys
import textwrap
from pathlib import Path

import pytest
from adapter_code import AdapterMaker
from verb_run import Verb, any_verb

PRELUDE = """
import json, sys, time, os

OPS = ["key.hash"]
HELLO = {"protocol": 1, "name": "bad", "version": "1", "language": "python", "ops": OPS, "max_in_flight": IN_FLIGHT}

def send(value):
    sys.stdout.write((value if isinstance(value, str) else json.dumps(value)) + "\\n")
    sys.stdout.flush()

def hashed(text):
    value = 0
    for unit in text.encode("utf-16-be", "surrogatepass").hex(" ", 2).split():
        value = (31 * value + int(unit, 16)) & 0xFFFFFFFF
    value = abs(value - (1 << 32) if value >> 31 else value)
    return 0 if value == 1 << 31 else value

def answer(message):
    return {"id": message["id"], "results": [{"hash": hashed(op["key"])} for op in message["ops"]], "files": []}

def main(handle):
    count = 0
    for line in sys.stdin:
        message = json.loads(line)
        if message["cmd"] == "hello":
            send(HELLO)
        elif message["cmd"] == "bye":
            return
        else:
            count += 1
            handle(count, message)
"""


@pytest.fixture
def adapter(tmp_path: Path) -> AdapterMaker:
    """Writes an adapter whose `handle(count, message)` is the given code; returns its command.

    It can do key.hash, rightly unless the code says otherwise. A first line `IN_FLIGHT = n` sets max_in_flight.
    """

    def make(code: str) -> list[str]:
        path = tmp_path / "adapter.py"
        body = textwrap.dedent(code)
        first, _, rest = body.partition("\n")
        in_flight = first if first.startswith("IN_FLIGHT") else "IN_FLIGHT = 1"
        body = rest if first.startswith("IN_FLIGHT") else body
        path.write_text(f"{in_flight}\n{PRELUDE}\n{body}\nmain(handle)\n", encoding="utf-8")
        return [sys.executable, str(path)]

    return make


@pytest.fixture
def verb(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    """Runs any verb of the command, in this process."""
    return any_verb(capfd, monkeypatch)
