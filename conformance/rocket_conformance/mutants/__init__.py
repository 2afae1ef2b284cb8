"""Wrong implementations, and whether the suite notices: each one wrong reading of one clause."""
# pyright: reportUnusedImport=false

from rocket_conformance.misreadings import MUTANTS, Mutant
from rocket_conformance.mutants._catalogue import CATALOGUE, find
from rocket_conformance.mutants._coverage import ClauseCoverage, coverage, figures
from rocket_conformance.mutants._hunting import Outcome, hunt, own_cases, properties
from rocket_conformance.mutants._impostors import IMPOSTORS, Impostor
from rocket_conformance.mutants._misbehaving import MISBEHAVING, Misbehaving
