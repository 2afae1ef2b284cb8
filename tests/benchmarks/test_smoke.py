"""The benchmarks run, on sizes at which their figures mean nothing; no test looks at a time."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rocket_spec.layout import Geometry

from benchmarks import data
from benchmarks.__main__ import FULL, main
from benchmarks.race import Bar, Contender, Result, race, table

ROOT = Path(__file__).parents[2]


def bench(output: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--rounds", "1", "-o", str(output), *arguments],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return output.read_text("utf-8")


def titles(text: str) -> list[str]:
    return [line[3:] for line in text.splitlines() if line.startswith("## ")]


def test_every_section_without_the_jar(tmp_path: Path) -> None:
    text = bench(tmp_path / "RESULTS.md", "--no-java")
    assert titles(text) == [
        *("Bars", "Decode an index file", "Build an index file", "Select", "Scan a commit log"),
        *("Verbs from the shell", "Memory"),
    ]
    assert "real putKey" not in text
    assert str(tmp_path) not in text


@pytest.mark.java
def test_engine_and_real_jar_agree(maven: str, tmp_path: Path) -> None:
    text = bench(tmp_path / "RESULTS.md", *(f"--only={name}" for name in ("build", "select", "log")))
    assert titles(text) == ["Bars", "Build an index file", "Select", "Scan a commit log"]
    assert "| real putKey, 4.9.3 | 3,000 |" in text
    assert "| real selectPhyOffset, 4.9.3 | 1,000 |" in text
    assert "| real checkMessageAndReturnSize, 4.9.3 | 500 |" in text


@pytest.mark.parametrize("arguments", [["--only", "speed"], ["--rounds", "0"]])
def test_what_cannot_be_measured_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_keys_are_pinned() -> None:
    keys = data.keys(np.array([0, 1, 2], np.int64)).to_pylist()
    # 2 * 0x9E3779B97F4A7C15 = 0x1_3C6EF372FE94F82A, of which 64 bits stay.
    assert keys == [
        "7F00000100002A9F0000000000000000",
        "7F00000100002A9F9E3779B97F4A7C15",
        "7F00000100002A9F3C6EF372FE94F82A",
    ]


def test_the_full_sizes_are_those_of_a_default_index_file() -> None:
    assert (FULL.entries, FULL.selects, FULL.records) == (19_999_999, 10_000_000, 1 << 20)
    assert data.geometry_for(19_999_999) == Geometry(5_000_000, 20_000_000)


def test_each_key_is_selected_once() -> None:
    assert sorted(data.query_order(1000, 1000).tolist()) == list(range(1000))


def test_fingerprints_wrap_as_a_java_long() -> None:
    assert data.fingerprint(np.array([3, 5, 7], np.int64)) == (3 * 31 + 5) * 31 + 7
    # 2^60 * 31 = 31 * 2^60 wraps to -2^60.
    assert data.fingerprint(np.array([1 << 60, 0], np.int64)) == -(1 << 60)


def test_rounds_alternate_and_warm_ups_do_not_count() -> None:
    ran: list[str] = []

    def side(name: str, seconds: list[float]) -> Contender:
        def run() -> float:
            ran.append(name)
            return seconds.pop(0)

        return Contender(name, 60, run)

    sides = [side("a", [9.0, 2.0, 1.0, 3.0]), side("b", [9.0, 6.0, 5.0, 4.0])]
    results = race(sides, rounds=3, warm_ups=1)
    assert ran == ["a", "b"] * 4
    assert [result.rates for result in results] == [[20.0, 30.0, 60.0], [10.0, 12.0, 15.0]]


def test_ratios_are_taken_round_by_round() -> None:
    first = Result(Contender("engine", 4_000_000, float), [2.0, 1.0, 4.0])
    second = Result(Contender("other", 1_000_000, float, "slice"), [2.0, 2.0, 16.0])
    # 2, 4 and 1 M/s against 0.5, 0.5 and 0.0625: 4, 8 and 16 times.
    assert table([first, second], "entries").splitlines()[2:] == [
        "| engine | 4,000,000 | 2.00 | 1.00 - 4.00 | 1.00 | 1.00 - 1.00 |  |",
        "| other | 1,000,000 | 0.50 | 0.06 - 0.50 | 8.00 | 4.00 - 16 | slice |",
    ]


def test_a_bar_is_reached_by_its_median() -> None:
    assert Bar("work", "other", 2, [1.0, 2.0, 9.0]).reached
    assert not Bar("work", "other", 2, [1.0, 1.9, 9.0]).reached
    assert not Bar("memory", "imports", 300, [1.0, 301.0, 302.0], " MB", at_most=True).reached
