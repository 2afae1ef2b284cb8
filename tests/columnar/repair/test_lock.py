"""No broker starts while a repair works: it holds the broker's lock from the first look to the last rename."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from rocket_columnar.repair import Target, plan_repair, repair, undo
from rocket_columnar.store import lock_holder
from rocket_golden import open_store
from rocket_spec.errors import UsageError

BROKER = """
import fcntl, sys
for line in sys.stdin:
    with open(sys.argv[1], "a") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
            print("started", flush=True)
        except (BlockingIOError, PermissionError):
            print("kept out", flush=True)
"""
JAVA = """
import java.io.RandomAccessFile;
public class Lock {
    public static void main(String[] arguments) throws Exception {
        RandomAccessFile file = new RandomAccessFile(arguments[0], "rw");
        System.out.println(file.getChannel().tryLock(0, 1, false) == null ? "kept out" : "started");
        System.out.flush();
        System.in.read();
    }
}
"""
"""As `DefaultMessageStore.start` 237-240."""
STEPS = ("rename", "mkdir", "fsync", "unlink", "rmdir", "open")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store = open_store("mixed", tmp_path)
    os.truncate(store / f"consumequeue/Orders/0/{0:020}", 200)
    shutil.rmtree(store / "consumequeue/Orders/1")
    (store / "lock").unlink(missing_ok=True)
    return store


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_lock_that_is_no_regular_file(store: Path, make: Callable[[Path], None]) -> None:
    make(store / "lock")
    for work in (plan_repair, repair):
        with pytest.raises(OSError, match=r"[Dd]irectory|regular"):
            work(Target(store))


@pytest.fixture
def at_renames(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[Any]]:
    """Has something done before each rename; its results."""

    def watch(look: Callable[[], Any]) -> list[Any]:
        rename, found = os.rename, list[Any]()

        def run(*names: Any, **folders: Any) -> None:
            found.append(look())
            rename(*names, **folders)

        monkeypatch.setattr(os, "rename", run)
        return found

    return watch


@contextmanager
def broker(path: Path) -> Iterator[Callable[[], str]]:
    """A process that tries to start each time it is called."""
    command = [sys.executable, "-c", BROKER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        one = Lock()

        def start() -> str:
            with one:
                stdin.write("\n")
                stdin.flush()
                return stdout.readline().strip()

        yield start
        stdin.close()


@pytest.mark.parametrize("work", [lambda store: repair(Target(store)), undo], ids=["repair", "undo"])
def test_a_broker_is_kept_out_at_each_step(
    work: Callable[[Path], Any], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repair(Target(store))
    if work is not undo:
        undo(store)
    found, opened = list[str](), list[object]()
    with broker(store / "lock") as start, monkeypatch.context() as patch:

        def tried(step: Callable[..., Any]) -> Callable[..., Any]:
            def run(*given: Any, **options: Any) -> Any:
                if "lock" in opened:
                    found.append(start())
                opened.append(given[0])
                return step(*given, **options)

            return run

        for name in STEPS:
            patch.setattr(os, name, tried(getattr(os, name)))
        work(store)
        assert start() == "started"
    assert len(found) > 50
    assert set(found) == {"kept out"}


def test_the_lock_outlives_a_close_of_the_file_elsewhere_in_the_process(store: Path, at_renames: Any) -> None:
    def look() -> str:
        (store / "lock").read_bytes()
        assert lock_holder(store) == 0, "another process"
        return start()

    with broker(store / "lock") as start:
        found = at_renames(look)
        repair(Target(store))
    assert set(found) == {"kept out"}


def test_the_lock_is_reported_to_other_processes(store: Path, at_renames: Any) -> None:
    """As that of a process which the system does not name."""
    asked = "import sys, pathlib; from rocket_columnar.store import lock_holder; print(lock_holder(pathlib.Path(sys.argv[1])))"
    found = at_renames(cache(lambda: int(subprocess.check_output([sys.executable, "-c", asked, str(store)]))))
    repair(Target(store))
    assert set(found) == {-1}


def test_a_lock_that_is_replaced_meanwhile_is_no_lock(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    control: Callable[..., Any] = fcntl.fcntl

    def replaced(*given: Any) -> Any:
        if given[1] == fcntl.F_OFD_SETLK:
            (store / "other").touch()
            (store / "other").rename(store / "lock")
        return control(*given)

    monkeypatch.setattr(fcntl, "fcntl", replaced)
    with pytest.raises(UsageError, match="was replaced meanwhile"):
        repair(Target(store))
    assert not list(store.glob("rocketspec-repair-*"))


def test_java_takes_the_same_lock(java: str, store: Path, tmp_path: Path, at_renames: Any) -> None:
    """A JVM that runs keeps a repair out, and a repair a JVM that starts."""
    (tmp_path / "Lock.java").write_text(JAVA)
    command = [java, "-XX:TieredStopAtLevel=1", str(tmp_path / "Lock.java"), str(store / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as jvm:
        assert jvm.stdout is not None
        assert jvm.stdout.readline() == b"started\n"
        with pytest.raises(UsageError, match=f"process {jvm.pid} holds its lock"):
            repair(Target(store))
        jvm.communicate(b"\n")
    found = at_renames(
        cache(lambda: subprocess.run(command, input=b"\n", capture_output=True, check=True).stdout)
    )
    assert repair(Target(store)).after.found == 0
    assert set(found) == {b"kept out\n"}
