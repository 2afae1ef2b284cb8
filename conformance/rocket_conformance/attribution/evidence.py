"""The evidence from which causes are found: the failures of a run, where they differ, and misreadings run on their cases."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from rocket_reference import RULES_4_9_3, Rules

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import Difference, FileKind, expect, kind_of, same_results
from rocket_conformance.misreadings import MISREADINGS, Mutant, library_of
from rocket_conformance.planning import CaseState, fit_expected
from rocket_conformance.protocol import Op

_LARGEST: Final = 1 << 20
"""Bytes of files that a case may have: comparing a file of the default geometry takes a second."""
_MOST_BYTES: Final = 400
"""Differing bytes that are counted of one file; more are as far."""


def family_of(clause: str) -> str:
    """The family of a clause, such as `IDX-SEL`."""
    return clause.rpartition("-")[0]


def part_of(clause: str) -> str:
    """The part of a store that a clause is about; decoding of text shows in the log."""
    head = clause.partition("-")[0]
    return "LOG" if head == "UTF8" else head


def can_be_run(case: Case, expected: Observation) -> bool:
    """Whether a case is small enough to be run once for each misreading."""
    return all(image.size <= _LARGEST for images in (case.files, expected.files) for image in images.values())


class Simulation:
    """Misreadings on cases.

    Args:
        directory: gives a path that is not used yet, for one run each.
        features: of the adapter, whose limits the answers are fitted to.
        rules: of the release that is aimed at.
    """

    def __init__(
        self,
        directory: Callable[[], Path],
        features: frozenset[str] = frozenset(),
        rules: Rules = RULES_4_9_3,
    ) -> None:
        self._directory = directory
        self._features = features
        self._rules = rules

    def observe(
        self, misreadings: frozenset[Mutant], case: Case, expected: Observation
    ) -> Observation | None:
        """The observation of the reference with all these misreadings; None where it breaks, or they cannot be combined."""
        try:
            library = library_of(misreadings)
        except ValueError:  # they change the same text
            return None
        try:
            shown = expect(case, self._directory(), self._rules, library, wanted=expected.results)
        except Exception:  # noqa: BLE001 - a misreading may break anywhere, or never return
            return None
        return fit_expected(shown, self._features)


def is_same(one: Observation, two: Observation) -> bool:
    """Whether all results and bytes agree, the reasons of rejections aside; `two` is what the reference made."""
    return (
        same_results(one.results, two.results)
        and one.files.keys() == two.files.keys()
        and all(image.is_like(two.files[path]) for path, image in one.files.items())
    )


def distance(one: Observation, two: Observation) -> int:
    """The number of results and bytes that differ; 0 where nothing does. `two` is what the reference made."""
    found = sum(not same_results([a], [b]) for a, b in zip(one.results, two.results, strict=True))
    for path in one.files.keys() | two.files.keys():
        a, b = one.files.get(path), two.files.get(path)
        if a is None or b is None:
            found += _MOST_BYTES
        elif not a.is_like(b):
            known = sum(1 for _ in islice(a.differing_bytes(b), _MOST_BYTES)) if a.whole else _MOST_BYTES
            found += (a.size != b.size) + known
    return found


# --- evidence -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Evidence:
    """A run's outcome.

    Attributes:
        failures: all that failed.
        simulation: runs misreadings.
        passed: by clause, the ids of its own directed cases that passed.
        drawn: the ids of vectors drawn from a seed that passed.
        passed_case: gives one of those by its id, and what is expected of it.
        misreadings: those that are tried.
    """

    failures: Sequence[CaseState]
    simulation: Simulation
    passed: Mapping[str, Sequence[str]] = field(default_factory=dict[str, "Sequence[str]"])
    drawn: Sequence[str] = ()
    passed_case: Callable[[str], tuple[Case, Observation]] | None = None
    misreadings: Sequence[Mutant] = MISREADINGS


# --- places -------------------------------------------------------------------------------------------

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


def _first_place(failure: CaseState) -> str | None:
    """The first difference; None for a crash or a hang."""
    found = failure.shown.found
    return place_of(found[0], failure.shown.case.ops) if found else None


def _is_shown(failure: CaseState) -> bool:
    """Whether it differs first in what its clause is about."""
    family = family_of(failure.clause)
    known = _ABOUT.get(family) or _ABOUT.get(family.partition("-")[0], ("",))
    place = _first_place(failure)
    return place is not None and place.startswith(known)


def elsewhere(failures: Sequence[CaseState]) -> list[str]:
    """First differences of a clause's failures, the most frequent first, if none does in what the clause is about.

    It is empty of a clause with one that does, or with a crash or a hang.
    """
    if any(_is_shown(failure) or not failure.shown.found for failure in failures):
        return []
    return [str(place) for place, _ in Counter(map(_first_place, failures)).most_common(_MOST_PLACES)]


def as_examples(failures: Iterable[CaseState], clause: str = "") -> list[CaseState]:
    """The failures, those first that a person can read: of the clause and different in what it is about, and small."""

    def order(failure: CaseState) -> tuple[Any, ...]:
        found, case = failure.shown.found, failure.shown.case
        size = (
            len(case.files),
            len(case.ops),
            not failure.planned.is_directed,
            len(repr(case.ops)),
            failure.id,
        )
        return clause not in {"", failure.clause}, not _is_shown(failure), not found, *size

    return sorted(failures, key=order)
