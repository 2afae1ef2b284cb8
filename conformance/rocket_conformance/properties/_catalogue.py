"""All properties: each a way of drawing whole operation lists, one case each whatever its examples."""

from typing import Final

from rocket_conformance.properties._index import index_property
from rocket_conformance.properties._log import CHECKPOINT_PROPERTIES, LOG_PROPERTIES
from rocket_conformance.properties._property import described
from rocket_conformance.properties._queue import queue_property
from rocket_conformance.properties._service import service_property

_MAKERS: Final = {"IDX-SVC": service_property, "CQ": queue_property, "IDX": index_property}

PROPERTIES: Final = (
    *(
        next(make for head, make in _MAKERS.items() if name.startswith(head))(name, clauses, settings)
        for name, clauses, settings in described()
    ),
    *LOG_PROPERTIES,
    *CHECKPOINT_PROPERTIES,
)
"""All properties, family by family, in the order of their clauses."""
