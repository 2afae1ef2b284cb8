"""The findings of an audit with their values, and the number of places where clauses held, for a judge of clauses."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

StorePart = Literal["log", "queue", "index", "checkpoint", ""]
"""A part of a store that a finding judges; empty for none."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A value that differs from what 4.9.3 writes."""

    field: str  # what was compared, such as `unit 12 size`
    found: object  # its value
    expected: object  # the value that 4.9.3 writes, or what it would be in words
    record: int | None = None  # physical offset of the record behind it; None without one
    count: int = 1  # number of places, of which this is the first
    allowed: str = ""  # why 4.9.3 may leave it so after a start, in words; empty if it never does


class AuditFinding(Protocol):
    """One finding of an audit, as far as a judge of clauses needs it."""

    @property
    def code(self) -> str:
        """A stable name."""
        ...

    @property
    def part(self) -> StorePart:
        """The part of the store."""
        ...

    @property
    def severity(self) -> str:
        """`error`, `warning` or `note`."""
        ...

    @property
    def clause(self) -> str | None:
        """The clause that it is about."""
        ...

    @property
    def file(self) -> str:
        """Name of the file in the store."""
        ...

    @property
    def offset(self) -> int | None:
        """Byte in the file; None for the whole."""
        ...

    @property
    def message(self) -> str:
        """The value found and the one expected, in words."""
        ...

    @property
    def deviation(self) -> Deviation | None:
        """The values that differ, if any."""
        ...


class Audited(NamedTuple):
    """An audit, for a judge: all findings, and the kinds of what releases of 5.x alone write, as far as the store holds it.

    `held` is the number of places where each clause held that could have been broken there.
    """

    findings: tuple[AuditFinding, ...]
    held: Counter[str]
    signs: frozenset[str]
