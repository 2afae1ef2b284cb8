"""Ports with one planted defect: the first cause named is the planted one, and at most three are named in all."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import planted_port
import pytest
from planted_queue_port import QUEUE_DEFECTS, PlantedQueuePort
from rocket_conformance.attribution import Evidence, Failure, Simulation, find_causes, pattern_of
from rocket_conformance.cases import Case, Observation
from rocket_conformance.compare import differences
from rocket_conformance.judge import Judgement
from rocket_conformance.report import Report, conclusion, conclusions
from rocket_conformance.runner import Options, run
from rocket_conformance.session import open_command, open_handler

SILENT = {"loop": "timeout", "slow-retry": "timeout", "crash": "crash"}
"""The defects that give no answer, with their verdict."""

SELECT = tuple(f"IDX-{family}-*/[!s]*" for family in ("SEL", "PUT", "FILE", "FULL", "HASH", "HDR"))
"""Without the seeded vectors, which are many and show the same."""


def reported(defect: str) -> Report:
    options = Options(select=SELECT, level="must", examples=10, shrink_seconds=2, restarts=4)
    if defect not in SILENT:
        with open_handler(planted_port.PlantedPort(defect)) as transport:
            return run(transport, options)
    command = [sys.executable, planted_port.__file__, defect]
    with open_command(command, case_timeout=1.5) as transport:
        return run(transport, options)


def reported_queue(defect: str) -> Report:
    options = Options(select=["CQ-*"], level="must", examples=10, shrink_seconds=2)
    with open_handler(PlantedQueuePort(defect)) as transport:
        return run(transport, options)


def causes(report: Report) -> list[Mapping[str, Any]]:
    assert report.footer is not None
    return list(report.footer["causes"])


def test_the_port_without_a_defect_conforms() -> None:
    report = reported("")
    assert [line.id for line in report.cases if line.verdict not in {"pass", "not_applicable"}] == []


def test_the_queue_port_without_a_defect_conforms() -> None:
    verdicts = {line.id: line.verdict for line in reported_queue("").cases}
    assert {name: found for name, found in verdicts.items() if found not in {"pass", "not_applicable"}} == {}
    assert list(verdicts.values()).count("pass") > 20


@pytest.mark.parametrize("defect", QUEUE_DEFECTS)
def test_the_first_cause_is_the_one_planted_in_the_queue(defect: str) -> None:
    """Cases of other clauses, such as CQ-FILE-1, fail with it and are carried."""
    report = reported_queue(defect)
    found = causes(report)
    assert found[0]["clause"] == QUEUE_DEFECTS[defect]
    assert len(found) <= 3
    failed = {line.id for line in report.cases if line.verdict == "diverged"}
    assert {name for cause in found for name in cause["cases"]} == failed
    assert {name.partition("/")[0] for name in failed} - {QUEUE_DEFECTS[defect]}


@pytest.mark.parametrize("defect", planted_port.DEFECTS)
def test_the_first_cause_is_the_planted_one(defect: str) -> None:
    report = reported(defect)
    found = causes(report)
    assert found[0]["clause"] == planted_port.DEFECTS[defect]
    assert found[0]["verdict"] == SILENT.get(defect, "diverged")
    assert len(found) <= 3
    failed = {line.id for line in report.cases if line.verdict in {"diverged", "timeout", "crash"}}
    assert {name for cause in found for name in cause["cases"]} == failed
    assert planted_port.DEFECTS[defect] in conclusion(report)


def test_the_last_line_says_what_cut_the_run_short() -> None:
    command = [sys.executable, planted_port.__file__, "slow-retry"]
    with open_command(command, case_timeout=1.5) as transport:
        report = run(transport, Options(select=["IDX-SEL-1/*"], shrink_seconds=0, restarts=1))
    assert "not conformant: " in conclusion(report)
    assert conclusion(report).endswith(
        "; cut short: the adapter crashed or hung too often in IDX-SEL (--restarts 1)"
    )


# --- rules --------------------------------------------------------------------------------------------


def failure(
    name: str, ops: list[dict[str, Any]], expected: list[Any], actual: list[Any], *, directed: bool
) -> Failure:
    case = Case(name, (name.partition("/")[0],), tuple(ops))
    want, got = Observation(tuple(expected)), Observation(tuple(actual))
    judgement = Judgement("diverged", "", got, tuple(differences(case, want, got)))
    return Failure(name, case.clauses, directed, case, want, judgement)


def put_and_bounds(offset: int, size: int) -> list[dict[str, Any]]:
    opening = {"op": "queue.open", "topic": "T", "queue_id": 0, "file_size": 100, "load": False}
    put = {"op": "queue.put", "offset": str(offset), "size": size, "tags_code": "0", "cq_offset": "0"}
    return [opening, put, {"op": "queue.bounds"}]


def bounds(end: int) -> dict[str, Any]:
    return {"min": "0", "max": "1", "max_physic_offset": str(end)}


def test_the_rule_is_the_equation_that_holds_in_most_cases() -> None:
    failures = [
        failure(
            f"CQ-PUT-7/case-{number}",
            put_and_bounds(1000 * number, 90 + number),
            [{}, {"put": True}, bounds(1000 * number + 90 + number)],
            [{}, {"put": True}, bounds(1000 * number)],
            directed=True,
        )
        for number in (1, 2, 3)
    ]
    pattern = pattern_of(failures, "CQ-PUT-7")
    assert (pattern.place, pattern.cases, pattern.only) == ("queue.bounds max_physic_offset", 3, 3)
    assert pattern.rule == "actual = expected - size"


def test_a_case_of_another_clause_that_differs_alike_is_carried(tmp_path: Path) -> None:
    failures = [
        failure(
            name,
            put_and_bounds(500, 90),
            [{}, {"put": True}, bounds(590)],
            [{}, {"put": True}, bounds(500)],
            directed=True,
        )
        for name in ("CQ-PUT-7/own", "CQ-FILE-1/other")
    ]

    def passed(_name: str) -> tuple[Case, Observation]:
        raise AssertionError

    evidence = Evidence(failures, {}, passed, Simulation(lambda: tmp_path / "case"))
    [cause] = find_causes(evidence)
    assert (cause.clause, [item.id for item in cause.failures]) == (
        "CQ-PUT-7",
        ["CQ-PUT-7/own", "CQ-FILE-1/other"],
    )


# --- levels -------------------------------------------------------------------------------------------


def test_a_port_that_differs_in_observed_clauses_alone_is_told_so() -> None:
    """It refuses names with a sign, which 4.9.3 takes: IDX-FILE-4 is OBSERVED."""
    with open_handler(planted_port.PlantedPort()) as transport:
        report = run(transport, Options(select=["IDX-FILE-4/*", "IDX-HDR-*"], examples=5))
    assert report.exit_code == 1
    level, last = conclusions(report)
    assert level.startswith(
        "conformant in every MUST clause for index; 1 OBSERVED behaviour differs: IDX-FILE-4"
    )
    assert last.startswith("not conformant: ")


def test_a_must_failure_leaves_the_line_on_levels_out() -> None:
    with open_handler(planted_port.PlantedPort("number-into-the-entry")) as transport:
        report = run(transport, Options(select=["IDX-FILE-4/*", "IDX-PUT-7/*"], examples=5))
    assert len(conclusions(report)) == 1
