"""Attributes the failures of a run: the places where they differ, and the misreadings that give exactly the same."""
# pyright: reportUnusedImport=false

from rocket_conformance.attribution.causes import MOST_RUNS, Cause, find_causes
from rocket_conformance.attribution.evidence import (
    Evidence,
    Simulation,
    as_examples,
    can_be_run,
    elsewhere,
    is_same,
    part_of,
    place_of,
)
