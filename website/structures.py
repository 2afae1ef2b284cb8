"""The page of file structures: a table, a picture and a search over the layout tables of the four kinds of files."""

import json
from collections.abc import Iterator
from typing import Any, Final

from rocket_spec.layout import (
    CHECKPOINT,
    DEFAULT_GEOMETRY,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    QUEUE_UNIT,
    RECORD,
    Layout,
)

from website.pictures import (
    chain_picture,
    checkpoint_picture,
    index_picture,
    layout_picture,
    queue_picture,
)

_LAYOUTS: Final = (INDEX_HEADER, INDEX_SLOT, INDEX_ENTRY, QUEUE_UNIT, RECORD, CHECKPOINT)
_QUEUE_FILE: Final = 6_000_000
"""Length of a consume-queue file by default (CQ-FILE-1)."""

_HOSTS: Final = {"born_host": (8, 20), "store_host": (8, 20)}
"""Length of a host with IPv4 and IPv6 addresses (LOG-REC-2)."""

_HEAD: Final = """# File structures

The files of a store of RocketMQ 4.9.3, field by field. All integers are big-endian and signed. This page is made from the tables that
the reader of this project decodes with; [the specification](spec/SPEC.md) has every rule, with the place in the Java source, and
[errors of Design_Query.md](docs/design-query.md) what the usual description has wrong.

<div class="field-search"><label for="field-search">Find a field by its offset or name</label>
<input id="field-search" type="search" placeholder="36, 0x24 or indexCount" autocomplete="off">
<ul id="fields-found" aria-live="polite"></ul></div>
"""


def render_structures() -> str:
    """The page."""
    return "\n".join([_HEAD, *_index(), *_queue(), *_log(), *_checkpoint(), *_script()])


def offsets(layout: Layout) -> list[tuple[int | None, int | None]]:
    """The offset of each field with IPv4 and with IPv6 hosts; None after a field of varying length."""
    found: list[tuple[int | None, int | None]] = []
    at: list[int | None] = [0, 0]
    for field in layout.fields:
        found.append((at[0], at[1]))
        sizes = _HOSTS.get(field.name, (field.size, field.size))
        at = [
            None if start is None or size is None else start + size
            for start, size in zip(at, sizes, strict=True)
        ]
    return found


def anchor(layout: Layout, field: str) -> str:
    """The permanent anchor of a field."""
    return f"{layout.name.replace(' ', '-')}.{field}"


def _table(layout: Layout) -> Iterator[str]:
    places = offsets(layout)
    hosts = any(one != other for one, other in places)
    yield f"| offset |{' with IPv6 |' if hosts else ''} field | type | 4.9.3 calls it | holds | clause |"
    yield "|---:|" + "---:|" * hosts + "---|---|---|---|---|"
    for field, (offset, longer) in zip(layout.fields, places, strict=True):
        name = f'<a id="{anchor(layout, field.name)}"></a>`{field.name}`'
        cells = [
            *([offset, longer] if hosts else [offset]),
            name,
            field.type,
            f"`{field.java}`",
            field.doc,
            field.clause,
        ]
        yield f"| {' | '.join('…' if cell is None else str(cell) for cell in cells)} |"
    yield ""


def _picture(layout: Layout) -> str:
    return layout_picture(layout, [offset for offset, _ in offsets(layout)])


def _index() -> Iterator[str]:
    yield "## Index file"
    yield ""
    yield (
        "`index/yyyyMMddHHmmssSSS` (IDX-SVC-4): a header, slots, entries. Numbers of slots and entries are not in the file (IDX-HDR-1). "
        "A file of N entries takes N - 1 of them: entry 0 stays empty (IDX-PUT-1, IDX-ENT-1)."
    )
    yield ""
    yield index_picture()
    yield ""
    for title, layout in (("Header", INDEX_HEADER), ("Slot", INDEX_SLOT), ("Entry", INDEX_ENTRY)):
        yield f"### {title}"
        yield ""
        if len(layout.fields) > 1:
            yield _picture(layout)
            yield ""
        yield from _table(layout)
    yield "### Chain of a slot"
    yield ""
    yield (
        "A key's slot is its hash modulo the number of slots (IDX-HASH-3). The slot has the number of its newest entry (IDX-PUT-7), "
        "each entry that of the one before it (IDX-PUT-6). A query walks from the newest to the oldest (IDX-SEL-2)."
    )
    yield ""
    yield chain_picture()
    yield ""


def _queue() -> Iterator[str]:
    yield "## Consume queue"
    yield ""
    yield (
        "`consumequeue/TOPIC/QUEUE_ID/` (CQ-FILE-3): files of units of 20 bytes, without a header. The unit of logical offset n is at byte "
        "20 n of the queue."
    )
    yield ""
    yield queue_picture(_QUEUE_FILE)
    yield ""
    yield _picture(QUEUE_UNIT)
    yield ""
    yield from _table(QUEUE_UNIT)


def _log() -> Iterator[str]:
    yield "## Commit log record"
    yield ""
    yield (
        "`commitlog/` (LOG-FILE-1): files of records, one after another. Bits 16 and 32 of `sys_flag` make the hosts 20 bytes long instead of 8 "
        "(LOG-REC-2); the second column has the offsets with both set."
    )
    yield ""
    yield _picture(RECORD)
    yield ""
    yield from _table(RECORD)


def _checkpoint() -> Iterator[str]:
    yield "## Checkpoint"
    yield ""
    yield "The file `checkpoint` (CKP-1, CKP-2)."
    yield ""
    yield checkpoint_picture()
    yield ""
    yield from _table(CHECKPOINT)


def _script() -> Iterator[str]:
    slots, entries = DEFAULT_GEOMETRY
    fields: list[dict[str, Any]] = [
        {
            "structure": layout.name,
            "anchor": anchor(layout, field.name),
            "name": field.name,
            "java": field.java,
            "offset": offset,
            "size": field.size or _HOSTS.get(field.name, (None, None))[0],
        }
        for layout in _LAYOUTS
        for field, (offset, _) in zip(layout.fields, offsets(layout), strict=True)
    ]
    data = {
        "fields": fields,
        "index": {
            "header": INDEX_HEADER.size,
            "slot": INDEX_SLOT.size,
            "slots": slots,
            "entry": INDEX_ENTRY.size,
            "entries": entries,
        },
    }
    yield f'<script type="application/json" id="field-table">{json.dumps(data)}</script>'
    yield '<script src="_static/fields.js" defer></script>'
    yield ""
