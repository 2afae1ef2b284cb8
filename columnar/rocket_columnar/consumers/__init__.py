"""Consumer groups, delayed messages and transactions of a store, and what is wrong with them."""

from rocket_columnar.consumers.by_time import OffsetAtTime, offset_at
from rocket_columnar.consumers.faults import config_findings
from rocket_columnar.consumers.standing import DelayLevel, Failed, GroupLag, OpenHalf, Progress, progress

__all__ = [
    "DelayLevel",
    "Failed",
    "GroupLag",
    "OffsetAtTime",
    "OpenHalf",
    "Progress",
    "config_findings",
    "offset_at",
    "progress",
]
