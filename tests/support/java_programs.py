"""Java programs of tests: jars by Maven, classes by `javac`, and flags for JVMs that end before a thorough JIT pays."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from zlib import crc32

from one_at_a_time import BUILD, one_at_a_time

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


_TESTS: Final = Path(__file__).parents[1]
JARS: Final[dict[str, tuple[str, ...]]] = {
    "store-facts/jars": ("copy-dependencies", "-f", f"{_TESTS}/spec/real/pom.xml", "-DincludeScope=runtime"),
    "later/jars": ("copy-dependencies", "-f", f"{_TESTS}/spec/later/pom.xml"),
    "schema-readers/jars": ("copy-dependencies", "-f", f"{_TESTS}/spec/readers/pom.xml"),
    "hdfs": ("copy-dependencies", "-f", f"{_TESTS}/spark/hdfs/pom.xml"),
    "store-sources": ("copy", "-Dartifact=org.apache.rocketmq:rocketmq-store:4.9.3:jar:sources"),
}
"""Goal and options of Maven by the folder in `build/` that it fills."""


def jars_of(name: str) -> Path:
    """A folder of `JARS`, filled once."""
    goal, *options = JARS[name]
    return fetched(BUILD / name, goal, *options)


def fetched(folder: Path, goal: str, *options: str | Path) -> Path:
    """A folder of jars, which Maven fills once: with `goal`, `copy` of an artifact or `copy-dependencies` of a pom.xml."""
    with one_at_a_time(f"fetching-{crc32(str(folder).encode()):08x}"):
        if not (folder / "whole").exists():
            run("mvn", "-q", "-B", "-ntp", f"{_PLUGIN}:{goal}", f"-DoutputDirectory={folder}", *options)
            (folder / "whole").touch()
    return folder


def compile_java(sources: Iterable[Path], class_path: str, classes: Path, *options: str) -> None:
    """Compiles sources into a folder of classes."""
    flags = [f"-J{flag}" for flag in SHORT_LIVED.split()]
    run("javac", *flags, "-nowarn", *options, "-cp", class_path, "-d", classes, *sources)
