"""Ports with planted defects: each failing case stands under its own clause, and the causes stated are the planted ones."""

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import page_port
import pytest
from rocket_conformance.report import CaseLine, Report, conclusion, conclusions, failing_clauses
from rocket_conformance.running import Options, run
from rocket_conformance.transport import open_command, open_handler
from rocket_spec.clauses import clauses

SILENT = {"loop": "timeout", "slow-retry": "timeout", "crash": "crash"}
"""The defects that give no answer, with their verdict."""

SELECT = tuple(f"IDX-{family}-*/[!s]*" for family in ("SEL", "PUT", "FILE", "FULL", "HASH", "HDR"))
"""Without the seeded vectors, which are many and show the same."""


@cache
def reported(defect: str) -> Report:
    """The report of the port with this defect; several tests look at one."""
    options = Options(select=SELECT, level="must", examples=5, shrink_seconds=1, restarts=2)
    if defect not in SILENT and defect != "factor-37":  # one that walks a damaged chain may not come back
        with open_handler(page_port.PagePort(defect)) as transport:
            return run(transport, options)
    command = [sys.executable, page_port.__file__, defect]
    with open_command(command, case_timeout=1.5) as transport:
        return run(transport, options)


def reported_queue(defect: str) -> Report:
    options = Options(select=["CQ-*"], level="must", examples=5, shrink_seconds=1)
    with open_handler(page_port.PagePort(defect)) as transport:
        return run(transport, options)


def causes(report: Report) -> list[Mapping[str, Any]]:
    assert report.footer is not None
    return list(report.footer["causes"])


def test_the_ports_without_a_defect_conform() -> None:
    for report in (reported(""), reported_queue("")):
        assert {line.id for line in report.cases if line.verdict not in {"pass", "not_applicable"}} == set()
        assert sum(line.verdict == "pass" for line in report.cases) > 20


def failed(report: Report) -> list[CaseLine]:
    return [line for line in report.cases if line.verdict in {"diverged", "timeout", "crash"}]


def assert_under_their_own_clauses(report: Report) -> None:
    """Each failing case, and each of its differences; the clauses in the order of SPEC.md."""
    for line in failed(report):
        assert {item["clause"] for item in line.divergence} <= {line.id.partition("/")[0]}
    found = failing_clauses(report)
    assert {line.id for item in found for line in item.cases} == {line.id for line in failed(report)}
    order = list(clauses())
    assert [item.clause for item in found] == sorted({item.clause for item in found}, key=order.index)
    assert all(item.clause in conclusion(report) for item in found)


@pytest.mark.parametrize(
    ("defect", "misreading"),
    [("end-without-size", "end-without-size"), ("adjoining-by-offset", "next-file-where-the-place-lies")],
)
def test_the_defect_planted_in_the_queue_is_proved(defect: str, misreading: str) -> None:
    """A case that may hide another defect is not claimed."""
    report = reported_queue(defect)
    assert_under_their_own_clauses(report)
    assert page_port.DEFECTS[defect].clause in {item.clause for item in failing_clauses(report)}
    [cause] = causes(report)
    assert cause["misreadings"] == [misreading]
    assert set(cause["cases"]) <= {line.id for line in failed(report)}


MISREAD = {
    "last-entry-unseen": "last-entry-of-a-full-file-not-found",
    "number-into-the-entry": "number-written-over-the-key-hash",
    "seeds-with-a-count": "count-written-with-the-seeds",
    "crc32": "crc32-sign-cut-off",
}
"""What the catalogue calls a defect."""


@pytest.mark.parametrize("defect", [*SILENT, "factor-37", *MISREAD])
def test_a_cause_is_stated_if_a_misreading_gives_the_same(defect: str) -> None:
    report = reported(defect)
    assert_under_their_own_clauses(report)
    assert page_port.DEFECTS[defect].clause in {item.clause for item in failing_clauses(report)}
    assert [cause["misreadings"] for cause in causes(report)] == (
        [[MISREAD[defect]]] if defect in MISREAD else []
    )
    if defect in SILENT:
        assert SILENT[defect] in {line.verdict for line in failed(report)} <= {SILENT[defect], "diverged"}


@pytest.mark.parametrize(
    "defects",
    [
        ("last-entry-unseen", "seeds-with-a-count"),
        pytest.param(("crc32", "seeds-with-a-count"), marks=pytest.mark.soak),
    ],
    ids="+".join,
)
def test_mending_what_a_cause_names_mends_what_it_claims(defects: tuple[str, ...]) -> None:
    report = reported("+".join(defects))
    found = causes(report)
    assert {name for cause in found for name in cause["misreadings"]} == {MISREAD[name] for name in defects}
    for cause in found:
        left = [defect for defect in defects if MISREAD[defect] not in cause["misreadings"]]
        passed = {line.id for line in reported("+".join(left)).cases if line.verdict == "pass"}
        assert set(cause["cases"]) <= passed


def test_the_last_line_says_what_cut_the_run_short() -> None:
    command = [sys.executable, page_port.__file__, "slow-retry"]
    with open_command(command, case_timeout=1.5) as transport:
        report = run(transport, Options(select=["IDX-SEL-1/*"], shrink_seconds=0, restarts=1))
    assert "not conformant: " in conclusion(report)
    assert conclusion(report).endswith(
        "; cut short: the adapter crashed or hung too often in IDX-SEL (--restarts 1)"
    )


@pytest.mark.parametrize(
    ("defect", "select", "lines"),
    [("unsigned-names", "IDX-HDR-*", 2), ("number-into-the-entry+unsigned-names", "IDX-PUT-7/*", 1)],
)
def test_a_port_that_differs_in_observed_clauses_alone_is_told_so(
    defect: str, select: str, lines: int
) -> None:
    """It refuses names with a sign, which 4.9.3 takes: IDX-FILE-4 is OBSERVED. A MUST failure leaves that line out."""
    with open_handler(page_port.PagePort(defect)) as transport:
        report = run(transport, Options(select=["IDX-FILE-4/*", select], examples=5))
    assert report.exit_code == 1
    *level, last = conclusions(report)
    assert len(level) == lines - 1
    for line in level:
        assert line.startswith("conformant in every MUST clause for index and in part queue.bounds, ")
        assert line.endswith("; 1 OBSERVED behaviour differs: IDX-FILE-4")
    assert last.startswith("not conformant: ")
