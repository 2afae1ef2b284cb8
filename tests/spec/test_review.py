"""Every clause was compared with the Java source since it last changed: SPEC.md against the rows of REVIEW.md."""

import hashlib
import re
from dataclasses import replace
from typing import Any

import pytest
from rocket_spec.clauses import Clause, clauses
from rocket_spec.data import find_data

TEXT = find_data("spec/REVIEW.md").read_text("utf-8")
ROW = re.compile(
    r"^\| ([A-Z0-9-]+) \| (?:\d{4}-\d\d-\d\d|-) \| (\d{4}-\d\d-\d\d|-) \| (author|source|source and run) \| ([0-9a-f]{12}) \|$",
    re.MULTILINE,
)


def digest(clause: Clause) -> str:
    """12 hexadecimal digits of the SHA-256 of what a clause claims: level, release, source and text, spaces aside."""
    claim = f"{clause.level} {clause.since} {clause.source} {clause.text}"
    return hashlib.sha256(" ".join(claim.split()).encode()).hexdigest()[:12]


def test_every_clause_was_read_since_it_changed() -> None:
    """A failure prints the rows that are missing."""
    rows = {clause: (read, how, found) for clause, read, how, found in ROW.findall(TEXT)}
    assert TEXT.count("\n| ") == 1 + len(rows)  # the table's head, and no row of another form
    assert rows.keys() <= clauses().keys()
    known = {clause for clause, (read, how, _) in rows.items() if read != "-" and how != "author"}
    missing = [
        f"| {name} | WRITTEN | READ | source and run | {digest(clause)} |"
        for name, clause in clauses().items()
        if name not in known or rows[name][2] != digest(clause)
    ]
    assert missing == []


@pytest.mark.parametrize("change", ["text", "level", "since", "source"])
def test_a_changed_clause_has_another_digest(change: str) -> None:
    clause = clauses()["IDX-PUT-5"]
    other: dict[str, Any] = {change: "4.0.0"}
    assert digest(replace(clause, **other)) != digest(clause)
