"""Whole runs: verdicts, exit codes, the baseline, the report."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from adapter_code import hash_trial
from changed_adapter import ChangedAdapter
from rocket_conformance.cases import Case
from rocket_conformance.judging import Verdict, exit_code
from rocket_conformance.pages import write_renderings
from rocket_conformance.planning import CaseState, Planned, limit_broken, plan
from rocket_conformance.protocol import FAMILIES, OPERATIONS, parse_hello
from rocket_conformance.report import (
    Baseline,
    Report,
    conclusion,
    describe_divergence,
    footer_line,
    read_baseline,
    read_report,
    render_markdown,
)
from rocket_conformance.running import Options, run
from rocket_conformance.schema import problems
from rocket_conformance.transport import open_handler
from rocket_spec.errors import MalformedError

SMALL = ("IDX-HDR-4/*", "IDX-HASH-1/*")


class Adapter(ChangedAdapter):
    """The reference, with its hello and its results changed."""

    def __init__(self, hello: Mapping[str, Any] | None = None, **results: Any) -> None:
        super().__init__(hello, self.replace)
        self.results = results

    def replace(self, answer: dict[str, Any], message: Mapping[str, Any]) -> None:
        names = [op["op"].replace(".", "_") for op in message["ops"]]
        pairs = zip(names, answer["results"], strict=True)
        answer["results"] = [self.results.get(name, result) for name, result in pairs]


def run_on(adapter: ChangedAdapter, folder: Path | None = None, **options: Any) -> Report:
    options.setdefault("select", SMALL)
    options.setdefault("examples", 5)
    with open_handler(adapter) as transport:
        return run(transport, Options(**options), report=folder)


UNDECODED = [name for name, operation in OPERATIONS.items() if not operation.decodes]
ALL_SKIPPED = {name.replace(".", "_"): {"skipped": "later"} for name in OPERATIONS}


@pytest.mark.parametrize(
    ("adapter", "options", "code", "verdicts", "text"),
    [
        (Adapter(key_hash={"hash": 1}), {}, 1, {"diverged"}, "not conformant: "),
        (Adapter(key_hash={"errored": "no database"}), {}, 1, {"errored"}, "IDX-HASH-1"),
        (Adapter({"ops": []}), {}, 5, {"not_applicable"}, "no verdict: nothing ran (0 of"),
        (Adapter(**ALL_SKIPPED), {}, 5, {"skipped"}, "no verdict: nothing ran ("),
        (Adapter(index_header={"skipped": "later"}), {}, 4, {"skipped"}, " skipped"),
        (Adapter(index_header={"unsupported": True}), {}, 4, {"unsupported"}, " unsupported"),
        (
            Adapter({"ops": ["key.hash"]}),
            {},
            0,
            {"not_applicable"},
            " index cases, all as 4.9.3 (--select, --examples 5, key.hash alone) (",
        ),
        (
            Adapter(index_header={"errored": "no"}),
            {"fail_fast": True},
            1,
            {"pass", "errored", "skipped"},
            "not conformant: 1 of ",
        ),
        (Adapter(), {"fail_fast": True}, 0, {"pass"}, "(--select, --examples 5, --fail-fast) ("),
        (
            Adapter({"ops": UNDECODED}),
            {"require": list(FAMILIES)},
            0,
            {"pass"},
            " index cases, all as 4.9.3 (",
        ),
        (Adapter({"ops": ["key.hash"]}), {"require": ["index"]}, 4, set(), "required and not declared"),
        (Adapter({"ops": ["key.hash"]}), {"require": ["queue"]}, 4, set(), "required and not declared"),
    ],
)
def test_what_is_not_conformant(
    adapter: Adapter, options: dict[str, Any], code: int, verdicts: set[Verdict], text: str
) -> None:
    report = run_on(adapter, **options)
    assert report.exit_code == code
    assert {line.verdict for line in report.cases} >= verdicts
    assert text in conclusion(report)


@pytest.mark.parametrize(
    ("is_any", "ending"),
    [(False, 'expected {"put": true} and no file changed, actual'), (True, 'expected {"put": true}, actual')],
)
def test_of_a_put_that_was_wrongly_rejected_it_is_said_if_it_changes_nothing(
    ending: str, *, is_any: bool
) -> None:
    """The second put of a record changes nothing; any other one writes a unit."""

    def rejected(answer: dict[str, Any], message: Mapping[str, Any]) -> None:
        offsets = [op.get("offset") for op in message["ops"]]
        for place, offset in enumerate(offsets):
            if offset is not None and (is_any or offset in offsets[:place]):
                answer["results"][place] = {"rejected": "no"}

    with open_handler(ChangedAdapter(None, rejected)) as transport:
        report = run(transport, Options(select=["CQ-PUT-1/prop-repeats"], examples=5))
    [line] = describe_divergence(report.cases[0].divergence)
    assert line.endswith(f"{ending} rejected (no)")


@pytest.mark.parametrize(
    ("result", "case", "kind"),
    [
        ({"rejected": "full"}, "IDX-PUT-6/chain", "wrongly rejected"),
        ({"put": True}, "IDX-PUT-10/*", "wrongly accepted"),
    ],
)
def test_what_is_rejected_and_what_is_not(result: dict[str, Any], case: str, kind: str) -> None:
    report = run_on(Adapter(index_put=result), select=[case])
    assert report.exit_code == 1
    assert kind in {item["kind"] for line in report.cases for item in line.divergence}


def test_an_exception_of_an_adapter_in_this_process_is_errored() -> None:
    report = run_on(ChangedAdapter(change=lambda _answer, _message: 1 // 0), select=["IDX-HASH-1/*"])
    assert report.exit_code == 1
    assert {line.verdict for line in report.cases} == {"errored"}
    assert "ZeroDivisionError: " in report.cases[0].detail


def test_an_answer_to_another_case_is_errored() -> None:
    confused = ChangedAdapter(change=lambda answer, _message: answer.update({"id": "x"}))
    (line,) = run_on(confused, select=["IDX-HASH-1/empty"]).cases
    assert (line.verdict, line.detail) == ("errored", "answered case 1 with id 'x'")


def test_time_and_moves_of_all_lists_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a second at each look: one second a list. Three moves in a row out of as many as there are."""
    clock = SimpleNamespace(monotonic=partial(next, count()))
    monkeypatch.setattr("rocket_conformance.running.execution.time", clock)
    report = run_on(Adapter(), select=["IDX-SEL-6/prop-*"])
    assert [(line.examples, line.millis) for line in report.cases] == [(5, 5_000)]
    assert (report.footer or {})["triples"]["index"][1] == 11**3


def test_a_fixed_geometry_gets_the_cases_of_that_geometry() -> None:
    seen: set[tuple[int, int]] = set()

    def look(_answer: object, message: Mapping[str, Any]) -> None:
        seen.update(
            (op["hash_slot_num"], op["index_num"]) for op in message["ops"] if op["op"] == "index.open"
        )

    # in files of the first no directed case shows what it is about
    for geometries in ([[1, 2], [8, 13]], [[7, 12]]):
        seen.clear()
        fixed = ChangedAdapter({"geometry": geometries}, look)
        report = run_on(fixed, select=["IDX-PUT-*"], examples=3)
        assert report.exit_code == 0
        assert seen <= set(map(tuple, geometries))
        assert {"pass", "not_applicable"} == {line.verdict for line in report.cases}
        directed = [line for line in report.cases if line.verdict == "pass" and "/prop-" not in line.id]
        assert directed


def test_what_a_case_lacks_or_asks_for() -> None:
    opens = [{"op": "index.open", "hash_slot_num": slots, "index_num": 12} for slots in (8, 7)]
    hello = parse_hello({"protocol": 1, "name": "port", "ops": ["index.open"], "geometry": [[1, 2]]})
    assert (
        Planned(Case("IDX-PUT-1/x", ("IDX-PUT-1",), tuple(opens))).obstacle(hello)
        == "needs the geometry (7, 12)"
    )
    for size, limit in ((0, None), (-1, "unsigned_sizes")):
        case = Case("CQ-PUT-1/x", (), ({"op": "queue.put", "size": size},))
        assert limit_broken(case, (), frozenset(["unsigned_sizes"])) == limit


def test_a_fixed_queue_file_size_gets_the_cases_of_that_size() -> None:
    seen: set[int] = set()

    def look(_answer: object, message: Mapping[str, Any]) -> None:
        seen.update(op["file_size"] for op in message["ops"] if op["op"] == "queue.open")

    fixed = ChangedAdapter({"queue_file_size": [6_000]}, look)
    report = run_on(fixed, select=["CQ-PUT-*"], examples=9)
    assert report.exit_code == 0
    assert seen == {6_000}
    verdicts = {line.id: line.verdict for line in report.cases}
    assert set(verdicts.values()) == {"pass", "not_applicable"}
    assert verdicts["CQ-PUT-2/prop-logical-offsets"] == "pass"
    assert verdicts["CQ-PUT-1/same-again"] == "pass"  # written for files of 60 bytes, of which it fills none
    details = {line.detail for line in report.cases if line.verdict == "not_applicable"}
    assert "needs the queue file size 60" in details


def test_a_port_of_the_default_geometry_gets_variants_and_properties() -> None:
    default = [5_000_000, 20_000_000]
    select = ["IDX-PUT-5/*", "IDX-HDR-2/*", "IDX-PUT-1/*", "IDX-SEL-6/prop-*", "IDX-SVC-3/prop-*"]
    report = run_on(Adapter({"geometry": [default]}), select=select, examples=2)
    verdicts = {line.id: line.verdict for line in report.cases}
    assert report.exit_code == 0
    assert {name for name in verdicts if "/prop-" in name and verdicts[name] != "pass"} == set()
    assert {line.examples for line in report.cases if "/prop-" in line.id} == {2}
    assert verdicts["IDX-PUT-1/fills-up"] == "not_applicable"  # fills a small file
    directed = [name for name in verdicts if name.startswith("IDX-HDR-2/") and verdicts[name] == "pass"]
    assert len(directed) >= 3


def test_the_first_of_the_smallest_failing_lists_is_kept(tmp_path: Path) -> None:
    [planned] = plan(select=["IDX-HASH-1/prop-key-hash"])
    state = CaseState(planned)
    first, second = (hash_trial(tmp_path, number).fail("diverged", "") for number in range(2))
    longer = replace(first, case=replace(first.case, ops=first.case.ops * 2))
    for trial in (longer, first, second, longer):
        state.add(trial)
    assert state.worst is first


# --- the oracle ---------------------------------------------------------------------------------------


def test_where_the_real_jar_disagrees_the_case_is_disputed() -> None:
    with open_handler(Adapter()) as transport, open_handler(Adapter(index_full={"full": True})) as oracle:
        report = run(transport, Options(select=["IDX-FULL-1/*", "IDX-HASH-2/*"], examples=3), oracle=oracle)
    assert report.exit_code == 7
    disputed = {line.id for line in report.cases if line.verdict == "disputed"}
    assert disputed
    assert all(name.startswith("IDX-FULL-1/") for name in disputed)
    assert {line.verdict for line in report.cases if line.id.startswith("IDX-HASH-2/")} == {"pass"}
    assert "full: the real jar has True, the reference False" in str(report.cases)
    assert "the suite's own error" in conclusion(report)
    listed = render_markdown(report)
    assert all(f"| {name} | disputed |" in listed for name in disputed)


def test_the_real_jar_is_asked_for_nothing_that_it_lacks() -> None:
    lacking = Adapter(
        {"ops": [name for name in OPERATIONS if name != "index.full"]}, index_full={"unsupported": True}
    )
    with open_handler(Adapter()) as transport, open_handler(lacking) as oracle:
        report = run(transport, Options(select=["IDX-FULL-1/*"], examples=3), oracle=oracle)
    assert {line.verdict for line in report.cases} == {"pass"}


# --- the baseline -------------------------------------------------------------------------------------


def baseline(folder: Path, text: str) -> Baseline:
    path = folder / "known.txt"
    path.write_text(text, encoding="utf-8")
    return read_baseline(path)


@pytest.mark.parametrize(
    ("counts", "failed", "flags", "code"),
    [
        ({"pass": 1}, 0, {}, 0),
        ({"pass": 1, "not_applicable": 9}, 0, {}, 0),
        ({"pass": 1, "crash": 1}, 1, {}, 1),
        ({"pass": 1, "diverged": 1, "disputed": 1}, 1, {}, 7),
        ({"pass": 1, "diverged": 1}, 1, {"stale": True}, 1),
        ({"pass": 1}, 0, {"stale": True}, 6),
        ({"skipped": 1}, 0, {}, 5),
        ({}, 0, {"missing_required": True}, 5),
        ({"pass": 1, "skipped": 1}, 0, {}, 4),
        ({"pass": 1, "unsupported": 1}, 0, {}, 4),
        ({"pass": 1}, 0, {"cut_short": True}, 4),
        ({"pass": 1}, 0, {"missing_required": True}, 4),
    ],
)
def test_exit_codes(counts: dict[Verdict, int], failed: int, flags: dict[str, bool], code: int) -> None:
    assert exit_code(counts, failed=failed, **flags) == code


# --- the report ---------------------------------------------------------------------------------------


def test_every_line_of_a_report_follows_its_schema(tmp_path: Path) -> None:
    report = run_on(Adapter({"features": []}, index_header={"skipped": "x"}, key_hash={"hash": 1}), tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text("utf-8").splitlines()]
    assert [found for line in lines for found in problems("report_line", line)] == []
    assert [line["type"] for line in lines] == ["header", *["case"] * len(report.cases), "footer"]
    assert len({line["id"] for line in lines[1:-1]}) == len(report.cases)
    for line in lines[1:-1]:
        if line["replay"] is not None:
            assert problems("case", json.loads((tmp_path / line["replay"]).read_bytes())) == []
    again = read_report(tmp_path / "report.jsonl")
    assert again.exit_code == report.exit_code == 1
    assert {line.id: line.verdict for line in again.cases} == {line.id: line.verdict for line in report.cases}


def test_a_cause_follows_the_schema() -> None:
    five = ["a name (IDX-PUT-2)"] * 5
    cause = {"misreadings": five, "clause": "IDX-PUT-2", "sure": True, "shows": 3, "cases": ["IDX-PUT-2/any"]}
    drawn = cause | {"cases": [], "properties": ["IDX-PUT-2/prop-any"], "hangs": ["IDX-PUT-2/hangs"]}
    more = {
        "ops": [],
        "families": [],
        "causes": [cause, drawn],
        "elsewhere": {"IDX-SEL-2": ["index.put put"]},
    }
    footer = footer_line([], Baseline(), missing=[], cut_short=None, more=more)
    assert problems("report_line", footer) == []


@pytest.mark.parametrize("cut", ["footer", "middle"])
def test_a_report_without_a_footer_was_cut_off(tmp_path: Path, cut: str) -> None:
    run_on(Adapter(), tmp_path)
    path = tmp_path / "report.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) if cut == "footer" else b"".join(lines[:-2]) + lines[-2][:40])
    report = read_report(path)
    assert report.footer is None
    assert report.exit_code == 130
    assert conclusion(report).startswith("cut off: no verdict")
    write_renderings(report, tmp_path)
    assert "cut off" in (tmp_path / "report.html").read_text("utf-8")
    path.write_bytes(b"".join(lines[:-1]) + b"{\n")
    with pytest.raises(MalformedError, match=f"report.jsonl:{len(lines)}: "):
        read_report(path)


def test_an_interrupted_run_leaves_what_it_knew(tmp_path: Path) -> None:
    left = iter(range(8))

    def change(_answer: object, _message: object) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    run_on(ChangedAdapter(change=change), tmp_path, select=["IDX-HASH-*"])
    report = read_report(tmp_path / "report.jsonl")
    assert report.exit_code == 130
    assert report.footer is not None
    assert report.footer["cut_short"] == "interrupted by SIGINT"
    assert 0 < sum(line.verdict == "pass" for line in report.cases) < 10
    assert sorted(line.id for line in report.cases) == sorted(item.id for item in plan(select=["IDX-HASH-*"]))
    assert conclusion(report).startswith("interrupted by SIGINT: no verdict")
