"""Stores judged without an adapter: those of the real broker hold every clause, damaged ones break the damaged clause."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import rocket_reference
from rocket_conformance.misreadings import MISREADINGS, OF_STORES
from rocket_conformance.reference_adapter import Library
from rocket_conformance.report import Baseline, Excuse, read_report
from rocket_conformance.store_verdict import (
    Observations,
    StoreVerdict,
    judge_restart,
    judge_store,
    record_table,
    store_report,
    verdict_lines,
)
from rocket_conformance.store_verdict.restart_judge import start_over
from rocket_conformance.workload import Manifest
from rocket_golden import damaged, manifest, open_damaged, open_store, stores, truth
from rocket_reference import (
    DispatchRequest,
    IndexService,
    QueueTable,
    StoreCheckpoint,
    dispatch_requests,
    encode_record,
    key_hash,
)
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import MESSAGE_MAGIC, Geometry
from verb_run import runner

NOON = 1_767_268_800_000
EXTRA = {7: " again again", 8: " a,b", 9: "  c"}
"""What the keys of some messages end in."""

BROKEN_BY = {
    "checkpoint-behind": {"IDX-SVC-18", "CQ-PUT-9"},
    "entry-magic": {"DLG-2", "DLG-11"},
    "entry-position": {"DLG-2", "DLG-11"},
    "index-chain-cycle": {"IDX-PUT-6"},
    "index-empty": {"IDX-FILE-2", "IDX-SVC-18"},
    "index-entry-dangling": {"IDX-PUT-6"},
    "index-header-bounds-begin": {"IDX-HDR-2"},
    "index-header-bounds-end": {"IDX-HDR-3"},
    "index-header-count-high": {"IDX-PUT-1"},
    "index-header-count-low": {"IDX-PUT-6", "IDX-SVC-3"},
    "index-missing-key": {"IDX-PUT-7"},
    "index-name-order": {"IDX-SVC-8", "IDX-SVC-3"},
    "index-prev-range": {"IDX-PUT-6"},
    "index-size-long": {"IDX-FILE-1"},
    "index-size-short": {"IDX-FILE-1"},
    "index-slot-hash": {"IDX-PUT-7"},
    "index-slot-range": {"IDX-PUT-7"},
    "log-crc": {"LOG-REC-4"},
    "log-gap": {"LOG-FILE-1"},
    "log-length": {"LOG-REC-1"},
    "log-magic": {"LOG-REC-1"},
    "log-position": {"LOG-REC-7"},
    "queue-dangling": {"CQ-PUT-5"},
    "queue-gap": {"CQ-FILE-2"},
    "queue-missing-unit": {"CQ-PUT-5"},
    "queue-order": {"CQ-PUT-1"},
    "queue-size": {"CQ-FILE-1"},
    "queue-tags-code": {"CQ-TAGS-1"},
    "queue-wrong-target": {"CQ-PUT-5"},
}
"""Kind of damage: clauses about the damaged bytes, all of which must be broken."""

LEGAL = {"index-ahead-of-log", "store-abort"}
"""Damage that a crash of 4.9.3 leaves as well: it breaks nothing."""

NOT_EXERCISED_ALWAYS = {"IDX-SEL-1", "IDX-TIME-1", "QRY-1", "CQ-GET-1"}
"""Clauses about answers, which no file shows."""


EVERY = [*stores(), *stores(unclean=True)]
DLEDGER = [*stores(log="dledger"), *stores(unclean=True, log="dledger")]


def kind_of(name: str, store: str) -> str:
    return name.removeprefix(f"{store}-")


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


@pytest.mark.parametrize("name", DLEDGER)
def test_stores_in_dledger_mode_break_nothing(name: str, tmp_path: Path) -> None:
    judged = judge_store(open_store(name, tmp_path))
    assert judged.with_outcome("broken") == []
    held = set(judged.with_outcome("held"))
    assert held >= {"DLG-2", "DLG-3", "DLG-4", "DLG-5", "DLG-7", "CQ-UNIT-1", "IDX-PUT-6", "LOG-REC-4"}
    assert ("DLG-6" in held) == ("DLG-11" in held) == (not name.endswith("-killed"))
    assert ("DLG-16" in held) == (not name.endswith("-killed"))
    assert ("DLG-13" in held) == name.endswith("-rejoined")
    assert judged.records == sum(line["type"] == "log_record" for line in truth(name))


def third_entry() -> int:
    """Where the third entry of the store `dledger` begins, as Java reads it."""
    entries = [line for line in truth("dledger") if line["type"] == "log_entry"]
    return int(entries[2]["pos"])


ENTRY = third_entry()


@pytest.mark.parametrize(
    ("file", "at", "data", "broken", "place", "records"),
    [
        pytest.param("data", 32, b"\0\0\0\1", ["DLG-3"], 32, 0, id="channel"),
        pytest.param("data", ENTRY + 24, b"\0\0\0\0\0\0\0\1", ["DLG-2", "DLG-11"], ENTRY, 2, id="position"),
        pytest.param("data", ENTRY + 48, b"\0\0\0\5", ["DLG-4"], ENTRY + 48, 0, id="size of the record"),
        pytest.param("index", 32 * 3 + 12, b"\0\0\0\0", ["DLG-6"], 96, 0, id="size in the index"),
    ],
)  # fmt: skip
def test_a_dledger_entry_with_another(
    file: str, at: int, data: bytes, broken: list[str], place: int, records: int, tmp_path: Path
) -> None:
    """A recovery ends the log at another position (DLG-17), although entries follow: two records are left."""
    store = open_store("dledger", tmp_path)
    path = store / "dledger-n0" / file / "00000000000000000000"
    with path.open("r+b") as opened:
        opened.seek(at)
        opened.write(data)
    judged = judge_store(store)
    found = judged.with_outcome("broken")
    assert found == broken or (broken == ["DLG-4"] and "DLG-4" in found)
    first = judged.observations.broken[broken[0]][0]
    assert (first.file, first.offset) == (path.relative_to(store).as_posix(), place)
    assert not records or judged.records == records


def test_a_dledger_checkpoint_with_another_end(tmp_path: Path) -> None:
    store = open_store("dledger", tmp_path)
    (store / "dledger-n0" / "checkpoint").write_text("endIndex=999\ncommittedIndex=216\n")
    assert judge_store(store).with_outcome("broken") == ["DLG-11"]


def test_a_checkpoint_with_a_time_of_the_log_that_no_record_has(tmp_path: Path) -> None:
    """DLG-16: in DLedger mode it is the queues' time; in a plain store that of any flush, or 0 before the first (CKP-4)."""
    for name in ("dledger", "mixed"):
        store = open_store(name, tmp_path)
        with (store / "checkpoint").open("r+b") as file:
            file.write(bytes(7) + b"\1")
        assert judge_store(store).with_outcome("broken") == (
            ["CKP-4", "DLG-16"] if name == "dledger" else ["CKP-4"]
        )
        with (store / "checkpoint").open("r+b") as file:
            file.write(bytes(8))
        judged = judge_store(store)
        assert judged.with_outcome("broken") == (["DLG-16"] if name == "dledger" else [])
        assert judged.outcome("CKP-4") == "not exercised"


def test_dledger_entries_that_are_not_committed(tmp_path: Path) -> None:
    """They are no messages of the store (DLG-10)."""
    store = open_store("dledger", tmp_path)
    (store / "dledger-n0" / "checkpoint").write_text("endIndex=216\ncommittedIndex=99\n")
    judged = judge_store(store)
    assert judged.records == 100
    assert "entries that were not committed at the stop, which nothing points to" in judged.observations.notes


def test_stores_of_two_dledger_members_are_refused(tmp_path: Path) -> None:
    store = open_store("dledger", tmp_path)
    (store / "dledger-n1" / "data").mkdir(parents=True)
    with pytest.raises(MalformedError, match="several DLedger logs: dledger-n0, dledger-n1"):
        judge_store(store)


def test_a_start_in_dledger_mode(tmp_path: Path) -> None:
    before, after = open_store("dledger", tmp_path / "before"), open_store("dledger", tmp_path / "after")
    seen = Observations()
    judge_restart(before, after, seen)
    assert seen.broken == {}
    assert seen.held["DLG-17"] == sum(len(entries_of(file)) for file in data_files(before))
    assert seen.held["IDX-SVC-6"] == len(list((before / "index").iterdir()))


def test_a_start_in_dledger_mode_that_keeps_an_index_file_and_loses_an_entry(tmp_path: Path) -> None:
    before, after = open_store("dledger", tmp_path / "before"), open_store("dledger", tmp_path / "after")
    (before / "abort").touch()
    (before / "checkpoint").unlink()
    first, *rest = data_files(after)
    for file in rest:
        file.unlink()
    with first.open("r+b") as opened:
        opened.seek(entries_of(first)[1])
        opened.write(bytes(8))
    seen = Observations()
    judge_restart(before, after, seen)
    place = seen.broken["DLG-17"][0]
    assert (place.field, place.found) == ("record 1", "no record")
    assert [place.found for place in seen.broken["IDX-SVC-6"]] == ["kept"] * seen.kinds["IDX-SVC-6"].total()


def data_files(store: Path) -> list[Path]:
    return sorted((store / "dledger-n0" / "data").iterdir())


def entries_of(file: Path) -> list[int]:
    """Positions of the entries of a data file, each of which begins with a magic of 1 and its size."""
    data = file.read_bytes()
    found: list[int] = []
    position = 0
    while int.from_bytes(data[position : position + 4], "big") == 1:
        found.append(position)
        position += int.from_bytes(data[position + 4 : position + 8], "big")
    return found


def test_a_log_in_three_directories(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store("many-paths", tmp_path)
    run = runner("conform", capfd, monkeypatch)
    directories = [store / f"commitlog-{letter}" for letter in "abc"]
    options = [option for directory in directories for option in ("--commitlog", directory)]
    done = run("--store", store, *options)
    assert done.code == 0, done.out
    assert judge_store(store, commitlog=directories).records == 120
    assert run("--store", store, *options[:4]).code == 1
    assert run("--commitlog", store, "--", "adapter").code == 2


@pytest.mark.parametrize("variant", damaged(), ids=lambda variant: variant.name)
def test_damage_breaks_its_clause(variant: object, tmp_path: Path) -> None:
    name, store = variant.name, variant.store  # type: ignore[attr-defined]  # a Damaged
    judged = judge_store(open_damaged(name, tmp_path))
    broken = set(judged.with_outcome("broken"))
    kind = kind_of(name, store)
    if kind in LEGAL:
        assert broken == set()
    else:
        assert broken
        assert broken >= BROKEN_BY.get(kind, set())


def one_broken(tmp_path: Path) -> StoreVerdict:
    return judge_store(open_damaged("mixed-index-slot-hash", tmp_path))


def test_a_broken_place_names_file_byte_found_and_expected(tmp_path: Path) -> None:
    (place,) = one_broken(tmp_path).observations.broken["IDX-PUT-7"]
    assert str(place) == "index/20261121132606638 at byte 204, slot 41: found 162, expected 166"


def test_the_report_is_one_of_conform(tmp_path: Path) -> None:
    judged = one_broken(tmp_path)
    report = store_report(judged, folder=tmp_path / "out")
    assert report.exit_code == 1
    read = read_report(tmp_path / "out" / "report.jsonl")
    assert [line.id for line in read.cases if line.verdict == "diverged"] == ["IDX-PUT-7/store-slot"]
    assert verdict_lines(judged, report)[-1].startswith("not conformant: IDX-PUT-7 (")


def test_a_baseline_excuses_a_broken_clause_and_goes_stale(tmp_path: Path) -> None:
    judged = one_broken(tmp_path)
    known = Excuse("IDX-PUT-7/store-slot", "diverged", "known")
    assert store_report(judged, baseline=Baseline((known,))).exit_code == 0
    old = Excuse("IDX-PUT-6/store", "diverged", "old")
    assert store_report(judged, baseline=Baseline((known, old))).exit_code == 6


def test_a_baseline_excuses_places_of_one_kind(tmp_path: Path) -> None:
    """The slot that is known, and not the previous entry of another one: both break clauses of the index."""
    judged = one_broken(tmp_path)
    seen = judged.observations
    (slot,) = seen.broken["IDX-PUT-7"]
    seen.breaks("IDX-PUT-7", replace(slot, field="entry 7 prev_entry"))
    known = Baseline((Excuse("IDX-PUT-7/store-slot", "diverged", "known"),))
    report = store_report(judged, baseline=known)
    assert report.exit_code == 1
    failing = [line.id for line in report.cases if line.verdict == "diverged" and not line.baselined]
    assert failing == ["IDX-PUT-7/store-entry-prev_entry"]
    assert verdict_lines(judged, report)[-1].startswith("not conformant: IDX-PUT-7 (")
    assert (
        store_report(
            one_broken(tmp_path / "2"), baseline=Baseline((Excuse("IDX-PUT-7/store", "diverged", "all"),))
        ).exit_code
        == 1
    )


def test_a_required_family_that_is_not_exercised_is_incomplete(tmp_path: Path) -> None:
    """After a kill the index may be missing: a restart deletes it before it makes it again."""
    store = open_store("small-roll", tmp_path)
    shutil.rmtree(store / "index")
    (store / "abort").touch()
    judged = judge_store(store)
    assert store_report(judged).exit_code == 0
    assert store_report(judged, require=["index"]).exit_code == 4


@pytest.mark.parametrize(
    ("missing", "clauses"),
    [("index", {"IDX-SVC-7"}), ("consumequeue", {"CQ-FILE-3"}), ("checkpoint", {"CKP-2"})],
)
def test_files_that_the_log_demands_and_that_are_missing(
    missing: str, clauses: set[str], tmp_path: Path
) -> None:
    store = open_store("small-roll", tmp_path)
    (shutil.rmtree if (store / missing).is_dir() else os.unlink)(store / missing)
    judged = judge_store(store)
    assert set(judged.with_outcome("broken")) == clauses
    assert store_report(judged).exit_code == 1


def test_the_first_file_of_a_queue_is_missing(tmp_path: Path) -> None:
    """A queue that was deleted begins again with pre-blank units; this one begins with a unit."""
    store = open_store("small-roll", tmp_path)
    queues = [sorted(folder.iterdir()) for folder in store.glob("consumequeue/*/*")]
    first, *_ = next(files for files in queues if len(files) > 1)
    first.unlink()
    judged = judge_store(store)
    assert judged.with_outcome("broken") == ["CQ-PUT-5"]


def test_a_pre_blank_unit_over_a_unit(tmp_path: Path) -> None:
    store = open_store("small-roll", tmp_path)
    first = min(store.glob("consumequeue/*/*/*"))
    with first.open("r+b") as file:
        file.seek(20)
        file.write(bytes(8) + b"\x7f\xff\xff\xff" + bytes(8))
    judged = judge_store(store)
    assert judged.with_outcome("broken") == ["CQ-UNIT-2"]
    assert judged.observations.broken["CQ-UNIT-2"][0].offset == 20


def test_a_log_without_records_is_no_verdict(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "store" / "commitlog" / "00000000000000000000"
    log.parent.mkdir(parents=True)
    log.write_bytes(bytes(1000))
    done = runner("conform", capfd, monkeypatch)("--store", tmp_path / "store")
    assert done.code == 5
    assert done.out.startswith("no verdict: the store exercises no clause (0 clauses held, 0 broken, ")


def test_an_index_without_entries_needs_a_geometry(tmp_path: Path) -> None:
    store = open_store("small-roll", tmp_path)
    for path in (store / "index").iterdir():
        path.write_bytes(bytes(len(path.read_bytes())))
    with pytest.raises(UsageError, match="give --geometry SLOTS,ENTRIES"):
        judge_store(store)


def test_the_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runner("conform", capfd, monkeypatch)
    store = open_damaged("mixed-index-slot-hash", tmp_path)
    out = tmp_path / "out"
    done = run("--store", store, "--report", out)
    assert done.code == 1
    assert "broken IDX-PUT-7 (MUST)" in done.out
    assert {json.loads(line)["type"] for line in (out / "report.jsonl").read_text().splitlines()} == {
        "header",
        "case",
        "footer",
    }
    assert "IDX-PUT-7" in (out / "report.html").read_text()
    assert (out / "badge.svg").exists()
    assert run("--store", store, "--", "adapter").code == 2
    assert run("--store", tmp_path / "nowhere").code == 2
    assert run("--store", tmp_path).code == 3


def test_the_command_writes_a_baseline_and_json(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runner("conform", capfd, monkeypatch)
    store = open_damaged("mixed-index-slot-hash", tmp_path)
    known = tmp_path / "known.txt"
    assert run("--store", store, "--write-baseline", known).code == 1
    assert known.read_text("utf-8").splitlines()[1:] == ["IDX-PUT-7/store-slot  diverged  IDX-PUT-7: slot 41"]
    done = run("--store", store, "--baseline", known, "--json")
    assert done.code == 0
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert (lines[0]["type"], lines[-1]["type"]) == ("header", "footer")
    assert [line["id"] for line in lines if line.get("verdict") == "diverged"] == ["IDX-PUT-7/store-slot"]


def test_a_directory_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedError, match="found no folder commitlog"):
        judge_store(tmp_path)
    with pytest.raises(UsageError, match="not a directory"):
        judge_store(tmp_path / "nowhere")


def test_a_queue_folder_whose_name_is_not_utf8(tmp_path: Path) -> None:
    store = open_store("transactions", tmp_path)
    (store / "consumequeue" / os.fsdecode(b"a\xff") / "0").mkdir(parents=True)
    assert judge_store(store).with_outcome("broken") == []


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


def test_records_that_the_disk_has_no_room_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store("transactions", tmp_path)
    monkeypatch.setattr(record_table, "_TABLES", record_table._TABLES + "pragma max_page_count = 10;")
    done = runner("conform", capfd, monkeypatch)("--store", store)
    assert (done.code, done.out) == (3, "")
    assert done.err.splitlines() == [
        "rocketspec: temporary file: database or disk is full; set TMPDIR to a directory with room for all records of the log"
    ]


def test_a_position_beyond_64_bits_has_no_record() -> None:
    assert record_table.RecordTable().at(1 << 63) is None


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
    with (store / "checkpoint").open("r+b") as file:
        file.seek(8)
        assert file.read(8) == times[-1].to_bytes(8)
        file.seek(8)
        file.write((times[-2] + later).to_bytes(8))
    assert judge_store(store).with_outcome("broken") == broken
    data = (store / "checkpoint").read_bytes()
    (store / "checkpoint").write_bytes(data[:8] + data[16:24] + data[16:])
    assert judge_store(store).with_outcome("broken") == ["CQ-PUT-9"]


@pytest.mark.parametrize("length", [0, 23, 100])
def test_a_short_checkpoint_is_judged_and_not_extended(length: int, tmp_path: Path) -> None:
    store = open_store("transactions", tmp_path)
    os.truncate(store / "checkpoint", length)
    verdict = judge_store(store)
    assert "CKP-2" in verdict.with_outcome("broken")
    assert (store / "checkpoint").stat().st_size == length


def broker_store(
    store: Path,
    build: Callable[[IndexService, DispatchRequest], None] = lambda index, request: index.build(request),
    messages: int = 20,
    slots: int = 7,
    entries: int = 500,
    library: Library = rocket_reference,
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
    assert judged.observations.notes == {"the last message before a restart is indexed twice (IDX-SVC-8)": 1}
    judged = judge_store(broker_store(tmp_path / "all", twice))
    assert judged.with_outcome("broken") == ["IDX-SVC-2"]
    assert judged.observations.kinds["IDX-SVC-2"].total() == 19


def test_one_message_whose_keys_are_in_upper_case(tmp_path: Path) -> None:
    """The hashes that were found say what was indexed."""
    (place,) = judge_store(broker_store(tmp_path / "store", one_in_upper_case)).observations.broken[
        "IDX-SVC-1"
    ]
    assert (place.found, place.expected) == (key_hash("T#K-5"), key_hash("T#k-5"))
    assert place.rule == "keys in upper case"


def test_unique_keys_in_lower_case(tmp_path: Path) -> None:
    judged = judge_store(broker_store(tmp_path / "store", in_lower_case))
    assert judged.with_outcome("broken") == ["IDX-SVC-1"]


def test_a_dledger_checkpoint_that_is_no_number_or_no_file(tmp_path: Path) -> None:
    store = open_store("dledger", tmp_path)
    path = store / "dledger-n0" / "checkpoint"
    path.write_text(f"endIndex={'9' * 5000}\n")
    assert judge_store(store).with_outcome("broken") == ["DLG-11"]
    os.truncate(path, 1 << 40)
    with pytest.raises(MalformedError, match=r"found 1,099,511,627,776 bytes, .* of at most 65,536 bytes"):
        judge_store(store)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(MalformedError, match="found not a regular file"):
        judge_store(store)


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
        with path.open("r+b") as file:
            file.seek(48 if name == "dledger" else 0)
            file.write(b"\x7f\xff\xff\xff")
        assert ("DLG-4" if name == "dledger" else "LOG-REC-1") in judge_store(store).with_outcome("broken")


@pytest.mark.parametrize(
    "geometry", [Geometry(1, 2147483647), Geometry(2147483647, 1), Geometry(536870900, 1)]
)
def test_a_geometry_that_no_file_can_have(geometry: Geometry, tmp_path: Path) -> None:
    with pytest.raises(MalformedError, match="found 308 bytes, expected"):
        judge_store(open_store("small-roll", tmp_path), geometry=geometry)


def test_the_geometry_of_a_large_file_with_holes(tmp_path: Path) -> None:
    """It is found by what is in the file: trying every geometry of 80 MB takes half a minute."""
    store = broker_store(tmp_path / "store", slots=1_000_000, entries=4_000_000)
    judged = judge_store(store)
    assert judged.with_outcome("broken") == []
    assert judged.observations.held["IDX-PUT-6"] == 64


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
        [*command, str(tmp_path / "manifest.json")],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not any(temporary.glob("*/index")):
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            time.sleep(0.01)
        process.terminate()
        assert "Traceback" not in (process.stderr.read() if process.stderr else "")
    assert process.returncode != 0
    assert list(temporary.iterdir()) == []


MISREAD = (
    "begin-is-the-minimum",
    "empty-part-indexed",
    "end-offset-is-the-maximum",
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
    "keys-in-upper-case",
    "at-sign-after-the-topic",
    "keys-without-topic",
    "last-key-left-out",
    "message-indexed-twice",
    "tag-after-the-keys,-as-since-5.4.0",
    "crc32-absolute",
    "hash-factor-33",
    "unique-key-ignored",
    "first-key-alone",
)


@pytest.mark.parametrize("name", MISREAD)
def test_a_broker_that_misreads_one_clause_breaks_that_clause(name: str, tmp_path: Path) -> None:
    """The other differences follow from it."""
    mutant = next(mutant for mutant in (*MISREADINGS, *OF_STORES) if mutant.name == name)
    judged = judge_store(broker_store(tmp_path / "store", library=mutant.library(), messages=40, entries=31))
    places = judged.observations.broken
    if places:  # what the messages do not bring out, no store shows
        assert list(places) == [mutant.clause]
        assert f"as with {mutant.words}" in str(places[mutant.clause][0])
    assert bool(places) == (name not in {"begin-is-the-minimum", "end-offset-is-the-maximum"})


@pytest.mark.parametrize(
    ("name", "clause"), [("window-end-exclusive", "IDX-SEL-4"), ("oldest-file-first", "IDX-SVC-13")]
)
def test_answers_of_a_broker_that_misreads_one_clause(name: str, clause: str, tmp_path: Path) -> None:
    store = broker_store(tmp_path / "store", messages=40, entries=31)
    mutant = next(mutant for mutant in MISREADINGS if mutant.clause == clause and name in mutant.name)
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
    "nothing-deleted-after-a-crash": "killed",
    "recovery-dispatches-nothing": "killed",
    "recovery-does-not-index": "killed",
    "no-three-seconds-before-the-bound": "killed",
    "repeated-record-appended": "live-copy",
}


@pytest.mark.parametrize("name", STARTS)
def test_a_start_that_misreads_one_clause(name: str, tmp_path: Path) -> None:
    """What the start leaves is explained by the misreading with which the reference leaves the same."""
    before, after = (open_store(STARTS[name], tmp_path / side) for side in ("before", "after"))
    geometry = Geometry(*manifest().stores[STARTS[name]].geometry)
    last = sorted((before / "commitlog").iterdir())[-2].read_bytes()
    for store in (
        (before, after) if "three-seconds" in name else ()
    ):  # the bound is before the last log file, and no index file is kept
        time = int.from_bytes(last[56:64]) + 1_000
        with (store / "checkpoint").open("r+b") as file:
            file.write(time.to_bytes(8) * 2 + bytes(8))
    mutant = next(mutant for mutant in (*MISREADINGS, *OF_STORES) if mutant.name == name)
    start_over(after, geometry, mutant.library())
    seen = Observations()
    judge_restart(before, after, seen, geometry=geometry)
    assert list(seen.broken) == [mutant.clause]
    assert f"as with {mutant.words}" in str(seen.broken[mutant.clause][0])
