"""Runs the reference with a clause misread on a case: does it fail as the implementation under test does?"""

from __future__ import annotations

import shutil
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from rocket_conformance.attribution.symptom import places_of, symptom_of
from rocket_conformance.cases import Observation
from rocket_conformance.compare import differences, same_results
from rocket_conformance.expect import collect_files, fill_directory
from rocket_conformance.reference_adapter import run_operations

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rocket_conformance.cases import Case
    from rocket_conformance.compare import Difference
    from rocket_conformance.misreadings import Mutant
    from rocket_conformance.reference_adapter import Library

__all__ = ["EXACT", "Agreement", "Simulation", "can_be_run"]

EXACT: Final = 1.0
_SAME_DIFFERENCE: Final = 0.8
_SAME_PLACES: Final = 0.5
_SAME_SYMPTOM: Final = 0.2
_SAME_PLACE: Final = 0.1
"""How far a misreading agrees with what was observed: in all results and bytes; in the first difference; else in the
share of places that differ, and besides in the first difference's symptom or its place. 0 where it passes the case."""

_LARGEST: Final = 1 << 20
"""Bytes of files that a case may have: comparing a file of the default geometry takes a second."""
_KEPT_LIBRARIES: Final = 48


def can_be_run(case: Case, expected: Observation) -> bool:
    """Whether a case is small enough to be run once for each misreading."""
    return all(image.size <= _LARGEST for images in (case.files, expected.files) for image in images.values())


@lru_cache(maxsize=_KEPT_LIBRARIES)
def _library(mutant: Mutant) -> Library:
    return mutant.library()


class Agreement(NamedTuple):
    """How far a misreading fails a case as the implementation does.

    Attributes:
        score: 0.0 to 1.0, `EXACT` for the same results and bytes.
        covers: whether the implementation differs nowhere but where the misreading does.
    """

    score: float
    covers: bool


class Simulation:
    """Misreadings on cases.

    Args:
        directory: gives a path that is not used yet, for one run each.
    """

    def __init__(self, directory: Callable[[], Path]) -> None:
        self._directory = directory

    def diverges(self, mutant: Mutant, case: Case, expected: Observation) -> bool:
        """Whether the misreading fails the case."""
        shown = self._observe(mutant, case, expected)
        return shown is None or not _same(expected, shown)

    def agreement(
        self,
        mutant: Mutant,
        case: Case,
        observed: tuple[Observation, Observation],
        found: Sequence[Difference],
    ) -> Agreement:
        """How far the misreading fails the case as the implementation does.

        Args:
            mutant: the misreading.
            case: one that the implementation fails.
            observed: what is expected, and what the implementation did.
            found: the differences of those two.
        """
        expected, actual = observed
        shown = self._observe(mutant, case, expected)
        if shown is None or _same(expected, shown):
            return Agreement(0.0, covers=False)
        if _same(actual, shown):
            return Agreement(EXACT, covers=True)
        theirs = differences(case, expected, shown)
        covers = {item.position for item in found} <= {item.position for item in theirs}
        if theirs[0] == found[0]:
            return Agreement(_SAME_DIFFERENCE, covers)
        ours, others = (places_of(items, case.ops) for items in (found, theirs))
        shared = _SAME_PLACES * len(ours & others) / len(ours | others)
        one, two = (symptom_of(items[0], case.ops) for items in (found, theirs))
        first = _SAME_SYMPTOM if one == two else _SAME_PLACE if one.place == two.place else 0.0
        return Agreement(shared + first, covers)

    def _observe(self, mutant: Mutant, case: Case, expected: Observation) -> Observation | None:
        """What the misreading does; None when it fails in a way of its own."""
        directory = self._directory()
        fill_directory(directory, case.files)
        try:
            results, listed = run_operations(case.ops, directory, library=_library(mutant))
            files = collect_files(case, directory, expected.results, [path for _, path in listed])
        except Exception:  # noqa: BLE001 - a misreading may break anywhere, or never return
            return None
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return Observation(tuple(results), files)


def _same(one: Observation, two: Observation) -> bool:
    return same_results(one.results, two.results) and one.files == two.files
