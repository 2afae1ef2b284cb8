"""A fresh clone, with nothing installed: the README's first command, the site, the archives, and the tutorial's install line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from page_run import matches, run_page

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
pytestmark = [pytest.mark.soak, pytest.mark.network]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")
def test_the_first_commands_in_a_fresh_clone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the seconds that each takes; a bare environment has no PYTHONPATH and no venv."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", f"file://{ROOT}", str(clone)], check=True)
    own = str(Path(sys.executable).parent)
    paths = [path for path in os.environ["PATH"].split(os.pathsep) if path != own]
    environment = {"PATH": os.pathsep.join(paths), "HOME": os.environ["HOME"]}
    for target, shown in (("conform", "report: "), ("docs", "site: ")):
        started = time.monotonic()
        done = subprocess.run(
            ["make", target], cwd=clone, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        assert shown in done.stdout
        if target == "conform":
            (block,) = re.findall(r"^```\n(clauses .*?)^```$", README, re.MULTILINE | re.DOTALL)
            report = f"report: {clone / 'out' / 'conform' / 'report.html'}"
            assert matches("...\n" + block.replace("report: out/conform/report.html", report), done.stdout)
        with capsys.disabled():
            sys.stdout.write(f"make {target} in a fresh clone: {time.monotonic() - started:.0f} s\n")


def test_the_tutorial_in_a_fresh_environment(tmp_path: Path) -> None:
    """With the base install alone, as the page says."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    commands = tmp_path / "venv" / "bin"
    subprocess.run([str(commands / "python"), "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
    folder = tmp_path / "port"
    folder.mkdir()
    run_page((ROOT / "docs" / "tutorial.md").read_text("utf-8"), folder, commands=commands)
