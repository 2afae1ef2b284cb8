"""No two verbs contradict each other: each relation over stores of every kind. All of them in a soak, some of each in `make test`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
import relations
from every_store import BROKEN, DAMAGED, DRAWN, EVERY, GOLDEN, LATER, StoreKind, Subject
from relations import RELATIONS
from rocket_columnar.describe import look_at
from rocket_reference.query_message import MessageResult

FEW: Final = {one.name for one in (*GOLDEN, *LATER, *DAMAGED[::40], *BROKEN[::32], *DRAWN[::48])}
PAGE: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
LEFT_OUT: Final = {
    ("incident: a log file's name lacks its zeros", "queries_are_the_references"): (
        "the broker reads this file's records at wrong offsets, and `query` at the right ones, which the cure gives back"
    ),
    **{
        (f"incident: {name}", "a_safe_start_delivers_all"): (
            "the folders of the log are found here, and not in a configuration whose paths are relative to another directory"
        )
        for name in (
            "a folder of the log is missing in the configuration",
            "the configuration names another folder of the log",
        )
    },
}
"""Why a relation does not hold of a store."""
_NUMBERS: Final = count()


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, id=kind.name, marks=[] if kind.name in FEW else pytest.mark.soak) for kind in EVERY],
)
def test_no_two_verbs_contradict_each_other(kind: StoreKind, tmp_path: Path) -> None:
    subject = Subject(kind, tmp_path)
    chosen = [one for one in RELATIONS if (kind.name, one.__name__) not in LEFT_OUT]
    assert [(relation.__name__, told) for relation in chosen for told in relation(subject)] == []


def _start(subject: Subject, **lies: Any) -> None:
    assert subject.start is not None
    subject.start = replace(subject.start, **lies)


def _repaired(subject: Subject, **lies: Any) -> None:
    assert subject.repaired is not None
    subject.repaired = subject.repaired._replace(**lies)


def _of_module(name: str, lie: Callable[..., Any]) -> Callable[[Subject, pytest.MonkeyPatch], None]:
    return lambda _, patch: patch.setattr(relations, name, lie)


LIES: Final[dict[str, Callable[[Subject, pytest.MonkeyPatch], object]]] = {
    "a_finding_states_that_no_broker_starts": lambda subject, _: _start(subject, refused="no"),
    "a_finding_states_where_a_start_ends_the_log": lambda subject, _: _start(subject, unread=1),
    "the_reference_starts": lambda subject, _: _start(subject, refused="no"),
    "the_real_broker_starts": lambda subject, _: _start(subject, refused="no"),
    "lost_keys_are_not_found": lambda subject, _: setattr(
        subject, "left", subject.left._replace(entries=frozenset())
    ),
    "lost_units_are_gone": lambda subject, _: setattr(
        subject, "left", subject.left._replace(units=frozenset())
    ),
    "failing_pulls_are_stated": lambda subject, _: _start(subject, zeros=("consumequeue/T/0/0",)),
    "a_glance_finds_the_same_offsets": lambda subject, _: setattr(
        subject, "glance", [SimpleNamespace(code="consumer.offset_beyond_queue", message="")]
    ),
    "a_safe_start_delivers_all": lambda subject, _: _start(subject, damaged=()),
    "no_repair_brings_back_a_topic": lambda subject, _: _repaired(subject, topics={"Gone"}),
    "the_judge_of_stores_agrees": lambda subject, _: setattr(subject, "judged", None),
    "queries_are_the_references": _of_module("query_message", lambda *_: MessageResult([], 0, 0)),
    "a_rebuild_of_a_clean_store_gives_its_files": _of_module("rebuild", lambda *_: None),
    "a_copy_is_equal": _of_module("store_digest", lambda _: next(_NUMBERS)),
    "counts_are_equal": _of_module("look_at", lambda _, look=look_at: replace(look(_), indexes=())),
    "a_repair_does_what_its_plan_names": lambda subject, _: _repaired(subject, after={"index/1": "new"}),
    "a_repair_cures": lambda subject, _: _repaired(subject, faults={"index.size"}),
    "an_undo_restores_each_byte": lambda subject, _: _repaired(subject, undone={}),
    "spark_has_the_findings": _of_module("audit_task", lambda *_: [SimpleNamespace(row=dict)]),
}
"""What one verb says instead of the truth, by the name of a relation that then does not hold."""
HEALTHY: Final = next(kind for kind in GOLDEN if kind.name == "small-roll")
OF_INCIDENTS: Final = {"the_real_broker_starts", "a_repair_cures", "a_safe_start_delivers_all"}
RECORDED: Final = next(kind for kind in BROKEN if kind.name == "incident: the queue folder was deleted")


@pytest.mark.parametrize("relation", RELATIONS, ids=[relation.__name__ for relation in RELATIONS])
def test_each_relation_notices_a_lie(
    relation: relations.Relation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = Subject(RECORDED if relation.__name__ in OF_INCIDENTS else HEALTHY, tmp_path)
    LIES[relation.__name__](subject, monkeypatch)
    assert list(relation(subject))


@pytest.mark.parametrize(
    ("table", "code"),
    [(table, code) for table in ("NO_CLAUSE", "ONLY_NOTED") for code in getattr(relations, table)],
)
def test_each_exception_is_needed(
    table: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exceptions = getattr(relations, table)
    _, name = exceptions[code]
    subject = Subject(next(kind for kind in EVERY if kind.name == name), tmp_path)
    assert list(relations.the_judge_of_stores_agrees(subject)) == []
    monkeypatch.delitem(exceptions, code)
    assert list(relations.the_judge_of_stores_agrees(subject))


def test_the_page_lists_them() -> None:
    _, _, section = PAGE.read_text("utf-8").partition("\n## The verbs agree\n")
    listed = [line.removeprefix("- ") for line in section.split("\n## ")[0].splitlines() if line[:2] == "- "]
    assert listed == [(relation.__doc__ or "").strip() for relation in RELATIONS]
