"""The commit log: frames, gaps, dispatch requests, multi-dispatch, and where the log ends."""

from rocket_columnar.log.dispatch import read_requests
from rocket_columnar.log.dispatch_ahead import read_requests_ahead
from rocket_columnar.log.frame_walk import LARGE, NARROW, Walk
from rocket_columnar.log.gaps import Gap
from rocket_columnar.log.multi_dispatch import Copy, batch_copies, goes_to, has_light_queues
from rocket_columnar.log.request_columns import Requests, TopicNames
from rocket_columnar.log.request_walk import LogStretch
from rocket_columnar.log.tail import Tail, log_tail

__all__ = [
    "LARGE",
    "NARROW",
    "Copy",
    "Gap",
    "LogStretch",
    "Requests",
    "Tail",
    "TopicNames",
    "Walk",
    "batch_copies",
    "goes_to",
    "has_light_queues",
    "log_tail",
    "read_requests",
    "read_requests_ahead",
]
