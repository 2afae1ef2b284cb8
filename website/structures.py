"""Fills the page of file structures (`pages/structures.md`): tables and the search's data, from the layout tables."""

import json
import re
from typing import Final

from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, LAYOUTS, Layout

_MARK: Final = re.compile(r"<!-- table: ([a-z -]+) -->")
_HOSTS: Final = {"born_host": (8, 20), "store_host": (8, 20)}
"""Length of a host with IPv4 and IPv6 addresses (LOG-REC-2)."""


def filled(page: str) -> str:
    """The page with a table for each mark, and the search's data for the last."""
    layouts = [LAYOUTS[name] for name in _MARK.findall(page) if name in LAYOUTS]
    return _MARK.sub(lambda mark: _search(layouts) if mark[1] == "search" else _table(LAYOUTS[mark[1]]), page)


def offsets(layout: Layout) -> list[tuple[int | None, int | None]]:
    """The offset of each field with IPv4 and with IPv6 hosts; None after a field of varying length."""
    found: list[tuple[int | None, int | None]] = []
    at: tuple[int | None, int | None] = (0, 0)
    for field in layout.fields:
        found.append(at)
        short, long = _HOSTS.get(field.name, (field.size, field.size))
        at = (
            None if at[0] is None or short is None else at[0] + short,
            None if at[1] is None or long is None else at[1] + long,
        )
    return found


def _anchor(layout: Layout, field: str) -> str:
    return f"{layout.name.replace(' ', '-')}.{field}"


def _table(layout: Layout) -> str:
    places = offsets(layout)
    hosts = any(one != other for one, other in places)
    lines = [
        f"| offset |{' with IPv6 |' * hosts} field | type | 4.9.3 calls it | holds | clause |",
        "|---:|" + "---:|" * hosts + "---|---|---|---|---|",
    ]
    for field, place in zip(layout.fields, places, strict=True):
        name = f'<a id="{_anchor(layout, field.name)}"></a>`{field.name}`'
        numbers = ["…" if offset is None else str(offset) for offset in place[: 1 + hosts]]
        lines.append(
            f"| {' | '.join([*numbers, name, field.type, f'`{field.java}`', field.doc, field.clause])} |"
        )
    return "\n".join(lines)


def _search(layouts: list[Layout]) -> str:
    fields = [
        {
            "structure": layout.name,
            "anchor": _anchor(layout, field.name),
            "name": field.name,
            "java": field.java,
            "offset": offset,
            "size": field.size or _HOSTS.get(field.name, (None, None))[0],
        }
        for layout in layouts
        for field, (offset, _) in zip(layout.fields, offsets(layout), strict=True)
    ]
    slots, entries = DEFAULT_GEOMETRY
    sizes = {"header": INDEX_HEADER.size, "slot": INDEX_SLOT.size, "entry": INDEX_ENTRY.size}
    data = json.dumps({"fields": fields, "index": {**sizes, "slots": slots, "entries": entries}})
    return (
        f'<script type="application/json" id="field-table">{data}</script>\n'
        '<script src="_static/fields.js" defer></script>'
    )
