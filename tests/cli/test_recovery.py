"""The operator's page: its commands do what it says, on stores with the damage that it speaks of."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
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


def shell(block: str, cwd: Path, *, notes: bool = False) -> str:
    """Runs a block and returns its output; no command may fail for a reason other than a finding."""
    script = "trap 'echo \"exit code $?: $BASH_COMMAND\"' ERR\n" + block
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "STORE": "store",
        "CONF": "broker.conf",
        "TOPIC": TOPIC,
        "KEY": KEY,
        "COLUMNS": "200",
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert notes or not done.stderr, done.stderr
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
    conf = (
        "maxHashSlotNum=61\nmaxIndexNum=200\nmappedFileSizeConsumeQueue=400\n"  # of the golden store's broker
    )
    (tmp_path / "broker.conf").write_text(conf)
    return tmp_path / "store"


def found(store: Path) -> int:
    return len(query(store, topic=TOPIC, key=KEY, max_num=None).messages)


def test_a_look_at_the_store(store: Path) -> None:
    before = PAGE.partition("\n## 1. ")[0]
    (look,) = re.findall(r"^```sh\n(.*?)^```$", before, re.MULTILINE | re.DOTALL)
    printed = shell(look, store.parent)
    assert "store: store, stopped cleanly" in printed
    assert printed.splitlines()[-1] == "store: no findings"


def test_a_message_that_the_index_lost(store: Path) -> None:
    assert found(store) == MESSAGES
    (store / LAST_INDEX).unlink()
    (both,) = fenced(1, "sh")
    printed = shell(both, store.parent)
    assert "The commit log holds it at physical offset 94,836" in printed
    assert re.search(
        r"the index ends before, at [0-9,]+: not dispatched yet, or its file was deleted", printed
    )
    assert printed.splitlines()[-1] == f"{MESSAGES} messages"


def test_the_broker_was_killed(store: Path) -> None:
    """What the start would delete is saved, and serves after it."""
    (store / "abort").touch()
    (before,) = fenced(2, "sh")
    printed = shell(before, store.parent)
    for line in samples(2):
        assert line in printed.splitlines()
    saved = {path.name for path in (store.parent / "saved" / "index").iterdir()}
    assert len(saved) == len(list((store / "index").iterdir()))


def gone(store: Path) -> None:
    shutil.rmtree(store / "index")


def one_deleted(store: Path) -> None:
    (store / LAST_INDEX).unlink()


def cut(store: Path) -> None:
    path = store / LAST_INDEX
    path.write_bytes(path.read_bytes()[:1000])


@pytest.mark.parametrize("damage", [gone, one_deleted, cut])
def test_the_index_is_gone_or_damaged(store: Path, damage: Callable[[Path], None]) -> None:
    damage(store)
    (rebuilt,) = fenced(3, "sh")
    printed = shell(rebuilt, store.parent)
    assert found(store) == MESSAGES
    assert "store: no findings" in printed
    assert "the last stop was clean" in printed
    assert "WARNING" not in printed
    assert "delete" not in printed


def test_an_abort_file_is_noticed(store: Path) -> None:
    """The page's own test for it, in each section that puts files in place."""
    for number in (3, 4, 5):
        assert 'test ! -e "$STORE/abort"\n' in section(number)


def test_a_queue_that_is_wrong(store: Path) -> None:
    path = store / "consumequeue" / "AaTopic" / "0" / f"{0:020}"
    sound = path.read_bytes()
    path.write_bytes(sound[:40] + bytes(8) + sound[48:])
    (placed,) = fenced(4, "sh")
    assert shell(placed, store.parent).splitlines()[-1] == "store: no findings"
    rebuilt = store.parent / "rebuilt" / "consumequeue"
    assert [path.relative_to(rebuilt).as_posix() for path in rebuilt.rglob("0*0")] == [f"AaTopic/0/{0:020}"]
    assert path.read_bytes() == sound


def test_queues_that_are_gone(store: Path) -> None:
    before = {path: path.read_bytes() for path in (store / "consumequeue").rglob("0*0")}
    shutil.rmtree(store / "consumequeue")
    (placed,) = fenced(4, "sh")
    assert shell(placed, store.parent).splitlines()[-1] == "store: no findings"
    assert {path: path.read_bytes() for path in (store / "consumequeue").rglob("0*0")} == before


def test_a_log_shorter_than_its_index(store: Path) -> None:
    (store / LAST_LOG).unlink()
    look, replaced = (shell(block, store.parent) for block in fenced(5, "sh"))
    for line in samples(5):
        assert line in look.splitlines()
    assert "error" not in replaced
    assert replaced.splitlines()[-1].startswith("store: no findings")
    assert found(store) == MESSAGES


@pytest.mark.parametrize("number", [3, 4, 5])
def test_a_rollback_restores_the_store_as_it_was(store: Path, number: int) -> None:
    if number == 3:
        cut(store)
    elif number == 4:
        (store / "consumequeue" / "AaTopic" / "0" / f"{0:020}").write_bytes(bytes(400))
    else:
        (store / LAST_LOG).unlink()
    names = ("index", "consumequeue", "checkpoint")
    before = {path: path.read_bytes() for name in names for path in files_in(store / name)}
    shell(fenced(number, "sh")[-1], store.parent)
    rollback = re.search(r"\*\*Rollback:\*\* `(.*?)`", section(number))
    assert rollback
    shell(rollback[1], store.parent)
    assert {path: path.read_bytes() for name in names for path in files_in(store / name)} == before


def files_in(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]


def test_a_damaged_log_is_decoded_as_far_as_it_goes(store: Path) -> None:
    (store / "commitlog" / f"{32768:020}").unlink()
    (decoded,) = fenced(6, "sh")
    shell(decoded, store.parent, notes=True)
    assert (store.parent / "left" / "commit_log.parquet").exists()


def test_a_full_disk_leaves_a_torn_record(store: Path) -> None:
    """The last record of the log without its last 100 bytes, and an abort file."""
    path = store / LAST_LOG
    data = bytearray(path.read_bytes())
    end = 101_859 - 98_304
    data[end - 100 : end] = bytes(100)
    path.write_bytes(data)
    (store / "abort").touch()
    (look,) = fenced(7, "sh")
    printed = shell(look, store.parent)
    assert "log.torn" in printed
    assert "store.abort" in printed
