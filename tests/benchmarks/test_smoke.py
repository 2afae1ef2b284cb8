"""The benchmarks run, on sizes at which their figures mean nothing; no test looks at a time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import main

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--rounds", "1", *arguments],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def titles(text: str) -> list[str]:
    return [line[3:] for line in text.splitlines() if line.startswith("## ")]


def test_every_section_without_the_jar() -> None:
    text = bench("--no-java")
    assert titles(text) == [
        *("Bars", "Decode an index file", "Build an index file", "Scan a commit log"),
        *("Verbs from the shell", "Memory", "Growth"),
    ]
    assert "real putKey" not in text


@pytest.mark.java
@pytest.mark.soak
def test_engine_and_real_jar_agree(maven: str) -> None:
    text = bench(*(f"--only={name}" for name in ("build", "log")))
    assert titles(text) == ["Bars", "Build an index file", "Scan a commit log"]
    assert "| real putKey, 4.9.3 | 3,000 |" in text
    assert "| real checkMessageAndReturnSize, 4.9.3 | 500 |" in text


@pytest.mark.parametrize("arguments", [["--only", "speed"], ["--rounds", "0"]])
def test_what_cannot_be_measured_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert arguments[0] in capsys.readouterr().err
