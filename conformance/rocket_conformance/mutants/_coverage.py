"""Coverage: the clauses of SPEC.md that the suite tests, and the wrong readings of each that are tried."""

from collections import Counter
from dataclasses import dataclass

from rocket_spec.clauses import clauses

from rocket_conformance.cases import directed_cases
from rocket_conformance.misreadings import MUTANTS
from rocket_conformance.properties import PROPERTIES


@dataclass(frozen=True, slots=True)
class ClauseCoverage:
    """What there is of one clause."""

    id: str
    level: str
    evidence: str
    directed: int
    seeded: int
    properties: int
    mutants: int

    @property
    def shown(self) -> bool:
        """Whether its evidence is there: a directed case, or the golden test that it names."""
        return self.directed > 0 if self.evidence == "case" else self.evidence == "golden"


def coverage() -> list[ClauseCoverage]:
    """Every clause, in the order of SPEC.md."""
    seeded = Counter(case.clauses[0] for case in directed_cases() if "/seeded-" in case.id)
    cases = Counter(case.clauses[0] for case in directed_cases())
    properties = Counter(item.clauses[0] for item in PROPERTIES)
    mutants = Counter(mutant.clause for mutant in MUTANTS)
    return [
        ClauseCoverage(
            id=name,
            level=clause.level,
            evidence=clause.evidence,
            directed=cases[name] - seeded[name],
            seeded=seeded[name],
            properties=properties[name],
            mutants=mutants[name],
        )
        for name, clause in clauses().items()
    ]


def figures(killed: int, total: int) -> str:
    """Clause coverage and mutant score in words, as the README gives them."""
    asked = [row for row in coverage() if row.level != "UNSPECIFIED"]
    by_case = sum(row.evidence == "case" and row.shown for row in asked)
    by_golden = sum(row.evidence == "golden" for row in asked)
    shown = sum(row.shown for row in asked)
    return (
        f"Clause coverage {shown} of {len(asked)} ({shown / len(asked):.0%}): "
        f"{by_case} by cases through the protocol, {by_golden} by named tests on golden data and the real jar.\n"
        f"Mutant score {killed} of {total} ({killed / total:.0%}): wrong implementations that the suite notices."
    )
