"""How the process of a command ends: early, with its exit status, and with all that it wrote."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

BESIDE = Path(sys.executable).with_name("rocketspec")

# A command that does `{act}`; an object that a module holds prints a line when the interpreter is taken down.
SCRIPT = """\
import atexit, sys, tempfile, threading
from rocketspec import __main__ as command

class Last:
    write = sys.stderr.write
    def __del__(self):
        self.write("apart\\n")

sys.last = Last()

def act(**options):
    {act}

command._app = lambda arguments: act
command.run()
"""


def ended(
    act: str, *, before: str = "", stdout: IO[str] | int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    script = before + SCRIPT.format(act=act)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, "-c", script],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=buffered,
    )


@pytest.mark.parametrize(
    ("act", "status", "said"),
    [
        ("return 0", 0, ""),
        ("return None", 0, ""),
        ("return 1", 1, ""),
        ("sys.exit(259)", 3, ""),  # the system keeps eight bits
        ("raise KeyboardInterrupt", 130, ""),
        ("raise FileNotFoundError(2, 'No such file', 'x')", 3, "rocketspec: x: no such file\n"),
    ],
)
def test_the_exit_status_stays_and_the_interpreter_is_not_taken_apart(
    act: str, status: int, said: str
) -> None:
    done = ended(act)
    assert (done.returncode, done.stderr) == (status, said)


def test_an_exception_that_escapes_is_shown() -> None:
    done = ended("raise RuntimeError('odd')")
    assert done.returncode == 1
    assert done.stderr.endswith("RuntimeError: odd\napart\n")
    assert "Traceback" in done.stderr


def test_a_text_as_status_is_printed() -> None:
    done = ended("sys.exit('a text')")
    assert (done.returncode, done.stderr) == (1, "a text\napart\n")


@pytest.mark.parametrize(
    "before",
    ["import sys; sys.modules['coverage'] = sys\n", "import sys; sys.setprofile(lambda *rest: None)\n"],
)
def test_a_measured_process_ends_the_ordinary_way(before: str) -> None:
    done = ended("return 1", before=before)
    assert (done.returncode, done.stderr) == (1, "apart\n")


def test_large_output_through_a_pipe_is_complete() -> None:
    # The last line is still in Python's buffer when the command ends.
    done = ended("[print('x' * 99) for _ in range(30_000)]; print('end', end='')")
    assert done.stdout == ("x" * 99 + "\n") * 30_000 + "end"


def test_output_that_the_disk_does_not_take_is_reported() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    for text in ("x", "x" * 7_000):  # more than the file's buffer, less than the stream's
        with Path("/dev/full").open("w") as full:
            done = ended(f"sys.stdout.write({text!r})", stdout=full)
        assert (done.returncode, done.stderr) == (
            120,
            "rocketspec: standard output: no space left on device\n",
        )


def test_threads_end_and_temporary_files_go_first(tmp_path: Path) -> None:
    done = ended(
        f"act.folder = tempfile.TemporaryDirectory(dir={str(tmp_path)!r}); "
        "go = threading.Event(); "
        "threading.Thread(target=lambda: (go.wait(), print('thread'))).start(); "
        "atexit.register(print, 'handler'); go.set()"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "thread\nhandler\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command", [[BESIDE], [sys.executable, "-m", "rocketspec"]], ids=["script", "module"]
)
def test_both_ways_to_start_end_early(command: list[str], tmp_path: Path) -> None:
    hook = "import sys\nclass Last:\n  write = sys.stderr.write\n  def __del__(self): self.write('apart')\nsys.last = Last()\n"
    (tmp_path / "sitecustomize.py").write_text(hook)
    for arguments, status in (["--version"], 0), (["audit", "missing"], 3), (["audit", "--wrong"], 2):
        done = subprocess.run(
            [*command, *arguments],
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == status
        assert "apart" not in done.stderr
