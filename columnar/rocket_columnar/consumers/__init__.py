"""Consumer groups, delayed messages and transactions of a store, and what is wrong with them."""

from rocket_columnar.consumers.by_offset import (
    Bounds,
    OffsetAtTime,
    UnitAt,
    delivery,
    offset_at,
    queue_bounds,
    unit_at,
)
from rocket_columnar.consumers.faults import (
    Moved,
    completed_topics,
    config_findings,
    corrected_offsets,
    moved_offsets,
    unsure_offsets,
)
from rocket_columnar.consumers.standing import (
    HALF,
    DelayLevel,
    Failed,
    GroupLag,
    OpenHalf,
    Progress,
    Timers,
    progress,
)
