"""The library `construct`, which has no types, as the one untyped name of this package, and structures of a layout's fields."""

from importlib import import_module
from typing import Any, Final

from rocket_spec.layout import Layout

c: Final[Any] = import_module("construct")

this: Final[Any] = c.this
"""The field `x` of the structure at hand, as `this.x` inside a schema."""

len_: Final[Any] = c.len_
"""The length of such a field."""

_INTEGERS: Final = {"i8": c.Int8sb, "i16": c.Int16sb, "i32": c.Int32sb, "i64": c.Int64sb}


def struct_of(layout: Layout, *more: Any, absent: int | None = None, **kinds: Any) -> Any:
    """The fixed fields of a layout, then `more`.

    Args:
        layout: names and integers.
        more: what follows them.
        absent: fields from this number on may be missing in a value, and are 0.
        kinds: what some fields are instead, by name.
    """
    parts: list[Any] = []
    for place, field in enumerate(layout.fixed):
        kind = kinds.get(field.name, _INTEGERS[field.type])
        parts.append(field.name / (kind if absent is None or place < absent else c.Default(kind, 0)))
    return c.Struct(*parts, *more)
