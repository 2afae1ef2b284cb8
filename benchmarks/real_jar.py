"""The real store of RocketMQ 4.9.3, in a Java process that stays for the whole run and so stays warm."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final, Self

from rocket_conformance.rocketmq import ORACLE_VERSION, resolve
from rocket_spec.layout import Geometry

_FOLDER: Final = Path(__file__).with_name("java")

_HEAP_BASE: Final = 512
_HEAP_PER_KEY: Final = 160  # bytes of heap for each key


class RealJar:
    """The Java process; use it in a `with` block. An OSError if the jars or Java are not to be had."""

    def __init__(self, geometry: Geometry, count: int) -> None:
        java = shutil.which("java")
        if java is None:
            raise FileNotFoundError("no java on PATH")
        jar_set = resolve(ORACLE_VERSION)
        heap = _HEAP_BASE + (_HEAP_PER_KEY * count >> 20)
        classes = os.pathsep.join(map(str, jar_set.jars))
        command = [
            java,
            f"-Xmx{heap}m",
            f"@{_FOLDER / 'flags'}",
            "-cp",
            classes,
            str(_FOLDER / "StoreBench.java"),
        ]
        self._process = subprocess.Popen(
            [*command, *map(str, (*geometry, count))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "ready":
            raise OSError(f"java ended with exit code {self._process.wait()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def _ask(self, line: str) -> list[int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return [int(word) for word in self._process.stdout.readline().split()]

    def put(self, file: Path, *, keep: bool = False) -> tuple[float, int]:
        """Makes `file`, puts all entries and removes it unless `keep`: seconds of the puts, how many were accepted."""
        nanoseconds, accepted = self._ask(f"{'keep' if keep else 'put'} {file}")
        return nanoseconds / 1e9, accepted

    def scan(self, file: Path) -> tuple[float, int, int]:
        """Walks a commit log by checkMessageAndReturnSize: seconds, records, and the sum of their tags codes."""
        nanoseconds, records, codes = self._ask(f"scan {file}")
        return nanoseconds / 1e9, records, codes
