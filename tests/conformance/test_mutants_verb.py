"""`rocketspec mutants`: which case notices each wrong implementation, and the score."""

import json
from dataclasses import replace

import pytest
from rocket_conformance.mutants import MUTANTS
from verb_run import Verb


def test_each_is_shown_with_the_case_that_notices_it(verb: Verb) -> None:
    done = verb("mutants", "--select", "CKP-*")
    *shown, empty, score = done.out.splitlines()
    assert done.code == 0
    assert shown[0].split() == ["CKP-1", "queue-time-before-log-time", "CKP-1/extreme-times", "(diverged)"]
    assert len(shown) == sum(mutant.clause.startswith("CKP-") for mutant in MUTANTS)
    assert (empty, score) == ("", f"mutant score {len(shown)} of {len(shown)} (100 %)")


def test_json_is_a_mutant_a_line_and_the_score_last(verb: Verb) -> None:
    done = verb("mutants", "--json", "--family", "none", "--select", "always-*")
    *rows, score = map(json.loads, done.out.splitlines())
    assert [(row["name"], row["killed"], row["verdict"]) for row in rows] == [
        ("always-empty", True, "diverged"),
        ("always-true", True, "diverged"),
    ]
    assert score == {"killed": 2, "total": 2, "score": 1.0}


def test_one_that_survives_is_named_and_ends_with_1(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    unchanged = replace(MUTANTS[0], name="nothing-wrong", new=MUTANTS[0].old)
    monkeypatch.setattr("rocket_conformance.mutants.find", lambda *_: [unchanged])
    done = verb("mutants", "--alone", "own")
    assert done.code == 1
    assert done.out.splitlines() == [
        "IDX-HASH-1   nothing-wrong                                SURVIVES",
        "",
        "mutant score 0 of 1 (0 %)",
        "  survives: nothing-wrong (IDX-HASH-1)",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--select", "nope"), "no mutant matches nope; `rocketspec mutants --list` names them"),
        (("--alone", "cases"), "--alone 'cases': expected own or properties"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(verb: Verb, arguments: tuple[str, ...], message: str) -> None:
    done = verb("mutants", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
