"""The tables of dispatch and start, and the diagrams in SPEC.md that are drawn from them."""

import re
from collections.abc import Callable

import pytest
from rocket_reference.dispatch import DispatchRequest
from rocket_reference.dispatch_steps import MASTER, SLAVE, Met, Move, met
from rocket_reference.start_steps import START, STOPS, Step
from rocket_spec.clauses import clauses
from rocket_spec.data import find_data
from rocket_spec.errors import MalformedError

from tools.diagrams import DIAGRAMS, refreshed

DOCUMENT = find_data("spec/SPEC.md").read_text("utf-8")


def test_the_diagrams_in_the_document_are_fresh() -> None:
    assert refreshed(DOCUMENT) == DOCUMENT


def test_a_diagram_without_a_place_is_an_error() -> None:
    with pytest.raises(MalformedError, match="expected dispatch, start"):
        refreshed(DOCUMENT.replace("<!-- diagram: start -->", ""))


@pytest.mark.parametrize("draw", DIAGRAMS.values(), ids=DIAGRAMS)
def test_a_label_has_one_colon_before_it_and_none_in_it(draw: Callable[[], str]) -> None:
    """Mermaid ends a transition at its first colon."""
    turns = [line for line in draw().splitlines() if "-->" in line]
    assert turns
    assert all(re.fullmatch(r" +[\w\[\]*]+ --> [\w\[\]*]+( : [^:;]+)?", line) for line in turns)


def test_clauses_that_the_diagrams_name_exist() -> None:
    known = set(clauses()) | {clause.family for clause in clauses().values()}
    named = {
        name for draw in DIAGRAMS.values() for name in re.findall(r"\b[A-Z]+(?:-[A-Z]+)*(?:-\d+)?\b", draw())
    }
    named = {name for name in named if "-" in name}
    assert len(named) > 10
    assert named <= known


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (DispatchRequest(success=True, msg_size=1), Met.RECORD),
        (DispatchRequest(success=True), Met.BLANK),
        (DispatchRequest(msg_size=1), Met.MISMATCH),
        (DispatchRequest(msg_size=-1), Met.UNREADABLE),
        (DispatchRequest(msg_size=0), Met.UNREADABLE),  # doReput 2083: "size > 0", else the branch that stops
    ],
    ids=lambda value: value.name if isinstance(value, Met) else "",
)
def test_what_a_request_tells(request_: DispatchRequest, expected: Met) -> None:
    assert met(request_) is expected


def test_master_and_slave_part_only_where_nothing_can_be_read() -> None:
    """The role is asked in doReput 2091 alone."""
    assert [what for what in Met if MASTER[what] != SLAVE[what]] == [Met.UNREADABLE]
    assert SLAVE[Met.UNREADABLE].move is Move.STAY


def test_every_step_is_reached_and_leads_on_or_stops() -> None:
    reached = {Step.LOAD_LOG}
    waiting = [Step.LOAD_LOG]
    while waiting:
        for turn in START.get(waiting.pop(), {}).values():
            if turn.to not in reached:
                reached.add(turn.to)
                waiting.append(turn.to)
    assert reached == set(Step)
    assert set(START) | set(STOPS) == set(Step)
    assert not set(START) & set(STOPS)
