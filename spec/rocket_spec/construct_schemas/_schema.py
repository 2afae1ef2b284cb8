"""A Construct with types, plain values and this package's errors around it."""

from dataclasses import dataclass
from io import BytesIO
from typing import Any, cast

from rocket_spec.construct_schemas._library import c
from rocket_spec.errors import InvalidError, MalformedError


@dataclass(frozen=True, slots=True)
class Schema:
    """One structure or file.

    Attributes:
        name: what it describes, in words.
        construct: the Construct object itself, for use inside other Constructs.
        clause: the clause that defines it.
    """

    name: str
    construct: Any
    clause: str

    def parse(self, data: bytes, *, file: str | None = None) -> Any:
        """The value of `data`, all of it: a dict, list, int or bytes, nested.

        Raises:
            MalformedError: where the bytes end too early, too late, or cannot be cut into fields.
            InvalidError: where a constant or a length does not hold.
        """
        stream = BytesIO(data)
        try:
            value = self.construct.parse_stream(stream)
        except (c.ConstError, c.CheckError, c.ValidationError) as error:
            raise InvalidError(
                file=file,
                offset=stream.tell(),
                found=_reason(error),
                expected=self.name,
                clause=self.clause,
            ) from error
        except c.ConstructError as error:
            raise MalformedError(
                file=file,
                offset=stream.tell(),
                found=_reason(error),
                expected=self.name,
                clause=self.clause,
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
        """The bytes of a value as `parse` gives it; lengths and constants may be left out.

        Raises:
            InvalidError: where the value has no such bytes: a field is missing, or out of its type's range.
        """
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
