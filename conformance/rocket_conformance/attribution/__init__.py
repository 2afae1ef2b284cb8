"""Attributes the failures of a run: the places where they differ, and the misreadings that give exactly the same."""
# pyright: reportUnusedImport=false

from rocket_conformance.attribution.causes import MOST_RUNS, Cause, find_causes
from rocket_conformance.attribution.evidence import Evidence, Failure
from rocket_conformance.attribution.places import elsewhere, example_of, place_of
from rocket_conformance.attribution.search import part_of
from rocket_conformance.attribution.simulation import Simulation, can_be_run, is_same
