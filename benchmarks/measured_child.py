"""One checkout's side of `benchmarks.side_by_side`: works of its own benchmarks, a round each time that it is asked for one.

It runs as a script with that checkout's folders as PYTHONPATH, so it imports nothing of the checkout that it lies in. It
writes a JSON object in each line of its standard output: `{"step": NAME}` when a work is ready, `{"seconds": ...}` after a
round, `{"done": true}` at the end. It reads `go` for a round, and anything else for the next work.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_READY: Final = 80
"""Bytes touched for each item before a round, as `benchmarks.timing.race` does."""

_out = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)


def _say(**values: Any) -> None:
    print(json.dumps(values), file=_out)


def _steps(name: str, run: Callable[[], float]) -> list[float]:
    """The rounds that are asked for: what each returned."""
    figures = []
    _say(step=name)
    while sys.stdin.readline().strip() == "go":
        figures.append(run())
        _say(seconds=figures[-1])
    return figures


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _results(section: str, sizes: str) -> None:
    """A section of RESULTS.md, its contenders of this project alone."""
    timing = import_module("benchmarks.timing")

    def race(contenders: Sequence[Any], *, rounds: int, warm_ups: int) -> list[Any]:  # noqa: ARG001 - race's own
        results = [timing.Result(contender) for contender in contenders]
        for result in results:
            contender = result.contender
            if contender.name.startswith("engine") or section in {"growth", "start"}:

                def run(contender: Any = contender) -> float:
                    gc.collect()
                    np.full(_READY * contender.items, 1, np.uint8)
                    seconds: float = contender.run()
                    return seconds

                result.seconds.extend(_steps(contender.name, run))
        most = max(len(result.seconds) for result in results)
        for result in results:
            result.seconds.extend([1.0] * (most - len(result.seconds)))
        return results

    timing.race = race  # type: ignore[attr-defined]
    main = import_module("benchmarks.__main__")
    memory = import_module("benchmarks.memory")
    stream: Callable[..., tuple[float, float, int]] = memory._stream  # noqa: SLF001 - one round of it

    def streamed(path: Path, kind: str, geometry: tuple[int, int], threads: int) -> tuple[float, float, int]:
        def over() -> float:
            before, after, _ = stream(path, kind, geometry, threads)
            return after - before

        return 0.0, statistics.median(_steps(f"MB, {kind}, {threads} threads", over)), 0

    memory._stream = streamed  # type: ignore[attr-defined]  # noqa: SLF001
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = main.Bench(getattr(main, sizes), scratch, stack, rounds=1, warm_ups=0, jars=None, java=False)
        main.SECTIONS[section][1](bench)


def _audit(store: str) -> None:
    audit = import_module("rocket_columnar.audit").audit
    _steps("audit", lambda: _timed(lambda: list(audit(store))))
    peak = import_module("benchmarks.memory").peak
    _steps("audit, peak MB", lambda: peak() / 1e6)


def _spark(what: str, scratch: str) -> None:
    """A row of SPARK.md, its works in their order."""
    spark = import_module("benchmarks.spark")
    engine = ["decode", "audit", "rebuild", "store"]
    jobs = ["decode", "audit", "decode 4", "audit 4", "rebuild", "store", "200 empty tasks"]
    names = iter(engine if what.startswith("engine-") else jobs)

    def median(work: Callable[[], Any], rounds: int) -> float:  # noqa: ARG001 - as it is called
        return statistics.median(_steps(next(names), lambda: _timed(work)))

    spark._median = median  # type: ignore[attr-defined]  # noqa: SLF001
    with tempfile.TemporaryDirectory(dir=scratch) as own:  # what a side writes is its own
        for name in ("one", "many", "store"):
            shutil.copytree(Path(scratch, name), Path(own, name), copy_function=os.link)
        spark._child(what, Path(own), 1)  # noqa: SLF001


if __name__ == "__main__":
    parts: dict[str, Callable[..., None]] = {"results": _results, "audit": _audit, "spark": _spark}
    parts[sys.argv[1]](*sys.argv[2:])
    _say(done=True)
