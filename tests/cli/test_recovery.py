"""The operator's page: its commands do what it says, on stores with the damage that it speaks of."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import rocket_golden
from rocketspec import query
from runbook import PAGE, blocks, restore_command, run_block, samples, section
from store_bytes import contents, overwrite

TOPIC, KEY = "BBTopic", "oneway-0"
"""Of messages of the golden store `mixed` that only its last index file knows, and whose log is not dispatched again."""
MESSAGES = 3
LAST_INDEX = "index/20261121132607044"
LAST_LOG = "commitlog/00000000000000098304"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="the page's commands are a shell's")


def shell(block: str, cwd: Path, *, notes: bool = False) -> str:
    return run_block(block, cwd, topic=TOPIC, key=KEY, notes=notes)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    shutil.move(rocket_golden.open_store("mixed", tmp_path / "golden"), tmp_path / "store")
    # of the golden store's broker
    conf = "maxHashSlotNum=61\nmaxIndexNum=200\nmappedFileSizeConsumeQueue=400\n"
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
    (both,) = blocks(1)
    printed = shell(both, store.parent)
    assert "The commit log holds it at physical offset 94,836" in printed
    assert re.search(
        r"the index ends before, at [0-9,]+: not dispatched yet, or its file was deleted", printed
    )
    assert printed.splitlines()[-1] == f"{MESSAGES} messages"


def test_the_broker_was_killed(store: Path) -> None:
    """What the start would delete is saved, and serves after it."""
    (store / "abort").touch()
    (before,) = blocks(2)
    printed = shell(before, store.parent)
    for line in samples(2):
        assert line in printed.splitlines()
    saved = {path.name for path in (store.parent / "saved" / "index").iterdir()}
    assert len(saved) == len(list((store / "index").iterdir()))


def cut(store: Path) -> None:
    os.truncate(store / LAST_INDEX, 1000)


@pytest.mark.parametrize(
    "damage",
    [lambda store: shutil.rmtree(store / "index"), lambda store: (store / LAST_INDEX).unlink(), cut],
    ids=["gone", "one file gone", "cut"],
)
def test_the_index_is_gone_or_damaged(store: Path, damage: Callable[[Path], object]) -> None:
    damage(store)
    (rebuilt,) = blocks(3)
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
    overwrite(path, 40, bytes(8))
    (placed,) = blocks(4)
    assert shell(placed, store.parent).splitlines()[-1] == "store: no findings"
    rebuilt = store.parent / "rebuilt" / "consumequeue"
    assert [path.relative_to(rebuilt).as_posix() for path in rebuilt.rglob("0*0")] == [f"AaTopic/0/{0:020}"]
    assert path.read_bytes() == sound


def test_queues_that_are_gone(store: Path) -> None:
    before = contents(store / "consumequeue")
    shutil.rmtree(store / "consumequeue")
    (placed,) = blocks(4)
    assert shell(placed, store.parent).splitlines()[-1] == "store: no findings"
    assert contents(store / "consumequeue") == before


def test_a_log_shorter_than_its_index(store: Path) -> None:
    (store / LAST_LOG).unlink()
    look, replaced = (shell(block, store.parent) for block in blocks(5))
    for line in samples(5):
        assert line in look.splitlines()
    assert "error" not in replaced
    # delayed messages were delivered beyond the log's end
    assert replaced.splitlines()[-1] == "store: 1 note"
    assert found(store) == MESSAGES


@pytest.mark.parametrize("number", [3, 4, 5])
def test_a_rollback_restores_the_store_as_it_was(store: Path, number: int) -> None:
    if number == 3:
        cut(store)
    elif number == 4:
        (store / "consumequeue" / "AaTopic" / "0" / f"{0:020}").write_bytes(bytes(400))
    else:
        (store / LAST_LOG).unlink()
    before = contents(store)
    shell(blocks(number)[-1], store.parent)
    shell(restore_command(number), store.parent)
    assert contents(store) == before


def test_a_damaged_log_is_decoded_as_far_as_it_goes(store: Path) -> None:
    (store / "commitlog" / f"{32768:020}").unlink()
    (decoded,) = blocks(6)
    shell(decoded, store.parent, notes=True)
    assert (store.parent / "left" / "commit_log.parquet").exists()


def test_a_full_disk_leaves_a_torn_record(store: Path) -> None:
    """The last record of the log without its last 100 bytes, and an abort file."""
    path = store / LAST_LOG
    overwrite(path, 101_859 - 98_304 - 100, bytes(100))
    (store / "abort").touch()
    (moved,) = blocks(7)
    printed = shell(moved, store.parent)
    assert "log.torn" in printed
    assert "store.abort" in printed
    assert "the log is read from 0 and ends at 101,859" in printed
    assert "lost: " not in printed
    assert not (store / "checkpoint").exists()
    shell(restore_command(7), store.parent)
    assert (store / "checkpoint").exists()
