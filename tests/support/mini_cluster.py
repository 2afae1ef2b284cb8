"""Hadoop's own small clusters: a Java program beside its pom.xml, compiled, started, and ended when its stdin closes."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from one_at_a_time import one_at_a_time
from short_lived import COMPILER, SHORT_LIVED

_PATIENCE = 60


@contextmanager
def mini_cluster(
    maven: str, java: str, source: Path, folder: Path, argument: Path, *, megabytes: int
) -> Iterator[str]:
    """The first line that a running cluster prints, which says that it is ready.

    Args:
        maven: command that fetches the libraries of the pom.xml beside `source`.
        java: command.
        source: program, named after its class.
        folder: for classes, the log, and what the cluster writes.
        argument: of the program.
        megabytes: of its heap.
    """
    listing = folder / "classpath"
    pom = source.with_name("pom.xml")
    with one_at_a_time():
        subprocess.run(
            [maven, "-q", "-B", "-f", str(pom), "dependency:build-classpath", f"-Dmdep.outputFile={listing}"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    classpath = os.pathsep.join([str(folder), listing.read_text().strip()])
    subprocess.run(["javac", *COMPILER, "-cp", classpath, "-d", str(folder), str(source)], check=True)
    flags = (f"-Xmx{megabytes}m", *SHORT_LIVED.split(), "-XX:-UsePerfData")
    opened = ("--add-opens", "java.base/java.lang=ALL-UNNAMED")
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [java, *flags, *opened, "-cp", classpath, source.stem, str(argument)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ready = process.stdout.readline().strip()
            if not ready:
                said = (folder / "log").read_text("utf-8", "replace")[-2000:]
                pytest.fail(f"{source.stem} did not start: {said}")
            yield ready
        finally:
            process.stdin.close()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
