"""From a running broker to a verdict by the README's lines alone, in a fresh environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_broker import RealBroker

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
FIGURES = ROOT / "docs" / "first-verdict.json"
QUOTED = re.compile(r"to that verdict took (\d+) seconds")
LIMIT = 300
"""Seconds: five minutes."""


def lines_of_readme() -> list[str]:
    """The line that installs, and those that judge a broker."""
    text = README.read_text("utf-8")
    install = re.search(r"\| test an implementation.*\| `(.*?)` \|", text)
    block = re.search(r"\n## Judge a broker\n.*?```\n(.*?)```", text, re.DOTALL)
    assert install is not None
    assert block is not None
    return [install[1], *block[1].splitlines()]


@pytest.mark.java
@pytest.mark.soak
@pytest.mark.network
def test_a_running_broker_is_judged_by_the_lines_of_the_readme(java: str, tmp_path: Path) -> None:
    """Writes the seconds of each line into the figures, and their sum into the README."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    path = os.pathsep.join([str(tmp_path / "venv" / "bin"), os.environ["PATH"]])
    environment = {"PATH": path, "HOME": os.environ["HOME"]}
    seconds: dict[str, float] = {}
    with RealBroker(tmp_path / "broker", java, {}) as broker:
        broker.start()
        for line in lines_of_readme():
            if line == "# stop the broker":
                broker.stop()
                continue
            command = line.replace("pip install .", f"pip install {ROOT}")
            command = command.replace("127.0.0.1:9876", broker.namesrv)
            command = command.replace("/data/broker-a/store", str(broker.store))
            started = time.monotonic()
            done = subprocess.run(  # noqa: S602 - as a reader runs it
                command,
                shell=True,
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            seconds[line] = round(time.monotonic() - started, 1)
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    verdict = done.stdout.splitlines()[-1]
    assert verdict.startswith("conformant in every clause that the store exercises")
    total = round(sum(seconds.values()))
    FIGURES.write_text(
        json.dumps({"seconds": seconds, "total": total, "verdict": verdict}, indent=1) + "\n", "utf-8"
    )
    README.write_text(QUOTED.sub(f"to that verdict took {total} seconds", README.read_text("utf-8")), "utf-8")


def test_the_readme_quotes_the_seconds_of_its_lines() -> None:
    figures = json.loads(FIGURES.read_text("utf-8"))
    assert [line for line in lines_of_readme() if not line.startswith("#")] == list(figures["seconds"])
    assert QUOTED.findall(README.read_text("utf-8")) == [str(figures["total"])]
    assert figures["total"] == round(sum(figures["seconds"].values())) < LIMIT
