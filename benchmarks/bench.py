"""What the races share: sizes, the scratch folder, and the files that they work on, each made when it is first asked for."""

from __future__ import annotations

import filecmp
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rocket_columnar.index import build

from benchmarks.data import TOPIC, geometry_for, make_log, make_puts
from benchmarks.real_jar import RealJar

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack
    from pathlib import Path

    from rocket_spec.layout import Geometry

    from benchmarks.data import Puts

__all__ = ["Bench", "Sizes", "say", "timed"]


def say(text: str) -> None:
    """One line on stderr."""
    print(text, file=sys.stderr, flush=True)


def timed(work: Callable[[], object]) -> float:
    """Seconds that `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is worked on.

    Attributes:
        entries: of the large index file.
        selects: keys in a batch.
        records: of the commit log, 1 KiB each.
        small: entries of the small file, where the growth of costs is measured.
        kaitai: entries of the file that the Kaitai-compiled reader reads.
        construct: entries of the one that Construct reads.
        starts: starts of a process in a round.
    """

    entries: int
    selects: int
    records: int
    small: int
    kaitai: int
    construct: int
    starts: int


class Bench:
    """One run."""

    def __init__(
        self,
        sizes: Sizes,
        scratch: Path,
        stack: ExitStack,
        *,
        rounds: int,
        warm_ups: int,
        jars: Path | None,
        java: bool,
    ) -> None:
        self.sizes = sizes
        self.scratch = scratch
        self.rounds = rounds
        self.warm_ups = warm_ups
        self._stack = stack
        self._jars = jars
        self._java = java

    @cached_property
    def geometry(self) -> Geometry:
        """Of the large index file, which the puts fill."""
        return geometry_for(self.sizes.entries)

    @cached_property
    def puts(self) -> Puts:
        """The puts of the large index file."""
        say(f"making {self.sizes.entries:,} puts")
        return make_puts(self.sizes.entries)

    @cached_property
    def jar(self) -> RealJar | None:
        """The real store; None without it."""
        if not self._java:
            return None
        say("starting the real store")
        try:
            jar = RealJar(self.geometry, self.sizes.entries, self.sizes.selects, self._jars)
        except OSError as error:
            say(f"without the real jar: {error}")
            return None
        return self._stack.enter_context(jar)

    @cached_property
    def index(self) -> Path:
        """The large index file, made by the engine."""
        file, _ = self.make_index(self.sizes.entries, self.puts)
        return file

    @cached_property
    def jar_index(self) -> Path:
        """The same file, made by the real jar; AssertionError where one byte differs."""
        assert self.jar is not None
        file = self.scratch / "20260101000000002"
        self.jar.keep(file)
        assert filecmp.cmp(file, self.index, shallow=False), "the engine's file differs from the jar's"
        return file

    def make_index(self, entries: int, puts: Puts | None = None) -> tuple[Path, Geometry]:
        """A full index file of so many entries, made by the engine."""
        file, geometry = self.scratch / str(entries), geometry_for(entries)
        if not file.exists():
            puts = puts or make_puts(entries)
            columns = puts.keys, puts.phy_offsets, puts.store_timestamps
            build([file], *columns, topic=TOPIC, geometry=geometry)
        return file, geometry

    @cached_property
    def log(self) -> Path:
        """The commit log."""
        say(f"making a log of {self.sizes.records:,} records")
        file = self.scratch / f"{0:020}"
        make_log(file, self.sizes.records)
        return file
