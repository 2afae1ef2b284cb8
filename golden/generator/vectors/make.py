"""Makes the vectors: runs every directed and seeded operation list on the real 4.9.3 classes.

    python golden/generator/vectors/make.py [--check] [FILE...]

Needs a JDK 17, Maven and the installed checkout. Files go to golden/rocket_golden/vectors; --check compares
them with what is there instead, and exits 1 where they differ.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

GOLDEN: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(GOLDEN))

from generator.vectors import seeded  # noqa: E402 - the path comes first
from generator.vectors.directed import (  # noqa: E402
    hashing,
    header,
    matching,
    opening,
    putting,
    selecting,
    wrapping,
)
from generator.vectors.directed.store import (  # noqa: E402
    checkpoints,
    dispatching,
    queue_puts,
    queue_restarts,
    queue_units,
    service_files,
    service_queries,
    tags,
)
from generator.vectors.running import adapter_command, run  # noqa: E402
from generator.vectors.writing import differing_ids, read, write  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from generator.vectors.building import Vector

TARGET: Final = GOLDEN / "rocket_golden" / "vectors"

FILES: Final[dict[str, Callable[[], Iterator[Vector]]]] = {
    "hash.json": hashing.vectors,
    "open.json": opening.vectors,
    "wrap.json": wrapping.vectors,
    "header.json": header.vectors,
    "put.json": putting.vectors,
    "select.json": selecting.vectors,
    "time.json": matching.vectors,
    "seeded.json.zst": seeded.vectors,
    "store/tags.json": tags.vectors,
    "store/queue_units.json": queue_units.vectors,
    "store/queue_puts.json": queue_puts.vectors,
    "store/queue_restarts.json": queue_restarts.vectors,
    "store/service_files.json": service_files.vectors,
    "store/service_queries.json": service_queries.vectors,
    "store/dispatch.json": dispatching.vectors,
    "store/checkpoint.json": checkpoints.vectors,
}


def main(arguments: list[str] | None = None) -> int:
    """Makes or compares the files; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", metavar="FILE", nargs="*", choices=[[], *FILES], help="only these")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)

    command = adapter_command()
    clauses: Counter[str] = Counter()
    problems: list[str] = []
    for name in options.files or FILES:
        cases = list(run(FILES[name](), command))
        clauses.update(case["id"].partition("/")[0] for case in cases)
        problems += _repeated(cases)
        if options.check:
            problems += [f"{name}: {case_id}" for case_id in differing_ids(read(TARGET / name), cases)]
        else:
            (TARGET / name).parent.mkdir(exist_ok=True)
            write(TARGET / name, cases)
        print(f"{name}: {len(cases)} vectors")
    for clause, count in sorted(clauses.items()):
        print(f"  {clause}: {count}")
    for problem in problems:
        print(f"differs or repeated: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _repeated(cases: list[dict[str, Any]]) -> list[str]:
    return [case_id for case_id, count in Counter(case["id"] for case in cases).items() if count > 1]


if __name__ == "__main__":
    sys.exit(main())
