"""The reference against the real 4.9.3 classes, over generated lists of every family.

The long test runs a million operations and writes what it ran to `docs/agreement.json`; a quick one holds that page to what it
was made with.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from figures import ROOT, inputs_hash, write_figures
from rocket_conformance.cases import Case
from rocket_conformance.comparison import specified
from rocket_conformance.judging import Trial
from rocket_conformance.properties import PROPERTIES, Property, examples
from rocket_conformance.protocol import OPERATIONS
from rocket_conformance.transport import open_jar

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("maven")]

SEED = 493
FAMILIES = ("index", "service", "queue", "tags", "log", "checkpoint")

FIGURES = ROOT / "docs" / "agreement.json"
INPUTS = (
    "reference/rocket_reference/*.py",
    "conformance/rocket_conformance/properties/*.*",
    "conformance/rocket_conformance/protocol.py",
    "conformance/rocket_conformance/operations.txt",
    "conformance/adapters/rocketmq/src/**/*.java",
)
MANY = {"index": 10_500, "service": 8_500, "queue": 10_500, "tags": 1_500, "log": 20_000, "checkpoint": 3_000}
"""Lists of each family in the long test; together a million operations."""
MANY_SEED = 2026


def of_family(family: str) -> list[Property]:
    """The properties whose lists are of a family's operations; those of key hashes alone are left out."""
    return [item for item in PROPERTIES if any(name.startswith(f"{family}.") for name in item.ops)]


def shown(case: Case) -> Iterator[str]:
    """The contents of a list: each operation by name, the ways of reading bodies, names in another order than their numbers."""
    for op in case.ops:
        yield op["op"]
        if op["op"] == "log.dispatch":
            yield f"read_body {str(op.get('read_body', True)).lower()}"
    names = sorted({name.split("/")[1] for name in case.files if name.startswith("index/")})
    numbers = [int(name) for name in names if name.lstrip("+-").isdecimal()]
    if numbers != sorted(numbers):
        yield "name order"


def disagreements(
    items: Sequence[Property], lists: int, seed: int, root: Path
) -> tuple[Counter[str], list[str]]:
    """The lists that were sent, and every one on which reference and real jar disagree."""
    seen: Counter[str] = Counter()
    differing: list[str] = []
    items = [item for item in items if not any(OPERATIONS[name].decodes for name in item.ops)]
    each = -(-lists // len(items))

    def trials() -> Iterator[Trial]:
        for number, drawn in enumerate(
            case for item in items for case in examples(item, seed=seed, count=each)
        ):
            yield Trial(*specified(drawn, root / "reference"), root / str(number))

    with open_jar("4.9.3", case_timeout=60.0) as transport:
        for trial in transport.run(trials()):
            case, results = trial.case, trial.expected.results
            seen["lists"] += 1
            seen["operations"] += len(case.ops)
            seen.update(shown(case))
            seen["files"] += len(trial.expected.files)
            seen["rejected"] += sum("rejected" in result for result in results)
            if trial.judge().verdict != "pass":
                differing.append(f"{case.id}, {case.producer}: {trial.verdict} {trial.found[:1]}")
            shutil.rmtree(trial.directory, ignore_errors=True)
    return seen, differing


def test_every_property_is_of_a_family() -> None:
    named = {item.id for family in FAMILIES for item in of_family(family)}
    assert {item.id for item in PROPERTIES} - named == {
        "IDX-HASH-1/prop-key-hash",
        "IDX-HASH-1/prop-lone-surrogates",
    }


def test_lists_on_index_files_agree(tmp_path: Path) -> None:
    seen, differing = disagreements(of_family("index"), 400, SEED, tmp_path)
    assert differing == []
    assert seen["lists"] >= 400
    assert seen["operations"] > 40 * seen["lists"]
    assert seen["files"] >= seen["lists"] * 9 // 10


@pytest.mark.parametrize(
    ("family", "lists"), [("service", 100), ("queue", 200), ("tags", 60), ("log", 250), ("checkpoint", 100)]
)
def test_lists_on_the_store_agree(family: str, lists: int, tmp_path: Path) -> None:
    seen, differing = disagreements(of_family(family), lists, SEED, tmp_path)
    assert differing == []
    assert seen["lists"] >= lists
    assert seen["operations"] > 2 * seen["lists"]


@pytest.mark.soak
def test_a_million_operations_agree(tmp_path: Path) -> None:
    total: Counter[str] = Counter()
    differing: list[str] = []
    for family, lists in MANY.items():
        seen, found = disagreements(of_family(family), lists, MANY_SEED, tmp_path)
        total += seen
        differing += found
    assert differing == []
    assert total["operations"] >= 1_000_000
    page = {
        "inputs": inputs_hash(INPUTS),
        "seed": MANY_SEED,
        "disagreements": 0,
        **dict(sorted(total.items())),
    }
    write_figures(FIGURES, page)


def test_the_figures_are_of_what_is_here() -> None:
    """Made with the present reference, generator and adapter; every operation, both ways of reading, odd names."""
    page = json.loads(FIGURES.read_text("utf-8"))
    assert page["inputs"] == inputs_hash(INPUTS), (
        "run pytest --soak tests/conformance/test_reference_vs_jar.py"
    )
    assert (page["disagreements"], page["seed"]) == (0, MANY_SEED)
    assert page["operations"] >= 1_000_000
    assert page["operations"] == sum(page[name] for name in OPERATIONS if name in page)
    reads = {name for name in OPERATIONS if name.endswith(".read") and name != "checkpoint.read"}
    assert {name for name in OPERATIONS if not page.get(name)} <= reads
    assert min(page["read_body true"], page["read_body false"], page["name order"]) > 100
