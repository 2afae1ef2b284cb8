"""Text from strangers is shown without any character that acts."""

import os
import subprocess
from pathlib import Path

import pytest
from rocket_spec.printable import printable, shell_word


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, \u00e9 \u4e2d \U0001f600", "plain, \u00e9 \u4e2d \U0001f600"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("nul\0del\x7fcsi\x9b31m", "nul\\x00del\\x7fcsi\\x9b31m"),
        ("right\u202eleft\u2066\u200f", "right\\u202eleft\\u2066\\u200f"),
        ("\u2028\u2029\u00a0", "\\u2028\\u2029\\xa0"),
        ("lone \ud800", "lone \\ud800"),
        ("tag \U000e0001", "tag \\U000e0001"),
        ("two\r\nlines\t.", "two\\x0d\\x0alines\\x09."),
    ],
)
def test_what_acts_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(text).isprintable()


def test_a_block_keeps_its_line_feeds() -> None:
    assert printable("one\n\x1btwo\r\n", lines=True) == "one\n\\x1btwo\\x0d\n"


def test_a_text_of_15_mb_is_cut() -> None:
    assert printable("x" * 15_000_000, limit=10) == "x" * 10 + "... (15,000,000 characters)"
    assert printable("x" * 10, limit=10) == "x" * 10
    assert len(printable("\x1b" * 3_000, limit=None)) == 12_000


@pytest.mark.parametrize(
    "text",
    [
        "plain/name",
        "a b",
        "it's",
        "x'; touch owned; '",
        "$(touch owned)`x`",
        "\x1b[201~\ntouch owned\n",
        "'\\\x1b1",
        "\u202eb\udcff",
        "",
    ],
)
def test_a_word_for_a_shell_is_one_word_of_that_text(text: str, tmp_path: Path) -> None:
    word = shell_word(text)
    assert word.isprintable()
    done = subprocess.run(
        ["bash", "-c", f"printf '%s|' {word}"], cwd=tmp_path, capture_output=True, check=True, timeout=60
    )
    assert done.stdout == os.fsencode(text) + b"|"
    assert list(tmp_path.iterdir()) == []
