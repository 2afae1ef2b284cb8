"""The runbook, docs/recovery.md, and a shell that runs its blocks as they are printed."""

import re
from pathlib import Path
from typing import Final

from transcript import run_command

PAGE: Final = (Path(__file__).parents[2] / "docs" / "recovery.md").read_text("utf-8")


def section(number: int) -> str:
    """The text of a numbered section."""
    found = re.search(rf"^## {number}\. .*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[0]


def blocks(number: int, language: str = "sh") -> list[str]:
    """The blocks of a section in a language; output has none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", section(number), re.MULTILINE | re.DOTALL)
    return [body for name, body in found if name == language]


def samples(number: int) -> list[str]:
    """The lines of output that a section shows."""
    return [line for block in blocks(number, "") for line in block.splitlines() if line != "..."]


def restore_command(number: int) -> str:
    """The commands of a section's rollback."""
    found = re.search(r"\*\*Rollback:\*\* `(.*?)`", section(number))
    assert found
    return found[1]


def run_block(block: str, cwd: Path, *, topic: str, key: str, notes: bool = False) -> str:
    """Runs a block on the store `store` with `broker.conf`, both in `cwd`; no command may fail but for a finding.

    Args:
        block: commands.
        cwd: the operator's directory.
        topic: the page's TOPIC.
        key: the page's KEY.
        notes: whether something may be printed on stderr.

    Returns:
        What was printed.
    """
    script = "trap 'echo \"exit code $?: $BASH_COMMAND\"' ERR\n" + block
    _, printed = run_command(
        script, cwd, STORE="store", CONF="broker.conf", TOPIC=topic, KEY=key, COLUMNS="200"
    )
    assert notes or not re.search(r"^rocketspec: ", printed, re.MULTILINE), printed
    assert not re.search(r"^exit code (?!1: rocketspec)", printed, re.MULTILINE), printed
    return printed
