"""The tables and diagrams in SPEC.md are those of the layout tables."""

import re

import pytest
from rocket_spec.data import find_data
from rocket_spec.errors import MalformedError
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, LAYOUTS, RECORD, Layout

from tools.make_tables import diagram, refreshed, table

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


def test_a_field_behind_one_of_varying_length_has_no_offset() -> None:
    assert "| 48 | born_host | bytes |" in table(RECORD)
    assert "| … | store_timestamp | i64 |" in table(RECORD)


def test_a_diagram_is_to_scale() -> None:
    drawn = diagram(INDEX_ENTRY)
    assert drawn is not None
    _, offsets, rule, names, _, _ = drawn.splitlines()
    assert [offsets.index(number) for number in ("0", "4", "12", "16")] == [0, 16, 48, 64]
    assert [at for at, char in enumerate(rule) if char == "+"] == [0, 16, 48, 64, 80]
    assert names.strip("|").replace(" ", "").split("|") == [
        "key_hash",
        "phy_offset",
        "time_diff",
        "prev_entry",
    ]


def test_a_longer_structure_is_drawn_in_rows() -> None:
    drawn = diagram(INDEX_HEADER)
    assert drawn is not None
    assert [line for line in drawn.splitlines() if line[0].isdigit()] == [
        "0                               8", "16                              24", "32              36",
    ]  # fmt: skip


def test_what_varies_in_length_is_not_drawn() -> None:
    assert diagram(RECORD) is None


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(MalformedError, match="layout 'index footer'"):
        refreshed(DOCUMENT + "<!-- layout: index footer -->\n<!-- end layout -->")


def test_a_layout_without_a_place_is_refused() -> None:
    with pytest.raises(MalformedError, match="no block for checkpoint"):
        refreshed(DOCUMENT.replace("<!-- layout: checkpoint -->", ""))
