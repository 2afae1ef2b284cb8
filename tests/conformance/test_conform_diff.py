"""The comparison of two reports, and its verb."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from rocket_conformance.judging import Verdict
from rocket_conformance.report import CaseLine, Report, ReportWriter, compare_reports
from verb_run import Verb

HEADER = {
    "type": "header", "suite": "0.1.0", "implementation": {"name": "port", "version": "1"}, "seed": 0, "examples": 100,
}  # fmt: skip
FOOTER = {"type": "footer", "counts": {}, "stale": [], "exit_code": 0}
DIFFERENCE = {
    "op": 2, "field": "put", "file": None, "offset": None, "kind": "wrong value", "expected": True, "actual": False,
    "clause": "IDX-PUT-1",
}  # fmt: skip


def report(
    verdicts: Mapping[str, Verdict] | None = None, *, seed: int = 0, whole: bool = True, **more: Verdict
) -> Report:
    """A report with a case `IDX-PUT-1/NAME` of each verdict."""
    named: dict[str, Verdict] = {**(verdicts or {}), **more}
    lines = tuple(
        CaseLine(
            id=f"IDX-PUT-1/{name}",
            clauses=("IDX-PUT-1",),
            level="MUST",
            verdict=verdict,
            divergence=(DIFFERENCE,) if verdict == "diverged" else (),
            detail="it exited with code 9" if verdict == "crash" else "",
        )
        for name, verdict in named.items()
    )
    return Report(HEADER | {"seed": seed}, lines, FOOTER if whole else None)


def write(folder: Path, content: Report) -> Path:
    with ReportWriter(folder) as writer:
        for line in content.to_lines():
            writer.write(line)
    return folder


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
        ({"a": "diverged", "b": "pass", "c": "skipped"}, {"a": "diverged", "b": "pass", "c": "skipped"}, {}),
    ],
)
def test_what_comes_goes_changes_and_stays(
    old: dict[str, Verdict], new: dict[str, Verdict], found: dict[str, list[str]]
) -> None:
    assert kinds(report(old), report(new)) == found


def test_the_verb_tells_what_broke_and_why(verb: Verb, tmp_path: Path) -> None:
    old = write(tmp_path / "old", report(a="pass", b="crash", c="pass", d="diverged"))
    found = report(seed=3, a="diverged", b="pass", c="diverged", e="crash", f="pass", d="crash")
    cause = {
        "clause": "IDX-PUT-1", "misreadings": ["a line left out (IDX-PUT-1)"], "shows": 1, "cases": ["IDX-PUT-1/a"],
        "properties": [], "together": [], "hidden": [], "example": "IDX-PUT-1/a",
    }  # fmt: skip
    other = cause | {
        "misreadings": ["of another case (IDX-PUT-1)"],
        "cases": ["IDX-PUT-1/e"],
        "example": "IDX-PUT-1/e",
    }
    footer = dict(found.footer or {}) | {"causes": [cause, other]}
    new = write(tmp_path / "new", Report(found.header, found.cases, footer))
    run = verb("conform-diff", old, new / "report.jsonl")
    assert run.code == 1
    assert run.out.splitlines() == [
        "note: the runs differ in seed: 0 and 3",
        "broken   2 cases of IDX-PUT-1, such as IDX-PUT-1/a: pass -> diverged",
        "         IDX-PUT-1: operation 2, put: wrong value, expected true, actual false",
        "fixed    IDX-PUT-1/b: crash -> pass",
        "changed  IDX-PUT-1/d: diverged -> crash",
        "         it exited with code 9",
        "added    IDX-PUT-1/e: absent -> crash",
        "         it exited with code 9",
        "exactly as: a line left out (IDX-PUT-1): same answers and bytes in the one case in which it would show",
        "2 broken, 1 fixed, 1 changed, 2 added (1 of them fail), 0 removed",
    ]


def test_json(verb: Verb, tmp_path: Path) -> None:
    old = write(tmp_path / "old", report(a="pass"))
    run = verb("conform-diff", "--json", old, write(tmp_path / "new", report(a="diverged")))
    assert run.code == 1
    why = "IDX-PUT-1: operation 2, put: wrong value, expected true, actual false"
    change = {
        "id": "IDX-PUT-1/a",
        "old": "pass",
        "new": "diverged",
        "clause": "IDX-PUT-1",
        "why": why,
        "replay": None,
    }
    empty: dict[str, list[object]] = {
        name: [] for name in ("fixed", "changed", "added", "removed", "notes", "causes")
    }
    assert json.loads(run.out) == {"broken": [change], **empty}


def test_what_is_no_whole_report_is_one_line_and_exit_3(verb: Verb, tmp_path: Path) -> None:
    whole = write(tmp_path / "whole", report(a="pass"))
    cut_off = write(tmp_path / "cut", report(whole=False, a="pass"))
    (tmp_path / "text.jsonl").write_text("hello\nagain\n", encoding="utf-8")
    for bad, text in (
        (cut_off, "cut off"),
        (tmp_path / "text.jsonl", "text.jsonl"),
        (tmp_path / "none", "none"),
    ):
        for arguments in ((bad, whole), (whole, bad)):
            run = verb("conform-diff", *arguments)
            assert (run.code, len(run.err.splitlines())) == (3, 1)
            assert text in run.err


def test_reports_of_several_implementations_side_by_side(tmp_path: Path, verb: Verb) -> None:
    """Two of three ports break the clause; two runs of one port have no table."""
    folders = []
    ports: dict[str, Verdict] = {"one": "diverged", "two": "pass", "three": "crash"}
    for name, verdict in ports.items():
        made = report(a=verdict)
        header = {**made.header, "implementation": {"name": name, "version": "1"}}
        made = Report(header, made.cases, made.footer)
        folders.append(write(tmp_path / name, made))
    run = verb("conform-diff", *folders)
    *_, one, two, three, head, row = run.out.splitlines()
    assert (one, two, three) == ("1: one 1", "2: two 1", "3: three 1")
    assert (head.split(), row.split()) == (
        ["clause", "level", "1", "2", "3"],
        ["IDX-PUT-1", "MUST", "x", "x"],
    )
    assert (row.index("x"), row.rindex("x")) == (head.index("1"), head.index("3"))
    assert "1: " not in verb("conform-diff", folders[0], folders[0]).out
