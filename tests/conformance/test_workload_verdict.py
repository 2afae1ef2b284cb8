"""Acknowledgements and answers of a broker against its store: right ones hold their clauses, wrong ones break them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from judged_stores import judge_store, sent_of
from rocket_columnar.audit import audited
from rocket_columnar.facts import Store
from rocket_columnar.findings import finding
from rocket_conformance import store_verdict
from rocket_conformance.store_verdict import Observations
from rocket_conformance.store_verdict.stored_log import StoredLog, StoredRecord, read_log
from rocket_conformance.workload import Manifest, Sent, read_manifest
from rocket_golden import open_store
from rocket_spec.clauses import clauses
from rocket_spec.deviations import Audited, Deviation
from rocket_spec.errors import MalformedError

from tools.reach import OUT_OF_REACH, reached

DOCS = Path(__file__).parents[2] / "docs"
STORE = "small-roll"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store(STORE, tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def log(store: Path) -> StoredLog:
    return read_log(Store(store), Observations())


def after(log: StoredLog) -> int:
    """A time at which everything was stored."""
    return max(stored.request.store_timestamp for stored in log.records) + 60_000


def queue_of(log: StoredLog) -> list[StoredRecord]:
    """The records of the queue that has the most."""
    queues: dict[tuple[str, int], list[StoredRecord]] = {}
    for stored in log.records:
        queues.setdefault((stored.request.topic, stored.request.queue_id), []).append(stored)
    return max(queues.values(), key=len)


def judged(store: Path, log: StoredLog, answer: dict[str, Any]) -> Observations:
    question = {"asked": after(log), **answer}
    return judge_store(store, manifest=Manifest(0, "4.9.3", answers=[question])).observations


def row(stored: StoredRecord) -> list[object]:
    request = stored.request
    return [stored.position, request.topic, request.queue_id, request.consume_queue_offset, "", 0]


def test_a_queue_that_is_read_back(store: Path, log: StoredLog) -> None:
    records = queue_of(log)
    request = records[0].request
    rows = [row(stored) for stored in records]
    question = {"do": "read", "topic": request.topic, "queue": request.queue_id, "begin": 0, "count": 9_999}
    assert judged(store, log, {**question, "answer": {"messages": rows}}).held["CQ-GET-1"]
    lacking = judged(store, log, {**question, "answer": {"messages": rows[:-1]}})
    assert "CQ-GET-1" in lacking.broken
    beyond = {**question, "begin": len(rows) + 5}
    assert judged(store, log, {**beyond, "answer": {"messages": []}}).held["CQ-GET-1"]
    assert "CQ-GET-1" in judged(store, log, {**beyond, "answer": {"messages": rows[-1:]}}).broken


def test_the_offset_of_a_time(store: Path, log: StoredLog) -> None:
    """Before all messages the first of a file, after all the last of one: 0 is right before, and wrong after."""
    records = queue_of(log)
    request = records[0].request
    question = {"do": "by_time", "topic": request.topic, "queue": request.queue_id}
    times = [stored.request.store_timestamp for stored in records]
    early = {**question, "time": times[0] - 1_000}
    assert judged(store, log, {**early, "answer": {"offset": 0}}).held["CQ-TIME-2"]
    late = {**question, "time": times[-1] + 1_000}
    assert judged(store, log, {**late, "answer": {"offset": len(times) - 1}}).held["CQ-TIME-2"]
    assert "CQ-TIME-2" in judged(store, log, {**late, "answer": {"offset": 0}}).broken


def keyed(log: StoredLog) -> tuple[StoredRecord, str, list[StoredRecord]]:
    """A record with a key, that key, and the records of its topic that have it."""
    stored = next(stored for stored in log.records if stored.request.keys and stored.indexed)
    key = (stored.request.keys or "").split(" ")[0]
    of_topic = (one for one in log.records if one.indexed and one.request.topic == stored.request.topic)
    return stored, key, [other for other in of_topic if key in (other.request.keys or "").split(" ")]


def query_of(stored: StoredRecord, key: str, *, end: int) -> dict[str, Any]:
    """A question for the messages of a key, in all times up to `end`."""
    topic = stored.request.topic
    return {"do": "query", "topic": topic, "key": key, "max": 32, "begin": 0, "end": end}


def test_a_query_by_key(store: Path, log: StoredLog) -> None:
    stored, key, same = keyed(log)
    question = query_of(stored, key, end=after(log))
    rows = [row(other) for other in same]
    last = [other for other in log.records if other.indexed][-1].request.store_timestamp
    seen = judged(store, log, {**question, "answer": {"messages": rows, "last_update": last}})
    assert not seen.broken
    assert {"QRY-1", "QRY-3", "IDX-SVC-15", "IDX-SEL-2", "IDX-TIME-1"} <= set(seen.held)
    assert not {"IDX-SEL-4", "IDX-SEL-6"} & set(seen.held)  # no wrong reading of these gives another answer
    wrong = judged(store, log, {**question, "answer": {"messages": rows[1:], "last_update": last}})
    assert set(wrong.broken) == {"QRY-1"}
    early = judged(store, log, {**question, "answer": {"messages": rows, "last_update": last - 1}})
    assert set(early.broken) == {"IDX-SVC-15"}


def test_an_answer_that_a_late_message_may_change_is_left_out(store: Path, log: StoredLog) -> None:
    stored, key, same = keyed(log)
    question = query_of(stored, key, end=after(log))
    near = {**question, "asked": same[0].request.store_timestamp + 1, "answer": {"messages": []}}
    assert not judged(store, log, near).broken


def test_an_acknowledged_message_is_there_as_it_was_sent(store: Path, log: StoredLog) -> None:
    sent = sent_of(log, keyed(log)[0])

    def broken(acknowledged: Sent) -> set[str]:
        return set(judge_store(store, manifest=Manifest(0, "4.9.3", sent=[acknowledged])).observations.broken)

    assert broken(sent) == set()
    assert broken(replace(sent, unique_key="gone", phy_offset=None)) == {"LOG-REC-1"}
    assert broken(replace(sent, body_crc=1)) == {"LOG-REC-1"}
    assert broken(replace(sent, store_host="127.0.0.9:1")) == {"LOG-REC-2"}
    assert broken(replace(sent, properties={"KEYS": "others"})) == {"LOG-PROP-1"}
    assert broken(replace(sent, properties={"KEYS": "\ud800"})) == {"UTF8-2"}
    assert broken(replace(sent, queue_offset=sent.queue_offset + 1)) == {"LOG-REC-6"}


def test_a_message_that_must_be_refused(store: Path, log: StoredLog) -> None:
    stored, _, _ = keyed(log)
    question = {"do": "refused", "clause": "LOG-PROP-5", "topic": "T", "key": "too-long"}
    assert judged(store, log, {**question, "answer": {"refused": True}}).held["LOG-PROP-5"]
    assert "LOG-PROP-5" in judged(store, log, {**question, "answer": {"refused": False}}).broken
    there = {**question, "topic": stored.request.topic, "key": stored.request.keys}
    assert "LOG-PROP-5" in judged(store, log, {**there, "answer": {"refused": True}}).broken


ASKED = {"topic": "T", "asked": 0, "begin": 0}
ROW = [0, "T", 0, 0, "", 0]
QUERY = {**ASKED, "do": "query", "key": "k", "end": 1, "max": 32, "answer": {"messages": []}}
READ = {**ASKED, "do": "read", "queue": 0, "count": 1, "answer": {"messages": [ROW]}}
REFUSED = {**ASKED, "do": "refused", "clause": "LOG-PROP-5", "key": [1], "answer": {"refused": True}}
SENT: dict[str, Any] = {
    "topic": "T", "queue": 0, "queue_offset": 0, "phy_offset": 0, "unique_key": "A", "keys": "k", "body_size": 1, "kind": "send",
}  # fmt: skip


@pytest.mark.parametrize(("kills", "before", "broken"), [(0, 0, True), (0, 1, False), (1, 0, False)])
def test_no_start_excuses_what_came_after_the_last_one(
    kills: int, before: int, store: Path, log: StoredLog, *, broken: bool
) -> None:
    """From the first message of a workload on the broker ran to the end, unless it was killed."""
    sent = sent_of(log, keyed(log)[0])
    first = sent.phy_offset or 0
    allowed = Deviation("entries", 2, 1, record=first - before, allowed="a start put it again")
    double = finding("index.double_entry", "index/1", 0, "twice", deviation=allowed)

    def found(facts: Store) -> Audited:
        return audited(facts)._replace(findings=(double,))

    manifest = Manifest(0, "4.9.3", kills=kills, sent=[sent])
    seen = store_verdict.judge_store(Store(store), found, manifest=manifest).observations
    assert ("IDX-SVC-2" in seen.broken) == broken
    assert ("a start put it again" in str(seen.notes)) != broken


def test_a_manifest_reads_back(store: Path, log: StoredLog, tmp_path: Path) -> None:
    manifest = Manifest(7, "4.9.3", sent=[sent_of(log, keyed(log)[0])], answers=[QUERY])
    manifest.write(tmp_path / "manifest.json")
    assert read_manifest(tmp_path / "manifest.json") == manifest


def test_every_clause_is_reached_or_has_a_reason() -> None:
    assert sorted([*reached(), *OUT_OF_REACH]) == sorted(clauses())
    assert f"A workload exercises {len(reached())} of the clauses" in (DOCS / "judge-a-store.md").read_text(
        "utf-8"
    )


STRANGE: list[tuple[dict[str, Any], str]] = [
    ({"kills": []}, r"\$\.kills: \[\] is not of type 'integer'"),
    ({"sent": [SENT | {"phy_offset": "x"}]}, r"sent\[0\]\.phy_offset: 'x' is not"),
    ({"sent": [SENT | {"topic": "../a"}]}, r"sent\[0\]\.topic: '../a' does not match"),
    ({"sent": [SENT | {"raw": "QUJ"}]}, r"sent\[0\]\.raw: 'QUJ' is not valid"),
    ({"sent": [SENT | {"properties": {"a": 1}}]}, r"sent\[0\]\.properties\.a: 1 is not of type 'string'"),
    ({"sent": [{"topic": "T"}]}, r"sent\[0\]: 'queue' is a required property"),
    ({"answers": [{"do": "sing", "asked": 0}]}, r"answers\[0\]\.do: 'sing' is not one of"),
    ({"answers": [QUERY | {"begin": [0]}]}, r"answers\[0\]\.begin: \[0\] is not of type 'integer'"),
    ({"answers": [READ | {"answer": {"messages": [[0, "T"]]}}]}, r"answers\[0\]\.answer: "),
    ({"answers": [REFUSED]}, r"answers\[0\]\.key: "),
    ({"rocketspec_workload": 2}, "rocketspec_workload 2, expected rocketspec_workload 1"),
]


@pytest.mark.parametrize(("changed", "found"), STRANGE)
def test_a_manifest_of_other_types(changed: dict[str, Any], found: str, tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    whole = {"rocketspec_workload": 1, "seed": 1, "client": "4.9.3", "kills": 0, "refused": []}
    whole |= {"sent": [SENT], "answers": [QUERY, READ, QUERY | {"answer": {"error": "no route"}}]}
    file.write_text(json.dumps(whole), "utf-8")
    assert read_manifest(file).sent[0].topic == "T"
    file.write_text(json.dumps(whole | changed), "utf-8")
    with pytest.raises(MalformedError, match=found):
        read_manifest(file)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, '{"kills": ' + "9" * 5_000 + "}"])
def test_a_manifest_that_is_none(text: str, tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    file.write_text(text, "utf-8")
    with pytest.raises(MalformedError, match="expected the manifest of a workload"):
        read_manifest(file)


def test_an_offset_beyond_64_bits_has_no_record(store: Path) -> None:
    beyond: dict[str, Any] = SENT | {"phy_offset": 10**30}
    sent = Sent(**beyond)
    assert "LOG-REC-1" in judge_store(store, manifest=Manifest(1, "4.9.3", sent=[sent])).with_outcome(
        "broken"
    )
