"""The tables and diagrams in SPEC.md are those of the layout tables."""

import re

import pytest
from rocket_spec.data import find_data
from rocket_spec.layout import LAYOUTS, Layout

from tools.make_tables import refreshed

DOCUMENT = find_data("spec/SPEC.md").read_text("utf-8")


def test_the_document_is_fresh() -> None:
    assert refreshed(DOCUMENT) == DOCUMENT


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=lambda layout: layout.name)
def test_a_table_in_the_document_says_what_the_layout_says(layout: Layout) -> None:
    block = DOCUMENT.partition(f"<!-- layout: {layout.name} -->")[2].partition("<!-- end layout -->")[0]
    rows = re.findall(r"^\| (\d+|…) \| (\w+) \| (\w+) \| (\w+) \| (.+) \|$", block, re.MULTILINE)
    assert rows == [
        ("…" if field.offset is None else str(field.offset), field.name, field.type, field.java, field.doc)
        for field in layout.fields
    ]
