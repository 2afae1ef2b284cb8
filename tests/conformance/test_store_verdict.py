"""Stores judged without an adapter: those of the real broker hold every clause, damaged ones break the damaged clause."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from rocket_conformance.baseline import Baseline, Excuse
from rocket_conformance.report import read_report
from rocket_conformance.store_verdict import (
    Observations,
    StoreVerdict,
    judge_restart,
    judge_store,
    record_table,
    store_report,
    verdict_lines,
)
from rocket_golden import damaged, manifest, open_damaged, open_store, stores, truth
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import MESSAGE_MAGIC, Geometry
from verb_run import runner

if TYPE_CHECKING:
    from pathlib import Path

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
    judged = judge_store(open_store(name, tmp_path))
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
    lines = manifest().stores[name].truth_lines
    assert judged.records == lines["log_record"]


@pytest.mark.parametrize("name", EVERY)
def test_every_entry_and_unit_is_compared(name: str, tmp_path: Path) -> None:
    entry = manifest().stores[name]
    geometry = Geometry(*entry.geometry)
    seen = judge_store(open_store(name, tmp_path), geometry=geometry).observations
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


def dledger_patched(tmp_path: Path, file: str, offset: int, data: bytes) -> StoreVerdict:
    store = open_store("dledger", tmp_path)
    with (store / "dledger-n0" / file / "00000000000000000000").open("r+b") as opened:
        opened.seek(offset)
        opened.write(data)
    return judge_store(store)


def test_a_dledger_entry_with_another_channel(tmp_path: Path) -> None:
    judged = dledger_patched(tmp_path, "data", 32, b"\0\0\0\1")
    assert judged.with_outcome("broken") == ["DLG-3"]
    (place,) = judged.observations.broken["DLG-3"]
    assert (place.file, place.offset, place.found) == ("dledger-n0/data/00000000000000000000", 32, 1)


def test_a_dledger_entry_with_another_position(tmp_path: Path) -> None:
    """A recovery ends the log there (DLG-17), although entries follow."""
    judged = dledger_patched(tmp_path, "data", third_entry() + 24, b"\0\0\0\0\0\0\0\1")
    assert judged.records == 2
    assert judged.with_outcome("broken") == ["DLG-2", "DLG-11"]
    assert judged.observations.broken["DLG-2"][0].offset == third_entry()


def test_a_dledger_entry_around_another_size_of_record(tmp_path: Path) -> None:
    judged = dledger_patched(tmp_path, "data", third_entry() + 48, b"\0\0\0\5")
    assert "DLG-4" in judged.with_outcome("broken")
    assert judged.observations.broken["DLG-4"][0].offset == third_entry() + 48


def test_a_unit_of_the_dledger_index_with_another_size(tmp_path: Path) -> None:
    judged = dledger_patched(tmp_path, "index", 32 * 3 + 12, b"\0\0\0\0")
    assert judged.with_outcome("broken") == ["DLG-6"]
    (place,) = judged.observations.broken["DLG-6"]
    assert (place.offset, place.field) == (96, "unit 3")


def test_a_dledger_checkpoint_with_another_end(tmp_path: Path) -> None:
    store = open_store("dledger", tmp_path)
    (store / "dledger-n0" / "checkpoint").write_text("endIndex=999\ncommittedIndex=216\n")
    assert judge_store(store).with_outcome("broken") == ["DLG-11"]


def test_a_checkpoint_with_another_time_of_the_log_in_dledger_mode(tmp_path: Path) -> None:
    """DLG-16; in a plain store the log's time is that of its last flush, which may be any."""
    for name in ("dledger", "mixed"):
        store = open_store(name, tmp_path)
        with (store / "checkpoint").open("r+b") as file:
            file.write(bytes(7) + b"\1")
        assert judge_store(store).with_outcome("broken") == (["DLG-16"] if name == "dledger" else [])


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
    assert [place.found for place in seen.broken["IDX-SVC-6"]] == ["kept"] * seen.broken_count["IDX-SVC-6"]


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
    assert [line.id for line in read.cases if line.verdict == "diverged"] == ["IDX-PUT-7/store"]
    assert verdict_lines(judged, report)[-1].startswith("not conformant: IDX-PUT-7 (")


def test_a_baseline_excuses_a_broken_clause_and_goes_stale(tmp_path: Path) -> None:
    judged = one_broken(tmp_path)
    known = Excuse("IDX-PUT-7/store", "diverged", "known")
    assert store_report(judged, baseline=Baseline((known,))).exit_code == 0
    old = Excuse("IDX-PUT-6/store", "diverged", "old")
    assert store_report(judged, baseline=Baseline((known, old))).exit_code == 6


def test_a_required_family_that_is_not_exercised_is_incomplete(tmp_path: Path) -> None:
    store = open_store("small-roll", tmp_path)
    (store / "checkpoint").unlink()
    judged = judge_store(store)
    assert store_report(judged).exit_code == 0
    assert store_report(judged, require=["checkpoint"]).exit_code == 4


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
    assert known.read_text("utf-8").splitlines()[1:] == ["IDX-PUT-7/store  diverged  IDX-PUT-7: slot 41"]
    done = run("--store", store, "--baseline", known, "--json")
    assert done.code == 0
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert (lines[0]["type"], lines[-1]["type"]) == ("header", "footer")
    assert [line["id"] for line in lines if line.get("verdict") == "diverged"] == ["IDX-PUT-7/store"]


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
    """To that of an earlier record, since it sets what it found at its beginning; no other time comes about so."""
    store = open_store("small-roll", tmp_path)
    (log,) = sorted(store.glob("commitlog/*"))[-1:]
    data = log.read_bytes()
    times, at = [], 0
    while data[at + 4 : at + 8] == MESSAGE_MAGIC.to_bytes(4, signed=True):
        times.append(int.from_bytes(data[at + 56 : at + 64]))
        at += int.from_bytes(data[at : at + 4])
    assert times[-1] - 10_000 < times[-3] < times[-1]
    with (store / "checkpoint").open("r+b") as file:
        file.seek(8)
        assert file.read(8) == times[-1].to_bytes(8)
        file.seek(8)
        file.write((times[-3] + later).to_bytes(8))
    assert judge_store(store).with_outcome("broken") == broken


@pytest.mark.parametrize("length", [0, 23, 100])
def test_a_short_checkpoint_is_judged_and_not_extended(length: int, tmp_path: Path) -> None:
    store = open_store("transactions", tmp_path)
    os.truncate(store / "checkpoint", length)
    verdict = judge_store(store)
    assert "CKP-2" in verdict.with_outcome("broken")
    assert (store / "checkpoint").stat().st_size == length
