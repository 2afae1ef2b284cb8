"""The comparison of two reports; its verb is in `tests/cli/transcripts/conform-diff.md`."""

from collections.abc import Mapping

import pytest
from report_lines import cause_of, line
from rocket_conformance.judging import Verdict
from rocket_conformance.report import Report, compare_implementations, compare_reports

HEADER = {
    "type": "header", "suite": "0.1.0", "implementation": {"name": "port", "version": "1"}, "seed": 0, "examples": 100,
}  # fmt: skip
FOOTER = {"type": "footer", "counts": {}, "stale": [], "exit_code": 0}


def report(verdicts: Mapping[str, Verdict] | None = None, **more: Verdict) -> Report:
    """A report with a case `IDX-PUT-1/NAME` of each verdict."""
    named: dict[str, Verdict] = {**(verdicts or {}), **more}
    lines = (line(f"IDX-PUT-1/{name}", verdict) for name, verdict in named.items())
    return Report(HEADER, tuple(lines), FOOTER)


def kinds(old: Report, new: Report) -> dict[str, list[str]]:
    diff = compare_reports(old, new).to_json()
    return {
        name: [change["id"].removeprefix("IDX-PUT-1/") for change in changes]
        for name, changes in diff.items()
        if name != "notes" and changes
    }


@pytest.mark.parametrize("verdict", ["diverged", "errored", "crash", "timeout", "unstable"])
def test_what_passed_and_fails_is_broken(verdict: Verdict) -> None:
    assert kinds(report(a="pass", b="pass"), report(a=verdict, b="pass")) == {"broken": ["a"]}
    assert kinds(report(a=verdict, b="pass"), report(a="pass", b="pass")) == {"fixed": ["a"]}


@pytest.mark.parametrize("verdict", ["not_applicable", "skipped", "unsupported"])
def test_what_passed_and_is_not_run_any_more_is_broken(verdict: Verdict) -> None:
    """Else a port could pass its gate by not declaring what it broke."""
    assert kinds(report(a="pass"), report(a=verdict)) == {"broken": ["a"]}
    assert kinds(report(a=verdict), report(a="pass")) == {"added": ["a"]}
    assert kinds(report(a="diverged"), report(a=verdict)) == {"removed": ["a"]}
    assert kinds(report(a=verdict), report(a="diverged")) == {"added": ["a"]}


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (
            {"a": "pass", "b": "crash"},
            {"c": "pass", "d": "diverged"},
            {"added": ["c", "d"], "removed": ["a", "b"]},
        ),
        # a dispute is nobody's fault
        ({"a": "diverged", "b": "pass"}, {"a": "crash", "b": "disputed"}, {"changed": ["a", "b"]}),
        ({}, {"a": "disputed"}, {}),
        ({"a": "diverged", "b": "pass", "c": "skipped"}, {"a": "diverged", "b": "pass", "c": "skipped"}, {}),
    ],
)
def test_what_comes_goes_changes_and_stays(
    old: dict[str, Verdict], new: dict[str, Verdict], found: dict[str, list[str]]
) -> None:
    assert kinds(report(old), report(new)) == found


@pytest.mark.parametrize("where", ["cases", "properties"])
def test_the_cause_of_what_broke_is_stated(where: str) -> None:
    old, new = report(a="pass", b="diverged"), report(a="diverged", b="diverged")
    for case, stated in (("IDX-PUT-1/a", 1), ("IDX-PUT-1/b", 0)):
        cause = cause_of("IDX-PUT-7", "slot never written", [], shows=1) | {where: [case]}
        caused = Report(new.header, new.cases, FOOTER | {"causes": [cause]})
        assert len(compare_reports(old, caused).causes) == stated


def test_a_clause_of_which_an_implementation_ran_no_case_neither_passes_nor_differs() -> None:
    wrong = line("IDX-HDR-5/a")
    found = compare_implementations([report(a="pass"), Report(HEADER, (wrong,), FOOTER)])
    states = {row["clause"]: [cell["state"] for cell in row["implementations"]] for row in found["clauses"]}
    assert states == {"IDX-HDR-5": ["none", "differs"], "IDX-PUT-1": ["passes", "none"]}
