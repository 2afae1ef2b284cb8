"""`rocketspec mutants`, and what a user sees who runs `conform` on an implementation that does nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from rocket_conformance.mutants import CATALOGUE, MUTANTS
from verb_run import Run, runner


@pytest.fixture
def mutants(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner("mutants", capfd, monkeypatch)


@pytest.fixture
def conform(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner("conform", capfd, monkeypatch)


def mutant(name: str) -> list[str]:
    return [sys.executable, "-m", "rocket_conformance.mutants", name]


@pytest.fixture
def key_hash_only(adapter: Callable[[str], list[str]]) -> list[str]:
    """An adapter that declares key.hash, and does that rightly."""
    return adapter("def handle(count, message):\n    send(answer(message))")


def test_each_is_shown_with_the_case_that_notices_it(mutants: Run) -> None:
    done = mutants("--select", "CKP-*")
    *shown, empty, score = done.out.splitlines()
    assert done.code == 0
    assert shown[0].split() == ["CKP-1", "queue-time-before-log-time", "CKP-1/extreme-times", "(diverged)"]
    assert len(shown) == sum(mutant.clause.startswith("CKP-") for mutant in MUTANTS)
    assert (empty, score) == ("", f"mutant score {len(shown)} of {len(shown)} (100 %)")


def test_json_is_a_mutant_a_line_and_the_score_last(mutants: Run) -> None:
    done = mutants("--json", "--family", "none", "--select", "always-*")
    *rows, score = map(json.loads, done.out.splitlines())
    assert [(row["name"], row["killed"], row["verdict"]) for row in rows] == [
        ("always-empty", True, "diverged"),
        ("always-true", True, "diverged"),
    ]
    assert score == {"killed": 2, "total": 2, "score": 1.0}


def test_one_that_survives_is_named_and_ends_with_1(mutants: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    unchanged = replace(MUTANTS[0], name="nothing-wrong", new=MUTANTS[0].old)
    monkeypatch.setattr("rocket_conformance.mutants.find", lambda *_: [unchanged])
    done = mutants("--alone", "own")
    assert done.code == 1
    assert done.out.splitlines() == [
        "IDX-HASH-1   nothing-wrong                                SURVIVES",
        "",
        "mutant score 0 of 1 (0 %)",
        "  survives: nothing-wrong (IDX-HASH-1)",
    ]


def test_list_names_all(mutants: Run) -> None:
    done = mutants("--list")
    assert [line.split()[1] for line in done.out.splitlines()] == [item.name for item in CATALOGUE]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--select", "nope"), "no mutant matches nope; `rocketspec mutants --list` names them"),
        (("--alone", "cases"), "--alone 'cases': expected own or properties"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(mutants: Run, arguments: tuple[str, ...], message: str) -> None:
    done = mutants(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_an_unknown_name_is_refused_as_an_adapter() -> None:
    done = subprocess.run(mutant("nope"), input="", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "rocketspec mutants --list" in done.stderr


# --- conform, on what cannot look conformant ---------------------------------------------------------


def last_line(out: str) -> str:
    return out.splitlines()[-1]


def test_an_adapter_that_skips_all_is_no_verdict(conform: Run) -> None:
    done = conform("--select", "CKP-*", "--", *mutant("skips-all"))
    assert done.code == 5
    assert last_line(done.out).startswith("no verdict: nothing ran (")


def test_an_adapter_that_supports_nothing_is_no_verdict(conform: Run) -> None:
    done = conform("--select", "CKP-*", "--", *mutant("supports-nothing"))
    assert done.code == 5
    assert last_line(done.out).startswith("no verdict: nothing ran (")


def test_an_adapter_that_declares_nothing_is_no_verdict(conform: Run) -> None:
    done = conform("--", *mutant("declares-nothing"))
    assert done.code == 5
    assert last_line(done.out).startswith("no verdict: nothing ran (0 of ")


def test_an_adapter_that_declares_almost_nothing_is_told_so(conform: Run, key_hash_only: list[str]) -> None:
    done = conform("--examples", 1, "--", *key_hash_only)
    assert done.code == 0
    share = last_line(done.out)
    assert share.startswith("conformant in part, for key.hash only (")
    applicable, total = share.rpartition("(")[2].removesuffix(" cases applicable)").split(" of ")
    assert int(applicable) * 20 < int(total)


def test_an_adapter_that_declares_almost_nothing_lacks_what_is_required(
    conform: Run, key_hash_only: list[str]
) -> None:
    done = conform("--examples", 1, "--require", "index", "--", *key_hash_only)
    assert done.code == 4
    assert last_line(done.out).startswith("incomplete: required and not declared: index.")
