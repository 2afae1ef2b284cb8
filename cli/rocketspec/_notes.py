"""Lines on stderr, and file names in them: one line each, whatever a name holds."""

from __future__ import annotations

import sys

from rocket_spec.printable import printable

__all__ = ["note", "one_line", "skipped"]


def one_line(text: str) -> str:
    r"""`text` with line ends and other control characters as `\x0a`: names of files may hold them."""
    return printable(text, limit=None)


def note(text: str) -> None:
    """One line on stderr, cut where it is very long."""
    sys.stderr.write(f"rocketspec: {printable(text)}\n")


def skipped(name: str, reason: str) -> None:
    """A file that is left out."""
    note(f"{name}: skipped, {reason}")
