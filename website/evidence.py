"""Puts the evidence of each clause onto the specification's page: cases, mutants, releases that differ, and a broker's workload."""

import html
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from rocket_conformance.cases import directed_cases
from rocket_conformance.misreadings import MUTANTS
from rocket_conformance.properties import PROPERTIES
from rocket_conformance.rocketmq import read_survey
from rocket_spec.clauses import clauses

from tools.reach import OUT_OF_REACH

_HEADING: Final = re.compile(r"^#{2,4} ", re.MULTILINE)


def add_evidence(text: str) -> str:
    """SPEC.md with a block after each clause: its cases, mutants and releases that differ, and whether a workload exercises it."""
    cases: dict[str, list[str]] = defaultdict(list)
    for case in [*(case.id for case in directed_cases()), *(found.id for found in PROPERTIES)]:
        cases[case.partition("/")[0]].append(case)
    mutants: dict[str, list[str]] = defaultdict(list)
    for mutant in MUTANTS:
        mutants[mutant.clause].append(mutant.name)
    releases: dict[str, list[str]] = defaultdict(list)
    for release in read_survey().releases:
        for clause in release.differs:
            releases[clause].append(release.version)
    parts: list[str] = []
    end = 0
    for name in clauses():
        start = text.index(f"\n### {name}\n", max(end - 1, 0)) + 1
        following = _HEADING.search(text, start + 4)
        stop = following.start() if following else len(text)
        parts.append(text[end:stop].rstrip() + "\n\n")
        parts.append(_block(cases[name], mutants[name], releases[name], OUT_OF_REACH.get(name)))
        end = stop
    return "".join([*parts, text[end:]])


def _block(cases: list[str], mutants: list[str], releases: list[str], unreached: str | None) -> str:
    kinds = (
        (len(cases), "case", "cases", _listed("Cases", cases)),
        (len(mutants), "mutant", "mutants", _listed("Wrong readings that the suite notices", mutants)),
        (len(releases), "release differs", "releases differ", _listed("Releases that differ from 4.9.3", releases)),
    )  # fmt: skip
    found = [(f"{count} {one if count == 1 else many}", body) for count, one, many, body in kinds if count]
    title, reason = ("no workload", f"not exercised: {unreached}") if unreached else ("workload", "exercised")
    found.append((title, f"<p>By a broker's workload: {html.escape(reason)}</p>"))
    summary = " · ".join(title for title, _ in found)
    return f"<details><summary>{summary}</summary>{''.join(body for _, body in found)}</details>\n\n"


def _listed(title: str, names: Iterable[str]) -> str:
    items = ", ".join(f"<code>{html.escape(name)}</code>" for name in names)
    return f"<p>{title}: {items}</p>"
