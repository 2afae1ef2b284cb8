"""Compares the messages that a broker acknowledged with those in its store."""

import base64
import zlib
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from rocket_reference import RULES_4_9_3
from rocket_spec.layout import ENTRY
from rocket_spec.profiles import differences

from rocket_conformance.protocol import has_lone_surrogate
from rocket_conformance.store_verdict.answer_judge import AskedRecords, open_answers
from rocket_conformance.store_verdict.index_bytes import StoredIndex
from rocket_conformance.store_verdict.observations import Observations, Place, as_releases_do
from rocket_conformance.store_verdict.stored_log import StoredLog, StoredRecord
from rocket_conformance.workload import Manifest, Sent

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
    """Judges that each acknowledged message is there once, as it was sent, and each answer.

    Args:
        manifest: of the workload that was sent to this store's broker.
        log: what was stored.
        indexes: its index files.
        seen: takes what is observed.
        enabled: whether the broker makes an index.
    """
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
