"""Options read without Pydantic, which typer loads for each: a third of the time of a short command.

Where a version of typer reads its options otherwise, its own way is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["QuickCommand", "QuickGroup"]


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None


_READERS: Final[dict[object, Callable[[Any], object]]] = {
    bool: bool,
    str: str,
    list[str]: str,
    Path: Path,
    int: _whole_number,
    float: _number,
}


class _Reader:
    """Reads the values of one option."""

    def __init__(self, read: Callable[[Any], object], least: float | None) -> None:
        self._read = read
        self._least = least

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value that the verb gets; typer calls this where it would call its own reader's."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        try:
            if isinstance(value, (list, tuple)):
                return [self._one(item) for item in value]
            return self._one(value)
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from error

    def _one(self, text: Any) -> Any:
        value: Any = self._read(text)
        if self._least is not None and value < self._least:
            raise ValueError(f"found {value}, expected {self._least} or more")
        return value


class QuickCommand(TyperCommand):
    """A command whose options are texts, paths, numbers and flags."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's, with its options read by `_Reader`."""
        _prepare(self.get_params(ctx))
        rest: list[str] = super().parse_args(ctx, args)
        return rest


class QuickGroup(TyperGroup):
    """The same for a command of commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `QuickCommand`."""
        _prepare(self.get_params(ctx))
        rest: list[str] = super().parse_args(ctx, args)
        return rest


def _prepare(params: list[Any]) -> None:
    for param in params:
        descriptor: Any = getattr(param, "type_descriptor", None)
        if hasattr(param, "get_runtime_param") and descriptor.annotation in _READERS:
            reader = _Reader(_READERS[descriptor.annotation], descriptor.parameter_info.min)
            param.get_runtime_param = lambda reader=reader: reader
            # In --help, `[x>=1]` and the `<bool>` of a flag are of no use, and take the room of names in a narrow window.
            param.min = None
            if descriptor.annotation is bool:
                param.metavar = ""
