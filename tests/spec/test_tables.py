"""The tables and diagrams in SPEC.md are those of the layout tables."""

from rocket_spec.data import find_data

from tools.make_tables import refreshed

DOCUMENT = find_data("spec/SPEC.md").read_text("utf-8")


def test_the_document_is_fresh() -> None:
    assert refreshed(DOCUMENT) == DOCUMENT
