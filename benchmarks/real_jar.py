"""The real store of RocketMQ 4.9.3, in a Java process that stays for the whole run and so stays warm."""

import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rocket_conformance.rocketmq import ORACLE_VERSION, resolve
from rocket_spec.layout import Geometry

_SOURCE: Final = Path(__file__).with_name("java") / "StoreBench.java"

_FLAGS: Final = (
    *("--add-opens", "java.base/java.nio=ALL-UNNAMED"),
    *("--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED"),
    *("--add-opens", "java.base/jdk.internal.ref=ALL-UNNAMED"),
    *("--add-exports", "java.base/sun.nio.ch=ALL-UNNAMED"),
    *("--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED"),
)

_HEAP_BASE: Final = 512
_HEAP_PER_KEY: Final = 160
"""Bytes of heap for each key, of those that are put and of those that are selected."""


class RealJar:
    """The Java process; use it in a `with` block.

    Raises:
        OSError: when the jars or Java are not to be had.
    """

    def __init__(self, geometry: Geometry, count: int, selects: int) -> None:
        java = shutil.which("java")
        if java is None:
            raise FileNotFoundError("no java on PATH")
        jar_set = resolve(ORACLE_VERSION)
        heap = _HEAP_BASE + (_HEAP_PER_KEY * (count + selects) >> 20)
        classes = os.pathsep.join(map(str, jar_set.jars))
        command = [java, f"-Xmx{heap}m", *_FLAGS, "-cp", classes, str(_SOURCE)]
        self._process = subprocess.Popen(
            [*command, *map(str, (*geometry, count, selects))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._expect_ready()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def _expect_ready(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "ready":
            raise OSError(f"java ended with exit code {self._process.wait()}")

    def _ask(self, line: str) -> list[int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return [int(word) for word in self._process.stdout.readline().split()]

    def put(self, file: Path) -> tuple[float, int]:
        """Makes `file`, puts all entries and removes it: seconds of the puts, how many were accepted."""
        nanoseconds, accepted = self._ask(f"put {file}")
        return nanoseconds / 1e9, accepted

    def keep(self, file: Path) -> None:
        """As `put`, and leaves the file for `select` and for others to read."""
        self._ask(f"keep {file}")

    def select(self) -> tuple[float, int, int]:
        """Selects the keys of `query_order` from the kept file: seconds, hits, and their `fingerprint`."""
        nanoseconds, hits, code = self._ask("select")
        return nanoseconds / 1e9, hits, code

    def scan(self, file: Path) -> tuple[float, int, int]:
        """Walks a commit log by checkMessageAndReturnSize: seconds, records, and the sum of their tags codes."""
        nanoseconds, records, codes = self._ask(f"scan {file}")
        return nanoseconds / 1e9, records, codes
