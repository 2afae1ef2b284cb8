"""Every clause was compared with the Java source since it last changed."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from rocket_spec.clauses import clauses
from rocket_spec.data import find_data

from tools.review import HOW, Review, digest, main, reviews, stale, written

TEXT = find_data("spec/REVIEW.md").read_text("utf-8")
CLAUSE = clauses()["IDX-PUT-5"]


def test_no_clause_lacks_its_review() -> None:
    assert stale(clauses(), reviews(TEXT)) == []


def test_no_review_is_of_something_else() -> None:
    assert set(reviews(TEXT)) <= set(clauses())
    assert {review.how for review in reviews(TEXT).values()} <= set(HOW)
    assert TEXT.count("\n| ") == 1 + len(reviews(TEXT))  # the table's head, and no row of another form


def test_what_claims_something_was_run() -> None:
    """A clause without evidence cannot be run: nothing may be sent."""
    for name, review in reviews(TEXT).items():
        assert review.how == "source" or clauses()[name].evidence != "none"


@pytest.mark.parametrize(
    "change", [{"text": "It is so."}, {"level": "OBSERVED"}, {"since": "4.9.3"}, {"source": "A.b 1"}]
)
def test_a_changed_clause_is_stale(change: dict[str, Any]) -> None:
    changed = replace(CLAUSE, **change)
    assert stale(
        {CLAUSE.id: changed}, {CLAUSE.id: Review(CLAUSE.id, date(2026, 1, 1), "source", digest(CLAUSE))}
    ) == [CLAUSE.id]


def test_a_clause_that_is_only_moved_or_wrapped_otherwise_is_not() -> None:
    moved = replace(CLAUSE, line=7, text=CLAUSE.text.replace(" ", "\n", 3))
    assert digest(moved) == digest(CLAUSE)


def test_rows_are_replaced_in_the_documents_order() -> None:
    known = {name: clauses()[name] for name in ("IDX-PUT-5", "CKP-1")}
    first = written("# Head\n", known, ["CKP-1"], how="source", day=date(2026, 1, 2))
    second = written(first, known, ["IDX-PUT-5"], how="source and run", day=date(2026, 1, 3))
    assert second.splitlines()[0] == "# Head"
    assert list(reviews(second)) == ["IDX-PUT-5", "CKP-1"]
    assert reviews(second)["CKP-1"] == Review("CKP-1", date(2026, 1, 2), "source", digest(known["CKP-1"]))


def test_two_rows_of_a_clause_are_refused() -> None:
    row = f"| CKP-1 | 2026-01-02 | source | {'0' * 12} |\n"
    with pytest.raises(ValueError, match="two rows for CKP-1"):
        reviews(row * 2)


def test_an_unknown_clause_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["IDX-PUT-99"])
    assert "no clause IDX-PUT-99" in capsys.readouterr().err
