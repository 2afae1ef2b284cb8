"""Java programs of tests: jars by Maven, classes by `javac`, and flags for JVMs that end before a thorough JIT pays."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from one_at_a_time import one_at_a_time

SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_INNER: Final = ("java.nio", "sun.nio.ch", "jdk.internal.ref")
OPENED: Final = tuple(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _INNER)
"""For the classes of a store, which unmap their files by reflection."""
EXPORTED: Final = tuple(f"--add-exports=java.base/{package}=ALL-UNNAMED" for package in _INNER)
_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"


def run(*command: str | Path) -> None:
    """Runs a command; RuntimeError with the end of its output if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise RuntimeError(
            f"{command[0]}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        )


def fetched(folder: Path, goal: str, *options: str | Path) -> Path:
    """A folder of jars, which Maven fills once: with `goal`, `copy` of an artifact or `copy-dependencies` of a pom.xml."""
    with one_at_a_time():
        if not (folder / "whole").exists():
            run("mvn", "-q", "-B", "-ntp", f"{_PLUGIN}:{goal}", f"-DoutputDirectory={folder}", *options)
            (folder / "whole").touch()
    return folder


def compile_java(sources: Iterable[Path], class_path: str, classes: Path, *options: str) -> None:
    """Compiles sources into a folder of classes."""
    flags = [f"-J{flag}" for flag in SHORT_LIVED.split()]
    run("javac", *flags, "-nowarn", *options, "-cp", class_path, "-d", classes, *sources)
