"""The report page as people use it, in a real browser: widths, dark, print, keyboard alone, and axe's rules."""

from __future__ import annotations

from typing import Any

import pytest
from browser import Browser
from rocket_conformance.misreadings import MUTANTS
from rocket_conformance.pages import render_comparison, render_diff, render_report
from rocket_conformance.report import Report, compare_implementations, compare_reports
from rocket_conformance.running import Options, run

VIEWS: dict[str, dict[str, Any]] = {
    "desktop": {"width": 1280},
    "phone": {"width": 390},
    "dark": {"width": 1280, "dark": True},
    "phone, dark": {"width": 390, "dark": True},
    "print": {"width": 1280, "media": "print"},
}
OPEN_ALL = "document.querySelectorAll('details').forEach(item => { item.open = true; })"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of the three pages."""
    folder = tmp_path_factory.mktemp("pages")
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "end-without-size")
    with mutant.open() as transport:
        report = run(
            transport, Options(select=["CQ-*", "CKP-1/*"], examples=3, shrink_seconds=1), report=folder
        )
    empty = Report(report.header, (), report.footer)
    texts = {
        "report": render_report(report, folder),
        "diff": render_diff(compare_reports(empty, report), empty, report, folder),
        "comparison": render_comparison(compare_implementations([report] * 8)),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in texts}


@pytest.mark.node
@pytest.mark.parametrize("view", ["desktop", "phone, dark", "print"])
def test_axe_finds_no_serious_violation(view: str, browser: Browser, axe: str, pages: dict[str, str]) -> None:
    """Every page on a desktop, the report in the other views: what differs there is colours and widths."""
    found: dict[str, list[str]] = {}
    for name, address in pages.items():
        if name != "report" and view != "desktop":
            continue
        browser.open(address, **VIEWS[view])
        browser.value(OPEN_ALL)
        browser.value(axe + "; null")
        result: list[dict[str, Any]] = browser.value(
            "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"
        )
        found[name] = [
            f"{item['impact']} {item['id']}: {item['nodes'][0]['html'][:120]}"
            for item in result
            if item["impact"] in {"serious", "critical"}
        ]
    assert not any(found.values()), found


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_is_wider_than_its_window(view: str, browser: Browser, pages: dict[str, str]) -> None:
    for address in pages.values():
        browser.open(address, **VIEWS[view])
        browser.value(OPEN_ALL)
        assert browser.value("document.documentElement.scrollWidth") <= VIEWS[view]["width"]


def test_dark_and_print_have_colours_of_their_own(browser: Browser, pages: dict[str, str]) -> None:
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    shown: dict[str, list[str]] = {}
    for view in ("desktop", "dark", "print"):
        browser.open(pages["report"], **VIEWS[view])
        shown[view] = browser.value(colours)
    assert shown["print"] == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    assert shown["dark"] != shown["desktop"]


def test_print_has_no_tools_and_whole_panels(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(pages["report"], media="print")
    hidden = "[...document.querySelectorAll('.tools, button')].every(item => !item.offsetParent)"
    assert browser.value(hidden)
    clipped = (
        "[...document.querySelectorAll('.panel')].filter(item => item.scrollWidth > item.clientWidth).length"
    )
    assert browser.value(clipped) == 0
    browser.open(pages["report"], media="print", dark=True)
    assert browser.value("getComputedStyle(document.querySelector('.panel')).backgroundColor") in {
        "rgb(255, 255, 255)",
        "rgba(0, 0, 0, 0)",
    }


def test_the_keyboard_alone_reaches_and_opens_everything(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(pages["report"])
    wanted: int = browser.value(
        "[...document.querySelectorAll('a[href], button, input, summary')].filter(item => item.checkVisibility()).length"
    )
    seen: list[str] = []
    for _ in range(wanted):
        browser.press("Tab", 9)
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        seen.append(browser.value(f"document.activeElement.tagName + ' ' + {outline}"))
    assert wanted >= 8
    assert not [place for place in seen if place.startswith("BODY") or place.endswith("none")]
    assert {place.split(" ")[0] for place in seen} >= {"INPUT", "BUTTON", "SUMMARY"}
    browser.value("document.querySelector('details:not([open]) > summary').focus()")
    closed: int = browser.value("document.querySelectorAll('details:not([open])').length")
    browser.press("Enter", 13)
    assert browser.value("document.querySelectorAll('details:not([open])').length") == closed - 1
