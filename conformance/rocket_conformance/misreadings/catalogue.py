"""Every misreading, in the order of the format's parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocket_conformance.misreadings.index_bytes import INDEX_BYTES
from rocket_conformance.misreadings.index_puts import INDEX_PUTS
from rocket_conformance.misreadings.index_selects import INDEX_SELECTS
from rocket_conformance.misreadings.log import LOG
from rocket_conformance.misreadings.ports import PORTS
from rocket_conformance.misreadings.queue_restarts import QUEUE_RESTARTS
from rocket_conformance.misreadings.queue_units import QUEUE_UNITS
from rocket_conformance.misreadings.service import SERVICE

if TYPE_CHECKING:
    from rocket_conformance.misreadings.mutant import Mutant

__all__ = ["MISREADINGS", "MUTANTS"]

MISREADINGS: Final[tuple[Mutant, ...]] = (
    *INDEX_BYTES,
    *INDEX_PUTS,
    *INDEX_SELECTS,
    *SERVICE,
    *QUEUE_UNITS,
    *QUEUE_RESTARTS,
    *LOG,
    *PORTS,
)
"""Everything that reports look for as a cause; names are unique."""

MUTANTS: Final = tuple(mutant for mutant in MISREADINGS if not mutant.cause_only)
"""Wrong implementations that misread one clause each: that clause's own cases notice each of them alone."""
