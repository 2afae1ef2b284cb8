"""Lines on stderr, and file names in them: one line each, whatever a name holds."""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["note", "one_line", "skipped"]

_CONTROL: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}


def one_line(text: str) -> str:
    r"""`text` with line ends and other control characters as `\x0a`: names of files may hold them."""
    return text.translate(_CONTROL)


def note(text: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"rocketspec: {one_line(text)}\n")


def skipped(name: str, reason: str) -> None:
    """A file that is left out."""
    note(f"{name}: skipped, {reason}")
