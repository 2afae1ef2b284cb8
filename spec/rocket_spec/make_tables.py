"""Writes the layout tables and byte diagrams into SPEC.md: `python -m rocket_spec.make_tables`.

They stand between `<!-- layout: NAME -->` and `<!-- end layout -->`, and come from `rocket_spec.layout`.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from rocket_spec.data import find_data
from rocket_spec.errors import MalformedError
from rocket_spec.layout import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocket_spec.layout import Field, Layout

__all__ = ["diagram", "main", "refreshed", "rewrite", "table"]

_BLOCK: Final = re.compile(r"<!-- layout: (?P<name>[^>]+) -->\n.*?<!-- end layout -->", re.DOTALL)
_COLUMNS_PER_BYTE: Final = 4
_LONGEST_ROW: Final = 20


def table(layout: Layout) -> str:
    """The fields of a layout as a Markdown table; the offset is "…" behind a field of varying length."""
    rows = ["| offset | field | type | 4.9.3 calls it | holds |", "|---|---|---|---|---|"]
    rows += [
        f"| {'…' if field.offset is None else field.offset} | {field.name} | {field.type} | {field.java} | {field.doc} |"
        for field in layout.fields
    ]
    return "\n".join(rows)


def _rows(layout: Layout, width: int) -> list[list[Field]] | None:
    """The fixed fields in rows of `width` bytes, or None where a field would cross a row's end."""
    rows: list[list[Field]] = [[]]
    used = 0
    for field in layout.fixed:
        size = field.size or 0
        if used == width:
            rows.append([])
            used = 0
        if used + size > width:
            return None
        rows[-1].append(field)
        used += size
    return rows


def diagram(layout: Layout) -> str | None:
    """The fields to scale, 4 columns a byte, in one row or in rows of 16 bytes; None where they vary or do not fit."""
    if layout.fixed != layout.fields or len(layout.fields) == 1:
        return None
    rows = _rows(layout, layout.size if layout.size <= _LONGEST_ROW else 16)
    if rows is None:
        return None
    lines: list[str] = []
    for row in rows:
        widths = [_COLUMNS_PER_BYTE * (field.size or 0) for field in row]
        lines.append(
            "".join(f"{field.offset:<{width}}" for field, width in zip(row, widths, strict=True)).rstrip()
        )
        rule = "+".join("-" * (width - 1) for width in widths)
        lines.append(f"+{rule}+")
        names = "|".join(f"{field.name:^{width - 1}}" for field, width in zip(row, widths, strict=True))
        lines.append(f"|{names}|")
        lines.append(f"+{rule}+")
    return "```text\n" + "\n".join(lines) + "\n```"


def _block(match: re.Match[str]) -> str:
    name = match["name"]
    if name not in LAYOUTS:
        raise MalformedError(file="spec/SPEC.md", found=f"layout {name!r}", expected=" or ".join(LAYOUTS))
    layout = LAYOUTS[name]
    drawn = diagram(layout)
    body = table(layout) if drawn is None else f"{table(layout)}\n\n{drawn}"
    return f"<!-- layout: {name} -->\n{body}\n<!-- end layout -->"


def refreshed(text: str) -> str:
    """The document with every layout block made anew.

    Raises:
        MalformedError: when a block names no layout, or a layout has no block.
    """
    named = [match["name"] for match in _BLOCK.finditer(text)]
    missing = [name for name in LAYOUTS if name not in named]
    if missing:
        raise MalformedError(
            file="spec/SPEC.md", found=f"no block for {missing[0]}", expected="one for each layout"
        )
    return _BLOCK.sub(_block, text)


def rewrite(fresh: Callable[[str], str]) -> None:
    """Rewrites SPEC.md in place and says on stderr whether anything changed.

    Args:
        fresh: gives the document with what it makes made anew.
    """
    path = find_data("spec/SPEC.md")
    old = path.read_text(encoding="utf-8")
    new = fresh(old)
    if new != old:
        path.write_text(new, encoding="utf-8", newline="\n")
    sys.stderr.write(f"{path}: {'rewritten' if new != old else 'fresh'}\n")


def main() -> None:
    """Writes the tables and byte diagrams."""
    rewrite(refreshed)


if __name__ == "__main__":
    main()
