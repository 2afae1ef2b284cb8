"""Broken stores: the advice that the verbs print, followed word for word, as the page shows it."""

from broken_stores import FAULTS, PAGE, page


def test_the_page_shows_what_the_verbs_advise_and_what_it_does() -> None:
    """Each section asserts that the advice leaves what `FAULTS` says; `python tests/support/broken_stores.py` writes the page."""
    assert len(FAULTS) == 17
    assert page() == PAGE.read_text("utf-8")
