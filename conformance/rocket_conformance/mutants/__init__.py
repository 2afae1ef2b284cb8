"""Wrong implementations, and whether the suite notices: each one wrong reading of one clause."""
# pyright: reportUnusedImport=false

from rocket_conformance.misreadings import MUTANTS, Mutant
from rocket_conformance.mutants._hunting import (
    CATALOGUE,
    IMPOSTORS,
    ClauseCoverage,
    Impostor,
    Outcome,
    coverage,
    figures,
    find,
    hunt,
    own_cases,
    properties,
)
