"""The report of a judged store, its baseline, and the command."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from judged_stores import judge_store
from rocket_conformance.report import Baseline, Excuse, conclusion
from rocket_conformance.store_verdict import Observations, StoreVerdict, store_report, verdict_lines
from rocket_conformance.store_verdict.observations import Place, as_releases_do
from rocket_golden import open_damaged, open_store
from verb_run import Verb


def one_broken(tmp_path: Path) -> StoreVerdict:
    return judge_store(open_damaged("mixed-index-slot-hash", tmp_path))


def test_a_broken_place_names_file_byte_found_and_expected(tmp_path: Path) -> None:
    (place,) = one_broken(tmp_path).observations.broken["IDX-PUT-7"]
    assert str(place) == "index/20261121132606638 at byte 204, slot 41: found 162, expected 166"


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
    last = verdict_lines(judged, report)[-1]
    assert last.startswith("not conformant: IDX-PUT-7 (")
    assert ", 1 broken, " in last
    assert (
        store_report(
            one_broken(tmp_path / "2"), baseline=Baseline((Excuse("IDX-PUT-7/store", "diverged", "all"),))
        ).exit_code
        == 1
    )


def test_twenty_places_of_a_kind_are_kept_and_all_are_counted() -> None:
    seen = Observations()
    for number in range(25):
        seen.breaks("CQ-PUT-7", Place("f", number, "size", 1, 2))
    assert (len(seen.broken["CQ-PUT-7"]), seen.kinds["CQ-PUT-7"].total()) == (20, 25)
    seen.leave_out(("CQ-",), "left out")
    assert (seen.broken, seen.notes) == ({}, {"left out": 25})


def test_releases_of_one_difference_are_a_range_or_one() -> None:
    found: list[Any] = [
        SimpleNamespace(first=one, last=last) for one, last in (("4.0", "4.0"), ("4.2", "4.4"))
    ]
    assert as_releases_do(found) == "as releases 4.0 and 4.2 to 4.4 do"


def test_a_page_claims_no_more_than_the_terminal(tmp_path: Path) -> None:
    """Most clauses of a family are not exercised by a store."""
    judged = judge_store(open_store("small-roll", tmp_path))
    report = store_report(judged)
    claim = "conformant in every clause that the store exercises ("
    assert verdict_lines(judged, report)[-1].startswith(claim)
    assert conclusion(report).startswith(claim)


def test_a_required_family_that_is_not_exercised_is_incomplete(tmp_path: Path) -> None:
    """After a kill the index may be missing: a restart deletes it before it makes it again."""
    store = open_store("small-roll", tmp_path)
    shutil.rmtree(store / "index")
    (store / "abort").touch()
    judged = judge_store(store)
    assert store_report(judged).exit_code == 0
    assert store_report(judged, require=["index"]).exit_code == 4


def test_a_log_without_records_is_no_verdict(tmp_path: Path, verb: Verb) -> None:
    log = tmp_path / "store" / "commitlog" / "00000000000000000000"
    log.parent.mkdir(parents=True)
    log.write_bytes(bytes(1000))
    done = verb("conform", "--store", tmp_path / "store")
    assert done.code == 5
    assert done.out.startswith("no verdict: the store exercises no clause (0 clauses held, 0 broken, ")


def test_the_command_writes_a_baseline_and_json(tmp_path: Path, verb: Verb) -> None:
    store = open_damaged("mixed-index-slot-hash", tmp_path)
    known = tmp_path / "known.txt"
    assert verb("conform", "--store", store, "--write-baseline", known).code == 1
    assert known.read_text("utf-8").splitlines()[1:] == [
        "IDX-PUT-7/store-slot  diverged:slot[]:wrong-bytes  IDX-PUT-7: slot 41"
    ]
    done = verb("conform", "--store", store, "--baseline", known, "--json")
    assert done.code == 0
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert (lines[0]["type"], lines[-1]["type"]) == ("header", "footer")
    assert [line["id"] for line in lines if line.get("verdict") == "diverged"] == ["IDX-PUT-7/store-slot"]


def test_records_that_the_disk_has_no_room_for(
    tmp_path: Path, verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_damaged("mixed-index-slot-hash", tmp_path)  # whose log is read to explain it
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: Path("/dev/full").open("w+b"))  # noqa: SIM115
    done = verb("conform", "--store", store)
    assert (done.code, done.out) == (3, "")
    assert done.err.splitlines() == [
        "rocketspec: temporary file: No space left on device; set TMPDIR to a directory with room for all records of the log"
    ]


@pytest.mark.parametrize(("lead", "code"), [("", 2), ("/dev/full", 2), ("mine", 0), ("missing", 0)])
def test_a_report_takes_the_place_of_a_link_and_of_nothing_else(
    lead: str, code: int, tmp_path: Path, verb: Verb
) -> None:
    """What a link leads to stays as it is; a FIFO is not waited for."""
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "out").mkdir()
    report = tmp_path / "out" / "report.jsonl"
    report.symlink_to(tmp_path / lead) if lead else os.mkfifo(report)
    ended = verb(
        "conform", "--store", open_store("small-roll", tmp_path / "store"), "--report", tmp_path / "out"
    )
    assert (ended.code, len(ended.err.splitlines())) == (code, code // 2)
    assert report.is_file() == (code == 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "out", "store"]
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("put", "found"),
    [
        (os.mkfifo, "found not a regular file, expected a regular file of the commit log"),
        (
            lambda path: path.symlink_to("/dev/zero"),
            "found not a regular file, expected a regular file of the commit log",
        ),
        (lambda path: path.symlink_to(path.name), "too many levels of symbolic links"),
        (Path.mkdir, "found a directory, expected a regular file of the commit log"),
    ],
    ids=["FIFO", "/dev/zero", "a link to itself", "directory"],
)
def test_a_first_log_file_that_is_none_is_one_line(
    put: Callable[[Path], object], found: str, tmp_path: Path, verb: Verb
) -> None:
    store = open_store("mixed", tmp_path)
    first = min((store / "commitlog").iterdir())
    first.unlink()
    put(first)
    ended = verb("conform", "--store", store)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == f"rocketspec: {first}: {found}\n"
