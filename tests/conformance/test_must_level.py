"""`--level must` asks for nothing that only an OBSERVED clause governs: a port that differs there alone passes."""

import json
from collections import Counter
from pathlib import Path

import pytest
from rocket_conformance.cases import Case, case_from_json, directed_cases
from rocket_conformance.comparison import specified
from rocket_conformance.files import image_of
from rocket_conformance.misreadings import MISREADINGS, Mutant
from rocket_conformance.planning import LISTS, SEED, Level, beyond_must, is_odd, level_of, plan
from rocket_conformance.properties import PROPERTIES, example
from rocket_conformance.protocol import parse_hello
from rocket_conformance.running import Options, run

from tools.must_level import TARGET, inputs_of, inputs_of_cases

AGAIN = "make it again: python -m tools.must_level"
OBSERVED = [item for item in MISREADINGS if level_of(item.clause) == "OBSERVED"]
MUST = [item for item in MISREADINGS if level_of(item.clause) == "MUST"]
ONLY_ON_ODD_FILES = (
    "full-looked-at-one-entry-late",  # the entry one too many is refused at the file's end: but for files without slots
    "unit-counted-from-the-file-name",
    "position-counted-from-the-file-name",
)
TABLE = json.loads(TARGET.read_bytes())
ONE_A_MODULE = {item.module: item for item in OBSERVED}.values()


def failing_at_must(mutant: Mutant, *, examples: int) -> list[str]:
    with mutant.open() as transport:
        report = run(transport, Options(level="must", examples=examples, shrink_seconds=0, explained=False))
    assert Counter(line.verdict for line in report.cases)["pass"] > 500
    return [line.id for line in report.cases if line.verdict not in {"pass", "not_applicable"}]


def test_table_is_of_these_cases_properties_and_misreadings() -> None:
    properties = {item.id: inputs_of(item) for item in PROPERTIES if level_of(item.clauses[0]) == "MUST"}
    assert {name: row["inputs"] for name, row in TABLE["lists"].items()} == properties, AGAIN
    assert TABLE["inputs"] == inputs_of_cases(), AGAIN
    assert [name for name, row in TABLE["lists"].items() if len(row["numbers"]) < LISTS] == []


@pytest.mark.parametrize(
    ("names", "odd"),
    [
        (["00000000000000000060", "00000000000000000120"], False),
        (["00000000000000000060", "00000000000000000180"], True),
        (["00000000000000000060", "00000000000000000100"], True),
        (["00000000000000000040"], True),
        (["-00000000000000000060", "00000000000000000000"], True),
        (["+00000000000000000060"], True),
        (["60"], True),
        (["00000000000000000000", "00000000000000000000.bak"], True),
    ],
)
def test_queue_files_that_no_broker_makes_are_not_asked_for(names: list[str], odd: bool) -> None:
    """The names of files of 60 bytes; each is a list that `CQ-LOAD-1/prop-odd-files` draws."""
    file = image_of(bytes(60))
    ops = ({"op": "queue.open", "topic": "T", "queue_id": 0, "file_size": 41, "load": True},)
    case = Case(
        id="CQ-LOAD-1/x", clauses=(), ops=ops, files={f"consumequeue/T/0/{name}": file for name in names}
    )
    assert is_odd(case) is odd


@pytest.mark.parametrize(("slots", "odd"), [(0, True), (1, False)])
def test_files_without_slots_are_not_asked_for(slots: int, *, odd: bool) -> None:
    assert is_odd(Case("IDX-PUT-5/x", (), ({"op": "index.open", "hash_slot_num": slots},))) is odd


def test_a_list_beyond_the_table_is_another_one() -> None:
    [planned] = plan(select=["IDX-HASH-1/prop-key-hash"])
    hello = parse_hello({"protocol": 1, "name": "all", "ops": ["key.hash"]})
    *_, last, more = planned.instances(seed=SEED, count=LISTS + 1, hello=hello, level="must")
    assert last.producer != more.producer


def test_table_has_no_list_that_no_broker_makes() -> None:
    for item in PROPERTIES:
        numbers = TABLE["lists"].get(item.id, {"numbers": []})["numbers"] if "queue.open" in item.ops else []
        drawn = [example(item, seed=SEED, number=number) for number in numbers]
        assert [case.producer for case in drawn if is_odd(case)] == [], AGAIN


def test_every_must_clause_keeps_a_directed_case_of_its_own() -> None:
    directed = [item for item in plan() if item.is_directed]
    clauses = {item.clauses[0] for item in directed if level_of(item.clauses[0]) == "MUST"}
    kept = {item.clauses[0] for item in directed if item.level == "MUST"}
    assert clauses - kept == set()
    assert {case.id for case in directed_cases()} >= set(TABLE["cases"])


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(item, id=item.name, marks=pytest.mark.soak if number % 3 else ())
        for number, item in enumerate(ONE_A_MODULE)
    ],
)
def test_a_port_that_misreads_an_observed_clause_passes(mutant: Mutant) -> None:
    assert failing_at_must(mutant, examples=2) == []


@pytest.mark.soak
@pytest.mark.parametrize("mutant", OBSERVED, ids=lambda item: item.name)
def test_each_misreading_of_an_observed_clause_passes(mutant: Mutant) -> None:
    assert failing_at_must(mutant, examples=LISTS) == []


@pytest.mark.soak
@pytest.mark.parametrize("mutant", MUST, ids=lambda item: item.name)
def test_each_misreading_of_a_must_clause_is_noticed(mutant: Mutant) -> None:
    """But for those that show only on files that no broker makes."""
    with mutant.open() as transport:
        options = Options(level="must", examples=20, shrink_seconds=0, explained=False, fail_fast=True)
        report = run(transport, options)
    verdicts = {line.verdict for line in report.cases}
    assert verdicts - {"pass", "not_applicable"} or mutant.name in ONLY_ON_ODD_FILES


def test_lists_of_another_seed_are_judged_when_drawn() -> None:
    """Those that fail, too: more than are kept to look for the cause."""
    [gap] = [item for item in OBSERVED if item.name == "gap-refused"]
    expected: tuple[tuple[Level, str, str], ...] = (
        ("observed", "diverged", "OBSERVED"),
        ("must", "pass", "MUST"),
    )
    for level, verdict, shown in expected:
        options = Options(select=["CQ-PUT-2/prop-*"], examples=10, seed=1, shrink_seconds=0, level=level)
        with gap.open() as transport:
            report = run(transport, options)
        assert [(line.verdict, line.examples, line.level) for line in report.cases] == [(verdict, 10, shown)]


def test_a_list_is_made_smaller_within_must_clauses(tmp_path: Path) -> None:
    """The shortest list of this one puts at logical offset 0, which CQ-PUT-4 governs."""
    [mutant] = [item for item in MISREADINGS if item.name == "end-without-size"]
    select = ["CQ-FILE-4/prop-*", "CQ-GET-1/prop-*"]
    with mutant.open() as transport:
        report = run(transport, Options(level="must", examples=30, select=select), report=tmp_path / "out")
    for line in report.cases:
        assert (line.verdict, line.level) == ("diverged", "MUST")
        case = case_from_json(json.loads((tmp_path / "out" / str(line.replay)).read_bytes()))
        sent, expected = specified(case, tmp_path / "case")
        assert beyond_must(sent, expected, tmp_path / "case") is None
