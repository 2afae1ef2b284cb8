"""Cases and lists that `--level must` leaves out: those that a misreading of an OBSERVED clause answers differently.

The directed cases that are left out, and for each property the first lists of seed 0 that are not, are in `must_level.json`,
which `python -m tools.must_level` makes. Lists of other seeds are judged when they are drawn.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from rocket_spec.clauses import clauses

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import differences, expect, specified
from rocket_conformance.files import scratch
from rocket_conformance.misreadings import MISREADINGS, Mutant
from rocket_conformance.planning.fitting import is_odd
from rocket_conformance.properties import Property, example
from rocket_conformance.protocol import OPERATIONS
from rocket_conformance.reference_adapter import Library

SEED: Final = 0
"""Seed of the lists in the table."""

LISTS: Final = 100
"""Number of lists of each property in the table."""

_TRIES: Final = 20
"""Lists that are drawn for each one that is wanted, at most: few lists of some properties stay within MUST clauses."""

_LARGEST: Final = 1 << 20
"""Maximum size of a file that is judged."""

_SMALL: Final = (101, 220)
"""Geometry on which the lists of larger files are judged."""

_INDEX: Final = frozenset({"java", "_mapping", "index_file"})

_READ_BY: Final = {
    "index": _INDEX,
    "service": _INDEX | {"index_service"},
    "queue": frozenset({"java", "_mapping", "mapped_file_queue", "consume_queue_store"}),
    "log": frozenset({"java"}),
    "checkpoint": frozenset[str](),
}
"""By family of operations, the modules of the reference whose OBSERVED clauses it shows."""


class _Table(NamedTuple):
    cases: frozenset[str]
    lists: dict[str, list[int]]


@cache
def _table() -> _Table:
    document = json.loads(files("rocket_conformance.planning").joinpath("must_level.json").read_bytes())
    lists: dict[str, list[int]] = {name: row["numbers"] for name, row in document["lists"].items()}
    return _Table(frozenset(document["cases"]), lists)


def is_beyond_must(case: str) -> bool:
    """Whether a directed case is answered differently by a misreading of an OBSERVED clause."""
    return case in _table().cases


def level_of(clause: str) -> str:
    """MUST or OBSERVED, from SPEC.md; MUST for a clause that is not in it."""
    known = clauses().get(clause)
    return known.level if known else "MUST"


@cache
def shown_by(ops: frozenset[str]) -> tuple[Mutant, ...]:
    """The misreadings of OBSERVED clauses that these operations can show."""
    modules = frozenset[str]().union(*(_READ_BY[OPERATIONS[name].family] for name in ops))
    return tuple(
        item for item in MISREADINGS if level_of(item.clause) == "OBSERVED" and item.module in modules
    )


def beyond_must(case: Case, expected: Observation, directory: Path) -> Mutant | None:
    """The first misreading of an OBSERVED clause that answers the case differently; None if none does.

    Args:
        case: without operations that are never sent.
        expected: the reference's own answer.
        directory: made for each misreading, and removed again.
    """
    differing = (
        item for item in shown_by(case.op_names) if _differs(case, expected, directory, item.library())
    )
    return next(differing, None)


def _differs(case: Case, expected: Observation, directory: Path, library: Library) -> bool:
    try:
        return bool(differences(case, expected, expect(case, directory, library=library)))
    except Exception:  # noqa: BLE001 - a misreading may break anywhere, or never return
        return True


def must_lists(
    wanted: Property, *, seed: int, count: int, geometries: Sequence[tuple[int, int]] | None
) -> Iterator[Case]:
    """The first `count` lists of a property on which no misreading of an OBSERVED clause shows, of lengths that a broker sets."""
    known = _table().lists.get(wanted.id, []) if seed == SEED and geometries is None else []
    for number in known[:count]:
        yield example(wanted, seed=seed, number=number, geometries=geometries)
    after = known[-1] + 1 if known else 0
    if count > len(known):
        for number in clean_numbers(
            wanted, seed=seed, count=count - len(known), start=after, geometries=geometries
        ):
            yield example(wanted, seed=seed, number=number, geometries=geometries)


def clean_numbers(
    wanted: Property,
    *,
    seed: int,
    count: int,
    start: int = 0,
    geometries: Sequence[tuple[int, int]] | None = None,
) -> Iterator[int]:
    """The numbers of those lists, from one on."""
    judged_on = geometries
    if any(20 * entries + 4 * slots > _LARGEST for slots, entries in geometries or ()):
        judged_on = [_SMALL] * len(geometries or ())
    found = 0
    with scratch() as root:
        for number in range(start, start + _TRIES * count):
            drawn = example(wanted, seed=seed, number=number, geometries=judged_on)
            if is_odd(drawn):
                continue
            case, expected = specified(drawn, root / "case")
            if beyond_must(case, expected, root / "case") is None:
                yield number
                found += 1
                if found == count:
                    return
