"""Properties over whole operation lists, drawn from a seed."""

from rocket_conformance.properties._catalogue import PROPERTIES, Property, examples
from rocket_conformance.properties._lists import MOST_OPERATIONS

__all__ = ["MOST_OPERATIONS", "PROPERTIES", "Property", "examples"]
