"""What a maintainer uses every day: baselines, one case, JSON, badges, and a clean working directory."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from adapter_code import GOOD, WRONG, AdapterMaker
from rich.console import Console
from rocket_conformance.counterexamples import read_replay
from rocket_conformance.judging import Verdict
from rocket_conformance.pages import render_report
from rocket_conformance.report import (
    CaseLine,
    Report,
    badge,
    badge_svg,
    conclusions,
    print_summary,
    read_baseline,
    render_junit,
    render_markdown,
)
from rocket_conformance.schema import problems
from verb_run import Verb

CASE = "IDX-HASH-1/empty"


# --- baselines ----------------------------------------------------------------------------------------------


def test_a_written_baseline_excuses_what_failed(
    verb: Verb, adapter: AdapterMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run leaves nothing in the working directory."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    select = ["conform", "--select", "IDX-HASH-*", "--examples", "3"]
    known = tmp_path / "known.txt"
    first = verb(*select, "--write-baseline", known, "--", *adapter(WRONG))
    assert first.code == 1, first.err
    assert f"{known}: " in first.err
    lines = read_baseline(known).lines
    assert {line.verdict for line in lines} == {"diverged"}
    assert {line.reason for line in lines} <= {"IDX-HASH-1: hash", "IDX-HASH-2: hash"}
    assert {line.first for line in lines} == {"hash:wrong-value"}
    again = verb(*select, "--baseline", known, "--", *adapter(WRONG))
    assert again.code == 0, again.out
    known.write_text(known.read_text("utf-8").replace(":wrong-value", ":wrongly-rejected"), encoding="utf-8")
    other = verb(*select, "--baseline", known, "--", *adapter(WRONG))
    assert other.code == 1
    assert "first differs in hash:wrong-value, not in hash:wrongly-rejected" in other.out
    assert list((tmp_path / "here").iterdir()) == []


def test_an_existing_file_is_replaced_only_if_it_is_the_baseline(
    verb: Verb, adapter: AdapterMaker, tmp_path: Path
) -> None:
    known = tmp_path / "known.txt"
    known.write_text(f"{CASE}  diverged  https://example.org/1\n", encoding="utf-8")
    select = ["conform", "--select", "IDX-HASH-1/e*", "--examples", "1", "--write-baseline", str(known)]
    refused = verb(*select, "--", *adapter(WRONG))
    assert refused.code == 2
    assert "already exists" in refused.err
    kept = verb(*select, "--baseline", str(known), "--", *adapter(WRONG))
    assert kept.code == 1, kept.out
    reasons = {line.glob: line.reason for line in read_baseline(known).lines}
    assert reasons[CASE] == "https://example.org/1"
    assert len(reasons) > 1


def test_the_cases_that_would_run_are_listed(verb: Verb) -> None:
    listed = verb("case", "list", "IDX-FILE-3/negative-[bk]*")
    assert listed.out.splitlines() == [
        "IDX-FILE-3/negative-by-entries (OBSERVED)", "IDX-FILE-3/negative-by-slots (OBSERVED)",
        "IDX-FILE-3/negative-keeps-existing (OBSERVED)",
    ]  # fmt: skip
    both = ("--select", "IDX-FILE-3/neg*", "--select", "IDX-FILE-1/folder-made")
    assert verb("conform", "--list", *both).out.splitlines()[0] == "IDX-FILE-1/folder-made (MUST)"
    assert verb("conform", "--list", "--level", "must", *both).out == "IDX-FILE-1/folder-made (MUST)\n"


# --- one case -----------------------------------------------------------------------------------------------


def test_case_show_prints_what_is_sent_and_expected(verb: Verb) -> None:
    run = verb("case", "show", "IDX-PUT-1/default-geometry-full")
    assert run.code == 0, run.err
    assert "IDX-PUT-1: " in run.out
    assert "file 20260101000000000 exists at the start" in run.out
    lines = run.out.splitlines()
    full = lines.index("  1 index.full")
    assert lines[full + 1] == '    -> {"full": false}'
    assert lines[-1].startswith("    file 20260101000000000 afterwards: SHA-256 ")


def test_case_show_as_json_is_a_case_file_that_runs(
    verb: Verb, adapter: AdapterMaker, tmp_path: Path
) -> None:
    run = verb("case", "show", "--json", CASE)
    path = tmp_path / "case.json"
    path.write_text(run.out, encoding="utf-8")
    assert problems("case", json.loads(run.out)) == []
    assert read_replay(path).id == CASE
    assert verb("replay", str(path), "--", *adapter(GOOD)).code == 0


def test_the_case_file_of_the_documentation_runs(
    verb: Verb, python_adapter: list[str], tmp_path: Path
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "case-files.md").read_text(encoding="utf-8")
    text = page.partition("```json\n")[2].partition("```")[0]
    path = tmp_path / "case.json"
    path.write_text(text, encoding="utf-8")
    assert problems("case", json.loads(text)) == []
    run = verb("replay", str(path), "--", *python_adapter)
    assert (run.code, run.out) == (0, "pass IDX-SEL-1/newest-first\n")
    disputed = json.loads(text) | {
        "expected": {"results": [{}, {"put": True}, {"put": True}, {"offsets": ["100", "200"]}]}
    }
    path.write_text(json.dumps(disputed), encoding="utf-8")
    assert verb("replay", str(path), "--", *python_adapter).code == 7


@pytest.mark.parametrize("clause", ["FOO-1", "STORE-14"])
def test_a_case_of_a_clause_that_has_none_fails_and_names_a_clause(
    clause: str, verb: Verb, adapter: AdapterMaker, tmp_path: Path
) -> None:
    path = tmp_path / "case.json"
    case = {"rocketspec_case": 1, "id": f"{clause}/x", "ops": [{"op": "key.hash", "key": "a"}]}
    path.write_text(json.dumps(case), encoding="utf-8")
    run = verb("replay", str(path), "--", *adapter(WRONG))
    assert run.code == 1, run.err
    assert run.out.startswith(f"diverged {clause}/x\n")


# --- JSON and badges ----------------------------------------------------------------------------------------


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
        CaseLine(
            f"IDX-HASH-1/{place}", ("IDX-HASH-1",), level, verdict, baselined=known and verdict != "pass"
        )
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
    picture = ET.fromstring(badge_svg(given))  # noqa: S314 - our own
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
            (
                "partial run: 2 of 700 index cases, all as 4.9.3 (--level must, --examples 5; "
                "OBSERVED behaviour was not tested) (2 of 2 cases applicable)"
            ),
        ),
        (
            report(0, "pass", "diverged", families=["index"], known=True, narrowed=["--fail-fast"]),
            (
                "partial run: 2 of 700 index cases, all as 4.9.3 but for 1 known failure in 1 clause (--fail-fast) "
                "(2 of 2 cases applicable)"
            ),
        ),
        (
            report(0, "pass", ops=["key.hash"]),
            "partial run: 1 of 700 index cases, all as 4.9.3 (key.hash alone) (1 of 1 cases applicable)",
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


@pytest.mark.parametrize("level", ["MUST", "OBSERVED"])
def test_known_failures_are_counted_in_every_form(level: str) -> None:
    given = report(0, "pass", "diverged", "timeout", families=["index"], known=True, level=level)
    verdict = "conformant but for 2 known failures in 1 clause, for index (3 of 3 cases applicable)"
    assert conclusions(given) == [verdict]
    assert f"**{verdict}**" in render_markdown(given)
    assert f'<p class="verdict unclear">{verdict}</p>' in render_report(given)
    root = ET.fromstring(render_junit(given))  # noqa: S314 - our own
    assert [item.attrib["value"] for item in root.iter("property")][-1] == verdict
    messages = [element.attrib["message"] for element in root.iter("skipped")]
    assert all(message.startswith("known failure, ") for message in messages)
    assert len(messages) == 2
    shown = io.StringIO()
    print_summary(given, Console(file=shown, width=200))
    assert shown.getvalue().splitlines()[-1] == verdict


def test_a_known_must_failure_leaves_the_line_on_levels_out() -> None:
    """A new OBSERVED difference and a MUST clause that the baseline excuses."""
    known = report(1, "diverged", families=["index"], known=True)
    new = CaseLine("IDX-SEL-9/a", ("IDX-SEL-9",), "OBSERVED", "diverged")
    [verdict] = conclusions(Report(HEADER, (*known.cases, new), known.footer))
    assert verdict.startswith("not conformant: 1 of 2 cases failed: IDX-SEL-9")
    [counted] = conclusions(Report(HEADER, (*known.cases, new), known.footer), named=False)
    assert counted.startswith("not conformant: 1 of 2 cases failed in 1 clause (")
    assert "1 known failure in 1 clause aside" in verdict
    observed = Report(HEADER, (new,), known.footer)
    assert conclusions(observed)[0].startswith("conformant in every MUST clause for index; 1 OBSERVED")
    narrowed = report(1, families=["index"], narrowed=["--select"])
    [first, _] = conclusions(Report(HEADER, (new,), narrowed.footer))
    assert first == "partial run: no MUST clause differs (--select); 1 OBSERVED behaviour differs: IDX-SEL-9"
