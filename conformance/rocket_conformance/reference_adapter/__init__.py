"""The reference behind the protocol: what every expectation comes from, and a model of an adapter."""

from rocket_conformance.reference_adapter.adapter import ReferenceAdapter
from rocket_conformance.reference_adapter.library import Library
from rocket_conformance.reference_adapter.session import UnspecifiedOperationError, run_operations

__all__ = ["Library", "ReferenceAdapter", "UnspecifiedOperationError", "run_operations"]
