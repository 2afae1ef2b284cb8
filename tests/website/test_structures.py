"""The page of file structures: offsets by hand, an anchor for each field, and the search in a browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from rocket_conformance.cases import directed_cases
from rocket_spec.clauses import clauses

ROOT = Path(__file__).parents[2]
FOUND = "links => links.map(link => link.hash)"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("0x24", {"#index-header.index_count", "#commit-log-record.sys_flag"}),
        ("indexCount", {"#index-header.index_count"}),
        ("20,000,076", {"#index-entry.prev_entry"}),  # 40 + 4 * 5,000,000 + 20 * 1 + 16
        ("prev", {"#index-entry.prev_entry"}),
        ("420000040", set()),
    ],
)
def test_search_by_offset_and_by_name(text: str, fields: set[str], browser: Browser, site: Path) -> None:
    with browser.new_page() as page:
        page.goto((site / "structures.html").as_uri())
        page.locator("#field-search").fill(text)
        assert set(page.eval_on_selector_all("#fields-found a", FOUND)) == fields


def test_design_query_names_clauses_and_cases_that_exist() -> None:
    page = (ROOT / "docs" / "design-query.md").read_text("utf-8")
    named = set(re.findall(r"\b[A-Z]{2,4}(?:-[A-Z]+)?-[0-9]+(?:/[a-z0-9-]+)?", page))
    cases = {case.id for case in directed_cases()}
    assert len(named) > 20
    assert {name for name in named if name not in (cases if "/" in name else clauses())} == set()
