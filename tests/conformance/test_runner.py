"""Whole runs: verdicts, exit codes, the baseline, the report."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from rocket_conformance.cases import directed_cases
from rocket_conformance.judging import Verdict, exit_code
from rocket_conformance.pages import write_renderings
from rocket_conformance.planning import plan, variant_of
from rocket_conformance.protocol import OPERATIONS
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.report import Baseline, Report, conclusion, read_baseline, read_report
from rocket_conformance.running import Options, run
from rocket_conformance.schema import problems
from rocket_conformance.transport import open_handler
from rocket_spec.errors import MalformedError, UsageError

SMALL = ("IDX-HDR-4/*", "IDX-HASH-1/*")


class Adapter(ReferenceAdapter):
    """The reference, with its hello and its results changed."""

    def __init__(self, hello: Mapping[str, Any] | None = None, **results: Any) -> None:
        super().__init__()
        self.hello = hello or {}
        self.results = results

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        answer = super().handle(message)
        if answer is not None and message["cmd"] == "hello":
            return {**answer, **self.hello}
        if answer is not None and self.results:
            for place, op in enumerate(message["ops"]):
                changed = self.results.get(op["op"].replace(".", "_"))
                if changed is not None:
                    answer["results"][place] = changed
        return answer


def run_on(adapter: Adapter, folder: Path | None = None, **options: Any) -> Report:
    options.setdefault("select", SMALL)
    options.setdefault("examples", 5)
    with open_handler(adapter) as transport:
        return run(transport, Options(**options), report=folder)


def test_a_conformant_implementation_is_exit_0() -> None:
    report = run_on(Adapter())
    assert report.exit_code == 0
    total = len(report.cases)
    assert conclusion(report) == (
        f"conformant for index, service, queue, log, checkpoint ({total} of {total} cases applicable)"
    )


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
            "conformant in part, for key.hash only (",
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
    class Broken(Adapter):
        def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
            if message["cmd"] == "case":
                raise ZeroDivisionError("oh")
            return super().handle(message)

    report = run_on(Broken(), select=["IDX-HASH-1/*"])
    assert report.exit_code == 1
    assert {line.verdict for line in report.cases} == {"errored"}
    assert "ZeroDivisionError: oh" in report.cases[0].detail


def test_a_missing_feature_is_not_applicable() -> None:
    report = run_on(Adapter({"features": []}), select=["IDX-HASH-1/prop-*"])
    verdicts = {line.id: line.verdict for line in report.cases}
    assert verdicts["IDX-HASH-1/prop-lone-surrogates"] == "not_applicable"
    assert verdicts["IDX-HASH-1/prop-key-hash"] == "pass"


def test_a_fixed_geometry_gets_the_cases_of_that_geometry() -> None:
    geometry = [7, 12]
    seen: set[tuple[int, int]] = set()

    class Fixed(Adapter):
        def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
            for op in message.get("ops", ()):
                if op["op"] == "index.open":
                    seen.add((op["hash_slot_num"], op["index_num"]))
            return super().handle(message)

    report = run_on(Fixed({"geometry": [geometry]}), select=["IDX-PUT-*"], examples=3)
    assert report.exit_code == 0
    assert seen == {(7, 12)}
    assert {"pass", "not_applicable"} == {line.verdict for line in report.cases}


def test_a_port_of_the_default_geometry_gets_variants_and_properties() -> None:
    default = [5_000_000, 20_000_000]
    select = ["IDX-PUT-5/*", "IDX-HDR-2/*", "IDX-PUT-1/*", "IDX-SEL-6/prop-*", "IDX-SVC-3/prop-*"]
    report = run_on(Adapter({"geometry": [default]}), select=select, examples=2)
    verdicts = {line.id: line.verdict for line in report.cases}
    assert report.exit_code == 0
    assert {name for name in verdicts if "/prop-" in name and verdicts[name] != "pass"} == set()
    assert verdicts["IDX-PUT-1/fills-up"] == "not_applicable"  # fills a small file
    directed = [name for name in verdicts if name.startswith("IDX-HDR-2/") and verdicts[name] == "pass"]
    assert len(directed) >= 3


def test_a_variant_is_the_same_list_on_another_geometry() -> None:
    for case in directed_cases():
        found = variant_of(case, [(11, 300)]) if case.id.startswith("IDX-HDR-3/") else None
        if found is None:
            continue
        assert {(op["hash_slot_num"], op["index_num"]) for op in found.ops if "hash_slot_num" in op} == {
            (11, 300)
        }
        assert [op["op"] for op in found.ops] == [op["op"] for op in case.ops]
        assert (found.id, found.clauses, found.expected) == (case.id, case.clauses, None)
        return
    raise AssertionError("no case has a variant")


def test_the_default_geometry_runs_on_sparse_files() -> None:
    report = run_on(Adapter(), select=["*/default-geometry*"])
    assert [line.verdict for line in report.cases] == ["pass"] * 3


def test_select_that_matches_nothing_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no case matches IDX-XYZ-1/"):
        run_on(Adapter(), select=["IDX-XYZ-1/*"])


# --- the oracle ---------------------------------------------------------------------------------------


def test_where_the_real_jar_disagrees_the_case_is_disputed() -> None:
    with open_handler(Adapter()) as transport, open_handler(Adapter(index_full={"full": True})) as oracle:
        report = run(transport, Options(select=["IDX-FULL-1/*", "IDX-HASH-2/*"], examples=3), oracle=oracle)
    assert report.exit_code == 7
    disputed = {line.id for line in report.cases if line.verdict == "disputed"}
    assert disputed
    assert all(name.startswith("IDX-FULL-1/") for name in disputed)
    assert {line.verdict for line in report.cases if line.id.startswith("IDX-HASH-2/")} == {"pass"}
    assert "the suite's own error" in conclusion(report)


def test_a_disputed_case_is_not_held_against_the_implementation() -> None:
    wrong = {"full": True}
    with (
        open_handler(Adapter(index_full=wrong)) as transport,
        open_handler(Adapter(index_full=wrong)) as oracle,
    ):
        report = run(transport, Options(select=["IDX-FULL-1/*"]), oracle=oracle)
    assert {line.verdict for line in report.cases} == {"disputed", "pass"}


# --- the baseline -------------------------------------------------------------------------------------


def baseline(folder: Path, text: str) -> Baseline:
    path = folder / "known.txt"
    path.write_text(text, encoding="utf-8")
    return read_baseline(path)


def test_known_failures_are_excused(tmp_path: Path) -> None:
    known = baseline(tmp_path, "# ours\n\nIDX-FULL-1/*  diverged  https://example.org/1\n")
    always = Adapter(index_full={"full": True})
    failing = run_on(always, select=["IDX-FULL-1/*"])
    ids = [line.id for line in failing.cases if line.verdict == "diverged"]
    report = run_on(always, select=ids, baseline=known)
    assert report.exit_code == 0
    assert all(line.baselined for line in report.cases)
    assert conclusion(report).startswith(
        f"conformant but for {len(ids)} known failures in 1 clause, for index"
    )


@pytest.mark.parametrize(
    ("result", "line", "code"),
    [
        (None, "IDX-FULL-1/* diverged x", 6),  # it passes
        (None, "IDX-PUT-1/* crash x", 6),  # not of this run
        ({"errored": "x"}, "IDX-FULL-1/* diverged x", 1),  # it fails otherwise
    ],
)
def test_a_baseline_that_is_not_of_this_run(
    tmp_path: Path, result: dict[str, Any] | None, line: str, code: int
) -> None:
    report = run_on(Adapter(index_full=result), select=["IDX-FULL-1/*"], baseline=baseline(tmp_path, line))
    assert report.exit_code == code
    assert ("stale" in conclusion(report)) == (code == 6)


@pytest.mark.parametrize("line", ["IDX-FULL-1/*", "IDX-FULL-1/* diverged", "IDX-FULL-1/* pass because"])
def test_a_line_that_is_none_is_a_usage_error(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError, match=r"known\.txt:1"):
        baseline(tmp_path, line)


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


@pytest.mark.parametrize("text", ["", "{}\n{}\n", "hello\nworld\n"])
def test_a_file_that_is_no_report(tmp_path: Path, text: str) -> None:
    path = tmp_path / "report.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MalformedError):
        read_report(path)


def test_an_interrupted_run_leaves_what_it_knew(tmp_path: Path) -> None:
    class Interrupting(Adapter):
        count = 0

        def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
            self.count += 1
            if self.count == 10:
                raise KeyboardInterrupt
            return super().handle(message)

    run_on(Interrupting(), tmp_path, select=["IDX-HASH-*"])
    report = read_report(tmp_path / "report.jsonl")
    assert report.exit_code == 130
    assert report.footer is not None
    assert report.footer["cut_short"] == "interrupted by SIGINT"
    assert 0 < sum(line.verdict == "pass" for line in report.cases) < 10
    assert sorted(line.id for line in report.cases) == sorted(item.id for item in plan(select=["IDX-HASH-*"]))
    assert conclusion(report).startswith("interrupted by SIGINT: no verdict")


def test_renderings_name_each_failure(tmp_path: Path) -> None:
    report = run_on(Adapter(key_hash={"hash": 1}), tmp_path)
    write_renderings(report, tmp_path)
    failed = [line for line in report.cases if line.verdict == "diverged"]
    page = (tmp_path / "report.html").read_text("utf-8")
    summary = (tmp_path / "report.md").read_text("utf-8")
    junit = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - our own file
    assert failed
    assert "http" not in page.replace("https://", "").replace("http://", "") or "src=" not in page
    for line in failed:
        assert line.id in page
        assert line.id in summary
    assert len(junit.findall(".//failure")) == len(failed)
    assert len(junit.findall(".//testcase")) == len(report.cases)
