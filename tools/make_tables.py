"""Writes what SPEC.md derives from data and from itself: `python -m tools.make_tables`.

Layout tables and byte diagrams are between `<!-- layout: NAME -->` and `<!-- end layout -->`, and come from
`rocket_spec.layout`. The contents and the clause index are between markers of their own, and come from the document's headings
and clauses.
"""

import re
import sys
from typing import Final

from rocket_spec.clauses import parse
from rocket_spec.data import find_data
from rocket_spec.errors import MalformedError
from rocket_spec.later_layouts import LATER_LAYOUTS
from rocket_spec.layout import LAYOUTS, Field, Layout

_BLOCK: Final = re.compile(r"<!-- layout: (?P<name>[^>]+) -->\n.*?<!-- end layout -->", re.DOTALL)
_CONTENTS: Final = re.compile(r"<!-- contents -->\n.*?<!-- end contents -->", re.DOTALL)
_INDEX: Final = re.compile(r"<!-- clause index -->\n.*?<!-- end clause index -->", re.DOTALL)
_HEADING: Final = re.compile(r"^(?P<level>##|###) (?P<title>.+)$", re.MULTILINE)
_CODE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_COLUMNS_PER_BYTE: Final = 4
_LONGEST_ROW: Final = 20
_ALL: Final = LAYOUTS | LATER_LAYOUTS


def table(layout: Layout) -> str:
    """The fields of a layout as a Markdown table; the offset is "…" after a field of varying length."""
    name = "5.x" if layout.name in LATER_LAYOUTS else "4.9.3"
    rows = [f"| offset | field | type | {name} calls it | holds |", "|---|---|---|---|---|"]
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
    if name not in _ALL:
        raise MalformedError(file="spec/SPEC.md", found=f"layout {name!r}", expected=" or ".join(_ALL))
    layout = _ALL[name]
    drawn = diagram(layout)
    body = table(layout) if drawn is None else f"{table(layout)}\n\n{drawn}"
    return f"<!-- layout: {name} -->\n{body}\n<!-- end layout -->"


def _anchor(title: str) -> str:
    """The anchor of a heading: lower case, hyphens for spaces, no punctuation."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def contents(text: str) -> str:
    """The headings that are not clauses, as a nested list of links."""
    known = parse(text)
    lines = [
        f"{'  ' * (len(match['level']) - 2)}- [{match['title']}](#{_anchor(match['title'])})"
        for match in _HEADING.finditer(_CODE.sub("", text))
        if match["title"] not in known
    ]
    return "\n".join(lines)


def clause_index(text: str) -> str:
    """Every clause with its level and its first sentence, as a table."""
    rows = ["| clause | level | says |", "|---|---|---|"]
    rows += [
        f"| [{clause.id}](#{_anchor(clause.id)}) | {clause.level} | {clause.summary.replace('|', chr(92) + '|')} |"
        for clause in parse(text).values()
    ]
    return "\n".join(rows)


def refreshed(text: str) -> str:
    """The document with every layout block, the contents and the clause index generated again; MalformedError if one has no place."""
    named = [match["name"] for match in _BLOCK.finditer(text)]
    missing = [name for name in _ALL if name not in named]
    if missing:
        raise MalformedError(
            file="spec/SPEC.md", found=f"no block for {missing[0]}", expected="one for each layout"
        )
    text = _BLOCK.sub(_block, text)
    for form, name, made in ((_CONTENTS, "contents", contents), (_INDEX, "clause index", clause_index)):
        if len(form.findall(text)) != 1:
            raise MalformedError(file="spec/SPEC.md", found=f"no block for the {name}", expected="one")
        block = f"<!-- {name} -->\n{made(text)}\n<!-- end {name} -->"
        text = form.sub(block.replace("\\", r"\\"), text)
    return text


def main() -> None:
    """Writes the tables, byte diagrams, contents and clause index, and reports whether anything changed."""
    path = find_data("spec/SPEC.md")
    old = path.read_text(encoding="utf-8")
    new = refreshed(old)
    if new != old:
        path.write_text(new, encoding="utf-8", newline="\n")
    sys.stderr.write(f"{path}: {'rewritten' if new != old else 'fresh'}\n")


if __name__ == "__main__":
    main()
