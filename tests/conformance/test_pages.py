"""The HTML pages: order, escaping, policy, permalinks; in a real browser where there is one."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from rocket_conformance.misreadings import MUTANTS
from rocket_conformance.pages import render_comparison, render_diff, render_report
from rocket_conformance.report import (
    CaseLine,
    Report,
    compare_implementations,
    compare_reports,
    describe_divergence,
    failing_clauses,
    read_report,
    render_junit,
)
from rocket_conformance.running import Options, run

HOSTILE = "</title><script>document.title='owned'</script>\x00\x1b[31m\u202egnp.exe" + "x" * 5_000


def reported(name: str, folder: Path, *select: str) -> Report:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    with mutant.open() as transport:
        return run(transport, Options(select=select, examples=3, shrink_seconds=2), report=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report")
    report = reported("end-without-size", path, "CQ-*", "CKP-1/*")
    (path / "report.html").write_text(render_report(report, path), encoding="utf-8")
    return path


class Addresses(HTMLParser):
    """Collects what a page refers to, its scripts, its style attributes and its ids."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.scripts = 0
        self.styled: list[str] = []
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        for name, value in attrs:
            if name in {"src", "href", "action", "data", "srcset"}:
                self.addresses.append(value or "")
            if name == "style" or name.startswith("on"):
                self.styled.append(f"{tag} {name}")
            if name == "id":
                self.ids.append(value or "")


def hostile_report() -> Report:
    divergence = {
        "op": None, "field": "size", "file": HOSTILE, "offset": None, "kind": "wrong bytes",
        "expected": HOSTILE, "actual": None, "clause": "IDX-FILE-1",
    }  # fmt: skip
    line = CaseLine(
        "IDX-FILE-1/any", ("IDX-FILE-1",), "MUST", "diverged", detail=HOSTILE, divergence=(divergence,)
    )
    implementation = {
        "name": HOSTILE, "version": HOSTILE, "language": HOSTILE, "ops": [], "geometry": "any", "features": [HOSTILE],
    }  # fmt: skip
    header = {
        "type": "header", "suite": "0", "protocol": 1, "implementation": implementation, "command": [HOSTILE],
        "seed": 0, "examples": 1, "started": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip
    footer = {
        "type": "footer", "counts": {"diverged": 1}, "coverage": {}, "stale": [], "missing": [], "cut_short": None,
        "ops": [], "families": ["index"], "exit_code": 1,
    }  # fmt: skip
    return Report(header, (line,), footer)


def pages_of(report: Report) -> dict[str, str]:
    return {
        "report": render_report(report),
        "diff": render_diff(compare_reports(report, report), report, report),
        "comparison": render_comparison(compare_implementations([report, report])),
    }


def test_the_page_has_the_verdict_then_what_fails_then_the_rest(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    order = [
        "not conformant",
        ">What fails<",
        "Smallest example",
        "Run it again",
        "CQ-PUT-7 (MUST): ",
        "exactly as: end without size (CQ-PUT-7): same answers and bytes in ",
        "Verdict by part and level",
        "Passed: ",
    ]
    places = [page.index(text) for text in order]
    assert places == sorted(places)


def test_the_command_on_the_page_runs_the_case_again(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<div class="command"><code>(.*?)</code>', page)
    assert found is not None
    words = shlex.split(found[1].replace("&#39;", "'"))
    assert words[:2] == ["rocketspec", "replay"]
    first = failing_clauses(read_report(folder / "report.jsonl"))[0]
    assert json.loads(Path(words[2]).read_bytes())["id"] == first.cases[0].id


def test_a_page_refers_to_nothing_but_itself(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    found = Addresses(page)
    assert found.addresses
    assert all(address.startswith("#") for address in found.addresses)
    assert {address[1:] for address in found.addresses} <= set(found.ids)
    assert len(found.ids) == len(set(found.ids))
    assert (found.scripts, found.styled) == (1, [])
    assert "default-src &#39;none&#39;" in page


@pytest.mark.parametrize("kind", ["report", "diff", "comparison"])
def test_hostile_texts_are_escaped_and_cut(kind: str) -> None:
    page = pages_of(hostile_report())[kind]
    assert Addresses(page).scripts == 1
    assert not set(page) & {"\x00", "\x1b", "\u202e"}
    assert len(page) < 120_000
    assert "x" * 2_500 not in page


def test_no_python_spelling_of_a_value(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"\b(None|True|False)\b", page)


def test_a_case_keeps_its_clause_in_every_form(folder: Path) -> None:
    """All of them fail through the end of a queue, CQ-PUT-7."""
    report = read_report(folder / "report.jsonl")
    assert report.footer is not None
    [cause] = report.footer["causes"]
    failed = {line.id: line for line in report.cases if line.verdict == "diverged"}
    assert (cause["misreadings"], cause["clauses"]) == (["end-without-size"], ["CQ-PUT-7"])
    assert set(cause["cases"]) <= failed.keys()
    assert len(cause["cases"]) > 0.6 * len(failed)
    assert "CQ-PUT-1" in {line.clauses[0] for line in failed.values()}
    for line in failed.values():
        assert {item["clause"] for item in line.divergence} == {line.clauses[0]}
        replay = json.loads((folder / str(line.replay)).read_bytes())
        assert {item["clause"] for item in replay["divergence"]} == {line.clauses[0]}
    for element in ET.fromstring(render_junit(report)).iter("testcase"):  # noqa: S314 - our own
        for failure in element.iter("failure"):
            line = failed[f"{element.attrib['classname']}/{element.attrib['name']}"]
            assert failure.attrib["message"] == describe_divergence(line.divergence)[0]
            assert failure.attrib["message"].startswith(f"{line.clauses[0]}: ")
    page = (folder / "report.html").read_text(encoding="utf-8")
    for item in failing_clauses(report):
        shown = page.partition(f'id="clause-{item.clause}"')[2].partition('id="clause-')[0]
        assert all(f'id="case-{line.id}"' in shown for line in item.cases)


def test_the_comparison_has_the_clauses_of_the_cases(folder: Path, tmp_path: Path) -> None:
    other = reported("checkpoint-of-24-bytes", tmp_path, "CQ-*", "CKP-*")
    table = compare_implementations([read_report(folder / "report.jsonl"), other]).to_json()
    states = {row["clause"]: [cell["state"] for cell in row["implementations"]] for row in table["clauses"]}
    assert states["CQ-PUT-7"] == ["differs", "passes"]
    assert states["CQ-PUT-1"] == ["differs", "passes"]
    assert states["CKP-2"] == ["none", "differs"]


# --- in a browser -------------------------------------------------------------------------------------


def dom(chromium: str, address: str, tmp_path: Path) -> str:
    """The page's elements after its script ran."""
    done = subprocess.run(
        [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
            f"--user-data-dir={tmp_path}", "--dump-dom", "--virtual-time-budget=2000", address,
        ],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_permalink_opens_what_it_points_to(chromium: str, folder: Path, tmp_path: Path) -> None:
    """The list of cases of a clause is closed until then: the policy lets the page's own script run."""
    report = read_report(folder / "report.jsonl")
    last = failing_clauses(report)[-1].cases[-1].id
    address = (folder / "report.html").as_uri()
    opened = r'<details open=""><summary>\d+ cases?<'
    assert not re.search(opened, dom(chromium, address, tmp_path))
    assert re.search(opened, dom(chromium, f"{address}#case-{last}", tmp_path))


def test_a_hostile_name_runs_nothing(chromium: str, tmp_path: Path) -> None:
    page = tmp_path / "hostile.html"
    page.write_text(render_report(hostile_report()), encoding="utf-8")
    shown = dom(chromium, page.as_uri(), tmp_path / "profile")
    assert "<title>owned" not in shown
    assert Addresses(shown).scripts == 1


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(chromium: str, width: int, folder: Path, tmp_path: Path) -> None:
    """Each page in a frame of that width, with all its parts open."""
    report = read_report(folder / "report.jsonl")
    empty = Report(report.header, (), report.footer)
    pages = {
        "report": render_report(report, folder),
        "diff": render_diff(compare_reports(empty, report), empty, report, folder),
        "comparison": render_comparison(compare_implementations([report] * 8)),
    }
    frames: list[str] = []
    for name, page in pages.items():
        (tmp_path / f"{name}.html").write_text(page.replace("<details", "<details open"), encoding="utf-8")
        frames.append(f'<iframe src="{name}.html" width="{width}" height="800" frameborder="0"></iframe>')
    script = (
        "onload = () => { document.title = [...document.querySelectorAll('iframe')]"
        ".map(frame => frame.contentDocument.documentElement.scrollWidth).join(' '); }"
    )
    harness = tmp_path / "harness.html"
    harness.write_text(
        f"<!DOCTYPE html><title>-</title>{''.join(frames)}<script>{script}</script>", encoding="utf-8"
    )
    title = re.search(r"<title>(.*?)</title>", dom(chromium, harness.as_uri(), tmp_path / "profile"))
    assert title is not None
    widths = dict(zip(pages, map(int, title[1].split()), strict=True))
    assert {name: found for name, found in widths.items() if found > width} == {}
