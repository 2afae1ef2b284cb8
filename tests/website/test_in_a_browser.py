"""The site in a real browser: widths, dark and light, axe's rules, and a search without a server."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 800}, "is_mobile": True}
PHONE_DARK: dict[str, Any] = {**PHONE, "color_scheme": "dark"}
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
AXE = "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"


def serious(browser: Browser, axe: str, page: Path, view: dict[str, Any]) -> list[str]:
    """The serious and critical violations of a page."""
    with browser.new_page(**view) as opened:
        opened.goto(page.as_uri())
        opened.add_script_tag(content=axe)
        return [
            f"{page.name}, {view}: {item['id']}: {item['nodes'][0]['html'][:120]}"
            for item in opened.evaluate(AXE)
            if item["impact"] in {"serious", "critical"}
        ]


@pytest.mark.node
@pytest.mark.parametrize(
    ("page", "view"),
    [("index", PHONE_DARK), ("docs/query", DESKTOP), ("structures", PHONE_DARK), ("docs/findings", DESKTOP)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_axe_finds_no_serious_violation(
    page: str, view: dict[str, Any], browser: Browser, axe: str, site: Path
) -> None:
    assert serious(browser, axe, site / f"{page}.html", view) == []


@pytest.mark.soak
@pytest.mark.node
def test_axe_finds_no_serious_violation_on_any_page(browser: Browser, axe: str, site: Path) -> None:
    views = [PHONE_DARK, DESKTOP, PHONE, {**DESKTOP, "color_scheme": "dark"}]
    found = [
        violation
        for page in sorted(site.rglob("*.html"))
        for view in views
        for violation in serious(browser, axe, page, view)
    ]
    assert found == []


def test_no_page_is_wider_than_a_phone(browser: Browser, site: Path) -> None:
    wide: list[str] = []
    with browser.new_page(**PHONE) as opened:
        for page in sorted(site.rglob("*.html")):
            opened.goto(page.as_uri())
            if opened.evaluate("document.documentElement.scrollWidth") > 390:
                wide.append(page.relative_to(site).as_posix())
    assert wide == []


def test_the_table_of_results_fits_a_laptop(browser: Browser, site: Path) -> None:
    """No column of it has to be scrolled to."""
    with browser.new_page(**DESKTOP) as page:
        page.goto((site / "docs/findings.html").as_uri())
        table = page.locator("table", has_text="rocketspec engine 0.1.0").first
        right = table.evaluate("table => table.getBoundingClientRect().right")
        around = table.evaluate("table => [table.parentElement.scrollWidth, table.parentElement.clientWidth]")
    assert right <= 1280
    assert around[0] <= around[1]


def test_the_menu_fits_a_screen(browser: Browser, site: Path) -> None:
    with browser.new_page(viewport={"width": 1280, "height": 900}) as opened:
        opened.goto((site / "index.html").as_uri())
        heights = "menu => [menu.scrollHeight, menu.clientHeight]"
        needed, there = opened.eval_on_selector(".sidebar-scroll", heights)
    assert needed <= there


def test_the_runbook_fits_two_sheets_of_paper(browser: Browser, site: Path) -> None:
    with browser.new_page() as page:
        page.goto((site / "docs/recovery.html").as_uri())
        pdf = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 2


def test_the_search_works_without_a_server(browser: Browser, site: Path) -> None:
    with browser.new_page() as page:
        page.goto((site / "search.html").as_uri() + "?q=polygenelubricants")
        page.locator("#search-results li a[href*='spec/SPEC.html']").first.wait_for()
