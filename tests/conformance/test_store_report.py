"""The report of a judged store, its baseline, and the command."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from judged_stores import judge_store
from rocket_conformance.report import Baseline, Excuse, conclusion
from rocket_conformance.store_verdict import Observations, StoreVerdict, store_report, verdict_lines
from rocket_conformance.store_verdict.judgement import FindingsJudge
from rocket_conformance.store_verdict.observations import Place, as_releases_do
from rocket_golden import open_damaged, open_store
from rocket_spec.deviations import Audited, Deviation
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


def found(code: str, clause: str, deviation: Deviation | None = None, severity: str = "warning") -> Any:
    part = code.partition(".")[0]
    return SimpleNamespace(
        code=code,
        part=part,
        severity=severity,
        clause=clause,
        file=part,
        offset=0,
        message=code,
        deviation=deviation,
    )


def judge_by(*findings: Any, seen: Observations, since: int | None = None, **facts: bool) -> FindingsJudge:
    """A judge by findings on a store without index files."""
    known = SimpleNamespace(path=Path("none"), index_enabled=True, **{"clean": True, "framed": False} | facts)
    audited = Audited(findings, Counter(), frozenset())
    return FindingsJudge(known, audited, seen, lambda: pytest.fail("read"), undisturbed_from=since)


def judged(*findings: Any, since: int | None = None, **facts: bool) -> Observations:
    seen = Observations()
    judge = judge_by(*findings, seen=seen, since=since, **facts)
    judge.judge_log()
    judge.judge_queues()
    judge.judge_indexes([])
    return seen


@pytest.mark.parametrize(
    ("missing", "wrong", "exchanged"), [(0, 1, False), (1, 1, True), (2, 1, False), (1, 2, True)]
)
def test_missing_keys_may_have_wrong_ones_in_their_places(
    missing: int, wrong: int, *, exchanged: bool
) -> None:
    deviations = (Deviation("key", 1, 2, count=missing), Deviation("key", 1, 2, count=wrong))
    codes = ("index.missing_key", "index.entry_wrong_key")
    findings = [found(code, "IDX-SVC-2", one) for code, one in zip(codes, deviations, strict=True)]
    assert judge_by(*findings, seen=Observations())._is_exchanged() == exchanged


@pytest.mark.parametrize(("clean", "broken"), [(True, ["IDX-SVC-7", "LOG-FILE-2"]), (False, [])])
def test_what_a_crash_may_leave_is_broken_after_a_clean_stop_alone(*, clean: bool, broken: list[str]) -> None:
    seen = judged(found("log.torn", "LOG-FILE-2", Deviation("record", 1, 2)), clean=clean)
    assert sorted(seen.broken) == broken
    assert ("log.torn" in seen.notes) != clean
    assert "IDX-SVC-7" not in judged(clean=clean, framed=True).broken


@pytest.mark.parametrize(("since", "broken"), [(None, False), (101, False), (100, True)])
def test_what_a_start_may_leave_is_broken_of_a_record_since_which_there_was_none(
    since: int | None, *, broken: bool
) -> None:
    deviation = Deviation("unit 1", 1, 2, 100, allowed="after a start (LOG-DSP-13)")
    seen = judged(found("queue.repeated", "CQ-PUT-1", deviation), since=since)
    assert ("CQ-PUT-1" in seen.broken) == broken
    assert (seen.held["LOG-DSP-13"] == 1) != broken


def test_lines_of_a_verdict_count_the_places_and_name_what_is_not_exercised() -> None:
    seen = Observations()
    seen.hold("CQ-PUT-7")
    verdict = StoreVerdict("s", stopped=True, records=1, observations=seen)
    report = store_report(verdict, require=("queue", "checkpoint"))
    last = verdict_lines(verdict, report)[-1]
    assert last.startswith("incomplete: required and not exercised: checkpoint (1 clause held, 0 broken, ")
    for number in range(3):
        seen.breaks("CQ-PUT-7", Place("f", number, "size", 1, 2))
    (line,) = (line for line in store_report(verdict).cases if line.verdict == "diverged")
    assert line.detail.endswith(", and 2 more places; held in 1 place")


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
