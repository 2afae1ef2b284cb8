"""From what differs to the clause that is broken: failures grouped by cause."""

from rocket_conformance.attribution.cause_record import record_of
from rocket_conformance.attribution.causes import Cause, find_causes
from rocket_conformance.attribution.evidence import Evidence, Failure
from rocket_conformance.attribution.pattern import Pattern, pattern_of
from rocket_conformance.attribution.simulation import Simulation
from rocket_conformance.attribution.symptom import Symptom, symptom_of

__all__ = [
    "Cause",
    "Evidence",
    "Failure",
    "Pattern",
    "Simulation",
    "Symptom",
    "find_causes",
    "pattern_of",
    "record_of",
    "symptom_of",
]
