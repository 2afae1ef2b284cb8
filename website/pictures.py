"""Pictures of the file structures as inline SVG, drawn from the layout tables; they take the colours of the page around them."""

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from rocket_spec.layout import (
    CHECKPOINT,
    CHECKPOINT_SIZE,
    DEFAULT_GEOMETRY,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    QUEUE_UNIT,
    Layout,
)

_LEFT: Final = 44
_BYTE: Final = 38
_WIDTH: Final = _LEFT + 8 * _BYTE + 2
"""Narrow enough for a telephone: 8 bytes a row, with the offset beside it."""

_QUEUE_FILE: Final = 6_000_000
"""Length of a consume-queue file by default (CQ-FILE-1)."""

_ROW: Final = 26
_LETTER: Final = 6.7


class _Box(NamedTuple):
    """A rectangle with a text; `note` is written to its left."""

    x: float
    y: float
    width: float
    height: float
    text: str
    note: str = ""
    dashed: bool = False


def layout_picture(layout: Layout, offsets: Sequence[int | None]) -> str:
    """The fields of a layout, 8 bytes a row and to scale; a field of varying length has a dashed row of its own."""
    boxes: list[_Box] = []
    used, row = 0, -1
    for field, offset in zip(layout.fields, offsets, strict=True):
        size = field.size or 8
        if row < 0 or used + size > 8:
            used, row = 0, row + 1
        note = "" if used or offset is None else str(offset)
        place = (_LEFT + used * _BYTE, 1 + row * _ROW)
        boxes.append(_Box(*place, size * _BYTE, _ROW, field.name, note, dashed=field.size is None))
        used += size
    return _figure(boxes, (), f"Bytes of the {layout.name}, 8 a row; the number is the offset of the row.")


def _index_picture() -> str:
    slots, entries = DEFAULT_GEOMETRY
    header, slot, entry = INDEX_HEADER.size, INDEX_SLOT.size, INDEX_ENTRY.size
    first = DEFAULT_GEOMETRY.entries_offset
    return _stacked(
        f"An index file with {slots:,} slots and {entries:,} entries: {DEFAULT_GEOMETRY.file_size:,} bytes. "
        f"Slot n is at {header} + {slot} n, entry n at {header} + {slot} S + {entry} n.",
        (0, f"header, {header} bytes"),
        (header, f"slot 0, {slot} bytes"),
        (header + slot, "slot 1"),
        (None, "..."),
        (first - slot, f"slot {slots - 1:,}"),
        (first, f"entry 0, {entry} bytes: never written"),
        (first + entry, "entry 1"),
        (None, "..."),
        (first + entry * (entries - 1), f"entry {entries - 1:,}"),
    )


def _queue_picture() -> str:
    unit, size = QUEUE_UNIT.size, _QUEUE_FILE
    return _stacked(
        f"A consume-queue file of {size:,} bytes. Its name is the offset of its first byte: {unit} n.",
        (0, f"unit of logical offset n, {unit} bytes"),
        (unit, "unit of logical offset n + 1"),
        (None, "..."),
        (size - unit, f"unit of logical offset n + {size // unit - 1:,}"),
    )


def _checkpoint_picture() -> str:
    fields = [(field.offset, f"{field.name}, {field.size} bytes") for field in CHECKPOINT.fields]
    used = CHECKPOINT.size
    caption = f"The checkpoint: {CHECKPOINT_SIZE:,} bytes, of which {used} are used."
    return _stacked(caption, *fields, (used, "0, never written"))


def _chain_picture() -> str:
    names = [field.name for field in INDEX_ENTRY.fields]
    middle = _LEFT + 2 * _BYTE
    boxes = [_Box(_LEFT, 1, 4 * _BYTE, _ROW, f"{INDEX_SLOT.fields[0].name} = 7", "slot")]
    arrows = []
    for number, previous in ((7, 4), (4, 1), (1, 0)):
        end, y = boxes[-1].y + _ROW, boxes[-1].y + 2 * _ROW
        arrows.append((middle, end))
        boxes.append(_Box(_LEFT, y, 8 * _BYTE, _ROW, ", ".join(names[:-1]), str(number)))
        boxes.append(_Box(_LEFT, y + _ROW, 8 * _BYTE, _ROW, f"{names[-1]} = {previous}"))
    return _figure(
        boxes,
        arrows,
        "The chain of a slot with entries 7, 4 and 1, from the newest to the oldest. Each entry has the number of the one put before it "
        "in the same slot, whatever its key or hash; 0 ends the chain.",
    )


def _stacked(caption: str, *parts: tuple[int | None, str]) -> str:
    wide = 82  # the offset of an entry has eleven characters
    boxes = [
        _Box(
            wide,
            1 + i * _ROW,
            _WIDTH - wide - 2,
            _ROW,
            text,
            "" if offset is None else f"{offset:,}",
            dashed=offset is None or "never written" in text,
        )
        for i, (offset, text) in enumerate(parts)
    ]
    return _figure(boxes, (), caption)


def _figure(boxes: list[_Box], arrows: Iterable[tuple[float, float]], caption: str) -> str:
    height = max(box.y + box.height for box in boxes) + 1
    body = "".join([*(part for box in boxes for part in _box(box)), *(_arrow(x, y) for x, y in arrows)])
    text = html.escape(caption)
    return (
        f'<figure class="structure"><svg role="img" viewBox="0 0 {_WIDTH} {height}" aria-label="{text}">{body}</svg>'
        f"<figcaption>{text}</figcaption></figure>"
    )


def _box(box: _Box) -> Iterator[str]:
    dashes = ' stroke-dasharray="4 3"' if box.dashed else ""
    yield f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}"{dashes}/>'
    middle = box.y + box.height / 2 + 4
    fits = len(box.text) * _LETTER < box.width
    x, align = (box.x + box.width / 2, "middle") if fits else (box.x + box.width + 4, "start")
    yield f'<text x="{x}" y="{middle}" text-anchor="{align}">{html.escape(box.text)}</text>'
    if box.note:
        yield f'<text x="{box.x - 4}" y="{middle}" text-anchor="end">{html.escape(box.note)}</text>'


def _arrow(x: float, y: float) -> str:
    return f'<path d="M{x} {y} v{_ROW - 1} m-4 -6 l4 6 l4 -6"/>'


PICTURES: Final[dict[str, Callable[[], str]]] = {
    "index file": _index_picture,
    "chain": _chain_picture,
    "queue file": _queue_picture,
    "checkpoint": _checkpoint_picture,
}
"""Pictures of more than one layout, by name."""
