"""Fetches what the tests take from Maven and npm, several at once; `make test` starts it beside the tests.

A test that needs a folder of jars waits for that folder alone. A failure is not reported here: the test that needs the jars
tries again, and reports it.
"""

import contextlib
import os
import runpy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from java_programs import JARS, SHORT_LIVED, jars_of
from real_broker import generator_jars
from rocket_conformance.rocketmq import WORKLOAD, resolve

_FETCHES_AT_ONCE: Final = 6
_RESOLVED: Final = ("4.9.3", "4.7.0", "4.8.0", "5.5.1")
"""Releases whose store the tests run as an adapter."""
_PYRIGHT: Final = Path(__file__).parents[1] / "project" / "run_pyright.py"


def main() -> None:
    """Fetches everything; what the tests need first is first."""
    os.environ.setdefault("MAVEN_OPTS", SHORT_LIVED)
    work: list[tuple[Callable[..., object], str]] = [
        *((resolve, version) for version in _RESOLVED[:1]),
        (lambda _: generator_jars(), ""),
        (lambda version: resolve(version, program=WORKLOAD), "4.9.3"),
        (lambda _: runpy.run_path(str(_PYRIGHT))["node_modules"](), ""),
        *((jars_of, name) for name in JARS),
        *((resolve, version) for version in _RESOLVED[1:]),
    ]

    def attempt(step: tuple[Callable[..., object], str]) -> None:
        with contextlib.suppress(Exception):
            step[0](step[1])

    with ThreadPoolExecutor(_FETCHES_AT_ONCE) as pool:
        list(pool.map(attempt, work))


if __name__ == "__main__":
    main()
