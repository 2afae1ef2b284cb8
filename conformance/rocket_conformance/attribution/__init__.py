"""Attributes the failures of a run: the places where they differ, and the misreadings that give exactly the same."""
# pyright: reportUnusedImport=false

from rocket_conformance.attribution.causes import (
    MOST_RUNS,
    Cause,
    as_examples,
    elsewhere,
    find_causes,
    place_of,
    places_of,
)
from rocket_conformance.attribution.search import Evidence, Simulation, is_same, part_of
