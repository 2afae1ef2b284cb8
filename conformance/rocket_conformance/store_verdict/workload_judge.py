"""What a broker acknowledged and answered, against what its store holds."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from rocket_reference import java, key_hash

from rocket_conformance.store_verdict.observations import Observations, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocket_conformance.store_verdict.stored_log import StoredLog, StoredRecord
    from rocket_conformance.workload import Manifest, Sent

__all__ = ["first_undisturbed", "judge_workload"]

_MOST: Final = 64
_CLOCKS_APART: Final = 3_000
"""ms by which the clocks of client and broker may differ: a message stored within them may or may not be in an answer."""


def first_undisturbed(manifest: Manifest) -> int | None:
    """Physical offset of the first message of a workload without kills: the broker ran from it to the end."""
    offsets = [sent.phy_offset for sent in manifest.sent if sent.phy_offset is not None]
    return min(offsets, default=None) if not manifest.kills else None


def judge_workload(manifest: Manifest, log: StoredLog, seen: Observations) -> None:
    """Judges that each acknowledged message is there once, and each answer.

    Args:
        manifest: of the workload that was sent to this store's broker.
        log: what was stored.
        seen: takes what is observed.
    """
    by_id: defaultdict[tuple[str, str], list[StoredRecord]] = defaultdict(list)
    for stored in log.records:
        if stored.request.uniq_key is not None:
            by_id[stored.request.topic, stored.request.uniq_key].append(stored)
    for sent in manifest.sent:
        if sent.kind != "transaction":
            _judge_sent(sent, by_id, log, seen)
    for answer in manifest.answers:
        _judge_answer(answer, by_id, log, seen)


def _judge_sent(
    sent: Sent, by_id: dict[tuple[str, str], list[StoredRecord]], log: StoredLog, seen: Observations
) -> None:
    """An acknowledged message: stored once, at the offset and in the queue that the broker named."""
    where = f"message {sent.unique_key} of {sent.topic}"
    found = by_id.get((sent.topic, sent.unique_key), [])
    if sent.phy_offset is not None and sent.phy_offset < log.begin:
        return
    delayed = not found and sent.phy_offset is not None and log.at(sent.phy_offset) is not None
    if delayed:  # stored under SCHEDULE_TOPIC_XXXX until its time comes
        seen.hold("LOG-REC-7")
        return
    seen.compare("LOG-REC-1", Place(where, None, "number of records", len(found), 1))
    if not found:
        return
    request = found[0].request
    if sent.phy_offset is not None and log.at(sent.phy_offset) is found[0]:
        seen.compare("LOG-REC-7", Place(where, None, "physical offset", sent.phy_offset, found[0].position))
        seen.compare(
            "LOG-REC-6", Place(where, None, "queue offset", sent.queue_offset, request.consume_queue_offset)
        )


def _judge_answer(
    answer: dict[str, Any],
    by_id: dict[tuple[str, str], list[StoredRecord]],
    log: StoredLog,
    seen: Observations,
) -> None:
    given = answer["answer"]
    if "error" in given:
        where = f"question {answer['do']} of {answer.get('topic')}"
        seen.breaks("QRY-1", Place(where, None, "answer", given["error"], "an answer"))
        return
    match answer["do"]:
        case "query":
            _judge_query(answer, [row[0] for row in given["messages"]], log, seen)
        case "unique":
            _judge_unique(answer, [row[0] for row in given["messages"]], by_id, seen)
        case "read":
            _judge_read(answer, given["messages"], log, seen)
        case _:
            _judge_bounds(answer, given, log, seen)


def _judge_unique(
    answer: dict[str, Any],
    found: list[int],
    by_id: dict[tuple[str, str], list[StoredRecord]],
    seen: Observations,
) -> None:
    """A query by unique key: one of the messages with that id, the one stored first; none where there is none."""
    records = _before(answer, iter(by_id.get((answer["topic"], answer["id"]), [])))
    if records is None:
        return
    earliest = min((stored.request.store_timestamp for stored in records), default=0)
    allowed = [stored.position for stored in records if stored.request.store_timestamp == earliest]
    expected = found if len(found) == 1 and found[0] in allowed else allowed[:1]
    where = f"query of unique key {answer['id']} of {answer['topic']}"
    seen.compare("QRY-1", Place(where, None, "offsets", found, expected))


def _before(answer: dict[str, Any], records: Iterator[StoredRecord]) -> list[StoredRecord] | None:
    """The records that were stored when the question was asked; None where one may be either."""
    asked = answer["asked"]
    kept: list[StoredRecord] = []
    for stored in records:
        apart = stored.request.store_timestamp - asked
        if abs(apart) < _CLOCKS_APART:
            return None
        if apart < 0:
            kept.append(stored)
    return kept


def _judge_query(answer: dict[str, Any], found: list[int], log: StoredLog, seen: Observations) -> None:
    """A query by key: the newest hits of the hash, of these the client keeps the messages with topic and key."""
    topic, key = answer["topic"], answer["key"]
    hashed = key_hash(f"{topic}#{key}")
    records = _before(
        answer, (stored for stored in log.records if stored.indexed and hashed in stored.hashes)
    )
    if records is None or log.begin:
        return
    hits = [stored for stored in records for value in stored.hashes if value == hashed]
    newest = sorted(hits[::-1][: min(answer["max"], _MOST)], key=lambda stored: stored.position)
    expected = [
        stored.position
        for stored in newest
        if stored.request.topic == topic and key in java.split_one_space(stored.request.keys or "")
    ]
    where = f"query of key {key[:40]!r} of {topic}"
    if seen.compare("QRY-1", Place(where, None, "offsets", found, expected)):
        seen.hold("IDX-SEL-2", "IDX-SEL-3", "IDX-SEL-4", "IDX-SVC-11", "IDX-SVC-13")
        if len(hits) > len(expected):
            seen.hold("IDX-SEL-9", "QRY-2")


def _judge_read(answer: dict[str, Any], rows: list[list[Any]], log: StoredLog, seen: Observations) -> None:
    """A queue read from its beginning: every message of it, in order, at its logical offset."""
    topic, queue = answer["topic"], answer["queue"]
    mine = (stored for stored in log.records if _is_in(stored, topic, queue))
    records = _before(answer, mine)
    if records is None or log.begin:
        return
    where = f"queue {queue} of {topic}"
    expected = [[stored.position, stored.request.consume_queue_offset] for stored in records]
    found = [[row[0], row[3]] for row in rows]
    if found == expected:
        seen.hold("CQ-GET-1")
        return
    place = next(
        (number for number, (one, other) in enumerate(zip(found, expected, strict=False)) if one != other),
        min(len(found), len(expected)),
    )
    seen.breaks(
        "CQ-GET-1",
        Place(
            where,
            None,
            f"message {place} (physical offset, logical offset)",
            found[place] if place < len(found) else "none",
            expected[place] if place < len(expected) else "none",
        ),
    )


def _is_in(stored: StoredRecord, topic: str, queue: int) -> bool:
    return stored.queued and stored.request.topic == topic and stored.request.queue_id == queue


def _judge_bounds(answer: dict[str, Any], given: dict[str, Any], log: StoredLog, seen: Observations) -> None:
    topic, queue = answer["topic"], answer["queue"]
    mine = (stored for stored in log.records if _is_in(stored, topic, queue))
    records = _before(answer, mine)
    if records is None or log.begin:
        return
    expected = {"min": 0, "max": records[-1].request.consume_queue_offset + 1 if records else 0}
    found = {name: given[name] for name in ("min", "max")}
    seen.compare("CQ-BND-1", Place(f"queue {queue} of {topic}", None, "bounds", found, expected))
