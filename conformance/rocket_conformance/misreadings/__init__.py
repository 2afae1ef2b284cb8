"""Wrong readings of single clauses: the reference with one clause misread, each a mutant."""

from rocket_conformance.misreadings.catalogue import MUTANTS
from rocket_conformance.misreadings.loading import mutated, source_of
from rocket_conformance.misreadings.mutant import Mutant

__all__ = ["MUTANTS", "Mutant", "mutated", "source_of"]
