"""Wrong readings of single clauses: the reference with one clause misread, each a mutant."""

from rocket_conformance.misreadings.catalogue import MISREADINGS, MUTANTS, OF_STORES
from rocket_conformance.misreadings.loading import source_of
from rocket_conformance.misreadings.mutant import Mutant, library_of

__all__ = ["MISREADINGS", "MUTANTS", "OF_STORES", "Mutant", "library_of", "source_of"]
