"""Stores of brokers that misread one clause: that clause is broken, and no other."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
from judged_stores import judge_store
from reference_starts import names
from rocket_columnar.facts import Store
from rocket_columnar.store import read_broker_conf
from rocket_conformance.misreadings import MISREADINGS, OF_STORES, Mutant
from rocket_conformance.reference_adapter import REFERENCE, Library
from rocket_conformance.store_verdict import (
    Observations,
    judge_restart,
)
from rocket_conformance.store_verdict.restart_judge import start_over
from rocket_conformance.workload import Manifest
from rocket_golden import manifest, open_store
from rocket_reference import (
    DispatchRequest,
    IndexService,
    MessageStore,
    QueueTable,
    StoreCheckpoint,
    StoreConfig,
    dispatch_requests,
    encode_record,
    key_hash,
)
from rocket_spec.layout import Geometry
from store_bytes import overwrite, put

NOON = 1_767_268_800_000


EXTRA = {7: " again again", 8: " a,b", 9: "  c"}
"""What the keys of some messages end in."""


def broker_store(
    store: Path,
    build: Callable[[IndexService, DispatchRequest], None] = lambda index, request: index.build(request),
    messages: int = 20,
    slots: int = 7,
    entries: int = 500,
    library: Library = REFERENCE,
) -> Path:
    """The store of a broker that stopped cleanly: log, queue and index as the reference makes them.

    Args:
        store: where it goes.
        build: puts a message into the index.
        messages: number of messages, each with a unique key and two keys.
        slots: of an index file.
        entries: of an index file.
        library: the reference, or one that misreads a clause.
    """
    log = b""
    for number in range(messages):
        log += encode_record(
            "T",
            b"body",
            {"UNIQ_KEY": f"U{number}", "KEYS": f"k-{number} shared{EXTRA.get(number, '')}", "TAGS": "Tag"},
            queue_offset=number,
            phy_offset=len(log),
            store_timestamp=NOON + 100 * number,
        )
    (store / "commitlog").mkdir(parents=True)
    (store / "commitlog" / ("0" * 20)).write_bytes(log.ljust(1 << 16, b"\0"))
    times = StoreCheckpoint(store / "checkpoint")
    names = (f"202601010000000{number:02}" for number in range(99))
    index = library.IndexService(
        store / "index", slots, entries, new_name=lambda: next(names), checkpoint=times
    )
    queues = QueueTable(store / "consumequeue", 2000)
    for request in islice(dispatch_requests(log), messages):
        queues.dispatch(request, times)
        build(index, request)
        index.settle()
    times.flush()
    queues.close()
    index.close()
    return store


def twice(index: IndexService, request: DispatchRequest) -> None:
    index.build(request)
    index.build(request)


def last_twice(index: IndexService, request: DispatchRequest) -> None:
    index.build(request)
    if request.consume_queue_offset == 12:
        index.build(request)


def in_lower_case(index: IndexService, request: DispatchRequest) -> None:
    index.build(replace(request, uniq_key=(request.uniq_key or "").lower()))


def one_in_upper_case(index: IndexService, request: DispatchRequest) -> None:
    keys = (request.keys or "").upper() if request.consume_queue_offset == 5 else request.keys
    index.build(replace(request, keys=keys))


def test_a_store_of_the_reference_breaks_nothing(tmp_path: Path) -> None:
    judged = judge_store(broker_store(tmp_path / "store"))
    assert judged.with_outcome("broken") == []
    assert judged.outcome("IDX-SVC-9") == "not exercised"


def test_a_message_is_indexed_twice(tmp_path: Path) -> None:
    """A restart explains one message of a file, the last before it (IDX-SVC-8), and no more."""
    judged = judge_store(broker_store(tmp_path / "one", last_twice))
    assert judged.with_outcome("broken") == []
    assert judged.observations.notes == {
        "the last message before a restart is indexed twice (IDX-SVC-8, LOG-DSP-13)": 1
    }
    judged = judge_store(broker_store(tmp_path / "all", twice))
    assert judged.with_outcome("broken") == ["IDX-SVC-2"]
    assert judged.observations.kinds["IDX-SVC-2"].total() == 64 - 3  # entries


def test_keys_in_another_case(tmp_path: Path) -> None:
    """The hashes that were found say what was indexed."""
    broken = judge_store(broker_store(tmp_path / "store", one_in_upper_case)).observations.broken
    (place,) = broken["IDX-SVC-1"]
    assert (place.found, place.expected) == (key_hash("T#K-5"), key_hash("T#k-5"))
    assert place.rule == "keys in upper case"
    assert judge_store(broker_store(tmp_path / "ids", in_lower_case)).with_outcome("broken") == ["IDX-SVC-1"]


def test_entries_with_the_offset_of_no_record(tmp_path: Path) -> None:
    """Header and missing keys follow from it."""
    line = "buffer.put_long(position + 4, phy_offset)"
    mutant = Mutant("later", "IDX-PUT-6", "index_file", line, line.replace("phy_offset", "phy_offset + 8"))
    judged = judge_store(broker_store(tmp_path / "store", library=mutant.library(), entries=31))
    assert judged.with_outcome("broken") == ["IDX-PUT-6"]


def test_the_geometry_of_a_large_file_with_holes(tmp_path: Path) -> None:
    """It is found by what is in the file: trying every geometry of 80 MB takes half a minute."""
    store = broker_store(tmp_path / "store", slots=1_000_000, entries=4_000_000)
    judged = judge_store(store)
    assert judged.with_outcome("broken") == []
    assert judged.observations.held["IDX-PUT-6"] == 64
    mutant = next(mutant for mutant in MISREADINGS if mutant.name == "time-diff-in-milliseconds")
    store = broker_store(tmp_path / "wrong", slots=1_000_000, entries=4_000_000, library=mutant.library())
    broken = judge_store(store).observations.broken
    assert {place.rule for place in broken.pop(mutant.clause)} == {mutant.words}
    assert broken == {}


def question_of(key: str, most: int, begin: int, end: int, *, asked: int) -> dict[str, object]:
    question: dict[str, object] = {"do": "query", "topic": "T", "key": key, "max": most}
    return question | {"begin": begin, "end": end, "asked": asked}


def test_a_command_that_is_terminated_leaves_no_copy(tmp_path: Path) -> None:
    """The copy of the index is there while answers are judged."""
    store = broker_store(tmp_path / "store")
    times, temporary = NOON + 60_000, tmp_path / "tmp"
    temporary.mkdir()
    question = question_of("shared", 32, 0, times, asked=times)
    answer: dict[str, object] = {"messages": [], "last_update": None}
    Manifest(0, "4.9.3", answers=[{**question, "answer": answer}] * 3_000).write(tmp_path / "manifest.json")
    command = [sys.executable, "-m", "rocketspec", "conform", "--store", str(store), "--workload"]
    with subprocess.Popen(
        [*command, str(tmp_path / "manifest.json")], env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        while not any(temporary.glob("*/index")):
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            time.sleep(0.01)
        process.terminate()
        assert "Traceback" not in (process.stderr.read() if process.stderr else "")
    assert process.returncode != 0
    assert list(temporary.iterdir()) == []


MISREAD = (
    "begin-is-the-minimum",
    "begin-kept-at-the-seed",
    "empty-part-indexed",
    "end-offset-is-the-maximum",
    "entries-from-0",
    "key-at-a-full-file-lost",
    "keys-not-split",
    "keys-split-at-commas",
    "previous-entry-is-the-put-before",
    "previous-entry-not-linked",
    "repeated-key-once",
    "slot-count-on-every-put",
    "slot-keeps-its-first-entry",
    "time-diff-in-milliseconds",
    "time-diff-rounded",
    "unique-key-last",
    "unique-key-repeated-at-a-roll",
    "keys-in-upper-case",
    "at-sign-after-the-topic",
    "keys-without-topic",
    "last-key-left-out",
    "message-indexed-twice",
    "crc32-absolute",
    "hash-factor-33",
    "unique-key-ignored",
    "first-key-alone",
)


RELEASED = {"slot-count-on-every-put": "as releases 3.2.6 to 4.7.0 do"}
"""A misreading that earlier releases have: VERSIONS.md."""


@pytest.mark.parametrize("name", MISREAD)
def test_a_broker_that_misreads_one_clause_breaks_that_clause(name: str, tmp_path: Path) -> None:
    """The other differences follow from it."""
    mutant = next(mutant for mutant in (*MISREADINGS, *OF_STORES) if mutant.name == name)
    judged = judge_store(broker_store(tmp_path / "store", library=mutant.library(), messages=40, entries=31))
    places = judged.observations.broken
    if places:  # what the messages do not bring out, no store shows
        assert list(places) == [mutant.clause]
        assert not judged.observations.notes
        assert RELEASED.get(name, f"as with {mutant.words}") in str(places[mutant.clause][0])
    assert bool(places) == (name not in {"begin-is-the-minimum", "end-offset-is-the-maximum"})


@pytest.mark.parametrize(
    ("name", "clause"), [("window-end-exclusive", "IDX-SEL-4"), ("oldest-file-first", "IDX-SVC-13")]
)
def test_answers_of_a_broker_that_misreads_one_clause(name: str, clause: str, tmp_path: Path) -> None:
    store = broker_store(tmp_path / "store", messages=40, entries=31)
    mutants = (*MISREADINGS, *OF_STORES)
    mutant = next(mutant for mutant in mutants if mutant.clause == clause and name in mutant.name)
    service = mutant.library().IndexService(store / "index", 7, 31, new_name=str)
    service.load(last_exit_ok=True)
    asked = NOON + 60_000
    answers: list[dict[str, object]] = []
    for number in range(40):
        time = NOON + 100 * number
        for key, begin, end, most in (
            ("shared", NOON - 1000, time, 3),
            (f"k-{number}", time - 1000, time, 32),
        ):
            hits = service.query("T", key, most, begin, end).offsets
            rows = [[offset, "T", 0, 0, "", 0] for offset in sorted(hits)]
            question = question_of(key, most, begin, end, asked=asked)
            answers.append({**question, "answer": {"messages": rows}})
    service.close()
    seen = judge_store(store, manifest=Manifest(0, "4.9.3", answers=answers)).observations
    assert list(seen.broken) == [clause]


STARTS = {
    "bound-after-everything": "killed",
    "header-not-loaded": "killed",
    "nothing-deleted-after-a-crash": "killed",
    "recovery-dispatches-nothing": "killed",
    "recovery-does-not-index": "killed",
    "no-three-seconds-before-the-bound": "killed",
    "repeated-record-appended": "live-copy",
}


@pytest.mark.parametrize("name", STARTS)
def test_a_start_that_misreads_one_clause(name: str, tmp_path: Path) -> None:
    """The misreading with which the reference leaves the same store explains what the start leaves."""
    before, after = (open_store(STARTS[name], tmp_path / side) for side in ("before", "after"))
    geometry = Geometry(*manifest().stores[STARTS[name]].geometry)
    last = sorted((before / "commitlog").iterdir())[-2].read_bytes()
    # the bound is before the last log file, and no index file is kept
    for store in (before, after) if "three-seconds" in name else ():
        time = int.from_bytes(last[56:64]) + 1_000
        overwrite(store / "checkpoint", 0, time.to_bytes(8) * 2 + bytes(8))
    mutant = next(mutant for mutant in (*MISREADINGS, *OF_STORES) if mutant.name == name)
    look = partial(Store, geometry=geometry)
    start_over(look(after), mutant.library())
    seen = Observations()
    judge_restart(before, after, seen, look)
    assert list(seen.broken) == [mutant.clause]
    assert f"as with {mutant.words}" in str(seen.broken[mutant.clause][0])


@pytest.mark.parametrize(
    "settings", ["", "enableMultiDispatch=true", "enableMultiDispatch=true\nenableLmq=true"]
)
def test_a_start_dispatches_to_the_queues_of_the_configuration(settings: str, tmp_path: Path) -> None:
    """All queues were deleted: which ones a start makes of the log is not seen in the store."""
    before, conf = tmp_path / "before", tmp_path / "broker.conf"
    copies = {"INNER_MULTI_DISPATCH": "%LMQ%a", "INNER_MULTI_QUEUE_OFFSET": "0"}
    put(before, f"commitlog/{0:020}", encode_record("T", properties=copies, queue_id=1).ljust(4096, b"\0"))
    put(before, "abort", b"")
    conf.write_text(f"{settings}\nmaxHashSlotNum=7\nmaxIndexNum=9\nmappedFileSizeConsumeQueue=100\n")
    look = partial(Store, conf=read_broker_conf(conf))
    after = Path(shutil.copytree(before, tmp_path / "after"))
    config = StoreConfig(4096, 100, None, 7, 9, multi_dispatch="Multi" in settings, lmq="Lmq" in settings)
    started = MessageStore(after, config, new_index_name=names())
    assert started.load()
    started.start()
    assert started.shutdown()
    seen = Observations()
    judge_restart(before, after, seen, look)
    assert not seen.broken
    light = sorted(after.glob("consumequeue/%LMQ%a/*"))
    assert [path.name for path in light] == {"": [], "enableMultiDispatch=true": ["1"]}.get(settings, ["0"])
    for path in light:
        shutil.rmtree(path)
        judge_restart(before, after, seen, look)
        assert list(seen.broken) == ["STORE-14"]
