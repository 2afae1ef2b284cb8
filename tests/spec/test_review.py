"""Every clause was compared with the Java source since it last changed."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from rocket_spec.clauses import clauses
from rocket_spec.data import find_data

from tools.review import HOW, Review, digest, reviews, stale, written

TEXT = find_data("spec/REVIEW.md").read_text("utf-8")
CLAUSE = clauses()["IDX-PUT-5"]


def test_no_clause_lacks_its_review() -> None:
    assert stale(clauses(), reviews(TEXT)) == []


def test_no_review_is_of_something_else() -> None:
    assert set(reviews(TEXT)) <= set(clauses())
    assert {review.how for review in reviews(TEXT).values()} <= set(HOW)
    assert TEXT.count("\n| ") == 1 + len(reviews(TEXT))  # the table's head, and no row of another form


@pytest.mark.parametrize(
    "change", [{"text": "It is so."}, {"level": "OBSERVED"}, {"since": "4.9.3"}, {"source": "A.b 1"}]
)
def test_a_changed_clause_is_stale(change: dict[str, Any]) -> None:
    changed = replace(CLAUSE, **change)
    assert stale(
        {CLAUSE.id: changed}, {CLAUSE.id: Review(CLAUSE.id, None, date(2026, 1, 1), "source", digest(CLAUSE))}
    ) == [CLAUSE.id]


def test_what_its_author_alone_has_read_is_stale() -> None:
    known = {CLAUSE.id: CLAUSE}
    day = date(2026, 1, 1)
    text = written("", known, [CLAUSE.id], how="author", day=day)
    assert stale(known, reviews(text)) == [CLAUSE.id]
    text = written(text, known, [CLAUSE.id], how="source", day=date(2026, 1, 2))
    assert stale(known, reviews(text)) == []
    assert reviews(text)[CLAUSE.id][1:3] == (day, date(2026, 1, 2))
