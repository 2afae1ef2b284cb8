"""Attributes the failures of a run: the places where they differ, and the misreadings that give exactly the same."""
# pyright: reportUnusedImport=false

from rocket_conformance.attribution.causes import MOST_RUNS, Cause, find_causes, part_of
from rocket_conformance.attribution.evidence import (
    Evidence,
    Simulation,
    can_be_run,
    elsewhere,
    example_of,
    is_same,
    place_of,
)
