"""The reference as an adapter: the source of every expectation, and a model for adapters."""

from rocket_conformance.reference_adapter.adapter import (
    REFERENCE,
    Library,
    ReferenceAdapter,
    UnspecifiedOperationError,
    run_operations,
)

__all__ = ["REFERENCE", "Library", "ReferenceAdapter", "UnspecifiedOperationError", "run_operations"]
