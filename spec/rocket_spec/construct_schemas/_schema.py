"""Parts of which schemas are made, and the schema itself: a Construct with types, plain values and this package's errors around it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from typing import Any, BinaryIO, Final, cast

from rocket_spec.errors import InvalidError, MalformedError
from rocket_spec.layout import Layout

c: Final[Any] = import_module("construct")  # the library, which has no types, as one untyped name

this: Final[Any] = c.this  # the field `x` of the structure at hand, as `this.x` inside a schema

len_: Final[Any] = c.len_  # the length of such a field

_INTEGERS: Final = {"i8": c.Int8sb, "i16": c.Int16sb, "i32": c.Int32sb, "i64": c.Int64sb}


def struct_of(layout: Layout, *more: Any, absent: int | None = None, **kinds: Any) -> Any:
    """The fixed fields of a layout, then `more`; some are of other `kinds`, by name.

    Fields from the number `absent` on may be missing in a value, and are 0.
    """
    parts: list[Any] = []
    for place, field in enumerate(layout.fixed):
        kind = kinds.get(field.name, _INTEGERS[field.type])
        parts.append(field.name / (kind if absent is None or place < absent else c.Default(kind, 0)))
    return c.Struct(*parts, *more)


Follows = Callable[[bytes, int, int], bool]
"""Whether an item follows: by the next 20 bytes, or what is left, the position, and the number of bytes left."""


def _ahead(stream: BinaryIO) -> tuple[bytes, int, int]:
    """The value that decides; the stream stays where it is."""
    position = stream.tell()
    data = stream.read(20)
    left = stream.seek(0, 2) - position
    stream.seek(position)
    return data, position, left


def repeat_while(name: str, item: Any, follows: Follows) -> Any:
    """Items for as long as `follows` is true; on build, all items of the field `name`. Unlike the library's GreedyRange it hides no error."""

    def none(_context: Any) -> list[Any]:
        return []

    def is_last(_item: Any, items: list[Any], context: Any) -> bool:
        return (
            not follows(*_ahead(context["_io"])) if context["_parsing"] else len(items) == len(context[name])
        )

    def has_items(context: Any) -> bool:
        return follows(*_ahead(context["_io"])) if context["_parsing"] else bool(context[name])

    return c.IfThenElse(has_items, c.RepeatUntil(is_last, item), c.Computed(none))


def has_magic(magics: Collection[int], at: int) -> Follows:
    """Whether one of these magics is at a byte of at least 8 bytes."""
    return lambda data, _position, left: (
        left >= 8 and int.from_bytes(data[at : at + 4], "big", signed=True) in magics
    )


def log_file(name: str, item: Any, follows: Follows, blank: Any, is_blank: Follows) -> Any:
    """Records or entries, perhaps a blank that fills the file, and the bytes after it.

    The length is the field of a blank whose name ends in `size`.
    """

    def has_blank(context: Any) -> bool:
        return is_blank(*_ahead(context["_io"])) if context["_parsing"] else context.blank is not None

    def blank_fills(context: Any) -> bool:
        if context.blank is None:
            return True
        length = next(value for key, value in context.blank.items() if key.endswith("size"))
        return bool(length == 8 + len(context.tail))

    return c.Struct(
        name / repeat_while(name, item, follows),
        "blank" / c.If(has_blank, blank),
        "tail" / c.GreedyBytes,
        c.Check(blank_fills),
    )


@dataclass(frozen=True, slots=True)
class Schema:
    """One structure or file; `construct` is the Construct object itself, for use inside other Constructs."""

    name: str
    construct: Any
    clause: str

    def parse(self, data: bytes, *, file: str | None = None) -> Any:
        """The value of `data`, all of it: a dict, list, int or bytes, nested.

        Raises MalformedError where the bytes end too early, too late, or cannot be cut into fields.
        Raises InvalidError where a constant or a length does not hold.
        """
        stream = BytesIO(data)
        try:
            value = self.construct.parse_stream(stream)
        except (c.ConstError, c.CheckError, c.ValidationError) as error:
            raise InvalidError(
                file=file, offset=stream.tell(), found=_reason(error), expected=self.name, clause=self.clause
            ) from error
        except c.ConstructError as error:
            raise MalformedError(
                file=file, offset=stream.tell(), found=_reason(error), expected=self.name, clause=self.clause
            ) from error
        if stream.tell() != len(data):
            raise MalformedError(
                file=file,
                offset=stream.tell(),
                found=f"{len(data) - stream.tell()} more bytes",
                expected=f"the end of the {self.name}",
                clause=self.clause,
            )
        return _plain(value)

    def build(self, value: object) -> bytes:
        """The bytes of a value as `parse` gives it, perhaps without lengths and constants; InvalidError for one that has no such bytes."""
        try:
            return cast("bytes", self.construct.build(value))
        except (c.ConstructError, AttributeError, KeyError, TypeError) as error:
            raise InvalidError(found=_reason(error), expected=self.name, clause=self.clause) from error


def _reason(error: Exception) -> str:
    """The path of the field, and what was wrong in it."""
    path = (getattr(error, "path", None) or "").split(" -> ")[1:]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, (AttributeError, KeyError)):
        return f"no field {error.args[0]!r}"
    reason = (lines or [type(error).__name__])[-1]
    return f"{'.'.join(path)}: {reason}" if path and lines[-1:] != lines[:1] else reason


def _plain(value: Any) -> Any:
    """Construct's containers as dicts and lists, without the library's own keys."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        return {key: _plain(item) for key, item in items.items() if not key.startswith("_")}
    if isinstance(value, list):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value
