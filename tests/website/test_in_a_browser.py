"""The site in a real browser: widths, dark and light, axe's rules, and a search without a server."""

from pathlib import Path
from typing import Any

import pytest
from browser import Browser

PHONE_DARK: dict[str, Any] = {"width": 390, "dark": True}
DESKTOP: dict[str, Any] = {"width": 1280}
AXE = "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"
FOUND = """
new Promise((resolve, reject) => {
  const look = tries => {
    const links = [...document.querySelectorAll('#search-results li a')].map(link => link.href);
    if (links.length) resolve(links);
    else if (tries) setTimeout(look, 50, tries - 1);
    else reject('no result');
  };
  look(1200);
})
"""


def serious(browser: Browser, axe: str, page: Path, view: dict[str, Any]) -> list[str]:
    """The serious and critical violations of a page."""
    browser.open(page.as_uri(), **view)
    browser.value(axe + "; null")
    return [
        f"{page.name}, {view}: {item['id']}: {item['nodes'][0]['html'][:120]}"
        for item in browser.value(AXE)
        if item["impact"] in {"serious", "critical"}
    ]


@pytest.mark.node
@pytest.mark.parametrize("page", ["index", "docs/query", "structures", "results"])
@pytest.mark.parametrize("view", [PHONE_DARK, DESKTOP], ids=["phone, dark", "desktop"])
def test_axe_finds_no_serious_violation(
    page: str, view: dict[str, Any], browser: Browser, axe: str, site: Path
) -> None:
    assert serious(browser, axe, site / f"{page}.html", view) == []


@pytest.mark.soak
@pytest.mark.node
def test_axe_finds_no_serious_violation_on_any_page(browser: Browser, axe: str, site: Path) -> None:
    views = [PHONE_DARK, DESKTOP, {"width": 390}, {"width": 1280, "dark": True}]
    found = [
        violation
        for page in sorted(site.rglob("*.html"))
        for view in views
        for violation in serious(browser, axe, page, view)
    ]
    assert found == []


def test_no_page_is_wider_than_a_phone(browser: Browser, site: Path) -> None:
    wide: list[str] = []
    for page in sorted(site.rglob("*.html")):
        browser.open(page.as_uri(), width=390)
        if browser.value("document.documentElement.scrollWidth") > 390:
            wide.append(page.relative_to(site).as_posix())
    assert wide == []


def test_the_runbook_fits_two_sheets_of_paper(browser: Browser, site: Path) -> None:
    browser.open((site / "docs/recovery.html").as_uri(), media="print")
    assert browser.printed_pages() == 2


def test_the_search_works_without_a_server(browser: Browser, site: Path) -> None:
    browser.open((site / "search.html").as_uri() + "?q=polygenelubricants")
    assert any("spec/SPEC.html" in link for link in browser.value(FOUND))
