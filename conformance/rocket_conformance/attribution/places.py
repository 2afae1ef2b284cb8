"""The place of a difference, an operation or kind of file and a field, and the clauses that it is about."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rocket_conformance.attribution.evidence import Failure
from rocket_conformance.comparison import Difference, FileKind, kind_of
from rocket_conformance.protocol import Op

_MOST_PLACES: Final = 3
_NUMBER: Final = re.compile(r"\[\d+\]")
_FILE_NAMES: Final[dict[FileKind, str]] = {
    "index": "index file",
    "service": "index file",
    "queue": "queue file",
    "checkpoint": "checkpoint",
    "other": "another file",
}
_ENTRY: Final = ("index file entry[].phy", "index file entry[].time", "index file entry[].prev")

_ABOUT: Final[dict[str, tuple[str, ...]]] = {
    "IDX-HASH": ("key.hash", "index file entry[].key_hash", "index file slot"),
    "IDX-FILE": ("index.open", "index file size", "index file header"),
    "IDX-HDR": ("index.header", "index file header"),
    "IDX-SLOT": ("index file slot",),
    "IDX-ENT": ("index file entry", "index file size"),
    "IDX-PUT": ("index.put", "index file slot", *_ENTRY),
    "IDX-FULL": ("index.full",),
    "IDX-SEL": ("index.select",),
    "IDX-TIME": ("index.time_matched",),
    "IDX-LOAD": ("index.header", "index.open", "index file header"),
    "IDX-FLUSH": ("index.flush", "index file header"),
    "IDX-SVC": ("service.", "index file"),
    "CQ-TAGS": ("tags.code", "log.dispatch requests[].tags_code"),
    "CQ": ("queue",),
    "LOG": ("log.",),
    "UTF8": ("log.",),
    "CKP": ("checkpoint",),
}
"""By family of clauses, the prefixes of the places that its clauses are about."""


def place_of(difference: Difference, ops: Sequence[Op]) -> str:
    """The place of a difference of a case with these operations: `index.select offsets`, `index file slot[]`."""
    if difference.op is not None:
        where = ops[difference.op]["op"]
    else:
        where = _FILE_NAMES[kind_of(difference.file or "", ops)]
    return f"{where} {_NUMBER.sub('[]', difference.field)}"


def _first_place(failure: Failure) -> str | None:
    """Where it differs first; None of a crash or a hang."""
    found = failure.judgement.found
    return place_of(found[0], failure.case.ops) if found else None


def _is_shown(failure: Failure) -> bool:
    """Whether it differs first in what its clause is about."""
    family = failure.clauses[0].rpartition("-")[0]
    known = _ABOUT.get(family) or _ABOUT.get(family.partition("-")[0], ("",))
    place = _first_place(failure)
    return place is not None and place.startswith(known)


def elsewhere(failures: Sequence[Failure]) -> list[str]:
    """Where failures of a clause first differ, the most frequent first, if none does in what the clause is about.

    It is empty of a clause with one that does, or with a crash or a hang.
    """
    if any(_is_shown(failure) or not failure.judgement.found for failure in failures):
        return []
    return [str(place) for place, _ in Counter(map(_first_place, failures)).most_common(_MOST_PLACES)]


def example_of(failures: Iterable[Failure], clause: str = "") -> Failure:
    """The failure, of at least one, that a person can read: of the clause and different in what it is about, and small."""

    def order(failure: Failure) -> tuple[Any, ...]:
        found, case = failure.judgement.found, failure.case
        size = len(case.files), len(case.ops), not failure.directed, len(repr(case.ops)), failure.id
        return clause not in {"", failure.clauses[0]}, not _is_shown(failure), not found, *size

    return min(failures, key=order)
