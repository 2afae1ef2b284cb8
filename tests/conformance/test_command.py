"""The verbs conform and replay, as a user runs them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

AdapterMaker = Callable[[str], list[str]]
WRONG = "def handle(count, message):\n    send({'id': message['id'], 'results': [{'hash': 1}] * len(message['ops'])})"


def rocketspec(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rocketspec", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=cwd,
    )


def last_line(run: subprocess.CompletedProcess[str]) -> str:
    return run.stdout.splitlines()[-1]


def test_the_bundled_engine_is_conformant(tmp_path: Path) -> None:
    run = rocketspec("conform", "--report", str(tmp_path / "out"))
    assert run.returncode == 0, run.stdout
    assert last_line(run).startswith("conformant for index (")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.jsonl", "report.html", "report.md", "junit.xml"} <= names


def test_the_starter_adapter_is_conformant_as_a_child_process(python_adapter: list[str]) -> None:
    run = rocketspec("conform", "--examples", "10", "--", *python_adapter)
    assert run.returncode == 0, run.stdout
    assert last_line(run).startswith("conformant for index and in part tags.code (")


def test_a_wrong_adapter_fails_and_its_replay_file_fails_again(adapter: AdapterMaker, tmp_path: Path) -> None:
    command = adapter(WRONG)
    run = rocketspec("conform", "--report", str(tmp_path / "out"), "--select", "IDX-HASH-*", "--", *command)
    assert run.returncode == 1
    assert last_line(run).startswith("not conformant:")
    assert "IDX-HASH-1" in last_line(run)
    case = tmp_path / "out" / "replay" / "IDX-HASH-1-prop-key-hash.json"
    again = rocketspec("replay", str(case), "--", *command)
    assert again.returncode == 1
    assert again.stdout.startswith("diverged IDX-HASH-1/prop-key-hash")
    document = json.loads(rocketspec("replay", "--json", str(case), "--", *command).stdout)
    assert len(document["ops"]) == 1
    assert document["actual"]["results"] == [{"hash": 1}]
    right = rocketspec("replay", str(case))
    assert right.returncode == 0
    assert right.stdout.startswith("pass IDX-HASH-1/prop-key-hash")


def test_a_report_of_a_rejecting_adapter_is_not_conformant(adapter: AdapterMaker) -> None:
    code = "def handle(count, message):\n    send({'id': message['id'], 'results': [{'rejected': 'no'}] * len(message['ops'])})"
    assert rocketspec("conform", "--select", "IDX-HASH-*", "--", *adapter(code)).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["conform", "--", "./no-such-adapter"], 3, "./no-such-adapter: no such file or directory"),
        (["conform", "--", sys.executable, "-c", "print(1)"], 3, "not an object"),
        (["conform", "--select", "NOPE"], 2, "no case matches NOPE"),
        (["conform", "--level", "some"], 2, "--level 'some': expected must or observed"),
        (["conform", "--require", "everything"], 2, "--require 'everything': expected index"),
        (["conform", "--baseline", "no-such-file"], 3, "no-such-file: no such file"),
        (["conform", "--rocketmq", "4.9.3", "--", "x"], 2, "mutually exclusive"),
        (["conform", "--jars", "x"], 2, "--jars requires"),
        (["conform", "--examples", "0"], 2, "greater than or equal to 1"),
        (["replay", "no-such-case.json"], 3, "no-such-case.json: no such file"),
    ],
)
def test_bad_input_is_one_line_and_a_code(arguments: list[str], code: int, text: str) -> None:
    run = rocketspec(*arguments)
    assert run.returncode == code
    assert text in run.stderr.replace("\n", " ")
    assert "Traceback" not in run.stderr


def test_a_file_that_is_no_case_is_one_line_and_exit_3(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    for text in ("hello", "{}", "[]"):
        path.write_text(text, encoding="utf-8")
        run = rocketspec("replay", str(path))
        assert run.returncode == 3
        assert len(run.stderr.splitlines()) == 1
        assert str(path) in run.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_an_interrupt_is_exit_130_and_leaves_what_is_known(python_adapter: list[str], tmp_path: Path) -> None:
    report = tmp_path / "out" / "report.jsonl"
    command = [
        sys.executable,
        "-m",
        "rocketspec",
        "conform",
        "--examples",
        "2000",
        "--report",
        str(report.parent),
    ]
    with subprocess.Popen(
        [*command, "--", *python_adapter], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        while not (report.exists() and len(report.read_bytes().splitlines()) > 3):
            assert run.poll() is None
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate(timeout=600)
    assert run.returncode == 130, errors
    assert b"Traceback" not in errors
    lines = [json.loads(line) for line in report.read_text("utf-8").splitlines()]
    assert [line["type"] for line in lines] == ["header", *["case"] * (len(lines) - 2), "footer"]
    assert lines[-1]["cut_short"] == "interrupted by SIGINT"
    assert lines[-1]["exit_code"] == 130
    assert output.decode().splitlines()[-1].startswith("interrupted by SIGINT: no verdict")


@pytest.mark.parametrize("verb", ["conform", "replay"])
def test_help_has_examples_and_fits_80_columns(verb: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "rocketspec", verb, "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        env={"COLUMNS": "80", "TERM": "dumb", "PATH": "", "PYTHONIOENCODING": "utf-8"},
    )
    assert f"rocketspec {verb} " in run.stdout
    assert max(len(line) for line in run.stdout.splitlines()) <= 80
