"""The tables of dispatch and start, and the diagrams in SPEC.md that are drawn from them."""

import re
from collections.abc import Callable

import pytest
from rocket_reference.start_steps import START, STOPS, Step
from rocket_spec.data import find_data

from tools.diagrams import DIAGRAMS, refreshed

DOCUMENT = find_data("spec/SPEC.md").read_text("utf-8")


def test_the_diagrams_in_the_document_are_fresh() -> None:
    assert refreshed(DOCUMENT) == DOCUMENT


@pytest.mark.parametrize("draw", DIAGRAMS.values(), ids=DIAGRAMS)
def test_a_label_has_one_colon_before_it_and_none_in_it(draw: Callable[[], str]) -> None:
    """Mermaid ends a transition at its first colon."""
    turns = [line for line in draw().splitlines() if "-->" in line]
    assert turns
    assert all(re.fullmatch(r" +[\w\[\]*]+ --> [\w\[\]*]+( : [^:;]+)?", line) for line in turns)


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
