"""Where the processor time of an audit goes, part by part: used by `benchmarks.store_2gb`.

The functions of `rocket_columnar` that do the parts are wrapped by a clock of the thread, each told without those
inside it. What the wrapping itself costs is some µs a call, a few hundred calls in all.
"""

from __future__ import annotations

import importlib
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.audit import audit

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["OTHERS", "STAGES", "stages"]

OTHERS: Final = "everything else: missing units and keys, where ranges begin, files, Python between the parts"
STAGES: Final = {
    "the log: the kernel's copy, and of each record frame, topic, tags and keys": (
        "log.compiled_walk:scan_requests",
    ),
    "entries and units: the kernel's copies for a first look": (
        "audit.parts:survey_index",
        "audit.parts:survey_queue",
    ),
    "entries put once more, units looked at": ("kernels:survey_entries", "kernels:survey_units"),
    "entries and units: the kernel's copies for the ranges": ("audit.unit_check:Pieces.read",),
    "entries against the records' keys": ("kernels:entries_are_sound",),
    "units against the records": ("kernels:units_are_sound",),
}
"""Of each part the functions of `rocket_columnar` that do it."""


class _Clocks:
    """Seconds of each part, those of parts within it left out."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inner: list[float] = []

    def wrapped(self, part: str, function: Any) -> Any:
        def timed(*arguments: Any, **named: Any) -> Any:
            self._inner.append(0.0)
            begin = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                spent = time.thread_time() - begin
                self.seconds[part] += spent - self._inner.pop()
                if self._inner:
                    self._inner[-1] += spent

        return timed


def stages(root: Path, rounds: int) -> dict[str, float]:
    """Seconds of each part of an audit by one thread, of the round that took least; for a process of its own.

    The functions stay wrapped.
    """
    clocks = _Clocks()
    list(audit(root, threads=1))  # what is imported and compiled at first
    for part, names in STAGES.items():
        for name in names:
            module, _, attributes = name.partition(":")
            path = attributes.split(".")
            owner: Any = importlib.import_module(f"rocket_columnar.{module}")
            for step in path[:-1]:
                owner = getattr(owner, step)
            wrapped = clocks.wrapped(part, getattr(owner, path[-1]))
            setattr(owner, path[-1], staticmethod(wrapped) if isinstance(owner, type) else wrapped)
    best: dict[str, float] = {}
    for _ in range(rounds):
        clocks.seconds.clear()
        begin = time.thread_time()
        list(audit(root, threads=1))
        found = {**clocks.seconds, OTHERS: time.thread_time() - begin - sum(clocks.seconds.values())}
        if not best or sum(found.values()) < sum(best.values()):
            best = found
    return best
