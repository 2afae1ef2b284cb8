"""Release profiles: what another release does instead of what a clause says of 4.9.3, as `profiles.json` holds it.

Standard library only.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from rocket_spec.data import find_data
from rocket_spec.errors import UsageError

GROUND: Final = "4.9.3"  # the release that SPEC.md describes


@dataclass(frozen=True, slots=True)
class ReleaseDifference:
    """Behaviour of some releases that replaces one or more clauses."""

    clauses: tuple[str, ...]  # the ids, the one that it is about first
    first: str
    last: str
    # the parameters of the reference that make it do the same, none if nothing that it runs differs
    rules: Mapping[str, Any]
    source: str  # Java class, method and lines at `at`
    at: str  # the release of these lines
    evidence: str  # a case that shows it, or how it was seen
    text: str
    # what a start of them does differently, for who predicts it: `dispatches`, `recovers_from` and `most_files`
    start: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def holds(self, version: str) -> bool:
        """Whether a known release does it."""
        known = releases()
        return known.index(self.first) <= known.index(version) <= known.index(self.last)


@dataclass(frozen=True, slots=True)
class Profile:
    """A release and what it does differently, in the order of the data: rules for the reference, and what its start does, of all differences."""

    version: str = GROUND
    differences: tuple[ReleaseDifference, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict[str, Any])
    start: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def of(self, clause: str) -> tuple[ReleaseDifference, ...]:
        """The release's differences from one clause; empty if it does what SPEC.md says."""
        return tuple(found for found in self.differences if clause in found.clauses)


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(find_data("spec/profiles.json").read_bytes())
    return document


def releases() -> tuple[str, ...]:
    """Every release of the store from 3.2.6 on that Maven resolves, the oldest first."""
    return tuple(_document()["releases"])


@cache
def differences() -> tuple[ReleaseDifference, ...]:
    """All of them, in the order of SPEC.md's clauses."""
    found: list[ReleaseDifference] = []
    for item in _document()["differences"]:
        fields: dict[str, Any] = {**item, "clauses": tuple(item["clauses"]), "text": " ".join(item["text"])}
        found.append(ReleaseDifference(**fields))
    return tuple(found)


@cache
def profile(version: str) -> Profile:
    """The profile of a release; UsageError for one that was not compared."""
    if version not in releases():
        raise UsageError(f"{version!r} has no profile; expected one of {', '.join(releases())}")
    found = tuple(item for item in differences() if item.holds(version))
    rules = {name: value for item in found for name, value in item.rules.items()}
    start = {name: value for item in found for name, value in item.start.items()}
    return Profile(version, found, rules, start)


def later_profile(*, tags: bool) -> Profile:
    """The profile of the newest release that indexes the tags of messages, or that does not."""
    newest = map(profile, reversed(releases()))
    return next(found for found in newest if found.rules.get("has_tag_keys", False) is tags)
