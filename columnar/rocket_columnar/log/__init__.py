"""The commit log: frames, gaps, dispatch requests, multi-dispatch, and where the log ends."""

from rocket_columnar.log.frame_walk import NARROW, Gap, StoredRecords, Tail, VerifiedRecord, Walk, log_tail
from rocket_columnar.log.queues import (
    FileLives,
    Life,
    Lives,
    batch_copies,
    dispatch_stop,
    ends_of_lives,
    goes_to,
    has_light_queues,
    life_begins,
    of_earlier_life,
)
from rocket_columnar.log.requests import (
    COMMIT,
    NOT,
    ROLLBACK,
    RULES_4_9_3,
    Dispatch,
    KeyRules,
    Requests,
    RequestScan,
    RowTopics,
    TopicNames,
    bodies_match,
    property_crc_matches,
    read_requests,
    requests_before_gap,
    tags_codes,
    units_taken,
)
from rocket_columnar.log.scan import Records, Scan
