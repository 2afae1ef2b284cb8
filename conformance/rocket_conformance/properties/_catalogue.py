"""All properties: each a way of drawing whole operation lists, one case each whatever its examples."""

from typing import Final

from rocket_conformance.properties._index import INDEX_PROPERTIES
from rocket_conformance.properties._log import CHECKPOINT_PROPERTIES, LOG_PROPERTIES
from rocket_conformance.properties._queue import QUEUE_PROPERTIES
from rocket_conformance.properties._service import SERVICE_PROPERTIES

PROPERTIES: Final = (
    *INDEX_PROPERTIES,
    *SERVICE_PROPERTIES,
    *QUEUE_PROPERTIES,
    *LOG_PROPERTIES,
    *CHECKPOINT_PROPERTIES,
)
"""All properties, family by family, in the order of their clauses."""
