"""The page of file structures: offsets by hand, an anchor for each field, and the search in a browser."""

from pathlib import Path

from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
FOUND = "links => links.map(link => link.hash)"


FIELDS: dict[str, set[str]] = {
    "0x24": {"#index-header.index_count", "#commit-log-record.sys_flag"},
    "indexCount": {"#index-header.index_count"},
    "20,000,076": {"#index-entry.prev_entry"},  # 40 + 4 * 5,000,000 + 20 * 1 + 16
    "prev": {"#index-entry.prev_entry"},
    "420000040": set(),
}


def test_search_by_offset_and_by_name(browser: Browser, site: Path) -> None:
    with browser.new_page() as page:
        page.goto((site / "structures.html").as_uri())
        for text, fields in FIELDS.items():
            page.locator("#field-search").fill(text)
            assert set(page.eval_on_selector_all("#fields-found a", FOUND)) == fields
