"""The directed vectors of the whole store, a module per operation family or group of clauses."""

from generator.vectors.directed.store import (
    checkpoints,
    dispatching,
    queue_puts,
    queue_restarts,
    queue_units,
    service_files,
    service_queries,
    tags,
)

__all__ = [
    "checkpoints",
    "dispatching",
    "queue_puts",
    "queue_restarts",
    "queue_units",
    "service_files",
    "service_queries",
    "tags",
]
