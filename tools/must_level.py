"""Makes conformance/rocket_conformance/must_level.json: `python -m tools.must_level`.

It takes a minute or two; a property whose lists and misreadings are those of the file keeps its numbers.
"""

import hashlib
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

import rocket_conformance.planning
from rocket_conformance.cases import directed_case, directed_cases
from rocket_conformance.comparison import specified
from rocket_conformance.files import scratch
from rocket_conformance.planning import LISTS, SEED, beyond_must, clean_numbers, level_of, shown_by
from rocket_conformance.properties import PROPERTIES, Property, examples
from rocket_conformance.protocol import OPERATIONS

TARGET: Final = Path(rocket_conformance.planning.__file__).with_name("must_level.json")
_LARGEST: Final = 1 << 22


def inputs_of(wanted: Property) -> str:
    """A digest over what the numbers of a property depend on: its first lists, and the OBSERVED misreadings that it can show."""
    lists = [[case.ops, sorted(case.files)] for case in examples(wanted, seed=SEED, count=3)]
    return _digest(lists, wanted.ops)


def inputs_of_cases() -> str:
    """A digest over what the cases that are left out depend on."""
    cases = [[case.id, case.ops, sorted(case.files)] for case in directed_cases()]
    return _digest(cases, frozenset(OPERATIONS))


def _digest(content: object, ops: frozenset[str]) -> str:
    misreadings = [(item.name, item.module, item.old, item.new, item.also) for item in shown_by(ops)]
    return hashlib.sha256(json.dumps([content, misreadings]).encode()).hexdigest()[:16]


def _is_beyond(name: str) -> bool:
    case = directed_case(name)
    with scratch() as root:
        sent, expected = specified(case, root / "case")
        return beyond_must(sent, expected, root / "case") is not None


def _row(name: str) -> dict[str, Any]:
    [wanted] = (item for item in PROPERTIES if item.id == name)
    inputs = inputs_of(wanted)
    known = json.loads(TARGET.read_bytes())["lists"].get(name)
    if known is not None and known["inputs"] == inputs:
        return dict(known)
    return {"inputs": inputs, "numbers": list(clean_numbers(wanted, seed=SEED, count=LISTS))}


def document() -> dict[str, Any]:
    """The table: cases that are left out, and the numbers of the lists that are not."""
    cases = []
    for case in directed_cases():
        sizes = [4 * op["hash_slot_num"] + 20 * op["index_num"] for op in case.ops if "hash_slot_num" in op]
        if level_of(case.clauses[0]) == "MUST" and max(sizes, default=0) < _LARGEST:
            cases.append(case.id)
    properties = [item.id for item in PROPERTIES if level_of(item.clauses[0]) == "MUST"]
    with ProcessPoolExecutor() as workers:
        lists = dict(zip(properties, workers.map(_row, properties), strict=True))
        found = workers.map(_is_beyond, cases, chunksize=50)
        beyond = [name for name, is_beyond in zip(cases, found, strict=True) if is_beyond]
    return {"inputs": inputs_of_cases(), "cases": beyond, "lists": lists}


def render(table: dict[str, Any]) -> str:
    """The file: a line for each case and property."""
    cases = ",\n".join(f"  {json.dumps(name)}" for name in table["cases"])
    lists = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}"
        for name, row in table["lists"].items()
    )
    return f'{{\n"inputs": "{table["inputs"]}",\n"cases": [\n{cases}\n],\n"lists": {{\n{lists}\n}}\n}}\n'


def main() -> None:
    """Writes the file."""
    table = document()
    TARGET.write_text(render(table), encoding="utf-8")
    for name, row in table["lists"].items():
        if len(row["numbers"]) < LISTS:
            sys.stderr.write(f"{name}: {len(row['numbers'])} of {LISTS} lists\n")


if __name__ == "__main__":
    main()
