"""The page about audits says what the code says."""

from tools.audit_page import PAGE, page


def test_the_page_is_fresh() -> None:
    """`python -m tools.audit_page` makes it again."""
    assert PAGE.read_text("utf-8") == page()
