"""The two ways in which bytes can be wrong, each an error that builds its own message.

*Malformed* bytes cannot be decoded; *invalid* ones decode and break a clause.
"""

from __future__ import annotations

from functools import partial


class FormatError(ValueError):
    """Bytes that are not what the format says; the base of the two real classes.

    Attributes:
        file: name of the file as the user gave it, or None for bytes without one.
        offset: byte offset of `found` in the file, or None when the whole file is meant.
        found: what is there, in words or as a value.
        expected: what the format asks for there.
        clause: id of the clause that asks for it, or None.
    """

    def __init__(
        self,
        *,
        found: object,
        expected: object,
        file: str | None = None,
        offset: int | None = None,
        clause: str | None = None,
    ) -> None:
        self.file = file
        self.offset = offset
        self.found = found
        self.expected = expected
        self.clause = clause
        where = ": ".join(
            part for part in (file, None if offset is None else f"at byte {offset:,}") if part is not None
        )
        text = f"found {found}, expected {expected}" + (f" ({clause})" if clause else "")
        super().__init__(f"{where}: {text}" if where else text)

    def __reduce__(self) -> tuple[partial[FormatError], tuple[()]]:
        """For errors that cross from one process to another: what was found and expected becomes text."""
        made = partial(type(self), found=str(self.found), expected=str(self.expected))
        return partial(made, file=self.file, offset=self.offset, clause=self.clause), ()


class MalformedError(FormatError):
    """Bytes that cannot be decoded: too short, cut off, a length that leads outside the file."""


class InvalidError(FormatError):
    """Bytes that decode, and break a clause."""


def error_line(error: Exception | str) -> str:
    """An error as it is printed; one of the system with its file first."""
    if not isinstance(error, OSError):
        return str(error)
    reason = error.strerror.lower() if error.strerror else str(error)
    return f"{error.filename}: {reason}" if error.filename is not None else reason


class UsageError(ValueError):
    """The request is wrong or incomplete: an unknown kind, a geometry that cannot be inferred.

    Attributes:
        problem: the message without its hint.
        hint: what to do next, in terms of the command line; may be empty.
    """

    def __init__(self, problem: str, *, hint: str = "") -> None:
        """The message is `problem`, and in parentheses a `hint` on what to do next in terms of the command line."""
        self.problem, self.hint = problem, hint
        super().__init__(f"{problem} ({hint})" if hint else problem)
