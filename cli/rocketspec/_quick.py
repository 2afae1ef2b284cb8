"""Options read without Pydantic, which newer versions of typer load for each: a third of a short start.

Where typer keeps its options otherwise, its own reading of them serves.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["QuickCommand", "QuickGroup"]


def _flag(value: Any) -> Any:
    return value


def _number(parameter_info: Any) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        try:
            number = int(value)
        except ValueError:
            raise ValueError(f"{value!r} is no whole number") from None
        if parameter_info.min is not None and number < parameter_info.min:
            raise ValueError(f"{number} is less than {parameter_info.min}")
        return number

    return read


_READERS: Final[dict[object, Callable[[Any], Callable[[Any], object]]]] = {
    bool: lambda _: _flag,
    str: lambda _: str,
    list[str]: lambda _: str,
    Path: lambda _: Path,
    int: _number,
}


class QuickCommand(TyperCommand):
    """A command whose options are texts, paths, whole numbers and flags."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's, after the options have been told how to read their values."""
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
    """Gives each option a reader of its own, where this typer keeps readers, and has none for it yet."""
    try:
        from typer._click.exceptions import BadParameter
        from typer._coercion import RuntimeParam
    except ImportError:
        return

    class Plain(RuntimeParam):  # type: ignore[misc, unused-ignore]
        def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
            read = _READERS[self.annotation](self.parameter_info)
            try:
                return [read(item) for item in value] if isinstance(value, (list, tuple)) else read(value)
            except ValueError as error:
                raise BadParameter(str(error), ctx=ctx, param=param) from error

    for param in params:
        descriptor = getattr(param, "type_descriptor", None)
        if descriptor is not None and descriptor.annotation in _READERS:
            param._runtime_param = Plain(descriptor.parameter_info, descriptor.annotation)  # noqa: SLF001
