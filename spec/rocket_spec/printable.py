"""Text to show: from strangers, made safe - names, keys, error messages, the stderr of an adapter - and numbers with nouns."""

import os
import shlex
from typing import Final

MOST_SHOWN: Final = 2_000
"""Default number of characters kept of a text that somebody else chose."""


def printable(text: str, *, limit: int | None = MOST_SHOWN, lines: bool = False) -> str:
    r"""`text` with every character escaped that a terminal, a browser or an encoder may act on.

    Escaped are control characters (ESC, NUL, DEL, C1), line ends, format characters (bidirectional marks, zero-width
    ones), lone surrogates, and separators other than the space: what `str.isprintable` rejects. They become
    `\x1b`, `\u202e` or `\U000e0001`.

    Args:
        text: any text.
        limit: greatest number of characters kept; what was cut is stated. None keeps all.
        lines: keep line feeds, for text that is shown as a block.
    """
    length = len(text)
    if limit is not None and length > limit:
        text = text[:limit]
    if not text.isprintable():
        text = "".join(
            char if char.isprintable() or (lines and char == "\n") else _escaped(char) for char in text
        )
    return text if limit is None or length <= limit else f"{text}... ({length:,} characters)"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: `1 file`, `2 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def shell_word(text: str) -> str:
    r"""`text` quoted for a POSIX shell; with characters that a terminal may act on in the form `$'\x1b'`.

    bash, zsh, ksh, the shells of macOS and BusyBox, and POSIX since 2024 read that form. A pasted command then holds
    no character that ends the paste or moves the cursor.
    """
    if text.isprintable():
        return shlex.quote(text)
    # Octal, because a hexadecimal digit that follows would become part of the number.
    parts = (
        char
        if char.isprintable() and char not in "'\\"
        else "".join(f"\\{byte:03o}" for byte in os.fsencode(char))
        for char in text
    )
    return f"$'{''.join(parts)}'"


def _escaped(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
