"""The differences between releases of RocketMQ, as `spec/versions.json` records them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, Final

from rocket_spec.data import find_data
from rocket_spec.profiles import releases

RELEASES: Final = releases()
"""Every release of the store from 3.2.6 on that Maven resolves. 4.2.0 and 5.3.4 ask for jars that are not there."""

_LONGEST_VALUE: Final = 60


@dataclass(frozen=True, slots=True)
class First:
    """The first case that differs: where, what 4.9.3 does and what the release does."""

    case: str
    where: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Differs:
    """The number of cases that show that a release differs from a clause, and the first of them."""

    cases: int
    first: First


@dataclass(frozen=True, slots=True)
class Release:
    """The behaviour of one release.

    Attributes:
        version: of the release.
        missing: operations that its classes do not offer.
        families: of each family of operations, how many cases ran and how many of them differ.
        carried: cases named after one clause that differ only through another.
        differs: by clause, in the order of SPEC.md; the first case is one of the clause's own, a directed one if
            one of those differs.
    """

    version: str
    missing: tuple[str, ...]
    families: Mapping[str, tuple[int, int]]
    carried: int
    differs: Mapping[str, Differs]


@dataclass(frozen=True, slots=True)
class Survey:
    """All releases, and the digest of what they were asked."""

    inputs: str
    releases: tuple[Release, ...]


def difference_of(case: str, item: Mapping[str, Any]) -> First:
    """A difference of a report as the survey records it."""
    where = item["field"] if item["op"] is None else f"operation {item['op']}, {item['field']}"
    return First(case, where, short_value(item["expected"]), short_value(item["actual"]))


def short_value(value: object) -> str:
    """A value of a report as the survey records it: JSON of at most 60 characters."""
    if isinstance(value, dict) and "rejected" in value:  # the reason may name a temporary file
        return "rejected"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def read_survey() -> Survey:
    """The survey beside SPEC.md.

    Raises:
        FileNotFoundError: when there is none.
    """
    value: dict[str, Any] = json.loads(find_data("spec/versions.json").read_bytes())
    return Survey(value["inputs"], tuple(_release(item) for item in value["releases"]))


def _release(value: dict[str, Any]) -> Release:
    return Release(
        version=value["version"],
        missing=tuple(value["missing"]),
        families={name: (ran, differing) for name, (ran, differing) in value["families"].items()},
        carried=value["carried"],
        differs={
            clause: Differs(item["cases"], First(**item["first"]))
            for clause, item in value["differs"].items()
        },
    )


@cache
def _recorded() -> tuple[Release, ...]:
    try:
        return read_survey().releases
    except FileNotFoundError:
        return ()


def releases_alike(differences: Iterable[First]) -> str | None:
    """The releases one of whose recorded differences is among these: `3.2.6 to 4.4.0, 4.5.1`; None where none is."""
    wanted = set(differences)
    alike = [any(found.first in wanted for found in release.differs.values()) for release in _recorded()]
    names: list[str] = []
    for is_alike, group in groupby(zip(alike, _recorded(), strict=True), key=lambda item: item[0]):
        versions = [release.version for _, release in group]
        if is_alike:
            names.append(versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}")
    return ", ".join(names) or None
