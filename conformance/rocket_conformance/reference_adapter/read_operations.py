"""Operations on existing files, as decoders and viewers have them, by the reference."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import FormatError
from rocket_spec.layout import Geometry

from rocket_conformance.protocol import OBJECTS, Op, Result, from_i64
from rocket_conformance.reference_adapter.library import Library


def travelling(kinds: Mapping[str, str], value: object, **also: Any) -> dict[str, Any]:
    """An object's fields of these names and kinds, as they travel; `also` gives those that are no attribute of it."""
    fields: dict[str, Any] = {}
    for name, kind in kinds.items():
        content: Any = also[name] if name in also else getattr(value, name)
        if kind in {"i64", "i64?"}:
            content = None if content is None else from_i64(content)
        elif kind == "i64[]":
            content = [from_i64(item) for item in content]
        elif kind == "base64":
            content = b64encode(content).decode("ascii")
        elif kind == "texts":
            content = dict(content)
        fields[name] = content
    return fields


def _index(directory: Path, op: Op, library: Library) -> Result:
    data = (directory / op["file"]).read_bytes()
    entries = library.index_entries(data, Geometry(op["hash_slot_num"], op["index_num"]))
    return {
        "entries": [travelling(OBJECTS["index_entry[]"], entry) for entry in entries],
        "header": travelling(OBJECTS["index_header"], library.index_header(data)),
    }


def _queue(directory: Path, op: Op, library: Library) -> Result:
    path = directory / op["file"]
    found: list[dict[str, Any]] = []
    for offset, unit in library.queue_units(path.read_bytes(), library.base_offset(path.name)):
        place = {"logical_offset": offset}
        found.append(travelling(OBJECTS["queue_unit[]"], unit, **place))
    return {"units": found}


def _log(directory: Path, op: Op, library: Library) -> Result:
    found: list[dict[str, Any]] = []
    records = library.records((directory / op["file"]).read_bytes())
    with suppress(FormatError):  # the walk ends at the first record that is wrong
        for _, record in records:
            found.append(travelling(OBJECTS["record[]"], record))
    return {"records": found}


READ_HANDLERS: Final[Mapping[str, Callable[[Path, Op, Library], Result]]] = {
    "index.read": _index,
    "queue.read": _queue,
    "log.read": _log,
}
"""The function of each operation."""
