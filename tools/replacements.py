"""Text files of replacements: of each a heading, then what is changed, old lines after `-`, new ones after `+`, a reason after `!`."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Replacement(NamedTuple):
    """One replacement; `why` is the reason after `!`."""

    heading: str
    old: str
    new: str
    why: str


def replacements(path: Path) -> Iterator[Replacement]:
    """Those of a file, whose first paragraph is about the file."""
    for text in path.read_text("utf-8").split("\n\n")[1:]:
        heading, *lines = text.rstrip("\n").split("\n")
        changes = ("\n".join(line[1:] for line in lines if line[0] == mark) for mark in "-+!")
        yield Replacement(heading, *changes)
