"""The one table of targets, and how inputs are given to them.

An input fails if it ends in anything but an answer or a documented error, or takes more than 20 s of processor time or more
than 1 GiB of memory.
"""

import resource
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import fuzz_agreement
import fuzz_parsers
import fuzz_repair
import fuzz_verbs
import psutil
from fuzz_inputs import Target, keep
from hypothesis import HealthCheck, given, settings
from time_limit import limited

TARGETS: Final[dict[str, Target]] = {
    **fuzz_agreement.TARGETS,
    **fuzz_parsers.TARGETS,
    **fuzz_repair.TARGETS,
    **fuzz_verbs.TARGETS,
}
_SLOW: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
"""An input of Hypothesis may be a whole store."""
SECONDS: Final = 20
"""Processor time for one input."""
MEMORY: Final = 1 << 30
"""Bytes that an input may make the process larger."""
_ROOM: Final = 16 << 30
"""Bytes of address space beyond what the process has: libraries reserve a few GiB, and use little of them."""


def failure(name: str, data: bytes, folder: Path, *, seconds: int = SECONDS) -> str | None:
    """The failure of an input, if it fails; `folder` gets the files that are read."""
    target, before = TARGETS[name], _largest()
    try:
        with limited(seconds), suppress(*target.errors):
            target.run(data, folder)
    except Exception:  # noqa: BLE001 - each is a find
        return traceback.format_exc(limit=-4)
    grown = _largest() - before
    return f"took {grown:,} bytes" if grown > MEMORY else None


def _largest() -> int:
    """The most bytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fuzz(name: str, folder: Path, inputs: int, *, seconds: int = SECONDS) -> str | None:
    """The failure of the smallest input that fails, and its path; None if none fails.

    Args:
        name: of the target.
        folder: for the files that are read.
        inputs: number of inputs.
        seconds: of processor time for an input.
    """
    failing: list[tuple[bytes, str]] = []

    @settings(max_examples=inputs, deadline=None, suppress_health_check=_SLOW)
    @given(data=TARGETS[name].inputs)
    def run(data: bytes) -> None:
        wrong = failure(name, data, folder, seconds=seconds)
        if wrong is not None:
            failing.append((data, wrong))
        assert wrong is None

    try:
        run()
    except AssertionError:
        data, wrong = min(failing, key=lambda one: len(one[0]))
        return f"{name}: {keep(name, data)}\n{wrong}"
    return None


@contextmanager
def bounded_memory() -> Iterator[None]:
    """In the block a number that a file claims cannot take the machine's memory."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + _ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
