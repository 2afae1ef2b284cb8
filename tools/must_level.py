"""Makes conformance/rocket_conformance/planning/must_level.json: `python -m tools.must_level`.

It takes some minutes, and the file holds a digest of what it was made from.
"""

import hashlib
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

import rocket_conformance.planning
from rocket_conformance.cases import Case, directed_cases
from rocket_conformance.comparison import specified
from rocket_conformance.files import scratch
from rocket_conformance.misreadings import MISREADINGS
from rocket_conformance.planning import LISTS, SEED, beyond_must, clean_numbers, level_of
from rocket_conformance.properties import PROPERTIES, examples

TARGET: Final = Path(rocket_conformance.planning.__file__).with_name("must_level.json")
_LARGEST: Final = 1 << 22


def inputs_digest() -> str:
    """SHA-256 over what the file depends on: directed cases, the first lists of each property, OBSERVED misreadings."""
    digest = hashlib.sha256()
    for item in MISREADINGS:
        if level_of(item.clause) == "OBSERVED":
            digest.update(repr((item.name, item.module, item.old, item.new, item.also)).encode())
    drawn = (case for item in PROPERTIES for case in examples(item, seed=SEED, count=3))
    for case in (*directed_cases(), *drawn):
        digest.update(json.dumps([case.id, case.clauses, case.ops, sorted(case.files)]).encode())
    return digest.hexdigest()


def _is_beyond(name: str) -> bool:
    [case] = (case for case in directed_cases() if case.id == name)
    with scratch() as root:
        sent, expected = specified(case, root / "case")
        return beyond_must(sent, expected, root / "case") is not None


def _is_judged(case: Case) -> bool:
    """Whether a directed case is of a MUST clause, and its files are not of the default geometry."""
    sizes = [4 * op["hash_slot_num"] + 20 * op["index_num"] for op in case.ops if "hash_slot_num" in op]
    return level_of(case.clauses[0]) == "MUST" and max(sizes, default=0) < _LARGEST


def _numbers(name: str) -> list[int]:
    [wanted] = (item for item in PROPERTIES if item.id == name)
    return list(clean_numbers(wanted, seed=SEED, count=LISTS))


def document() -> dict[str, Any]:
    """The table: cases that are left out, and the numbers of the lists that are not."""
    cases = [case.id for case in directed_cases() if _is_judged(case)]
    properties = [item.id for item in PROPERTIES if level_of(item.clauses[0]) == "MUST"]
    with ProcessPoolExecutor() as workers:
        lists = dict(zip(properties, workers.map(_numbers, properties), strict=True))
        beyond = [
            name
            for name, found in zip(cases, workers.map(_is_beyond, cases, chunksize=50), strict=True)
            if found
        ]
    return {"inputs": inputs_digest(), "cases": beyond, "lists": lists}


def render(table: dict[str, Any]) -> str:
    """The file: a line for each case and property."""
    cases = ",\n".join(f"  {json.dumps(name)}" for name in table["cases"])
    lists = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(numbers, separators=(',', ':'))}"
        for name, numbers in table["lists"].items()
    )
    return f'{{\n"inputs": "{table["inputs"]}",\n"cases": [\n{cases}\n],\n"lists": {{\n{lists}\n}}\n}}\n'


def main() -> None:
    """Writes the file."""
    table = document()
    TARGET.write_text(render(table), encoding="utf-8")
    for name, numbers in table["lists"].items():
        if len(numbers) < LISTS:
            sys.stderr.write(f"{name}: {len(numbers)} of {LISTS} lists\n")


if __name__ == "__main__":
    main()
