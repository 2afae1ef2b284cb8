"""A walk through README and tutorial in a fresh clone, with nothing installed and empty caches."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from page_run import Edit, File, matches, write
from walk import Line, Prepare, Steps, walk

ROOT = Path(__file__).parents[2]


class Walker:
    """Someone with a clone, Python and a home directory without any cache.

    Args:
        folder: everything is below it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._venv = folder / "venv"
        own = str(Path(sys.executable).parent)
        path = [name for name in os.environ["PATH"].split(os.pathsep) if name != own]
        (folder / "home").mkdir()
        self._environment = {
            "PATH": os.pathsep.join([str(self._venv / "bin"), *path]),
            "HOME": str(folder / "home"),
            "MAVEN_OPTS": f"-Dmaven.repo.local={folder / 'home' / 'maven'}",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "COLUMNS": "100",
        }
        subprocess.run(["git", "clone", "--quiet", f"file://{ROOT}", str(folder / "clone")], check=True)

    def follow(self, page: str, steps: Steps) -> None:
        """Does the steps of a page."""
        folder = self._folder / Path(page).stem
        folder.mkdir()
        for step in steps:
            match step:
                case File() | Edit():
                    write(step, folder)
                case Prepare(command):
                    assert self._shell(command, folder)[0] == 0, command
                case Line(shown, in_clone=in_clone):
                    if shown.startswith("pip install"):
                        shutil.rmtree(self._venv, ignore_errors=True)
                        subprocess.run([sys.executable, "-m", "venv", str(self._venv)], check=True)
                    self._run(step, self._folder / "clone" if in_clone else folder)

    def _run(self, line: Line, folder: Path) -> None:
        code, printed = self._shell(line.command, folder)
        assert code == line.code, f"{line.shown}\nexit code {code}, expected {line.code}\n{printed[-3000:]}"
        if line.output is not None:
            assert matches(line.output, printed), f"{line.shown}\nprinted\n{printed[-3000:]}"

    def _shell(self, command: str, folder: Path) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=self._environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout


@pytest.mark.soak
@pytest.mark.network
@pytest.mark.java
@pytest.mark.spark
@pytest.mark.parametrize("page", walk())
@pytest.mark.usefixtures("maven")
def test_a_new_user_walks_through(page: str, tmp_path: Path) -> None:
    Walker(tmp_path).follow(page, walk()[page])
