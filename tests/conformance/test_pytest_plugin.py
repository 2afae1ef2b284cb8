"""The suite inside an implementer's own pytest run."""

import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from adapter_code import GOOD, WRONG, AdapterMaker
from changed_adapter import ChangedAdapter
from rocket_conformance.planning import planned_by_id
from rocket_conformance.pytest_plugin import check, options_of, started_adapter
from rocket_conformance.report import Baseline
from rocket_conformance.running import Options
from rocket_conformance.transport import open_handler


def pytest_run(
    cwd: Path, *arguments: str, adapter: list[str] | None = None, select: str | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    command += ["--pyargs", "rocket_conformance.suite"]
    command += [] if adapter is None else ["--rocketspec-adapter", shlex.join(adapter)]
    command += [] if select is None else ["--rocketspec-select", select]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, encoding="utf-8", check=False, cwd=cwd
    )


def test_case_ids_are_test_ids_and_clauses_are_markers(adapter: AdapterMaker, tmp_path: Path) -> None:
    """Operations that the adapter does not declare are skipped."""
    marked = ("-v", "-rs", "--strict-markers", "-m", "IDX-HASH-2 or IDX-HDR-1")
    run = pytest_run(tmp_path, *marked, adapter=adapter(GOOD))
    assert run.returncode == 0, run.stdout
    assert "test_case[IDX-HASH-2/" in run.stdout
    assert "test_case[IDX-HASH-1/prop-key-hash] PASSED" in run.stdout
    assert "not applicable: not declared: index." in run.stdout
    assert "IDX-PUT" not in run.stdout


def test_a_failure_shows_the_clause_and_the_shrunk_input(adapter: AdapterMaker, tmp_path: Path) -> None:
    run = pytest_run(
        tmp_path, "--rocketspec-examples", "20", adapter=adapter(WRONG), select="IDX-HASH-1/prop-key-hash"
    )
    assert run.returncode == 1, run.stdout
    assert "IDX-HASH-1: operation 0, hash: wrong value, expected " in run.stdout
    assert "IDX-HASH-1 (MUST; IndexFile." in run.stdout
    assert "0 key.hash key=" in run.stdout
    assert "1 key.hash" not in run.stdout


def test_a_baseline_is_expected_to_fail_and_fails_when_it_passes(
    adapter: AdapterMaker, tmp_path: Path
) -> None:
    """The wrong port's hashes are all 1; of its two failures one is known in another way."""
    (tmp_path / "known.txt").write_text(
        "IDX-HASH-1/emoji diverged hashes code points\nIDX-HASH-1/empty timeout was slow\n", encoding="utf-8"
    )
    known = ("--rocketspec-baseline", "known.txt")
    wrong = pytest_run(tmp_path, *known, adapter=adapter(WRONG), select="IDX-HASH-1/em*")
    assert wrong.returncode == 1  # what was known as a timeout diverges
    assert "1 failed, 1 skipped, 1 xfailed" in wrong.stdout
    good = pytest_run(tmp_path, *known, adapter=adapter(GOOD), select="IDX-HASH-1/em*")
    assert good.returncode == 1
    assert "stale baseline line: IDX-HASH-1/emoji is pass, not diverged" in good.stdout


def test_lists_are_those_of_the_options(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"level": "must", "seed": 3, "examples": 7}.items():
        monkeypatch.setattr(pytestconfig.option, f"rocketspec_{name}", value)
    assert options_of(pytestconfig) == Options(level="must", seed=3, examples=7)


def test_the_time_limit_is_that_of_the_option(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"adapter": "./port --fast", "case_timeout": 2.5}.items():
        monkeypatch.setattr(pytestconfig.option, f"rocketspec_{name}", value)
    asked: list[tuple[list[str], float]] = []

    def opened(command: list[str], *, case_timeout: float) -> AbstractContextManager[None]:
        asked.append((command, case_timeout))
        return nullcontext()

    monkeypatch.setattr("rocket_conformance.transport.open_command", opened)
    assert list(started_adapter(pytestconfig)) == [None]
    assert asked == [(["./port", "--fast"], 2.5)]


def test_what_an_implementation_does_not_support_is_skipped() -> None:
    def unsupported(answer: dict[str, Any], _message: Mapping[str, Any]) -> None:
        answer["results"] = [{"unsupported": True} for _ in answer["results"]]

    with (
        open_handler(ChangedAdapter(None, unsupported)) as transport,
        pytest.raises(pytest.skip.Exception, match=r"^unsupported: "),
    ):
        check(transport, Baseline(), Options(), planned_by_id("IDX-HASH-1/empty"))


def test_without_the_option_it_is_one_skip_that_says_so(tmp_path: Path) -> None:
    run = pytest_run(tmp_path, "--strict-markers")
    assert run.returncode == 0
    assert 'nothing ran: give --rocketspec-adapter "COMMAND"' in run.stdout
    assert "1 skipped" in run.stdout


def test_an_adapter_that_does_not_start_is_one_line(tmp_path: Path) -> None:
    run = pytest_run(tmp_path, adapter=["./no-such-adapter"], select="IDX-HASH-2/*")
    assert run.returncode == 1
    assert "the adapter did not start: ./no-such-adapter: no such file" in run.stdout


def test_the_plugin_imports_nothing_of_ours_until_it_is_asked() -> None:
    code = (
        "import sys, rocket_conformance.pytest_plugin; "
        "print([name for name in sys.modules if name.startswith(('rocket', 'psutil', 'jsonschema', 'numpy'))])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['rocket_conformance', 'rocket_conformance.pytest_plugin']"
