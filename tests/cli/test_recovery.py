"""The operator's page: its commands do what it says, on stores with the damage that it speaks of."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import rocket_golden
from rocketspec import query

PAGE = (Path(__file__).parents[2] / "docs" / "recovery.md").read_text("utf-8")
TOPIC, KEY = "BBTopic", "oneway-0"
"""Of messages of the golden store `mixed` that only its last index file knows, and whose log is not dispatched again."""
MESSAGES = 3
LAST_INDEX = "index/20261121132607044"
LAST_LOG = "commitlog/00000000000000098304"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="the page's commands are a shell's")


def section(number: int) -> str:
    found = re.search(rf"^## {number}\. .*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[0]


def shell(block: str, cwd: Path) -> str:
    """Runs a block; its output, in which no command may fail for a reason other than a finding."""
    script = "trap 'echo \"exit code $?: $BASH_COMMAND\"' ERR\n" + block
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "STORE": "store",
        "TOPIC": TOPIC,
        "KEY": KEY,
        "COLUMNS": "200",
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    assert not re.search(r"^exit code (?!1: rocketspec)", done.stdout, re.MULTILINE), done.stdout
    return done.stdout


def fenced(number: int, language: str) -> list[str]:
    """The blocks of a section in a language; output is in none."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", section(number), re.MULTILINE | re.DOTALL)
    return [body for name, body in blocks if name == language]


def samples(number: int) -> list[str]:
    """The lines of output that a section shows."""
    return [line for block in fenced(number, "") for line in block.splitlines() if line != "..."]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    shutil.move(rocket_golden.open_store("mixed", tmp_path / "golden"), tmp_path / "store")
    return tmp_path / "store"


def found(store: Path) -> int:
    return len(query(store, topic=TOPIC, key=KEY, max_num=None).messages)


def test_a_message_that_the_index_lost(store: Path) -> None:
    assert found(store) == MESSAGES
    (store / LAST_INDEX).unlink()
    (both,) = fenced(1, "sh")
    said = shell(both, store.parent)
    assert "The commit log holds it at physical offset 94,836" in said
    assert re.search(r"the index ends before, at [0-9,]+: not dispatched yet, or its file was deleted", said)
    assert said.splitlines()[-1] == f"{MESSAGES} messages"


def test_the_index_after_kill_9(store: Path) -> None:
    (store / "abort").touch()
    before, rebuilt = fenced(2, "sh")
    said = shell(before, store.parent)
    for line in samples(2):
        assert line in said.splitlines()
    (store / "abort").unlink()
    (store / LAST_INDEX).unlink()
    assert found(store) == 0
    said = shell(rebuilt, store.parent)
    assert found(store) == MESSAGES
    assert "store: no findings" in said
    assert "the last stop was clean" in said
    assert "delete" not in said


def test_an_abort_file_is_noticed(store: Path) -> None:
    """The page's own test for it, in each section that puts files in place."""
    for number in (2, 3, 4):
        assert 'test ! -e "$STORE/abort"\n' in section(number)


def test_a_queue_that_is_wrong(store: Path) -> None:
    path = store / "consumequeue" / "AaTopic" / "0" / f"{0:020}"
    sound = path.read_bytes()
    path.write_bytes(sound[:40] + bytes(8) + sound[48:])
    told, placed = (shell(block, store.parent) for block in fenced(3, "sh"))
    assert "queue.wrong_target" in told
    assert re.findall(r"^rebuilt/.*", told, re.MULTILINE) == [f"rebuilt/consumequeue/AaTopic/0/{0:020}"]
    assert placed.splitlines()[-1] == "store: no findings"
    assert path.read_bytes() == sound


def test_an_index_ahead_of_its_log(store: Path) -> None:
    (store / LAST_LOG).unlink()
    told, placed = (shell(block, store.parent) for block in fenced(4, "sh"))
    for line in samples(4):
        assert line in told.splitlines()
    assert "error" not in placed
    assert placed.splitlines()[-1].startswith("store: no findings")
    assert found(store) == MESSAGES
