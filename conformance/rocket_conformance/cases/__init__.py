"""Cases: what is sent to an implementation, directed ones and where they come from."""
# pyright: reportUnusedImport=false

from rocket_conformance.cases._case import (
    Case,
    Observation,
    case_from_json,
    case_to_json,
    geometries_of,
    observation_to_json,
)
from rocket_conformance.cases._directed import directed_case, directed_cases, directed_ids
