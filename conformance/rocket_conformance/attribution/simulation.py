"""Runs the reference with clauses misread on a case: does it do what the implementation under test did?"""

import shutil
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

from rocket_reference import RULES_4_9_3, Rules

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import collect_files, fill_directory, same_results
from rocket_conformance.misreadings import Mutant, library_of
from rocket_conformance.planning import fit_expected
from rocket_conformance.reference_adapter import Library, run_operations

_LARGEST: Final = 1 << 20
"""Bytes of files that a case may have: comparing a file of the default geometry takes a second."""
_MOST_BYTES: Final = 400
"""Differing bytes that are counted of one file; more are as far."""
_KEPT_LIBRARIES: Final = 128


def can_be_run(case: Case, expected: Observation) -> bool:
    """Whether a case is small enough to be run once for each misreading."""
    return all(image.size <= _LARGEST for images in (case.files, expected.files) for image in images.values())


@lru_cache(maxsize=_KEPT_LIBRARIES)
def _library(misreadings: frozenset[Mutant]) -> Library | None:
    """The reference with all of them; None where they change the same text."""
    try:
        return library_of(misreadings)
    except ValueError:
        return None


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
        library = _library(misreadings)
        if library is None:
            return None
        directory = self._directory()
        fill_directory(directory, case.files)
        try:
            results, listed = run_operations(case.ops, directory, library=library, rules=self._rules)
            files = collect_files(case, directory, expected.results, [path for _, path in listed])
        except Exception:  # noqa: BLE001 - a misreading may break anywhere, or never return
            return None
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return fit_expected(Observation(tuple(results), files), self._features)


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
