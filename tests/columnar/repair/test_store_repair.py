"""A repair cures what a rebuild cures, leaves the rest, and can be taken back whenever it ends."""

import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from one_at_a_time import broker_lock
from rocket_columnar.log import Requests
from rocket_columnar.repair import Target, plan_repair, repair, undo
from rocket_columnar.report import audit
from rocket_golden import open_store
from rocket_spec.errors import UsageError
from store_bytes import overwrite, own_contents

INDEX = "index/20261121132606390"
ORDERS = f"consumequeue/Orders/0/{0:020}"
BBTOPIC = 2457  # position of a topic in the first log file

CHILD = """
import os, signal, sys
from pathlib import Path
from rocket_columnar.repair import Target, repair, undo

left = int(sys.argv[2])

def counted(step):
    def run(*given, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*given, **options)
    return run

for name in ("rename", "mkdir", "fsync", "unlink", "rmdir"):
    setattr(os, name, counted(getattr(os, name)))
(repair(Target(Path(sys.argv[1]))) if sys.argv[3:] != ["undo"] else undo(Path(sys.argv[1])))
"""


def content(store: Path) -> dict[str, bytes | None]:
    return {
        path.relative_to(store).as_posix(): path.read_bytes() if path.is_file() else None
        for path in store.rglob("*")
    }


def damage(store: Path) -> None:
    """A slot of an index file points beyond its entries, a queue file is cut, another queue is gone, and a stray file."""
    overwrite(store / INDEX, 40 + 44, b"\x7f\xff\xff\xff")
    os.truncate(store / ORDERS, 200)
    shutil.rmtree(store / "consumequeue" / "Orders" / "1")
    (store / "commitlog" / ".DS_Store").write_bytes(b"x")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store = open_store("mixed", tmp_path)
    damage(store)
    return store


def test_what_a_rebuild_cures_is_cured_and_undone_to_the_byte(store: Path) -> None:
    before = content(store)
    plan = plan_repair(Target(store))
    assert content(store) == before
    assert plan.left == ()
    assert sorted(plan.away) == ["commitlog/.DS_Store", ORDERS, INDEX]
    assert sorted(plan.into) == [ORDERS, f"consumequeue/Orders/1/{0:020}", INDEX]
    assert plan.outlook.refused is not None
    done = repair(Target(store))
    assert (done.worse, done.plan) == ("", plan)
    changed = {
        name for name, data in content(store).items() if before.get(name) != data or name not in before
    }
    kept = {name for name in changed if name.startswith("rocketspec-repair-")}
    assert changed - kept - {"consumequeue/Orders/1"} == set(plan.into)
    assert (done.after.refused, done.after.messages, done.after.found) == (None, 394, 0)
    assert not [found for found in audit(store) if found.severity != "note"]
    assert repair(Target(store)).plan.empty
    assert undo(store) == done.folder
    assert content(store) == before


def test_what_is_found_beside_damaged_files_is_cured_with_them(store: Path) -> None:
    """Three files are damaged, eight topics are unlisted, and offsets of five groups beyond their queue, which are left."""
    (store / "config/topics.json").unlink()
    (store / "config/topics.json.bak").unlink(missing_ok=True)
    table = {f"Orders@g{number}": {0: 99} for number in range(5)}
    (store / "config/consumerOffset.json").write_text(json.dumps({"offsetTable": table}), "ascii")
    done = repair(Target(store))
    assert (done.worse, done.after.found, done.after.damage, len(done.plan.topics)) == ("", 5, 0, 8)
    assert [found.code for found in done.plan.left] == ["consumer.offset_beyond_queue"] * 5


def test_what_makes_the_store_worse_is_taken_back(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(store)
    monkeypatch.setattr("rocket_columnar.repair.Outlook.worse_than", lambda *_: "shown by a test")
    assert repair(Target(store)).worse == "shown by a test"
    assert content(store) == before


@pytest.mark.parametrize("moment", [0, 3, 9, 10])
def test_a_full_disk_leaves_the_store_as_it_was(
    moment: int, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(store)
    rename, made = os.rename, 0

    def full(*names: Any, **folders: Any) -> None:
        nonlocal made
        made += 1
        if made == moment + 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rename(*names, **folders)

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OSError, match="No space left"):
        repair(Target(store))
    assert content(store) == before


@pytest.mark.parametrize("moment", [1, 2, 3, 4])
def test_an_interrupt_while_the_first_journal_is_written_leaves_nothing(
    moment: int, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, calls, sync = content(store), count(1), os.fsync

    def interrupted(descriptor: int) -> None:
        if next(calls) == moment:
            raise KeyboardInterrupt
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        repair(Target(store))
    assert content(store) == before


def test_what_a_repair_made_is_on_the_disk(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file before it gets its name, and in the end each folder that got one."""
    before = {path.stat().st_ino for path in store.rglob("*")}
    on_disk, sync, rename = set[int](), os.fsync, os.rename

    def synced(descriptor: int) -> None:
        sync(descriptor)
        on_disk.add(os.fstat(descriptor).st_ino)

    def moved(old: Any, new: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        rename(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        if dst_dir_fd is not None:  # else the file is still being built
            assert os.stat(new, dir_fd=dst_dir_fd).st_ino in before | on_disk, new
            on_disk.discard(os.fstat(dst_dir_fd).st_ino)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", moved)
    done = repair(Target(store))
    places = {(store / name).parent for name in done.plan.into} | {store / done.folder}
    assert {path.stat().st_ino for path in places} <= on_disk


def killed(store: Path, steps: int, *verb: str) -> int:
    """Exit code of a repair, or of an undo, that is killed after a number of steps."""
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(store), str(steps), *verb], capture_output=True, check=False
    ).returncode


def start_broker(store: Path) -> str:
    """Writes as a broker that starts after a kill: to a queue, an index file and the lock; the queue's file."""
    with broker_lock(store):
        path = store / ORDERS
        with path.open("r+b" if path.exists() else "w+b") as file:
            file.seek(200)
            file.write(b"0123456789abcdefghij")
        (store / "index" / "20301121132606390").write_bytes(bytes(40))
    return str(path)


def is_as_before_or_refused(store: Path, before: dict[str, bytes | None], steps: int) -> bool:
    """After a kill, undo takes the repair back, and refuses if a broker has written since. Returns whether it was killed."""
    files = own_contents(store)
    ended = killed(store, steps)
    assert ended in (0, -signal.SIGKILL)
    finished = list(store.glob("rocketspec-repair-*/done"))  # it was killed after that
    if ended and list(store.glob("rocketspec-repair-*/repair.json")) and not finished:
        for work in (repair, plan_repair):
            with pytest.raises(UsageError, match="interrupted"):
                work(Target(store))
        moved = own_contents(store) != files
        copy = store.with_name("copy")
        shutil.copytree(store, copy)
        written = start_broker(copy)
        found = own_contents(copy)
        if moved:
            for _ in range(2):
                with pytest.raises(UsageError, match="has been written since the repair") as refused:
                    undo(copy)
                assert str(refused.value).startswith((written, str(copy / "index")))
        else:
            undo(copy)
        assert own_contents(copy) == found
        shutil.rmtree(copy)
        assert killed(store, steps % 7, "undo") in (0, -signal.SIGKILL)
    if list(store.glob("rocketspec-repair-*/repair.json")):
        undo(store)
    assert own_contents(store) == files
    assert (repair(Target(store)).after.found, undo(store)[:18]) == (0, "rocketspec-repair-")
    assert content(store) == before
    return bool(ended)


@pytest.mark.parametrize("steps", [2, 25, 38])
def test_a_repair_that_was_killed_is_undone(store: Path, steps: int) -> None:
    assert is_as_before_or_refused(store, content(store), steps)


@pytest.mark.soak
def test_a_repair_that_was_killed_at_any_step_is_undone(store: Path) -> None:
    shutil.rmtree(store / "consumequeue" / "BBTopic")
    before = content(store)
    steps = 0
    while is_as_before_or_refused(store, before, steps):
        steps += 1
    assert steps > 50


def test_an_undo_that_was_killed_at_any_step_is_repeated(store: Path) -> None:
    before, steps = content(store), 0
    repair(Target(store))
    while True:
        copy = store.with_name("copy")
        shutil.copytree(store, copy)
        ended = killed(copy, steps, "undo")
        with suppress(UsageError):  # it contains no repair: all was taken back
            undo(copy)
        assert content(copy) == before
        shutil.rmtree(copy)
        if not ended:
            break
        steps += 7
    assert steps > 20


def test_everything_that_a_repair_makes_belongs_to_the_owner_of_the_store(store: Path) -> None:
    """Root repairs; the broker's user has to write to the new files and folders, and may undo the repair."""
    owner = 65534 if os.geteuid() == 0 else os.geteuid()
    for path in (store, *store.rglob("*")):
        os.chown(path, owner, -1)
    repair(Target(store))
    assert {path.stat().st_uid for path in store.rglob("*")} == {owner}
    assert (store / "consumequeue/Orders/1").is_dir()


def test_the_last_repair_is_undone_first_if_the_clock_went_back(store: Path) -> None:
    first = store / repair(Target(store)).folder
    first.rename(first.with_name("rocketspec-repair-20991231-000000-000000"))
    before = content(store)
    os.truncate(store / ORDERS, 100)
    second = repair(Target(store)).folder
    assert undo(store) == second
    assert {**content(store), ORDERS: None} == {**before, ORDERS: None}


def test_a_second_repair_at_once_is_refused(store: Path) -> None:
    before = content(store)
    descriptor = os.open(store, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another repair is running"):
            repair(Target(store))
    finally:
        os.close(descriptor)
    assert content(store) == before


def test_a_store_in_use_is_refused(store: Path) -> None:
    """The lock is that which a broker holds while it runs, byte 0 (`DefaultMessageStore.start` 221)."""
    with broker_lock(store) as holder:
        before = content(store)
        for work in (plan_repair, repair):
            with pytest.raises(UsageError, match=f"process {holder} holds its lock"):
                work(Target(store))
        assert content(store) == before


def test_an_undo_after_the_broker_wrote_is_refused(store: Path) -> None:
    done = repair(Target(store))
    with (store / ORDERS).open("r+b") as file:
        file.write(b"\0")
    with pytest.raises(UsageError, match="has been written since the repair") as caught:
        undo(store)
    assert done.folder in str(caught.value)


def test_an_undo_after_the_broker_wrote_beside_it_is_refused(store: Path) -> None:
    repair(Target(store))
    (store / ORDERS).with_name(f"{800:020}").write_bytes(bytes(400))
    with pytest.raises(UsageError, match=f"{800:020}: has been written since the repair"):
        undo(store)


def test_where_locks_are_unknown_abort_is_a_broker(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocket_columnar.repair.store_repair.lock_holder", lambda _store: None)
    (store / "abort").touch()
    with pytest.raises(UsageError, match=r"a broker may be running \(abort exists\)"):
        plan_repair(Target(store))


@pytest.mark.parametrize("batched", [True, False])
def test_an_index_file_that_is_rebuilt_keeps_the_keys_of_a_record_whose_topic_is_unsafe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, batched: bool
) -> None:
    """The record was BBTopic's, and clients ask for its keys there: the file becomes what the broker wrote."""

    def alone(requests: Iterable[Requests], _at_least: int) -> Iterator[Requests]:
        for batch in requests:
            bounds = np.append(0, np.cumsum(batch.key_count))
            yield from (batch.part(row, row + 1, bounds) for row in range(batch.size.size))

    if not batched:
        monkeypatch.setattr("rocket_columnar.rebuild.dispatched_columns.joined_batches", alone)
    store = open_store("mixed", tmp_path)
    index = store / "index" / "20261121132605989"
    whole = index.read_bytes()
    overwrite(store / f"commitlog/{0:020}", BBTOPIC, b"/")
    overwrite(index, 36, (int.from_bytes(whole[36:40]) - 5).to_bytes(4))
    repair(Target(store))
    assert index.read_bytes() == whole
