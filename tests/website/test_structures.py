"""The page of file structures: offsets by hand, an anchor for each field, pictures, and the search in a browser."""

import re
from pathlib import Path

import pytest
from browser import Browser
from rocket_conformance.cases import directed_cases
from rocket_spec.clauses import clauses
from rocket_spec.layout import LAYOUTS

from website.structures import filled

ROOT = Path(__file__).parents[2]
ON_THE_PAGE = (
    "index header",
    "index slot",
    "index entry",
    "consume-queue unit",
    "commit-log record",
    "checkpoint",
)
SEARCHED = """
(text => {
  const field = document.getElementById('field-search');
  field.value = text;
  field.dispatchEvent(new Event('input'));
  return [...document.querySelectorAll('#fields-found a')].map(link => link.hash);
})
"""


def test_every_field_has_an_anchor_and_every_structure_a_picture() -> None:
    page = filled((ROOT / "website/pages/structures.md").read_text("utf-8"))
    anchors = set(re.findall(r'<a id="([^"]+)">', page))
    assert anchors == {
        f"{name.replace(' ', '-')}.{field.name}" for name in ON_THE_PAGE for field in LAYOUTS[name].fields
    }
    assert page.count("<svg") == 8
    assert "420,000,020" in page  # of the last entry: 40 + 4 * 5,000,000 + 20 * 19,999,999


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
    browser.open((site / "structures.html").as_uri(), width=390)
    assert set(browser.value(f"{SEARCHED}({text!r})")) == fields


def test_design_query_names_clauses_and_cases_that_exist() -> None:
    page = (ROOT / "docs" / "design-query.md").read_text("utf-8")
    named = set(re.findall(r"\b[A-Z]{2,4}(?:-[A-Z]+)?-[0-9]+(?:/[a-z0-9-]+)?", page))
    cases = {case.id for case in directed_cases()}
    assert len(named) > 20
    assert {name for name in named if name not in (cases if "/" in name else clauses())} == set()
