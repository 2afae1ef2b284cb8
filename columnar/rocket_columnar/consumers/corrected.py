"""Files of `config/` as a repair writes them: what a start takes, with what it lacks or with offsets that a queue has."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from rocket_spec.errors import MalformedError

from rocket_columnar.config import parse, table_rows
from rocket_columnar.describe import queue_views
from rocket_columnar.facts import Store
from rocket_columnar.store import open_reader

_TOPICS: Final = "topics"
_OFFSETS: Final = "consumer_offsets"


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
    views = store.once(queue_views)
    known: dict[tuple[str, str, int], int] = {}
    if replica is not None:
        with open_reader(replica) as reader:
            rows = table_rows(_OFFSETS, reader)
        known = {(row["group"], row["topic"], row["queue_id"]): row["offset"] for row in rows}
    found: list[Moved] = []
    for row in store.config(_OFFSETS).rows:
        place = row["group"], row["topic"], row["queue_id"]
        queue = views.get(place[1:])
        if queue is not None and row["offset"] > queue.max_offset:
            other = known.get(place, -1)
            end = other if queue.min_offset <= other <= queue.max_offset else queue.max_offset
            found.append(Moved(*place, row["offset"], end))
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
