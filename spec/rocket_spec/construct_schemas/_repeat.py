"""Repetitions whose next bytes decide whether they go on; unlike the library's GreedyRange they hide no error."""

from collections.abc import Callable, Collection
from typing import Any, BinaryIO

from rocket_spec.construct_schemas._library import c

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
    """Items for as long as `follows` says yes; on build, all items of the field `name`."""

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
