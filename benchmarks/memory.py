"""The peak resident set of a process that streams a large file, over what its interpreter and imports take."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.report import Bar, Section

if TYPE_CHECKING:
    from benchmarks.bench import Bench

__all__ = ["peak", "run"]

_LIMIT: Final = 300.0
_CHILD: Final = """\
import json, sys
import numba, numpy, pyarrow
from benchmarks.memory import peak
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files
from rocket_spec.layout import Geometry
path, kind, geometry, threads = json.loads(sys.argv[1])
before = peak()
rows = 0
files = find_files(path, kind)
table = {"index": "index_entries", "log": "commit_log"}[kind]
given = Geometry(*geometry) if kind == "index" else None
for _, batch in decode(files, tables=[table], geometry=given, threads=threads):
    rows += batch.num_rows
print(json.dumps([before, peak(), rows]))
"""


def peak() -> int:
    """The largest resident set that this process has had, mapped pages counted, in bytes."""
    try:
        status = Path("/proc/self/status").read_text("ascii")
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def _stream(path: Path, kind: str, geometry: tuple[int, int], threads: int) -> tuple[float, float, int]:
    """Imports, whole, rows: MB in a process of its own that streams the file, all columns."""
    given = json.dumps([str(path), kind, geometry, threads])
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, given],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    before, whole, rows = json.loads(done.stdout)
    return before / 1e6, whole / 1e6, rows


def run(bench: Bench) -> Section:
    """Each file in processes of their own, on one thread and two."""
    lines = [
        "| file | threads | imports, MB | peak, MB | over imports, MB | min - max |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    bars = []
    for what, path, kind in (("an index file", bench.index, "index"), ("a commit log", bench.log, "log")):
        size = f"{path.stat().st_size:,} bytes"
        for threads in (1, 2):
            found = [_stream(path, kind, (*bench.geometry,), threads) for _ in range(min(bench.rounds, 5))]
            before, whole, _ = sorted(found)[len(found) // 2]
            over = sorted(after - start for start, after, _ in found)
            middle = over[len(over) // 2]
            lines.append(
                f"| {what}, {size}, all columns | {threads} | {before:,.0f} | {whole:,.0f} | {middle:,.0f} "
                f"| {over[0]:,.0f} - {over[-1]:,.0f} |"
            )
            bars.append(
                Bar(
                    f"peak memory, streaming {what} of {size}" + (", two threads" if threads > 1 else ""),
                    "its imports alone",
                    _LIMIT,
                    over,
                    " MB",
                    at_most=True,
                )
            )
    return Section("\n".join(lines), bars)
