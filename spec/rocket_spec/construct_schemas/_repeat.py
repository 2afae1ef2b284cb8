"""A repetition whose next bytes decide whether it goes on; unlike the library's GreedyRange it hides no error."""

from collections.abc import Callable
from typing import Any, BinaryIO

from rocket_spec.construct_schemas._library import c


def ahead(stream: BinaryIO) -> bytes:
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
        return not follows(ahead(context["_io"])) if context["_parsing"] else len(items) == len(context[name])

    def has_items(context: Any) -> bool:
        return follows(ahead(context["_io"])) if context["_parsing"] else bool(context[name])

    return c.IfThenElse(has_items, c.RepeatUntil(is_last, item), c.Computed(none))
