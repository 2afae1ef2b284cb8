"""The page of conformance results: implementations by clauses, and the releases of RocketMQ."""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from rocket_conformance.rocketmq import read_survey
from rocket_spec.clauses import clauses

RESULTS: Final = Path(__file__).with_name("results.json")
_MARKS: Final = {"passes": "✓", "differs": "✗", "carried": "-", "none": ""}


def render_results() -> str:
    """The page."""
    results = json.loads(RESULTS.read_bytes())
    implementations: dict[str, dict[str, list[Any]]] = results["implementations"]
    changed = results["inputs"] != read_survey().inputs
    return "\n".join(
        [
            "# Conformance results",
            "",
            "Which implementation does what 4.9.3 does. `make results` runs the implementations; the releases are those of",
            "[Releases of RocketMQ](spec/VERSIONS.md), from runs of every release's real jar.",
            "To add an implementation, run `python -m website.run_results 'NAME=COMMAND OF ITS ADAPTER'`.",
            *(["The two runs were made with different versions of the suite."] if changed else []),
            "",
            *_overview(implementations),
            "",
            *_releases(),
            "",
            *_by_clause(implementations),
            "",
        ]
    )


def family_of(clause: str) -> str:
    """The part of the store that a clause is about: index, service, queue, log or checkpoint."""
    if clause.startswith("IDX-SVC-"):
        return "service"
    kinds = {"IDX": "index", "CQ": "queue", "LOG": "log", "UTF8": "log", "CKP": "checkpoint"}
    return kinds[clause.partition("-")[0]]


def _overview(implementations: Mapping[str, Mapping[str, list[Any]]]) -> Iterator[str]:
    families = ("index", "service", "queue", "log", "checkpoint")
    yield "## Implementations"
    yield ""
    yield "Cases that pass, of those that the implementation offers operations for. A dash: the part is not offered."
    yield ""
    yield f"| implementation | {' | '.join(families)} | clauses that differ |"
    yield "|---|" + "---:|" * len(families) + "---|"
    for name, cells in implementations.items():
        counts: list[str] = []
        for family in families:
            chosen = [cell for clause, cell in cells.items() if family_of(clause) == family]
            passed, failed = sum(cell[0] for cell in chosen), sum(cell[1] for cell in chosen)
            counts.append(f"{passed} of {passed + failed}" if chosen else "-")
        broken = [clause for clause in clauses() if cells.get(clause, (0, 0, ""))[2] == "differs"]
        yield f"| {name} | {' | '.join(counts)} | {', '.join(broken) or 'none'} |"


def _releases() -> Iterator[str]:
    yield "## Releases of RocketMQ"
    yield ""
    yield "| release | clauses that differ from 4.9.3 |"
    yield "|---|---|"
    for differs, group in groupby(read_survey().releases, key=lambda release: tuple(release.differs)):
        versions = [release.version for release in group]
        name = versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
        yield f"| {name} | {', '.join(differs) or 'none'} |"


def _by_clause(implementations: Mapping[str, Mapping[str, list[Any]]]) -> Iterator[str]:
    yield "## By clause"
    yield ""
    yield "✓ all cases pass; ✗ the clause differs; - its cases fail only through another clause; empty: not offered."
    yield ""
    yield f"| clause | level | {' | '.join(implementations)} |"
    yield "|---|---|" + ":---:|" * len(implementations)
    for clause in clauses().values():
        cells = [cells.get(clause.id) for cells in implementations.values()]
        if any(cells):
            marks = [f"{_MARKS[cell[2]]} {cell[0]}/{cell[0] + cell[1]}" if cell else "" for cell in cells]
            yield f"| {clause.id} | {clause.level} | {' | '.join(marks)} |"
