"""Compares the messages that a broker acknowledged, and its answers, with its store."""

from __future__ import annotations

import base64
import tempfile
import zlib
from bisect import bisect_left
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise, zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

from rocket_reference import RULES_4_9_3, IndexService, JavaError, UnspecifiedError, key_hash
from rocket_spec.layout import DEFAULT_GEOMETRY, ENTRY
from rocket_spec.profiles import differences

from rocket_conformance.files import copy_sparse
from rocket_conformance.protocol import has_lone_surrogate
from rocket_conformance.store_verdict.misread import ABOUT_ANSWERS, ERRORS, Reading, readings
from rocket_conformance.store_verdict.observations import (
    Observations,
    Place,
    StoredIndex,
    as_releases_do,
    numbered_files,
)
from rocket_conformance.store_verdict.stored_log import StoredLog, StoredRecord
from rocket_conformance.workload import Manifest, Sent

_MOST: Final = 64

_ENOUGH: Final = 10
"""Number of answers that is enough to recognise the rule behind them; fewer agree with several rules."""

_CLOCKS_APART: Final = 3_000
"""ms by which the clocks of client and broker may differ: a message stored within them may or may not be in an answer."""


class AskedRecords:
    """The records of acknowledged messages, and what questions are about."""

    def __init__(self, manifest: Manifest, log: StoredLog) -> None:
        # the records by topic and unique key
        self.by_id = {(sent.topic, sent.unique_key): list[StoredRecord]() for sent in manifest.sent}
        asked = [(answer["do"], answer.get("topic"), answer.get("key")) for answer in manifest.answers]
        # positions, by topic and the whole of KEYS, of messages that had to be refused
        self.by_keys = {(topic, key): list[int]() for do, topic, key in asked if do == "refused"}
        # store timestamps by key hash, ms
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


# --- messages ------------------------------------------------------------------------------------------

_COMPRESSED = 1

_FLUSHED = 12_000
"""Milliseconds in which a running broker flushes its log thoroughly at least once (CKP-6)."""

_FOLLOWING = (
    (
        ("IDX-", "QRY-", "LOG-PROP-1", "LOG-PROP-2", "LOG-PROP-3", "LOG-PROP-4", "LOG-PROP-6", "UTF8-1"),
        ("IDX-HDR-4", "IDX-SVC-18", "IDX-SVC-4", "IDX-FILE-1"),
        "keys",
    ),
    (
        ("CQ-", "LOG-DSP-", "LOG-REC-6", "LOG-REC-8"),
        ("CQ-PUT-9", "CQ-TAGS-1", "CQ-TAGS-2", "CQ-FILE-1"),
        "queues",
    ),
)
"""Beginnings of clauses: broken ones about files make answers wrong, except those named next; and what those are about."""


def first_undisturbed(manifest: Manifest) -> int | None:
    """Physical offset of the first message of a workload without kills: the broker ran from it to the end."""
    offsets = [sent.phy_offset for sent in manifest.sent if sent.phy_offset is not None]
    return min(offsets, default=None) if not manifest.kills else None


def judge_workload(
    manifest: Manifest,
    log: StoredLog,
    indexes: Sequence[StoredIndex],
    seen: Observations,
    *,
    enabled: bool = True,
) -> None:
    """Judges that each acknowledged message is there once, as it was sent, and each answer; `enabled` if the broker makes an index."""
    asked = AskedRecords(manifest, log)
    by_id = asked.by_id
    for sent in manifest.sent:
        if sent.kind == "transaction" or (sent.phy_offset is not None and sent.phy_offset < log.begin):
            continue
        record = _stored_of(sent, by_id, log, seen, killed=manifest.kills > 0)
        if record is not None:
            _judge_content(sent, record, log, seen)
    for _, batch in groupby(
        (sent for sent in manifest.sent if sent.batch is not None), lambda sent: sent.batch
    ):
        _judge_batch(list(batch), log, seen)
    if "LOG-REC-8" in seen.broken:
        seen.leave_out(("LOG-REC-6",), "wrong queue offsets, which may follow from those of a batch")
    answers = Observations(profile=seen.profile)
    if manifest.answers:
        with open_answers(log, indexes, asked, answers) as judge:
            for answer in manifest.answers:
                judge.judge(answer)
            judge.judge_queries()
    _judge_shown(manifest, log, answers)
    for heads, harmless, what in _FOLLOWING:
        is_wrong = any(clause.startswith(heads) and clause not in harmless for clause in seen.broken)
        if is_wrong or (what == "keys" and not enabled):
            answers.leave_out(heads, f"wrong answers about {what}, which may follow from the wrong files")
    seen.add(answers)


def judge_known_flush(manifest: Manifest, time: int, log: StoredLog, seen: Observations) -> None:
    """Judges that the log's time, ms, is not before the last record that a thorough flush saw during the workload (CKP-6)."""
    begin, end = first_undisturbed(manifest), None
    if begin is None or not log.stopped or log.dledger:
        return
    for stored in log.records.backwards():
        now = stored.request.store_timestamp
        end = now if end is None else end
        if stored.position < begin:
            return
        if end - now >= _FLUSHED:
            expected: object = time if time >= now else f"at least {now}"
            place = Place("checkpoint", 0, "physic_msg_timestamp", time, expected, stored)
            seen.compare("CKP-6", place)
            return


def _stored_of(
    sent: Sent,
    by_id: Mapping[tuple[str, str], list[StoredRecord]],
    log: StoredLog,
    seen: Observations,
    *,
    killed: bool,
) -> StoredRecord | None:
    """The record of an acknowledged message: there once, at the offset and in the queue that the broker named."""
    at = log.at(sent.phy_offset) if sent.phy_offset is not None else None
    if sent.raw is not None:
        where = f"message {sent.queue_offset} of queue {sent.queue} of {sent.topic}"
        seen.compare("LOG-REC-1", Place(where, None, "number of records", int(at is not None), 1))
        return at
    where = f"message {sent.unique_key} of {sent.topic}"
    found = by_id.get((sent.topic, sent.unique_key), [])
    if not found and at is not None:  # stored under SCHEDULE_TOPIC_XXXX until its time comes
        seen.hold("LOG-REC-7")
        return at
    if len(found) > 1 and killed and "DELAY" in log.row_of(found[0]).properties:
        seen.note("a delayed message that is delivered again after a kill")
    else:
        seen.compare("LOG-REC-1", Place(where, None, "number of records", len(found), 1))
    if not found:
        return None
    request = found[0].request
    if at == found[0]:
        seen.compare("LOG-REC-7", Place(where, None, "physical offset", sent.phy_offset, found[0].position))
        seen.compare(
            "LOG-REC-6", Place(where, None, "queue offset", sent.queue_offset, request.consume_queue_offset)
        )
    return found[0]


def _judge_content(sent: Sent, stored: StoredRecord, log: StoredLog, seen: Observations) -> None:
    """Body, properties and host of a record against what was sent."""
    if sent.body_crc is None:
        return
    row = log.row_of(stored)
    where = str(stored)
    body, clause = row.body, "LOG-REC-1"
    if row.sys_flag & _COMPRESSED:
        clause = "LOG-REC-5"
        try:
            body = zlib.decompress(row.body)
        except zlib.error:  # of a client that compresses in another way
            return
    found = len(body), zlib.crc32(body)
    seen.compare(clause, Place(where, None, "body (length, CRC-32)", found, (sent.body_size, sent.body_crc)))
    if stored.transaction:
        seen.hold("LOG-REC-5")
    if sent.store_host is not None and log.at(sent.phy_offset or 0) == stored:
        seen.compare("LOG-REC-2", Place(where, None, "store_host", row.store_host, sent.store_host))
    properties = log.properties_of(stored)
    if sent.raw is not None:
        raw = base64.b64decode(sent.raw)
        rest, own = properties[len(raw) :], seen.rules.batch_properties
        separated = raw.endswith(b"\x02") or (rest[:1] == b"\x02") == (own == "separated")
        whole = properties.startswith(raw) and (not rest or (own != "none" and separated))
        place = Place(where, None, "properties", properties.hex(" "), f"{raw.hex(' ')}, then the batch's own")
        seen.hold("LOG-PROP-6") if whole else seen.breaks("LOG-PROP-6", place)
        return
    if sent.kind == "send":
        ends = seen.rules.ends_pairs
        as_wanted = properties.endswith(b"\x02") == ends
        found_end, wanted_end = properties[-1:].hex(), "02" if ends else "no 02"
        rule = as_releases_do(one for one in differences() if one.rules == {"ends_pairs": not ends})
        place = Place(where, None, "end of the properties", found_end, wanted_end, rule=rule)
        seen.hold("LOG-PROP-1") if as_wanted else seen.breaks("LOG-PROP-1", place)
    for name, value in sent.properties.items():
        clause = "UTF8-2" if has_lone_surrogate(value) else "LOG-PROP-1"
        wanted = value.encode("utf-8", "replace").decode("utf-8")
        seen.compare(clause, Place(where, None, f"property {name}", row.properties.get(name), wanted))


def _judge_batch(batch: Sequence[Sent], log: StoredLog, seen: Observations) -> None:
    """The records of a batch are side by side with one store time, in one file; DLedger begins a new one between them."""
    between = ENTRY.size if log.dledger else 0
    first = {file.base + between for file in log.files} if log.dledger else set[int]()
    records = [stored for sent in batch if (stored := log.at(sent.phy_offset or 0)) is not None]
    for before, after in pairwise(records):
        found = after.position, after.request.store_timestamp, after.request.consume_queue_offset
        end = before.position + before.request.msg_size + between
        end = after.position if after.position in first else end
        expected = end, before.request.store_timestamp, before.request.consume_queue_offset + 1
        what = "position, store timestamp, queue offset"
        seen.compare("LOG-REC-8", Place(str(after), None, what, found, expected))


def _judge_shown(manifest: Manifest, log: StoredLog, seen: Observations) -> None:
    """A message of a raw batch is found by the key that 4.9.3 reads in its properties, unless the release reads another."""
    answers = {
        (answer["topic"], answer["key"]): [row[0] for row in answer["answer"]["messages"]]
        for answer in reversed(manifest.answers)
        if answer["do"] == "query" and "messages" in answer["answer"]
    }
    for sent in manifest.sent:
        found = answers.get((sent.topic, sent.shows[1])) if sent.shows else None
        stored = log.at(sent.phy_offset or 0)
        if found is None or sent.shows is None or stored is None:
            continue  # not asked, or not judged since the index is wrong
        clause, key = sent.shows
        indexed = f"{sent.topic}#{key}" in stored.keys and log.has_key(stored, sent.topic, key)
        reads = seen.rules == RULES_4_9_3 or indexed
        expected = [sent.phy_offset] if reads else []
        seen.compare(clause, Place(f"query of key {key!r}", None, "offsets", found, expected))
