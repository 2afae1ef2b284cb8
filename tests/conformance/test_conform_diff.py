"""The comparison of two reports, and its verb."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rocket_conformance.judging import Verdict
from rocket_conformance.report import CaseLine, Report, ReportWriter, compare_reports
from verb_run import Run, runner

HEADER = {
    "type": "header",
    "suite": "0.1.0",
    "implementation": {"name": "port", "version": "1"},
    "seed": 0,
    "examples": 100,
}
FOOTER = {"type": "footer", "counts": {}, "stale": [], "exit_code": 0}
DIFFERENCE = {
    "op": 2,
    "field": "put",
    "file": None,
    "offset": None,
    "kind": "wrong value",
    "expected": True,
    "actual": False,
    "clause": "IDX-PUT-1",
}


def report(*, seed: int = 0, whole: bool = True, **verdicts: Verdict) -> Report:
    """A report with a case `IDX-PUT-1/NAME` of each verdict."""
    lines = tuple(
        CaseLine(
            id=f"IDX-PUT-1/{name}",
            clauses=("IDX-PUT-1",),
            level="MUST",
            verdict=verdict,
            divergence=(DIFFERENCE,) if verdict == "diverged" else (),
            detail="it exited with code 9" if verdict == "crash" else "",
        )
        for name, verdict in verdicts.items()
    )
    return Report(HEADER | {"seed": seed}, lines, FOOTER if whole else None)


def write(folder: Path, content: Report) -> Path:
    with ReportWriter(folder) as writer:
        writer.header(content.header)
        for line in content.cases:
            writer.case(line)
        writer.finish(content)
    return folder


@pytest.fixture
def conform_diff(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner("conform-diff", capfd, monkeypatch)


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


def test_cases_that_come_and_go() -> None:
    assert kinds(report(a="pass", b="crash"), report(c="pass", d="diverged")) == {
        "added": ["c", "d"],
        "removed": ["a", "b"],
    }


def test_another_failure_is_changed_and_a_dispute_is_nobodys_fault() -> None:
    assert kinds(report(a="diverged", b="pass"), report(a="crash", b="disputed")) == {"changed": ["a", "b"]}


def test_what_stays_is_not_told() -> None:
    same = report(a="diverged", b="pass", c="not_applicable")
    assert kinds(same, same) == {}


def test_the_verb_tells_what_broke_and_why(conform_diff: Run, tmp_path: Path) -> None:
    old = write(tmp_path / "old", report(a="pass", b="crash", c="pass", d="diverged"))
    new = write(tmp_path / "new", report(seed=3, a="diverged", b="pass", e="crash", f="pass", d="crash"))
    run = conform_diff(old, new / "report.jsonl")
    assert run.code == 1
    assert run.out.splitlines() == [
        "note: the runs differ in seed: 0 and 3",
        "broken   IDX-PUT-1/a: pass -> diverged",
        "         IDX-PUT-1: operation 2, put: wrong value, expected true, actual false",
        "fixed    IDX-PUT-1/b: crash -> pass",
        "changed  IDX-PUT-1/d: diverged -> crash",
        "         it exited with code 9",
        "added    IDX-PUT-1/e: absent -> crash",
        "         it exited with code 9",
        "1 broken, 1 fixed, 1 changed, 2 added (1 of them fail), 1 removed",
    ]


def test_reports_of_two_implementations_are_said_to_be() -> None:
    old = report(a="pass")
    other = {**old.header["implementation"], "name": "another"}
    new = Report({**old.header, "implementation": other}, old.cases, old.footer)
    name = old.header["implementation"]["name"]
    assert compare_reports(old, new).notes == (f"the implementation: {name} and another",)
    assert compare_reports(old, old).notes == ()


def test_nothing_broken_is_exit_0(conform_diff: Run, tmp_path: Path) -> None:
    old = write(tmp_path / "old", report(a="diverged", b="pass"))
    new = write(tmp_path / "new", report(a="pass", b="pass", c="diverged"))
    assert conform_diff(old, new).code == 0


def test_json(conform_diff: Run, tmp_path: Path) -> None:
    old = write(tmp_path / "old", report(a="pass"))
    run = conform_diff("--json", old, write(tmp_path / "new", report(a="diverged")))
    assert run.code == 1
    found = json.loads(run.out)
    assert [found[name] for name in ("fixed", "changed", "added", "removed", "notes")] == [[]] * 5
    assert found["broken"] == [
        {
            "id": "IDX-PUT-1/a",
            "old": "pass",
            "new": "diverged",
            "clause": "IDX-PUT-1",
            "why": "IDX-PUT-1: operation 2, put: wrong value, expected true, actual false",
            "replay": None,
        }
    ]


@pytest.mark.parametrize("which", [0, 1])
def test_a_report_that_was_cut_off_is_one_line_and_exit_3(
    conform_diff: Run, tmp_path: Path, which: int
) -> None:
    reports = [write(tmp_path / str(place), report(whole=place != which, a="pass")) for place in (0, 1)]
    run = conform_diff(*reports)
    assert run.code == 3
    assert len(run.err.splitlines()) == 1
    assert f"{which}{'/'}report.jsonl" in run.err.replace("\\", "/")
    assert "cut off" in run.err


def test_what_is_no_report_is_one_line_and_exit_3(conform_diff: Run, tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    path.write_text("hello\nagain\n", encoding="utf-8")
    for arguments in ((path, path), (tmp_path / "none", path)):
        run = conform_diff(*arguments)
        assert run.code == 3
        assert len(run.err.splitlines()) == 1


def test_a_report_of_another_tool_has_the_fields_of_the_contract_alone(
    conform_diff: Run, tmp_path: Path
) -> None:
    case = {
        "type": "case", "id": "IDX-PUT-1/a", "clauses": ["IDX-PUT-1"], "level": "MUST", "verdict": "pass",
        "baselined": False, "examples": 1, "millis": 3, "divergence": [],
    }  # fmt: skip
    lines = [HEADER, case, {"type": "footer", "counts": {"pass": 1}, "coverage": {}, "exit_code": 0}]
    for name in ("old", "new"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    run = conform_diff(tmp_path / "old.jsonl", tmp_path / "new.jsonl")
    assert (run.code, run.err) == (0, "")
