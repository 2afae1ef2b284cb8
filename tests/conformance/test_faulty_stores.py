"""Stores of brokers with one fault: audit and judge name its one clause. The broker is the reference over a log of many kinds of messages."""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from judged_stores import judge_store
from reference_starts import names
from rocket_columnar.audit import audit
from rocket_columnar.facts import Store
from rocket_columnar.restart import restart
from rocket_columnar.store import read_broker_conf
from rocket_conformance.misreadings import MISREADINGS, OF_STORES, Mutant
from rocket_conformance.reference_adapter import REFERENCE, Library
from rocket_conformance.store_verdict import Observations, judge_restart
from rocket_conformance.store_verdict.restart_judge import start_over
from rocket_conformance.workload import Manifest
from rocket_golden import manifest, open_store
from rocket_reference import MessageStore, StoreConfig, encode_record
from rocket_spec.layout import Geometry
from store_bytes import overwrite, put

NOON = 1_767_268_800_000
FILE = 8192
SETTINGS = (
    "maxHashSlotNum=97\nmaxIndexNum=200\nmappedFileSizeConsumeQueue=2000\nmappedFileSizeCommitLog=8192\n"
)
LIGHT = "enableLmq=true\nenableMultiDispatch=true\nenableConsumeQueueExt=true\nmappedFileSizeConsumeQueueExt=500\n"
BLANK_MAGIC = (-875286124).to_bytes(4, signed=True)
COMMIT, ROLLBACK = 8, 12

EXTRA = {7: " again again", 8: " a,b", 9: "  c"}
"""What the keys of some messages end in."""

Message = tuple[str, int, int, dict[str, str]]


def messages(first_light: int) -> Iterator[Message]:
    """Topic, queue, transaction type and properties: with up to 20 keys, tags that end in a blank, and two light queues."""
    light = Counter[str]()
    for number in range(120):
        keys = f"k{number} shared É{number}{EXTRA.get(number, '')}"
        keys = keys if number % 5 else " ".join(f"m{number}-{n}" for n in range(20))
        yield (
            "Plain",
            number % 3,
            0,
            {"UNIQ_KEY": f"U{number:04}", "KEYS": keys, "TAGS": f"Tag{number % 7} "},
        )
        if number % 4 == 0:
            further = f"%LMQ%a{number % 3}", "%LMQ%b"
            offsets = ",".join(str(first_light + light[name]) for name in further)
            light.update(further)
            pairs = {"INNER_MULTI_DISPATCH": ",".join(further), "INNER_MULTI_QUEUE_OFFSET": offsets}
            yield "Light", 1, 0, {"UNIQ_KEY": f"L{number:04}", "TAGS": "a"} | pairs
        if number % 10 in (3, 4):
            yield "Paid", 0, COMMIT if number % 10 == 4 else ROLLBACK, {"UNIQ_KEY": f"P{number}"}


def write_log(
    store: Path,
    *,
    rooms: Mapping[int, int] | None = None,
    first_light: int = 0,
    counts: tuple[int, ...] = (0, COMMIT),
    blank: Callable[[int], int] = lambda left: left,
) -> None:
    """Writes the log of a store.

    Args:
        store: where it goes.
        rooms: bytes that stay free at the ends of these files; 8 at those of others.
        first_light: logical offset of the first message of a light queue.
        counts: transaction types that count as messages of their queue.
        blank: the length that a blank states, by the bytes to the file's end.
    """
    files, queues = [b""], Counter[tuple[str, int]]()
    for number, (topic, queue_id, kind, properties) in enumerate(messages(first_light)):
        queue = topic, queue_id

        record = partial(
            encode_record,
            topic,
            b"body %d" % number,
            properties,
            queue_id=queue_id,
            queue_offset=queues[queue] if kind in (0, COMMIT) else 0,
            store_timestamp=NOON + 37 * number,
            sys_flag=kind,
        )
        left = FILE - len(files[-1])
        if len(record()) + (rooms or {}).get(len(files) - 1, 8) > left:
            files[-1] += blank(left).to_bytes(4) + BLANK_MAGIC
            files.append(b"")
        files[-1] += record(phy_offset=FILE * (len(files) - 1) + len(files[-1]))
        queues[queue] += kind in counts
    (store / "commitlog").mkdir(parents=True)
    for number, data in enumerate(files):
        (store / "commitlog" / f"{FILE * number:020}").write_bytes(data.ljust(FILE, b"\0"))


def made(store: Path, library: Library = REFERENCE, slots: int = 97, entries: int = 200, **log: Any) -> Path:
    """The store of a broker that dispatched all of its log and stopped cleanly."""
    write_log(store, **log)
    (store / "abort").touch()
    config = library.StoreConfig(FILE, 2000, 500, slots, entries, multi_dispatch=True, lmq=True)
    broker = library.MessageStore(store, config, new_index_name=names())
    assert broker.load()
    broker.start()
    assert broker.shutdown()
    shutil.rmtree(store / "lock", ignore_errors=True)
    return store


def renamed(store: Path, folder: str, name: Callable[[int, int], str]) -> None:
    """Gives the files of a folder other names, by the place of each and its number."""
    for place, path in enumerate(sorted(file for file in (store / folder).rglob("*") if file.is_file())):
        path.rename(path.with_name(name(place, int(path.name))))


def misreading(name: str) -> Mutant:
    return next(mutant for mutant in (*MISREADINGS, *OF_STORES) if mutant.name == name)


def test_a_store_without_a_fault(tmp_path: Path) -> None:
    store = made(tmp_path / "store")
    assert judge_store(store).with_outcome("broken") == []
    assert list(audit(store, "exact")) == []


OF_LOG: dict[str, tuple[str, dict[str, Any]]] = {
    "a blank states another length": ("LOG-BLANK-1", {"blank": lambda left: left - 8}),
    "a file ends although a record would fit": ("LOG-BLANK-1", {"rooms": dict.fromkeys(range(9), 300)}),
    "light queues begin at 1": ("CQ-LMQ-4", {"first_light": 1}),
    "a rolled-back message counts": ("LOG-REC-6", {"counts": (0, COMMIT, ROLLBACK)}),
}


@pytest.mark.parametrize("name", OF_LOG)
def test_faults_of_appends(name: str, tmp_path: Path) -> None:
    clause, log = OF_LOG[name]
    both_name(made(tmp_path / "store", **log), clause)


OF_DISPATCH = """\
entries eight bytes after their records; IDX-PUT-6; index_file; buffer.put_long(position + 4, phy_offset); buffer.put_long(position + 4, phy_offset + 8)
first light queue alone; CQ-LMQ-1; queue_table; zip(names, offsets, strict=True); [(names[0], offsets[0])]
rolled-back messages are queued; LOG-DSP-7; queue_table; (_TRANSACTION_NOT, _TRANSACTION_COMMIT); (_TRANSACTION_NOT, _TRANSACTION_COMMIT, 12)
tags without blanks; CQ-TAGS-1; consume_queue; string_hash(tags); string_hash(tags.strip())
address of a unit's end; CQ-EXT-2; consume_queue_ext_store; position + mapped_file.file_from_offset); position + mapped_file.file_from_offset + size)
no end mark; CQ-EXT-3; consume_queue_ext_store; mapped_file.view[position : position + len(_END_MARK)] = _END_MARK; pass
ext unit of another time; CQ-EXT-1; consume_queue_ext_store; encode_ext_unit(tags_code, store_timestamp; encode_ext_unit(tags_code, store_timestamp + 1
sixteen keys at most; IDX-SVC-2; index_service; split_one_space(request.keys or ""); split_one_space(request.keys or "")[:16]
keys in reverse; IDX-SVC-2; index_service; split_one_space(request.keys or ""); reversed(split_one_space(request.keys or ""))
end offset after the record's begin; IDX-HDR-3; index_file; set_end_phy_offset(phy_offset)  #; set_end_phy_offset(phy_offset + 1)  #
"""
"""Faults, each with its clause, the module of the reference that is changed, and the old and the new text."""


@pytest.mark.parametrize("fault", OF_DISPATCH.splitlines())
def test_faults_of_the_dispatch(fault: str, tmp_path: Path) -> None:
    name, clause, module, old, new = fault.split("; ")
    both_name(made(tmp_path / "store", Mutant(name, clause, module, old, new).library()), clause)


def swap_slots(store: Path) -> None:
    """Has the two slots with the longest chains of the first index file lead to each other's entries."""
    path = min((store / "index").iterdir())
    data = path.read_bytes()

    def length(entry: int) -> int:
        at = 40 + 4 * 97 + 20 * entry + 16
        return 0 if not entry else 1 + length(int.from_bytes(data[at : at + 4]))

    slots = sorted(range(40, 40 + 4 * 97, 4), key=lambda at: length(int.from_bytes(data[at : at + 4])))
    for at, other in (slots[-2:], slots[:-3:-1]):
        overwrite(path, at, data[other : other + 4])


OF_FILES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "index files are numbered": ("IDX-SVC-4", lambda store: renamed(store, "index", lambda at, _: f"{at:020}")),
    "queue files have no zeros": (
        "CQ-FILE-2",
        lambda store: renamed(store, "consumequeue", lambda _, base: str(base)),
    ),
    "ext files have no zeros": (
        "CQ-EXT-4",
        lambda store: renamed(store, "consumequeue_ext", lambda _, base: str(base)),
    ),
    "a checkpoint of 24 bytes": ("CKP-2", lambda store: os.truncate(store / "checkpoint", 24)),
    "two slots are swapped": ("IDX-PUT-7", swap_slots),
    "an ext file is that of a later place": (
        "CQ-EXT-4",
        lambda store: (store / f"consumequeue_ext/Plain/0/{500:020}").rename(
            store / f"consumequeue_ext/Plain/0/{1000:020}"
        ),
    ),
    "no time of the queues": ("CQ-PUT-9", lambda store: overwrite(store / "checkpoint", 8, bytes(8))),
    "index time of a file's begin": (
        "IDX-SVC-18",
        lambda store: overwrite(store / "checkpoint", 16, sorted((store / "index").iterdir())[-2].read_bytes()[:8]),
    ),
    "no checksum of a body": (
        "LOG-REC-4",
        lambda store: overwrite(store / "commitlog" / f"{0:020}", 8, bytes(4)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_FILES)
def test_faults_of_names_and_flushes(name: str, tmp_path: Path) -> None:
    clause, change = OF_FILES[name]
    store = made(tmp_path / "store")
    change(store)
    both_name(store, clause)


def both_name(store: Path, clause: str) -> None:
    """Asserts that the judge calls this clause alone broken, and that the audit names no other one in a finding that is no note."""
    assert judge_store(store).with_outcome("broken") == [clause]
    found = list(audit(store, "exact"))
    assert clause in {one.clause for one in found}
    also = {
        "CQ-PUT-3",
        "CKP-6",
        "IDX-SVC-2",
        "CQ-EXT-2",
    }  # what follows from it for consumers, a recovery and queries
    assert {one.clause for one in found if one.severity != "note"} <= {clause, *also}


def test_a_start_ignores_the_length_of_a_blank(tmp_path: Path) -> None:
    """LOG-BLANK-2: nothing is lost."""
    store = made(tmp_path / "store", blank=lambda left: left - 8)
    foretold = restart(store)
    assert (foretold.refused, foretold.deletions, foretold.lost_units) == (None, (), ())
    assert not foretold.lost
    assert foretold.log_end == Store(store).end == Store(made(tmp_path / "sound")).end


def test_one_file_that_ends_early_may_be_that_of_a_kill(tmp_path: Path) -> None:
    """The blank is written before the next file is made for the record, which is lost."""
    judged = judge_store(made(tmp_path / "store", rooms={1: 300}))
    assert judged.with_outcome("broken") == []
    (note,) = judged.observations.notes
    assert note.startswith("a blank whose record is not stored")


def test_a_light_queue_of_another_number(tmp_path: Path) -> None:
    store = made(tmp_path / "store")
    (store / "consumequeue/%LMQ%b/0").rename(store / "consumequeue/%LMQ%b/5")
    conf = read_broker_conf(put(tmp_path, "broker.conf", (SETTINGS + LIGHT).encode()))
    assert judge_store(store, conf=conf).with_outcome("broken") == ["CQ-LMQ-2"]


def test_hashes_that_another_key_of_the_message_has(tmp_path: Path) -> None:
    """Those of m5-0 and m5-1, say, may differ in the last bit: a message with both seems to have them in another order."""
    fault = Mutant("other bit", "IDX-HASH-1", "index_file", "string_hash(key)", "(string_hash(key) ^ 1)")
    store = made(tmp_path / "store", fault.library())
    assert judge_store(store).with_outcome("broken") == ["IDX-HASH-1"]


def test_two_faults_at_once(tmp_path: Path) -> None:
    """Neither hides the other."""
    fault = next(fault for fault in OF_DISPATCH.splitlines() if "LOG-DSP-7" in fault)
    store = made(tmp_path / "store", Mutant(*fault.split("; ")).library(), first_light=1)  # type: ignore[arg-type]
    os.truncate(store / "checkpoint", 24)
    assert set(judge_store(store).with_outcome("broken")) == {"CKP-2", "CQ-LMQ-4", "LOG-DSP-7"}


def test_the_geometry_of_a_large_file_with_holes(tmp_path: Path) -> None:
    """It is found by what is in the file: trying every geometry of 80 MB takes half a minute."""
    large: dict[str, Any] = {"slots": 1_000_000, "entries": 4_000_000}
    judged = judge_store(made(tmp_path / "store", **large))
    assert judged.with_outcome("broken") == []
    keys = [1 + len(pairs.get("KEYS", "").split()) for *_, kind, pairs in messages(0) if kind != ROLLBACK]
    assert judged.observations.held["IDX-PUT-6"] == sum(keys)
    mutant = misreading("time-diff-in-milliseconds")
    broken = judge_store(made(tmp_path / "wrong", mutant.library(), **large)).observations.broken
    assert {place.rule for place in broken.pop(mutant.clause)} == {mutant.words}
    assert broken == {}


def question_of(key: str, most: int, begin: int, end: int, *, asked: int) -> dict[str, object]:
    question: dict[str, object] = {"do": "query", "topic": "Plain", "key": key, "max": most}
    return question | {"begin": begin, "end": end, "asked": asked}


def test_a_command_that_is_terminated_leaves_no_copy(tmp_path: Path) -> None:
    """The copy of the index is there while answers are judged."""
    store = made(tmp_path / "store")
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


MISREAD = [
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
    "unique-key-ignored",
    "first-key-alone",
]


RELEASED = {"slot-count-on-every-put": "as releases 3.2.6 to 4.7.0 do"}
"""A misreading that earlier releases have: VERSIONS.md."""


@pytest.mark.parametrize("name", MISREAD)
def test_a_broker_that_misreads_one_clause_breaks_that_clause(name: str, tmp_path: Path) -> None:
    """The other differences follow from it."""
    mutant = misreading(name)
    judged = judge_store(made(tmp_path / "store", mutant.library()))
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
    store = made(tmp_path / "store")
    service = misreading(name).library().IndexService(store / "index", 97, 200, new_name=str)
    service.load(last_exit_ok=True)
    asked = NOON + 60_000
    answers: list[dict[str, object]] = []
    for number in range(40):
        time = NOON + 100 * number
        for key, begin, end, most in (
            ("shared", NOON - 1000, time, 3),
            (f"k{number}", time - 1000, time, 32),
        ):
            hits = service.query("Plain", key, most, begin, end).offsets
            rows = [[offset, "Plain", 0, 0, "", 0] for offset in sorted(hits)]
            question = question_of(key, most, begin, end, asked=asked)
            answers.append({**question, "answer": {"messages": rows}})
    service.close()
    seen = judge_store(store, manifest=Manifest(0, "4.9.3", answers=answers)).observations
    assert list(seen.broken) == [clause]


OF_KILLED = [
    "bound-after-everything",
    "header-not-loaded",
    "nothing-deleted-after-a-crash",
    "recovery-dispatches-nothing",
    "recovery-does-not-index",
    "no-three-seconds-before-the-bound",
]
STARTS = dict.fromkeys(OF_KILLED, "killed") | {"repeated-record-appended": "live-copy"}
"""Misreadings, and the store that a start with each goes over."""


@pytest.mark.parametrize("name", STARTS)
def test_a_start_that_misreads_one_clause(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The misreading with which the reference leaves the same store explains what the start leaves; queues are read in parts."""
    monkeypatch.setattr("rocket_conformance.store_verdict.restart_judge._BYTES_AT_ONCE", 60)
    before, after = (open_store(STARTS[name], tmp_path / side) for side in ("before", "after"))
    geometry = Geometry(*manifest().stores[STARTS[name]].geometry)
    last = sorted((before / "commitlog").iterdir())[-2].read_bytes()
    # the bound is before the last log file, and no index file is kept
    for store in (before, after) if "three-seconds" in name else ():
        time = int.from_bytes(last[56:64]) + 1_000
        overwrite(store / "checkpoint", 0, time.to_bytes(8) * 2 + bytes(8))
    mutant = misreading(name)
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
