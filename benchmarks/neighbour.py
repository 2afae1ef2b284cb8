"""Send latency of the real broker beside an audit: `python -m benchmarks.neighbour`, which writes `NEIGHBOUR.md`.

The real 4.9.3 broker holds a log of several files and takes messages from the real client at a steady rate: alone, beside
an audit in a loop, and beside an audit with --gentle. How much of the old log files is in the page cache is measured
before and after.
"""

from __future__ import annotations

import argparse
import ctypes
import mmap
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from real_broker import RealBroker, generator_jars

from benchmarks import machine
from benchmarks.bench import say

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE: Final = Path(__file__).with_name("NEIGHBOUR.md")
_TOPIC: Final = "Neighbour"
_LOG_FILE: Final = 16 << 20
_NEW: Final = 2  # log files at the end that the broker writes
_LOOP: Final = """\
import os, subprocess, sys
code, parent = 0, os.getppid()
while code in (0, 1) and os.getppid() == parent:  # a late unit is a finding, perhaps
    code = subprocess.run([sys.executable, "-m", "rocketspec", "audit", *sys.argv[1:]], stdout=subprocess.DEVNULL).returncode
"""
_MODES: Final[dict[str, tuple[str, ...] | None]] = {
    "alone": None,
    "audit": (),
    "audit --deep": ("--deep",),
    "audit --gentle": ("--gentle",),
    "audit --deep --gentle --rate 50": ("--deep", "--gentle", "--rate", "50"),
}

_HEAD: Final = """\
# A good neighbour

Measured on {date} by `{command}`, which writes this page. The real 4.9.3 broker takes {rate:,} messages of 1 KiB per second
from the real client, with {size:,} MB of older log, while the command runs in a loop. Latencies are of a synchronous send;
each is the median of {rounds} rounds of {seconds} s, taken in turn. "Cached" is how much of the old log files is in the page
cache before and after; they are dropped from it before each round.

{machine}

| beside | median, ms | p99, ms | max, ms | p99 / alone | cached before, MB | cached after, MB |
|---|---:|---:|---:|---:|---:|---:|
"""


class Sends(NamedTuple):
    """Latencies of one round in us, and bytes of the old log files in the page cache."""

    median: int
    p99: int
    most: int
    before: int
    after: int


def _cached(files: Sequence[Path]) -> int:
    """Bytes of these files that are in the page cache."""
    library, total = ctypes.CDLL(None, use_errno=True), 0
    for path in files:
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as image:
            pages = np.zeros(-(-len(image) // mmap.PAGESIZE), np.uint8)
            address = ctypes.addressof(ctypes.c_char.from_buffer(image))
            library.mincore(
                ctypes.c_void_p(address), ctypes.c_size_t(len(image)), pages.ctypes.data_as(ctypes.c_void_p)
            )
            total += int((pages & 1).sum()) * mmap.PAGESIZE
    return total


def _drop(files: Sequence[Path]) -> None:
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        os.fdatasync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


class _Bench:
    """The broker, and a client that sends to it."""

    def __init__(self, broker: RealBroker, java: str, scratch: Path) -> None:
        self._broker = broker
        class_path = os.pathsep.join(generator_jars()[0])
        source = Path(__file__).with_name("java") / "SendBench.java"
        subprocess.run(["javac", "-cp", class_path, "-d", str(scratch), str(source)], check=True)
        self._command = [
            java,
            "-XX:+UseSerialGC",
            f"-Duser.home={scratch}",
            "-cp",
            os.pathsep.join([str(scratch), class_path]),
            "SendBench",
        ]

    def send(self, count: int, rate: int) -> tuple[int, int, int]:
        """Sends `count` messages at a rate per second: median, 99th percentile and greatest latency in us."""
        arguments = [self._broker.namesrv, _TOPIC, str(count), str(rate), "1024"]
        done = subprocess.run([*self._command, *arguments], check=True, capture_output=True, text=True)
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("= ")]
        median, p99, most = map(int, line.split()[1:])
        return median, p99, most

    def old_files(self) -> list[Path]:
        """The log files that the broker no longer writes."""
        return sorted((self._broker.store / "commitlog").iterdir())[: -_NEW - 1]

    def round(self, options: tuple[str, ...] | None, seconds: int, rate: int) -> Sends:
        """One round beside the command."""
        old = self.old_files()
        _drop(old)
        before = _cached(old)
        loop = None
        if options is not None:
            command = [sys.executable, "-c", _LOOP, str(self._broker.store), *options]
            loop = subprocess.Popen(command, start_new_session=True)
        try:
            found = self.send(seconds * rate, rate)
        finally:
            ended = loop is not None and loop.poll() is not None
            if loop is not None and not ended:
                os.killpg(loop.pid, 9)
                loop.wait()
        if ended:
            raise RuntimeError("the audit failed")
        return Sends(*found, before, _cached(old))


def main() -> None:
    """Measures, and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbour", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=256, help="of old log")
    parser.add_argument("--rate", type=int, default=500, help="messages per second")
    parser.add_argument("--seconds", type=int, default=15, help="of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    given = parser.parse_args()
    java = shutil.which("java")
    if java is None:
        parser.error("java is missing")
    facts: dict[str, Any] = machine.describe()
    config = {"mappedFileSizeCommitLog": str(_LOG_FILE), "mappedFileSizeConsumeQueue": "6000000"}
    found: dict[str, list[Sends]] = {mode: [] for mode in _MODES}
    with tempfile.TemporaryDirectory(prefix="rocketspec-neighbour-") as directory:
        scratch = Path(directory)
        with RealBroker(scratch / "broker", java, config, niceness=0) as broker:
            broker.start()
            broker.ask("topic", topic=_TOPIC, queues=4)
            bench = _Bench(broker, java, scratch)
            bench.send(given.megabytes * 1000, 1_000_000)
            broker.stop()  # else the old files stay mapped, and in the page cache
            broker.start()
            broker.ask("topic", topic=_TOPIC, queues=4)
            for number in range(given.rounds):
                for mode, options in _MODES.items():
                    found[mode].append(bench.round(options, given.seconds, given.rate))
                    say(f"round {number + 1}, {mode}: {found[mode][-1]}")
            broker.stop()
    alone = statistics.median(one.p99 for one in found["alone"])
    rows = []
    for mode, sends in found.items():
        median, p99, most, before, after = (statistics.median(column) for column in zip(*sends, strict=True))
        rows.append(
            f"| {mode} | {median / 1e3:.2f} | {p99 / 1e3:.2f} | {most / 1e3:.1f} | {p99 / alone:.2f} "
            f"| {before / 1e6:.0f} | {after / 1e6:.0f} |"
        )
    head = _HEAD.format(
        date=datetime.now(UTC).date(),
        command="python -m benchmarks.neighbour",
        rate=given.rate,
        size=given.megabytes,
        rounds=given.rounds,
        seconds=given.seconds,
        machine="\n".join(f"- {name}: {value}" for name, value in facts.items()),
    )
    given.output.write_text(head + "\n".join(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
