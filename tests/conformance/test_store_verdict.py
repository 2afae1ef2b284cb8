"""Stores judged without an adapter: those of the real broker hold every clause, damaged ones break the damaged clause."""

import os
import shutil
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from judged_stores import judge_store
from rocket_columnar.audit import Level, audit
from rocket_columnar.facts import Store
from rocket_columnar.store import BrokerConf, read_broker_conf
from rocket_conformance.store_verdict import store_report
from rocket_conformance.workload import Manifest, Sent
from rocket_golden import Damaged, damaged, manifest, open_damaged, open_store, stores
from rocket_reference import DELAY_LEVELS, QueueTable, StoreCheckpoint, dispatch_requests, encode_record
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import MESSAGE_MAGIC, Geometry
from store_bytes import BEGIN, blank, checkpoint, overwrite, put, record, unit
from verb_run import Verb

DAMAGE = {
    "checkpoint-ahead": ("CKP-4", {"IDX-SVC-18"}),
    "checkpoint-behind": ("CKP-6", {"CQ-PUT-9", "IDX-SVC-18"}),
    "entry-magic": ("DLG-2", {"DLG-11", "DLG-2"}),
    "entry-position": ("DLG-2", {"DLG-11", "DLG-2"}),
    "index-ahead-of-log": ("IDX-HDR-3", set[str]()),
    "index-chain-cycle": ("IDX-PUT-6", {"IDX-PUT-6"}),
    "index-empty": ("IDX-FILE-2", {"IDX-FILE-2", "IDX-SVC-18"}),
    "index-entry-dangling": ("IDX-PUT-6", {"IDX-PUT-6"}),
    "index-entry-wrong-key": ("IDX-SVC-2", {"IDX-SVC-2"}),
    "index-header-bounds-begin": ("IDX-HDR-2", {"IDX-HDR-2"}),
    "index-header-bounds-end": ("IDX-HDR-3", {"IDX-HDR-3"}),
    "index-header-count-high": ("IDX-PUT-1", {"IDX-PUT-1"}),
    "index-header-count-low": ("IDX-PUT-1", {"IDX-PUT-1"}),
    "index-missing-key": ("IDX-PUT-7", {"IDX-PUT-7"}),
    "index-name-order": ("IDX-SVC-8", {"IDX-SVC-8"}),
    "index-prev-range": ("IDX-PUT-6", {"IDX-PUT-6"}),
    "index-size-long": ("IDX-FILE-1", {"IDX-FILE-1"}),
    "index-size-short": ("IDX-FILE-1", {"IDX-FILE-1"}),
    "index-slot-hash": ("IDX-PUT-7", {"IDX-PUT-7"}),
    "index-slot-range": ("IDX-PUT-7", {"IDX-PUT-7"}),
    "log-crc": ("LOG-REC-4", {"LOG-REC-4"}),
    "log-gap": ("LOG-FILE-1", {"LOG-FILE-1"}),
    "log-length": ("LOG-REC-3", {"LOG-REC-3"}),
    "log-magic": ("LOG-REC-1", {"LOG-REC-1"}),
    "log-position": ("LOG-REC-7", {"LOG-REC-7"}),
    "log-torn": ("LOG-FILE-2", {"LOG-FILE-2"}),
    "queue-dangling": ("CQ-UNIT-1", {"CQ-UNIT-1"}),
    "queue-gap": ("CQ-FILE-2", {"CQ-FILE-2"}),
    "queue-missing-unit": ("CQ-PUT-5", {"CQ-PUT-5"}),
    "queue-order": ("CQ-PUT-5", {"CQ-PUT-5"}),
    "queue-size": ("CQ-FILE-1", {"CQ-FILE-1"}),
    "queue-tags-code": ("CQ-TAGS-1", {"CQ-TAGS-1"}),
    "queue-wrong-target": ("CQ-FILE-3", {"CQ-FILE-3"}),
}
"""Kind of damage: the clause of the audit's finding at it, and those that the judge calls broken, others aside."""


LEGAL = {"index-ahead-of-log", "store-abort"}
"""Damage that a crash of 4.9.3 leaves as well: it breaks nothing."""


NOT_EXERCISED_ALWAYS = {"IDX-SEL-1", "IDX-TIME-1", "QRY-1", "CQ-GET-1"}
"""Clauses about answers, which no file shows."""


EVERY = [*stores(), *stores(unclean=True)]
PRE_BLANK = bytes(8) + b"\x7f\xff\xff\xff" + bytes(8)


@pytest.mark.parametrize("name", EVERY)
def test_stores_of_the_real_broker_break_nothing(name: str, tmp_path: Path) -> None:
    store = open_store(name, tmp_path)
    judged = judge_store(store)
    assert judged.with_outcome("broken") == []
    assert set(judged.with_outcome("not exercised")) >= NOT_EXERCISED_ALWAYS
    held = set(judged.with_outcome("held"))
    assert held >= {
        "IDX-HASH-1",
        "IDX-SVC-2",
        "IDX-PUT-6",
        "IDX-HDR-4",
        "CQ-UNIT-1",
        "CQ-FILE-4",
        "LOG-REC-7",
    }
    entry = manifest().stores[name]
    assert judged.records == entry.truth_lines["log_record"]
    seen = judge_store(store, geometry=Geometry(*entry.geometry)).observations
    torn = sum(count for note, count in seen.notes.items() if "IDX-PUT-11" in note)
    assert seen.held["IDX-PUT-6"] + torn == entry.truth_lines["index_entry"]
    assert seen.held["LOG-REC-7"] == entry.truth_lines["log_record"]


def test_a_log_in_three_directories(tmp_path: Path, verb: Verb) -> None:
    store = open_store("many-paths", tmp_path)
    directories = [store / f"commitlog-{letter}" for letter in "abc"]
    options = [option for directory in directories for option in ("--commitlog", directory)]
    done = verb("conform", "--store", store, *options)
    assert done.code == 0, done.out
    assert judge_store(store, commitlog=directories).records == 120
    assert verb("conform", "--store", store, *options[:4]).code == 1
    assert verb("conform", "--commitlog", store, "--", "adapter").code == 2


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(one, id=one.name, marks=pytest.mark.soak if one.name.startswith("mixed-index-") else ())
        for one in damaged()
    ],
)
def test_damage_breaks_its_clause(variant: Damaged, tmp_path: Path) -> None:
    """Audit and judge name the same clause, or the judge one more that the damage breaks too."""
    store = open_damaged(variant.name, tmp_path)
    kind = variant.name.removeprefix(f"{variant.store}-")
    clause, others = DAMAGE.get(kind, (None, set[str]()))
    level: Level = "deep" if kind == "log-crc" else "default"
    found = {one.clause for one in audit(Store(store), level) if one.code in (variant.damage, "queue.gap")}
    assert clause in found
    broken = set(judge_store(store).with_outcome("broken"))
    assert bool(broken) == (kind not in LEGAL)
    assert broken >= others


def without_the_first_file_of_a_queue(store: Path) -> None:
    """A queue that was deleted begins again with pre-blank units; this one begins with a unit."""
    queues = [sorted(folder.iterdir()) for folder in store.glob("consumequeue/*/*")]
    next(files for files in queues if len(files) > 1)[0].unlink()


CHANGED: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "no index": (lambda store: shutil.rmtree(store / "index"), ["IDX-SVC-7"]),
    "no queue": (lambda store: shutil.rmtree(store / "consumequeue"), ["CQ-FILE-3"]),
    "no checkpoint": (lambda store: (store / "checkpoint").unlink(), ["CKP-2"]),
    "no first file of a queue": (without_the_first_file_of_a_queue, ["CQ-PUT-5"]),
    "a pre-blank unit over a unit": (
        lambda store: overwrite(min(store.glob("consumequeue/*/*/*")), 20, PRE_BLANK),
        ["CQ-UNIT-2"],
    ),
    "a queue folder whose name is not UTF-8": (
        lambda store: (store / "consumequeue" / os.fsdecode(b"a\xff") / "0").mkdir(parents=True),
        [],
    ),
}
"""What is done to a store, and the clauses that it breaks then."""


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_store_breaks_the_clauses_that_the_log_demands(name: str, tmp_path: Path) -> None:
    change, clauses = CHANGED[name]
    store = open_store("small-roll", tmp_path)
    change(store)
    judged = judge_store(store)
    assert judged.with_outcome("broken") == clauses
    assert store_report(judged).exit_code == (1 if clauses else 0)
    assert clauses != ["CQ-UNIT-2"] or judged.observations.broken["CQ-UNIT-2"][0].offset == 20


def test_an_index_without_entries_needs_a_geometry(tmp_path: Path) -> None:
    store = open_store("small-roll", tmp_path)
    for path in (store / "index").iterdir():
        path.write_bytes(bytes(len(path.read_bytes())))
    with pytest.raises(UsageError, match="give --geometry SLOTS,ENTRIES"):
        judge_store(store)


def test_a_directory_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a store: contains no commitlog"):
        judge_store(tmp_path)
    with pytest.raises(FileNotFoundError):
        judge_store(tmp_path / "nowhere")


def test_the_directory_of_the_log_given_twice(tmp_path: Path) -> None:
    store = open_store("transactions", tmp_path)
    verdict = judge_store(store, commitlog=[store / "commitlog"])
    assert verdict.records == judge_store(store).records


@pytest.mark.parametrize("base", ["9223372036854775807", "9223372036854759424"])
def test_a_log_file_that_ends_beyond_64_bits(base: str, tmp_path: Path) -> None:
    store = open_store("transactions", tmp_path)
    log = store / "commitlog"
    (log / "00000000000000032768").rename(log / base)
    with pytest.raises(MalformedError, match=f"{base}: found base offset {int(base):,}, expected"):
        judge_store(store)


@pytest.mark.parametrize(("later", "broken"), [(0, []), (-1, ["CQ-PUT-9"])])
def test_a_flush_of_the_queues_may_have_put_back_their_time(
    later: int, broken: list[str], tmp_path: Path
) -> None:
    """To that of an earlier record, since it sets what it found at its beginning; no other time comes about so.

    The index time is another one, though it is that of an earlier record, too.
    """
    store = open_store("small-roll", tmp_path)
    (log,) = sorted(store.glob("commitlog/*"))[-1:]
    data = log.read_bytes()
    times, at = [], 0
    while data[at + 4 : at + 8] == MESSAGE_MAGIC.to_bytes(4, signed=True):
        times.append(int.from_bytes(data[at + 56 : at + 64]))
        at += int.from_bytes(data[at : at + 4])
    assert times[-1] - 10_000 < times[-2] < times[-1]
    assert (store / "checkpoint").read_bytes()[8:16] == times[-1].to_bytes(8)
    overwrite(store / "checkpoint", 8, (times[-2] + later).to_bytes(8))
    assert judge_store(store).with_outcome("broken") == broken
    overwrite(store / "checkpoint", 8, (store / "checkpoint").read_bytes()[16:24])
    assert judge_store(store).with_outcome("broken") == ["CQ-PUT-9"]


@pytest.mark.parametrize(
    ("second", "last", "broken"),
    [
        (0, 60_000, ["CQ-PUT-9"]),
        (1, 60_000, []),
        (60, 60_000, []),
        (0, 11_000, []),
        (0, 11_001, ["CQ-PUT-9"]),
    ],
)
def test_a_flush_of_the_queues_takes_ten_seconds_at_most(
    second: int, last: int, broken: list[str], tmp_path: Path
) -> None:
    """Two records, a second apart, are in the first log file, the last one is in the second: from its second on they were flushed."""
    size = len(record(0))
    log = record(0) + record(size, queue_offset=1, store_timestamp=BEGIN + 1_000)
    put(tmp_path, f"commitlog/{0:020}", log + blank(256 - len(log)))
    newest = record(256, queue_offset=2, store_timestamp=BEGIN + last)
    put(tmp_path, f"commitlog/{256:020}", newest.ljust(256, b"\0"))
    put(tmp_path, f"consumequeue/T/0/{0:020}", b"".join(unit(at, size) for at in (0, size, 256)))
    put(tmp_path, "checkpoint", checkpoint(BEGIN, BEGIN + 1_000 * second, 0))
    verdict = judge_store(tmp_path).observations.broken
    assert [clause for clause in verdict if clause.startswith("CQ-")] == broken


def test_a_record_that_repeats_a_logical_offset_and_has_no_unit_holds_the_clause_of_the_put(
    tmp_path: Path,
) -> None:
    """`ConsumeQueue.putMessagePositionInfo` 506-513 (4.9.3) leaves it out; that the record states it is another fault."""
    size = len(record(0))
    log = b"".join(record(size * number, queue_offset=at) for number, at in enumerate((0, 1, 2, 1, 3)))
    put(tmp_path, f"commitlog/{0:020}", log.ljust(1024, b"\0"))
    units = b"".join(unit(size * number, size) for number in (0, 1, 2, 4))
    put(tmp_path, f"consumequeue/T/0/{0:020}", units.ljust(200, b"\0"))
    verdict = judge_store(tmp_path)
    assert (verdict.outcome("CQ-PUT-2"), verdict.outcome("LOG-REC-6")) == ("held", "broken")


@pytest.mark.parametrize(
    ("physic", "logics", "broken"),
    [(1, 1, False), (1, 2, False), (1, 0, True)],
    ids=["equal", "before", "after"],
)
def test_times_after_the_last_record_are_those_of_a_log_that_was_cut_off(
    physic: int, logics: int, tmp_path: Path, *, broken: bool
) -> None:
    """A recovery truncates the log, not the checkpoint; the time of the log is never after that of the queues then (CKP-4)."""
    put(tmp_path, f"commitlog/{0:020}", record(0).ljust(1024, b"\0"))
    put(tmp_path, f"consumequeue/T/0/{0:020}", unit(0, len(record(0))).ljust(200, b"\0"))
    put(tmp_path, "checkpoint", checkpoint(BEGIN + physic, BEGIN + logics, 0))
    assert ("CKP-4" in judge_store(tmp_path).observations.broken) == broken


@pytest.mark.parametrize("length", [0, 23, 100])
def test_a_short_checkpoint_is_judged_and_not_extended(length: int, tmp_path: Path) -> None:
    store = open_store("transactions", tmp_path)
    os.truncate(store / "checkpoint", length)
    verdict = judge_store(store)
    assert "CKP-2" in verdict.with_outcome("broken")
    assert (store / "checkpoint").stat().st_size == length


@pytest.mark.parametrize("pattern", ["consumequeue/*/*/*", "index/*", "commitlog/*", "checkpoint"])
def test_a_file_with_a_hole_of_a_terabyte(pattern: str, tmp_path: Path) -> None:
    store = open_store("small-roll", tmp_path)
    path = max(store.glob(pattern))
    os.truncate(path, 1 << 40)
    broken = judge_store(store).observations.broken.values()
    assert path.relative_to(store).as_posix() in {place.file for places in broken for place in places}


def test_a_record_that_claims_two_gigabytes(tmp_path: Path) -> None:
    for name in ("small-roll", "dledger"):
        store = open_store(name, tmp_path)
        path = min([*store.glob("dledger-*/data/*"), *store.glob("commitlog/*")])
        overwrite(path, 48 if name == "dledger" else 0, b"\x7f\xff\xff\xff")
        assert ("DLG-4" if name == "dledger" else "LOG-REC-3") in judge_store(store).with_outcome("broken")


@pytest.mark.parametrize(
    "geometry", [Geometry(1, 2147483647), Geometry(2147483647, 1), Geometry(536870900, 1)]
)
def test_a_geometry_that_no_file_can_have(geometry: Geometry, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="found 308 bytes, but geometry"):
        judge_store(open_store("small-roll", tmp_path), geometry=geometry)


def test_light_queues_at_other_offsets_than_their_messages_ask_for(tmp_path: Path) -> None:
    """A first unit may ask for 0 anywhere (CQ-PUT-4); no restart puts one that asks for 1 at 2."""
    store = open_store("lmq", tmp_path)
    first = min(store.glob("consumequeue/%LMQ%*/0/*"))
    length = first.stat().st_size
    first.write_bytes((PRE_BLANK + first.read_bytes())[:length])
    judged = judge_store(store)
    assert judged.with_outcome("broken") == ["CQ-LMQ-1"]
    assert judged.observations.broken["CQ-LMQ-1"][0].offset == 40


@pytest.mark.parametrize(
    ("seconds", "step", "time", "outcome"),
    [
        (60, 500, 0, "broken"),
        (60, 500, 60 - 31, "broken"),
        (60, 500, 60 - 12, "held"),
        (20, 500, 0, "not exercised"),
        (60, 1000, 0, "broken"),
        (60, 1001, 0, "not exercised"),
    ],
)
def test_the_time_of_the_log_after_a_record_every_few_ms(
    seconds: int, step: int, time: int, outcome: str, tmp_path: Path
) -> None:
    """CKP-6: a broker that is stopped after a minute has flushed thoroughly; one of 20 s need not, nor one that may have started since."""
    log = b""
    for number in range(1000 * seconds // step + 1):
        log += record(
            len(log), topic=b"T", body=b"x", queue_offset=number, store_timestamp=BEGIN + step * number
        )
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "commitlog" / f"{0:020}").write_bytes(log.ljust(1 << 16, b"\0"))
    physic = BEGIN + 1000 * time if time else 0
    times = struct.pack(">qqq", physic, BEGIN + 1000 * seconds, 0)
    (tmp_path / "checkpoint").write_bytes(times.ljust(4096, b"\0"))
    assert judge_store(tmp_path).outcome("CKP-6") == outcome


def configured(folder: Path, **settings: object) -> BrokerConf:
    """The configuration of a broker with these settings."""
    path = folder / "broker.conf"
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return read_broker_conf(path)


def own_store(store: Path, log: bytes, *, delays: Sequence[int] = DELAY_LEVELS) -> Path:
    """The store of a broker that stopped cleanly: log and queues as the reference makes them, without an index."""
    (store / "commitlog").mkdir(parents=True)
    (store / "commitlog" / f"{0:020}").write_bytes(log.ljust(1 << 16, b"\0"))
    times, queues = StoreCheckpoint(store / "checkpoint"), QueueTable(store / "consumequeue", 2000)
    for request in dispatch_requests(log, delay_levels=delays):
        if request.success and request.msg_size > 0:
            queues.dispatch(request, times)
    times.flush()
    queues.close()
    return store


def two_queues(topic: str, properties: Sequence[dict[str, str]]) -> bytes:
    """A log of messages with these properties, in queues 0 and 1 by turns, a ms apart."""
    log = b""
    for number, one in enumerate(properties):
        log += encode_record(
            topic,
            b"x",
            one,
            queue_id=number % 2,
            queue_offset=number // 2,
            phy_offset=len(log),
            store_timestamp=BEGIN + number,
        )
    return log


def test_delays_of_its_own(tmp_path: Path) -> None:
    """The broker's messageDelayLevel is that of its configuration; without one its units show it."""
    due = [{"DELAY": str(number % 2 + 1), "REAL_TOPIC": "T", "REAL_QID": "0"} for number in range(4)]
    log = two_queues("SCHEDULE_TOPIC_XXXX", due)
    store = own_store(tmp_path / "store", log, delays=(7_000, 20_000))
    conf = configured(tmp_path, messageIndexEnable="false", messageDelayLevel="7s 20s")
    assert judge_store(store, conf=conf).with_outcome("broken") == []
    verdict = judge_store(store)
    assert verdict.with_outcome("broken") == ["IDX-SVC-7"]
    assert [note for note in verdict.observations.notes if "level 1 waits 7 s, level 2 waits 20 s" in note]
    assert len(judge_store(store, conf=configured(tmp_path)).observations.broken["CQ-TAGS-2"]) == 2
    conf = configured(tmp_path, messageIndexEnable="false", messageDelayLevel="7s 20s")
    for queue in (store / "consumequeue" / "SCHEDULE_TOPIC_XXXX").iterdir():
        unit = queue / f"{0:020}"
        overwrite(unit, 32, (int.from_bytes(unit.read_bytes()[32:40]) + 1).to_bytes(8))
    seen = judge_store(store, conf=conf).observations
    assert [place.offset for place in seen.broken["CQ-TAGS-2"]] == [32, 32]


def test_an_index_that_is_switched_off(tmp_path: Path) -> None:
    """From the beginning, or since a kill, after which a start deleted the last file: keys of later messages are in no file."""
    store = open_store("small-roll", tmp_path)
    off = configured(tmp_path, messageIndexEnable="false")
    *_, before, last = sorted((store / "index").iterdir())
    last.unlink()
    overwrite(store / "checkpoint", 16, before.read_bytes()[8:16])
    assert "IDX-SVC-2" in judge_store(store).with_outcome("broken")
    assert judge_store(store, conf=off).with_outcome("broken") == []
    overwrite(store / "checkpoint", 16, (int.from_bytes(before.read_bytes()[8:16]) - 1).to_bytes(8))
    assert judge_store(store, conf=off).with_outcome("broken") == ["IDX-SVC-18"]
    shutil.rmtree(store / "index")
    assert judge_store(store).with_outcome("broken") == ["IDX-SVC-7"]
    assert judge_store(store, conf=off).with_outcome("broken") == []


def test_further_queues_that_are_no_light_ones(tmp_path: Path) -> None:
    """Their number is that of the message's own queue (CQ-LMQ-2)."""
    further = [
        {"INNER_MULTI_DISPATCH": "Further", "INNER_MULTI_QUEUE_OFFSET": str(number // 2)}
        for number in range(8)
    ]
    store = tmp_path / "store"
    own_store(store, two_queues("T", further))
    for queue in ("0", "1"):
        shutil.copytree(store / "consumequeue" / "T" / queue, store / "consumequeue" / "Further" / queue)
    conf = configured(tmp_path, messageIndexEnable="false")
    judged = judge_store(store, conf=conf)
    assert judged.with_outcome("broken") == []
    assert judged.observations.held["CQ-LMQ-2"] == 8


def test_light_queues_without_files_or_units(tmp_path: Path) -> None:
    """A broker that stopped cleanly has put every message into its light queues."""
    store = open_store("lmq", tmp_path)
    light = sorted(store.glob("consumequeue/%LMQ%*"))
    files = sorted(light[0].glob("0/*"))
    data = files[-1].read_bytes()
    used = len(data.rstrip(b"\0")) // 20 * 20
    overwrite(files[-1], used - 20, bytes(20 + used % 20))
    assert judge_store(store).with_outcome("broken") == ["CQ-LMQ-1"]
    for folder in light:
        shutil.rmtree(folder)
    judged = judge_store(store)
    assert judged.with_outcome("broken") == ["CQ-LMQ-1"]
    assert len(judged.observations.broken["CQ-LMQ-1"]) == len(light)


def test_offsets_of_light_queues_in_steps_of_two(tmp_path: Path) -> None:
    store = open_store("lmq", tmp_path)
    path = min((store / "commitlog").iterdir())
    data, name = path.read_bytes(), b"INNER_MULTI_DISPATCH\1%LMQ%device-2\2"
    at = data.index(b"INNER_MULTI_QUEUE_OFFSET\1", data.index(name)) + 25
    assert data[at : at + 1] == b"3"
    overwrite(path, at, b"4")
    broken = judge_store(store).observations.broken
    place = broken["CQ-LMQ-4"][0]
    assert (place.field, place.found, place.expected) == ("INNER_MULTI_QUEUE_OFFSET of %LMQ%device-2", 4, 3)
    assert broken.keys() == {"CQ-LMQ-4"}


@pytest.mark.parametrize(
    ("times", "flushed", "outcome"),
    [
        ((0, 1_000, 13_000), 1_000, "held"),
        ((0, 1_000, 13_000), 999, "broken"),
        ((0, 12_000), 0, "held"),
        ((0, 11_999), 0, "not exercised"),
    ],
)
def test_the_time_of_the_log_after_a_pause(
    times: Sequence[int], flushed: int, outcome: str, tmp_path: Path
) -> None:
    """CKP-6: a broker that a workload watched for 12 s has flushed thoroughly in them."""
    log = b""
    for number, time in enumerate(times):
        log += record(len(log), topic=b"T", body=b"x", queue_offset=number, store_timestamp=BEGIN + time)
    store = own_store(tmp_path / "store", log)
    overwrite(store / "checkpoint", 0, (BEGIN + flushed).to_bytes(8))
    manifest = Manifest(0, "4.9.3", sent=[Sent("T", 0, 0, 0, "", "", 1, "raw_batch", raw="")])
    assert judge_store(store, manifest=manifest).outcome("CKP-6") == outcome
    assert judge_store(store).outcome("CKP-6") == "not exercised"


@pytest.mark.parametrize("kills", [0, 1])
def test_a_delayed_message_comes_twice_only_after_a_kill(kills: int, tmp_path: Path) -> None:
    properties, log = b"UNIQ_KEY\1A\2DELAY\x011\2", b""
    for number in range(2):
        log += record(len(log), body=b"x", properties=properties, queue_offset=number)
    store = own_store(tmp_path / "store", log)
    manifest = Manifest(0, "4.9.3", kills=kills, sent=[Sent("T", 0, 0, 0, "A", "", 1, "send")])
    assert ("LOG-REC-1" in judge_store(store, manifest=manifest).observations.broken) == (not kills)
