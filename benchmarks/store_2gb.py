"""The audit of a large store: `python -m benchmarks.store_2gb`, which writes `AUDIT.md`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rocket_columnar.audit import audit
from rocket_columnar.index import read_headers
from rocket_columnar.store import find_files
from rocket_conformance.rocketmq_jar import ORACLE_VERSION, resolve
from rocket_spec.layout import INDEX_HEADER, Geometry

from benchmarks import machine
from benchmarks.audit_stages import OTHERS, STAGES, stages
from benchmarks.large_store import GOLDEN, golden_records, make_store
from benchmarks.memory import peak
from benchmarks.real_jar import FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_CHUNK: Final = 1 << 20
_SLOTS: Final = 5_000_000

_HEAD: Final = """\
# Audit of a large store

Measured on {date} by `{command}`, which writes this page.

Each store holds the {records:,} records of the golden store `{golden}` again and again, with their own offsets, times
and keys; consume queues and index files come from a rebuild. "Read" reads all files of the store, 1 MiB at a time, by
one thread; "audit" is `rocket_columnar.audit.audit` at its default level, by {threads} threads; both in a process of
their own, the files in the page cache, start-up of the process not counted, the least of {rounds} rounds. "CPU" is
processor time of all threads, system included, of the round that took least of it: audit and read compare by it
whatever the number of threads. The peak is the resident memory of the audit's process at its highest. "Recover" is the `load` of the real 4.9.3 store after a kill, with neither index nor
consume queues left.

{machine}

| store | records | keys | read | audit | audit / read | CPU of read | CPU of audit | peak memory | audit in a new process | recover (4.9.3) |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""

_DAMAGE_HEAD: Final = """
With one damage in the first of these stores:

| damage | findings | audit | CPU of audit | audit / healthy | peak memory |
|---|---|---:|---:|---:|---:|
"""


_STAGES_HEAD: Final = """
Where the processor time of the first store's audit goes, by one thread (`benchmarks/audit_stages.py`), the least of
{rounds} rounds:

| part | seconds | share |
|---|---:|---:|
"""


def _read_all(root: Path) -> int:
    """Reads what the files hold, holes left out."""
    buffer = bytearray(_CHUNK)
    total = 0
    for file in find_files(root):
        with file.open() as reader:
            for begin, end in reader.extents():
                for at in range(begin, end, _CHUNK):
                    view = np.frombuffer(buffer, np.uint8)[: min(_CHUNK, end - at)]
                    reader.read_into(at, view)
                    total += len(view)
    return total


def _timed(work: Callable[[], Any], rounds: int) -> tuple[float, float, Any]:
    """Least seconds, least processor seconds, and the value."""
    best, least, value = float("inf"), float("inf"), None
    for _ in range(rounds):
        begin, used = time.perf_counter(), time.process_time()
        value = work()
        best = min(best, time.perf_counter() - begin)
        least = min(least, time.process_time() - used)
    return best, least, value


def _child(what: str, root: Path, rounds: int) -> None:
    """One measurement, in a process of its own; prints its figures."""
    if what == "stages":
        print(json.dumps(stages(root, rounds)))
        return
    if what == "read":
        seconds, used, value = _timed(lambda: _read_all(root), rounds)
    else:
        begin = time.perf_counter()
        found = list(audit(root))
        first = time.perf_counter() - begin
        seconds, used, _ = _timed(lambda: list(audit(root)), rounds)
        value = {"findings": sorted({finding.code for finding in found}), "first": first}
    print(json.dumps({"seconds": seconds, "cpu": used, "value": value, "peak": peak()}))


def _measured(what: str, root: Path, rounds: int) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.store_2gb",
        "--child",
        what,
        str(root),
        "--rounds",
        str(rounds),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _recover(root: Path, scratch: Path, jars: Path | None) -> float:
    """Seconds of the real store's load on a copy of the log."""
    copy = scratch / "recovered"
    (copy / "commitlog").mkdir(parents=True)
    for file in (root / "commitlog").iterdir():
        shutil.copyfile(file, copy / "commitlog" / file.name)
        (copy / "commitlog" / file.name).read_bytes()
    (copy / "abort").touch()
    size = next((root / "commitlog").iterdir()).stat().st_size
    jar_set = resolve(ORACLE_VERSION, jars)
    source = Path(__file__).with_name("java") / "RecoverBench.java"
    paths = os.pathsep.join(map(str, jar_set.jars))
    command = ["java", "-Xmx2g", *FLAGS, "-cp", paths, str(source), str(copy), str(size)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    shutil.rmtree(copy)
    return int(done.stdout.split()[-2]) / 1e9


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store_2gb", description=__doc__)
    parser.add_argument("--size", type=int, default=2 << 30, help="bytes of a store [default: 2 GiB]")
    parser.add_argument(
        "--bodies", type=int, nargs="+", default=[0, 1024], help="least bytes of a body, store by store"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the best counts [default: 5]")
    parser.add_argument("--scratch", type=Path, help="where the stores are made [default: the system's]")
    parser.add_argument(
        "--jars", type=Path, help="folder with the jars of RocketMQ 4.9.3 [default: by Maven]"
    )
    parser.add_argument("--no-java", action="store_true", help="leave the real store out")
    parser.add_argument("--child", nargs=2, metavar=("WHAT", "STORE"), help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_name("AUDIT.md"))
    return parser.parse_args(arguments)


def _row(
    root: Path, records: int, body_size: int, given: argparse.Namespace, scratch: Path
) -> tuple[str, float]:
    """The store's row, and the seconds of its audit."""
    read, audited = (_measured(what, root, given.rounds) for what in ("read", "audit"))
    if audited["value"]["findings"]:
        raise RuntimeError(f"findings in a healthy store: {audited['value']['findings']}")
    recover = "not measured" if given.no_java else f"{_recover(root, scratch, given.jars):.1f} s"
    indexes = [file for file in find_files(root) if file.kind == "index"]
    keys = sum(header.index_count - 1 for _, header in read_headers(indexes))
    kind = f"bodies of {body_size:,} bytes" if body_size else "as the broker wrote them"
    row = (
        f"| {read['value'] / 1e9:.2f} GB, {kind} | {records:,} | {keys:,} | {read['seconds']:.2f} s "
        f"| {audited['seconds']:.2f} s | {audited['seconds'] / read['seconds']:.1f} "
        f"| {read['cpu']:.2f} s | {audited['cpu']:.2f} s | {audited['peak'] / 1e6:,.0f} MB "
        f"| {audited['value']['first']:.2f} s | {recover} |\n"
    )
    return row, audited["seconds"]


def _overwritten(at: int, new: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(at)
            file.write(new)

    return damage


def _wrong_slot(path: Path) -> None:
    """Lets a slot in use lead to an older entry of another one."""
    slots = np.fromfile(path, ">i4", _SLOTS, offset=INDEX_HEADER.size)
    slot = int(np.flatnonzero(slots)[1000])
    _overwritten(INDEX_HEADER.size + 4 * slot, max(int(slots[slot]) - 7, 1).to_bytes(4))(path)


_ENTRY: Final = Geometry(_SLOTS, 20_000_000).entries_offset + 20 * 100_000
_DAMAGE: Final[dict[str, tuple[str, Callable[[Path], None]]]] = {
    "a slot leads to another chain": ("index", _wrong_slot),
    "an entry of zeros": ("index", _overwritten(_ENTRY, bytes(20))),
    "an entry that points nowhere": ("index", _overwritten(_ENTRY + 11, b"\xff")),
    "the index file is gone": ("index", Path.unlink),
    "a unit of zeros": ("consumequeue/Orders/0", _overwritten(20 * 1000, bytes(20))),
    "a queue file is cut off": ("consumequeue/Orders/0", lambda path: os.truncate(path, 3_000_000)),
}
"""What is damaged, below which folder of the store, and how: it is done to the first file there."""


def with_each_damage(root: Path) -> Iterator[tuple[str, Path]]:
    """The name of each damage, and the store while it has it; the file is put back after each."""
    for name, (folder, damage) in _DAMAGE.items():
        path = min((root / folder).iterdir())
        kept = root.parent / "kept"
        path.rename(kept)
        shutil.copyfile(kept, path)
        damage(path)
        yield name, root
        kept.replace(path)


def _damaged_rows(root: Path, rounds: int, healthy: float) -> str:
    """One row for each damage."""
    text = _DAMAGE_HEAD
    for name, store in with_each_damage(root):
        audited = _measured("audit", store, rounds)
        if not audited["value"]["findings"]:
            raise RuntimeError(f"no findings: {name}")
        codes = ", ".join(f"`{code}`" for code in audited["value"]["findings"])
        text += (
            f"| {name} | {codes} | {audited['seconds']:.2f} s | {audited['cpu']:.2f} s "
            f"| {audited['seconds'] / healthy:.1f} | {audited['peak'] / 1e6:,.0f} MB |\n"
        )
    return text


def _stage_rows(root: Path, rounds: int) -> str:
    """One row for each part of an audit."""
    found = _measured("stages", root, rounds)
    total = sum(found.values())
    rows = [
        f"| {part} | {found.get(part, 0):.3f} | {found.get(part, 0) / total:.0%} |\n"
        for part in (*STAGES, OTHERS)
    ]
    return _STAGES_HEAD.format(rounds=rounds) + "".join(rows)


def main(arguments: Sequence[str]) -> None:
    """Makes the stores, measures, and writes the page."""
    given = _arguments(arguments)
    if given.child:
        _child(given.child[0], Path(given.child[1]), given.rounds)
        return
    facts = "\n".join(f"- {name}: {value}" for name, value in machine.describe().items())
    command = (
        f"python -m benchmarks.store_2gb --size {given.size} --bodies {' '.join(map(str, given.bodies))}"
    )
    text = _HEAD.format(
        date=datetime.now(UTC).date(),
        command=command,
        records=golden_records(),
        golden=GOLDEN,
        rounds=given.rounds,
        threads=min(os.cpu_count() or 1, 4),
        machine=facts,
    )
    damaged = ""
    for body_size in given.bodies:
        with tempfile.TemporaryDirectory(dir=given.scratch) as directory:
            root = Path(directory) / "store"
            file_size = min(1 << 30, max(given.size // 2, 1 << 20))
            begin = time.perf_counter()
            records = make_store(root, given.size, file_size=file_size, body_size=body_size)
            print(f"made in {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
            row, healthy = _row(root, records, body_size, given, Path(directory))
            text += row
            print(text.splitlines()[-1], file=sys.stderr, flush=True)
            if not damaged:
                damaged = _stage_rows(root, given.rounds) + _damaged_rows(root, given.rounds, healthy)
    given.output.write_text(text + damaged, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
