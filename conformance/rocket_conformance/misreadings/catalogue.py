"""Every misreading, read from the texts of this folder.

A misreading begins with its name, its clause and the module of `rocket_reference` that it changes; `cause-only` may follow.
Then comes what is changed, old before new: whole lines after `-` and `+`, text within a line after `<` and `>`. A line `&`
begins a further change, an empty line ends the misreading, and a line that begins with `#` is a comment.
"""

from collections.abc import Iterator
from importlib.resources import files
from typing import Final

from rocket_conformance.misreadings.mutant import Mutant

_PARTS: Final = (
    *("index_bytes", "index_puts", "index_selects", "service"),
    *("queue_units", "queue_restarts", "log", "ports"),
)


def _read(part: str) -> Iterator[Mutant]:
    text = files("rocket_conformance.misreadings").joinpath(f"{part}.txt").read_text("utf-8")
    for paragraph in text.split("\n\n"):
        heading, _, changes = paragraph.partition("\n")
        if heading.startswith("#"):
            continue
        name, clause, module, *cause_only = heading.split()
        (old, new), *also = (_change(lines) for lines in changes.split("\n&\n"))
        yield Mutant(name, clause, module, old, new, tuple(also), cause_only=bool(cause_only))


def _change(text: str) -> tuple[str, str]:
    lines = text.rstrip("\n").split("\n")
    old, new = ([line for line in lines if line[0] in marks] for marks in ("-<", "+>"))
    return _side(old), _side(new)


def _side(lines: list[str]) -> str:
    text = "\n".join(line[1:] for line in lines)
    return f"{text}\n" if lines and lines[0][0] in "-+" else text


MISREADINGS: Final = tuple(mutant for part in _PARTS for mutant in _read(part))
"""Everything that reports look for as a cause, in the order of the format's parts; names are unique."""

MUTANTS: Final = tuple(mutant for mutant in MISREADINGS if not mutant.cause_only)
"""Wrong implementations that misread one clause each: that clause's own cases notice each of them alone."""

OF_STORES: Final = tuple(_read("stores"))
"""What a store shows at once, in addition to the others."""
