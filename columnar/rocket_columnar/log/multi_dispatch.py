"""The queues that multi-dispatch copies a record to: units there may point to another topic's record."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from rocket_spec.layout import RECORD_FIXED_V4

from rocket_columnar.formats import Bad, clean_utf8, parse_long, parse_properties, parse_record
from rocket_columnar.log.requests import Requests
from rocket_columnar.store import LIGHT, StoreFile

_QUEUES: Final = b"INNER_MULTI_DISPATCH"
_OFFSETS: Final = b"INNER_MULTI_QUEUE_OFFSET"


class Copy(NamedTuple):
    """A queue, and the logical offset that a record has there."""

    topic: str
    queue_id: int
    logical_offset: int


def batch_copies(file: StoreFile, batch: Requests, *, light: bool) -> Iterator[tuple[int, list[Copy]]]:
    """The place and the copies of each record of a batch that is copied, in the order of their puts.

    Raises:
        OSError: the file cannot be read.
    """
    if not batch.copied.any():
        return
    places = np.flatnonzero(batch.copied & batch.queued).tolist()
    if not places:
        return
    with file.open() as reader:
        for place in places:
            at, size = int(batch.phy_offset[place]) - file.base_offset, int(batch.size[place])
            yield place, _copies(reader.read(at, size).tobytes(), light=light)


def _copies(data: bytes, *, light: bool) -> list[Copy]:
    """The copies that a whole record names; none if its two lists differ in length.

    Source: `ConsumeQueue.multiDispatchLmqQueue` 432-453.
    """
    record = parse_record(data, 0)
    if isinstance(record, Bad):
        return []
    pairs = parse_properties(data[record.properties : record.properties + record.properties_length])
    queues, offsets = (pairs.get(name, b"").decode() for name in (_QUEUES, _OFFSETS))
    if not queues.strip() or not offsets.strip():
        return []
    names, numbers = _split(queues), [parse_long(part) for part in _split(offsets)]
    if len(names) != len(numbers):
        return []
    queue_id = record.fixed.queue_id
    return [
        Copy(name, 0 if light and name.startswith(LIGHT) else queue_id, number)
        for name, number in zip(names, numbers, strict=True)
        if number is not None and None not in numbers
    ]


def dispatch_stop(data: bytes, *, light: bool) -> str | None:
    """Why a broker's dispatch stays at a whole record, with settings and clauses; None if it gives no reason.

    A record without properties gives one if the store has `light` queues.
    """
    record = parse_record(data, 0)
    if isinstance(record, Bad):
        return None
    if light and not record.properties_length:
        return "it has no properties, and a broker with enableMultiDispatch stays there (CQ-LMQ-5)"
    pairs = parse_properties(data[record.properties : record.properties + record.properties_length])
    queues, offsets = (pairs.get(name, b"").decode() for name in (_QUEUES, _OFFSETS))
    numbers = [parse_long(part) for part in _split(offsets)]
    if queues.strip() and offsets.strip() and None in numbers and len(numbers) == len(_split(queues)):
        return (
            f"its INNER_MULTI_QUEUE_OFFSET is {offsets!r}, and a broker with longPollingEnable, the default, or enableMultiDispatch "
            "stays where that is not a number for each queue (LOG-DSP-18, CQ-LMQ-5)"
        )
    return None


def _split(text: str) -> list[str]:
    """Java's `split(",")`: empty parts at the end are dropped."""
    parts = text.split(",")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def goes_to(data: bytes, topic: str, queue_id: int, *, light: bool) -> bool:
    """Whether bytes are a record that goes into a queue, as its own or as a copy."""
    if len(data) < RECORD_FIXED_V4 or int.from_bytes(data[:4]) != len(data):
        return False
    record = parse_record(data, 0)
    if isinstance(record, Bad):
        return False
    own = clean_utf8(data[record.topic : record.topic + record.topic_length]).decode()
    queues = {copy[:2] for copy in _copies(data, light=light)}
    return (topic, queue_id) in {(own, record.fixed.queue_id), *queues}


def has_light_queues(files: Sequence[StoreFile]) -> bool:
    """Whether the broker had `enableLmq`, which gives light queues the number 0, as far as its files show."""
    return not any(file.kind == "queue" and file.queue_id and file.light for file in files)
