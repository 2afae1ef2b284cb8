"""The HTML pages: order, escaping, policy; in a real browser permalinks, widths, dark, print, keyboard alone, and axe's rules."""

import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Browser, Page
from rocket_conformance.misreadings import MUTANTS
from rocket_conformance.pages import render_report
from rocket_conformance.protocol import Hello
from rocket_conformance.report import (
    Baseline,
    CaseLine,
    Report,
    account_of,
    describe_divergence,
    footer_line,
    header_line,
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


@pytest.fixture
def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


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
    hello = Hello(HOSTILE, HOSTILE, HOSTILE, frozenset(), None, frozenset([HOSTILE]), 1)
    more = {"ops": [], "families": ["index"]}
    footer = footer_line([line], Baseline(), missing=[], cut_short=None, more=more)
    return Report(header_line(hello, [HOSTILE], 0, 1), (line,), footer)


def test_the_page_has_the_verdict_then_what_fails_then_the_rest(page: str) -> None:
    order = [
        "not conformant",
        ">What to mend, first things first<",
        "exactly as: end without size (CQ-PUT-7): same answers and bytes in all ",
        "Cost: later messages are taken for repeated ones, and lost from the queue.",
        'Example: <a href="#case-CQ-PUT-7/',
        "Run it again",
        "Verdict by part and level",
        "Passed: ",
    ]
    places = [page.index(text) for text in order]
    assert places == sorted(places)


def test_the_command_on_the_page_runs_the_case_again(folder: Path, page: str) -> None:
    found = re.search(r'<div class="command"><code>(.*?)</code>', page)
    assert found is not None
    words = shlex.split(found[1].replace("&#39;", "'"))
    assert words[:2] == ["rocketspec", "replay"]
    first = account_of(read_report(folder / "report.jsonl")).items[0]
    assert json.loads(Path(words[2]).read_bytes())["id"] == first.example.id


def test_a_page_refers_to_nothing_but_itself(page: str) -> None:
    found = Addresses(page)
    assert found.addresses
    assert all(address.startswith("#") for address in found.addresses)
    assert {address[1:] for address in found.addresses} <= set(found.ids)
    assert len(found.ids) == len(set(found.ids))
    assert (found.scripts, found.styled) == (1, [])
    assert "default-src &#39;none&#39;" in page


def test_hostile_texts_are_escaped_and_cut() -> None:
    page = render_report(hostile_report())
    assert Addresses(page).scripts == 1
    assert not set(page) & {"\x00", "\x1b", "\u202e"}
    assert len(page) < 120_000
    assert "x" * 2_500 not in page


def test_a_case_keeps_its_clause_in_every_form(folder: Path, page: str) -> None:
    """All of them fail through the end of a queue, CQ-PUT-7."""
    report = read_report(folder / "report.jsonl")
    assert report.footer is not None
    [cause] = report.footer["causes"]
    failed = {line.id: line for line in report.cases if line.verdict == "diverged"}
    assert (cause["misreadings"], cause["clause"]) == (["end without size (CQ-PUT-7)"], "CQ-PUT-7")
    assert set(cause["cases"]) <= failed.keys()
    assert len(cause["cases"]) > 0.6 * len(failed)
    assert "CQ-PUT-1" in {line.clauses[0] for line in failed.values()}
    for line in failed.values():
        assert {item["clause"] for item in line.divergence} == {line.clauses[0]}
        replay = json.loads((folder / str(line.replay)).read_bytes())
        assert {item["clause"] for item in replay["divergence"]} == {line.clauses[0]}
    for element in ET.fromstring(render_junit(report)).iter("testcase"):
        for failure in element.iter("failure"):
            line = failed[f"{element.attrib['classname']}/{element.attrib['name']}"]
            assert failure.attrib["message"] == describe_divergence(line.divergence)[0]
            assert failure.attrib["message"].startswith(f"{line.clauses[0]}: ")
    places = [page.index(f"<h3>{item.title}") for item in account_of(report).items]
    assert places == sorted(places)
    for item, start, end in zip(account_of(report).items, places, [*places[1:], len(page)], strict=True):
        assert all(f'id="case-{line.id}"' in page[start:end] for line in item.cases)


# --- in a browser -------------------------------------------------------------------------------------

SIZES = {"desktop": 1280, "phone": 390, "dark": 1280, "phone, dark": 390, "print": 1280}
OPEN_ALL = "document.querySelectorAll('details').forEach(item => { item.open = true; })"


def shown(browser: Browser, address: str, view: str) -> Page:
    """The page in one of `SIZES`, with everything on it opened."""
    width = SIZES[view]
    page = browser.new_page(
        viewport={"width": width, "height": 800},
        is_mobile=width < 600,
        color_scheme="dark" if "dark" in view else "light",
        bypass_csp=True,  # for axe
    )
    page.emulate_media(media="print" if view == "print" else "screen")
    page.goto(address)
    page.evaluate(OPEN_ALL)
    return page


@pytest.fixture(scope="module")
def address(folder: Path) -> str:
    """The address of the page."""
    (folder / "report.html").write_text(render_report(read_report(folder / "report.jsonl"), folder), "utf-8")
    return (folder / "report.html").as_uri()


def test_a_permalink_opens_what_it_points_to(browser: Browser, folder: Path, address: str) -> None:
    """The list of cases of a clause is closed until then: the policy lets the page's own script run."""
    last = account_of(read_report(folder / "report.jsonl")).items[-1].cases[-1].id
    opened = f"document.getElementById('case-{last}').closest('details').open"
    page = browser.new_page()
    page.goto(address)
    assert page.evaluate(opened) is False
    page.goto("about:blank")
    page.goto(f"{address}#case-{last}")
    assert page.evaluate(opened) is True


def test_a_hostile_name_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(render_report(hostile_report()), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.title() != "owned"
    assert page.evaluate("document.scripts.length") == 1


@pytest.mark.node
@pytest.mark.parametrize("view", ["desktop", "phone, dark", "print"])
def test_axe_finds_no_serious_violation(view: str, browser: Browser, axe: str, address: str) -> None:
    page = shown(browser, address, view)
    page.add_script_tag(content=axe)
    found = [
        f"{item['impact']} {item['id']}: {item['nodes'][0]['html'][:120]}"
        for item in page.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"
        )
        if item["impact"] in {"serious", "critical"}
    ]
    assert not found


@pytest.mark.parametrize("view", SIZES)
def test_no_view_is_wider_than_its_window(view: str, browser: Browser, address: str) -> None:
    page = shown(browser, address, view)
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[view]
