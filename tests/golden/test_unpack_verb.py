"""`golden unpack`: a store appears whole or not at all, and never inside another store; the exit code of `golden verify`."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rocket_golden import manifest
from verb_run import Outcome, runner

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


def killed_by(signal: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """An unpack that gets a signal in its midst."""
    command = [sys.executable, "-c", KILLED.replace("SIGNAL", signal), "golden", "unpack", NAME, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=120)


@pytest.fixture
def unpack(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    return lambda *arguments: runner("golden", capfd, monkeypatch)("unpack", *arguments)


def test_a_killed_unpack_leaves_no_store_and_the_next_one_sweeps(
    unpack: Callable[..., Outcome], tmp_path: Path
) -> None:
    killed = killed_by("9", tmp_path)
    assert killed.returncode == -9
    assert not (tmp_path / NAME).exists()
    assert list(tmp_path.iterdir())  # what it had unpacked by then
    again = unpack(NAME, tmp_path)
    assert (again.code, again.out) == (0, f"{tmp_path / NAME}\n")
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    files = {
        path.relative_to(tmp_path / NAME).as_posix()
        for path in (tmp_path / NAME).rglob("*")
        if path.is_file()
    }
    assert files == {file.file for file in manifest().stores[NAME].files}


@pytest.mark.parametrize("signal", ["2", "15", "1"])
def test_a_stopped_unpack_leaves_nothing(signal: str, tmp_path: Path) -> None:
    stopped = killed_by(signal, tmp_path)
    assert stopped.returncode == 130
    assert "Traceback" not in stopped.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("problems", "code", "last"), [([], 0, "all as recorded"), (["x: is missing"], 1, "1 problem")]
)
def test_a_file_that_differs_is_a_finding(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    problems: list[str],
    code: int,
    last: str,
) -> None:
    monkeypatch.setattr("rocket_golden.verify", lambda: problems)
    done = runner("golden", capfd, monkeypatch)("verify")
    assert (done.code, done.out.splitlines()[:-1]) == (code, problems)
    assert done.last.endswith(f" golden stores, {last}")
