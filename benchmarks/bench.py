"""What the races share: sizes, the scratch folder, and the files that they work on, each made when it is first asked for."""

import filecmp
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rocket_columnar.index import build
from rocket_spec.layout import Geometry

from benchmarks.data import TOPIC, Puts, geometry_for, make_puts
from benchmarks.race import report
from benchmarks.real_jar import RealJar
from benchmarks.stores import make_store, write_log

_BODY = 800


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the inputs."""

    entries: int
    records: int
    store: int
    queues: int


class Bench:
    """One run."""

    def __init__(self, sizes: Sizes, scratch: Path, stack: ExitStack, *, rounds: int, java: bool) -> None:
        self.sizes = sizes
        self.scratch = scratch
        self.rounds = rounds
        self._stack = stack
        self._java = java

    @cached_property
    def geometry(self) -> Geometry:
        """The geometry of the index file, which the puts fill."""
        return geometry_for(self.sizes.entries)

    @cached_property
    def puts(self) -> Puts:
        """The puts of the index file."""
        report(f"making {self.sizes.entries:,} puts")
        return make_puts(self.sizes.entries)

    @cached_property
    def jar(self) -> RealJar | None:
        """The real store; None without it."""
        if not self._java:
            return None
        report("starting the real store")
        try:
            jar = RealJar(self.geometry, self.sizes.entries)
        except OSError as error:
            report(f"without the real jar: {error}")
            return None
        return self._stack.enter_context(jar)

    @cached_property
    def index(self) -> Path:
        """The index file, made by the engine; AssertionError if the jar's differs in one byte."""
        file, jars = self.scratch / "20260101000000000", self.scratch / "20260101000000002"
        puts = self.puts
        build([file], puts.keys, puts.phy_offsets, puts.store_timestamps, topic=TOPIC, geometry=self.geometry)
        if self.jar is not None:
            self.jar.put(jars, keep=True)
            assert filecmp.cmp(jars, file, shallow=False), "the engine's file differs from the jar's"
        return file

    @cached_property
    def log(self) -> Path:
        """A commit log of one file."""
        report(f"making a log of {self.sizes.records:,} records")
        write_log(self.scratch / "log", body=_BODY, records=self.sizes.records)
        return self.scratch / "log" / f"{0:020}"

    @cached_property
    def store(self) -> Path:
        """A store with index files and consume queues."""
        report(f"making a store of {self.sizes.store:,} bytes")
        make_store(self.scratch / "store", self.sizes.store, body=_BODY)
        return self.scratch / "store"

    @cached_property
    def small_store(self) -> Path:
        """A store of a megabyte of log."""
        make_store(self.scratch / "small", 1 << 20, body=_BODY)
        return self.scratch / "small"
