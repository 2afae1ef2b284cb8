"""VERSIONS.md: fresh, in accord with SPEC.md, and what the real jars do."""

import re
from functools import cache

import pytest
from rocket_conformance.planning import plan
from rocket_conformance.protocol import OPERATIONS
from rocket_conformance.rocketmq import ORACLE_VERSION
from rocket_spec.clauses import clauses
from rocket_spec.data import find_data

from tools.versions import (
    RELEASES,
    Release,
    Survey,
    inputs_digest,
    read_survey,
    render,
    survey_all,
    survey_release,
)

FRESH = "make it again: python -m tools.versions"

COMPARED = ("3.2.6", "4.0.0", "4.1.0", "4.3.0", "4.5.0", "4.6.0", "4.7.0", "4.7.1", "4.9.0", "4.9.1", "4.9.2")
"""The releases whose sources were compared for `since`, those before 4.9.3."""

IN_CONSEQUENCE = {
    "CQ-LOAD-2": "its case asks for a unit in a gap between files: the search for a file is another since 4.3.0",
    "CQ-GET-1": "as CQ-LOAD-2, in the file of an odd name",
}
"""Clauses that differ in releases that have the behaviour, since another one makes what their cases look at."""

NOT_SHOWN = {
    **dict.fromkeys(
        ("CQ-TRUNC-1", "CQ-TRUNC-2", "CQ-TRUNC-4", "CQ-TRUNC-5"),
        "what changed is the end, which CQ-REC-2 shows",
    ),
    "LOG-REC-3": "its new lengths are those of IPv6 hosts, which LOG-REC-2 shows",
    "LOG-REC-5": "its new bits are those of IPv6 hosts, which LOG-REC-2 shows",
    "LOG-PROP-1": "what changed is how properties are written, and cases only read them",
    "LOG-PROP-2": "what changed is a pair with an empty name, which log.read alone shows, and no jar has it",
    "LOG-DSP-1": "what changed is that the request holds the properties, which no result shows",
}
"""Clauses that no case shows to be newer than the oldest release."""


@cache
def survey() -> Survey:
    return read_survey()


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def offers(release: Release, clause: str) -> bool:
    """Whether the release has all that a case of the clause needs; no jar has the operations of tools that only read."""
    missing = {*release.missing, *(name for name, operation in OPERATIONS.items() if operation.decodes)}
    return any(item.clauses[0] == clause and not item.ops & missing for item in plan())


def test_the_page_is_made_from_the_survey() -> None:
    page = find_data("spec/VERSIONS.md").read_text(encoding="utf-8")
    assert page == render(survey()), f"{FRESH} --render"


def test_the_survey_asked_what_would_be_asked_today() -> None:
    assert survey().inputs == inputs_digest(), FRESH


def test_every_release_is_surveyed() -> None:
    assert [release.version for release in survey().releases] == list(RELEASES)


def test_4_9_3_differs_in_nothing() -> None:
    oracle = next(release for release in survey().releases if release.version == ORACLE_VERSION)
    assert not oracle.differs
    assert not oracle.carried
    assert not oracle.missing
    assert all(ran and not differing for ran, differing in oracle.families.values())


def test_the_clauses_of_the_index_file_hold_from_4_7_1_on() -> None:
    """All but the service's: the index file is what other tools read."""
    for release in survey().releases:
        differs = {name for name in release.differs if name.startswith(("IDX-", "CKP-"))}
        assert differs == (set() if number(release.version) >= (4, 7, 1) else {"IDX-HDR-4"}), release.version


def test_a_clause_holds_since_the_release_that_the_spec_names() -> None:
    known = clauses()
    wrong = {
        (name, release.version)
        for release in survey().releases
        if number(release.version) <= number(ORACLE_VERSION)
        for name in release.differs
        if number(release.version) >= number(known[name].since) and name not in IN_CONSEQUENCE
    }
    assert wrong == set()


def test_a_clause_does_not_hold_in_the_release_before() -> None:
    by_number = {number(release.version): release for release in survey().releases}
    wrong: set[tuple[str, str]] = set()
    for clause in clauses().values():
        earlier = [version for version in COMPARED if number(version) < number(clause.since)]
        if not earlier or clause.evidence != "case" or clause.id in NOT_SHOWN:
            continue
        release = by_number[number(earlier[-1])]
        if offers(release, clause.id) and clause.id not in release.differs:
            wrong.add((clause.id, release.version))
    assert wrong == set()


def test_what_is_left_out_of_these_tests_is_still_so() -> None:
    known = clauses()
    differing = {name for release in survey().releases for name in release.differs}
    assert differing >= IN_CONSEQUENCE.keys()
    assert all(known[name].since != RELEASES[0] for name in NOT_SHOWN)


@pytest.mark.soak
@pytest.mark.java
@pytest.mark.usefixtures("maven")
@pytest.mark.parametrize("version", ["4.7.0", "3.2.6", "4.7.1", "4.9.8", "5.3.1"])
def test_a_release_differs_where_the_page_says(version: str) -> None:
    written = next(release for release in survey().releases if release.version == version)
    assert survey_release(version) == written, FRESH
    assert written.missing == () or set(written.missing) < OPERATIONS.keys()


@pytest.mark.soak
@pytest.mark.java
@pytest.mark.usefixtures("maven")
def test_every_release_differs_where_the_page_says() -> None:
    assert tuple(survey_all()) == survey().releases, FRESH
