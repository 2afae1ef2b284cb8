"""What reports conclude, in every form: badges, Markdown, pages, JUnit and text."""

import io
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from report_lines import differing, line
from rich.console import Console
from rocket_conformance.judging import Verdict
from rocket_conformance.pages import render_report
from rocket_conformance.report import (
    Baseline,
    Excuse,
    Report,
    account_of,
    badge,
    badge_svg,
    baseline_text,
    conclusions,
    family_verdicts,
    happened,
    print_summary,
    render_junit,
    render_markdown,
)

IMPLEMENTATION = {"name": "port", "version": "1", "language": "", "geometry": "any", "features": []}
HEADER = {
    "implementation": IMPLEMENTATION, "suite": "0", "protocol": 1, "command": [], "seed": 0, "examples": 1, "started": "",
}  # fmt: skip


def report(
    code: int,
    *verdicts: Verdict,
    families: list[str] | None = None,
    known: bool = False,
    level: str = "MUST",
    ops: Sequence[str] = (),
    narrowed: Sequence[str] = (),
) -> Report:
    """A report of cases with these verdicts, whose failures are in a baseline if `known`."""
    cases = tuple(
        line(f"IDX-HASH-1/{place}", verdict, level=level, baselined=known and verdict != "pass")
        for place, verdict in enumerate(verdicts)
    )
    footer = {
        "exit_code": code, "families": families or [], "ops": ops, "cut_short": None, "stale": [],
        "narrowed": narrowed, "suite_cases": {"index": 700, "queue": 300},
    }  # fmt: skip
    return Report(HEADER, cases, footer)


@pytest.mark.parametrize(
    ("given", "message", "color"),
    [
        (report(0, "pass", families=["index", "queue"]), "conformant: index, queue", "brightgreen"),
        (report(0, "pass", ops=["key.hash"]), "partial run: 1 of 700 index cases", "lightgrey"),
        (
            report(0, "pass", "pass", families=["index"], narrowed=["--select"]),
            "partial run: 2 of 700 index cases",
            "lightgrey",
        ),
        (
            report(0, "pass", "diverged", "crash", families=["index"], known=True),
            "conformant but for 2 known failures in 1 clause",
            "yellow",
        ),
        (report(1, "pass", "diverged", "crash", "not_applicable"), "2 of 3 cases fail", "red"),
        (report(4, "pass", "skipped"), "incomplete", "yellow"),
        (report(6, "pass"), "baseline is stale", "yellow"),
        (report(5), "no verdict", "lightgrey"),
        (report(130, "skipped"), "no verdict", "lightgrey"),
        (Report({}, (), None), "no verdict", "lightgrey"),
    ],
)
def test_badges(given: Report, message: str, color: str) -> None:
    assert badge(given) == {
        "schemaVersion": 1,
        "label": "RocketMQ 4.9.3 store",
        "message": message,
        "color": color,
        "isError": color == "red",
    }
    picture = ET.fromstring(badge_svg(given))
    texts = [element.text for element in picture.iter() if element.tag.endswith("text")]
    assert texts == ["RocketMQ 4.9.3 store", message]


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (
            report(0, "pass", families=["index"], narrowed=["--select"]),
            "partial run: 1 of 700 index cases, all as 4.9.3 (--select) (1 of 1 cases applicable)",
        ),
        (
            report(0, "pass", "pass", families=["index"], narrowed=["--level must", "--examples 5"]),
            "partial run: 2 of 700 index cases, all as 4.9.3 (--level must, --examples 5; OBSERVED behaviour was not tested) (2 of 2 cases applicable)",
        ),
        (
            report(0, "pass", "diverged", families=["index"], known=True, narrowed=["--fail-fast"]),
            "partial run: 2 of 700 index cases, all as 4.9.3 but for 1 known failure in 1 clause (--fail-fast) (2 of 2 cases applicable)",
        ),
        (
            report(0, "pass", ops=["key.hash"]),
            "partial run: 1 of 700 index cases, all as 4.9.3 (key.hash alone) (1 of 1 cases applicable)",
        ),
        (
            report(0, "pass", ops=list("abcdefgh")),
            "partial run: 1 of 700 index cases, all as 4.9.3 (a, b, c, d, e, f, g, h alone) (1 of 1 cases applicable)",
        ),
        (
            report(0, "pass", "not_applicable", families=["index"]),
            "conformant for index (1 of 2 cases applicable)",
        ),
    ],
)
def test_only_a_whole_run_is_conformant(given: Report, verdict: str) -> None:
    assert conclusions(given) == [verdict]
    tone = "good" if verdict.startswith("conformant") else "unclear"
    assert f'<p class="verdict {tone}">{verdict}</p>' in render_report(given)
    assert (badge(given)["color"] == "brightgreen") == verdict.startswith("conformant")


def test_clauses_that_no_case_tests_are_stated() -> None:
    """A port whose only geometry has one slot and one entry: no case of a chain applies to it."""
    chain = line("IDX-PUT-7/chain", "not_applicable")
    whole = report(0, "pass", families=["index"])
    given = Report(HEADER, (*whole.cases, chain), whole.footer)
    assert conclusions(given) == [
        "conformant for index (1 of 2 cases applicable; 1 clause not tested: IDX-PUT-7)"
    ]
    puts = [line(f"IDX-PUT-{at}/a", "not_applicable") for at in range(1, 10)]
    for count, stated in ((8, "IDX-PUT-7, IDX-PUT-8)"), (9, "9 clauses not tested)")):
        assert conclusions(Report(HEADER, (*whole.cases, *puts[:count]), whole.footer))[0].endswith(stated)
    new = line("IDX-SEL-9/a", level="OBSERVED")
    footer = report(1, families=["index"]).footer
    [first, _] = conclusions(Report(HEADER, (*whole.cases, chain, new), footer))
    assert first.startswith("conformant in every MUST clause that was tested for index; 1 OBSERVED")


def test_a_baseline_excuses_a_hang_in_its_operation_alone() -> None:
    hang = line("IDX-SEL-3/a", "timeout", detail="operation 4 (index.select): no answer")
    assert baseline_text([hang], Baseline()).splitlines()[1].startswith("IDX-SEL-3/a  timeout:index.select  ")
    known = Baseline((Excuse("IDX-SEL-3/*", "timeout", "slow", "index.select"),))
    assert known.excuses(hang)
    assert not known.excuses(replace(hang, detail="operation 0 (index.open): no answer"))
    assert known.excuses(replace(hang, detail="no answer"))  # nobody looked for the operation
    assert known.stale([replace(hang, verdict="not_applicable")]) == [
        "IDX-SEL-3/*: matches no applicable case of this run"
    ]
    assert known.stale([replace(hang, verdict="crash", detail="operation 0 (index.open): it died")]) == []


@pytest.mark.parametrize("level", ["MUST", "OBSERVED"])
def test_known_failures_are_counted_in_every_form(level: str) -> None:
    given = report(0, "pass", "diverged", "timeout", families=["index"], known=True, level=level)
    verdict = "conformant but for 2 known failures in 1 clause, for index (3 of 3 cases applicable)"
    assert conclusions(given) == [verdict]
    assert f"**{verdict}**" in render_markdown(given)
    assert f'<p class="verdict unclear">{verdict}</p>' in render_report(given)
    root = ET.fromstring(render_junit(given))
    assert [item.attrib["value"] for item in root.iter("property")][-1] == verdict
    timed = Report(HEADER, tuple(replace(line, millis=1_500) for line in given.cases), given.footer)
    root = ET.fromstring(render_junit(timed))
    assert [item.attrib["time"] for item in (root, *root.iter("testcase"))] == ["4.500", *["1.500"] * 3]
    messages = [element.attrib["message"] for element in root.iter("skipped")]
    assert all(message.startswith("known failure, ") for message in messages)
    assert len(messages) == 2
    shown = io.StringIO()
    print_summary(given, Console(file=shown, width=200))
    assert shown.getvalue().splitlines()[-1] == verdict


def test_a_known_must_failure_leaves_the_line_on_levels_out() -> None:
    """A new OBSERVED difference and a MUST clause that the baseline excuses."""
    known = report(1, "diverged", families=["index"], known=True)
    new = line("IDX-SEL-9/a", level="OBSERVED")
    [verdict] = conclusions(Report(HEADER, (*known.cases, new), known.footer))
    assert verdict.startswith("not conformant: 1 of 2 cases failed: IDX-SEL-9")
    [counted] = conclusions(Report(HEADER, (*known.cases, new), known.footer), most_named=0)
    assert counted.startswith("not conformant: 1 of 2 cases failed in 1 clause (")
    assert "1 known failure in 1 clause aside" in verdict
    observed = Report(HEADER, (new,), known.footer)
    assert conclusions(observed)[0].startswith("conformant in every MUST clause for index; 1 OBSERVED")
    [verdict] = conclusions(Report(HEADER, (new,), {**(known.footer or {}), "cut_short": "it hung"}))
    assert verdict.endswith("; cut short: it hung")
    left_out = report(1, "unsupported", families=["index"])
    [verdict] = conclusions(Report(HEADER, (*left_out.cases, new), left_out.footer))
    assert verdict.startswith("not conformant: 1 of 2 cases failed: IDX-SEL-9")
    narrowed = report(1, families=["index"], narrowed=["--select"])
    [first, _] = conclusions(Report(HEADER, (new,), narrowed.footer))
    assert first == "partial run: no MUST clause differs (--select); 1 OBSERVED behaviour differs: IDX-SEL-9"


def test_of_a_long_stderr_the_end_is_shown() -> None:
    detail = "it exited with code 1; the end of its stderr:\n" + "\n".join(map(str, range(20)))
    assert happened(line("IDX-SEL-3/a", "crash", detail=detail)) == [
        "it exited with code 1: 19",
        *(f"  {number}" for number in range(8, 20)),
    ]


def test_counts_by_part_and_level() -> None:
    """What was skipped, unsupported or disputed is left out; a part that does not apply at all comes last."""
    verdicts: list[Verdict] = ["pass", "pass", "diverged", "skipped", "unsupported", "disputed"]
    given = report(1, *verdicts, "not_applicable", known=True)
    lines = [replace(line, id=f"CKP-1/{line.verdict}", clauses=("CKP-1",)) for line in given.cases]
    found = family_verdicts(Report(HEADER, (*given.cases[-1:], *lines), given.footer))
    assert found == [("checkpoint", "MUST", 2, 0, 1, 3, 1), ("index", "MUST", 0, 0, 0, 0, 1)]


def test_most_frequent_ends_are_first_and_an_example_shows_three_fields() -> None:
    ends = [("a", "put"), ("b", "select"), ("c", "select")]
    crashes = [
        line(f"IDX-PUT-1/{name}", "crash", detail=f"operation 0 (index.{op}): it died") for name, op in ends
    ]
    wrong = differing("IDX-SEL-9/d", "offsets[0]", "offsets[1]", "put", "full", "hash")
    *stops, clause = account_of(Report(HEADER, (*crashes, wrong), None)).items
    assert [item.title for item in stops] == ["2 cases crash in index.select", "1 case crashes in index.put"]
    value = "wrong value, expected [1], actual 2"
    assert clause.first == f"d: operation 1, offsets[0]: {value}; put: {value}; full: {value}"
