"""The verb `conform`: each option does what `--help` says, and bad input is one line; the verb `replay` beside it."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from adapter_code import GOOD, WRONG, AdapterMaker
from rocket_conformance.schema import problems
from verb_run import Verb

HASHES = ("conform", "--select", "IDX-HASH-1/*", "--examples", "3")


def report(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "report.jsonl").read_text("utf-8").splitlines()]
    assert [found for line in lines for found in problems("report_line", line)] == []
    return lines


def test_the_bundled_engine_is_conformant(verb: Verb, tmp_path: Path) -> None:
    run = verb("conform", "--report", tmp_path / "out")
    assert run.code == 0, run.out
    assert run.last.startswith("conformant for index (")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["badge.json", "badge.svg", "junit.xml", "report.html", "report.jsonl", "report.md"]


def test_the_starter_adapter_is_conformant_as_a_child_process(verb: Verb, python_adapter: list[str]) -> None:
    run = verb("conform", "--examples", "10", "--", *python_adapter)
    assert run.code == 0, run.out
    assert re.match(r"partial run: \d+ of \d+ cases, all as 4.9.3 \(--examples 10\)", run.last), run.last


def test_a_wrong_adapter_fails_and_its_replay_file_fails_again(
    verb: Verb, adapter: AdapterMaker, tmp_path: Path
) -> None:
    command = adapter(WRONG)
    run = verb("conform", "--report", tmp_path, "--select", "IDX-HASH-*", "--", *command)
    assert run.code == 1
    assert run.last.startswith("not conformant:")
    assert "IDX-HASH-1" in run.last
    case = tmp_path / "replay" / "IDX-HASH-1-prop-key-hash.json"
    again = verb("replay", case, "--", *command)
    assert again.code == 1
    assert again.out.startswith("diverged IDX-HASH-1/prop-key-hash")
    document = json.loads(verb("replay", "--json", case, "--", *command).out)
    assert len(document["ops"]) == 1
    assert document["actual"]["results"] == [{"hash": 1}]
    right = verb("replay", case)
    assert right.code == 0
    assert right.out.startswith("pass IDX-HASH-1/prop-key-hash")


@pytest.mark.parametrize(("seed", "examples"), [(1, 3), (2, 200)])
def test_examples_and_seed_are_those_of_the_lists(
    verb: Verb, adapter: AdapterMaker, tmp_path: Path, seed: int, examples: int
) -> None:
    options = ("--seed", seed, "--examples", examples, "--report", tmp_path)
    assert verb("conform", "--select", "IDX-HASH-1/prop-key-hash", *options, "--", *adapter(GOOD)).code == 0
    header, case, _ = report(tmp_path)
    assert (header["seed"], header["examples"], case["examples"]) == (seed, examples, examples)


def test_level_must_leaves_out_what_is_observed(verb: Verb, tmp_path: Path) -> None:
    options = (
        "--select",
        "IDX-FILE-[12]/*",
        "--select",
        "IDX-PUT-10/*",
        "--examples",
        1,
        "--report",
        tmp_path,
    )
    for more, levels in (((), {"MUST", "OBSERVED"}), (("--level", "must"), {"MUST"})):
        assert verb("conform", *options, *more).code == 0
        assert {line["level"] for line in report(tmp_path)[1:-1]} == levels


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
    verb: Verb, adapter: AdapterMaker, tmp_path: Path, line: str, wrong: int, right: int
) -> None:
    baseline = tmp_path / "known.txt"
    baseline.write_text(f"\n{line}\n", encoding="utf-8")
    known = (*HASHES, "--baseline", baseline, "--")
    assert verb(*known, *adapter(WRONG)).code == wrong
    run = verb(*known, *adapter(GOOD))
    assert run.code == right
    assert ("stale baseline line: " in run.out) == (right == 6)


def test_check_schema_finds_what_the_suite_lets_pass(verb: Verb, adapter: AdapterMaker) -> None:
    """An operation that is declared twice is no reason not to run."""
    code = "HELLO['ops'] = OPS + OPS\n" + GOOD
    assert verb(*HASHES, "--", *adapter(code)).code == 0
    run = verb(*HASHES, "--check-schema", "--", *adapter(code))
    assert run.code == 3
    assert "breaks the schema adapter_message.json" in run.err
    assert verb(*HASHES, "--check-schema", "--", *adapter(GOOD)).code == 0


def test_a_file_that_is_not_executable_has_its_cure(verb: Verb, tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text("#!/usr/bin/env python3\n", encoding="utf-8")
    run = verb("conform", "--", tmp_path / "adapter.py")
    assert run.code == 3
    assert run.err.endswith(f"permission denied; make it executable: chmod +x {tmp_path / 'adapter.py'}\n")


def test_unknown_names_in_hello_are_reported(verb: Verb, adapter: AdapterMaker) -> None:
    code = f'OPS.extend(["index.putt", "\\x1b[2J"])\nHELLO["features"] = ["fast"]\n{GOOD}'
    run = verb("conform", "--select", "IDX-HASH-2/*", "--examples", "1", "--", *adapter(code))
    assert run.code == 0, run.out
    assert (
        "protocol 1 does not know, which is never sent: \\x1b[2J, index.putt (did you mean index.put?), fast\n"
        in run.err
    )


@pytest.mark.java
@pytest.mark.usefixtures("maven")
def test_oracle_and_rocketmq(verb: Verb) -> None:
    select = ("conform", "--select", "IDX-HDR-4/chain")
    assert verb(*select, "--oracle").code == 0
    run = verb(*select, "--rocketmq", "4.7.0")
    assert run.code == 1
    assert run.out.splitlines()[0] == "rocketmq-store 4.7.0"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["conform", "--", "./no-such-adapter"], 3, "./no-such-adapter: no such file or directory"),
        (["conform", "--", sys.executable, "-c", "print(1)"], 3, "not an object"),
        (["conform", "--", sys.executable, "-c", "print('[1')"], 3, "`rocketspec adapter check` explains"),
        (
            ["conform", "--", "python3 adapter.py --fast"],
            3,
            "the command line is quoted as one word: write -- python3 adapter.py --fast",
        ),
        (["conform", "--select", "NOPE"], 2, "no case matches NOPE"),
        (["conform", "--level", "some"], 2, "--level 'some': expected must or observed"),
        (["conform", "--require", "everything"], 2, "--require 'everything': expected index"),
        (["conform", "--baseline", "no-such-file"], 3, "no-such-file: no such file"),
        (["conform", "--baseline", "known.txt"], 2, "known.txt:2: expected CASE-OR-GLOB"),
        (["conform", "--rocketmq", "4.9.3", "--", "x"], 2, "mutually exclusive"),
        (["conform", "--jars", "x"], 2, "--jars requires"),
        (["conform", "--examples", "0"], 2, "Input should be greater than or equal to 1"),
        (["replay", "no-such-case.json"], 3, "no-such-case.json: no such file"),
        (["replay", "known.txt"], 3, "known.txt: "),
        (["replay", "IDX-HASH-1/no-such-case"], 2, "IDX-HASH-1/no-such-case"),
        (["replay", "IDX-HASH-1/*"], 3, "IDX-HASH-1/*"),
        (["case", "show", "IDX-PUT-5/nothing"], 2, "IDX-PUT-5/nothing"),
    ],
)
def test_bad_input_is_one_line_and_a_code(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, text: str
) -> None:
    (tmp_path / "known.txt").write_text("# known\nIDX-HASH-1/* passes always\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    run = verb(*arguments)
    assert (run.code, run.out, run.err.count("\n")) == (code, "", 1)
    assert text in run.err
