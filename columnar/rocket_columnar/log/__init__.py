"""The commit log: frames, gaps, dispatch requests, multi-dispatch, and where the log ends."""

from rocket_columnar.log.frame_walk import (
    Gap,
    StoredRecords,
    Tail,
    VerifiedRecord,
    Walk,
    log_tail,
    misplaced,
    zeros_after,
)
from rocket_columnar.log.queues import (
    RECOVERED_FILES,
    FileLives,
    Life,
    Lives,
    LostUnits,
    QueueStart,
    batch_copies,
    dispatch_stop,
    each_units,
    ends_of_lives,
    goes_to,
    has_light_queues,
    holds_bytes,
    life_begins,
    of_earlier_life,
    queue_starts,
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
