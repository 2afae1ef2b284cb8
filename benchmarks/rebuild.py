"""The rebuild side by side with that of another checkout: `python -m benchmarks.rebuild --other CHECKOUT`.

Both rebuild one store in turn, each round in a process of its own that has rebuilt it once before, so that what disturbs
the machine disturbs both. It prints seconds and the ratios of each round; the two trees must be equal, index files' names
and manifests aside. A worktree of the other commit and its own environment are enough: `git worktree add ../old eb26f5d`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.checkouts import environment
from benchmarks.large_store import make_log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CHILD: Final = """
import inspect, json, shutil, sys, time
from rocket_columnar.rebuild import rebuild
store, out, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = {"threads": threads} if "threads" in inspect.signature(rebuild).parameters else {}
for _ in range(2):
    shutil.rmtree(out, ignore_errors=True)
    begin, used = time.perf_counter(), time.process_time()
    rebuild(store, out, **options)
    figures = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - used}
print(json.dumps(figures))
"""


def _run(checkout: Path, store: Path, out: Path, threads: int) -> dict[str, float]:
    """One round, after one that compiles, by the code of a checkout."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(store), str(out), str(threads)],
        env=environment(checkout, out.parent),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _tree(out: Path) -> dict[str, str]:
    """Files by name; index files by their number."""
    found: dict[str, str] = {}
    for path in sorted(path for path in out.rglob("*") if path.is_file() and not path.name.startswith("_")):
        name = path.relative_to(out).as_posix()
        if name.startswith("index/"):
            name = f"index/{len(found)}"
        with path.open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _rounds(contenders: Mapping[str, tuple[Path, int]], store: Path, scratch: Path, rounds: int) -> None:
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
    trees = {}
    for number in range(rounds + 1):
        for name, (checkout, threads) in contenders.items():
            out = scratch / "out"
            found = _run(checkout, store, out, threads)
            if number:
                figures[name].append(found)
            else:  # compiles, uncounted
                trees[name] = _tree(out)
            shutil.rmtree(out)
    if len({json.dumps(tree) for tree in trees.values()}) > 1:
        raise SystemExit("the rebuilds differ")
    base = figures["other, one thread"]
    for name, results in figures.items():
        seconds, cpu = (statistics.median(result[what] for result in results) for what in ("seconds", "cpu"))
        ratios = sorted(
            before["seconds"] / result["seconds"] for before, result in zip(base, results, strict=True)
        )
        print(
            f"{name:20} {seconds:6.2f} s, {cpu:6.2f} s of processor time, {statistics.median(ratios):.2f} times as fast "
            f"as the other ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


def main(arguments: Sequence[str]) -> None:
    """Makes the store, and runs all contenders in turn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rebuild", description=__doc__)
    parser.add_argument("--other", type=Path, required=True, help="checkout to compare with")
    parser.add_argument("--size", type=int, default=1 << 30, help="bytes of log [default: 1 GiB]")
    parser.add_argument(
        "--file-size", type=int, default=128 << 20, help="bytes of a log file [default: 128 MiB]"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scratch", type=Path, help="where the store is made [default: the system's]")
    given = parser.parse_args(arguments)
    here = Path(__file__).resolve().parents[1]
    contenders = {
        "other, one thread": (given.other.resolve(), 1),
        "this, one thread": (here, 1),
        "this, two threads": (here, 2),
    }
    with tempfile.TemporaryDirectory(dir=given.scratch) as directory:
        scratch = Path(directory)
        make_log(scratch / "store" / "commitlog", given.size, file_size=given.file_size, body_size=0)
        _rounds(contenders, scratch / "store", scratch, given.rounds)


if __name__ == "__main__":
    main(sys.argv[1:])
