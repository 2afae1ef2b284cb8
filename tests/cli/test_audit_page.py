"""`audit --report` on a telephone; `transcripts/audit-page.md` shows what is on the page."""

from pathlib import Path

from playwright.sync_api import Browser
from rocketspec.verbs.audit.metrics import _escaped
from verb_run import Run

VERB = "audit"


def test_nothing_is_beyond_the_edge(run: Run, store: Path, tmp_path: Path, browser: Browser) -> None:
    """Offsets, times and the ends of commands."""
    (store / "commitlog" / f"{32768:020}").unlink()
    assert run(store, "--report", tmp_path / "page").code == 1
    page = browser.new_page(viewport={"width": 390, "height": 800}, is_mobile=True)
    page.goto((tmp_path / "page" / "audit.html").as_uri())
    wide = "[...document.querySelectorAll('.scroll, pre, body')].filter(item => item.scrollWidth > item.clientWidth).length"
    assert page.evaluate("document.querySelectorAll('.scroll, pre').length") >= 3
    assert page.evaluate(wide) == 0


def test_the_name_of_a_store_is_a_label_of_prometheus() -> None:
    assert _escaped('a"b') == r"a\"b"
