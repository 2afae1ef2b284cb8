"""The first cause that a report names for a mutant: its own clause, if all is well."""

from __future__ import annotations

import shutil
from functools import cache
from typing import TYPE_CHECKING, Final

from rocket_conformance.attribution import Evidence, Failure, Simulation, find_causes
from rocket_conformance.cases import Case, Observation
from rocket_conformance.compare import differences
from rocket_conformance.expect import collect_files, fill_directory, specified
from rocket_conformance.judge import Judgement
from rocket_conformance.misreadings import MUTANTS
from rocket_conformance.plan import Planned, plan
from rocket_conformance.reference_adapter import run_operations
from rocket_conformance.scratch import scratch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rocket_conformance.images import FileImage
    from rocket_conformance.misreadings import Mutant
    from rocket_conformance.reference_adapter import Library

__all__ = ["first_cause"]

_LARGEST: Final = 1 << 20
"""Bytes of files of the cases that are run."""


@cache
def _cases() -> tuple[tuple[Planned, Case, Observation], ...]:
    """The cases on small files, with what the reference does."""
    found: list[tuple[Planned, Case, Observation]] = []
    with scratch() as root:
        folder = root / "case"
        for item in plan():
            source = item.source
            if isinstance(source, Case) and "default-geometry" not in item.id and _is_small(source.files):
                case, expected = specified(source, folder)
                if _is_small(expected.files):
                    found.append((item, case, expected))
    return tuple(found)


def _is_small(files: Mapping[str, FileImage]) -> bool:
    return all(image.size <= _LARGEST for image in files.values())


def first_cause(mutant: Mutant) -> str | None:
    """The clause of the first cause that a report of the cases of its part names: index, queue, log or checkpoint."""
    library = mutant.library()
    failures: list[Failure] = []
    passed: dict[str, list[str]] = {}
    near = [entry for entry in _cases() if _part(entry[0].clauses[0]) == _part(mutant.clause)]
    own = {item.id: (case, expected) for item, case, expected in near}
    with scratch() as root:
        folder = root / "case"
        for item, case, expected in near:
            judgement = _judged(library, case, expected, folder)
            if judgement is not None and judgement.found:
                failures.append(Failure(item.id, item.clauses, item.is_directed, case, expected, judgement))
            elif judgement is not None and item.is_directed:
                passed.setdefault(item.clauses[0], []).append(item.id)
        causes = find_causes(Evidence(failures, passed, own.__getitem__, Simulation(lambda: folder), MUTANTS))
    return causes[0].clause if causes else None


def _part(clause: str) -> str:
    """The part of a store that a clause is about; decoding of text shows in the log."""
    head = clause.partition("-")[0]
    return "LOG" if head == "UTF8" else head


def _judged(library: Library, case: Case, expected: Observation, folder: Path) -> Judgement | None:
    """What the mutant does with a case; None when it breaks in a way of its own."""
    fill_directory(folder, case.files)
    try:
        results, listed = run_operations(case.ops, folder, library=library)
        files = collect_files(case, folder, expected.results, [path for _, path in listed])
    except Exception:  # noqa: BLE001 - a misreading may break anywhere, or never return
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    actual = Observation(tuple(results), files)
    return Judgement("diverged", "", actual, tuple(differences(case, expected, actual)))
