"""Verbs in processes of their own: seconds beyond their work, of a first start, on a small store; and memory of a decode."""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench
from benchmarks.children import environment, run_python
from benchmarks.race import Bar, Section, timed

_VERBS: Final = {
    "audit": "list(rocketspec.audit(store))",
    "digest": "list(rocketspec.digest(store))",
    "rebuild": "rocketspec.rebuild(store, out)",
}
_WORK: Final = """\
import shutil, sys, time
import rocketspec
store, out = sys.argv[1:]
for _ in range(2):
    shutil.rmtree(out, ignore_errors=True)
    begin = time.perf_counter()
    {work}
print(time.perf_counter() - begin)
"""
_DECODE: Final = """\
import json, sys
import numba, numpy, pyarrow
from benchmarks.verbs import peak
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files
from rocket_spec.layout import Geometry
path, kind, *geometry = sys.argv[1:]
before = peak()
given = Geometry(*map(int, geometry)) if geometry else None
for _ in decode(find_files(path, kind), geometry=given):
    pass
print(json.dumps([before / 1e6, peak() / 1e6]))
"""


def peak() -> int:
    """The largest resident set that this process has had, mapped pages counted, in bytes (Linux)."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def _shell(verb: str, store: Path, out: Path, variables: Mapping[str, str]) -> float:
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "rocketspec", verb, str(store)]
    command += ["-o", str(out)] if verb == "rebuild" else []

    def run() -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
        assert done.returncode == 0, done.stderr

    return timed(run)


def run_verbs(bench: Bench) -> Section:
    """Each verb from the shell, in turn with its work in a process that has done it once before."""
    lines = [
        "| verb | first start, compiling, s | from the shell, s | the work alone, s | a small store, s |",
        "|---|---:|---:|---:|---:|",
    ]
    bars, out, small = [], bench.scratch / "out", bench.small_store
    for verb, work in _VERBS.items():
        _shell(verb, bench.store, out, environment())  # keeps the bytecode
        with tempfile.TemporaryDirectory(dir=bench.scratch) as fresh:
            first = _shell(verb, bench.store, out, environment(XDG_CACHE_HOME=fresh))
        shells, works, smalls = [], [], []
        for _ in range(bench.rounds):
            shells.append(_shell(verb, bench.store, out, environment()))
            shutil.rmtree(out, ignore_errors=True)
            works.append(float(run_python(_WORK.format(work=work), bench.store, out)))
            smalls.append(_shell(verb, small, out, environment()))
        beyond = [shell - alone for shell, alone in zip(shells, works, strict=True)]
        figures = (first, *map(statistics.median, (shells, works, smalls)))
        lines.append(f"| `{verb}` | {' | '.join(f'{seconds:.2f}' for seconds in figures)} |")
        size = f"`{verb}` of {bench.sizes.store:,} bytes"
        bars += [
            Bar(size, "the work alone", 1, beyond, " s more", at_most=True),
            Bar(f"{size}, first start", "compiling included", 5, [first], " s", at_most=True),
            Bar(
                f"`{verb}` of a small store", "from the shell", 0.5, smalls, " s", at_most=True, any_size=True
            ),
        ]
    return Section("\n".join(lines), bars)


def run_memory(bench: Bench) -> Section:
    """A process that decodes all columns, over what its interpreter and imports take."""
    lines = ["| file | imports, MB | peak, MB | over imports, MB |", "|---|---:|---:|---:|"]
    bars = []
    for what, path, kind in (("an index file", bench.index, "index"), ("a commit log", bench.log, "log")):
        geometry = bench.geometry if kind == "index" else ()
        before, most = json.loads(run_python(_DECODE, path, kind, *geometry))
        name = f"{what} of {path.stat().st_size:,} bytes"
        lines.append(f"| {name} | {before:,.0f} | {most:,.0f} | {most - before:,.0f} |")
        peak_of = f"peak memory, decoding {name}"
        bars.append(Bar(peak_of, "its imports alone", 300, [most - before], " MB", at_most=True))
    return Section("\n".join(lines), bars)
