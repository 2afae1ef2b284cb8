"""`rocketspec spec list` and `spec show`, as a user runs them."""

import json

import pytest
from rocket_conformance.cases import directed_cases
from rocket_conformance.mutants import MUTANTS
from rocket_spec.clauses import clauses
from verb_run import Run, runner


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner("spec", capfd, monkeypatch, width=100)


def test_list_shows_every_clause(run: Run) -> None:
    done = run("list")
    assert done.code == 0
    assert done.err == ""
    assert all(f"\n{name} " in done.out for name in clauses())
    assert f"{len(clauses())} clauses" in done.out


def test_list_as_json_is_a_clause_a_line(run: Run) -> None:
    done = run("list", "--json", "--family", "idx-put", "--level", "must")
    rows = [json.loads(line) for line in done.out.splitlines()]
    expected = [c for c in clauses().values() if c.family == "IDX-PUT" and c.level == "MUST"]
    assert [row["id"] for row in rows] == [clause.id for clause in expected]
    assert [row["text"] for row in rows] == [clause.text for clause in expected]
    assert set(rows[0]) == {
        "id", "family", "level", "since", "evidence", "golden", "source", "summary", "text",
    }  # fmt: skip


def test_show_prints_text_source_and_evidence(run: Run) -> None:
    done = run("show", "idx-put-5")
    assert done.code == 0
    for part in (
        "IDX-PUT-5",
        "MUST",
        "since 3.2.6",
        "equal to index_count",
        "IndexFile.putKey 104-107",
        "Evidence: case",
    ):
        assert part in " ".join(done.out.split())
    assert json.loads(run("show", "STORE-1", "--json").out)["golden"].startswith("tests/reference/")


def test_coverage_counts_what_is_named_after_a_clause(run: Run) -> None:
    done = run("coverage", "--json", "--family", "CKP")
    rows = {row["id"]: row for row in map(json.loads, done.out.splitlines())}
    assert done.code == 0
    assert list(rows) == [clause.id for clause in clauses().values() if clause.family == "CKP"]
    named = [case.id for case in directed_cases() if case.clauses[0] == "CKP-2"]
    assert rows["CKP-2"]["directed"] == len(named)
    assert rows["CKP-2"]["mutants"] == sum(mutant.clause == "CKP-2" for mutant in MUTANTS)
    assert (rows["CKP-3"]["evidence"], rows["CKP-3"]["directed"], rows["CKP-3"]["shown"]) == (
        "golden",
        0,
        True,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "IDX-PUT-77"), "unknown clause 'IDX-PUT-77'; did you mean IDX-PUT-7,"),
        (("show", "zzz"), "unknown clause 'zzz'; see `rocketspec spec list`"),
        (("list", "--level", "should"), "unknown level 'should'; expected must, observed, unspecified"),
        (("coverage", "--family", "CQQ"), "unknown family 'CQQ'"),
        (("list", "--family", "IDX-PUTS"), "unknown family 'IDX-PUTS'; did you mean IDX-PUT,"),
    ],
)
def test_what_is_unknown_gets_one_line_and_exit_2(run: Run, arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert message in done.err
