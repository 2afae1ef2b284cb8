"""The findings of an audit: their codes, severities, clauses and cures."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypedDict, Unpack, get_args

from rocket_spec.deviations import Deviation, StorePart

Severity = Literal["error", "warning", "note"]

Remedy = Literal[
    "none",
    "index",
    "queues",
    "replica",
    "aside",
    "trim",
    "settings",
    "checkpoint",
    "topics",
    "offsets",
    "mount",
    "link",
    "twice",
    "config",
    "position",
]
"""Kinds of cures: index files or queues are rebuilt, files are copied from a replica, files that do not belong there are
moved away, or given the usual length, the broker's settings are corrected, the checkpoint is removed, the list of topics is completed from the queues,
offsets of groups beyond their queues are set to their ends, a disk is mounted, what a link leads to is restored, one of two files of one name is moved away, files of `config/` are copied from a replica, and the
physical offset in a record is set to its position."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an audit found.

    Attributes:
        code: a stable name, one of `CODES`.
        severity: "error" for bytes that break a clause, "warning" for something that loses or hides a message, or "note".
        clause: the clause that it is about, or None.
        file: name of the file relative to the store, or of the directory in which a file is missing.
        offset: byte in that file, or None if the whole file is meant.
        message: what was found, what was expected, and what it means.
        cure: what to do about it, for people; no code reads it, nor the message.
        remedy: the kind of that cure.
        length: bytes that the file should have, if it has another length than the others of its kind; else None.
        settings: those of the broker with which the files were written, or with which it starts.
        foreign: whether the file is another store's, or another one under this name.
        own_name: the name of a log file that has another name now; else empty.
        units: folder of a queue that lacks units, which may have no file to name, and first and last logical offset of these.
        deviation: the values that differ, for a judge of clauses; None where there are none.
    """

    code: str
    severity: Severity
    clause: str | None
    file: str
    offset: int | None
    message: str
    cure: str
    remedy: Remedy = "none"
    length: int | None = None
    settings: tuple[tuple[str, int | str], ...] = ()
    foreign: bool = False
    own_name: str = ""
    units: tuple[str, int, int] | None = None
    deviation: Deviation | None = None

    @property
    def part(self) -> StorePart:
        """The part of the store that it judges; empty for none."""
        return CODES[self.code].part

    def row(self) -> dict[str, str | int | None]:
        """Its printed values, by name."""
        return {name: getattr(self, name) for name in _ROW}


_ROW: Final = ("code", "severity", "clause", "file", "offset", "message", "cure")


class _Decided(TypedDict, total=False):
    """The fields of a finding that code decides by."""

    remedy: Remedy
    length: int | None
    settings: tuple[tuple[str, int | str], ...]
    foreign: bool
    own_name: str
    units: tuple[str, int, int] | None
    deviation: Deviation | None


class _Code(NamedTuple):
    """The defaults of a finding."""

    # the part of a store that it judges; empty for one that follows from the store's state or configuration
    part: StorePart
    severity: Severity
    clause: str | None  # the clause that it breaks, or None
    meaning: str  # what it means for those who send, consume and query
    cure: str
    remedy: Remedy = "none"


def _read_codes() -> Iterator[tuple[str, _Code]]:
    """The codes of `codes.txt`."""
    text = Path(__file__).with_name("codes.txt").read_text("utf-8")
    blocks = re.findall(r"^([^# \n].*)\n(?:  (.+)\n)?", text, re.MULTILINE)
    cures = {head: cure for head, cure in blocks if " " not in head}
    for head, own in blocks[len(cures) :]:
        code, severity, clause, meaning = head.split(" ", 3)
        part = code.partition(".")[0]
        remedy, cure = (own or cures[part]).split(": ", 1)
        judged = part if part in get_args(StorePart) else ""
        yield code, _Code(judged, severity, None if clause == "-" else clause, meaning, cure, remedy)  # type: ignore[arg-type]


CODES: Final = dict(_read_codes())  # every code, with what is usual of it


def finding(
    code: str,
    file: str,
    offset: int | None,
    message: str,
    *,
    severity: Severity | None = None,
    clause: str | None = None,
    cure: str | None = None,
    **decided: Unpack[_Decided],
) -> Finding:
    """A finding with a known code; severity, clause and cure default to those of the code.

    A cure of its own has no remedy but the one that is given.
    """
    usual = CODES[code]
    decided.setdefault("remedy", usual.remedy if cure is None else "none")
    severity, clause = severity or usual.severity, clause or usual.clause
    return Finding(code, severity, clause, file, offset, message, cure or usual.cure, **decided)


def strange(code: str, file: str, offset: int | None, text: str, clause: str, values: Deviation) -> Finding:
    """A note on what breaks a clause and harms nobody."""
    cure = "none needed: it harms nothing"
    return finding(code, file, offset, text, severity="note", clause=clause, cure=cure, deviation=values)
