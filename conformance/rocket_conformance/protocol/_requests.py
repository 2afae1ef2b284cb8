"""The operations that the suite may send, with their fields, within the limits of PROTOCOL.md."""

from typing import Any, Final, cast

from rocket_conformance.protocol._kinds import checked
from rocket_conformance.protocol._operations import OPERATIONS, Kind
from rocket_conformance.protocol._values import has_lone_surrogate, key_of

_MOST_RESULTS: Final = 1_000_000
_KEYS: Final = frozenset({"key", "key?"})


def check_operation(value: object) -> None:
    """Checks one operation: its name, that all its fields are there, and what each holds.

    Raises:
        ValueError: naming the first thing that is wrong.
    """
    op = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    name = op.get("op")
    operation = OPERATIONS.get(name) if isinstance(name, str) else None
    if operation is None:
        raise ValueError(f"{value if name is None else name!r:.80} is not an operation of the protocol")
    missing = [
        field
        for field, kind in operation.fields.items()
        if field not in op and not (kind in _KEYS and f"{field}_utf16" in op)
    ]
    if missing:
        raise ValueError(f"{name} without {', '.join(missing)}")
    fields = operation.fields | operation.optional
    for field, content in op.items():
        if field != "op":
            try:
                _check_field(fields, field, op, content)
            except ValueError as error:
                raise ValueError(f"{name}: {field}: {error}") from None


def _check_field(fields: dict[str, Kind], field: str, op: dict[str, Any], value: object) -> None:
    kind = fields.get(field)
    if kind is None and fields.get(field.removesuffix("_utf16")) in _KEYS:
        if not isinstance(value, str):
            raise ValueError(f"{value!r:.80} is not hexadecimal text")
        key_of(op, field.removesuffix("_utf16"))
        return
    if kind is None:
        raise ValueError("no such field")
    checked(kind, value)
    if isinstance(value, str) and has_lone_surrogate(value):
        raise ValueError(f"holds a lone surrogate; send it as {field}_utf16")
    if field == "max_num" and cast("int", value) > _MOST_RESULTS:
        raise ValueError(f"{value} is over {_MOST_RESULTS:,}, which is never sent")
