"""Answers of a broker against its store: keys and ids, times, and queues that were read back."""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

from rocket_reference import IndexService, JavaError, UnspecifiedError, key_hash
from rocket_spec.layout import DEFAULT_GEOMETRY

from rocket_conformance.files import copy_sparse
from rocket_conformance.store_verdict.index_bytes import StoredIndex
from rocket_conformance.store_verdict.misread import ABOUT_ANSWERS, ERRORS, Reading, readings
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.stored_log import StoredLog, StoredRecord, numbered_files
from rocket_conformance.workload import Manifest

_MOST: Final = 64

_ENOUGH: Final = 10
"""Number of answers that is enough to recognise the rule behind them; fewer agree with several rules."""

_CLOCKS_APART: Final = 3_000
"""ms by which the clocks of client and broker may differ: a message stored within them may or may not be in an answer."""


class AskedRecords:
    """The records of acknowledged messages, and what questions are about.

    Attributes:
        by_id: the records by topic and unique key.
        by_keys: positions, by topic and the whole of KEYS, of messages that had to be refused.
        times_of_hash: store timestamps by key hash, ms.
    """

    def __init__(self, manifest: Manifest, log: StoredLog) -> None:
        self.by_id = {(sent.topic, sent.unique_key): list[StoredRecord]() for sent in manifest.sent}
        asked = [(answer["do"], answer.get("topic"), answer.get("key")) for answer in manifest.answers]
        self.by_keys = {(topic, key): list[int]() for do, topic, key in asked if do == "refused"}
        self.times_of_hash = {
            key_hash(f"{topic}#{key}"): list[int]() for do, topic, key in asked if do == "query"
        }
        for stored in log.records:
            request = stored.request
            self.by_id.get((request.topic, request.uniq_key or ""), []).append(stored)
            self.by_keys.get((request.topic, request.keys or ""), []).append(stored.position)
            for hashed in self.times_of_hash.keys() & stored.hashes:
                self.times_of_hash[hashed].append(request.store_timestamp)


class _Query(NamedTuple):
    """A question for a key, and the offsets that the broker answered."""

    topic: str
    key: str
    most: int
    window: tuple[int, int]
    place: Place


@contextmanager
def open_answers(
    log: StoredLog, indexes: Sequence[StoredIndex], asked: AskedRecords, seen: Observations
) -> Generator[AnswerJudge]:
    """A judge of answers, with the reference's index service over a copy of the store's index files."""
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as folder:
        service: IndexService | None = None
        if indexes:
            copy_sparse(log.store / "index", Path(folder) / "index")
            geometry = indexes[0].geometry
            service = IndexService(
                Path(folder) / "index", geometry.hash_slot_num, geometry.index_num, new_name=lambda: ""
            )
            service.load(last_exit_ok=True)
        try:
            yield AnswerJudge(log, indexes, asked, seen, service, Path(folder) / "index")
        finally:
            if service is not None:
                service.close()


@dataclass(frozen=True, slots=True)
class AnswerJudge:
    """Judges answers one by one; an answer that a message stored meanwhile may have changed is left out."""

    log: StoredLog
    indexes: Sequence[StoredIndex]
    asked: AskedRecords
    seen: Observations
    service: IndexService | None
    copies: Path
    right: list[_Query] = field(default_factory=list["_Query"])
    wrong: list[_Query] = field(default_factory=list["_Query"])

    def judge(self, answer: dict[str, Any]) -> None:
        """Judges one answer of a manifest."""
        given = answer["answer"]
        if "error" in given:
            where = f"question {answer['do']} of {answer.get('topic')}"
            self.seen.breaks("QRY-1", Place(where, None, "answer", given["error"], "an answer"))
            return
        match answer["do"]:
            case "query":
                self._query(answer, given)
            case "unique":
                self._unique(answer, given)
            case "read":
                self._read(answer, given["messages"])
            case "by_time":
                self._by_time(answer, given["offset"])
            case "keyless":
                place = Place(
                    "index", None, "a file made by a message without keys", given["made"], expected=True
                )
                self.seen.compare("IDX-SVC-7", place)
            case "refused":
                self._refused(answer, refused=given["refused"])
            case _:
                self._bounds(answer, given)

    # --- keys -------------------------------------------------------------------------------------------

    def _query(self, answer: dict[str, Any], given: dict[str, Any]) -> None:
        """A query by key: what the index files give, of it the messages with topic and key, in ascending order."""
        topic, key = answer["topic"], answer["key"]
        hashed = key_hash(f"{topic}#{key}")
        times = self.asked.times_of_hash.get(hashed, ())
        if self.service is None or not _is_clear(answer, times):
            return
        is_last = max(times, default=0) < answer["asked"]  # else the window ends before what came later
        window = answer["begin"], answer["end"] if is_last else min(answer["end"], answer["asked"])
        hits = self._hits(self.service, topic, key, answer["max"], window)
        if hits is None:  # a broker leaves out what it cannot read, and may ask the index again
            return
        kept = self._kept(hits, topic, key)
        found = [row[0] for row in given["messages"]]
        where = f"query of key {key[:40]!r} of {topic}, times {window[0]} to {answer['end']}, {answer['max']} at most"
        place = Place(where, None, "offsets", found, kept)
        (self.right if found == kept else self.wrong).append(_Query(topic, key, answer["max"], window, place))
        if found != kept:
            return
        self.seen.hold("QRY-1")
        if len(hits) >= min(answer["max"], _MOST):
            self.seen.hold("QRY-2")
        if len(hits) > len(kept):
            self.seen.hold("IDX-SEL-9")
        if found and given.get("last_update") is not None:
            self._last_update(answer, given["last_update"], where)

    def _hits(
        self, service: IndexService, topic: str, key: str, most: int, window: tuple[int, int]
    ) -> list[int] | None:
        """The offsets that the index gives; None where a broker's answer does not follow from them."""
        try:
            hits = service.query(topic, key, most, *window).offsets
        except (JavaError, UnspecifiedError):
            return None
        return None if any(self.log.at(offset) is None for offset in hits) else hits

    def _kept(self, hits: Iterable[int], topic: str, key: str) -> list[int]:
        """Those of the messages with topic and key, in ascending order."""
        records = (self.log.at(offset) for offset in sorted(hits))
        return [
            stored.position
            for stored in records
            if stored is not None and self.log.has_key(stored, topic, key)
        ]

    def judge_queries(self) -> None:
        """Takes down the wrong answers: under the clause whose wrong reading gives every answer, else under QRY-1.

        A clause about queries is held if a wrong reading of it would have given another answer than a right one.
        """
        about_answers = readings(ABOUT_ANSWERS, self.seen.rules)
        all_of_them = [*self.wrong, *self.right]
        reading: Reading | None = None
        if self.wrong and len(all_of_them) >= _ENOUGH:
            reading = next((one for one in about_answers if self._agrees(one, all_of_them)), None)
        for query in self.wrong:
            place = query.place if reading is None else replace(query.place, rule=reading.rule)
            self.seen.breaks("QRY-1" if reading is None else reading.clause, place)
        self.seen.hold(*{one.clause for one in about_answers if not self._agrees(one, self.right)})

    def _agrees(self, reading: Reading, queries: Sequence[_Query]) -> bool:
        """Whether a wrong reading gives the answers that the broker gave."""
        geometry = self.indexes[0].geometry if queries else DEFAULT_GEOMETRY
        service = reading.library().IndexService(self.copies, *geometry, new_name=str, rules=reading.rules)
        service.load(last_exit_ok=True)
        try:
            for query in queries:
                hits = self._hits(service, query.topic, query.key, query.most, query.window)
                if hits is None or self._kept(hits, query.topic, query.key) != query.place.found:
                    return False
        except ERRORS:
            return False
        finally:
            service.close()
        return True

    def _last_update(self, answer: dict[str, Any], found: int, where: str) -> None:
        """The time of the last entry when the question was asked, or of one stored while it was asked."""
        allowed: list[int] = []
        for stored in self.log.records.backwards():
            moment = stored.request.store_timestamp
            if stored.indexed and moment < answer["asked"] + _CLOCKS_APART:
                allowed.append(moment)
                if moment <= answer["asked"] - _CLOCKS_APART:
                    break
        expected: object = (
            found if found in allowed else f"{min(allowed, default=0)} to {max(allowed, default=0)}"
        )
        if self.seen.compare("IDX-SVC-15", Place(where, None, "last update", found, expected)):
            self.seen.hold("QRY-3")

    def _unique(self, answer: dict[str, Any], given: dict[str, Any]) -> None:
        """A query by unique key: one of the messages with that id, the one stored first; none where there is none."""
        records = _before(answer, self.asked.by_id.get((answer["topic"], answer["id"]), []))
        if records is None:
            return
        found = [row[0] for row in given["messages"]]
        earliest = min((stored.request.store_timestamp for stored in records), default=0)
        allowed = [stored.position for stored in records if stored.request.store_timestamp == earliest]
        expected = found if len(found) == 1 and found[0] in allowed else allowed[:1]
        where = f"query of unique key {answer['id']} of {answer['topic']}"
        self.seen.compare("QRY-1", Place(where, None, "offsets", found, expected))

    def _refused(self, answer: dict[str, Any], *, refused: bool) -> None:
        """A message that a broker must refuse, and must not store."""
        where = f"message with key {answer['key']!r} of {answer['topic']}"
        clause = answer["clause"]
        self.seen.compare(clause, Place(where, None, "was refused", refused, expected=True))
        stored = self.asked.by_keys.get((answer["topic"], answer["key"]), [])
        self.seen.compare(clause, Place(where, None, "records", stored, []))

    # --- queues -----------------------------------------------------------------------------------------

    def _queue(self, answer: dict[str, Any]) -> list[StoredRecord] | None:
        """The records of a queue when a question was asked; None where that is not known."""
        topic, queue = answer["topic"], answer["queue"]
        if self.log.begin:
            return None
        return _before(answer, (stored for stored, _ in self.log.records.of_queue((topic, queue))))

    def _read(self, answer: dict[str, Any], rows: list[list[Any]]) -> None:
        """A queue read from a logical offset on: every message of it, in order; none after its end."""
        records = self._queue(answer)
        if records is None:
            return
        where = f"queue {answer['queue']} of {answer['topic']}"
        expected = [
            [stored.position, stored.request.consume_queue_offset] for stored in records[answer["begin"] :]
        ]
        found = [[row[0], row[3]] for row in rows]
        if found == expected:
            self.seen.hold("CQ-GET-1")
            return
        pairs = enumerate(zip_longest(found, expected, fillvalue="none"))
        number, (one, other) = next(item for item in pairs if item[1][0] != item[1][1])
        what = f"message {number} (physical offset, logical offset)"
        self.seen.breaks("CQ-GET-1", Place(where, None, what, one, other))

    def _bounds(self, answer: dict[str, Any], given: dict[str, Any]) -> None:
        records = self._queue(answer)
        if records is None:
            return
        expected = {"min": 0, "max": records[-1].request.consume_queue_offset + 1 if records else 0}
        found = {name: given[name] for name in ("min", "max")}
        where = f"queue {answer['queue']} of {answer['topic']}"
        self.seen.compare("CQ-BND-1", Place(where, None, "bounds", found, expected))

    def _by_time(self, answer: dict[str, Any], found: int) -> None:
        """The logical offset of a time: what the search in one of the queue's files gives.

        Which file is searched follows from modification times that only the broker's file system had (CQ-TIME-1).
        """
        records = self._queue(answer)
        folder = self.log.store / "consumequeue" / answer["topic"] / str(answer["queue"])
        sizes = [path.stat().st_size for _, path in numbered_files(folder)]
        if not records or not sizes or not sizes[0]:
            return
        times = [stored.request.store_timestamp for stored in records]
        each = len(times) if self.seen.rules.time_is_lower_bound else sizes[0] // 20
        search = bisect_left if self.seen.rules.time_is_lower_bound else _nearest
        allowed = [
            begin + search(times[begin : begin + each], answer["time"])
            for begin in range(0, len(times), each)
        ]
        where = f"queue {answer['queue']} of {answer['topic']}, time {answer['time']}"
        expected: object = found if found in allowed else allowed
        self.seen.compare("CQ-TIME-2", Place(where, None, "logical offset", found, expected))


def _nearest(times: Sequence[int], wanted: int) -> int:
    """Number of the time that 4.9.3's search meets or ends at (CQ-TIME-2)."""
    low, high = 0, len(times) - 1
    left = right = -1
    while high >= low:
        middle = (low + high) // 2
        if times[middle] == wanted:
            return middle
        if times[middle] > wanted:
            high, right = middle - 1, middle
        else:
            low, left = middle + 1, middle
    if left < 0:
        return right
    if right < 0:
        return left
    return right if wanted - times[left] > times[right] - wanted else left


def _is_clear(answer: dict[str, Any], times: Iterable[int]) -> bool:
    """Whether each message was stored clearly before or after the question."""
    return all(abs(moment - answer["asked"]) >= _CLOCKS_APART for moment in times)


def _before(answer: dict[str, Any], records: Iterable[StoredRecord]) -> list[StoredRecord] | None:
    """The records that were stored when the question was asked; None where one may be either."""
    kept: list[StoredRecord] = []
    for stored in records:
        if not _is_clear(answer, [stored.request.store_timestamp]):
            return None
        if stored.request.store_timestamp < answer["asked"]:
            kept.append(stored)
    return kept
