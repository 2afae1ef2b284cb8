"""Wrong readings of single clauses: the reference with one clause misread, each a mutant."""

from rocket_conformance.misreadings.misreadings import (
    MISREADINGS,
    MUTANTS,
    OF_STORES,
    Mutant,
    library_of,
)

__all__ = ["MISREADINGS", "MUTANTS", "OF_STORES", "Mutant", "library_of"]
