"""Cases: what is sent to an implementation, directed ones and where they come from."""
# pyright: reportUnusedImport=false

from rocket_conformance.cases._case import (
    Case,
    Observation,
    case_from_json,
    case_to_json,
    directed_case,
    directed_cases,
    directed_ids,
    geometries_of,
    observation_to_json,
)
