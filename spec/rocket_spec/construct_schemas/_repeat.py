"""Repetitions whose next bytes decide whether they go on; unlike the library's GreedyRange they hide no error."""

from collections.abc import Callable, Collection
from typing import Any, BinaryIO

from rocket_spec.construct_schemas._library import c


def _ahead(stream: BinaryIO) -> bytes:
    """The next 8 bytes of a stream, or what is left, without moving on."""
    position = stream.tell()
    data = stream.read(8)
    stream.seek(position)
    return data


def repeat_while(name: str, item: Any, follows: Callable[[bytes], bool]) -> Any:
    """Items for as long as `follows` says yes of the next 8 bytes; on build, all items of the field `name`."""

    def none(_context: Any) -> list[Any]:
        return []

    def is_last(_item: Any, items: list[Any], context: Any) -> bool:
        return (
            not follows(_ahead(context["_io"])) if context["_parsing"] else len(items) == len(context[name])
        )

    def has_items(context: Any) -> bool:
        return follows(_ahead(context["_io"])) if context["_parsing"] else bool(context[name])

    return c.IfThenElse(has_items, c.RepeatUntil(is_last, item), c.Computed(none))


def has_magic(magics: Collection[int], at: int) -> Callable[[bytes], bool]:
    """Whether one of these magics is at a byte of 8 bytes."""
    return lambda data: len(data) == 8 and int.from_bytes(data[at : at + 4], "big", signed=True) in magics


def log_file(
    name: str, item: Any, follows: Callable[[bytes], bool], blank: Any, is_blank: Callable[[bytes], bool]
) -> Any:
    """Records or entries, perhaps a blank that fills the file, and the bytes after it.

    The length is the field of a blank whose name ends in `size`.
    """

    def has_blank(context: Any) -> bool:
        return is_blank(_ahead(context["_io"])) if context["_parsing"] else context.blank is not None

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
