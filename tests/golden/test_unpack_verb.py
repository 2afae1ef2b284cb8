"""`golden unpack`: a store appears whole or not at all, and never inside another store."""

import subprocess
import sys
from pathlib import Path

import pytest
from rocket_golden import manifest

NAME = "mixed"
KILLED = """
import os, sys
from rocket_golden import _archive
copy = _archive._copy_sparse
left = [3]
def dying(content, out):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), SIGNAL)
    copy(content, out)
_archive._copy_sparse = dying
from rocketspec.__main__ import main
main()
"""


def unpack(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    start = ["-c", before] if before else ["-m", "rocketspec"]
    command = [sys.executable, *start, "golden", "unpack", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=120)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_killed_unpack_leaves_no_store_and_the_next_one_sweeps(tmp_path: Path) -> None:
    killed = unpack(NAME, str(tmp_path), before=KILLED.replace("SIGNAL", "9"))
    assert killed.returncode == -9
    assert not (tmp_path / NAME).exists()
    assert list(tmp_path.iterdir())  # what it had unpacked by then
    again = unpack(NAME, str(tmp_path))
    assert (again.returncode, again.stdout) == (0, f"{tmp_path / NAME}\n")
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    files = {
        path.relative_to(tmp_path / NAME).as_posix()
        for path in (tmp_path / NAME).rglob("*")
        if path.is_file()
    }
    assert files == {file.file for file in manifest().stores[NAME].files}


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("signal", ["2", "15", "1"])
def test_a_stopped_unpack_leaves_nothing(signal: str, tmp_path: Path) -> None:
    stopped = unpack(NAME, str(tmp_path), before=KILLED.replace("SIGNAL", signal))
    assert stopped.returncode == 130
    assert "Traceback" not in stopped.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    refused = unpack(NAME, str(tmp_path))
    assert refused.returncode == 2
    assert refused.stderr == f"rocketspec: {tmp_path / NAME}: already exists\n"


def test_an_unknown_name_makes_no_folder(tmp_path: Path) -> None:
    assert unpack("nothing", str(tmp_path / "new")).returncode == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("marker", ["commitlog", "consumequeue", "dledger-0/data"])
@pytest.mark.parametrize("place", [".", "deep/below"])
def test_nothing_is_written_into_a_store(marker: str, place: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    (store / marker).mkdir(parents=True)
    before = sorted(store.rglob("*"))
    target = store / place
    refused = unpack(NAME, str(target))
    assert refused.returncode == 2
    assert "nothing is written into a store" in refused.stderr
    command = [
        sys.executable,
        "-m",
        "rocketspec",
        "conform",
        "--select",
        "IDX-HASH-2/*",
        "--report",
        str(target),
    ]
    report = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=120
    )
    assert report.returncode == 2
    assert report.stderr == (
        f"rocketspec: {target}: {store} is a store, and nothing is written into a store; choose another folder\n"
    )
    assert sorted(store.rglob("*")) == before
