"""The hex dumps of SPEC.md are those of the bytes that the real 4.9.3 wrote."""

import runpy
from pathlib import Path

from rocket_spec.data import find_data


def test_the_dumps_are_fresh() -> None:
    made = runpy.run_path(str(Path(__file__).parent / "real" / "make_dumps.py"))
    text = find_data("spec/SPEC.md").read_text("utf-8")
    assert made["refreshed"](text) == text
