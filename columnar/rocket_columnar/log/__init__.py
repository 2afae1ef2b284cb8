"""The commit log: frames, gaps, dispatch requests, multi-dispatch, and where the log ends."""

from rocket_columnar.log.frame_walk import NARROW, Walk
from rocket_columnar.log.gaps import Gap
from rocket_columnar.log.lives import FileLives, Life, Lives, life_begins, of_earlier_life
from rocket_columnar.log.multi_dispatch import batch_copies, dispatch_stop, goes_to, has_light_queues
from rocket_columnar.log.puts import requests_before_gap, units_taken
from rocket_columnar.log.request_columns import Requests, TopicNames
from rocket_columnar.log.request_walk import RULES_4_9_3, Dispatch, KeyRules, RequestScan, read_requests
from rocket_columnar.log.row_values import RowTopics, bodies_match, property_crc_matches, tags_codes
from rocket_columnar.log.scan import Records, Scan
from rocket_columnar.log.stored_records import StoredRecord, StoredRecords
from rocket_columnar.log.tail import Tail, log_tail
