"""The fields of compared files: which field of the format a byte belongs to, by the kind of file."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Literal

from rocket_spec.layout import (
    CHECKPOINT,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    QUEUE_UNIT,
    Geometry,
    Layout,
)

from rocket_conformance.files import FileImage
from rocket_conformance.protocol import Op

_LARGEST: Final = 1 << 20
"""Maximum size of a file whose entries or units are described."""

_MOST_PARTS: Final = 50
"""Maximum number of entries or units that are described."""

FileKind = Literal["index", "service", "queue", "checkpoint", "other"]
"""An index file that the case opens itself, one of an index service, a consume-queue file, the checkpoint, or
a file that nothing should write to."""

Region = tuple[str, int, int]
"""Name, byte offset and length of a field."""


def kind_of(path: str, ops: Sequence[Op]) -> FileKind:
    """The kind of the file at a path, by the operations of the case."""
    names = {op["op"] for op in ops}
    if any(op["op"] == "index.open" and op["file"] == path for op in ops):
        return "index"
    if path.startswith("index/") and "service.open" in names:
        return "service"
    if path.startswith("consumequeue/"):
        return "queue"
    if path == "checkpoint" and any(name.startswith("checkpoint.") for name in names):
        return "checkpoint"
    return "other"


def locate(path: str, ops: Sequence[Op], offset: int) -> Region:
    """The field that a byte of a file belongs to; the byte itself where there is none."""
    kind = kind_of(path, ops)
    if kind in {"index", "service"}:
        return _in_index(offset, _geometry_of(path, ops))
    if kind == "queue":
        unit = offset // QUEUE_UNIT.size
        return _in_layout(QUEUE_UNIT, offset, unit * QUEUE_UNIT.size, f"unit[{unit}].")
    if kind == "checkpoint" and offset < CHECKPOINT.size:
        return _in_layout(CHECKPOINT, offset, 0, "")
    return f"byte[{offset}]", offset, 1


def describe_file(path: str, ops: Sequence[Op], image: FileImage) -> Iterator[str]:
    """What is in a file, in lines: the header and the entries that are not zero, the units, or the times; else its length."""
    kind = kind_of(path, ops)
    if kind in {"index", "service"}:
        geometry = _geometry_of(path, ops)
        yield f"header: {_fields(INDEX_HEADER, image, 0)}"
        slots = _numbers(INDEX_HEADER.size, INDEX_SLOT.size, geometry.entries_offset, image)
        if slots:
            yield ", ".join(f"slot {number} -> {_int(image, start, 4)}" for number, start in slots)
        for number, start in _numbers(geometry.entries_offset, INDEX_ENTRY.size, image.size, image):
            yield f"entry {number}: {_fields(INDEX_ENTRY, image, start)}"
    elif kind == "queue":
        for number, start in _numbers(0, QUEUE_UNIT.size, image.size, image):
            yield f"unit {number}: {_fields(QUEUE_UNIT, image, start)}"
    elif kind == "checkpoint":
        yield _fields(CHECKPOINT, image, 0)
    else:
        yield f"{image.size} bytes"


def _numbers(begin: int, size: int, end: int, image: FileImage) -> list[tuple[int, int]]:
    """The first pieces of a table that are not zero, by number and byte offset."""
    if not 0 <= begin < end <= image.size or image.size > _LARGEST:
        return []
    places = ((number, start) for number, start in enumerate(range(begin, end - size + 1, size)))
    return list(islice((place for place in places if any(image.at(place[1], size))), _MOST_PARTS))


def _fields(layout: Layout, image: FileImage, start: int) -> str:
    return ", ".join(
        f"{field.name} {_int(image, start + field.offset, field.size)}"
        for field in layout.fields
        if field.offset is not None and field.size in {2, 4, 8}
    )


def _int(image: FileImage, start: int, length: int) -> int:
    return int.from_bytes(image.at(start, length), "big", signed=True)


def _geometry_of(path: str, ops: Sequence[Op]) -> Geometry:
    for op in reversed(ops):
        if op["op"] == "service.open" or (op["op"] == "index.open" and op["file"] == path):
            return Geometry(op["hash_slot_num"], op["index_num"])
    return Geometry(0, 0)


def _in_index(offset: int, geometry: Geometry) -> Region:
    if offset < INDEX_HEADER.size:
        return _in_layout(INDEX_HEADER, offset, 0, "header.")
    if offset < geometry.entries_offset:
        slot = (offset - INDEX_HEADER.size) // INDEX_SLOT.size
        return f"slot[{slot}]", INDEX_HEADER.size + slot * INDEX_SLOT.size, INDEX_SLOT.size
    entry, inside = divmod(offset - geometry.entries_offset, INDEX_ENTRY.size)
    return _in_layout(INDEX_ENTRY, offset, offset - inside, f"entry[{entry}].")


def _in_layout(layout: Layout, offset: int, start: int, prefix: str) -> Region:
    """The field of a layout that begins at `start`, at a byte inside it."""
    for field in layout.fields:
        if field.offset is None or field.size is None:
            continue
        if offset - start < field.offset + field.size:
            return f"{prefix}{field.name}", start + field.offset, field.size
    raise AssertionError(f"no field at byte {offset}")  # the layout tables leave no gaps
