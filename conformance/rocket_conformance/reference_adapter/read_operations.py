"""What the reference reads in existing files: the operations of decoders and viewers."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import rocket_reference
from rocket_spec.errors import FormatError
from rocket_spec.layout import Geometry

from rocket_conformance.protocol import OBJECTS, Op, Result, from_i64


def _travelling(kind: str, value: object, **also: Any) -> dict[str, Any]:
    """An object's fields of a kind, as they travel."""
    fields: dict[str, Any] = {}
    for name, field_kind in OBJECTS[kind].items():
        content: Any = also[name] if name in also else getattr(value, name)
        if field_kind in {"i64", "i64?"}:
            content = None if content is None else from_i64(content)
        elif field_kind == "base64":
            content = b64encode(content).decode("ascii")
        elif field_kind == "texts":
            content = dict(content)
        fields[name] = content
    return fields


def _index(directory: Path, op: Op) -> Result:
    data = (directory / op["file"]).read_bytes()
    entries = rocket_reference.index_entries(data, Geometry(op["hash_slot_num"], op["index_num"]))
    return {
        "entries": [_travelling("index_entry[]", entry) for entry in entries],
        "header": _travelling("index_header", rocket_reference.index_header(data)),
    }


def _queue(directory: Path, op: Op) -> Result:
    path = directory / op["file"]
    base = rocket_reference.base_offset(path.name)
    units = rocket_reference.queue_units(path.read_bytes(), base)
    return {
        "units": [
            _travelling(
                "queue_unit[]", unit, logical_offset=offset, pre_blank=unit == rocket_reference.PRE_BLANK
            )
            for offset, unit in units
        ]
    }


def _log(directory: Path, op: Op) -> Result:
    found: list[dict[str, Any]] = []
    records = rocket_reference.records((directory / op["file"]).read_bytes())
    with suppress(FormatError):  # the walk ends at the first record that is wrong
        for _, record in records:
            found.append(_travelling("record[]", record))
    return {"records": found}


READ_HANDLERS: Final[Mapping[str, Callable[[Path, Op], Result]]] = {
    "index.read": _index,
    "queue.read": _queue,
    "log.read": _log,
}
"""What each operation runs."""
