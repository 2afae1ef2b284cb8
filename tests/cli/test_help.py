"""`--help` of every verb: wrapped at the terminal's width, with an example; and completion in a shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import pytest
from rocketspec import __main__ as command
from verb_run import Outcome

VERBS = (
    "conform",
    "replay",
    "case show",
    "conform-diff",
    "compare",
    "adapter new",
    "adapter check",
    "decode",
    "inspect",
    "query",
    "audit",
    "rebuild",
    "diff",
    "digest",
    "spec list",
    "spec show",
    "spec coverage",
    "mutants",
    "golden list",
    "golden verify",
    "golden unpack",
    "workload",
    "spark decode",
    "spark audit",
    "spark rebuild",
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
            line
            and following
            and not following.startswith("   ")
            and not line.startswith("   ")
            and not line.endswith(":")
        ):  # a list has lines of its own
            word = following.split()[0]
            assert len(line) + 1 + len(word) > width - 1, (line, following)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("verb", VERBS)
def test_no_line_is_wider_than_the_terminal(
    shown: Callable[[str, int], Outcome], verb: str, width: int
) -> None:
    text = shown(verb, width).out
    assert "rocketspec " + verb in text
    assert "Example" in text
    assert all(len(line) <= width for line in text.splitlines())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("rocketspec dec", ["decode"]),
        ("rocketspec con", ["conform", "conform-diff"]),
        ("rocketspec golden un", ["unpack"]),
        ("rocketspec decode --only", []),
        ("rocketspec rebuild --only", ["--only-missing"]),
        ("rocketspec decode --table c", ["consume_queue", "commit_log", "checkpoint", "consume_queue_ext"]),
        ("rocketspec decode --format p", ["parquet"]),
    ],
)
def test_a_shell_completes_verbs_options_and_values(words: str, offered: list[str]) -> None:
    asked = {
        "_ROCKETSPEC_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    code = "import sys; sys.argv[0] = 'rocketspec'; from rocketspec.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **asked}
    )
    assert done.stdout.split() == offered, done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_no_word_is_cut_at_80_columns(shown: Callable[[str, int], Outcome], verb: str) -> None:
    assert "…" not in shown(verb, 80).out


def test_the_first_page_groups_the_verbs_and_gives_examples(shown: Callable[[str, int], Outcome]) -> None:
    examples, stores, suite = re.split("─ For (?:operators|implementers).*", shown("", 80).out)
    for verb in VERBS:
        word = verb.partition(" ")[0]
        mine = word in {"decode", "inspect", "query", "audit", "rebuild", "diff", "digest", "spark"}
        assert len(re.findall(rf"(?m)^│ {word} ", stores if mine else suite)) == 1
    assert re.findall("rocketspec (audit|query|conform) ", examples) == ["audit", "query", "conform"]
