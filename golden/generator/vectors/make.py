"""Asks the real 4.9.3 classes: runs the operations of every vector, and records what came back and what was left.

    python golden/generator/vectors/make.py [--check] [FILE...]

Needs a JDK 17, Maven and the installed checkout. The files are those of golden/rocket_golden/vectors; --check only
compares them with the answers, and exits 1 where they differ. A vector whose answers are the same stays as it is,
byte for byte.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Final

GOLDEN: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(GOLDEN))

from generator.vectors.running import adapter_command, run  # noqa: E402 - the path comes first
from generator.vectors.writing import differing_ids, read, write  # noqa: E402

TARGET: Final = GOLDEN / "rocket_golden" / "vectors"


def main(arguments: list[str] | None = None) -> int:
    """Records or compares the answers; returns the exit code."""
    names = sorted(path.relative_to(TARGET).as_posix() for path in TARGET.rglob("*.json*"))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", metavar="FILE", nargs="*", choices=[[], *names], help="only these")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)

    command = adapter_command()
    ids: Counter[str] = Counter()
    problems: list[str] = []
    for name in options.files or names:
        recorded = read(TARGET / name)
        answered = list(run(recorded, command))
        ids.update(case["id"] for case in recorded)
        differing = differing_ids(recorded, answered)
        if options.check:
            problems += [f"{name}: {case_id}" for case_id in differing]
        elif differing:
            pairs = zip(recorded, answered, strict=True)
            write(TARGET / name, [new if new["id"] in differing else old for old, new in pairs])
        print(f"{name}: {len(recorded)} vectors, {len(differing)} differ")
    problems += [f"{case_id}: repeated" for case_id, count in ids.items() if count > 1]
    for problem in problems:
        print(f"differs or repeated: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
