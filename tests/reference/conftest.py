"""The real classes of 4.9.3, driven by the Java programs of this folder."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from java_programs import EXPORTED, OPENED, SHORT_LIVED, compile_java
from rocket_conformance.rocketmq import ORACLE_VERSION, resolve

RunProgram = Callable[..., None]
RealClasses = Callable[[str, "Sequence[str]"], list[str]]


@pytest.fixture(scope="session")
def run_program(maven: str, java: str, tmp_path_factory: pytest.TempPathFactory) -> RunProgram:
    """Runs a program of this folder, compiled once for all tests, with arguments."""
    del maven  # asked for so that its absence skips
    classes = tmp_path_factory.mktemp("classes")
    jars = os.pathsep.join(str(path) for path in resolve(ORACLE_VERSION).jars)
    compile_java(sorted(Path(__file__).parent.glob("*.java")), jars, classes, *EXPORTED)
    flags = ["-Xmx512m", "-Djava.security.manager=allow", "-Dsun.jnu.encoding=UTF-8"]
    flags += [*SHORT_LIVED.split(), *OPENED, *EXPORTED]

    def run(program: str, *arguments: str | Path) -> None:
        command = [java, *flags, "-cp", f"{classes}{os.pathsep}{jars}", program, *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True)

    return run


@pytest.fixture
def real_classes(run_program: RunProgram, tmp_path: Path) -> RealClasses:
    """Gives operations to a program of this folder, and returns the lines that it prints."""

    def run(program: str, lines: Sequence[str]) -> list[str]:
        given, answer = tmp_path / "input", tmp_path / "output"
        given.write_text("\n".join(lines) + "\n", "ascii")
        run_program(program, given, answer, tmp_path / "theirs")
        return answer.read_text("ascii").splitlines()

    return run
