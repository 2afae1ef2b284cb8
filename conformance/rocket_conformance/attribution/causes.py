"""Causes of failures, proved: misreadings with which the reference gives the implementation's own answers and bytes.

An implementation is taken for the reference with a set of misreadings of the catalogue. The set grows by one misreading at
a time, the one with which the reference gives most further failing cases exactly, or comes nearest to them. A misreading
is ruled out if it would fail a case that passed.

Index files, queues with the log that fills them, and the checkpoint are searched one after the other, each with its own
misreadings and those that are shown already: `hash factor 33` makes tags codes wrong, too.

A failing case that the set gives exactly is then claimed for the misreadings of the set that matter in it. The reference
with them alone must give what the implementation gave, and with the rest of the set what is expected: fixing them then fixes
the case, except for other faults that they hide. Misreadings that they may hide are stated with them.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from rocket_conformance.attribution.search import (
    FEWEST_CASES,
    EnoughError,
    Evidence,
    Search,
    family_of,
    part_of,
)
from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import Difference, FileKind, kind_of
from rocket_conformance.judging import can_be_run
from rocket_conformance.misreadings import Mutant
from rocket_conformance.planning import CaseState
from rocket_conformance.protocol import Op

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


def places_of(failure: CaseState) -> list[str]:
    """The places and kinds of a case's differences, each once, the first one first."""
    trial = failure.shown
    return list(dict.fromkeys(f"{place_of(item, trial.case.ops)}: {item.kind}" for item in trial.found))


def as_examples(
    failures: Iterable[CaseState], clause: str = "", *, written_first: bool = False
) -> list[CaseState]:
    """The failures, those first that a person can read: of the clause and different in what it is about, and small.

    Of a clause without a cause the cases that were written for it come first: each states what it catches.
    """

    def order(failure: CaseState) -> tuple[Any, ...]:
        found, case = failure.shown.found, failure.shown.case
        size = (
            len(case.files),
            len(case.ops),
            not failure.planned.is_directed,
            len(repr(case.ops)),
            failure.id,
        )
        is_drawn = written_first and not failure.planned.is_directed
        return clause not in {"", failure.clause}, not _is_shown(failure), not found, is_drawn, *size

    return sorted(failures, key=order)


# --- causes -------------------------------------------------------------------------------------------

MOST_RUNS: Final = 30_000
"""Runs of a case on the reference that each step takes at most in each search: some ten seconds, if faults are many."""
_SEARCHED: Final = (("IDX",), ("CQ", "LOG"), ("CKP",))
"""The parts of a store that are searched together: faults of queues and of the log's fields hide in the same tags codes."""
_MOST_TOGETHER: Final = 8
"""Maximum number of misreadings that one case may show."""

_MOST_ALIKE: Final = 3
"""Maximum number of misreadings of one cause that give the same."""

_READABLE: Final = 12
"""Number of operations up to which a person can read an example."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A misreading that failing cases show exactly, alone or with other causes."""

    # it, and those of its family that come to the same in all that is claimed
    misreadings: tuple[Mutant, ...]
    failures: tuple[CaseState, ...]  # what is claimed
    example: CaseState  # the case to show: one that it gives alone, if there is one
    # failing cases, or properties if no case is claimed, in which it would show and that are different
    otherwise: tuple[CaseState, ...] = ()
    # properties of which too many lists failed to run all, and the first ones show exactly it, too
    sampled: tuple[CaseState, ...] = ()
    # causes that hide it in cases that pass: to mend it alone would break those
    together: tuple[Mutant, ...] = ()
    # misreadings that make no difference beside the causes: the implementation may have them, too
    hidden: tuple[Mutant, ...] = ()
    doubted: bool = False  # whether a case that was written for its clause fails otherwise than the causes do
    # cases that hang at an operation from which the reference with it never returns
    hangs: tuple[CaseState, ...] = ()

    def with_more(self, other: Self) -> Self:
        """Itself with what other parts of the store show of the same misreading."""
        both = [self, other]
        return replace(
            self,
            misreadings=tuple(item for item in self.misreadings if item in other.misreadings),
            failures=self.failures + other.failures,
            otherwise=tuple(
                item
                for cause in [cause for cause in both if cause.failures] or both
                for item in cause.otherwise
            ),
            sampled=self.sampled + other.sampled,
            together=self.together + other.together,
            hidden=self.hidden + other.hidden,
            doubted=self.doubted or other.doubted,
            hangs=self.hangs + other.hangs,
        )

    @property
    def is_sure(self) -> bool:
        """Whether all cases in which it would show do show it, they or the properties are more than one, and there is no doubt."""
        several = len(self.failures) + len(self.sampled) >= FEWEST_CASES
        return several and not self.otherwise and not self.doubted

    @property
    def shows(self) -> int:
        """The number of failing cases in which it would show, or of properties if no case is claimed."""
        return len(self.failures or self.sampled) + len(self.otherwise)


def find_causes(evidence: Evidence, *, most_runs: int = MOST_RUNS) -> tuple[Cause, ...]:
    """The causes that are proved, those first that no failing case speaks against; a failure may belong to several."""
    found: list[Cause] = []
    for parts in _SEARCHED:
        shown = [mutant for cause in found for mutant in cause.misreadings[:1]]
        search = _Claims(_part_of_evidence(evidence, parts, shown), most_runs)
        with suppress(EnoughError):
            search.begin_with(shown)
            search.grow()
        search.left = most_runs
        with suppress(EnoughError):
            search.prove()
        search.left = most_runs
        with suppress(EnoughError):  # a claim that was not examined is not made
            search.look_behind()
            search.left = most_runs
            for cause in search.causes():
                known = next((item for item in found if item.misreadings[0] == cause.misreadings[0]), None)
                if known is not None:
                    found.remove(known)
                found.append(cause if known is None else known.with_more(cause))
    return tuple(sorted(found, key=lambda item: (not item.is_sure, -len(item.failures))))


def _part_of_evidence(evidence: Evidence, parts: Collection[str], shown: Sequence[Mutant]) -> Evidence:
    """The evidence about parts of a store, with the misreadings of those that have failing cases, and those that are shown already."""
    failures = [item for item in evidence.failures if part_of(item.clause) in parts]
    failing = {part_of(item.clause) for item in failures}
    return replace(
        evidence,
        failures=failures,
        passed={clause: names for clause, names in evidence.passed.items() if part_of(clause) in parts},
        drawn=[name for name in evidence.drawn if part_of(name.partition("/")[0]) in parts],
        misreadings=[*shown, *(item for item in evidence.misreadings if part_of(item.clause) in failing)],
    )


class _Claims(Search):
    """Claims of the set, with the results of their examination."""

    # --- proofs -------------------------------------------------------------------------------------------

    def prove(self) -> None:
        """Leaves out misreadings that no case needs beside the others, and finds what each failing case can be claimed for."""
        for mutant in tuple(self.found):
            rest = [other for other in self.found if other != mutant]
            if not any(
                self._needs(mutant, item) for item in self.failures if self.outcome(self.found, item).exact
            ):
                self.found = rest
        for failure in self.failures:
            if not self.outcome(self.found, failure).exact:
                continue
            # a misreading matters if the set needs it, or if it alone changes something
            active = frozenset(
                m for m in self.found if self._needs(m, failure) or not self.outcome([m], failure).passes
            )
            others = set(self.found) - active
            if not 0 < len(active) <= _MOST_TOGETHER:
                continue
            if self.outcome(active, failure).exact and self.outcome(others, failure).passes:
                self.claims[failure.id] = active

    def _needs(self, mutant: Mutant, failure: CaseState) -> bool:
        return not self.outcome(set(self.found) - {mutant}, failure).exact

    def look_behind(self) -> None:
        """Finds the misreadings that the claims may hide: the set with one of them gives the same in all that is claimed.

        A claim that is not examined is not made.
        """
        hidden = {mutant: set[str]() for mutant in self.evidence.misreadings if self._may_hide(mutant)}
        claims, self.claims = self.claims, {}
        with suppress(EnoughError):
            for failure in self.failures:
                if failure.id not in claims:
                    continue
                for mutant in list(hidden):
                    if self.outcome([mutant], failure).passes:
                        continue
                    hidden[mutant].add(failure.id)
                    if not self.outcome([*self.found, mutant], failure).exact:
                        del hidden[mutant]
                self.claims[failure.id] = claims[failure.id]
        self._hidden = hidden

    def _may_hide(self, mutant: Mutant) -> bool:
        """Whether the cases written for its clause, failed and passed, do not speak against it beside the set."""
        misread = {other.clause for other in self.found}
        if not self.claims or mutant.clause in misread or mutant in self.refuted:
            return False
        together = frozenset((*self.found, mutant))
        own = [item for item in self.failures if item.planned.is_directed and item.clause == mutant.clause]
        known = (item for item in own if self.outcome(self.found, item).exact)
        passed = self.evidence.passed.get(mutant.clause, ())
        return all(self.outcome(together, item).exact for item in known) and not self.failing(
            together, passed
        )

    def like(self, mutant: Mutant) -> Iterator[Mutant]:
        """The misreadings of its family with which the set gives all cases that are claimed for it, and itself."""
        rest = frozenset(self.found) - {mutant}
        claimed = [item for item in self.failures if mutant in self.claims.get(item.id, ())]
        for other in self.evidence.misreadings:
            if other == mutant or (
                family_of(other.clause) == family_of(mutant.clause)
                and other not in rest
                and all(
                    self.outcome(self.claims[item.id] - {mutant} | {other}, item).exact for item in claimed
                )
                and not self.refuting(other, rest)
                and all(self.outcome(rest | {other}, item).exact for item in self._also_shown(other, mutant))
            ):
                yield other

    def _also_shown(self, other: Mutant, mutant: Mutant) -> list[CaseState]:
        """The cases that are claimed without a misreading, and show another one in its place: they fail until that is mended, too."""
        if other == mutant:
            return []
        rest = [item for item in self.failures if mutant not in self.claims.get(item.id, (mutant,))]
        return [item for item in rest if not self.outcome([other], item).passes]

    # --- what is stated -----------------------------------------------------------------------------------

    def causes(self) -> tuple[Cause, ...]:
        """Causes, without misreadings that a case contradicts or of which there is doubt."""
        unclear = self._contradicted() | {mutant for mutant in self.found if self._is_doubtful(mutant)}
        alike = {mutant: self._alike(mutant) for mutant in self.found if mutant not in unclear}
        unclear |= {mutant for mutant, others in alike.items() if not 0 < len(others) <= _MOST_ALIKE}
        claims = {name: claimed for name, claimed in self.claims.items() if not claimed & unclear}
        for mutant, others in alike.items():
            for item in (item for other in others for item in self._also_shown(other, mutant)):
                if mutant not in unclear and item.id in claims:
                    claims[item.id] |= {mutant}
        sampled = dict(self._sampled(unclear))
        together = self._together()
        found: list[Cause] = []
        for mutant in self.found:
            claimed = [item for item in self.failures if mutant in claims.get(item.id, ())]
            if mutant in unclear or not claimed:
                continue
            names = {item.id for item in claimed}
            failures = tuple(item for item in claimed if item.all_kept)
            lists = [item for item in self.properties if mutant in sampled.get(item.id, ())]
            lists += [item for item in claimed if not item.all_kept]
            rest = self._otherwise(mutant, names)
            cause = Cause(
                misreadings=alike[mutant],
                failures=failures,
                example=self._example(mutant, (*failures, *lists)),
                otherwise=tuple(item for item in rest if item.all_kept == bool(failures)),
                sampled=tuple(lists),
                together=tuple(other for other in self.found if other in together.get(mutant, ())),
                hidden=tuple(other for other, seen in self._hidden.items() if seen & names),
                doubted=any(
                    item.clause == mutant.clause and item.planned.is_directed
                    for item in self.failures
                    if item.id not in self.claims
                ),
                hangs=tuple(self._hangs(mutant)),
            )
            found.append(cause)
        return tuple(found)

    def _hangs(self, mutant: Mutant) -> Iterator[CaseState]:
        """The cases that hang at an operation from which the reference with the misreading never returns."""
        with suppress(EnoughError):
            for failure in self.evidence.failures:
                if failure.verdict == "timeout" and can_be_run(failure.shown.case, failure.shown.expected):
                    self._count()
                    place = self.evidence.simulation.stuck_at(frozenset((mutant,)), failure.shown.case)
                    if place is not None and failure.detail.startswith(f"operation {place} "):
                        yield failure

    def _example(self, mutant: Mutant, claimed: Sequence[CaseState]) -> CaseState:
        """The first short one that it gives alone, as others of the set may show there, too, and even first."""
        ordered = as_examples(claimed, mutant.clause)
        ordered.sort(key=lambda item: len(item.shown.case.ops) > _READABLE)
        with suppress(EnoughError):
            return next((item for item in ordered if self.gives([mutant], item)), ordered[0])
        return ordered[0]

    def _otherwise(self, mutant: Mutant, names: Collection[str]) -> list[CaseState]:
        """Other failing cases in which a misreading would show."""
        rest = [item for item in self.failures if item.id not in names]
        return [item for item in rest if not self.outcome([mutant], item).passes]

    def _is_doubtful(self, mutant: Mutant) -> bool:
        """Whether no case needs it, or most cases in which it would show show something else."""
        claimed = [item for item in self.failures if mutant in self.claims.get(item.id, ())]
        if not any(self._needs(mutant, item) for item in claimed):
            return True
        return len(self._otherwise(mutant, {item.id for item in claimed})) > len(claimed)

    def _alike(self, mutant: Mutant) -> tuple[Mutant, ...]:
        """Misreadings that cannot be distinguished in what is claimed for one: of its family, of its whole part for a single case.

        A single case has to be written for the clause of one of them, which comes first.
        """
        claimed = [item for item in self.failures if mutant in self.claims.get(item.id, ())]
        if len(claimed) >= FEWEST_CASES:
            return tuple(self.like(mutant))
        [failure] = claimed
        rest, own = self.claims[failure.id] - {mutant}, failure.clause
        near = self.evidence.misreadings
        found = [other for other in near if self.outcome(rest | {other}, failure).exact]
        found = [other for other in found if other == mutant or not self.refuting(other, rest)]
        found.sort(key=lambda item: item.clause != own)
        return tuple(found) if failure.planned.is_directed and found[0].clause == own else ()

    def _passed(self) -> Iterator[tuple[Case, Observation]]:
        """The cases that the implementation passes, if there is a set."""
        passed_case = self.evidence.passed_case
        if passed_case is None or not self.found:
            return
        names = (name for group in self.evidence.passed.values() for name in group)
        for name in (*names, *self.evidence.drawn):
            case, expected = passed_case(name)
            if can_be_run(case, expected):
                yield case, expected

    def _contradicted(self) -> set[Mutant]:
        """The misreadings without which the set would pass a case that the implementation passes and the set fails."""
        found = set(self.found)
        wrong: set[Mutant] = set()
        for case, expected in self._passed():
            if found and not self.passes(found, case, expected):
                alone = {mutant for mutant in found if self.passes(found - {mutant}, case, expected)}
                wrong |= alone or {m for m in found if not self.passes({m}, case, expected)}
        return wrong

    def _together(self) -> dict[Mutant, set[Mutant]]:
        """By misreading, those that hide it in a case that the implementation passes: mended alone, it would fail that."""
        found = set(self.found)
        needed: dict[Mutant, set[Mutant]] = {}
        with suppress(EnoughError):
            for case, expected in self._passed() if len(found) > 1 else ():
                for mutant in found:
                    rest = found - {mutant}
                    if not self.passes(rest, case, expected):
                        both = {other for other in rest if self.passes(rest - {other}, case, expected)}
                        needed.setdefault(mutant, set()).update(both)
        return needed

    def _sampled(self, unclear: Collection[Mutant]) -> Iterator[tuple[str, set[Mutant]]]:
        """Properties with more failing lists than were kept: the misreadings that those that were kept show exactly."""
        with suppress(EnoughError):
            for failure in self.properties:
                if self.outcome(self.found, failure).exact:
                    active = {mutant for mutant in self.found if self._needs(mutant, failure)}
                    if not active.intersection(unclear):
                        yield failure.id, active
