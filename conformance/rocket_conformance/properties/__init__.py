"""Properties over whole operation lists, drawn from a seed."""

from rocket_conformance.properties._catalogue import PROPERTIES
from rocket_conformance.properties._property import (
    MOST_OPERATIONS,
    MOVES,
    Property,
    example,
    examples,
    triples_in,
)

__all__ = ["MOST_OPERATIONS", "MOVES", "PROPERTIES", "Property", "example", "examples", "triples_in"]
