"""Makes conformance/MUTANTS.md and the figures in README.md: `python -m tools.mutant_matrix [--figures]`.

The matrix shows which case detects each mutant, and which property alone does. It takes several minutes and is committed with
a digest of what it was made from; with --figures only the README's figures are written, with the score that MUTANTS.md has.
"""

import hashlib
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Final, NamedTuple

from rocket_conformance.cases import directed_cases
from rocket_conformance.misreadings import MUTANTS, Mutant
from rocket_conformance.mutants import CATALOGUE, Impostor, Outcome, figures, hunt, properties
from rocket_conformance.planning import Planned
from rocket_conformance.protocol import OPERATIONS
from rocket_spec.data import find_data

from tools.cause_scores import score
from tools.regions import filled
from tools.replacements import replacements

_LISTS: Final = 10  # of a property that is to notice a mutant alone; a default run draws ten times as many

_DIGEST: Final = re.compile(r"^Inputs: `([0-9a-f]{64})`$", re.MULTILINE)
_SCORE: Final = re.compile(r"^Mutant score: (\d+) of (\d+)\.$", re.MULTILINE)

_FAMILIES: Final = {
    "IDX-SVC": frozenset({"service"}),
    "IDX": frozenset({"index"}),
    "CQ-TAGS": frozenset({"queue", "log"}),
    "CQ": frozenset({"queue"}),
    "LOG": frozenset({"log"}),
    "UTF8": frozenset({"log"}),
    "CKP": frozenset({"checkpoint"}),
}
"""Which operations' properties a clause can be expected to show in."""


class Equivalent(NamedTuple):
    """A reading of a clause that comes to the same: a text that occurs once in the module, what it would become, and the proof."""

    reading: str
    clause: str
    module: str
    old: str
    new: str
    why: str


EQUIVALENT: Final = tuple(
    Equivalent._make([*one.heading.split(" | "), one.old, one.new, one.why])
    for one in replacements(Path(__file__).with_name("equivalent_readings.txt"))
)
"""Tried and dropped as mutants."""


@dataclass(frozen=True, slots=True)
class Row:
    """A mutant in the matrix."""

    suite: Outcome  # what a default run of the suite makes of it
    property: str | None  # the first property that notices it without any directed case, if one does
    named: bool = False  # whether the first cause of a report is of its clause, and nothing else is named


def row_of(mutant: Mutant | Impostor) -> Row:
    """Hunts a mutant with the whole suite, then with the properties of its clause's operations alone."""
    suite = hunt(mutant)
    if not isinstance(mutant, Mutant):
        return Row(suite, None)
    alone = hunt(mutant, examples=_LISTS, among=_near(mutant.clause)).killed_by
    found = score([mutant])
    return Row(suite, alone, found.whole and found.first == mutant.clause)


def _near(clause: str) -> Sequence[Planned]:
    """The properties of the clause's operations, those of the clause and of its family first."""
    family = next(_FAMILIES[name] for name in _FAMILIES if f"{clause}-".startswith(f"{name}-"))
    chosen = [item for item in properties() if {OPERATIONS[op].family for op in item.ops} & family]
    prefix = clause.rpartition("-")[0]
    return sorted(
        chosen,
        key=lambda item: (item.clauses[0] != clause, item.clauses[0].rpartition("-")[0] != prefix, item.id),
    )


def inputs_digest() -> str:
    """SHA-256 over what the matrix depends on: mutants, directed cases, and which properties there are.

    What the properties draw is no part of it: the long test makes the whole matrix again.
    """
    digest = hashlib.sha256()
    for item in CATALOGUE:
        digest.update(repr(_text(item) if isinstance(item, Mutant) else item.name).encode())
    digest.update(repr(EQUIVALENT).encode())
    for case in directed_cases():
        digest.update(dumps([case.id, case.clauses, case.ops, sorted(case.files)]).encode())
    digest.update(dumps(sorted(item.id for item in properties())).encode())
    return digest.hexdigest()


def _text(mutant: Mutant) -> tuple[object, ...]:
    return mutant.name, mutant.clause, mutant.module, mutant.old, mutant.new, mutant.also


def render(rows: Sequence[Row], digest: str) -> str:
    """The document."""
    killed = sum(row.suite.killed for row in rows)
    alone = sum(row.property is not None for row in rows)
    named = sum(row.named for row in rows)
    null = (
        f"| {row.suite.name} | {row.suite.killed_by or 'no case applies to it'} | {row.suite.verdict.replace('_', ' ')} |"
        for row in rows
        if row.suite.clause == "none"
    )
    page = Path(__file__).with_name("mutants_page.txt").read_text("utf-8")
    return page.format(
        killed=killed,
        rows=len(rows),
        lists=_LISTS,
        alone=alone,
        named=named,
        mutants=len(MUTANTS),
        digest=digest,
        misread="\n".join(_line(row) for row in rows if row.suite.clause != "none"),
        null="\n".join(null),
        equivalent="\n".join(f"| {item.reading} | {item.clause} | {item.why} |" for item in EQUIVALENT),
    )


def _line(row: Row) -> str:
    suite = row.suite
    return f"| {suite.name} | {suite.clause} | {suite.killed_by or '**survives**'} | {row.property or ''} | {'yes' if row.named else ''} |"


def read_digest(document: str) -> str | None:
    """The digest that a document was made with."""
    found = _DIGEST.search(document)
    return found[1] if found else None


def read_score(document: str) -> tuple[int, int]:
    """The number of mutants that a document lists as noticed, and of all mutants; ValueError without such a line."""
    found = _SCORE.search(document)
    if found is None:
        raise ValueError("no line 'Mutant score: N of N.'")
    return int(found[1]), int(found[2])


def with_figures(readme: str, matrix: str) -> str:
    """The README's text with the figures between its markers; ValueError without them, or without a score in the matrix."""
    return filled(readme, figures=figures(*read_score(matrix)) + "\n")


def _row(number: int) -> Row:
    return row_of(CATALOGUE[number])


def main() -> None:
    """Writes both files."""
    root = find_data("conformance/PROTOCOL.md").parents[1]
    target, readme = root / "conformance" / "MUTANTS.md", root / "README.md"
    if not readme.is_file():
        sys.exit("not in a checkout: there is no README.md beside conformance/")
    if "--figures" not in sys.argv[1:]:
        digest = inputs_digest()
        rows: list[Row] = []
        with ProcessPoolExecutor() as workers:
            for number, row in enumerate(workers.map(_row, range(len(CATALOGUE))), 1):
                rows.append(row)
                sys.stderr.write(f"{number} of {len(CATALOGUE)} {row.suite.name}\n")
        target.write_text(render(rows, digest), encoding="utf-8")
    Path(readme).write_text(
        with_figures(readme.read_text(encoding="utf-8"), target.read_text(encoding="utf-8")), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
