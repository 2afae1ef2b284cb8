"""Files of `config/` as a repair writes them: what a start takes, with what it lacks or with offsets that a queue has."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from rocket_spec.errors import MalformedError

from rocket_columnar.config import parse, table_rows
from rocket_columnar.describe import QueueView, queue_views
from rocket_columnar.facts import Store
from rocket_columnar.log import TopicNames, requests_before_gap
from rocket_columnar.store import open_reader

_TOPICS: Final = "topics"
_OFFSETS: Final = "consumer_offsets"


class Beyond(NamedTuple):
    """An offset of a group that is beyond its queue.

    Attributes:
        group: the group.
        topic: of the queue.
        queue_id: of the queue.
        offset: that of the group.
        queue: the queue.
        earlier: whether an earlier life of the queue had that offset, before its topic was deleted and created again.
    """

    group: str
    topic: str
    queue_id: int
    offset: int
    queue: QueueView
    earlier: bool

    @property
    def pulled_from(self) -> int:
        """The offset with which a broker answers a pull there (`DefaultMessageStore.nextOffsetCorrection`)."""
        return 0 if self.queue.min_offset == 0 else self.queue.max_offset

    @property
    def heals(self) -> bool:
        """Whether that pull begins with the first message of the topic that was created again."""
        return self.earlier and self.pulled_from == 0


class Moved(NamedTuple):
    """An offset of a group that is beyond its queue, and the one that it is set to."""

    group: str
    topic: str
    queue_id: int
    offset: int
    end: int


def completed_topics(store: Store, topics: Mapping[str, int]) -> str:
    """The text of `topics.json` with further topics, with the number of queues of each; settings are the defaults of 4.9.3 (CFG-3).

    Raises:
        MalformedError: the file that a start takes changed meanwhile, or has a number that JSON does not.
        OSError: it cannot be read.
    """
    content = _content(store, _TOPICS)
    table = content.setdefault("topicConfigTable", {})
    for topic, number in topics.items():
        table[topic] = {
            "order": False,
            "perm": 6,
            "readQueueNums": number,
            "topicFilterType": "SINGLE_TAG",
            "topicName": topic,
            "topicSysFlag": 0,
            "writeQueueNums": number,
        }
    return _text(content, "config/topics.json")


def offsets_beyond(store: Store) -> list[Beyond]:
    """The offsets of groups beyond their queues, without those that a queue reaches once the log is dispatched."""
    views = store.once(queue_views)
    rows = [
        row
        for row in store.config(_OFFSETS).rows
        if (queue := views.get((row["topic"], row["queue_id"]))) is not None
        and row["offset"] > queue.max_offset
    ]
    ends = _ends_in_log(store, {(row["topic"], row["queue_id"]) for row in rows}) if rows else {}
    found = []
    for row in rows:
        place = row["topic"], row["queue_id"]
        end, earlier = ends.get(place, (0, 0))
        if row["offset"] > end:
            found.append(Beyond(row["group"], *place, row["offset"], views[place], row["offset"] <= earlier))
    return found


def _ends_in_log(store: Store, queues: set[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, int]]:
    """Of each queue the logical offset after its last record in the log, and the greatest one of its earlier lives."""
    names, ends = TopicNames(), dict.fromkeys(queues, (0, 0))
    files = zip(store.logs, store.log_sizes, strict=True)
    bounds = store.begin, store.end
    for _, _, batch in requests_before_gap(files, names, bounds=bounds, keys=store.keys):
        for topic, queue_id in queues:
            rows = batch.queued & (batch.topic == names.numbers.get(topic, -1)) & (batch.queue_id == queue_id)
            for offset in batch.queue_offset[rows].tolist():
                end, earlier = ends[topic, queue_id]
                ends[topic, queue_id] = offset + 1, earlier if offset else max(earlier, end)
    return ends


def moved_offsets(store: Store, replica: Path | None = None) -> list[Moved]:
    """The offsets of groups beyond their queues.

    Each is set to the replica's if that is in the queue, else to the queue's end: no message is delivered again, and those that
    are sent from now on are delivered.

    Args:
        store: whose log and queues are whole.
        replica: a `consumerOffset.json` of another copy of the store.

    Raises:
        FormatError: the replica's file is none.
        OSError: it cannot be read.
    """
    known: dict[tuple[str, str, int], int] = {}
    if replica is not None:
        with open_reader(replica) as reader:
            rows = table_rows(_OFFSETS, reader)
        known = {(row["group"], row["topic"], row["queue_id"]): row["offset"] for row in rows}
    found: list[Moved] = []
    for beyond in store.once(offsets_beyond):
        place, queue = beyond[:3], beyond.queue
        if not beyond.heals:
            other = known.get(place, -1)
            end = other if queue.min_offset <= other <= queue.max_offset else queue.max_offset
            found.append(Moved(*place, beyond.offset, end))
    return found


def corrected_offsets(store: Store, moved: list[Moved]) -> str:
    """The text of `consumerOffset.json` with other offsets (CFG-4).

    Raises:
        MalformedError: the file that a start takes changed meanwhile, or has a number that JSON does not.
        OSError: it cannot be read.
    """
    ends = {(one.group, one.topic, one.queue_id): one.end for one in moved}
    table: dict[str, dict[str, int]] = {}
    for row in store.config(_OFFSETS).rows:
        end = ends.get((row["group"], row["topic"], row["queue_id"]))
        table.setdefault(f"{row['topic']}@{row['group']}", {})[str(row["queue_id"])] = (
            row["offset"] if end is None else end
        )
    others = {
        name: value for name, value in _content(store, _OFFSETS).items() if "offset" not in str(name).lower()
    }
    return _text({"offsetTable": table, **others}, "config/consumerOffset.json")


def _content(store: Store, table: str) -> dict[str, Any]:
    taken = store.config(table).taken
    return {} if taken is None else parse(taken.path.read_bytes(), str(taken.path)) or {}


def _text(content: dict[str, Any], file: str) -> str:
    """As JSON, which a broker reads like its own form."""
    try:
        return json.dumps(content, indent=1, allow_nan=False, default=float) + "\n"
    except (ValueError, OverflowError):
        raise MalformedError(
            file=file, found="a number beyond those of JSON", expected="others", clause="CFG-3"
        ) from None
