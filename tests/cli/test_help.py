"""The paragraphs of `--help` flow into whatever width the terminal has."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from rocketspec import __main__ as command
from verb_run import Outcome

VERBS = (
    "audit",
    "decode",
    "inspect",
    "query",
    "rebuild",
    "diff",
    "digest",
    "conform-diff",
    "spark audit",
    "golden unpack",
)


@pytest.fixture
def shown(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, int], Outcome]:
    def run(verb: str, width: int) -> Outcome:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr("sys.argv", ["rocketspec", *verb.split(), "--help"])
        with pytest.raises(SystemExit) as caught:
            command.main()
        assert caught.value.code == 0
        out, err = capfd.readouterr()
        return Outcome(0, out, err)

    return run


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("verb", VERBS)
def test_no_line_ends_before_it_must(shown: Callable[[str, int], Outcome], verb: str, width: int) -> None:
    text = shown(verb, width).out.partition("╭")[0]
    for line, following in pairwise(line.rstrip() for line in text.splitlines()):
        if (
            line and following and not following.startswith("   ") and not line.endswith(":")
        ):  # a list has lines of its own
            word = following.split()[0]
            assert len(line) + 1 + len(word) > width - 1, (line, following)
