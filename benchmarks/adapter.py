"""The round trip of adapter protocol 1: operations and cases a second through a child process.

`python -m benchmarks.adapter` writes ADAPTER.md beside this file; `--print` prints it instead.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocket_conformance.rocketmq_jar import ORACLE_VERSION, JarUnavailableError
from rocket_conformance.rocketmq_jar import command as jar_command
from rocket_conformance.scratch import scratch_root
from rocket_conformance.session import open_command
from rocket_conformance.transport import Answered, Job
from rocket_spec.data import find_data

from benchmarks.machine import describe
from benchmarks.report import table
from benchmarks.timing import Contender, Result, race

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocket_conformance.protocol import Op
    from rocket_conformance.transport import Transport

__all__ = ["commands", "section"]

_ECHO = """
import json, sys
RESULTS = {"key.hash": {"hash": 1}, "index.put": {"put": True}, "index.open": {}, "index.full": {"full": False},
           "index.select": {"offsets": ["1", "2", "3"]}}
write, flush = sys.stdout.write, sys.stdout.flush
for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "hello":
        answer = {"protocol": 1, "name": "canned answers", "ops": list(RESULTS), "max_in_flight": 16}
    elif message["cmd"] == "bye":
        break
    else:
        answer = {"id": message["id"], "results": [RESULTS[op["op"]] for op in message["ops"]], "files": []}
    write(json.dumps(answer, separators=(",", ":")) + "\\n")
    flush()
"""
_FILE = "20260101000000000"
_WINDOW = {"begin": "0", "end": "9223372036854775807"}


@dataclass(frozen=True, slots=True)
class _Size:
    """How much a round sends: so many cases of so many operations."""

    cases: int
    operations: int


def _mixed(count: int) -> list[Op]:
    """An open, then puts and selects of one file, half and half."""
    ops: list[Op] = [
        {
            "op": "index.open",
            "file": _FILE,
            "hash_slot_num": 101,
            "index_num": 400,
            "end_phy_offset": "0",
            "end_timestamp": "0",
            "load": False,
        }
    ]
    while len(ops) < count:
        number = len(ops)
        key = f"TopicTest#key-{number % 50}"
        if number % 2:
            time_ = str(1_767_268_800_000 + 500 * number)
            ops.append(
                {"op": "index.put", "key": key, "phy_offset": str(200 * number), "store_timestamp": time_}
            )
        else:
            ops.append({"op": "index.select", "key": key, "max_num": 32, **_WINDOW})
    return ops


def _hashes(count: int) -> list[Op]:
    return [{"op": "key.hash", "key": f"TopicTest#key-{number}"} for number in range(count)]


def _rounds(transport: Transport, ops: Sequence[Op], size: _Size, root: Path) -> Callable[[], float]:
    """One round on a started adapter; the answers are read and checked for their form, as in a run."""

    def run() -> float:
        jobs = (Job(f"{number}", root / f"{number % 32}", tuple(ops)) for number in range(size.cases))
        start = time.perf_counter()
        answered = sum(isinstance(reply, Answered) for _, reply in transport.run(jobs))
        seconds = time.perf_counter() - start
        if answered != size.cases:
            raise RuntimeError(f"{size.cases - answered} of {size.cases} cases were not answered")
        return seconds

    return run


def _race(
    name: str, command: Sequence[str], size: _Size, *, make: Callable[[int], list[Op]], rounds: int
) -> Result:
    ops = make(size.operations)
    with (
        tempfile.TemporaryDirectory(dir=scratch_root()) as folder,
        open_command(command, case_timeout=60.0) as transport,
    ):
        run = _rounds(transport, ops, size, Path(folder))
        [result] = race([Contender(name, size.cases * size.operations, run)], rounds=rounds, warm_ups=2)
    return result


def commands() -> list[tuple[str, list[str]]]:
    """Adapters, each with its name; the real jar only where it is to be had."""
    found = [("canned answers, Python", [sys.executable, "-c", _ECHO])]
    try:
        found.append((f"real jar {ORACLE_VERSION}", jar_command(ORACLE_VERSION)))
    except JarUnavailableError as error:
        print(error, file=sys.stderr)
    starter = find_data("conformance/adapters/python/adapter.py")
    return [*found, ("starter adapter, Python", [sys.executable, str(starter)])]


def section(*, scale: float = 1.0, rounds: int = 5) -> str:
    """The results as a section of Markdown.

    Args:
        scale: 1 for figures, less to see that it runs.
        rounds: that count.
    """
    lines = [
        "## Adapter round trip",
        "",
        "Cases go to a child process as JSON lines and their answers come back, up to as many in flight as the adapter",
        "takes; directories are made, answers are parsed and checked for their form. What the operations themselves cost",
        "is in: next to nothing for canned answers.",
        "",
    ]
    for title, make, full in (
        ("key.hash", _hashes, _Size(400, 200)),
        ("puts and selects on an index file", _mixed, _Size(200, 200)),
        ("cases of one operation", _hashes, _Size(2_000, 1)),
    ):
        size = _Size(max(4, int(full.cases * scale)), full.operations)
        results = [_race(name, command, size, make=make, rounds=rounds) for name, command in commands()]
        lines += [
            f"### {title}: {size.cases:,} cases of {size.operations:,} operations",
            "",
            table(results, "operations"),
            "",
        ]
        lines += ["| contender | operations/s | cases/s |", "|---|---:|---:|"]
        lines += [
            f"| {result.contender.name} | {result.median:,.0f} | {result.median / size.operations:,.0f} |"
            for result in results
        ]
        lines.append("")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, and writes ADAPTER.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--print", action="store_true", help="to stdout, no file")
    given = parser.parse_args(arguments)
    machine = "\n".join(f"- {name}: {value}" for name, value in describe().items())
    text = f"# Benchmarks of the adapter protocol\n\n{machine}\n\n{section(scale=given.scale, rounds=given.rounds)}"
    if given.print:
        print(text)
    else:
        Path(__file__).with_name("ADAPTER.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
