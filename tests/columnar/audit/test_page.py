"""The page about audits says what the code says."""

from __future__ import annotations

from audit_page import PAGE, page


def test_the_page_is_fresh() -> None:
    """`python tests/support/audit_page.py` makes it again."""
    assert PAGE.read_text("utf-8") == page()
