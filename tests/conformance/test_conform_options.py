"""Each option of `conform` does what `--help` says, on small selections."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from rocket_conformance.planning import level_of
from rocket_conformance.schema import problems
from verb_run import Run, runner

AdapterMaker = Callable[[str], list[str]]
GOOD = "def handle(count, message):\n    send(answer(message))"
WRONG = "def handle(count, message):\n    send({'id': message['id'], 'results': [{'hash': 1}] * len(message['ops'])})"
HASHES = ("--select", "IDX-HASH-1/*", "--examples", "3")


@pytest.fixture
def conform(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner("conform", capfd, monkeypatch)


def report(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "report.jsonl").read_text("utf-8").splitlines()]
    assert [found for line in lines for found in problems("report_line", line)] == []
    return lines


def test_select_is_repeatable_and_the_report_is_whole(conform: Run, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    run = conform("--select", "IDX-HASH-2/*", "--select", "IDX-TIME-1/*y", "--report", folder)
    assert run.code == 0
    header, *cases, footer = report(folder)
    assert {line["clauses"][0] for line in cases} <= {"IDX-HASH-2", "IDX-TIME-1"}
    assert footer["counts"] == {"pass": len(cases)}
    assert header["implementation"]["ops"]
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["badge.json", "badge.svg", "junit.xml", "report.html", "report.jsonl", "report.md"]


def test_examples_and_seed_are_those_of_the_lists(conform: Run, tmp_path: Path) -> None:
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        assert conform(*HASHES, "--seed", seed, "--report", folder).code == 0
        header, *cases, _ = report(folder)
        assert (header["seed"], header["examples"]) == (seed, 3)
        assert {line["examples"] for line in cases if "/prop-" in line["id"]} == {3}


def test_examples_sets_the_number_of_lists(conform: Run, tmp_path: Path, adapter: AdapterMaker) -> None:
    select = ("--select", "IDX-HASH-1/prop-key-hash")
    assert conform(*select, "--examples", "2000", "--report", tmp_path, "--", *adapter(GOOD)).code == 0
    _, case, _ = report(tmp_path)
    assert case["examples"] == 2000


def test_level_must_leaves_out_what_is_observed(conform: Run, tmp_path: Path) -> None:
    observed = (
        "--select",
        "IDX-FILE-[12]/*",
        "--select",
        "IDX-PUT-10/*",
        "--examples",
        "1",
        "--report",
        tmp_path,
    )
    assert conform(*observed).code == 0
    assert {line["level"] for line in report(tmp_path)[1:-1]} == {"MUST", "OBSERVED"}
    assert level_of("IDX-PUT-10") == "OBSERVED"
    assert conform(*observed, "--level", "must").code == 0
    assert {line["level"] for line in report(tmp_path)[1:-1]} == {"MUST"}


def test_require_asks_for_whole_families(conform: Run, adapter: AdapterMaker) -> None:
    run = conform(*HASHES, "--require", "index,queue", "--", *adapter(GOOD))
    assert run.code == 4
    assert "required and not declared: index.close, " in run.out.splitlines()[-1]
    assert "queue.open" in run.out


def test_junit_adds_up_and_known_failures_are_skipped(
    conform: Run, adapter: AdapterMaker, tmp_path: Path
) -> None:
    known = tmp_path / "known.txt"
    known.write_text("IDX-HASH-1/prop-*  diverged  hashes are all 1\n", encoding="utf-8")
    run = conform(*HASHES, "--baseline", known, "--report", tmp_path, "--", *adapter(WRONG))
    assert run.code == 1
    cases = report(tmp_path)[1:-1]
    failed = [line for line in cases if line["verdict"] == "diverged" and not line["baselined"]]
    assert any(line["baselined"] for line in cases)
    root = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - our own file
    counted = {name: int(root.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    passed = sum(line["verdict"] == "pass" for line in cases)
    left_out = len(cases) - len(failed) - passed
    assert counted == {"tests": len(cases), "failures": len(failed), "errors": 0, "skipped": left_out}
    assert [suite.attrib["name"] for suite in root] == ["IDX-HASH"]
    texts = [element.text or "" for element in root.iter("failure")]
    assert all("replay: replay/IDX-HASH-1-" in text for text in texts)


@pytest.mark.parametrize(
    ("line", "wrong", "right"),
    [
        ("IDX-HASH-1/*  diverged  https://example.com/1", 0, 6),
        ("IDX-HASH-1/*  timeout  slow", 1, 6),
        ("IDX-HASH-2/*  diverged  not of this run", 1, 6),
        ("# nothing is known", 1, 0),
    ],
)
def test_baseline(
    conform: Run, adapter: AdapterMaker, tmp_path: Path, line: str, wrong: int, right: int
) -> None:
    baseline = tmp_path / "known.txt"
    baseline.write_text(f"\n{line}\n", encoding="utf-8")
    known = (*HASHES, "--baseline", baseline, "--")
    assert conform(*known, *adapter(WRONG)).code == wrong
    run = conform(*known, *adapter(GOOD))
    assert run.code == right
    assert ("stale baseline line: " in run.out) == (right == 6)


def test_a_baseline_line_that_is_none_is_named(conform: Run, tmp_path: Path) -> None:
    baseline = tmp_path / "known.txt"
    baseline.write_text("# known\nIDX-HASH-1/* passes always\n", encoding="utf-8")
    run = conform("--baseline", baseline)
    assert run.code == 2
    assert f"{baseline}:2: expected CASE-OR-GLOB" in run.err


def test_check_schema_finds_what_the_suite_lets_pass(conform: Run, adapter: AdapterMaker) -> None:
    """An operation that is declared twice is no reason not to run."""
    code = "HELLO['ops'] = OPS + OPS\n" + GOOD
    assert conform(*HASHES, "--", *adapter(code)).code == 0
    run = conform(*HASHES, "--check-schema", "--", *adapter(code))
    assert run.code == 3
    assert "breaks the schema adapter_message.json" in run.err
    assert conform(*HASHES, "--check-schema", "--", *adapter(GOOD)).code == 0


def test_case_timeout(conform: Run, adapter: AdapterMaker) -> None:
    code = "def handle(count, message):\n    time.sleep(30)"
    run = conform("--select", "IDX-HASH-1/ascii", "--case-timeout", "0.3", "--", *adapter(code))
    assert run.code == 1
    assert "timeout IDX-HASH-1/ascii" in run.out


@pytest.mark.java
@pytest.mark.usefixtures("maven")
def test_oracle_and_rocketmq(conform: Run) -> None:
    select = ("--select", "IDX-HDR-4/chain")
    assert conform(*select, "--oracle").code == 0
    run = conform(*select, "--rocketmq", "4.7.0")
    assert run.code == 1
    assert run.out.splitlines()[0] == "rocketmq-store 4.7.0"


@pytest.mark.java
@pytest.mark.usefixtures("maven")
def test_what_4_7_0_makes_of_properties_is_one_cause(conform: Run) -> None:
    r"""It splits a pair at each `\1`; that shows in tags, keys and malformed text, and is LOG-PROP-3 in all of them."""
    run = conform("--select", "LOG-*", "--select", "UTF8-*", "--rocketmq", "4.7.0")
    assert run.code == 1
    lines = [line for line in run.out.splitlines() if line.startswith("exactly as")]
    assert len(lines) == 1
    assert "(LOG-PROP-3)" in lines[0]
    assert re.search(r"cases failed: .*LOG-PROP-3", run.out.splitlines()[-1])
