"""Asks the real 4.9.3 store again and writes `facts.json`: `python tests/spec/real/make_facts.py`. Needs Maven and a JDK 17."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FACTS = HERE / "facts.json"
BUILD = HERE.parents[2] / "build" / "store-facts"
OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.nio", "sun.nio.ch", "jdk.internal.ref")
]


def _run(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if result.returncode != 0:
        raise RuntimeError(
            f"{command[0]}: exit {result.returncode}\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}"
        )


def make_facts(target: Path) -> None:
    """Writes what the real store answers, as JSON, into `target`."""
    jars, classes = BUILD / "jars", BUILD / "classes"
    if not list(jars.glob("rocketmq-store-4.9.3.jar")):
        _run(
            "mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies",
            f"-DoutputDirectory={jars}", "-DincludeScope=runtime",
        )  # fmt: skip
    path = f"{classes}{':' if sys.platform != 'win32' else ';'}{jars}/*"
    _run("javac", "-nowarn", "-cp", path, "-d", str(classes), str(HERE / "StoreFacts.java"))
    _run("java", *OPENED, "-cp", path, "org.apache.rocketmq.store.StoreFacts", str(target))


if __name__ == "__main__":
    make_facts(FACTS)
