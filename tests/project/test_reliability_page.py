"""`docs/reliability.md` shows the recorded figures of the fuzzer, and these cover every target."""

import json

from fuzz_targets import FIGURES, PAGE, TARGETS, sentence


def test_the_page_shows_the_recorded_figures_of_every_target() -> None:
    found = json.loads(FIGURES.read_text("utf-8"))
    assert sentence(found) in PAGE.read_text("utf-8")
    assert set(TARGETS) <= set(found["targets"])
    assert found["inputs"] > 100_000
    assert found["failures"] == 0
