"""A walk through README and each tutorial in a fresh clone, with nothing installed and empty caches; its transcript."""

import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from page_run import Edit, File, matches, write
from real_broker import RealBroker
from walk import BROKER, STOP, Line, Prepare, Steps, walk

from website.navigation import SECTIONS

ROOT = Path(__file__).parents[2]
TRANSCRIPT = ROOT / "docs" / "walk.json"
README = ROOT / "README.md"
FEW_MINUTES = 300
"""Seconds from an empty environment to the verdict on a broker at most."""
QUOTED = re.compile(r"A walk through .*?took (\d+) minutes")


class Walker:
    """Someone with a clone, Python and a home directory without any cache.

    Args:
        folder: everything is below it.

    Attributes:
        lines: the commands with their seconds and the last line that they printed.
    """

    def __init__(self, folder: Path) -> None:
        self.lines: list[dict[str, object]] = []
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

    def follow(self, page: str, steps: Steps, broker: RealBroker | None = None) -> None:
        """Does the steps of a page, on a running broker if it judges one."""
        folder = self._folder / Path(page).stem
        folder.mkdir()
        for step in steps:
            match step:
                case File() | Edit():
                    write(step, folder)
                case Prepare(command):
                    assert self._shell(command, folder)[0] == 0, command
                case Line(shown) if shown == STOP and broker is not None:
                    broker.stop()
                case Line(shown, in_clone=in_clone):
                    if shown.startswith("pip install"):
                        shutil.rmtree(self._venv, ignore_errors=True)
                        subprocess.run([sys.executable, "-m", "venv", str(self._venv)], check=True)
                    started = time.monotonic()
                    printed = self._run(step, self._folder / "clone" if in_clone else folder, broker)
                    seconds = round(time.monotonic() - started, 1)
                    self.lines.append({"command": shown, "seconds": seconds, "ends": self._ends(printed)})

    def _run(self, line: Line, folder: Path, broker: RealBroker | None) -> str:
        command = line.command
        if broker is not None:
            command = command.replace(BROKER, broker.namesrv).replace(
                "/data/broker-a/store", str(broker.store)
            )
        code, printed = self._shell(command, folder)
        assert code == line.code, f"{line.shown}\nexit code {code}, expected {line.code}\n{printed[-3000:]}"
        if line.output is not None:
            assert matches(line.output, printed), f"{line.shown}\nprinted\n{printed[-3000:]}"
        return printed

    def _shell(self, command: str, folder: Path) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=self._environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def _ends(self, printed: str) -> str:
        """The last line, without the places of this machine."""
        lines = [line.strip() for line in printed.splitlines() if line.strip()]
        return lines[-1].replace(f"{self._folder}{os.sep}", "")[:200] if lines else ""


def commands(page: str) -> list[str]:
    """What a reader of a page runs."""
    return [step.shown for step in walk()[page] if isinstance(step, Line) and step.shown != STOP]


def record(page: str, lines: list[dict[str, Any]]) -> None:
    """Puts a page into the transcript, and the minutes of all pages into the README."""
    known: dict[str, Any] = (
        json.loads(TRANSCRIPT.read_text("utf-8")) if TRANSCRIPT.exists() else {"pages": {}}
    )
    pages: dict[str, list[dict[str, Any]]] = known["pages"] | {page: lines}
    seconds = sum(line["seconds"] for told in pages.values() for line in told)
    walked = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, shared with other work",
        "minutes": round(seconds / 60),
        "pages": {name: pages[name] for name in walk() if name in pages},
    }
    TRANSCRIPT.write_text(json.dumps(walked, indent=1, ensure_ascii=False) + "\n", "utf-8")
    text = QUOTED.sub(
        lambda found: found[0].replace(f" {found[1]} ", f" {walked['minutes']} "), README.read_text("utf-8")
    )
    README.write_text(text, "utf-8")


@pytest.mark.soak
@pytest.mark.network
@pytest.mark.java
@pytest.mark.spark
@pytest.mark.parametrize("page", walk())
def test_a_new_user_walks_through(page: str, java: str, maven: str, tmp_path: Path) -> None:
    """Writes the page's part of the transcript."""
    del maven  # asked for so that its absence skips
    walker = Walker(tmp_path)
    if page != "docs/judge-a-store.md":
        walker.follow(page, walk()[page])
    else:
        with RealBroker(tmp_path / "broker", java, {}) as broker:
            broker.start()
            walker.follow(page, walk()[page], broker)
    record(page, walker.lines)


def test_the_transcript_has_the_commands_of_the_pages() -> None:
    """After a change of a page's commands, run the walk again: `make soak ARGS=tests/acceptance/test_fresh_clone.py`."""
    told = json.loads(TRANSCRIPT.read_text("utf-8"))["pages"]
    assert {page: [line["command"] for line in lines] for page, lines in told.items()} == {
        page: commands(page) for page in told
    }
    assert set(walk()) == set(told), "walk through these pages, too"


def test_the_walk_covers_readme_and_each_tutorial() -> None:
    start = {f"{page}.md" for page in SECTIONS["Start"]} - {"docs/faq.md"}
    assert set(walk()) == start


def test_the_readme_quotes_the_minutes_of_the_walk() -> None:
    told = json.loads(TRANSCRIPT.read_text("utf-8"))
    assert QUOTED.findall(" ".join(README.read_text("utf-8").split())) == [str(told["minutes"])]
    assert sum(line["seconds"] for line in told["pages"]["docs/judge-a-store.md"]) < FEW_MINUTES
