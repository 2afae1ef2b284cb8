"""Consumer groups, delayed messages and transactions of a store, and what is wrong with them."""

from rocket_columnar.consumers.by_offset import Bounds, UnitAt, queue_bounds, unit_at
from rocket_columnar.consumers.by_time import OffsetAtTime, offset_at
from rocket_columnar.consumers.corrected import Moved, completed_topics, corrected_offsets, moved_offsets
from rocket_columnar.consumers.faults import config_findings, unlisted_topics
from rocket_columnar.consumers.standing import DelayLevel, Failed, GroupLag, OpenHalf, Progress, progress
