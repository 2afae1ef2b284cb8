"""The directed vectors of the whole store, a module per group of clauses."""

from generator.vectors.directed.store import queue_puts, queue_restarts, queue_units, tags

__all__ = ["queue_puts", "queue_restarts", "queue_units", "tags"]
