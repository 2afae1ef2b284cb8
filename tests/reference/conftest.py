"""The real classes of 4.9.3, driven by the Java programs of this folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rocket_conformance.rocketmq_jar import ORACLE_VERSION, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OPENED = ("java.nio", "sun.nio.ch", "jdk.internal.ref")


@pytest.fixture
def real_classes(maven: str, java: str, tmp_path: Path) -> Callable[[str, Sequence[str]], list[str]]:
    """Gives operations to a program of this folder, and returns the lines that it prints."""
    del maven  # asked for so that its absence skips
    class_path = os.pathsep.join(str(path) for path in resolve(ORACLE_VERSION).jars)
    flags = [
        text
        for package in OPENED
        for option in ("--add-opens", "--add-exports")
        for text in (option, f"java.base/{package}=ALL-UNNAMED")
    ]

    def run(program: str, lines: Sequence[str]) -> list[str]:
        given, answer = tmp_path / "input", tmp_path / "output"
        given.write_text("\n".join(lines) + "\n", "ascii")
        source = Path(__file__).with_name(program)
        command = [java, "-Xmx512m", *flags, "-cp", class_path, str(source)]
        arguments = [str(given), str(answer), str(tmp_path / "theirs")]
        subprocess.run([*command, *arguments], check=True, capture_output=True)
        return answer.read_text("ascii").splitlines()

    return run
