"""`docs/reliability.md` shows the recorded figures, and these cover everything that they should."""

import json

from fuzz_run import FIGURES as FUZZ
from fuzz_run import TARGETS

from tools.reliability_page import PAGE, page


def test_the_page_shows_the_recorded_figures() -> None:
    text = PAGE.read_text("utf-8")
    assert page(text) == text, "python -m tools.reliability_page"


def test_every_target_was_fuzzed_and_nothing_failed() -> None:
    found = json.loads(FUZZ.read_text("utf-8"))
    assert set(TARGETS) <= set(found["targets"])
    assert found["inputs"] > 100_000
    assert found["failures"] == 0
