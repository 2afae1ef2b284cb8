"""`--help` of every verb, wrapped at the terminal's width, with an example; completion; and what a wrong first guess gets."""

import os
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from verb_run import Verb, runner

VERBS = (
    "conform", "replay", "case show", "conform-diff", "adapter new", "adapter check", "decode", "inspect",
    "query", "audit", "rebuild", "repair", "diff", "digest", "spec list", "spec show", "spec coverage", "mutants", "golden list",
    "golden verify", "golden unpack", "workload", "spark decode", "spark audit", "spark rebuild", "spark query",
    "spark digest",
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_help_fills_the_lines_of_a_terminal(
    verb: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is wider, none ends before it must, no word is cut, there is an example, and no name of the code."""
    first, *rest = verb.split()
    texts = {
        width: runner(first, capfd, monkeypatch, width=width)(*rest, "--help").out
        for width in (60, 80, 120, 200)
    }
    commands = {
        width: [line for line in text.splitlines() if line.startswith("   rocketspec ")]
        for width, text in texts.items()
    }
    assert commands[200]
    for width in (60, 80, 120):
        text = texts[width]
        assert "rocketspec " + verb in text
        assert "Example" in text
        assert not re.search(r"\b(jobs|option)\.[A-Z]", text)
        assert all(len(line) <= width for line in text.splitlines())
        assert width < 80 or "…" not in text
        # none is wrapped, so that each can be copied
        assert list(map(str.split, commands[width])) == list(map(str.split, commands[200]))
        lines = [line.rstrip() for line in text.partition("╭")[0].splitlines()]
        for line, following in pairwise(lines):
            if line and following and not line.endswith(":") and not {line[:3], following[:3]} & {"   "}:
                # a list, which is indented, has lines of its own
                assert len(line) + 1 + len(following.split()[0]) > width - 1, (line, following)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("rocketspec dec", "decode"),
        ("rocketspec con", "conform conform-diff"),
        ("rocketspec golden un", "unpack"),
        ("rocketspec decode --only", ""),
        ("rocketspec rebuild --only", "--only-missing"),
        (
            "rocketspec decode --table c",
            "consume_queue commit_log checkpoint consume_queue_ext consumer_offsets consumer_filters",
        ),
        ("rocketspec decode --format p", "parquet"),
    ],
)
def test_a_shell_completes_verbs_options_and_values(words: str, offered: str) -> None:
    place = str(words.count(" "))
    asked = {"_ROCKETSPEC_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
    code = "import sys; sys.argv[0] = 'rocketspec'; from rocketspec.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **asked}
    )
    assert done.stdout.split() == offered.split(), done.stderr


def test_the_first_page_groups_the_verbs_and_gives_examples(verb: Verb) -> None:
    examples, *panels = re.split("─ (?:For|About) .*", verb("--help").out)
    groups = [sorted(re.findall(r"(?m)^│ ([a-z-]+) ", panel)) for panel in panels]
    assert groups == [
        ["audit", "decode", "diff", "digest", "inspect", "query", "rebuild", "repair"],
        ["adapter", "conform", "conform-diff", "replay", "workload"],
        ["case", "golden", "mutants", "spec"],
        ["spark"],
    ]
    assert {name.partition(" ")[0] for name in VERBS} == {word for group in groups for word in group}
    assert re.findall("rocketspec (audit|query|conform) ", examples) == ["audit", "query", "conform"]


@pytest.mark.parametrize("arguments", ["--version", "spec --help", "spec show IDX-PUT-5"])
def test_what_succeeds_ends_with_0(verb: Verb, arguments: str) -> None:
    assert verb(*arguments.split()).code == 0
