"""`VERSIONS.md` out of a survey."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from rocket_conformance.protocol import FAMILIES
from rocket_conformance.rocketmq import ORACLE_VERSION, Release, Survey
from rocket_spec.clauses import clauses
from rocket_spec.profiles import differences

_INTRODUCTION: Final = """# Versions

What other releases of Apache RocketMQ do differently from {oracle}, clause by clause: the suite was run on the real store of
each release that Maven resolves from {first} to {last}, {count} in all. Made by

    python -m tools.versions

which takes about five minutes on two idle cores with a JDK 17 and Maven, from `versions.json` beside it; `--render` makes
this page alone. The command `rocketspec conform --rocketmq VERSION --report out` shows every difference of one release
with its input.

A release *differs* in the clauses of the cases that differ. A case of another clause in which a misreading gives exactly what
the release does, or that differs first in the same field, counts for the clause of that misreading, and as *carried*. Two fields are part of nearly every answer, hash_slot_count (IDX-HDR-4) and max_physic_offset, the end of
a queue (CQ-PUT-7), and carry many cases. Different results of a put or a recovery can still make a clause differ as
a consequence.

4.2.0 and 5.3.4 are missing: they require jars that Maven does not find. Releases that share a column behave the same.
"""


def render(survey: Survey) -> str:
    """The page."""
    groups = _groups(survey.releases)
    introduction = _INTRODUCTION.format(
        oracle=ORACLE_VERSION,
        first=survey.releases[0].version,
        last=survey.releases[-1].version,
        count=len(survey.releases),
    )
    parts = [introduction, *_releases(groups), "", *_matrix(groups), "", *_instead(), "", *_firsts(groups)]
    return "\n".join(parts) + "\n"


Group = tuple["Release", ...]


def _groups(releases: Sequence[Release]) -> list[Group]:
    """Neighbours that do the same."""
    return [
        tuple(group) for _, group in groupby(releases, key=lambda item: (item.missing, list(item.differs)))
    ]


def _name(group: Group) -> str:
    first, last = group[0].version, group[-1].version
    return first if len(group) == 1 else f"{first} to {last}"


def _releases(groups: Sequence[Group]) -> Iterator[str]:
    yield "## Cases that differ, by release"
    yield ""
    yield "Of the cases that ran, those that differ."
    yield ""
    yield f"| release | {' | '.join(FAMILIES)} | carried |"
    yield "|---|" + "---:|" * (len(FAMILIES) + 1)
    for group in groups:
        for release in group:
            cells = [_count(*release.families[family]) for family in FAMILIES]
            yield f"| {release.version} | {' | '.join(cells)} | {release.carried or ''} |"
    missing = {release.version: release.missing for group in groups for release in group if release.missing}
    if missing:
        yield ""
    for version, operations in missing.items():
        yield f"The classes of {version} do not offer {', '.join(f'`{name}`' for name in operations)}."


def _count(ran: int, differing: int) -> str:
    if not ran:
        return "not offered"
    return f"{differing} of {ran}" if differing else f"none of {ran}"


def _differing(groups: Sequence[Group]) -> list[str]:
    return [clause for clause in clauses() if any(clause in group[0].differs for group in groups)]


def _matrix(groups: Sequence[Group]) -> Iterator[str]:
    yield "## Versions by clauses"
    yield ""
    yield "`x`: differs; empty: as the clause requires, or its operation is not offered. A clause that is not in the table is met by"
    yield "every release that offers its operations, or has no cases: `rocketspec spec list` shows its evidence."
    yield ""
    yield f"| clause | since | {' | '.join(_name(group) for group in groups)} |"
    yield "|---|---|" + ":---:|" * len(groups)
    known = clauses()
    for clause in _differing(groups):
        cells = ["x" if clause in group[0].differs else "" for group in groups]
        yield f"| {clause} | {known[clause].since} | {' | '.join(cells)} |"


def _instead() -> Iterator[str]:
    yield "## What they do instead"
    yield ""
    yield "From `profiles.json`: what `conform --rocketmq-profile VERSION` requires. A difference without parameters of the reference"
    yield "is not seen by cases, but by brokers or in the source."
    yield ""
    yield "| clauses | releases | instead | source | seen by |"
    yield "|---|---|---|---|---|"
    for found in differences():
        releases = " to ".join(dict.fromkeys((found.first, found.last)))
        source = f"{found.source} at {found.at}"
        yield f"| {', '.join(found.clauses)} | {releases} | {found.text} | {source} | {found.evidence} |"


def _firsts(groups: Sequence[Group]) -> Iterator[str]:
    yield "## The first differing case"
    yield ""
    yield f"| clause | releases | cases | the first | where | {ORACLE_VERSION} | the release |"
    yield "|---|---|---:|---|---|---|---|"
    releases = [release for group in groups for release in group]
    for clause in _differing(groups):
        alike = groupby(
            releases, key=lambda item: item.differs[clause].first if clause in item.differs else None
        )
        for first, same in alike:
            if first is None:
                continue
            group = tuple(same)
            counts = sorted({release.differs[clause].cases for release in group})
            cases = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            cells = [first.case, first.where, _code(first.expected), _code(first.actual)]
            yield f"| {' | '.join([clause, _name(group), cases, *cells])} |"
    yield ""
    yield (
        "5.5.1 keeps a buffer for the fields in its thread: a field longer than the record fails in a fresh thread and passes after a "
        "longer record. Here each operation has a commit log, and so a buffer, of its own."
    )


def _code(text: str) -> str:
    """A value as code in a cell of a table."""
    shown = "".join(char if " " <= char <= "~" else f"\\x{ord(char):02x}" for char in text)
    return f"`{shown.replace('|', '&#124;')}`" if shown else ""
